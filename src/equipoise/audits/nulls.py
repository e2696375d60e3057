"""Gaps against chance: a p-value under permuted groups, and a simultaneous lower bound, for every gap of a view."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from equipoise.audits.cluster_counts import NO_SPREAD
from equipoise.audits.intervals import NOT_PROPORTIONS, trials_of
from equipoise.audits.view import View
from equipoise.evidence.bounds import box, least_difference, least_of_two, least_ratio_gap, least_weighted_distance
from equipoise.evidence.permutation import clustered_null, null_values, permutation_p
from equipoise.evidence.resampling import spread_of, stretches, widening
from equipoise.foundation.results import Record
from equipoise.measures.measure import Measure, get_measure
from equipoise.tallies.confusion import Confusion, ratio

Floats = NDArray[np.float64]

# Gaps that are, between two groups, the difference of two rates and nothing else.
ONE_DIFFERENCE = (
    "demographic_parity", "equalized_odds_true_positive", "equalized_odds_false_positive", "accuracy_difference",
    "base_rate_difference", "positive_predictive_value_difference", "false_discovery_rate_difference",
    "false_omission_rate_difference",
)  # fmt: skip


def tested_against_chance(
    records: Iterable[Record], view: View, generator: np.random.Generator, draws: int
) -> Iterator[Record]:
    """Yield the records, the gaps among them with p and lower bound. One group alone has no gap."""
    kept = list(records)
    names = dict.fromkeys(r.measure for r in kept if r.kind in ("gap", "ratio"))
    if len(view.compared.groups) < 2 or not names:
        yield from kept
        return
    untold = view.why_untold(view.compared.groups)
    if untold is not None:
        for record in kept:
            told = record.kind not in ("gap", "ratio") or not record.defined
            yield record if told else replace(record, reason=untold)
        return
    measures = {name: get_measure(name) for name in names}
    p_values = _p_values(measures, view, generator, draws)
    bounds = {name: lower_bounds(measure, view) for name, measure in measures.items()}
    for record in kept:
        if record.kind not in ("gap", "ratio") or not record.defined:
            yield record
            continue
        place = _place(record, view.compared)
        p = p_values[record.measure][place]
        low = bounds[record.measure].get(place)
        yield replace(
            record,
            p=None if np.isnan(p) else float(p),
            low=low,
            interval=None if low is None else "lower-bound",
            reason=NO_SPREAD if np.isnan(p) and view.drawn is not None else record.reason,
        )


def _place(record: Record, table: Confusion) -> int | None:
    """Where a record's value stands: a class, or None for the mean over classes (or a measure without classes)."""
    return None if record.class_ is None else table.classes.index(record.class_)


def _within_class(measure: Measure) -> bool:
    """Gaps in errors are permuted within the true class; the others across all rows."""
    return measure.of in ("true_positive_rate", "false_positive_rate") or measure.name == "bias_amplification"


def _p_values(
    measures: dict[str, Measure], view: View, generator: np.random.Generator, draws: int
) -> dict[str, dict[int | None, float]]:
    rows, squares = view.only_compared(view.rows), view.only_compared(view.squares)
    weighted = not np.array_equal(rows.cells, view.compared.cells)
    found: dict[str, dict[int | None, float]] = {}
    for within in (False, True):
        chosen = {name: measure for name, measure in measures.items() if _within_class(measure) == within}
        if not chosen or (within and not rows.has_target):
            continue
        functions = {name: measure.by_class for name, measure in chosen.items()}
        if view.drawn is not None:
            again = view.only_compared(view.drawn)
            assert view.behind is not None
            stretched = stretches(view.behind.fewest(rows.groups), len(again.cells), generator)
            table = clustered_null(view.compared, again, within_class=within, stretched=stretched)
            null = {name: function(table) for name, function in functions.items()}
        else:
            null = null_values(
                rows,
                functions,
                within_class=within,
                generator=generator,
                draws=draws,
                weights=view.compared if weighted else None,
                squares=squares if weighted else None,
            )
        for name, measure in chosen.items():
            found[name] = _by_place(measure, measure.by_class(view.compared), null[name])
            if view.drawn is not None:
                found[name] = {place: _if_varying(p, null[name], place) for place, p in found[name].items()}
    return found


def _if_varying(p: float, null: Floats, place: int | None) -> float:
    """Return the p-value, but NaN where draws of clusters never vary and the gap is beyond them: that tells nothing."""
    spread = spread_of(null if place is None else null[:, place])
    return float("nan") if p < 1 and np.nan_to_num(spread).max() < 1e-12 else p


def _by_place(measure: Measure, observed: Floats, null: Floats) -> dict[int | None, float]:
    above = measure.better == "low"
    if not measure.classwise:
        return {None: float(permutation_p(observed, null, above=above))}
    by_class: dict[int | None, float] = dict(enumerate(permutation_p(observed, null, above=above).tolist()))
    overall = np.asarray(_mean(observed[None])[0])
    by_class[None] = float(permutation_p(overall, _mean(null), above=above))
    return by_class


def _mean(values: Floats) -> Floats:
    """Return the mean over the classes that are defined, NaN where none is."""
    known = ~np.isnan(values)
    return ratio(np.where(known, values, 0.0).sum(axis=-1), known.sum(axis=-1).astype(np.float64))


def lower_bounds(measure: Measure, view: View, share: float = 1.0) -> dict[int | None, float]:
    """Return the simultaneous lower bound of each class and of the mean over classes; nothing where none is known."""
    level = 1.0 - view.risk * share
    table = view.compared
    if measure.name == "bias_amplification":
        return _amplification_bounds(view)
    if measure.name == "equalized_odds":
        return _larger_of(view)
    if measure.of is None or measure.of in NOT_PROPORTIONS or measure.kind == "ratio":
        return {}
    rate = get_measure(measure.of)
    number = len(table.groups) * (len(table.classes) if rate.classwise else 1)
    x, n = trials_of(rate, view, table.groups, 1.0 - (1.0 - level) / number)
    if not rate.classwise:
        x, n = x[:, None], n[:, None]
    shares = ratio(table.people, table.everyone.people)
    made = _least(measure, x, n, shares, table, level)
    if made is None:
        return {}
    every_class, together = made
    if not rate.classwise:
        return {None: float(every_class[0])}
    if not measure.classwise:
        return {None: float(together)}
    bounds: dict[int | None, float] = {place: float(low) for place, low in enumerate(every_class) if not np.isnan(low)}
    return bounds if np.isnan(together) else {**bounds, None: float(together)}


def _least(
    measure: Measure, x: Floats, n: Floats, shares: Floats, table: Confusion, level: float
) -> tuple[Floats, float] | None:
    """Return the bound of each class from a box over its groups, and of all classes from a box over all of them."""
    defined = (n > 0).all(axis=0)
    if not defined.any():
        return None
    one = np.stack([_of_box(measure, *box(x[:, [c]], n[:, [c]], level), shares[:, [0]], table, [c])[0]
                    for c in range(x.shape[1])])  # fmt: skip
    if len(x) == 2 and measure.name in ONE_DIFFERENCE:
        one = least_of_two(x, n, level)
    chosen = np.flatnonzero(defined)
    every = _of_box(measure, *box(x[:, chosen], n[:, chosen], level), shares[:, [0]], table, chosen.tolist())
    squares = measure.name == "true_positive_rate_gap"
    together = float(np.sqrt((every**2).mean())) if squares else float(every.mean())
    return np.where(defined, one, np.nan), together


def _of_box(
    measure: Measure, low: Floats, high: Floats, shares: Floats, table: Confusion, classes: list[int]
) -> Floats:
    if measure.name in ("statistical_parity_subgroup_fairness", "false_positive_subgroup_fairness"):
        return least_weighted_distance(low, high, np.broadcast_to(shares, low.shape))
    if measure.name == "disparate_impact":
        return least_ratio_gap(low, high)
    difference = least_difference(low, high)
    if measure.name == "standardised_mean_difference":
        everyone = ratio(table.everyone.predicted, table.everyone.people)[0, classes]
        return difference / np.sqrt(np.maximum(everyone * (1 - everyone), 1e-12))
    return difference


def _larger_of(view: View) -> dict[int | None, float]:
    """Equalized odds is the larger of two gaps, so the larger of their bounds; each has half of the 5 %."""
    parts = [lower_bounds(get_measure(name), view, 0.5) for name in ("EOTP", "EOFP")]
    places = parts[0].keys() & parts[1].keys()
    return {place: max(part[place] for part in parts) for place in places}


def _shares(table: Confusion) -> tuple[Floats, Floats]:
    """Return each group's share of those truly of a class, and of those predicted so."""
    everyone = table.everyone
    return ratio(table.positives, everyone.positives), ratio(table.predicted, everyone.predicted)


def _amplification_bounds(view: View) -> dict[int | None, float]:
    """The signed shift of the largest group's share, less its error; the shares' covariance would only narrow it."""
    table: Confusion = view.compared
    if not table.has_target:
        return {}
    everyone = table.everyone
    true_share, predicted_share = _shares(table)
    largest = true_share == true_share.max(axis=0, keepdims=True)
    ties = np.maximum(largest.sum(axis=0), 1)
    if view.drawn is not None:
        drawn_true, drawn_predicted = _shares(view.only_compared(view.drawn))
        spread = spread_of(drawn_predicted - drawn_true)
        spread *= 1.0 if view.behind is None else widening(view.behind.fewest(table.groups))
    else:
        squares = view.only_compared(view.squares).everyone
        people = (ratio(everyone.predicted**2, squares.predicted), ratio(everyone.positives**2, squares.positives))
        spread = np.sqrt(
            predicted_share * (1 - predicted_share) / np.maximum(np.nan_to_num(people[0]), 1)
            + true_share * (1 - true_share) / np.maximum(np.nan_to_num(people[1]), 1)
        )

    def lows(tests: Floats) -> Floats:
        """One-sided, 5 % shared out over so many tests."""
        shift = np.abs(predicted_share - true_share) - stats.norm.isf(view.risk / tests) * spread
        return np.asarray(np.where(largest, np.maximum(shift, 0.0), 0.0).max(axis=0), dtype=np.float64)

    defined = ((everyone.positives > 0) & (everyone.predicted > 0))[0]
    if not defined.any():
        return {}
    bounds: dict[int | None, float] = {
        place: float(low) for place, low in enumerate(lows(ties.astype(np.float64))) if defined[place]
    }
    bounds[None] = float(lows(ties * float(defined.sum()))[defined].mean())
    return bounds
