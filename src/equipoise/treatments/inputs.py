"""What an estimator is given, checked: rows of finite numbers, two classes, two groups or more."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.foundation import (
    BadInput,
    listing,
    plural,
)
from equipoise.tallies import (
    factorise,
    label_of,
)


def rows_of(X: ArrayLike) -> NDArray[np.float64]:  # noqa: N803
    """Return X as rows by columns of finite numbers."""
    try:
        rows = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(f"X is not made of numbers ({error})", help="encode categories as 0/1 columns.") from error
    if rows.ndim != 2 or 0 in rows.shape:
        raise BadInput(f"X has the shape {rows.shape}", available="rows by columns, at least one of each")
    bad = ~np.isfinite(rows)
    if bad.any():
        row, column = (int(place) for place in np.argwhere(bad)[0])
        raise BadInput(
            f"X has {int(bad.sum()):,} missing or infinite values, the first in row {row:,}, column {column:,}",
            help="drop or fill them.",
        )
    return rows


def classes_of(y: ArrayLike, rows: int) -> tuple[NDArray[np.bool_], tuple[Any, Any]]:
    """Return which rows are of the second class, and the two classes in order."""
    labels = _column(y, rows, "y")
    try:
        classes = np.unique(labels).tolist()
    except TypeError as error:
        raise BadInput(f"y mixes kinds of values ({error})", available="exactly two classes of one kind") from error
    if len(classes) != 2:
        raise BadInput(
            f"y has {plural(len(classes), 'class', 'classes')} ({listing(classes)})", available="exactly two classes"
        )
    return np.asarray(labels == classes[1], dtype=np.bool_), (classes[0], classes[1])


def groups_of(sensitive_features: ArrayLike, rows: int) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    """Return each row's group as a number, and the groups' names."""
    coded = factorise(_column(sensitive_features, rows, "sensitive_features"))
    if len(coded.labels) < 2:
        raise BadInput(f"There is only one group ({listing(coded.labels)})", available="two groups or more")
    return coded.codes.astype(np.intp), tuple(str(label) for label in coded.labels)


def _column(values: ArrayLike, rows: int, name: str) -> NDArray[Any]:
    column = np.asarray(values)
    if column.shape != (rows,):
        raise BadInput(
            f"{name} has the shape {column.shape}", available=f"one value for each of the {rows:,} rows of X"
        )
    if column.dtype.kind in "Of":
        missing = [label_of(value) is None for value in column.tolist()]
        if any(missing):
            raise BadInput(
                f"{name} has {sum(missing):,} missing values, the first in row {missing.index(True):,}",
                help="drop those rows or name them.",
            )
    return column
