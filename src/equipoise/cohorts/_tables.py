"""One way to ask questions of rows, whether they are arrays in memory or a lazy frame in some engine.

The two classes answer the same questions with the same numbers: eagerly by factorising and one bincount, lazily by
one group-by. ``tests/cohorts/test_tables.py`` holds them equal over every kind of column. A column of numbers is cut
into groups on request: ``age=25,45`` or ``age=quantile:4``.
"""

from __future__ import annotations

import itertools
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts._array_files import (
    matrix_of_lists,
    relation_lists,
)
from equipoise.foundation import (
    BadInput,
    Column,
    Floats,
    as_column,
    as_floats,
    as_weights,
    same_length,
    unknown_name,
)
from equipoise.tallies import (
    BIN_COLUMN,
    Cells,
    Coded,
    Label,
    ResidualPivot,
    ScoreScale,
    add_bins,
    check_weights_lazily,
    collect_coded_rows,
    collect_rows,
    count_lazily,
    factorise,
    frequent_values,
    label_of,
    residual_sums,
    sampled_values,
    score_cells,
)

if TYPE_CHECKING:
    import narwhals as nw


# A lazy frame is looked at this far before it is counted, to refuse columns that are no classes or groups.
PEEK = 10_000


@dataclass(frozen=True)
class Axis:
    """What is counted along one axis: a column, or the numbers of a column cut at edges."""

    column: str
    edges: tuple[float, ...] | None = None


@dataclass(frozen=True, eq=False)
class ScoreRows:
    """The rows that have a score, in memory: their place on each axis, score and weight."""

    axes: Mapping[str, Coded]
    scores: Floats
    weights: Floats | None = None


@dataclass(frozen=True)
class ColumnRange:
    """The range of a numeric column, and how many of its values are missing."""

    low: float
    high: float
    missing: int


class Table(ABC):
    """Rows that can be counted."""

    name: str

    @property
    @abstractmethod
    def columns(self) -> list[str]:
        """The names of the columns."""

    @abstractmethod
    def is_number(self, column: str) -> bool:
        """Tell whether a column holds numbers (true and false are not numbers)."""

    @abstractmethod
    def is_list(self, column: str) -> bool:
        """Tell whether a column holds lists of labels."""

    @abstractmethod
    def peek(self, column: str) -> tuple[Label, ...]:
        """Return the labels seen in the column: all of them in memory, those of the first rows otherwise."""

    @abstractmethod
    def count(self, axes: Mapping[str, Axis], weight: str | None = None) -> Cells:
        """Count rows by axes."""

    @abstractmethod
    def count_scores(self, axes: Mapping[str, Axis], score: str, scale: ScoreScale, weight: str | None = None) -> Cells:
        """Count rows by axes and score bin; rows without a score are left out."""

    @abstractmethod
    def score_rows(self, axes: Mapping[str, Axis], score: str, weight: str | None = None) -> ScoreRows:
        """Return the rows that have a score, in memory."""

    @abstractmethod
    def sum_residuals(
        self, axes: Mapping[str, Axis], target: str, prediction: str, pivot: ResidualPivot, weight: str | None = None
    ) -> Cells:
        """Sum a regression's moments by axes; rows without a target or prediction are left out."""

    @abstractmethod
    def span(self, column: str) -> ColumnRange:
        """Return the range of a numeric column."""

    @abstractmethod
    def means(self, columns: Sequence[str]) -> list[float]:
        """Return the means of numeric columns, near enough to measure from."""

    @abstractmethod
    def check_weights(self, weight: str) -> None:
        """Refuse weights that are negative, missing or not finite."""

    @abstractmethod
    def in_memory(self, columns: Sequence[str]) -> EagerTable:
        """Return these columns in memory."""

    @abstractmethod
    def matrix(self, column: str) -> NDArray[Any]:
        """Return a column of lists of numbers, all equally long, as a matrix."""

    def check_columns(self, requested: Sequence[str] | Mapping[str, str]) -> None:
        """Refuse a column that is not there, with the nearest that is; a mapping says how each would be typed."""
        check_names(requested, self.columns, self.name)


def check_names(requested: Sequence[str] | Mapping[str, str], available: Sequence[str], where: str) -> None:
    """Refuse the name of a column that is not known."""
    for column in requested:
        if column not in available:
            typed = requested[column] if isinstance(requested, Mapping) else "{!r}"
            raise unknown_name("column", column, available, where, typed=typed)


class EagerTable(Table):
    """Columns in memory."""

    def __init__(self, columns: Mapping[str, Column], name: str = "the data") -> None:
        self._columns = dict(columns)
        self._coded: dict[str, Coded] = {}
        self.name = name
        self.rows = same_length(self._columns)

    @property
    def columns(self) -> list[str]:
        return list(self._columns)

    def column(self, name: str) -> Column:
        """Return one column."""
        return self._columns[name]

    def is_number(self, column: str) -> bool:
        data = self._columns[column]
        if isinstance(data, np.ndarray):
            return data.dtype.kind in "iuf" or (data.dtype.kind == "O" and _all_numbers(data))
        return bool(data.dtype.is_numeric())

    def is_list(self, column: str) -> bool:
        data = self._columns[column]
        if not isinstance(data, np.ndarray) and data.dtype.is_nested():
            return True
        first = next((value for value in data if value is not None), None)
        return isinstance(first, (list, tuple, set, frozenset, np.ndarray))

    def peek(self, column: str) -> tuple[Label, ...]:
        return self._factorised(column).labels

    def count(self, axes: Mapping[str, Axis], weight: str | None = None) -> Cells:
        return Cells.from_codes({name: self.coded(axis) for name, axis in axes.items()}, self._weights(weight))

    def count_scores(self, axes: Mapping[str, Axis], score: str, scale: ScoreScale, weight: str | None = None) -> Cells:
        rows = self.score_rows(axes, score, weight)
        return score_cells(rows.axes, rows.scores, scale, rows.weights)

    def score_rows(self, axes: Mapping[str, Axis], score: str, weight: str | None = None) -> ScoreRows:
        scores = as_floats(self._columns[score], f"the score column {score!r}")
        has_score = ~np.isnan(scores)
        columns = {name: _subset(self.coded(axis), has_score) for name, axis in axes.items()}
        return ScoreRows(columns, scores[has_score], _chosen_weights(self._weights(weight), has_score))

    def sum_residuals(
        self, axes: Mapping[str, Axis], target: str, prediction: str, pivot: ResidualPivot, weight: str | None = None
    ) -> Cells:
        y, p = (as_floats(self._columns[name], f"the column {name!r}") for name in (target, prediction))
        is_complete = ~(np.isnan(y) | np.isnan(p))
        columns = {name: _subset(self.coded(axis), is_complete) for name, axis in axes.items()}
        return Cells.from_codes(
            columns,
            _chosen_weights(self._weights(weight), is_complete),
            residual_sums(y[is_complete], p[is_complete], pivot),
        )

    def span(self, column: str) -> ColumnRange:
        values = as_floats(self._columns[column], f"the column {column!r}")
        missing = np.isnan(values)
        if missing.all():
            return ColumnRange(float("nan"), float("nan"), int(missing.sum()))
        return ColumnRange(float(np.nanmin(values)), float(np.nanmax(values)), int(missing.sum()))

    def means(self, columns: Sequence[str]) -> list[float]:
        return [float(np.nanmean(as_floats(self._columns[name], f"the column {name!r}"))) for name in columns]

    def check_weights(self, weight: str) -> None:
        as_weights(self._columns[weight])

    def in_memory(self, columns: Sequence[str]) -> EagerTable:
        return EagerTable({name: self._columns[name] for name in columns}, self.name)

    def matrix(self, column: str) -> NDArray[Any]:
        return matrix_of_lists(self._columns[column], column)

    def coded(self, axis: Axis) -> Coded:
        """Return each row's place on an axis."""
        if axis.edges is None:
            return self._factorised(axis.column)
        values = as_floats(self._columns[axis.column], f"the column {axis.column!r}")
        places = np.searchsorted(np.asarray(axis.edges), values, side="right").astype(np.int64)
        labels: tuple[Label, ...] = tuple(str(index) for index in range(len(axis.edges) + 1))
        missing = np.isnan(values)
        if not missing.any():
            return Coded(places, labels)
        return Coded(np.where(missing, len(labels), places), (*labels, None))

    def _factorised(self, column: str) -> Coded:
        if column not in self._coded:
            self._coded[column] = factorise(self._columns[column])
        return self._coded[column]

    def _weights(self, weight: str | None) -> Floats | None:
        return None if weight is None else as_weights(self._columns[weight])


def _subset(coded: Coded, mask: Any) -> Coded:
    return coded if mask.all() else Coded(coded.codes[mask], coded.labels)


def _chosen_weights(weights: Floats | None, mask: Any) -> Floats | None:
    return None if weights is None else weights[mask]


def _all_numbers(data: Any) -> bool:
    return all(value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)) for value in data)


class LazyTable(Table):
    """A lazy frame of any engine narwhals knows."""

    def __init__(self, frame: nw.LazyFrame[Any], name: str = "the data") -> None:
        self.name = name
        schema = frame.collect_schema()
        self.frame, self._inner = _plainly_named(frame, list(schema))
        self._schema = dict(schema)
        self._numerals: dict[str, bool] = {}

    @property
    def columns(self) -> list[str]:
        return list(self._schema)

    def is_number(self, column: str) -> bool:
        return bool(self._schema[column].is_numeric())

    def is_list(self, column: str) -> bool:
        return bool(self._schema[column].is_nested())

    def peek(self, column: str) -> tuple[Label, ...]:
        rows = collect_rows(self.frame.select(self._inner[column]).head(PEEK))
        return tuple(dict.fromkeys(label_of(row[0]) for row in rows))

    def count(self, axes: Mapping[str, Axis], weight: str | None = None) -> Cells:
        return count_lazily(self.frame, self._expressions(axes), self._named(weight))

    def count_scores(self, axes: Mapping[str, Axis], score: str, scale: ScoreScale, weight: str | None = None) -> Cells:
        value = self._number(score)
        frame = self.frame.filter(~value.is_null())
        if scale.cuts is None:
            keys: dict[str, nw.Expr] = {**self._expressions(axes), "bin": scale.bin_expression(value)}
            return count_lazily(frame, keys, self._named(weight), [value, value * value])
        named = {f"axis_{index}": expression for index, expression in enumerate(self._expressions(axes).values())}
        weights = [] if weight is None else [_col(self._inner[weight]).alias("heavy")]
        chosen = frame.select(*(e.alias(name) for name, e in named.items()), value.alias("score"), *weights)
        keys = {name: _col(inner) for name, inner in zip(axes, named, strict=True)}
        number = _col("score")
        heavy = None if weight is None else "heavy"
        return count_lazily(
            add_bins(chosen, "score", scale.cuts), {**keys, "bin": _col(BIN_COLUMN)}, heavy, [number, number * number]
        )

    def score_rows(self, axes: Mapping[str, Axis], score: str, weight: str | None = None) -> ScoreRows:
        value = self._number(score)
        weights = [] if weight is None else [_col(self._inner[weight]).cast(_float())]
        labelled, numbers = collect_coded_rows(
            self.frame.filter(~value.is_null()), self._expressions(axes), [value, *weights]
        )
        return ScoreRows(labelled, numbers[0], numbers[1] if weights else None)

    def score_sample(
        self, score: str, target: str, most: int, complete: Collection[Label] = ()
    ) -> list[tuple[Label, float, int]] | None:
        """Return (target, score, rows) of every score, or of a sample of them; None where the engine cannot sample."""
        value = self._number(score)
        truth = _col(self._inner[target]).alias("truth")
        frame = self.frame.filter(~value.is_null()).select(truth, value.alias("score"))
        return sampled_values(frame, most, complete)

    def frequent_scores(self, score: str, ranges: Sequence[tuple[float, float]], least: int) -> list[float]:
        """Return the scores inside ranges that so many rows share (DuckDB)."""
        return frequent_values(self.frame.select(self._number(score).alias("score")), ranges, least)

    def sum_residuals(
        self, axes: Mapping[str, Axis], target: str, prediction: str, pivot: ResidualPivot, weight: str | None = None
    ) -> Cells:
        y, p = self._number(target), self._number(prediction)
        frame = self.frame.filter(~(y.is_null() | p.is_null()))
        return count_lazily(frame, self._expressions(axes), self._named(weight), residual_sums(y, p, pivot))

    def span(self, column: str) -> ColumnRange:
        value = self._number(column)
        low, high, value_count, rows = collect_rows(
            self.frame.select(value.alias("value"))
            .select(_col("value").min().alias("low"), _col("value").max().alias("high"),
                    _col("value").count().alias("known"), _len().alias("rows"))
        )[0]  # fmt: skip
        if not value_count:
            return ColumnRange(float("nan"), float("nan"), int(rows))
        return ColumnRange(float(low), float(high), int(rows) - int(value_count))

    def means(self, columns: Sequence[str]) -> list[float]:
        named = [self._number(name).mean().alias(f"mean_{index}") for index, name in enumerate(columns)]
        return [float(mean) for mean in collect_rows(self.frame.select(*named))[0]]

    def check_weights(self, weight: str) -> None:
        self._number(weight)
        check_weights_lazily(self.frame, self._inner[weight])

    def in_memory(self, columns: Sequence[str]) -> EagerTable:
        rows = collect_rows(self.frame.select(*(self._inner[column] for column in columns)))
        lists = list(zip(*rows, strict=True)) if rows else [() for _ in columns]
        return EagerTable({name: _objects(values) for name, values in zip(columns, lists, strict=True)}, self.name)

    def matrix(self, column: str) -> NDArray[Any]:
        native = self.frame.to_native()
        if hasattr(native, "fetchnumpy"):
            return relation_lists(native, self._inner[column], column)
        return self.in_memory([column]).matrix(column)

    def _named(self, column: str | None) -> str | None:
        return None if column is None else self._inner[column]

    def _expressions(self, axes: Mapping[str, Axis]) -> dict[str, nw.Expr]:
        return {name: self._expression(axis) for name, axis in axes.items()}

    def _expression(self, axis: Axis) -> nw.Expr:
        import narwhals as nw

        if axis.edges is None:
            return nw.col(self._inner[axis.column])
        value = self._number(axis.column)
        # A missing value stays missing: null compared with anything is null.
        bin_code = (value >= axis.edges[0]).cast(nw.Int64())
        for edge in axis.edges[1:]:
            bin_code = bin_code + (value >= edge).cast(nw.Int64())
        return bin_code

    def _number(self, column: str) -> nw.Expr:
        """Return a column as floats, with NaN made missing."""
        import narwhals as nw

        dtype = self._schema[column]
        written = not dtype.is_numeric() and self._writes_numbers(column)
        if not (dtype.is_numeric() or written):
            raise BadInput(
                f"The column {column!r} must be numbers; it holds values such as {self._culprit(column)!r}",
                available="numbers such as 0.25 (a decimal point, not a comma)",
                help="convert the column to numbers first; a word for missing values can be named with --missing.",
            )
        value = nw.col(self._inner[column]).cast(nw.Float64())
        return nw.when(~value.is_nan()).then(value) if dtype.is_float() or written else value

    def _writes_numbers(self, column: str) -> bool:
        """Tell whether a column of text has numbers throughout, such as +0.25, that DuckDB does not guess to be any."""
        native = self.frame.to_native()
        if not hasattr(native, "fetchall") or self._schema[column] != _string():
            return False
        if column not in self._numerals:
            name = f'"{self._inner[column]}"'
            counted = native.aggregate(f"count({name}) AS given, count(TRY_CAST({name} AS DOUBLE)) AS numbers")
            value_count, numbers = collect_rows(_lazy(counted))[0]
            self._numerals[column] = value_count == numbers > 0
        return self._numerals[column]

    def _culprit(self, column: str) -> Label:
        """Return a value that is no number: DuckDB finds it wherever it is, another engine among the first rows."""
        native = self.frame.to_native()
        if hasattr(native, "fetchall"):
            name = f'"{self._inner[column]}"'
            odd = native.filter(f"{name} IS NOT NULL AND TRY_CAST({name} AS DOUBLE) IS NULL").select(
                self._inner[column]
            )
            rows = collect_rows(_lazy(odd.limit(1)))
            return label_of(rows[0][0]) if rows else None
        for label in self.peek(column):
            try:
                float(label or 0)
            except ValueError:
                return label
        return None


def _plainly_named(frame: nw.LazyFrame[Any], columns: list[str]) -> tuple[nw.LazyFrame[Any], dict[str, str]]:
    """Rename columns that DuckDB would take for SQL (a dot, a quote), and say what each is called inside."""
    import narwhals as nw

    native = frame.to_native()
    if not hasattr(native, "fetchall") or all(re.fullmatch(r"\w+", column) for column in columns):
        return frame, {column: column for column in columns}
    inner = {column: f"column_{index}" for index, column in enumerate(columns)}
    quoted = ('"{}" AS {}'.format(column.replace('"', '""'), name) for column, name in inner.items())
    return nw.from_native(native.project(", ".join(quoted))), inner


def _objects(values: Sequence[object]) -> Any:
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    return array


def _lazy(native: Any) -> nw.LazyFrame[Any]:
    import narwhals as nw

    frame: nw.LazyFrame[Any] = nw.from_native(native)
    return frame


def _col(name: str) -> nw.Expr:
    import narwhals as nw

    return nw.col(name)


def _float() -> nw.Float64:
    import narwhals as nw

    return nw.Float64()


def _string() -> nw.String:
    import narwhals as nw

    return nw.String()


def _len() -> nw.Expr:
    import narwhals as nw

    return nw.len()


def as_table(data: object, name: str = "the data", *, or_arrays: bool = False) -> Table:
    """Make a table of a frame that narwhals knows, or of a mapping of arrays.

    ``or_arrays`` says that the caller takes a path, or arrays in place of a table, too.
    """
    import narwhals as nw

    if isinstance(data, Mapping):
        return EagerTable({str(key): as_column(values, f"the column {key!r}") for key, values in data.items()}, name)
    try:
        frame = nw.from_native(data, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise BadInput(f"There are several columns of the same name in {name}", help="rename them first.") from error
    if isinstance(frame, nw.DataFrame):
        return EagerTable({str(column): frame.get_column(column) for column in frame.columns}, name)
    if isinstance(frame, nw.LazyFrame):
        return LazyTable(frame, name)
    accepted = "a frame (pandas, Polars, PyArrow, DuckDB, Dask, PySpark), a mapping of arrays, a Cohort"
    raise BadInput(
        f"The data is a {type(data).__name__}",
        available=f"a path, {accepted}" if or_arrays else accepted,
        help="or leave it out and pass arrays as target=, prediction= and sensitive_features=."
        if or_arrays
        else "make a frame of it, with the columns under their names: pandas.DataFrame or pandas.read_csv.",
    )


@dataclass(frozen=True)
class Bins:
    """A request to cut a column: at given edges, or into so many equally filled parts."""

    edges: tuple[float, ...] = ()
    quantiles: int = 0

    @classmethod
    def parse(cls, text: str) -> Bins:
        """Read ``25,45`` or ``quantile:4``."""
        try:
            if text.startswith("quantile:"):
                parts = int(text.removeprefix("quantile:"))
                if parts < 2:
                    raise ValueError
                return cls(quantiles=parts)
            edges = tuple(float(edge) for edge in text.split(","))
            if list(edges) != sorted(set(edges)) or not np.isfinite(edges).all():
                raise ValueError
        except ValueError:
            raise BadInput(
                f"The bins {text!r} could not be read",
                available="increasing edges such as 25,45 or quantiles such as quantile:4",
            ) from None
        return cls(edges=edges)

    @classmethod
    def of(cls, request: object) -> Bins:
        """Accept what a Python caller writes: a Bins, text, or a list of edges."""
        if isinstance(request, Bins):
            return request
        if isinstance(request, str):
            return cls.parse(request)
        if isinstance(request, Sequence):
            return cls.parse(",".join(str(edge) for edge in request))
        return cls.parse(str(request))


def parse_bins(requests: object) -> dict[str, Bins]:
    """Read which columns are to be cut, and how."""
    if requests is None:
        return {}
    if not isinstance(requests, Mapping):
        raise BadInput(
            f"bins is {requests!r}", available="a mapping such as {'age': [25, 45]} or {'age': 'quantile:4'}"
        )
    return {str(column): Bins.of(request) for column, request in requests.items()}


def bin_names(edges: Sequence[float]) -> list[str]:
    """Name the groups between the edges; an edge belongs to the group above it."""
    text = [f"{edge:g}" if abs(edge) < 1e15 else repr(edge) for edge in edges]
    middle = [f"{low} to under {high}" for low, high in itertools.pairwise(text)]
    return [f"under {text[0]}", *middle, f"{text[-1]} and over"]


def quantile_edges(values: Sequence[float], counts: Sequence[float], parts: int) -> tuple[float, ...]:
    """Return the edges that cut counted values into equally filled parts. Ties may leave fewer parts."""
    order = np.argsort(values)
    ordered, share = np.asarray(values, dtype=np.float64)[order], np.cumsum(np.asarray(counts)[order])
    quantiles = share[-1] * np.arange(1, parts) / parts
    edges = ordered[np.minimum(np.searchsorted(share, quantiles, side="right"), len(ordered) - 1)]
    return tuple(edge for edge in np.unique(edges).tolist() if edge > ordered[0])
