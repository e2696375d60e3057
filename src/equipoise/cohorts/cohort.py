"""Cohort: rows (people, images, words) with inputs, a target, one or more group columns and splits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts.card import Card, card_of
from equipoise.cohorts.list_columns import matching_columns
from equipoise.cohorts.tables import Axis, EagerTable, Table, as_table
from equipoise.foundation.arrays import as_column
from equipoise.foundation.errors import BadInput
from equipoise.foundation.tabular import frame_of
from equipoise.tallies.counts import SPLIT, TARGET, group_axis
from equipoise.tallies.labels import label_of

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

Task = Literal["class", "multilabel", "regression"]


@dataclass(frozen=True, eq=False)
class Cohort:
    """Rows in memory, with the part that each column plays.

    A column has a value a row, a matrix a row of numbers, or pictures (uint8 ``[row, height, width, channel]``).
    ``cluster`` names rows that belong together, such as two versions of one picture: they are drawn together.
    ``pictures`` says that rows may be shown as examples in reports: the column that holds their pictures, or what
    reads them by position when they are asked for. It is for pictures of things, and never of people; it is no part of
    what names the data.
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

    def __post_init__(self) -> None:
        self._make_plain()
        table = EagerTable(self.columns, f"the cohort {self.name!r}")
        optional = (self.split, self.weight, self.prediction, self.score, self.cluster)
        named = [name for name in (*optional, self.pictures) if isinstance(name, str)]
        table.check_columns([self.target, *self.groups, *self.features, *named])
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
        for role in ("groups", "features"):
            given = getattr(self, role)
            plain[role] = (given,) if isinstance(given, str) else tuple(given)
        for role in ("favourable", "score_class"):
            plain[role] = label_of(getattr(self, role))
        for name, value in plain.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_frame(
        cls,
        data: object,
        *,
        target: str,
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
            The column to predict, and the columns of groups.
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
        taken = {target, *groups, *(value for value in roles.values() if isinstance(value, str))}
        if features is None:
            used = [column for column in table.columns if column not in taken]
        else:
            wanted = [features] if isinstance(features, str) else list(features)
            used = matching_columns(wanted, table.columns, name, leave_out=taken)
        lists = [column for column in used if table.is_list(column)]
        eager = table.in_memory([column for column in table.columns if column not in lists])
        plain = {column: _array(eager.column(column)) for column in eager.columns}
        plain |= {column: _block(table, column) for column in lists}
        columns = {column: plain[column] for column in table.columns}
        return cls(name=name, columns=columns, target=target, groups=groups, features=tuple(used), **roles)

    def __len__(self) -> int:
        return len(self.columns[self.target])

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
        shown = self.pictures
        pictures = Shown(shown, np.arange(len(self))[rows]) if callable(shown) else shown
        return replace(self, columns={name: column[rows] for name, column in self.columns.items()}, pictures=pictures)

    def examples(self, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the pictures of some rows, by position, as uint8 ``[row, height, width, 3]``."""
        if self.pictures is None:
            raise BadInput(f"The cohort {self.name!r} has no pictures that may be shown")
        found = self.columns[self.pictures][rows] if isinstance(self.pictures, str) else self.pictures(rows)
        if found.dtype != np.uint8 or found.ndim != 4 or found.shape[3] not in (1, 3) or len(found) != len(rows):
            raise BadInput(
                f"The pictures of the cohort {self.name!r} are {found.dtype} of the shape {found.shape}",
                available="uint8 [row, height, width, channel], of 1 or 3 channels",
            )
        return np.repeat(found, 3, axis=3) if found.shape[3] == 1 else found

    def card(self) -> Card:
        """Return how many rows of each class are in each group and split."""
        axes = {group_axis(group): Axis(group) for group in self.groups}
        axes |= {TARGET: Axis(self.target)} if self.task == "class" else {}
        axes |= {SPLIT: Axis(self.split)} if self.split is not None else {}
        return card_of(EagerTable(self.columns, self.name).count(axes))

    def to_frame(self, backend: str | None = None) -> IntoDataFrame:
        """Return the columns as a data frame of pandas, polars or pyarrow: the first that is installed by default.

        Columns of pictures are left out: a frame has no place for them.
        """
        flat = {name: column for name, column in self.columns.items() if column.ndim <= 2}
        return frame_of({name: column.tolist() for name, column in flat.items()}, backend)


@dataclass(frozen=True, eq=False)
class Shown:
    """What reads the pictures of chosen rows of a larger cohort."""

    read: Callable[[NDArray[np.int64]], NDArray[np.uint8]]
    rows: NDArray[np.int64]

    def __call__(self, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the pictures of rows, by position among the chosen ones."""
        return self.read(self.rows[rows])


def _block(table: Table, column: str) -> NDArray[Any]:
    try:
        return table.matrix(column)
    except BadInput as error:
        hint = f"{error.help.rstrip('.')}; or name the features without it (features=)."
        raise BadInput(error.given, available=error.available, help=hint.removeprefix("; or ")) from error


def _array(column: Any) -> NDArray[Any]:
    array: NDArray[Any] = column if isinstance(column, np.ndarray) else column.to_numpy()
    return array
