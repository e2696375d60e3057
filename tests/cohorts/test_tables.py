"""The conformance table: every kind of column, in every kind of frame and file, is counted to the same cells.

The expected cells are made by a plain loop over rows. Weights, scores and targets are multiples of 1/4 or 1/64, so that
sums are exact in whatever order an engine adds them, and tables can be compared to the last bit.
"""

from __future__ import annotations

import csv
import datetime
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import equipoise
from equipoise.cohorts import (
    Axis,
    Bins,
    ColumnRange,
    EagerTable,
    LazyTable,
    Table,
    as_table,
    bin_names,
    open_table,
    quantile_edges,
)
from equipoise.foundation import BadInput
from equipoise.tallies import (
    SCORE_BINS,
    Cells,
    ResidualPivot,
    ScoreScale,
)

ROWS = 30
NAN = math.nan
MODERATE = settings(deadline=None, max_examples=40)


@dataclass(frozen=True)
class Kind:
    """A kind of column: its type, its values, and the label each value must get."""

    dtype: Any
    values: Sequence[Any]
    labels: Sequence[str | None]


DAY, NOON = datetime.date(2020, 1, 31), datetime.datetime(2020, 1, 31, 12, 30)
KINDS = {
    "text": Kind(pl.String, ["b", "a", "é, \"x\"", "A", "10", "9"], ["b", "a", "é, \"x\"", "A", "10", "9"]),
    "text with null": Kind(pl.String, ["b", None, "a", None], ["b", None, "a", None]),
    "one text": Kind(pl.String, ["same"], ["same"]),
    "nothing but null": Kind(pl.String, [None], [None]),
    "integer": Kind(pl.Int64, [1, 2, 10, -3, 0], ["1", "2", "10", "-3", "0"]),
    "integer with null": Kind(pl.Int64, [1, None, 10, 1], ["1", None, "10", "1"]),
    "small integer": Kind(pl.UInt8, [0, 255, 7], ["0", "255", "7"]),
    "large integer": Kind(pl.Int64, [2**53 + 1, 2**53 + 2, -(2**62)], [str(2**53 + 1), str(2**53 + 2), str(-(2**62))]),
    "large integer with null": Kind(pl.Int64, [2**53 + 1, None, 2**53 + 2], [str(2**53 + 1), None, str(2**53 + 2)]),
    "integer as float": Kind(pl.Float64, [1.0, 2.0, 10.0, -0.0, 0.0], ["1", "2", "10", "0", "0"]),
    "float with NaN and null": Kind(pl.Float64, [0.5, NAN, None, 2.0, 1e-7], ["0.5", None, None, "2", "1e-07"]),
    "float with null": Kind(pl.Float64, [0.25, None], ["0.25", None]),
    "float with NaN": Kind(pl.Float64, [0.25, NAN], ["0.25", None]),
    "narrow float": Kind(pl.Float32, [0.5, 0.25, 3.0], ["0.5", "0.25", "3"]),
    "bool": Kind(pl.Boolean, [True, False, True], ["True", "False", "True"]),
    "bool with null": Kind(pl.Boolean, [True, False, None], ["True", "False", None]),
    "category": Kind(pl.Categorical, ["low", "high", "low"], ["low", "high", "low"]),
    "category with null": Kind(pl.Categorical, ["low", "high", None], ["low", "high", None]),
    "enum with an unused value": Kind(pl.Enum(["low", "middle", "high"]), ["high", None, "low"], ["high", None, "low"]),
    "date": Kind(pl.Date, [DAY, None, datetime.date(1999, 12, 31)], ["2020-01-31", None, "1999-12-31"]),
    "moment": Kind(pl.Datetime("us"), [NOON, None], ["2020-01-31T12:30:00", None]),
    "decimal": Kind(pl.Decimal(10, 2), [Decimal("1.50"), Decimal("2.00"), None], ["1.5", "2", None]),
}  # fmt: skip

OTHER = ["x", "y", None, "x", "z", "y", "x"]
WEIGHTS = [1.0, 0.25, 2.5, 0.0, 3.0, 1.75, 0.5, 1.0, 4.0, 0.75, 2.0]


def cycled(values: Sequence[Any]) -> list[Any]:
    return [values[place % len(values)] for place in range(ROWS)]


# From named columns (a type and values) to tables, in every way that a user may hold them.

Columns = Mapping[str, tuple[Any, Sequence[Any]]]


def polars_frame(columns: Columns) -> pl.DataFrame:
    series = [pl.Series(name, list(values), dtype=dtype, strict=False) for name, (dtype, values) in columns.items()]
    return pl.DataFrame(series)


def pandas_frame(columns: Columns) -> pd.DataFrame:
    return pd.DataFrame({name: pandas_series(dtype, list(values)) for name, (dtype, values) in columns.items()})


def pandas_series(dtype: Any, values: list[Any]) -> pd.Series:
    if dtype == pl.Categorical or isinstance(dtype, pl.Enum):
        return pd.Series(pd.Categorical(values, categories=sorted({"unused", *filter(None, values)})))
    if dtype.is_integer() and None in values:  # as floats, unless they would lose digits
        return pd.Series(values, dtype="Int64" if max(filter(None, values)) > 2**53 else "float64")
    return pd.Series(values, dtype={pl.Float32: "float32", pl.UInt8: "uint8"}.get(dtype))


def arrays(columns: Columns) -> dict[str, Any]:
    return {name: array(dtype, list(values)) for name, (dtype, values) in columns.items()}


def array(dtype: Any, values: list[Any]) -> Any:
    if dtype == pl.Date:
        return np.array(values, dtype="datetime64[D]")
    if dtype.is_float():
        return np.array([NAN if value is None else value for value in values], dtype=np.float64)
    return np.array(values, dtype=object if None in values or dtype == pl.Decimal else None)


def arrow_table(columns: Columns) -> pa.Table:
    return polars_frame(columns).to_arrow()


def chunked(columns: Columns) -> pa.Table:
    """Two chunks, and text as dictionaries that differ between the chunks."""
    table = arrow_table(columns)
    parts = []
    for part in (table.slice(0, 11), table.slice(11)):
        made = [
            column.dictionary_encode() if pa.types.is_large_string(column.type) else column
            for column in (pa.concat_arrays(column.chunks) for column in part.columns)
        ]
        parts.append(pa.table(made, names=table.column_names))
    return pa.concat_tables(parts)


def csv_file(columns: Columns, folder: Path) -> Table:
    path = folder / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for row in zip(*(values for _, values in columns.values()), strict=True):
            writer.writerow([cell.isoformat() if isinstance(cell, datetime.date) else cell for cell in row])
    return LazyTable(open_table(path))


def parquet_file(columns: Columns, folder: Path) -> Table:
    polars_frame(columns).write_parquet(folder / "rows.parquet")
    return LazyTable(open_table(folder / "rows.parquet"))


def write_shards(columns: Columns, folder: Path) -> Path:
    frame, cuts = polars_frame(columns), (0, 1, 14, ROWS)
    (folder / "shards" / "deeper").mkdir(parents=True)
    for index, low in enumerate(cuts[:-1]):
        below = "deeper/" if index == 2 else ""
        frame[low : cuts[index + 1]].write_parquet(folder / "shards" / f"{below}part-{index}.parquet")
    return folder / "shards"


def shard_folder(columns: Columns, folder: Path) -> Table:
    return LazyTable(open_table(write_shards(columns, folder)))


def shard_glob(columns: Columns, folder: Path) -> Table:
    return LazyTable(open_table(str(write_shards(columns, folder) / "**" / "*.parquet")))


def arrow_file(columns: Columns, folder: Path) -> Table:
    pyarrow.feather.write_feather(arrow_table(columns), str(folder / "rows.arrow"), compression="uncompressed")
    return LazyTable(open_table(folder / "rows.arrow"))


def relation(columns: Columns, folder: Path) -> Table:
    return as_table(duckdb.connect().from_arrow(arrow_table(columns)))


EAGER: dict[str, Callable[[Columns, Path], Table]] = {
    "lists": lambda columns, _: as_table({name: list(values) for name, (_, values) in columns.items()}),
    "arrays": lambda columns, _: as_table(arrays(columns)),
    "pandas": lambda columns, _: as_table(pandas_frame(columns)),
    "pandas with nullable types": lambda columns, _: as_table(pandas_frame(columns).convert_dtypes()),
    "polars": lambda columns, _: as_table(polars_frame(columns)),
    "pyarrow": lambda columns, _: as_table(arrow_table(columns)),
    "pyarrow in chunks": lambda columns, _: as_table(chunked(columns)),
}
LAZY: dict[str, Callable[[Columns, Path], Table]] = {
    "polars lazy": lambda columns, _: as_table(polars_frame(columns).lazy()),
    "DuckDB": relation,
    "CSV": csv_file,
    "Parquet": parquet_file,
    "folder": shard_folder,
    "glob": shard_glob,
    "Arrow": arrow_file,
}
SOURCES = {**EAGER, **LAZY}


def same(cells: Cells, expected: Cells) -> None:
    """The same cells whatever their order, the same fingerprint, and the same after a trip through plain values."""
    found, wanted = cells.to_dict(), expected.to_dict()
    assert (found["axes"], found["width"]) == (wanted["axes"], wanted["width"])
    assert in_order(found["cells"]) == in_order(wanted["cells"])
    assert cells.fingerprint == expected.fingerprint
    assert Cells.from_dict(found).fingerprint == expected.fingerprint


def in_order(cells: Any) -> list[Any]:
    return sorted(cells, key=lambda cell: [(label is None, label or "") for label in cell[0]])


def counted(axes: Mapping[str, Sequence[Any]], weights: Sequence[float] | None, *quantities: Sequence[float]) -> Cells:
    """Count by a plain loop: rows, weights, squared weights, and weighted sums of whatever else is given."""
    rows = []
    for index, labels in enumerate(zip(*axes.values(), strict=True)):
        weight = 1.0 if weights is None else weights[index]
        rows.append((labels, [1.0, weight, weight * weight, *(weight * part[index] for part in quantities)]))
    return Cells.from_rows(list(axes), rows, 3 + len(quantities))


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_column_is_counted_alike_in_every_source(
    kind: str, source: str, weighted: bool, tmp_path: Path
) -> None:
    chosen = KINDS[kind]
    columns = {
        "column": (chosen.dtype, cycled(chosen.values)),
        "other": (pl.String, cycled(OTHER)),
        "weight": (pl.Float64, cycled(WEIGHTS)),
    }
    table = SOURCES[source](columns, tmp_path)
    found = table.count({"a": Axis("column"), "b": Axis("other")}, "weight" if weighted else None)
    expected = counted(
        {"a": cycled(chosen.labels), "b": cycled(OTHER)}, cycled(WEIGHTS) if weighted else None
    )  # fmt: skip
    same(found, expected)
    assert found.rows == ROWS
    assert set(table.peek("column")) == set(chosen.labels)


@pytest.mark.parametrize("source", SOURCES)
def test_numbers_are_told_from_names_alike_in_every_source(source: str, tmp_path: Path) -> None:
    kinds = {name: kind for name, kind in KINDS.items() if name not in ("nothing but null", "decimal")}
    columns = {name.replace(" ", "_"): (kind.dtype, cycled(kind.values)) for name, kind in kinds.items()}
    table = SOURCES[source](columns, tmp_path)
    numbers = {name for name in columns if table.is_number(name)}
    assert numbers == {name for name, (dtype, _) in columns.items() if dtype.is_numeric()}
    assert not any(table.is_list(name) for name in columns)
    assert table.columns == list(columns)
    with pytest.raises(BadInput, match="did you mean 'integer'"):
        table.check_columns(["integr"])


SCORE = [0.0, 1.0, 0.5, 0.25, None, 0.984375, NAN, 0.015625, 0.5, 0.75, 0.5]
TRUTH = ["no", "yes", "yes", None, "no"]


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("source", SOURCES)
def test_scores_are_counted_alike_in_every_source_and_rows_without_one_are_left_out(
    source: str, weighted: bool, tmp_path: Path
) -> None:
    score, truth, other, weights = (cycled(column) for column in (SCORE, TRUTH, OTHER, WEIGHTS))
    columns = {
        "score": (pl.Float64, score), "truth": (pl.String, truth), "other": (pl.String, other),
        "weight": (pl.Float64, weights),
    }  # fmt: skip
    table = SOURCES[source](columns, tmp_path)
    axes = {"target": Axis("truth"), "group:other": Axis("other")}
    found = table.count_scores(axes, "score", ScoreScale(), "weight" if weighted else None)
    kept = [place for place in range(ROWS) if score[place] is not None and not math.isnan(score[place])]
    scores = [score[place] for place in kept]
    expected = counted(
        {
            "target": [truth[place] for place in kept],
            "group:other": [other[place] for place in kept],
            "bin": [str(int(value * SCORE_BINS)) for value in scores],
        },
        [weights[place] for place in kept] if weighted else None,
        scores,
        [value * value for value in scores],
    )
    same(found, expected)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("source", SOURCES)
def test_residuals_are_summed_alike_in_every_source(source: str, weighted: bool, tmp_path: Path) -> None:
    target = cycled([10.0, 12.5, None, -3.25, 8.0, NAN, 7.75])
    prediction = cycled([9.0, 12.0, 4.0, None, 8.5])
    other, weights = cycled(OTHER), cycled(WEIGHTS)
    columns = {
        "y": (pl.Float64, target), "p": (pl.Float64, prediction), "other": (pl.String, other),
        "weight": (pl.Float64, weights),
    }  # fmt: skip
    table = SOURCES[source](columns, tmp_path)
    found = table.sum_residuals({"g": Axis("other")}, "y", "p", ResidualPivot(8.0, 9.5), "weight" if weighted else None)
    kept = [place for place in range(ROWS) if target[place] == target[place] and None not in
            (target[place], prediction[place])]  # fmt: skip
    y, p = [target[place] - 8.0 for place in kept], [prediction[place] - 9.5 for place in kept]
    residual = [prediction[place] - target[place] for place in kept]
    expected = counted(
        {"g": [other[place] for place in kept]},
        [weights[place] for place in kept] if weighted else None,
        y,
        p,
        [a * a for a in y],
        [b * b for b in p],
        [a * b for a, b in zip(y, p, strict=True)],
        [abs(r) for r in residual],
        [r * r for r in residual],
        [r**4 for r in residual],
    )
    same(found, expected)


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        (pl.Int64, [17, 25, 44, 45, 46, 90]),
        (pl.Int64, [25, None, 45]),
        (pl.Float64, [24.75, 25.0, 45.0, NAN, None, -1.5]),
    ],
)
@pytest.mark.parametrize("source", SOURCES)
def test_numbers_are_cut_at_edges_alike_in_every_source(
    source: str, dtype: Any, values: list[Any], tmp_path: Path
) -> None:
    ages = cycled(values)
    table = SOURCES[source]({"age": (dtype, ages), "other": (pl.String, cycled(OTHER))}, tmp_path)
    found = table.count({"a": Axis("age", (25.0, 45.0)), "b": Axis("other")})
    known = [age is not None and not math.isnan(age) for age in ages]
    labels = [str((age >= 25) + (age >= 45)) if here else None for age, here in zip(ages, known, strict=True)]
    same(found, counted({"a": labels, "b": cycled(OTHER)}, None))
    span = table.span("age")
    numbers = [age for age, here in zip(ages, known, strict=True) if here]
    assert (span.low, span.high, span.missing) == (min(numbers), max(numbers), ROWS - len(numbers))
    assert table.means(["age"]) == pytest.approx([sum(numbers) / len(numbers)])


@pytest.mark.parametrize("source", SOURCES)
def test_columns_come_into_memory_with_the_same_labels(source: str, tmp_path: Path) -> None:
    columns = {"a": (pl.Int64, cycled([1, None, 3])), "b": (pl.String, cycled(OTHER)), "c": (pl.Boolean, [True] * ROWS)}
    table = SOURCES[source](columns, tmp_path)
    eager = table.in_memory(["b", "a"])
    assert isinstance(eager, EagerTable)
    assert eager.columns == ["b", "a"]
    axes = {"a": Axis("a"), "b": Axis("b")}
    same(eager.count(axes), table.count(axes))


@pytest.mark.parametrize("bad", [[1.0, -0.5], [1.0, NAN], [1.0, None], [1.0, math.inf]])
@pytest.mark.parametrize("source", SOURCES)
def test_weights_that_are_negative_missing_or_not_finite_are_refused_alike(
    source: str, bad: list[Any], tmp_path: Path
) -> None:
    table = SOURCES[source]({"weight": (pl.Float64, cycled(bad))}, tmp_path)
    with pytest.raises(BadInput, match="15 weights are negative, missing or not finite"):
        table.check_weights("weight")


@pytest.mark.parametrize("source", SOURCES)
def test_text_where_numbers_are_needed_is_refused_alike(source: str, tmp_path: Path) -> None:
    table = SOURCES[source]({"age": (pl.String, cycled(["old", "young"]))}, tmp_path)
    with pytest.raises(BadInput, match="must be numbers"):
        table.span("age")
    with pytest.raises(BadInput, match="must be numbers"):
        table.count({"age": Axis("age", (25.0,))})


@pytest.mark.parametrize("source", [name for name in SOURCES if name not in ("folder", "glob")])
def test_a_table_without_rows_counts_nothing(source: str, tmp_path: Path) -> None:
    columns = {"g": (pl.String, []), "n": (pl.Int64, []), "f": (pl.Float64, [])}
    table = SOURCES[source](columns, tmp_path)
    found = table.count({"g": Axis("g"), "n": Axis("n")})
    assert (found.rows, found.axis("g")) == (0, ())


# Whole audits.


def answers(result: equipoise.AuditResult) -> list[tuple[Any, ...]]:
    """Every number of an audit, rounded far beyond what a reader sees."""
    fields = ("measure", "kind", "scope", "class_", "label", "attribute", "group", "against", "split", "status")
    return [
        (*(getattr(record, name) for name in fields), None if math.isnan(record.value) else round(record.value, 9))
        for record in result.records
    ]


def people() -> Columns:
    generator = np.random.default_rng(5)
    size = ROWS
    ages = [int(age) if age % 7 else None for age in generator.integers(16, 90, size)]
    return {
        "income": (pl.String, generator.choice(["<=50K", ">50K"], size).tolist()),
        "predicted": (pl.String, generator.choice(["<=50K", ">50K"], size).tolist()),
        "score": (pl.Float64, (generator.integers(0, 65, size) / 64).tolist()),
        "sex": (pl.Categorical, [None if place == 3 else ["F", "M"][place % 2] for place in range(size)]),
        "age": (pl.Int64, ages),
        "weight": (pl.Float64, cycled(WEIGHTS)),
    }


ROLES: dict[str, Any] = {"target": "income", "favourable": ">50K", "weight": "weight", "draws": 0}


def native(source: str, folder: Path) -> Any:
    """What a user would pass to ``audit``: the frame itself, or the path of a file."""
    columns = people()
    frames: dict[str, Callable[[], Any]] = {
        "lists": lambda: {name: list(values) for name, (_, values) in columns.items()},
        "arrays": lambda: arrays(columns),
        "pandas": lambda: pandas_frame(columns),
        "pandas with nullable types": lambda: pandas_frame(columns).convert_dtypes(),
        "polars": lambda: polars_frame(columns),
        "pyarrow": lambda: arrow_table(columns),
        "pyarrow in chunks": lambda: chunked(columns),
        "polars lazy": lambda: polars_frame(columns).lazy(),
        "DuckDB": lambda: duckdb.connect().from_arrow(arrow_table(columns)),
        "glob": lambda: write_shards(columns, folder) / "**" / "*.parquet",
        "folder": lambda: write_shards(columns, folder),
    }
    if source in frames:
        return frames[source]()
    SOURCES[source](columns, folder)
    return next(folder.glob("rows.*"))


@pytest.mark.parametrize("source", SOURCES)
def test_an_audit_says_the_same_of_every_source(source: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {
        **ROLES, "prediction": "predicted", "score": "score", "sensitive_features": ["sex", "age"],
        "bins": {"age": "25,45"}, "intersections": True,
    }  # fmt: skip
    result = equipoise.audit(native(source, tmp_path), **options)
    expected = equipoise.audit(pandas_frame(people()), **options)
    assert answers(result) == answers(expected)
    assert result.card == expected.card
    assert result.provenance["fingerprint"] == expected.provenance["fingerprint"]
    assert result.words == expected.words
    assert result.untold == expected.untold


@pytest.mark.parametrize("source", SOURCES)
def test_quantile_bins_are_the_same_in_every_source(source: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {**ROLES, "prediction": "predicted", "sensitive_features": "age"}
    result = equipoise.audit(native(source, tmp_path), **options, bins={"age": "quantile:4"})
    ages = [age for age in people()["age"][1] if age is not None]
    edges = quantile_edges(sorted(set(ages)), [ages.count(age) for age in sorted(set(ages))], 4)
    groups = [row.group for row in result.card.groups]
    assert sorted(groups) == sorted([*bin_names(edges), "(missing)"])
    sizes = [row.rows for row in result.card.groups if row.group != "(missing)" and row.rows is not None]
    assert sum(sizes) == len(ages)
    assert max(sizes) - min(sizes) <= 3


@pytest.mark.parametrize("source", SOURCES)
def test_a_regression_audit_says_the_same_of_every_source(source: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "target": "age", "prediction": "score", "sensitive_features": "sex", "task": "regression", "weight": "weight",
        "draws": 0,
    }  # fmt: skip
    result = equipoise.audit(native(source, tmp_path), **options)
    expected = equipoise.audit(pandas_frame(people()), **options)
    assert answers(result) == answers(expected)


# Shards add up.


@MODERATE
@given(
    rows=st.lists(
        st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([0, 1, 2]), st.integers(0, 12)), max_size=40
    ),
    cuts=st.lists(st.integers(0, 40), max_size=4),
    weighted=st.booleans(),
)
def test_the_shards_of_a_table_add_up_to_the_whole(
    rows: list[tuple[str | None, int, int]], cuts: list[int], weighted: bool
) -> None:
    axes = {"g": Axis("g"), "y": Axis("y")}

    def table(part: list[tuple[str | None, int, int]]) -> Table:
        frame = pl.DataFrame(
            {"g": [row[0] for row in part], "y": [row[1] for row in part], "w": [row[2] / 4 + 1 for row in part]},
            schema={"g": pl.String, "y": pl.Int64, "w": pl.Float64},
        )
        return as_table(frame.lazy())

    places = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    shards = [rows[low:high] for low, high in itertools.pairwise(places)]
    weight = "w" if weighted else None
    merged = table(shards[0]).count(axes, weight)
    for shard in shards[1:]:
        merged = merged.merge(table(shard).count(axes, weight))
    same(merged, table(rows).count(axes, weight))


# Any values at all: the eager way, Polars and DuckDB agree.

VALUES = st.one_of(
    st.lists(st.none() | st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), max_size=4), max_size=30),
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=30),
    st.lists(st.none() | st.integers(-3, 3), max_size=30),
    st.lists(st.none() | st.booleans(), max_size=30),
    st.lists(st.none() | st.floats(width=64), max_size=30),
    st.lists(st.none() | st.dates(datetime.date(1, 1, 1), datetime.date(9999, 12, 31)), max_size=30),
).filter(lambda values: any(value is not None for value in values))


@MODERATE
@given(values=VALUES)
def test_any_values_are_counted_alike_eagerly_and_lazily(values: list[Any]) -> None:
    frame = pl.DataFrame({"v": values}, strict=False)
    axes = {"v": Axis("v")}
    expected = as_table({"v": values}).count(axes)
    same(as_table(frame).count(axes), expected)
    same(as_table(frame.to_arrow()).count(axes), expected)
    same(as_table(frame.lazy()).count(axes), expected)
    same(as_table(duckdb.connect().from_arrow(frame.to_arrow())).count(axes), expected)


@MODERATE
@given(
    scores=st.lists(
        st.floats(-10, 10, allow_subnormal=False) | st.integers(0, SCORE_BINS).map(lambda place: place / SCORE_BINS),
        min_size=2,
    ),
    unit=st.booleans(),
)
def test_a_score_falls_into_the_same_bin_eagerly_and_lazily_and_never_below_its_edge(
    scores: list[float], unit: bool
) -> None:
    if unit:
        scores = [min(abs(score), 1.0) for score in scores]
    low, high = (0.0, 1.0) if unit else (min(scores), max(scores))
    if high - low < 1e-6:
        return
    scale = ScoreScale(low, high)
    eager = scale.bins_of(np.array(scores))
    for frame in (
        nw.from_native(pl.LazyFrame({"s": scores})),
        nw.from_native(duckdb.connect().from_arrow(pa.table({"s": scores}))),
    ):
        native_rows = frame.select(scale.bin_expression(nw.col("s")).alias("bin")).to_native()
        rows = native_rows.fetchall() if hasattr(native_rows, "fetchall") else native_rows.collect().rows()
        assert [row[0] for row in rows] == eager.tolist()
    edges = np.append(scale.edges, math.inf)
    assert eager.min() >= 0
    assert eager.max() <= SCORE_BINS
    assert (edges[eager] <= scores).all()
    assert (edges[eager + 1] > scores).all()


# Cutting.


@pytest.mark.parametrize(
    ("given_bins", "edges"), [("25,45", (25.0, 45.0)), ([25, 45.5], (25.0, 45.5)), ("-1", (-1.0,)), (7, (7.0,))]
)
def test_edges_are_read_from_text_and_lists(given_bins: object, edges: tuple[float, ...]) -> None:
    assert Bins.of(given_bins) == Bins(edges=edges)
    assert Bins.of(Bins(edges=edges)) == Bins(edges=edges)


@pytest.mark.parametrize("text", ["45,25", "25,25", "a,b", "", "quantile:1", "quantile:x", "nan", "inf,3"])
def test_edges_that_do_not_rise_or_are_no_numbers_are_refused(text: str) -> None:
    with pytest.raises(BadInput, match="could not be read"):
        Bins.parse(text)


def test_an_edge_belongs_to_the_group_above_it() -> None:
    assert bin_names((25.0, 45.5)) == ["under 25", "25 to under 45.5", "45.5 and over"]


@MODERATE
@given(values=st.lists(st.integers(-20, 20), min_size=2, max_size=60), parts=st.integers(2, 6))
def test_quantile_edges_leave_no_part_empty(values: list[int], parts: int) -> None:
    known = sorted(set(values))
    edges = quantile_edges(known, [values.count(value) for value in known], parts)
    assert list(edges) == sorted(set(edges))
    assert len(edges) < parts
    places = {sum(value >= edge for edge in edges) for value in values}
    assert places == set(range(len(edges) + 1))


# Found while these tests were written.


@pytest.mark.parametrize(
    "source", ["lists", "arrays", "polars", "pyarrow", "polars lazy", "DuckDB", "Parquet", "Arrow", "CSV"]
)
def test_numbers_beyond_the_signed_range_keep_all_their_digits(source: str, tmp_path: Path) -> None:
    values = cycled([2**63, 2**63 + 1, 2**64 - 1])
    table = SOURCES[source]({"id": (pl.UInt64, values)}, tmp_path)
    same(table.count({"id": Axis("id")}), counted({"id": [str(value) for value in values]}, None))


def test_long_codes_in_a_csv_stay_apart_and_numbers_stay_numbers(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    columns = {
        "code": [str(10**40), str(10**40 + 1), "", "-7"],
        'a "b"': [str(2**63), str(2**63 + 1), str(2**63 + 2), str(2**63 + 3)],
        "whole": ["1.0", "2.0", "", "4.0"],
        "huge": ["1e300", str(2**64), "inf", "1"],
        "mixed": ["0.5", str(2**64), str(2**64 + 1), "1"],
        "empty": ["", "", "", ""],
        "long": [str(2**62), str(2**62 + 1), "", "1"],
    }
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    table = LazyTable(open_table(path))
    assert [name for name in columns if table.is_number(name)] == ["whole", "huge", "mixed", "long"]
    for name in ("code", 'a "b"', "long"):
        same(table.count({name: Axis(name)}), counted({name: [cell or None for cell in columns[name]]}, None))
    assert table.span("whole") == ColumnRange(1.0, 4.0, 1)


def test_groups_that_differ_in_their_twentieth_digit_are_audited_apart(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    rows = [f"{2**64 + place % 2},{place % 3 % 2},yes" for place in range(40)]
    path.write_text("\n".join(["unit,said,true", *rows]) + "\n")
    result = equipoise.audit(path, prediction="said", favourable=1, sensitive_features="unit", draws=0)
    assert [(row.group, row.rows) for row in result.card.groups] == [(str(2**64), 20), (str(2**64 + 1), 20)]


def test_columns_of_a_frame_may_be_named_by_numbers() -> None:
    frame = pd.DataFrame({0: [0, 1, 0, 1], 1: [0, 1, 1, 0], 2: list("aabb")})
    result = equipoise.audit(frame, target="0", prediction="1", sensitive_features="2")
    assert (result.card.rows, result.classes) == (4, ("0", "1"))


def test_polars_puts_scores_that_lie_on_an_edge_into_the_bin_above_it() -> None:
    scores = np.arange(SCORE_BINS + 1) / SCORE_BINS
    frame = nw.from_native(pl.LazyFrame({"s": scores}))
    bins = frame.select(ScoreScale().bin_expression(nw.col("s")).alias("bin")).collect()["bin"].to_list()
    assert bins == list(range(SCORE_BINS + 1))


def test_moments_in_nanoseconds_have_the_labels_that_pandas_gives_them() -> None:
    moments = np.array(["2020-01-31T12:30", "NaT"], dtype="datetime64[ns]")
    axes = {"t": Axis("t")}
    same(as_table({"t": moments}).count(axes), as_table(pd.DataFrame({"t": moments})).count(axes))


@pytest.mark.parametrize("source", LAZY)
def test_weights_that_are_all_0_are_refused_lazily_too(source: str, tmp_path: Path) -> None:
    table = SOURCES[source]({"weight": (pl.Float64, cycled([0.0]))}, tmp_path)
    with pytest.raises(BadInput, match="Every weight is 0"):
        table.check_weights("weight")


def test_scores_that_differ_by_the_last_bit_can_be_binned() -> None:
    scores = np.array([2.0, np.nextafter(2.0, 3.0)])
    assert ScoreScale(*scores.tolist()).edges[ScoreScale(*scores.tolist()).bins_of(scores)].tolist() == scores.tolist()


def test_continuous_predictions_that_only_the_last_rows_show_are_refused() -> None:
    frame = pl.LazyFrame(
        {"y": [0, 1] * 5_050, "p": [0.0, 1.0] * 5_000 + [0.3, 0.7] * 50, "g": ["a", "b", "b", "a"] * 2_525}
    )  # fmt: skip
    with pytest.raises(BadInput, match="continuous values"):
        equipoise.audit(frame, target="y", prediction="p", sensitive_features="g")
