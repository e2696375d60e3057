"""Counting where the rows are: one group-by, written once for DuckDB, Polars, Dask, PySpark and the like.

Only the grouped table leaves the engine, so its rows may be larger than memory. Labels are given to the grouped
values afterwards, by the same function as for rows in memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from equipoise.foundation.errors import BadInput
from equipoise.tallies.arrays import bad_weights, no_weight
from equipoise.tallies.cells import Cells
from equipoise.tallies.labels import label_of

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

    keys = [f"equipoise_axis_{place}" for place in range(len(axes))]
    named = [
        (nw.col(source) if isinstance(source, str) else source).alias(key)
        for key, source in zip(keys, axes.values(), strict=True)
    ]
    # What is summed is made a column first: not every engine aggregates expressions.
    parts = list(quantities)
    if weight is not None:
        heavy = nw.col(weight).cast(nw.Float64())
        parts = [heavy, heavy * heavy, *(quantity * heavy for quantity in quantities)]
    summed = {f"equipoise_sum_{place}": part for place, part in enumerate(parts)}
    columns = frame.select(*named, *(part.alias(name) for name, part in summed.items()))
    sums = [nw.len().alias("equipoise_rows"), *(nw.col(name).sum() for name in summed)]
    grouped = columns.group_by(*keys).agg(*sums)
    width = len(keys)
    rows = (
        ([label_of(value) for value in row[:width]], _with_weights(row[width:], weighted=weight is not None))
        for row in rows_of(grouped)
    )
    return Cells.from_rows(list(axes), rows, 3 + len(quantities))


def _with_weights(sums: Sequence[float], *, weighted: bool) -> Sequence[float]:
    """Without weights the number of rows stands for all three."""
    return sums if weighted else [sums[0], sums[0], *sums]


def check_weights_lazily(frame: Frame, weight: str) -> None:
    """Refuse weights that are negative, missing or not finite."""
    import narwhals as nw

    column = nw.col(weight).cast(nw.Float64())
    bad = (column.is_null() | ~(column.is_finite() & (column >= 0))).fill_null(True)
    number, heaviest = rows_of(frame.select(bad.cast(nw.Int64()).sum().alias("bad"), column.max().alias("most")))[0]
    if number:
        raise bad_weights(int(number))
    if heaviest == 0:
        raise no_weight()


def rows_of(frame: Frame) -> list[tuple[Any, ...]]:
    """Run a lazy query and return its rows, without asking for a frame library the engine does not need."""
    native = frame.to_native()
    if hasattr(native, "fetchall"):
        import duckdb

        try:
            rows: list[tuple[Any, ...]] = native.fetchall()
        except duckdb.OutOfMemoryException as error:
            raise BadInput(
                "The grouped table did not fit into memory",
                way_out="group by fewer columns, or bin those with very many values.",
            ) from error
        except duckdb.Error as error:
            raise unreadable(error) from error
        return rows
    return list(frame.collect().iter_rows())


def unreadable(error: Exception) -> BadInput:
    """Say in plain words why the engine could not read the data."""
    text = str(error).strip()
    lowered = text.lower()
    if "sniffing file" in lowered and "unicode" not in lowered:
        return BadInput(
            "The file could not be taken apart into rows and columns",
            allowed="CSV in UTF-8 with the same separator, quotes and line ends in every row",
            way_out="look for lines that end otherwise than the rest (\\r\\n, \\n), or save it again in UTF-8.",
        )
    if "unicode" in lowered or "utf-8" in lowered or "utf8" in lowered or "encoding" in lowered:
        return BadInput(
            "The file is not UTF-8 text",
            allowed="CSV in UTF-8 (plain ASCII is UTF-8 too)",
            way_out="save it again as UTF-8, for example: iconv -f latin1 -t utf-8 OLD.csv > NEW.csv",
        )
    uneven = re.search(r"csv error on line: (\d+).*expected number of columns: (\d+) found: (\d+)", lowered, re.DOTALL)
    if uneven is not None:
        line, expected, found = (f"{int(number):,}" for number in uneven.groups())
        return BadInput(
            f"Line {line} has {found} fields, and the header has {expected}",
            allowed="as many fields in every line as the header has",
            way_out="mend or remove that line; where the header changes, cut the file in two, in one folder.",
        )
    return BadInput(
        f"The data could not be read ({text.splitlines()[0] if text else type(error).__name__})",
        way_out="check the file with the program that wrote it, or save it again.",
    )
