"""Audits of scores: bins, AUC and calibration of each group, intervals and tests, and measures at every threshold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from equipoise.audits._columns import finite_span, named_cells
from equipoise.audits._gap_bounds import GapTest
from equipoise.audits._reasons import AuditReason
from equipoise.audits._records import measures_for
from equipoise.audits._small_groups import cluster_counts
from equipoise.audits._spec import AuditSpec
from equipoise.audits._tallies import Tallies, can_be_read
from equipoise.audits._values import Evidence, ValueStatistic, clustered_evidence, least_gap
from equipoise.audits._view import View
from equipoise.cohorts.tables import Axis, LazyTable, Span
from equipoise.foundation.arrays import ratio
from equipoise.measures.measure import Measure, get_measure
from equipoise.measures.scores import CALIBRATION_BINS, calibration_curve
from equipoise.results import Record, because
from equipoise.stats import (
    NullSample,
    auc_spread,
    brier_spread,
    calibration_bounds,
    calibration_p,
    draws_needed,
    heterogeneity,
    least_difference,
    mean_score_spread,
    permuted,
    permuted_weights,
    sequential_permutation,
)
from equipoise.tallies.cells import Cells
from equipoise.tallies.counts import CLUSTER, TARGET, group_axis
from equipoise.tallies.labels import Label, same_truths
from equipoise.tallies.scores import (
    BIN,
    BINS,
    RankedScores,
    Scale,
    Scores,
    fitted_scale,
    range_of,
    scale_of_rows,
    score_units,
    scores_of,
    with_cuts,
)

# So many different scores of a larger file are sampled to fit its bins.
SAMPLED = 50_000
# A histogram of all groups has at most so many bins in all, but each group has at least the fewest.
MOST_CELLS = 2_000_000
FEWEST_BINS = 500
# A bin that can move the AUC by more than this is looked into for a score that many rows share.
LOOKED_INTO = 1e-5
MOST_RANGES = 100


@dataclass(frozen=True)
class BinnedScores:
    """Counts by group, target and bin; the bins; and rows by rank where bins alone would not give the exact AUC."""

    cells: Cells | None = None
    scale: Scale = field(default_factory=Scale)
    ranked: RankedScores | None = None


def bin_scores(
    spec: AuditSpec, keys: Mapping[str, Axis], words: Mapping[str, dict[Label, Label]],
    truths: Mapping[Label, Label], of_class: str, counted: Cells,
) -> BinnedScores:  # fmt: skip
    """Count the scores of an audit by these axes; ``counted`` are its rows by group."""
    assert spec.score is not None
    span = finite_span(
        spec.table, spec.score, "score column",
        help="replace them by the largest and the smallest finite score: ranks, and so the AUC, stay the same.",
    )  # fmt: skip
    bins = _affordable_bins(spec, counted)
    if can_be_read(spec.table, counted.rows):
        return _in_memory(spec, keys, words, truths, of_class, bins)
    scale = _fitted(spec, span, truths, of_class, bins, counted)
    cells = _tidy(spec.table.count_scores(keys, spec.score, scale, spec.weight), spec, words, truths)
    finer = _with_frequent_scores(spec, scale, cells, of_class)
    if finer is not scale:
        counts = spec.table.count_scores(keys, spec.score, finer, spec.weight)
        cells = _tidy(counts, spec, words, truths)
    return BinnedScores(cells, finer)


def auc_error(spec: AuditSpec, tallies: Tallies) -> tuple[int, float]:
    """Return how many bins the scores are counted in, and how far any AUC can be off for it: 0 where all are exact."""
    if tallies.scores is None or tallies.score_class is None:
        return 0, 0.0
    if tallies.scale.exact or tallies.ranked is not None:
        return len(tallies.scale.edges), 0.0
    worst = 0.0
    for attributes in spec.attributes:
        scores = scores_of(tallies.scores, attributes, tallies.score_class, tallies.scale, include_missing=True)
        worst = max(worst, float(scores.auc_bound().max()), float(scores.everyone.auc_bound().max()))
    return len(tallies.scale.edges), worst


def _affordable_bins(spec: AuditSpec, counted: Cells) -> int:
    """Return how many bins every group may have: fewer with very many groups."""
    groups = max(
        len(counted.marginal([group_axis(attribute) for attribute in attributes]).sums)
        for attributes in spec.attributes
    )
    return int(np.clip(MOST_CELLS // groups, FEWEST_BINS, BINS))


def _tidy(
    cells: Cells, spec: AuditSpec, words: Mapping[str, dict[Label, Label]], truths: Mapping[Label, Label]
) -> Cells:
    return same_truths(named_cells(cells, spec, words), truths)


def _in_memory(
    spec: AuditSpec, keys: Mapping[str, Axis], words: Mapping[str, dict[Label, Label]],
    truths: Mapping[Label, Label], of_class: str, bins: int,
) -> BinnedScores:  # fmt: skip
    assert spec.score is not None
    rows = spec.table.score_rows(keys, spec.score, spec.weight)
    ranked = RankedScores.from_rows(rows.axes, rows.scores, rows.weights)
    target = ranked.axes[TARGET]
    member = np.array([truths.get(label, label) == of_class for label in target.labels], dtype=bool)[target.codes]
    scale = scale_of_rows(ranked, member, bins)
    cells = _tidy(ranked.cells(scale), spec, words, truths)
    if scale.exact:
        return BinnedScores(cells, scale)
    for axis in rows.axes:
        names = {**words.get(axis, {}), **(truths if axis == TARGET else {})}
        ranked = ranked.renamed(axis, names).renamed(axis, dict.fromkeys(spec.missing))
    return BinnedScores(cells, scale, ranked)


def _fitted(
    spec: AuditSpec, span: Span, truths: Mapping[Label, Label], of_class: str, bins: int, counted: Cells
) -> Scale:
    """Return bins fitted to a sample of the scores; equally wide ones where the engine cannot sample."""
    assert isinstance(spec.table, LazyTable)
    assert spec.score is not None
    labels = {label for label in counted.axis(TARGET) if label is not None}
    sides = [[label for label in labels if (label == of_class) == member] for member in (False, True)]
    rare = min(sides, key=lambda side: counted.where(TARGET, side).rows)
    few = counted.where(TARGET, rare).rows <= bins // 2
    spelled = [label for label in (*truths, *rare) if truths.get(label, label) in rare] if few else []
    sample = spec.table.score_sample(spec.score, spec.target[0], SAMPLED, spelled)
    if not sample:
        return range_of(span.low, span.high)
    values, places = np.unique([score for _, score, _ in sample], return_inverse=True)
    member = np.array([truths.get(label, label) == of_class for label, _, _ in sample])
    rows = np.array([number for _, _, number in sample], dtype=np.float64)
    others, members = (
        np.bincount(places, weights=np.where(chosen, rows, 0.0), minlength=len(values)).astype(np.float64)
        for chosen in (~member, member)
    )
    return replace(fitted_scale(span.low, span.high, values, others, members, bins), exact=False)


def _with_frequent_scores(spec: AuditSpec, scale: Scale, cells: Cells, of_class: str) -> Scale:
    """Give scores that many rows share bins to themselves, where they blur the AUC; a sample can miss them."""
    if scale.cuts is None or scale.single is None:
        return scale
    assert isinstance(spec.table, LazyTable)
    assert spec.score is not None
    labels = [label for label in cells.axis(TARGET) if label is not None]
    bins = [str(place) for place in range(len(scale.cuts))]
    rows = cells.crossed([], [()], [TARGET, BIN], [labels, bins])[0, ..., 0]
    member = np.array([label == of_class for label in labels], dtype=bool)
    others, members = rows[~member].sum(axis=0), rows[member].sum(axis=0)
    tied = np.where(scale.single, 0.0, others * members) / max(2 * others.sum() * members.sum(), 1.0)
    blurred = [place for place in np.argsort(-tied)[:MOST_RANGES].tolist() if tied[place] > LOOKED_INTO]
    if not blurred:
        return scale
    ends = np.append(scale.cuts[1:], np.nextafter(scale.high, np.inf))
    least = max(2, int((others + members)[blurred].min() / 10))
    ranges = [(float(scale.cuts[place]), float(ends[place])) for place in blurred]
    frequent = spec.table.frequent_scores(spec.score, ranges, least)
    if not frequent:
        return scale
    alone = np.union1d(scale.cuts[scale.single], frequent)
    cuts = np.concatenate([scale.cuts, np.nextafter(frequent, np.inf)])
    return with_cuts(range_of(scale.low, scale.high), cuts, alone)


Floats = NDArray[np.float64]

# A number of a histogram, one for each draw; as a statistic it is large when groups differ.
Statistic = Callable[[Scores], Floats]

MOST_BINS = 200
# So many cells are drawn in all, and so many of them are held at once.
CELLS = 2_000_000
BATCH = 2_000_000
# What 2,000 draws leave open may take so many cells more.
MOST_SCORE_CELLS = 40_000_000

STATISTICS = (
    ValueStatistic(
        name="auc", error=lambda of: auc_spread(of.weight, of.squared_weight), contrasted=True, within_class=True
    ),
    ValueStatistic(
        name="brier_score", error=lambda of: brier_spread(of.weight, of.score_sum, of.squared_weight)
    ),
    ValueStatistic(
        name="mean_score", standardised="score_standardised_difference",
        error=lambda of: mean_score_spread(of.weight, of.score_sum, of.square_sum, of.squared_weight),
    ),
    ValueStatistic(name="calibration_error"),
)  # fmt: skip


def score_evidence(view: View, generator: np.random.Generator, draws: int) -> Evidence:
    """Return errors, tests and bounds of the values of scores."""
    shown, compared = (
        {one.name: one.error(tally) for one in STATISTICS if one.error is not None}
        for tally in (view.shown, view.compared)
    )
    return Evidence(shown, compared, _gaps(view, generator, draws) if len(view.compared.groups) > 1 else {})


def with_calibration(records: Iterable[Record], view: View, generator: np.random.Generator) -> Iterator[Record]:
    """Yield the records, calibration errors with a lower bound and the p-value that the group is calibrated."""
    low, p = _calibration(view.shown)[0], _calibration_p(view.shown, generator, view.tests)
    for record in records:
        if record.measure == "calibration_error" and record.defined and record.group in view.shown.groups:
            place = view.shown.groups.index(record.group)
            yield replace(record, low=float(low[place]), interval="lower-bound", level=0.95, p=float(p[place]))
        else:
            yield record


def _calibration_p(scores: Scores, generator: np.random.Generator, tests: int) -> Floats:
    curve, error = calibration_curve(scores), get_measure("calibration_error").by_class(scores)
    return calibration_p(error, curve.mean_score, curve.weight, curve.squared_weight, generator, tests)


def _calibration(scores: Scores) -> tuple[Floats, Floats]:
    """Return the least and the greatest calibration error of each group, all of them together at 95%."""
    curve = calibration_curve(scores)
    return calibration_bounds(curve.observed, curve.mean_score, curve.weight, curve.squared_weight)


def _gaps(view: View, generator: np.random.Generator, draws: int) -> dict[str, GapTest]:
    """Ranking compares people of one class, so groups are permuted within it; the others across all rows.

    A group with too few people for a number is left out of its test.
    """
    scores: Scores = view.compared
    found: dict[str, GapTest] = {}
    for within in (True, False):
        statistics = [one for one in STATISTICS if one.within_class == within]
        rows = np.asarray(scores.rows, dtype=np.float64).sum(axis=-1)
        people = rows.min(axis=-1) if within else rows.sum(axis=-1)
        kept = [group for group, number in zip(scores.groups, people, strict=True) if number >= view.least_people]
        left_out = tuple(group for group in scores.groups if group not in kept)
        if len(kept) < 2:
            reason = because(AuditReason.FEW_LARGE_GROUPS, least=view.least_people, whom="people")
            found |= {one.gap: GapTest(reason=reason, left_out=left_out) for one in statistics}
            continue
        large = scores if not left_out else scores.only(kept)
        defined = {one.name: one for one in statistics if not np.isnan(one.values(large)).any()}
        compared = {name: _statistic(one, large) for name, one in defined.items()}
        tests = score_p(large, compared, within_class=within, generator=generator, draws=draws, tests=view.tests)
        for name, one in defined.items():
            found[one.gap] = GapTest.of(tests[name], left_out=left_out, low=_least(one, large))
    return found


def _statistic(one: ValueStatistic, scores: Scores) -> Statistic:
    """Heterogeneity in units of each group's error, where it has one; else the largest difference itself."""
    error = one.error
    if error is not None and (error(scores) > 0).all():
        return lambda drawn: heterogeneity(one.values(drawn), error(drawn))
    return lambda drawn: np.ptp(one.values(drawn), axis=-1)


def _least(one: ValueStatistic, scores: Scores) -> float:
    if one.error is None:
        low, high = _calibration(scores)
        return float(least_difference(low[:, None], high[:, None])[0])
    return least_gap(one.values(scores), one.error(scores))


def coarse_bins(scores: Scores, draws: int) -> int:
    """Return how many bins so many draws can afford."""
    return int(np.clip(CELLS // max(2 * draws * len(scores.groups), 1), CALIBRATION_BINS, MOST_BINS))


def coarse_starts(scores: Scores, bins: int) -> NDArray[np.int64]:
    """Return where bins start: at the ten of a calibration curve, and at equal shares of the people in between."""
    fixed = scores.places_of(scores.scale.steps(CALIBRATION_BINS))
    below = np.cumsum(scores.weight.sum(axis=(0, 1)))
    cuts = np.searchsorted(below, below[-1] * np.arange(1, bins) / bins, side="right")
    return np.unique(np.concatenate([fixed, np.minimum(cuts, len(below) - 1)]))


def score_p(
    scores: Scores, statistics: Mapping[str, Statistic], *, within_class: bool, generator: np.random.Generator,
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

    def permute(number: int, names: Sequence[str]) -> Scores:
        drawn = (
            permuted_weights(coarse.rows, coarse.weight, coarse.squared_weight, within_class, number, generator)
            if weighted
            else permuted(coarse.weight, within_class, number, generator)
        )
        return with_shared_scores(coarse, drawn)

    size, needed = coarse.weight.size, draws_needed(tests)
    found = sequential_permutation(
        {name: np.sqrt(statistic(observed)) for name, statistic in statistics.items()},
        permute,
        lambda name, drawn: np.sqrt(statistics[name](drawn))[:, None],
        most=min(needed, max(draws, MOST_SCORE_CELLS // size)), needed=needed, largest_batch=max(1, BATCH // size),
        cheap=True,
    )  # fmt: skip
    return {name: tested[0] for name, tested in found.items()}


def with_shared_scores(coarse: Scores, weight: Floats) -> Scores:
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
    units = score_units(cells, CLUSTER, view.attribute, of_class, coarse)

    def read(totals: Floats) -> Scores:
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
    scores: Scores, attribute: tuple[str, ...], split: str | None, classes: tuple[str, str], member: str
) -> Iterator[Curve]:
    """Yield the curve of every measure of counts, for the class the score is for."""
    thresholds = np.linspace(scores.scale.low, scores.scale.high, POINTS)
    if scores.scale.probabilities:
        thresholds = np.arange(POINTS) / (POINTS - 1)
    table = scores.confusion_at(thresholds, classes)
    place = classes.index(member)
    for measure in measures_for(("predictions", "counts")):
        values = _values(measure, table, place)
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


def _values(measure: Measure, table: object, place: int) -> Floats:
    computed = measure.compute(table)
    values = ratio(*computed) if measure.kind == "rate" else np.asarray(computed)
    return values[..., place] if measure.classwise else values


def calibration_points(scores: Scores, attribute: tuple[str, ...], split: str | None) -> Iterator[CalibrationPoint]:
    """Yield the calibration of each group, where scores are probabilities; bins without anybody are left out."""
    if not scores.scale.probabilities:
        return
    curve = calibration_curve(scores)
    for place, group in enumerate(scores.groups):
        for step in range(CALIBRATION_BINS):
            weight = float(curve.weight[place, step])
            if weight > 0:
                yield CalibrationPoint(
                    attribute=attribute,
                    group=group,
                    split=split,
                    low=step / CALIBRATION_BINS,
                    high=(step + 1) / CALIBRATION_BINS,
                    mean_score=float(curve.mean_score[place, step]),
                    observed=float(curve.observed[place, step]),
                    weight=weight,
                )
