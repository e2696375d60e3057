"""Cohort: rows (people, images, words) with inputs, a target, one or more group columns and splits.

Its card says how many people of which class are in which group and split, and every result opens with it. A table of
the same rows in the same order, such as ``equipoise label`` writes, gives a cohort further columns.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts._array_files import matching_columns
from equipoise.cohorts._loading import read_columns
from equipoise.cohorts._tables import (
    Axis,
    EagerTable,
    Table,
    as_table,
)
from equipoise.foundation import (
    FORMULA_STARTS,
    BadInput,
    as_column,
    csv_text,
    listing,
    make_frame,
    unknown_name,
)
from equipoise.tallies import (
    GROUP_AXIS_PREFIX,
    SPLIT_AXIS,
    TARGET_AXIS,
    Cells,
    Label,
    group_axis,
    group_labels,
    group_name,
    label_of,
    ordered,
)

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame


Task = Literal["class", "multilabel", "regression"]
# Into how many parts the target of a regression is cut.
QUARTILES, DECILES = 4, 10


@dataclass(frozen=True, eq=False)
class Cohort:
    """Rows in memory, with the part that each column plays.

    A column has a value a row, a matrix a row of numbers, or pictures (uint8 ``[row, height, width, channel]``).
    ``cluster`` names rows that belong together, such as two versions of one picture: they are drawn together.
    ``pictures`` says that rows may be shown as examples in reports: the column that holds their pictures, or what
    reads them by position when they are asked for. It is for pictures of things, and never of people; it is no part of
    what names the data. ``labels`` are the columns of a target with several labels a row (``task="multilabel"``), each
    0/1, true/false or yes/no; ``target`` is then what they are called together. ``quantiles`` says into how many
    parts the target of a regression is cut where a method or a condition needs classes: 4 (quarters) or 10 (tenths).
    """

    name: str
    columns: Mapping[str, NDArray[Any]] = field(repr=False)
    target: str
    groups: tuple[str, ...]
    features: tuple[str, ...] = ()
    favourable: str | None = None
    split: str | None = None
    weight: str | None = None
    prediction: str | None = None
    score: str | None = None
    score_class: str | None = None
    task: Task = "class"
    cluster: str | None = None
    datasheet: str = field(default="", repr=False)
    pictures: str | Callable[[NDArray[np.int64]], NDArray[np.uint8]] | None = field(default=None, repr=False)
    labels: tuple[str, ...] = ()
    quantiles: int = QUARTILES

    def __post_init__(self) -> None:
        self._make_plain()
        table = EagerTable(self.columns, f"the cohort {self.name!r}")
        if self.labels and self.task != "multilabel":
            raise BadInput(
                f"The cohort {self.name!r} has several target columns and is a {self.task} task",
                available="one target column, or several of a multilabel task",
                help="add task='multilabel'.",
            )
        _check_labels(self.labels, self.features)
        _check_quantiles(self.quantiles, self.task)
        optional = (self.split, self.weight, self.prediction, self.score, self.cluster)
        named = [name for name in (*optional, self.pictures) if isinstance(name, str)]
        table.check_columns([*self.target_columns, *self.groups, *self.features, *named])
        if not self.groups:
            raise BadInput(f"The cohort {self.name!r} has no group column", help="name at least one.")
        if not len(self):
            raise BadInput(f"The cohort {self.name!r} has no rows")

    def _make_plain(self) -> None:
        """Take frames and series for arrays, one name for a list of one, and a class 0 for the class "0"."""
        columns: Any = self.columns
        if not isinstance(columns, Mapping):
            table = as_table(columns, f"the cohort {self.name!r}")
            eager = table.in_memory(table.columns)
            columns = {column: eager.column(column) for column in eager.columns}
        plain: dict[str, Any] = {
            "columns": {
                name: column if isinstance(column, np.ndarray) else _array(as_column(column, f"the column {name!r}"))
                for name, column in columns.items()
            }
        }
        for role in ("groups", "features", "labels"):
            role_columns = getattr(self, role)
            plain[role] = (role_columns,) if isinstance(role_columns, str) else tuple(role_columns)
        for role in ("favourable", "score_class"):
            plain[role] = label_of(getattr(self, role))
        for name, value in plain.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_frame(
        cls,
        data: object,
        *,
        target: str | Sequence[str],
        groups: str | Sequence[str],
        features: str | Sequence[str] | None = None,
        name: str = "cohort",
        **roles: Any,
    ) -> Cohort:
        """Make a cohort from a frame of any library or a mapping of arrays.

        Parameters
        ----------
        data : frame or mapping
            A frame of pandas, Polars, PyArrow or DuckDB, or a mapping of column names to arrays.
        target, groups : str, sequence of str
            The column to predict, and the columns of groups. Several columns to predict are the labels of a multi-label
            task: name each, and ``task="multilabel"``.
        features : str or sequence of str, optional
            The columns to learn from, by name or by pattern: ``"e*"`` is every column that begins with e, but for those
            that play another part. By default all columns that play none. A column of lists of numbers, all equally
            long, becomes a matrix: a block of numeric features.
        name : str
            What the cohort is called.
        **roles
            Further fields of ``Cohort``, such as ``split`` or ``favourable``.

        Returns
        -------
        Cohort
        """
        table = as_table(data, name)
        groups = (groups,) if isinstance(groups, str) else tuple(groups)
        if not isinstance(target, str):
            roles = {"labels": tuple(target), **roles}
            target = ", ".join(roles["labels"])
        named = roles.get("labels") or (target,)
        reserved = {*named, *groups, *(value for value in roles.values() if isinstance(value, str))}
        if features is None:
            used = [column for column in table.columns if column not in reserved]
        else:
            patterns = [features] if isinstance(features, str) else list(features)
            used = matching_columns(patterns, table.columns, name, leave_out=reserved)
        lists = [column for column in used if table.is_list(column)]
        columns = _arrays(table, table.columns, lists)
        return cls(name=name, columns=columns, target=target, groups=groups, features=tuple(used), **roles)

    def __len__(self) -> int:
        return len(self.columns[self.target_columns[0]])

    @property
    def target_columns(self) -> tuple[str, ...]:
        """The columns to predict: one, or one for each of several labels."""
        return self.labels or (self.target,)

    def __getitem__(self, column: str) -> NDArray[Any]:
        return self.columns[column]

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of the splits, in order of appearance."""
        if self.split is None:
            return ()
        return tuple(dict.fromkeys(str(label_of(value)) for value in self.columns[self.split]))

    def where(self, split: str) -> Cohort:
        """Return the rows of one split."""
        if self.split is None or split not in self.splits:
            raise BadInput(
                f"The cohort {self.name!r} has no split {split!r}",
                available=", ".join(self.splits) or "it has no splits",
            )
        return self.take(np.array([label_of(value) == split for value in self.columns[self.split]]))

    def take(self, rows: NDArray[Any]) -> Cohort:
        """Return chosen rows, by a mask or by positions."""
        source = self.pictures
        pictures = PictureSubset(source, np.arange(len(self))[rows]) if callable(source) else source
        return replace(self, columns={name: column[rows] for name, column in self.columns.items()}, pictures=pictures)

    def examples(self, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the pictures of some rows, by position, as uint8 ``[row, height, width, 3]``."""
        if self.pictures is None:
            raise BadInput(f"The cohort {self.name!r} has no pictures that may be shown")
        images = self.columns[self.pictures][rows] if isinstance(self.pictures, str) else self.pictures(rows)
        if images.dtype != np.uint8 or images.ndim != 4 or images.shape[3] not in (1, 3) or len(images) != len(rows):
            raise BadInput(
                f"The pictures of the cohort {self.name!r} are {images.dtype} of the shape {images.shape}",
                available="uint8 [row, height, width, channel], of 1 or 3 channels",
            )
        return np.repeat(images, 3, axis=3) if images.shape[3] == 1 else images

    def card(self) -> CohortCard:
        """Return how many rows of each class are in each group and split."""
        axes = {group_axis(group): Axis(group) for group in self.groups}
        axes |= {TARGET_AXIS: Axis(self.target)} if self.task == "class" else {}
        axes |= {SPLIT_AXIS: Axis(self.split)} if self.split is not None else {}
        return cohort_card(EagerTable(self.columns, self.name).count(axes))

    def to_frame(self, backend: str | None = None) -> IntoDataFrame:
        """Return the columns as a data frame of pandas, polars or pyarrow: the first that is installed by default.

        Columns of pictures are left out: a frame has no place for them.
        """
        flat = {name: column for name, column in self.columns.items() if column.ndim <= 2}
        return make_frame({name: column.tolist() for name, column in flat.items()}, backend)


def _check_quantiles(quantiles: object, task: Task) -> None:
    if isinstance(quantiles, bool) or quantiles not in (QUARTILES, DECILES):
        raise BadInput(f"quantiles is {quantiles!r}", available=f"{QUARTILES} (quarters) or {DECILES} (tenths)")
    if quantiles != QUARTILES and task != "regression":
        raise BadInput(
            f"quantiles is {quantiles!r}, and the cohort is a {task} task",
            available="a regression, whose target is cut into quarters or tenths",
            help="leave quantiles out.",
        )


def _check_labels(labels: Sequence[str], features: Sequence[str]) -> None:
    """Refuse a label that is named twice, or that would be learnt from."""
    twice = [name for index, name in enumerate(labels) if name in labels[:index]]
    both_roles = [name for name in labels if name in features]
    if twice or both_roles:
        raise BadInput(
            f"The label {(twice or both_roles)[0]!r} " + ("is named twice" if twice else "is a feature as well"),
            available="each label once, and features that are no labels",
        )


@dataclass(frozen=True, eq=False)
class PictureSubset:
    """What reads the pictures of chosen rows of a larger cohort."""

    read: Callable[[NDArray[np.int64]], NDArray[np.uint8]]
    rows: NDArray[np.int64]

    def __call__(self, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the pictures of rows, by position among the chosen ones."""
        return self.read(self.rows[rows])


def columns_of(data: object, names: Sequence[str], what: str) -> dict[str, NDArray[Any]]:
    """Return the named columns of a frame, a cohort or a mapping of columns, as arrays; one that is absent is refused.

    A column of lists of numbers becomes a matrix, and arrays stay as they are; beside pictures the others may be lists.
    """
    data = data.columns if isinstance(data, Cohort) else data
    if isinstance(data, Mapping):
        data = with_pictures(data, what)
    if isinstance(data, Mapping) and all(isinstance(value, np.ndarray) for value in data.values()):
        absent = [name for name in names if name not in data]
        arrays = {name: data[name] for name in names if name in data}
    else:
        table = as_table(data, what)
        absent = [name for name in names if name not in table.columns]
        available = [name for name in names if name in table.columns]
        arrays = {} if absent else _arrays(table, available, [name for name in available if table.is_list(name)])
    if absent:
        present = list(data) if isinstance(data, Mapping) else list(table.columns)
        raise BadInput(
            f"{what[:1].upper()}{what[1:]} have no {'column' if len(absent) == 1 else 'columns'} "
            f"{listing(map(repr, absent))}",
            available=listing(present),
            help=f"give every column of the model: {listing(names)}.",
        )
    return arrays


def with_pictures(data: Mapping[str, Any], what: str) -> Mapping[str, Any]:
    """Return a mapping of columns all of which are arrays, where one has pictures or is a matrix."""
    arrays = {name: value for name, value in data.items() if isinstance(value, np.ndarray) and value.ndim > 1}
    pictures = {name: value for name, value in arrays.items() if value.ndim > 2 or value.shape[1] > 1}
    if not pictures:
        return data
    other_columns = {name: value for name, value in data.items() if name not in pictures}
    rest = columns_of(other_columns, list(other_columns), what)
    return {name: pictures[name] if name in pictures else rest[name] for name in data}


def _arrays(table: Table, names: Sequence[str], lists: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return columns of a table as arrays, those of lists as matrices."""
    eager = table.in_memory([name for name in names if name not in lists])
    plain = {name: _array(eager.column(name)) for name in eager.columns}
    plain |= {name: _block(table, name) for name in lists}
    return {name: plain[name] for name in names}


def _block(table: Table, column: str) -> NDArray[Any]:
    try:
        return table.matrix(column)
    except BadInput as error:
        hint = f"{error.help.rstrip('.')}; or name the features without it (features=)."
        raise BadInput(error.given, available=error.available, help=hint.removeprefix("; or ")) from error


def _array(column: Any) -> NDArray[Any]:
    array: NDArray[Any] = column if isinstance(column, np.ndarray) else column.to_numpy()
    return array


@dataclass(frozen=True)
class CardRow:
    """One group (of one split): how many rows, their share of the cohort, and how many are of each class."""

    attribute: str
    group: str
    split: str | None
    rows: int | None
    share: float | None
    classes: dict[str, int] | None


@dataclass(frozen=True)
class CohortCard:
    """What was looked at, before any number about it."""

    rows: int
    classes: tuple[str, ...]
    splits: tuple[str, ...]
    groups: tuple[CardRow, ...]


def cohort_card(cells: Cells, attributes: Sequence[str] | None = None) -> CohortCard:
    """Build the card from counts; without a target there are no classes to show."""
    names = attributes if attributes is not None else _attributes(cells)
    has_target, has_split = TARGET_AXIS in cells.axes, SPLIT_AXIS in cells.axes
    classes = ordered({label for label in cells.axis(TARGET_AXIS) if label is not None}) if has_target else []
    splits = ordered({label for label in cells.axis(SPLIT_AXIS) if label is not None}) if has_split else []
    rows: list[CardRow] = []
    for attribute in names:
        parts: list[str | None] = [*splits] if splits else [None]
        for split in parts:
            part = cells if split is None else cells.where(SPLIT_AXIS, [split])
            rows.extend(_rows(part, attribute, split, classes))
    return CohortCard(cells.rows, tuple(classes), tuple(splits), tuple(rows))


def _rows(cells: Cells, attribute: str, split: str | None, classes: Sequence[str]) -> list[CardRow]:
    total = cells.rows
    rows = []
    for labels in group_labels(cells, [attribute], include_missing=True):
        group_cells = cells.where(group_axis(attribute), labels)
        counts = _by_class(group_cells, classes) if TARGET_AXIS in cells.axes else None
        rows.append(
            CardRow(
                attribute,
                group_name(labels),
                split,
                group_cells.rows,
                group_cells.rows / total if total else None,
                counts,
            )
        )
    return rows


def _by_class(cells: Cells, classes: Sequence[str]) -> dict[str, int]:
    """Count the rows of all classes in one pass: there may be thousands of them."""
    table = cells.marginal([TARGET_AXIS])
    names = [table.labels[0][code] for code in table.codes[:, 0].tolist()]
    row_counts = dict(zip(names, table.sums[:, 0].tolist(), strict=True))
    return {name: int(row_counts.get(name, 0)) for name in classes}


def _attributes(cells: Cells) -> list[str]:
    return [axis.removeprefix(GROUP_AXIS_PREFIX) for axis in cells.axes if axis.startswith(GROUP_AXIS_PREFIX)]


# The column that counts rows from 0, where there is one.
ROW = "row"


def with_extra_columns(cohort: Cohort, path: str | os.PathLike[str]) -> Cohort:
    """Return a cohort with the columns of a table that it does not have; none of them is a feature.

    Rows are matched by position: there must be as many, a column ``row`` must count them from 0, and columns that both
    have must agree in every row. A table of other rows, or of the same rows in another order, is refused so.
    """
    name, read = Path(path).name, read_columns(path)
    extra_columns = {column: np.asarray(values, dtype=object) for column, values in read.items()}
    number = len(next(iter(extra_columns.values()))) if extra_columns else 0
    if number != len(cohort):
        raise BadInput(
            f"{name} has {number:,} rows and the cohort {cohort.name!r} has {len(cohort):,}",
            available="one row per row of the cohort, in the same order",
            help="create the table again from this cohort, with the same options.",
        )
    if ROW in extra_columns and ROW not in cohort.columns:
        _check_same(extra_columns.pop(ROW), np.arange(number), ROW, name)
    for column in [column for column in extra_columns if column in cohort.columns]:
        _check_same(extra_columns.pop(column), cohort[column], column, name)
    if not extra_columns:
        raise BadInput(f"{name} has no column that the cohort {cohort.name!r} does not have", available="at least one")
    return replace(cohort, columns={**cohort.columns, **extra_columns})


def columns_text(cohort: Cohort, extra: Mapping[str, NDArray[Any]]) -> str:
    """Return a cohort's columns (but for pictures and matrices) and further ones as CSV, for ``with_extra_columns``."""
    cohort_columns = {name: column for name, column in cohort.columns.items() if column.ndim == 1 and name not in extra}
    columns = {**({} if ROW in cohort_columns else {ROW: np.arange(len(cohort))}), **cohort_columns, **extra}
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return csv_text(list(columns), rows)


def with_roles(
    cohort: Cohort, *, target: str | Sequence[str] | None = None, groups: Sequence[str] = (),
    favourable: str | None = None,
) -> Cohort:  # fmt: skip
    """Return a cohort in which other columns than its own are the target or the groups; several targets are labels."""
    targets = () if target is None else (target,) if isinstance(target, str) else tuple(target)
    for column in (*targets, *groups):
        if column not in cohort.columns:
            raise unknown_name("column", column, cohort.columns, f"the cohort {cohort.name!r}")
    for column in targets:
        if column in cohort.features:
            raise BadInput(
                f"The target {column!r} is a feature of the cohort {cohort.name!r}",
                available=listing(column for column in cohort.columns if column not in cohort.features),
            )
    if target is not None and not isinstance(target, str):
        chosen_groups = tuple(groups) or tuple(column for column in cohort.groups if column not in targets)
        return replace(
            cohort, target=", ".join(targets), labels=targets, task="multilabel", groups=chosen_groups, favourable=None
        )
    chosen_target = target or cohort.target
    chosen_groups = tuple(groups) or tuple(column for column in cohort.groups if column != chosen_target)
    favourable_label = cohort.favourable if chosen_target == cohort.target else None
    chosen = replace(cohort, groups=chosen_groups, favourable=favourable_label if favourable is None else favourable)
    if cohort.labels and target is not None:
        return replace(chosen, target=chosen_target, labels=(), task="class")
    return replace(chosen, target=chosen_target)


def _check_same(values: NDArray[Any], cohort_values: NDArray[Any], column: str, name: str) -> None:
    if cohort_values.ndim > 1:
        raise BadInput(f"{name} has a column {column!r}, which has several numbers per row in the cohort")
    labels: dict[tuple[object, object], bool] = {}
    for row, pair in enumerate(zip(values.tolist(), cohort_values.tolist(), strict=True)):
        if pair not in labels:
            labels[pair] = _same(label_of(pair[0]), label_of(pair[1]))
        if not labels[pair]:
            raise BadInput(
                f"Row {row:,} of {name} (counted from 0) has {pair[0]!r} in the column {column!r} and not {pair[1]!r}",
                available="the same rows in the same order as in the cohort",
                help="create the table again from this cohort, or leave that column out.",
            )


def _same(label: Label, cohort_label: Label) -> bool:
    """Tell whether two labels are one, after what a CSV file does to text and numbers."""
    if label == cohort_label or (label is None and not cohort_label):
        return True
    if label is None or cohort_label is None:
        return False
    if cohort_label.startswith(FORMULA_STARTS) and label == f"'{cohort_label}":
        return True
    try:
        return float(label) == float(cohort_label)
    except ValueError:
        return label.casefold() == cohort_label.casefold() and label.casefold() in ("true", "false")
