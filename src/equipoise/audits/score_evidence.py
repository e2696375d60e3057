"""Evidence for scores: AUC, Brier score, mean score and calibration, of groups and between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from equipoise.audits._multiple_testing import MultipleTesting
from equipoise.audits._reasons import AuditReason
from equipoise.audits._small_groups import cluster_counts
from equipoise.audits.contrasts import value_contrasts
from equipoise.audits.spreads import GapEvidence, Spreads, least_gap, standardised, with_spreads
from equipoise.audits.unit_values import unit_values
from equipoise.audits.view import View
from equipoise.measures.measure import get_measure
from equipoise.results import Record, because
from equipoise.stats import (
    auc_spread,
    brier_spread,
    calibration_bounds,
    calibration_p,
    coarse_bins,
    coarse_starts,
    heterogeneity,
    least_difference,
    mean_score_spread,
    score_p,
    with_shared_scores,
)
from equipoise.tallies.cells import Cells
from equipoise.tallies.counts import CLUSTER
from equipoise.tallies.scores import Scores, score_units

Floats = NDArray[np.float64]

SPREADS: dict[str, Callable[[Scores], Floats]] = {
    "auc": auc_spread,
    "brier_score": brier_spread,
    "mean_score": mean_score_spread,
}
VALUES = (*SPREADS, "calibration_error")


def score_evidence(
    records: Iterable[Record], view: View, generator: np.random.Generator, draws: int, testing: MultipleTesting
) -> Iterator[Record]:
    """Yield the records with intervals, tests and bounds, and add the contrasts of AUC to the tests."""
    compares = len(view.compared.groups) > 1
    shown = {name: spread(view.shown) for name, spread in SPREADS.items()}
    gaps = _gaps(view, generator, draws) if compares else {}
    low, p = calibration_bounds(view.shown)[0], _calibration_p(view.shown, generator, view.tests)
    for record in with_spreads(records, view, Spreads(shown, gaps)):
        if record.measure == "calibration_error" and record.defined and record.group in view.shown.groups:
            place = view.shown.groups.index(record.group)
            yield replace(record, low=float(low[place]), interval="lower-bound", level=0.95, p=float(p[place]))
        else:
            yield record
    if compares:
        testing.add(value_contrasts(get_measure("auc"), view, auc_spread(view.compared)))


def _calibration_p(scores: Scores, generator: np.random.Generator, tests: int) -> Floats:
    return calibration_p(scores, get_measure("calibration_error").by_class(scores), generator, tests)


def _gaps(view: View, generator: np.random.Generator, draws: int) -> dict[str, GapEvidence]:
    """Ranking compares people of one class, so groups are permuted within it; the others across all rows.

    A group with too few people for a number is left out of its test.
    """
    scores: Scores = view.compared
    found: dict[str, GapEvidence] = {}
    for within, names in ((True, ("auc",)), (False, tuple(name for name in VALUES if name != "auc"))):
        rows = np.asarray(scores.rows, dtype=np.float64).sum(axis=-1)
        people = rows.min(axis=-1) if within else rows.sum(axis=-1)
        kept = [group for group, number in zip(scores.groups, people, strict=True) if number >= view.least_people]
        left_out = tuple(group for group in scores.groups if group not in kept)
        if len(kept) < 2:
            reason = because(AuditReason.FEW_LARGE_GROUPS, least=view.least_people, whom="people")
            found |= {f"{name}_difference": GapEvidence(reason=reason, left_out=left_out) for name in names}
            continue
        large = scores if not left_out else scores.only(kept)
        defined = [name for name in names if not np.isnan(get_measure(name).by_class(large)).any()]
        statistics = {name: _statistic(name, large) for name in defined}
        tests = score_p(large, statistics, within_class=within, generator=generator, draws=draws, tests=view.tests)
        for name, test in tests.items():
            found[f"{name}_difference"] = GapEvidence(
                test.p, _least(name, large), left_out=left_out, draws=test.draws, limited_by_draws=test.limited
            )
    return _with_standardised(found, view)


def _with_standardised(gaps: dict[str, GapEvidence], view: View) -> dict[str, GapEvidence]:
    mean = gaps.pop("mean_score_difference", None)
    if mean is not None:
        gap = "score_standardised_difference"
        gaps[gap] = standardised(mean, view, "mean_score", gap)
    return gaps


def _statistic(name: str, scores: Scores) -> Callable[[Scores], Floats]:
    """Heterogeneity in units of each group's error, where it has one; else the largest difference itself."""
    value = get_measure(name)
    if name in SPREADS and (SPREADS[name](scores) > 0).all():
        return lambda drawn: heterogeneity(value.by_class(drawn), SPREADS[name](drawn))
    return lambda drawn: np.ptp(value.by_class(drawn), axis=-1)


def _least(name: str, scores: Scores) -> float:
    if name == "calibration_error":
        low, high = calibration_bounds(scores)
        return float(least_difference(low[:, None], high[:, None])[0])
    return least_gap(get_measure(name).by_class(scores), SPREADS[name](scores))


def clustered_score_evidence(
    records: Iterable[Record], view: View, cells: Cells, of_class: str, generator: np.random.Generator, draws: int,
    testing: MultipleTesting,
) -> Iterator[Record]:  # fmt: skip
    """Yield the records with intervals, tests and bounds from clusters drawn again; ``cells`` tells the clusters."""
    coarse = view.compared.coarser(coarse_starts(view.compared, coarse_bins(view.compared, draws)))
    units = score_units(cells, CLUSTER, view.attribute, of_class, coarse)

    def numbers(totals: Floats) -> dict[str, Floats]:
        drawn = with_shared_scores(coarse, totals.reshape(-1, *coarse.weight.shape))
        return {name: get_measure(name).by_class(drawn) for name in VALUES}

    known = unit_values(units, numbers, generator, draws, cluster_counts(units, coarse.groups))
    shown = {name: known.errors_for(name, view.shown.groups) for name in SPREADS}
    gaps = {f"{name}_difference": known.gap(name) for name in VALUES} if len(coarse.groups) > 1 else {}
    yield from with_spreads(records, view, Spreads(shown, _with_standardised(gaps, view), known.untold))
    if gaps:
        testing.add(value_contrasts(get_measure("auc"), view, known.errors("auc"), units=known))
