"""What is given to ``fit`` as the rows of a training: classes and groups as codes, and rows that are held out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from equipoise.cohorts import Task
from equipoise.foundation import (
    BadInput,
    as_columns,
    listing,
    plural,
    same_length,
    stream,
)
from equipoise.tallies import (
    Coded,
    factorise,
    group_axis,
    group_name,
    label_of,
    ordered,
    presence_codes,
    row_group_codes,
)
from equipoise.training import ALL_ROWS, Codes, EncodedDataset, Rows, check_labels_vary, target_bins

EVERYONE = "everyone"


@dataclass(frozen=True, eq=False)
class Targets:
    """What is to be learnt: class codes or numbers, the cell of each row (its class, or quarter), and the classes.

    Of several labels ``values`` are ``[row, label]``, 1 where one is present, and all rows stand in one cell.
    """

    values: NDArray[Any]
    cell: Codes
    names: tuple[str, ...]
    # The classes as they were given, or the names of several labels; of a regression nothing.
    labels: NDArray[Any] = field(default_factory=lambda: np.array([]))
    task: Task = "class"


def targets_of(y: object, task: Task, owner: str) -> Targets:
    """Return the targets of a classification, a regression or of several labels; missing ones are refused."""
    if y is None:
        # The words that scikit-learn's own checks look for.
        raise BadInput(f"{owner} requires y to be passed, but the target y is None", help="fit(X, y)")
    if task == "multilabel":
        return _several(y)
    column = column_or_1d(y, warn=True)
    return _classes(column) if task == "class" else _numbers(column)


def _classes(column: NDArray[Any]) -> Targets:
    if column.dtype.kind in "fOc":
        _refuse_missing([label_of(value) is None for value in column.tolist()], "y")
    if not len(column):
        raise BadInput("y has no rows", available="rows of two classes or more", help="check how rows were chosen.")
    kinds = {str if isinstance(value, str) else object for value in column.tolist()} if column.dtype.kind == "O" else ()
    if len(kinds) > 1:
        raise BadInput(
            "y has texts and other values side by side, which cannot be put in order",
            available="classes of one type", help="convert the column to text: y.astype(str).",
        )  # fmt: skip
    check_classification_targets(column)
    labels, codes = np.unique(column, return_inverse=True)
    if len(labels) < 2:
        raise BadInput(
            f"y has 1 class ({listing(labels)})", available="two classes or more", help="check the target column."
        )
    return Targets(codes.astype(np.int64), codes.astype(np.int64), tuple(map(_name, labels)), labels)


class LabelColumns:
    """The columns of several labels under their names, as a target of ``fit``."""

    def __init__(self, columns: Mapping[str, NDArray[Any]]) -> None:
        self.columns = tuple(columns)
        self._values = np.stack([np.asarray(column, dtype=object) for column in columns.values()], axis=1)
        self.shape = self._values.shape

    def __len__(self) -> int:
        return len(self._values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self._values if dtype is None else self._values.astype(dtype)


def has_several_labels(y: object) -> bool:
    """Tell whether y has a column for each of several labels."""
    shape = getattr(y, "shape", None)
    if shape is None and isinstance(y, list | tuple):
        shape = np.shape(y)
    return shape is not None and len(shape) == 2 and int(shape[1]) > 1


def _several(y: object) -> Targets:
    columns: Any = getattr(y, "columns", None)
    matrix = check_array(y, dtype=None, ensure_all_finite=False, input_name="y")
    names = [f"label {position}" for position in range(matrix.shape[1])] if columns is None else list(map(str, columns))
    codes = np.stack(
        [presence_codes(matrix[:, index], f"column {name!r} of y") for index, name in enumerate(names)], axis=1
    )
    _refuse_missing((codes < 0).any(axis=1), "y")
    check_labels_vary(codes, names, f"the {len(codes):,} rows of y")
    cell = np.zeros(len(codes), dtype=np.int64)
    return Targets(codes.astype(np.int8), cell, ALL_ROWS, np.array(names, dtype=object), "multilabel")


def _numbers(column: NDArray[Any]) -> Targets:
    numbers = check_array(column, ensure_2d=False, dtype=np.float64, input_name="y")
    cell, names = target_bins(numbers, np.arange(len(numbers)))
    return Targets(numbers.astype(np.float32), cell, names, task="regression")


def _name(label: Any) -> str:
    name = label_of(label)
    assert name is not None
    return name


@dataclass(frozen=True)
class GroupCoder:
    """The groups of training rows: one or more columns, crossed."""

    attributes: tuple[str, ...] = (EVERYONE,)
    values: tuple[tuple[str, ...], ...] = ((EVERYONE,),)
    groups: tuple[str, ...] = (EVERYONE,)
    # The value, as a code, that each group has in each column, ``[group, attribute]``.
    parts: tuple[tuple[int, ...], ...] = ((0,),)

    @classmethod
    def fit(cls, sensitive_features: object, rows: int) -> tuple[GroupCoder, Codes]:
        """Return the groups that rows have, and each row's code; a missing value is refused."""
        columns = _coded_columns(sensitive_features, rows)
        for name, column in columns.items():
            _refuse_missing(
                np.array([label is None for label in column.labels])[column.codes], f"group column {name!r}"
            )
        codes = np.stack([column.codes for column in columns.values()], axis=1)
        combinations, group = np.unique(codes, axis=0, return_inverse=True)
        names = [group_name(_labels(columns, row)) for row in combinations]
        groups = ordered(names)
        values = tuple(tuple(ordered(filter(None, column.labels))) for column in columns.values())
        parts = [
            tuple(
                names.index(str(label))
                for names, label in zip(values, _labels(columns, combinations[number]), strict=True)
            )
            for number in map(names.index, groups)
        ]
        recode = np.array([groups.index(name) for name in names], dtype=np.int64)
        return cls(tuple(columns), values, tuple(groups), tuple(parts)), recode[group.reshape(-1)]

    def codes(self, sensitive_features: object, rows: int) -> Codes:
        """Return the groups of other rows; one that no training row had, or a missing one, is -1."""
        columns = self._in_order(_coded_columns(sensitive_features, rows))
        return row_group_codes(
            {group_axis(name): column for name, column in columns.items()}, self.attributes, self.groups
        )

    def _in_order(self, columns: dict[str, Coded]) -> dict[str, Coded]:
        """Put columns in the order of the fit: by their names, or as they come where they have none."""
        if set(columns) == set(self.attributes):
            return {name: columns[name] for name in self.attributes}
        unnamed = any(all(name.startswith("group") for name in names) for names in (columns, self.attributes))
        if len(columns) != len(self.attributes) or not (unnamed or len(columns) == 1):
            raise BadInput(
                f"sensitive_features are {listing(columns)}", available=f"those of the fit: {listing(self.attributes)}"
            )
        return dict(zip(self.attributes, columns.values(), strict=True))


def _coded_columns(sensitive_features: object, rows: int) -> dict[str, Coded]:
    columns = as_columns(sensitive_features)
    if not columns:
        raise BadInput("sensitive_features has no columns", available="one group column or more")
    same_length({"X": range(rows), **columns})
    return {name: factorise(column) for name, column in columns.items()}


def _labels(columns: dict[str, Coded], codes: NDArray[np.int64]) -> list[str | None]:
    return [column.labels[code] for column, code in zip(columns.values(), codes.tolist(), strict=True)]


def _refuse_missing(missing: Any, input_name: str) -> None:
    absent = np.flatnonzero(missing)
    if len(absent):
        # The words that scikit-learn's own checks look for.
        raise BadInput(
            f"Input {input_name} contains NaN or None in {plural(len(absent), 'row')}, the first in row {absent[0]:,}",
            available="a value in every row",
            help="leave those rows out, or give the missing value a name.",
        )


def held_out(cells: Codes, share: float, seed: int) -> NDArray[np.bool_]:
    """Return which rows are held out: a seeded share of each cell, at least one of two or more, and never all.

    >>> held_out(np.array([0] * 10 + [1] * 2 + [2]), 0.2, seed=0).nonzero()[0].tolist()
    [4, 6, 11]
    """
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1:
        raise BadInput(
            f"dev_size is {share!r}", available="a share of the rows, above 0 and below 1", help="dev_size=0.2"
        )
    chosen = np.zeros(len(cells), dtype=np.bool_)
    for cell in np.unique(cells).tolist():
        rows = np.flatnonzero(cells == cell)
        if len(rows) > 1:
            dev_count = min(max(round(share * len(rows)), 1), len(rows) - 1)
            chosen[stream(seed, "dev", cell).permutation(rows)[:dev_count]] = True
    return chosen


def encode_rows(
    inputs: NDArray[Any],
    targets: Targets,
    group: Codes,
    coder: GroupCoder,
    is_dev: NDArray[np.bool_] | None,
) -> EncodedDataset:
    """Return what a training may see; without rows that are held out, dev rows are the training rows.

    Test rows are one row without target, of which nothing is asked: a fitted model predicts later.
    """
    every = Rows(inputs, np.arange(len(inputs)), targets.values, group, targets.cell)
    train, dev = (every, every) if is_dev is None else (_select_rows(every, ~is_dev), _select_rows(every, is_dev))
    first = _select_rows(dev, np.arange(1))
    return EncodedDataset(
        train, dev, replace(first, target=None, cell=None), targets.names, coder.groups, targets.task, coder.attributes,
        coder.values, np.array(coder.parts, dtype=np.int64),
        tuple(targets.labels.tolist()) if targets.task == "multilabel" else (),
    )  # fmt: skip


def _select_rows(rows: Rows, chosen: NDArray[Any]) -> Rows:
    assert rows.target is not None
    assert rows.group is not None
    assert rows.cell is not None
    return Rows(rows.inputs[chosen], rows.ids[chosen], rows.target[chosen], rows.group[chosen], rows.cell[chosen])
