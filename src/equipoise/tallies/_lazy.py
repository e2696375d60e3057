"""Counting where the rows are: one group-by, written once for DuckDB, Polars, Dask, PySpark and the like.

Only the grouped table leaves the engine, so its rows may be larger than memory. Labels are given to the grouped
values afterwards, by the same function as for rows in memory.

DuckDB turns Ctrl-C into an error of its own, or ends the process, where it meets it in the thread that runs a query. So
a query of the main thread runs in a thread beside it, and the main thread waits and stops the engine.
"""

from __future__ import annotations

import itertools
import re
import threading
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import (
    BadInput,
    Floats,
    bad_weights_error,
    check_interrupt,
    defer_interrupts,
    no_weight_error,
)
from equipoise.tallies._cells import Cells
from equipoise.tallies._labels import (
    Coded,
    Label,
    label_of,
)

if TYPE_CHECKING:
    import narwhals as nw

    Frame = nw.LazyFrame[Any]
    Expression = nw.Expr


def count_lazily(
    frame: Frame,
    axes: Mapping[str, str | Expression],
    weight: str | None = None,
    quantities: Sequence[Expression] = (),
) -> Cells:
    """Count the rows of a lazy frame by the columns (or expressions) given for each axis."""
    import narwhals as nw

    keys = [f"equipoise_axis_{position}" for position in range(len(axes))]
    named = [
        (nw.col(source) if isinstance(source, str) else source).alias(key)
        for key, source in zip(keys, axes.values(), strict=True)
    ]
    # What is summed is made a column first: not every engine aggregates expressions.
    parts = list(quantities)
    if weight is not None:
        heavy = nw.col(weight).cast(nw.Float64())
        parts = [heavy, heavy * heavy, *(quantity * heavy for quantity in quantities)]
    summed = {f"equipoise_sum_{index}": part for index, part in enumerate(parts)}
    columns = frame.select(*named, *(part.alias(name) for name, part in summed.items()))
    sums = [nw.len().alias("equipoise_rows"), *(nw.col(name).sum() for name in summed)]
    grouped = columns.group_by(*keys).agg(*sums)
    width = len(keys)
    rows = (
        ([label_of(value) for value in row[:width]], _with_weights(row[width:], weighted=weight is not None))
        for row in collect_rows(grouped)
    )
    return Cells.from_rows(list(axes), rows, 3 + len(quantities))


def _with_weights(sums: Sequence[float], *, weighted: bool) -> Sequence[float]:
    """Without weights the number of rows stands for all three."""
    return sums if weighted else [sums[0], sums[0], *sums]


# What the column of bins is called.
BIN_COLUMN = "equipoise_bin"
_VIEWS = itertools.count()


def add_bins(frame: Frame, score: str, cuts: Floats) -> Frame:
    """Return a DuckDB frame with the bin of each score: the last cut that is not above it."""
    import narwhals as nw

    # The view must stay until the query has run, so no two may share their name. Nothing but numbers is put in.
    view = f"equipoise_rows_{next(_VIEWS)}"
    # Numbers without an exponent would be read as decimals, which round otherwise.
    edges = "[" + ", ".join(f"{cut:.17e}" for cut in cuts.tolist()) + "]::DOUBLE[]"
    query = (
        f"SELECT {view}.*, edges.{BIN_COLUMN} FROM {view} ASOF JOIN "  # noqa: S608
        f"(SELECT unnest({edges}) AS edge, unnest(range({len(cuts)})) AS {BIN_COLUMN}) AS edges "
        f"ON {view}.{score} >= edges.edge"
    )
    binned: Frame = nw.from_native(frame.to_native().query(view, query))
    return binned


def sampled_values(frame: Frame, most: int, complete: Collection[Label] = ()) -> list[tuple[Label, float, int]] | None:
    """Count a DuckDB frame by its columns ``truth`` and ``score``: every score, or of more than so many a sample.

    A score is in the sample by a hash of its value, so that files, their order and threads have no say in it; rows with
    a truth in ``complete`` are all counted. None for other engines.
    """
    import narwhals as nw

    native = frame.to_native()
    if not hasattr(native, "fetchall"):
        return None
    ((distinct,),) = collect_rows(nw.from_native(native.aggregate("approx_count_distinct(score)")))
    every = max(1, distinct // most)
    chosen: list[Frame] = [nw.from_native(native.filter(f"hash(score) % {every} = 0"))]
    if complete and every > 1:
        truths = [truth for (truth,) in collect_rows(frame.select("truth").unique())]
        named = [truth for truth in truths if label_of(truth) in complete]
        chosen = [chosen[0].filter(~nw.col("truth").is_in(named)), frame.filter(nw.col("truth").is_in(named))]
    counted = (part.group_by("truth", "score").agg(nw.len().alias("equipoise_rows")) for part in chosen)
    return [
        (label_of(truth), float(score), int(number)) for part in counted for truth, score, number in collect_rows(part)
    ]


def frequent_values(frame: Frame, ranges: Sequence[tuple[float, float]], least: int) -> list[float]:
    """Return the values of the column ``score`` that so many rows share, inside ranges."""
    import narwhals as nw

    score = nw.col("score")
    inside = nw.any_horizontal(*((score >= low) & (score < high) for low, high in ranges), ignore_nulls=True)
    counted = frame.filter(inside).group_by("score").agg(nw.len().alias("equipoise_rows"))
    return sorted(float(row[0]) for row in collect_rows(counted.filter(nw.col("equipoise_rows") >= least)))


def collect_coded_rows(
    frame: Frame, axes: Mapping[str, Expression], numbers: Sequence[Expression]
) -> tuple[dict[str, Coded], list[Floats]]:
    """Read rows into memory: each one's place on the axes, and some columns of numbers.

    DuckDB hands out numbers as arrays but text as one object a row, so there the combinations of labels are read once
    and the rows refer to them by a hash.
    """
    import narwhals as nw

    keys = [f"equipoise_axis_{position}" for position in range(len(axes))]
    names = [f"equipoise_number_{position}" for position in range(len(numbers))]
    chosen = frame.select(
        *(axis.alias(key) for key, axis in zip(keys, axes.values(), strict=True)),
        *(number.alias(name) for name, number in zip(names, numbers, strict=True)),
    )
    native = chosen.to_native()
    if hasattr(native, "fetchall"):
        hashed = f"hash({', '.join(keys)}) AS place"
        combinations = collect_rows(nw.from_native(native.project(f"{hashed}, {', '.join(keys)}").distinct()))
        hashes = np.array([row[0] for row in combinations], dtype=np.uint64)
        if len(np.unique(hashes)) == len(hashes):
            columns = run_query(native.project(f"{hashed}, {', '.join(names)}").fetchnumpy)
            order = np.argsort(hashes)
            of_row = order[np.searchsorted(hashes[order], np.asarray(columns["place"], dtype=np.uint64))]
            return _coded(axes, [row[1:] for row in combinations], of_row), [_floats(columns[name]) for name in names]
    rows = collect_rows(chosen)
    width = len(keys)
    labelled = _coded(axes, [row[:width] for row in rows], np.arange(len(rows)))
    of_numbers = range(width, width + len(names))
    return labelled, [np.array([row[column] for row in rows], dtype=np.float64) for column in of_numbers]


def _coded(
    axes: Mapping[str, object], combinations: Sequence[Sequence[object]], of_row: NDArray[np.int64]
) -> dict[str, Coded]:
    """Return each row's code on every axis, where a row refers to one of the combinations seen."""
    coded = {}
    for position, name in enumerate(axes):
        code_of: dict[Label, int] = {}
        codes = [code_of.setdefault(label_of(values[position]), len(code_of)) for values in combinations]
        coded[name] = Coded(np.array(codes, dtype=np.int64)[of_row], tuple(code_of))
    return coded


def _floats(column: Any) -> Floats:
    return np.ma.filled(np.ma.asarray(column, dtype=np.float64), np.nan)


def check_weights_lazily(frame: Frame, weight: str) -> None:
    """Refuse weights that are negative, missing or not finite."""
    import narwhals as nw

    column = nw.col(weight).cast(nw.Float64())
    bad = (column.is_null() | ~(column.is_finite() & (column >= 0))).fill_null(True)
    number, heaviest = collect_rows(frame.select(bad.cast(nw.Int64()).sum().alias("bad"), column.max().alias("most")))[
        0
    ]
    if number:
        raise bad_weights_error(int(number))
    if heaviest == 0:
        raise no_weight_error()


def collect_rows(frame: Frame) -> list[tuple[Any, ...]]:
    """Run a lazy query and return its rows, without asking for a frame library the engine does not need."""
    native = frame.to_native()
    if hasattr(native, "fetchall"):
        import duckdb

        try:
            rows: list[tuple[Any, ...]] = run_query(native.fetchall)
        except duckdb.OutOfMemoryException as error:
            raise BadInput(
                "The grouped table did not fit into memory",
                help="group by fewer columns, or bin those with very many values.",
            ) from error
        except duckdb.Error as error:
            raise unreadable_error(error) from error
        return rows
    return list(frame.collect().iter_rows())


def unreadable_error(error: Exception) -> BadInput:
    """Say in plain words why the engine could not read the data."""
    text = str(error).strip()
    lowered = text.lower()
    if "sniffing file" in lowered and "unicode" not in lowered:
        return BadInput(
            "The file could not be taken apart into rows and columns",
            available="CSV in UTF-8 with the same separator, quotes and line ends in every row",
            help="look for lines that end otherwise than the rest (\\r\\n, \\n), or save it again in UTF-8.",
        )
    if "unicode" in lowered or "utf-8" in lowered or "utf8" in lowered or "encoding" in lowered:
        return BadInput(
            "The file is not UTF-8 text",
            available="CSV in UTF-8 (plain ASCII is UTF-8 too)",
            help="save it as UTF-8, for example: iconv -f latin1 -t utf-8 OLD.csv > NEW.csv",
        )
    uneven = re.search(r"csv error on line: (\d+).*expected number of columns: (\d+) found: (\d+)", lowered, re.DOTALL)
    if uneven is not None:
        line, expected, fields = (f"{int(number):,}" for number in uneven.groups())
        return BadInput(
            f"Line {line} has {fields} fields, and the header has {expected}",
            available="as many fields in every line as the header has",
            help="fix or remove that line; where the header changes, split the file in two, in one folder.",
        )
    return BadInput(
        f"The data could not be read ({text.splitlines()[0] if text else type(error).__name__})",
        help="check the file with the program that wrote it, or save it again.",
    )


T = TypeVar("T")
# How often the thread that waits looks whether it was interrupted, in seconds.
EVERY = 0.1

# Engines that are open, with the thread that opened each.
_engines: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()


def register_engine(engine: Any) -> None:
    """Take note of an engine, so that its queries can be watched and stopped."""
    _engines[engine] = threading.get_ident()


def open_engines() -> list[Any]:
    """Return the engines that are open."""
    return list(_engines)


def run_query(query: Callable[[], T]) -> T:
    """Run a query of an engine that was opened here, and return its answer; Ctrl-C stops it."""
    check_interrupt()
    mine = [engine for engine, thread in list(_engines.items()) if thread == threading.get_ident()]
    if not mine or threading.current_thread() is not threading.main_thread():
        return query()
    answers: list[T] = []
    errors: list[BaseException] = []
    done = threading.Event()  # Thread.join, where Ctrl-C meets it, takes the thread for ended

    def run() -> None:
        try:
            answers.append(query())
        except BaseException as error:  # noqa: BLE001 - it is raised again where the answer is waited for
            errors.append(error)
        finally:
            done.set()

    try:
        with defer_interrupts():  # a thread that is only half there could not be waited for
            threading.Thread(target=run, name="equipoise-query").start()
        while not done.wait(EVERY):
            check_interrupt()
    except BaseException:
        with defer_interrupts():
            # A query that had not begun when it was asked to stop is asked again.
            while not done.wait(EVERY / 10):
                for engine in mine:
                    engine.interrupt()
        raise
    if errors:
        raise errors[0]
    return answers[0]
