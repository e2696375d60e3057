"""Intervals by drawing, for what has no closed form: F1, and ratios of selection rates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from equipoise.audits.intervals import NOT_PROPORTIONS
from equipoise.audits.view import Floats, View
from equipoise.evidence.bounds import least_difference
from equipoise.evidence.resampling import drawn_tables, percentiles, spread_of, widening
from equipoise.foundation.results import Record
from equipoise.measures.measure import get_measure
from equipoise.stats import quantile
from equipoise.tallies.confusion import Confusion, ratio

# So many numbers of drawn tables at the most; beyond, every group has very many classes and goes without.
MOST_NUMBERS = 50_000_000


def with_drawn_intervals(
    records: Iterable[Record], view: View, generator: np.random.Generator, draws: int
) -> Iterator[Record]:
    """Yield the records, those that need draws with a percentile interval of rows (or clusters) drawn again."""
    kept = list(records)
    wanted = {r.measure for r in kept if r.kind == "ratio to group" or r.measure in NOT_PROPORTIONS}
    if not wanted or view.compared.cells.size * draws > MOST_NUMBERS or not view.compared.groups:
        yield from kept
        return
    table = _drawn(view, generator, draws)
    rates = {name: ratio(*get_measure(name).function(table)) for name in _rates(wanted)}
    for record in kept:
        if record.kind == "gap" and _of(record) in rates and record.defined:
            if view.why_untold(table.groups) is not None:
                yield record
                continue
            low = _least_gap(record, rates, table, view) if record.class_ else _least_mean_gap(record, rates, view)
            yield replace(record, low=low, interval="lower-bound")
            continue
        values = _values(record, rates, table)
        if values is None:
            yield record
            continue
        concerned = [group for group in (record.group, record.against) if group in table.groups]
        untold = view.why_untold(concerned)
        if untold is not None:
            yield replace(record, reason=untold)
            continue
        wide = _widened(values[:, None], _wider(view, concerned, 0.95))
        low, high = (float(edge[0]) for edge in percentiles(wide))
        known = not np.isnan(low)
        yield replace(record, low=low, high=high, interval="bootstrap") if known else record


def _of(record: Record) -> str | None:
    of = get_measure(record.measure).of
    return of if of in NOT_PROPORTIONS else None


def _wider(view: View, groups: Sequence[str | None], level: float) -> float:
    """Return how much wider an interval of these groups is for having few clusters."""
    return 1.0 if view.behind is None else widening(view.behind.fewest([str(group) for group in groups]), level)


def _widened(values: Floats, factor: float) -> Floats:
    """Move draws away from their median; what cannot be negative stays so."""
    if factor == 1.0 or np.isnan(values).all():
        return values
    centre = float(np.nanmedian(values))
    return np.maximum(centre + factor * (values - centre), 0.0)


def _least_gap(record: Record, rates: dict[str, Floats], table: Confusion, view: View) -> float:
    """Return the least difference in a box of percentile intervals that hold all together (Bonferroni)."""
    values = rates[_of(record) or ""][:, :, table.classes.index(record.class_ or "")]
    level = 1.0 - view.risk / values.shape[1]
    wider = _wider(view, table.groups, level)
    values = np.stack([_widened(column, wider) for column in values.T], axis=1)
    low, high = percentiles(values, level)
    return float(np.nan_to_num(least_difference(low[:, None], high[:, None])[0]))


def _least_mean_gap(record: Record, rates: dict[str, Floats], view: View) -> float:
    """Return the least mean over classes of the difference, in a box over all classes and groups (Bonferroni)."""
    of = _of(record) or ""
    values, errors = ratio(*get_measure(of).function(view.compared)), spread_of(rates[of])
    defined = ~np.isnan(values + errors).any(axis=0)
    level = 1.0 - view.risk / max(int(defined.sum()) * len(values), 1)
    half = float(quantile(level)) * _wider(view, view.compared.groups, level) * errors[:, defined]
    return float(least_difference(values[:, defined] - half, values[:, defined] + half).mean())


def _rates(wanted: set[str]) -> set[str]:
    return {get_measure(name).of or name if get_measure(name).kind == "ratio" else name for name in wanted}


def _drawn(view: View, generator: np.random.Generator, draws: int) -> Confusion:
    table = view.compared
    if view.drawn is not None:
        return view.only_compared(view.drawn)
    rows, squares = view.only_compared(view.rows), view.only_compared(view.squares)
    if np.array_equal(rows.cells, table.cells):
        return drawn_tables(rows, draws, generator)
    return drawn_tables(table, draws, generator, squares)


def _values(record: Record, rates: dict[str, Floats], table: Confusion) -> Floats | None:
    """Return a record's value in every draw; None where it is not drawn."""
    if not record.defined or record.class_ is None or record.group not in table.groups:
        return None
    place, own = table.classes.index(record.class_), table.groups.index(record.group)
    if record.kind == "ratio to group" and record.against in table.groups:
        rate = rates[get_measure(record.measure).of or ""]
        return ratio(rate[:, own, place], rate[:, table.groups.index(record.against), place])
    if record.kind == "rate" and record.measure in rates and record.measure in NOT_PROPORTIONS:
        return rates[record.measure][:, own, place]
    return None
