"""Audits of scores: bins, AUC and calibration of each group, intervals and tests, and measures at every threshold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from equipoise.audits._multiple_testing import GapTest
from equipoise.audits._reasons import AuditReason
from equipoise.audits._records import measures_for
from equipoise.audits._tallies import View, cluster_counts
from equipoise.audits._values import Evidence, ValueStatistic, clustered_evidence, least_gap
from equipoise.foundation import Floats, ratio
from equipoise.measures import (
    CALIBRATION_BINS,
    Measure,
    calibration_curve,
    get_measure,
)
from equipoise.results import Record, because
from equipoise.stats import (
    NullSample,
    auc_standard_error,
    brier_standard_error,
    calibration_bounds,
    calibration_p,
    draws_needed,
    heterogeneity,
    least_possible_difference,
    mean_score_standard_error,
    permuted_tables,
    permuted_weights,
    sequential_permutation,
)
from equipoise.tallies import (
    CLUSTER_AXIS,
    Cells,
    ScoreHistogram,
    score_units,
)

# A number of a histogram, one for each draw; as a statistic it is large when groups differ.
Statistic = Callable[[ScoreHistogram], Floats]

MOST_BINS = 200
# So many cells are drawn in all, and so many of them are held at once.
CELLS = 2_000_000
BATCH = 2_000_000
# What 2,000 draws leave open may take so many cells more.
MOST_SCORE_CELLS = 40_000_000

STATISTICS = (
    ValueStatistic(
        name="auc",
        error=lambda of: auc_standard_error(of.weight, of.squared_weight),
        contrasted=True,
        within_class=True,
    ),
    ValueStatistic(
        name="brier_score", error=lambda of: brier_standard_error(of.weight, of.score_sum, of.squared_weight)
    ),
    ValueStatistic(
        name="mean_score", standardised="score_standardised_difference",
        error=lambda of: mean_score_standard_error(of.weight, of.score_sum, of.square_sum, of.squared_weight),
    ),
    ValueStatistic(name="calibration_error"),
)  # fmt: skip


def score_evidence(view: View, generator: np.random.Generator, draws: int) -> Evidence:
    """Return errors, tests and bounds of the values of scores."""
    shown, compared = (
        {statistic.name: statistic.error(tally) for statistic in STATISTICS if statistic.error is not None}
        for tally in (view.reported, view.compared)
    )
    return Evidence(shown, compared, _gaps(view, generator, draws) if len(view.compared.groups) > 1 else {})


def with_calibration(records: Iterable[Record], view: View, generator: np.random.Generator) -> Iterator[Record]:
    """Yield the records, calibration errors with a lower bound and the p-value that the group is calibrated."""
    low, p = _calibration(view.reported)[0], _calibration_p(view.reported, generator, view.tests)
    for record in records:
        if record.measure == "calibration_error" and record.defined and record.group in view.reported.groups:
            group_index = view.reported.groups.index(record.group)
            yield replace(
                record, low=float(low[group_index]), interval="lower-bound", level=0.95, p=float(p[group_index])
            )
        else:
            yield record


def _calibration_p(scores: ScoreHistogram, generator: np.random.Generator, tests: int) -> Floats:
    curve, error = calibration_curve(scores), get_measure("calibration_error").by_class(scores)
    return calibration_p(error, curve.mean_score, curve.weight, curve.squared_weight, generator, tests)


def _calibration(scores: ScoreHistogram) -> tuple[Floats, Floats]:
    """Return the least and the greatest calibration error of each group, all of them together at 95%."""
    curve = calibration_curve(scores)
    return calibration_bounds(curve.observed, curve.mean_score, curve.weight, curve.squared_weight)


def _gaps(view: View, generator: np.random.Generator, draws: int) -> dict[str, GapTest]:
    """Ranking compares people of one class, so groups are permuted within it; the others across all rows.

    A group with too few people for a number is left out of its test.
    """
    scores: ScoreHistogram = view.compared
    tests_by_gap: dict[str, GapTest] = {}
    for within in (True, False):
        statistics = [statistic for statistic in STATISTICS if statistic.within_class == within]
        rows = np.asarray(scores.rows, dtype=np.float64).sum(axis=-1)
        people = rows.min(axis=-1) if within else rows.sum(axis=-1)
        compared_groups = [
            group for group, number in zip(scores.groups, people, strict=True) if number >= view.least_people
        ]
        left_out = tuple(group for group in scores.groups if group not in compared_groups)
        if len(compared_groups) < 2:
            reason = because(AuditReason.FEW_LARGE_GROUPS, least=view.least_people, whom="people")
            tests_by_gap |= {statistic.gap: GapTest(reason=reason, left_out=left_out) for statistic in statistics}
            continue
        large = scores if not left_out else scores.only(compared_groups)
        defined = {statistic.name: statistic for statistic in statistics if not np.isnan(statistic.values(large)).any()}
        compared = {name: _statistic(defined_statistic, large) for name, defined_statistic in defined.items()}
        tests = score_p(large, compared, within_class=within, generator=generator, draws=draws, tests=view.tests)
        for name, defined_statistic in defined.items():
            tests_by_gap[defined_statistic.gap] = GapTest.of(
                tests[name], left_out=left_out, low=_least(defined_statistic, large)
            )
    return tests_by_gap


def _statistic(statistic: ValueStatistic, scores: ScoreHistogram) -> Statistic:
    """Heterogeneity in units of each group's error, where it has one; else the largest difference itself."""
    error = statistic.error
    if error is not None and (error(scores) > 0).all():
        return lambda scores: heterogeneity(statistic.values(scores), error(scores))
    return lambda scores: np.ptp(statistic.values(scores), axis=-1)


def _least(statistic: ValueStatistic, scores: ScoreHistogram) -> float:
    if statistic.error is None:
        low, high = _calibration(scores)
        return float(least_possible_difference(low[:, None], high[:, None])[0])
    return least_gap(statistic.values(scores), statistic.error(scores))


def coarse_bins(scores: ScoreHistogram, draws: int) -> int:
    """Return how many bins so many draws can afford."""
    return int(np.clip(CELLS // max(2 * draws * len(scores.groups), 1), CALIBRATION_BINS, MOST_BINS))


def coarse_starts(scores: ScoreHistogram, bins: int) -> NDArray[np.int64]:
    """Return where bins start: at the ten of a calibration curve, and at equal shares of the people in between."""
    fixed = scores.group_indices(scores.scale.steps(CALIBRATION_BINS))
    below = np.cumsum(scores.weight.sum(axis=(0, 1)))
    cuts = np.searchsorted(below, below[-1] * np.arange(1, bins) / bins, side="right")
    return np.unique(np.concatenate([fixed, np.minimum(cuts, len(below) - 1)]))


def score_p(
    scores: ScoreHistogram, statistics: Mapping[str, Statistic], *, within_class: bool, generator: np.random.Generator,
    draws: int, tests: int = 1,
) -> dict[str, NullSample]:  # fmt: skip
    """Return the test of each statistic under permuted groups: across all rows, or within the true class.

    The score is first cut into fewer bins, so that a permutation is a random table of groups by bins. Both sides of the
    comparison use the same bins: the p-value is then valid however coarse they are.

    ``draws`` decides how coarse the bins are, and ``tests``, how many the report has, how often groups are permuted.
    """
    coarse = scores.coarser(coarse_starts(scores, coarse_bins(scores, draws)))
    observed = with_shared_scores(coarse, coarse.weight)
    weighted = not np.array_equal(coarse.rows, coarse.weight)

    def permute(number: int, names: Sequence[str]) -> ScoreHistogram:
        permuted = (
            permuted_weights(coarse.rows, coarse.weight, coarse.squared_weight, within_class, number, generator)
            if weighted
            else permuted_tables(coarse.weight, within_class, number, generator)
        )
        return with_shared_scores(coarse, permuted)

    size, needed = coarse.weight.size, draws_needed(tests)
    tested_scores = sequential_permutation(
        {name: np.sqrt(statistic(observed)) for name, statistic in statistics.items()},
        permute,
        lambda name, permuted: np.sqrt(statistics[name](permuted))[:, None],
        most=min(needed, max(draws, MOST_SCORE_CELLS // size)), needed=needed, largest_batch=max(1, BATCH // size),
        cheap=True,
    )  # fmt: skip
    return {name: tested[0] for name, tested in tested_scores.items()}


def with_shared_scores(coarse: ScoreHistogram, weight: Floats) -> ScoreHistogram:
    """Return a histogram with these weights, in which a row's score is the mean of its bin over all groups."""
    total = coarse.weight.sum(axis=0)
    score, square, squared = (
        weight * np.divide(part.sum(axis=0), total, out=np.zeros_like(total), where=total > 0)
        for part in (coarse.score_sum, coarse.square_sum, coarse.squared_weight)
    )
    return replace(coarse, weight=weight, score_sum=score, square_sum=square, squared_weight=squared, rows=weight)


def clustered_score_evidence(
    view: View, cells: Cells, of_class: str, generator: np.random.Generator, draws: int
) -> Evidence:
    """Return errors, tests and bounds from clusters drawn again; ``cells`` tells the clusters."""
    coarse = view.compared.coarser(coarse_starts(view.compared, coarse_bins(view.compared, draws)))
    units = score_units(cells, CLUSTER_AXIS, view.attribute, of_class, coarse)

    def read(totals: Floats) -> ScoreHistogram:
        return with_shared_scores(coarse, totals.reshape(-1, *coarse.weight.shape))

    behind = cluster_counts(units, coarse.groups)
    return clustered_evidence(STATISTICS, view, units, read, behind, generator, draws)


POINTS = 101


@dataclass(frozen=True)
class Curve:
    """A measure as a function of the threshold on the score. Undefined points are NaN."""

    measure: str
    alias: str | None
    attribute: tuple[str, ...]
    group: str | None
    class_: str
    split: str | None
    thresholds: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class CalibrationPoint:
    """One group and score bin: the mean score beside the share truly of the class."""

    attribute: tuple[str, ...]
    group: str
    split: str | None
    low: float
    high: float
    mean_score: float
    observed: float
    weight: float


def threshold_curves(
    scores: ScoreHistogram, attribute: tuple[str, ...], split: str | None, classes: tuple[str, str], member: str
) -> Iterator[Curve]:
    """Yield the curve of every measure of counts, for the class the score is for."""
    thresholds = np.linspace(scores.scale.low, scores.scale.high, POINTS)
    if scores.scale.probabilities:
        thresholds = np.arange(POINTS) / (POINTS - 1)
    table = scores.confusion_at(thresholds, classes)
    class_index = classes.index(member)
    for measure in measures_for(("predictions", "counts")):
        values = _values(measure, table, class_index)
        groups = table.groups if measure.kind == "rate" else (None,)
        for column, group in enumerate(groups):
            line = values[:, column] if measure.kind == "rate" else values
            yield Curve(
                measure.name,
                measure.alias,
                attribute,
                group,
                member,
                split,
                tuple(thresholds.tolist()),
                tuple(line.tolist()),
            )


def _values(measure: Measure, table: object, class_index: int) -> Floats:
    computed = measure.compute(table)
    values = ratio(*computed) if measure.kind == "rate" else np.asarray(computed)
    return values[..., class_index] if measure.classwise else values


def calibration_points(
    scores: ScoreHistogram, attribute: tuple[str, ...], split: str | None
) -> Iterator[CalibrationPoint]:
    """Yield the calibration of each group, where scores are probabilities; bins without anybody are left out."""
    if not scores.scale.probabilities:
        return
    curve = calibration_curve(scores)
    for index, group in enumerate(scores.groups):
        for step in range(CALIBRATION_BINS):
            weight = float(curve.weight[index, step])
            if weight > 0:
                yield CalibrationPoint(
                    attribute=attribute,
                    group=group,
                    split=split,
                    low=step / CALIBRATION_BINS,
                    high=(step + 1) / CALIBRATION_BINS,
                    mean_score=float(curve.mean_score[index, step]),
                    observed=float(curve.observed[index, step]),
                    weight=weight,
                )
