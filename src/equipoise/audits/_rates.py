"""Rates of groups: their intervals (Wilson's, of clusters, by drawing), and the four-fifths rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from equipoise.audits._small_groups import ClusterCounts
from equipoise.audits._view import View
from equipoise.foundation.arrays import ratio
from equipoise.measures.measure import Measure, get_measure
from equipoise.results import Record
from equipoise.stats import FEWEST_UNITS, clustered_trials, drawn_cells, effective_counts, percentiles, widening, wilson
from equipoise.tallies.counts import ClassTotals, Confusion
from equipoise.tallies.labels import is_missing

Floats = NDArray[np.float64]

# F1 counts a person twice: it is no proportion, and Wilson's interval is not for it.
NOT_PROPORTIONS = ("f1",)


def effective(measure: Measure, weights: Confusion, squares: Confusion | None) -> tuple[Floats, Floats]:
    """Return the successes and trials of unweighted rows that would know each rate as well."""
    numerators, denominators = measure.function(weights)
    if squares is None:
        return numerators, denominators
    return effective_counts(numerators, denominators, *measure.function(squares))


def clustered(
    measure: Measure, table: Confusion, behind: ClusterCounts, groups: Sequence[str], level: float = 0.95
) -> tuple[Floats, Floats]:
    """Return successes and trials as if rows were independent: so many trials as clusters give an interval at a level.

    They are NaN in a group that has too few clusters.
    """
    rates = ratio(*measure.function(table))
    trials = np.full_like(rates, np.nan)
    for place, group in enumerate(groups):
        if behind.of([group]) >= FEWEST_UNITS:
            x, n = measure.function(_of_clusters(behind, group, table))
            trials[place] = clustered_trials(x[:, 0], n[:, 0], level)
    return np.nan_to_num(rates) * trials, trials


def _of_clusters(behind: ClusterCounts, group: str, table: Confusion) -> ClassTotals:
    """Return the totals of each class in one group, ``[cluster, 1, class]``, of the clusters that have a row in it."""
    units = behind.of_group(group).tocsr()
    units = units[np.flatnonzero(units.sum(axis=1))]
    classes = len(table.classes)
    own = units.tocoo()
    truth, guess = own.col // classes, own.col % classes

    def by_class(of: NDArray[np.integer[Any]], kept: NDArray[np.bool_] | slice) -> Floats:
        made = sparse.coo_array((own.data[kept], (own.row[kept], of[kept])), shape=(units.shape[0], classes))
        return np.asarray(made.toarray(), dtype=np.float64)[:, None, :]

    everything = slice(None)
    if not table.has_target:
        return ClassTotals.of((group,), table.classes, by_class(guess, everything), None, None)
    return ClassTotals.of(
        (group,), table.classes, by_class(guess, everything), by_class(truth, everything),
        by_class(guess, truth == guess),
    )  # fmt: skip


def trials_of(measure: Measure, view: View, groups: Sequence[str], level: float = 0.95) -> tuple[Floats, Floats]:
    """Return successes and trials of some groups of a view, with weights and clusters taken into account.

    With clusters they serve an interval at this level, and are NaN in a group that has too few clusters.
    """
    table = view.of_groups(view.shown, groups)
    squares = None if view.squares is None else view.of_groups(view.squares, groups)
    if view.behind is not None:
        return clustered(measure, table, view.behind, groups, level)
    return effective(measure, table, squares)


def rate_intervals(measure: Measure, view: View, values: Floats, level: float = 0.95) -> tuple[Floats, Floats, Floats]:
    """Return Wilson's interval for every group (and class), and the effective trials behind it.

    All are NaN where the rate is no proportion.
    """
    if measure.name in NOT_PROPORTIONS:
        unknown = np.full_like(values, np.nan)
        return unknown, unknown, unknown
    successes, trials = trials_of(measure, view, view.shown.groups)
    return *wilson(successes, trials, level), trials


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


RULE = 0.8
# A group below this share of the rows is flagged: the rule was never meant for it.
SMALL_SHARE = 0.02
DRAWS = 20_000
# What no group is called.
HIGHEST = None

Place = tuple[tuple[str, ...], str | None]


@dataclass(frozen=True)
class FourFifths:
    """Whether a group is selected at least four fifths as often as another, and the chance that it is not.

    ``basis`` says who the other is: the group with the highest rate, the reference that was named, or the largest
    group. ``low`` and ``high`` are the interval of the ratio at ``level``; ``significant`` says whether the ratio is
    significantly below 0.8: the upper end is.
    """

    attribute: tuple[str, ...]
    group: str
    against: str
    basis: str
    split: str | None
    ratio: float
    probability_broken: float
    share: float
    small: bool
    low: float | None = None
    high: float | None = None
    level: float | None = None
    significant: bool | None = None


def four_fifths(
    records: Sequence[Record], total: float, generator: np.random.Generator, reference: Mapping[str, object]
) -> Iterator[FourFifths]:
    """Yield the rule for every group: the ratio with its interval, and the probability that it is broken.

    A ratio is significantly below four fifths where the upper end of its interval is. ``probability_broken`` is by
    draws of all groups at once: a rate with x of n effective people has the Jeffreys posterior Beta(x + 1/2, n - x +
    1/2), and a group is compared with the highest rate of its own draw, or with that of the fixed group.

    ``total`` is the weight of all rows; ``reference`` are the groups that were named, by attribute.
    """
    rates: dict[Place, dict[str, Record]] = {}
    for r in records:
        if r.measure == "selection_rate" and r.kind == "rate" and r.scope == "favourable" and r.control is None:
            rates.setdefault((r.attribute, r.split), {})[str(r.group)] = r
    ratios: dict[Place, list[Record]] = {}
    for r in records:
        if r.kind == "ratio to group" and r.scope == "favourable" and r.control is None:
            ratios.setdefault((r.attribute, r.split), []).append(r)
    # Rates are drawn in the order they were told in, which the seed makes repeatable; after the last ratio none are.
    last = max((number for number, place in enumerate(rates) if place in ratios), default=-1)
    drawn = {place: _posterior_draws(rates[place], generator) for place in list(rates)[: last + 1]}
    for place, record in ((place, record) for place, own in ratios.items() for record in own):
        group, against = str(record.group), str(record.against)
        own, other = rates[place][group], rates[place][against]
        highest = other.value >= max(r.value for name, r in rates[place].items() if r.defined and not is_missing(name))
        named = len(record.attribute) == 1 and reference.get(record.attribute[0]) == against
        share = (own.denominator or 0.0) / total if total else 0.0
        yield FourFifths(
            attribute=record.attribute,
            group=group,
            against=against,
            basis="highest rate" if highest else "reference" if named else "largest group",
            split=record.split,
            ratio=record.value,
            probability_broken=_probability(drawn[place], group, HIGHEST if highest else against),
            share=share,
            small=share < SMALL_SHARE,
            low=record.low,
            high=record.high,
            level=record.level,
            significant=None if record.high is None else record.high < RULE,
        )


def _posterior_draws(rates: Mapping[str, Record], generator: np.random.Generator) -> dict[str | None, np.ndarray]:
    """Draw the rates of all groups at once; under ``HIGHEST`` is the highest in each draw."""
    made: dict[str | None, np.ndarray] = {}
    for group, rate in rates.items():
        if rate.defined and rate.effective_n is not None and not is_missing(group):
            x, n = rate.value * rate.effective_n, rate.effective_n
            made[group] = generator.beta(x + 0.5, max(n - x, 0.0) + 0.5, DRAWS)
    if made:
        made[HIGHEST] = np.max(list(made.values()), axis=0)
    return made


def _probability(drawn: Mapping[str | None, np.ndarray], group: str, against: str | None) -> float:
    """Return how often a group's rate is below four fifths of another's, or of the highest in the same draw."""
    if group not in drawn or against not in drawn:
        return float("nan")
    return float((drawn[group] < RULE * drawn[against]).mean())
