"""Labels and groups that were given to an estimator, as the objective of metric learning takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.arrays import as_column, as_columns, same_length
from equipoise.foundation.errors import BadInput
from equipoise.tallies.labels import MISSING, factorise, ordered
from equipoise.training.material import Codes, Job, Material, Rows
from equipoise.training.preparing import Prepared, prepared


def class_codes(y: object, rows: int) -> tuple[NDArray[Any], Codes]:
    """Return the classes in order, and the place of each row's class among them."""
    given = np.asarray(y)
    if given.ndim != 1 or len(given) != rows:
        raise BadInput(
            f"There are {rows:,} rows and labels of the shape {given.shape}", available="one label for each row"
        )
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise BadInput("Some labels are missing", help="leave out the rows without a label.")
    classes, codes = np.unique(given, return_inverse=True)
    if len(classes) < 2:
        raise BadInput(
            f"The labels have {len(classes)} class", available="two classes or more",
            help="metric learning needs rows of another class.",
        )  # fmt: skip
    return classes, codes.astype(np.int64)


def material_of(codes: Codes, classes: NDArray[Any], sensitive_features: object) -> Material:
    """Return the labels and groups of training rows; inputs stay where they are.

    A value that is missing is unknown to a treatment, and its row is trained on all the same.
    """
    names: tuple[str, ...] = ("group",)
    parts: Codes = np.zeros((len(codes), 1), dtype=np.int64)
    values: tuple[tuple[str, ...], ...] = (("all",),)
    if sensitive_features is not None:
        columns = as_columns(sensitive_features, "sensitive_features")
        same_length({"y": codes, **columns})
        coded = [_coded(column, name) for name, column in columns.items()]
        names = tuple(columns)
        parts = np.stack([own for own, _ in coded], axis=1)
        values = tuple(told for _, told in coded)
    crossed, group = np.unique(parts, axis=0, return_inverse=True)
    group = group.reshape(-1).astype(np.int64)
    places = np.arange(len(codes))
    rows = Rows(np.zeros((len(codes), 0), dtype=np.float32), places, codes, group, codes)
    few = Rows(rows.inputs[:1], places[:1], codes[:1], group[:1], codes[:1])
    labels = tuple(_crossed(row, values) for row in crossed.tolist())
    return Material(rows, few, few, tuple(map(str, classes)), labels, "class", names, values, crossed)


def _crossed(codes: Sequence[int], values: Sequence[tuple[str, ...]]) -> str:
    """Name a group by the values it has in common, one of each column."""
    return " & ".join(own[code] if code >= 0 else MISSING for code, own in zip(codes, values, strict=True))


def _coded(column: object, name: str) -> tuple[Codes, tuple[str, ...]]:
    found = factorise(as_column(column, name))
    told = ordered([label for label in found.labels if label is not None])
    recode = np.array([-1 if label is None else told.index(label) for label in found.labels], dtype=np.int64)
    return recode[found.codes], tuple(told)


def trial_of(material: Material, treatments: Sequence[Any], values: dict[str, Any], seed: int) -> Prepared:
    """Return the training as a trial, whose treatments before training have chosen its rows."""
    return prepared(Job(np.arange(len(material.train)), seed, treatments=tuple(treatments)), material, values)
