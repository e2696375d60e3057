"""Intervals by drawing, for a rate that is no proportion: F1."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from equipoise.audits.intervals import NOT_PROPORTIONS
from equipoise.audits.view import Floats, View
from equipoise.measures.measure import get_measure
from equipoise.results import Record
from equipoise.stats import drawn_cells, percentiles, widening
from equipoise.tallies.confusion import Confusion, ratio

# So many numbers of drawn tables at the most; beyond, every group has very many classes and goes without.
MOST_NUMBERS = 50_000_000
LEVEL = 0.95


def with_drawn_intervals(
    records: Iterable[Record], view: View, generator: np.random.Generator, draws: int
) -> Iterator[Record]:
    """Yield the records, those that need draws with a percentile interval of rows (or clusters) drawn again."""
    kept = list(records)
    wanted = {record.measure for record in kept if record.measure in NOT_PROPORTIONS}
    if not wanted or view.compared.cells.size * draws > MOST_NUMBERS or not view.compared.groups:
        yield from kept
        return
    table = _drawn(view, generator, draws)
    rates = {name: ratio(*get_measure(name).function(table)) for name in wanted}
    for record in kept:
        if record.kind != "rate" or record.measure not in rates or not record.defined or record.class_ is None:
            yield record
            continue
        if record.group not in table.groups:
            yield record
            continue
        untold = view.why_untold([record.group])
        if untold is not None:
            yield replace(record, reason=untold)
            continue
        values = rates[record.measure][:, table.groups.index(record.group), table.classes.index(record.class_)]
        wider = 1.0 if view.behind is None else widening(view.behind.fewest([record.group]), LEVEL)
        low, high = (float(edge[0]) for edge in percentiles(_widened(values[:, None], wider), LEVEL))
        known = not np.isnan(low)
        yield replace(record, low=low, high=high, interval="bootstrap", level=LEVEL) if known else record


def _widened(values: Floats, factor: float) -> Floats:
    """Move draws away from their median; what cannot be negative stays so."""
    if factor == 1.0 or np.isnan(values).all():
        return values
    centre = float(np.nanmedian(values))
    return np.maximum(centre + factor * (values - centre), 0.0)


def _drawn(view: View, generator: np.random.Generator, draws: int) -> Confusion:
    table: Confusion = view.compared
    if view.drawn is not None:
        return view.only_compared(view.drawn)
    rows, squares = view.only_compared(view.rows), view.only_compared(view.squares)
    if np.array_equal(rows.cells, table.cells):
        return replace(table, cells=drawn_cells(rows.cells, draws, generator))
    return replace(table, cells=drawn_cells(table.cells, draws, generator, squares.cells))
