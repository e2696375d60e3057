"""Columns as inputs of a model: categories one-hot, numbers standardised, fitted on training rows and kept with it.

What training rows never had is as it is in training: a category that none of them has is 0 in all columns of the
category, and a missing number is their mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts import columns_of, looks_like_id
from equipoise.foundation import (
    BadInput,
    listing,
    plural,
)
from equipoise.tallies import (
    factorise,
    label_of,
    label_text,
    ordered,
)

Codes = NDArray[np.int64]
# A matrix of float32, or pictures of uint8.
Inputs = NDArray[Any]
MOST_CATEGORIES = 1_000
# None and NaN are missing values of a column of these.
PLAIN_NUMBERS = {int, float, bool, type(None)}
# A column of text is categories while it has up to this many values, or training rows share them: two or more rows have
# a value, on average. Otherwise it is free text, or names the rows.
FEW_CATEGORIES = 20
ROWS_PER_CATEGORY = 2
# The largest number that an input can be.
LARGEST = float(np.finfo(np.float32).max)
# More columns, or columns from one, than any table has that was trained on here.
MOST_WIDTH = 10_000_000
# More numbers than a picture has that a network was trained on here: 4,096 x 4,096 in three colours.
MOST_NUMBERS = 3 * 2**24


@dataclass(frozen=True)
class NumberColumn:
    """A number: mean 0 and standard deviation 1 on the training rows; a missing value is the mean.

    Where training rows have missing values, an indicator says so of a row (``missing``).
    """

    kind: ClassVar[str] = "number"
    name: str
    mean: float
    scale: float
    missing: bool

    @property
    def width(self) -> int:
        """How many inputs it becomes."""
        return 2 if self.missing else 1

    @classmethod
    def fit(cls, name: str, numbers: NDArray[np.float64], train: Codes) -> NumberColumn:
        """Take mean and standard deviation of the training rows."""
        train_numbers = numbers[train]
        finite = np.isfinite(train_numbers)
        mean, spread = (train_numbers[finite].mean(), train_numbers[finite].std()) if finite.any() else (0.0, 0.0)
        # A constant column says nothing about training rows; elsewhere it is left in its own units.
        scale = spread if spread > 1e-12 * max(abs(mean), 1e-300) else 1.0
        return cls(name, float(mean), float(scale), not finite.all())

    def encode(self, column: NDArray[Any]) -> Inputs:
        """Return standardised numbers, and whether each is missing."""
        numbers = self._numbers(column)
        missing = ~np.isfinite(numbers)
        with np.errstate(over="ignore"):  # what is too large is refused below
            scaled = (np.where(missing, np.nan, numbers) - self.mean) / self.scale
        large = ~missing & ~(np.abs(scaled) <= LARGEST)
        if large.any():
            raise BadInput(
                f"The column {self.name!r} holds {numbers[large][0]:g}, too large a number for the model",
                available=f"numbers that are like those of the training (mean {self.mean:g}, spread {self.scale:g})",
                help="leave the value out: a missing one is None or NaN.",
            )
        columns = [np.where(missing, 0.0, scaled)]
        if self.missing:
            columns.append(missing.astype(np.float64))
        return np.stack(columns, axis=1).astype(np.float32)

    def _numbers(self, column: NDArray[Any]) -> NDArray[np.float64]:
        numbers = as_numbers(column) if column.ndim == 1 else None
        if numbers is not None:
            return numbers
        values = column.tolist() if column.ndim == 1 else []
        if column.ndim == 1 and all(label_of(value) is None for value in values):
            return np.full(len(column), np.nan)
        text = next((value for value in values if isinstance(value, str)), values[:1] or column.shape)
        raise BadInput(
            f"The column {self.name!r} holds {text!r}", available="numbers, as the model was trained on",
            help="convert it to numbers; a missing one is None or NaN.",
        )  # fmt: skip

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> NumberColumn:
        """Make it again from its state."""
        mean, scale, missing = state.get("mean"), state.get("scale"), state.get("missing")
        numbers = [
            number for number in (mean, scale) if isinstance(number, int | float) and not isinstance(number, bool)
        ]
        if len(numbers) < 2 or not all(map(math.isfinite, numbers)) or numbers[1] <= 0 or not isinstance(missing, bool):
            raise _damaged(state)
        return cls(_name(state), float(numbers[0]), float(numbers[1]), missing)


@dataclass(frozen=True)
class CategoryColumn:
    """A category: an input for each value that training rows have, the missing one included."""

    kind: ClassVar[str] = "category"
    name: str
    values: tuple[str, ...]

    @property
    def width(self) -> int:
        """How many inputs it becomes."""
        return len(self.values)

    @classmethod
    def fit(cls, name: str, column: NDArray[Any], train: Codes) -> CategoryColumn:
        """Take the values that training rows have, in a person's order; free text is refused."""
        coded = factorise(column)
        present = np.unique(coded.codes[train])
        if len(present) > max(FEW_CATEGORIES, min(MOST_CATEGORIES, len(train) / ROWS_PER_CATEGORY)):
            raise BadInput(
                f"The column {name!r} has {len(present):,} different texts in {plural(len(train), 'training row')}: it "
                "is free text or identifies the rows, and each text would become a feature",
                available=f"categories: at most {MOST_CATEGORIES:,}, with {ROWS_PER_CATEGORY} training rows on average",
                help="name the features without it (features =), merge its values, or embed the text (extra text): "
                f"text = {name!r} in a plan, with_text(cohort, {name!r}) or embed_text(texts) of equipoise.cohorts in "
                "Python.",
            )
        return cls(name, tuple(ordered(label_text(coded.labels[code]) for code in present.tolist())))

    def encode(self, column: NDArray[Any]) -> Inputs:
        """Return 1 in the column of each row's value; a value that no training row has is 0 in all of them."""
        coded = self._coded(column)
        places = {value: index for index, value in enumerate(self.values)}
        recode = np.array([places.get(label_text(label), -1) for label in coded.labels], dtype=np.int64)
        codes = recode[coded.codes]
        inputs = np.zeros((len(column), len(self.values)), dtype=np.float32)
        known_rows = np.flatnonzero(codes >= 0)
        inputs[known_rows, codes[known_rows]] = 1.0
        return inputs

    def unknown(self, column: NDArray[Any]) -> tuple[str, ...]:
        """Return the values of a column that no training row has."""
        coded, known_values = self._coded(column), set(self.values)
        present = {label_text(coded.labels[code]) for code in np.unique(coded.codes).tolist()}
        return tuple(ordered(present - known_values))

    def _coded(self, column: NDArray[Any]) -> Any:
        if column.ndim != 1:
            raise BadInput(f"The column {self.name!r} has the shape {column.shape}", available="one value per row")
        return factorise(column)

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> CategoryColumn:
        """Make it again from its state."""
        values = state.get("values")
        if not isinstance(values, list | tuple) or not values or not all(isinstance(value, str) for value in values):
            raise _damaged(state)
        if len(set(values)) < len(values):
            raise _damaged(state)
        return cls(_name(state), tuple(values))


@dataclass(frozen=True)
class MatrixColumn:
    """A matrix of numbers, such as an embedding, as it is."""

    kind: ClassVar[str] = "matrix"
    name: str
    width: int

    def encode(self, column: NDArray[Any]) -> Inputs:
        """Return the numbers in float32."""
        if column.ndim != 2 or column.shape[1] != self.width:
            raise BadInput(
                f"The column {self.name!r} has the shape {column.shape}", available=f"{self.width:,} numbers per row"
            )
        if column.dtype.kind not in "fiub" or not np.isfinite(column).all():
            raise BadInput(
                f"The column {self.name!r} is a matrix of {column.dtype} that is not all finite numbers",
                help="drop or fill what is missing.",
            )
        return column.astype(np.float32)

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> MatrixColumn:
        """Make it again from its state."""
        width = state.get("width")
        if not isinstance(width, int) or isinstance(width, bool) or not 1 <= width <= MOST_WIDTH:
            raise _damaged(state)
        return cls(_name(state), width)


@dataclass(frozen=True)
class PictureColumn:
    """Pictures, the only feature then: uint8 ``[row, height, width, channel]``, as they are."""

    kind: ClassVar[str] = "pictures"
    name: str
    shape: tuple[int, int, int]

    @property
    def width(self) -> int:
        """How many numbers a picture has."""
        return math.prod(self.shape)

    def encode(self, column: NDArray[Any]) -> Inputs:
        """Return the pictures."""
        if column.shape[1:] != self.shape or column.dtype != np.uint8:
            raise BadInput(
                f"The column {self.name!r} holds {column.dtype} of the shape {column.shape}",
                available=f"pictures: uint8 of the shape {self.shape} per row",
            )
        return column

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> PictureColumn:
        """Make it again from its state."""
        shape = state.get("shape")
        if not isinstance(shape, list | tuple) or len(shape) != 3:
            raise _damaged(state)
        if not all(isinstance(side, int) and not isinstance(side, bool) and 1 <= side <= MOST_WIDTH for side in shape):
            raise _damaged(state)
        if math.prod(shape) > MOST_NUMBERS:
            raise _damaged(state)
        return cls(_name(state), (shape[0], shape[1], shape[2]))


ColumnEncoder = NumberColumn | CategoryColumn | MatrixColumn | PictureColumn
KINDS: Mapping[str, Any] = {one.kind: one for one in (NumberColumn, CategoryColumn, MatrixColumn, PictureColumn)}


@dataclass(frozen=True)
class InputEncoder:
    """The features of a model in order, and how each becomes inputs.

    Examples
    --------
    >>> encoder = InputEncoder.fit({"age": np.array([20, 40]), "job": np.array(["a", "b"])}, ("age", "job"))
    >>> encoder.encode({"age": [30, 40], "job": ["b", "c"]})
    array([[0., 0., 1.],
           [1., 0., 0.]], dtype=float32)
    """

    columns: tuple[ColumnEncoder, ...]

    @classmethod
    def fit(
        cls,
        columns: Mapping[str, NDArray[Any]],
        features: Sequence[str],
        train: Codes | None = None,
        *,
        what: str = "the data",
    ) -> InputEncoder:
        """Fit the encoding of features on training rows.

        Parameters
        ----------
        columns : mapping of str to array
            All columns, with a value, a matrix row or a picture per row.
        features : sequence of str
            Those that a model sees.
        train : array of int, optional
            Positions of the training rows; by default all rows. The others say only of what kind a column is.
        what : str
            What the columns belong to, for messages.

        Returns
        -------
        InputEncoder
        """
        if not features:
            raise BadInput(f"{what[:1].upper()}{what[1:]} has no feature columns", help="name them with features=.")
        rows = np.arange(len(columns[features[0]])) if train is None else train
        pictures = [name for name in features if columns[name].ndim > 2]
        if pictures:
            return cls((_pictures(pictures[0], columns[pictures[0]], features),))
        return cls(tuple(_column(name, columns[name], rows) for name in features))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return tuple(column.name for column in self.columns)

    @property
    def width(self) -> int:
        """How many inputs a row has."""
        return sum(column.width for column in self.columns)

    def encode(self, data: object) -> Inputs:
        """Return the inputs of each row of a frame of any library, of a mapping of columns, or of a cohort.

        Columns that the model does not read are ignored; one that it reads and that is absent is refused. Where the
        only feature is pictures or a matrix, an array of them will do.
        """
        return self.encode_columns(self._columns(data))

    def _columns(self, data: object) -> Mapping[str, NDArray[Any]]:
        if not isinstance(data, np.ndarray):
            return columns_of(data, self.names, "the data")
        if len(self.columns) > 1 or not isinstance(self.columns[0], PictureColumn | MatrixColumn):
            raise BadInput(
                f"The data are an array of the shape {data.shape}, and columns are found by their names",
                available=f"a frame or a mapping with the columns {listing(self.names)}",
            )
        return {self.names[0]: data}

    def blank(self) -> Inputs:
        """Return the inputs of one row without values."""
        first = self.columns[0]
        if isinstance(first, PictureColumn):
            return np.zeros((1, *first.shape), dtype=np.uint8)
        return np.zeros((1, self.width), dtype=np.float32)

    def encode_columns(self, columns: Mapping[str, NDArray[Any]]) -> Inputs:
        """Return the inputs of each row of columns that are arrays."""
        absent = [name for name in self.names if name not in columns]
        if absent:
            raise BadInput(f"The data lack {listing(map(repr, absent))}", available=listing(self.names))
        parts = [column.encode(columns[column.name]) for column in self.columns]
        return parts[0] if isinstance(self.columns[0], PictureColumn) else np.concatenate(parts, axis=1)

    def unknown_values(self, data: object) -> dict[str, tuple[str, ...]]:
        """Return, by column, the categories of a frame that no training row has: they are 0 in all inputs of it."""
        columns = self._columns(data)
        by_column = {
            column.name: column.unknown(columns[column.name])
            for column in self.columns
            if isinstance(column, CategoryColumn)
        }
        return {name: values for name, values in by_column.items() if values}

    def state(self) -> list[dict[str, Any]]:
        """Return the encoding of each column, as JSON values."""
        return [{"kind": column.kind, **asdict(column)} for column in self.columns]

    @classmethod
    def restore(cls, state: object) -> InputEncoder:
        """Make an encoder again from its state; what is not one is refused."""
        if not isinstance(state, list) or not state or not all(isinstance(column, Mapping) for column in state):
            raise BadInput("The encoding of the inputs is not a list of columns", help="save the model again.")
        columns = []
        for column_state in state:
            kind = KINDS.get(str(column_state.get("kind")))
            if kind is None:
                raise BadInput(f"A column of the encoding is {column_state.get('kind')!r}", available=listing(KINDS))
            columns.append(kind.restore(column_state))
        if len({column.name for column in columns}) < len(columns):
            raise BadInput("The encoding of the inputs has a column twice", help="save the model again.")
        return cls(tuple(columns))


def _pictures(name: str, column: NDArray[Any], features: Sequence[str]) -> PictureColumn:
    if column.ndim != 4 or column.dtype != np.uint8 or 0 in column.shape:
        raise BadInput(
            f"The column {name!r} holds {column.dtype} of the shape {column.shape}",
            available="one value per row, a matrix of numbers, or pictures: uint8 [row, height, width, channel]",
            help="pictures without a channel get one by array[..., None]; from 0..1 by (255 * array).astype('u1').",
        )
    other_features = [feature for feature in features if feature != name]
    if other_features:
        raise BadInput(
            f"The feature {name!r} holds pictures, and there are other features: {listing(other_features)}",
            available="pictures as the only feature",
            help=f"features=({name!r},).",
        )
    height, width, channels = column.shape[1:]
    return PictureColumn(name, (height, width, channels))


def _column(name: str, column: NDArray[Any], train: Codes) -> ColumnEncoder:
    if column.ndim == 2:
        return MatrixColumn(name, column.shape[1])
    numbers = as_numbers(column)
    if numbers is not None and looks_like_id(name) and _names_rows(numbers):
        raise BadInput(
            f"The column {name!r} has a different whole number in every row: it identifies rows",
            available="features that describe a row",
            help="name the features without it (features =), or rename the column if it is a quantity.",
        )
    return CategoryColumn.fit(name, column, train) if numbers is None else NumberColumn.fit(name, numbers, train)


def _names_rows(numbers: NDArray[np.float64]) -> bool:
    is_whole = len(numbers) > FEW_CATEGORIES and bool((numbers == np.floor(numbers)).all())
    return is_whole and len(np.unique(numbers)) == len(numbers)


def as_numbers(column: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return a column of numbers with NaN where one is missing; None where it holds text or anything else."""
    if column.dtype.kind in "fiub":
        return column.astype(np.float64)
    if column.dtype.kind != "O":
        return None
    values = column.tolist()
    if set(map(type, values)) <= PLAIN_NUMBERS:  # a file's columns, without a look at every value
        floats = np.array(values, dtype=np.float64)
        return None if np.isnan(floats).all() else floats
    missing = np.array([label_of(value) is None for value in column.tolist()])
    if missing.all() or not all(isinstance(value, int | float | np.number) for value in column[~missing].tolist()):
        return None
    numbers = np.full(len(column), np.nan)
    numbers[~missing] = column[~missing].astype(np.float64)
    return numbers


def _name(state: Mapping[str, Any]) -> str:
    if not isinstance(state.get("name"), str):
        raise _damaged(state)
    return str(state["name"])


def _damaged(state: Mapping[str, Any]) -> BadInput:
    return BadInput(f"A column of the encoding is {dict(state)!r:.200}", help="save the model again.")
