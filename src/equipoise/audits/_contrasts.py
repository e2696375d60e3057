"""Signed contrasts: this group against the rest, against the larger of two, or against a reference.

Each is a difference with a two-sided test. Intervals wait until all tests of the report are known, because they are
then widened so that intervals and verdicts agree (false-coverage adjustment, Benjamini and Yekutieli 2005).

``Power`` says what such contrasts could show with these numbers of people.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special, stats

from equipoise.audits._reasons import AuditReason
from equipoise.audits._tallies import ClusterCounts, View
from equipoise.foundation import Floats, ratio
from equipoise.measures import (
    Measure,
    get_measure,
)
from equipoise.results import Reason, Record, Scope, Status, because
from equipoise.stats import (
    MIN_UNITS,
    detectable_gap,
    difference_equivalence_p,
    difference_interval,
    difference_p,
    effective_counts,
    equivalence_p,
    exact_difference_interval,
    exact_difference_p,
    exact_equivalence_p,
    is_rare,
    pair_interval,
    people_needed,
    standard_deviation_of_draws,
)
from equipoise.tallies import Confusion, is_missing

REST = "the rest"
CONTRASTED = (
    "selection_rate", "true_positive_rate", "false_positive_rate", "positive_predictive_value", "accuracy",
)  # fmt: skip


@dataclass(frozen=True)
class Contrast:
    """A difference with its p-value and what its interval needs: counts of two rates, or a standard error.

    Of a rate of the same rows judged twice ``pairs`` are the gained, the lost and all rows. With clusters Student's t
    has so many degrees of freedom.
    """

    record: Record
    p: float
    counts: tuple[float, float, float, float] | None = None
    spread: float = float("nan")
    method: str = "normal"
    degrees: float = float("inf")
    rare: bool = False
    pairs: tuple[float, float, float] | None = None

    def equivalence_p(self, margin: float) -> float:
        """Return the larger p of two one-sided tests that the difference is the margin or more; NaN if not tested."""
        if np.isnan(self.p):
            return float("nan")
        if self.counts is not None and self.rare:
            return float(exact_equivalence_p(*self.counts, margin))
        if self.counts is not None:
            return float(difference_equivalence_p(*self.counts, margin))
        return float(equivalence_p(self.record.value, self.spread, margin, self.degrees))


def intervals_of(contrasts: Sequence[Contrast], level: float) -> list[tuple[float, float, str]]:
    """Return the interval of every contrast at one level, and its kind."""
    intervals: list[tuple[float, float, str]] = [(float("nan"), float("nan"), "")] * len(contrasts)
    parts: tuple[tuple[Sequence[tuple[float, ...] | None], Callable[..., tuple[Floats, Floats]], str], ...] = (
        ([None if contrast.rare else contrast.counts for contrast in contrasts], difference_interval, "score"),
        ([contrast.counts if contrast.rare else None for contrast in contrasts], exact_difference_interval, "exact"),
        ([contrast.pairs for contrast in contrasts], pair_interval, "score"),
    )
    for counts, interval, method in parts:
        counted = {index: part for index, part in enumerate(counts) if part is not None}
        if counted:
            ends = interval(*np.array(list(counted.values())).T, level)
            for position, low, high in zip(counted, *ends, strict=True):
                intervals[position] = (float(low), float(high), method)
    for index, contrast in enumerate(contrasts):
        if contrast.counts is None and contrast.pairs is None:
            half = float(stats.t.isf((1.0 - level) / 2.0, contrast.degrees)) * contrast.spread
            intervals[index] = (contrast.record.value - half, contrast.record.value + half, contrast.method)
    return intervals


def opponents(groups: Sequence[str], reference: str | None, people: Floats) -> list[tuple[int, list[int], str]]:
    """Return who is compared with whom: (group, the groups on the other side, what they are called)."""
    if len(groups) < 2:
        return []
    if reference is not None and reference in groups:
        reference_index = list(groups).index(reference)
        return [(g, [reference_index], groups[reference_index]) for g in range(len(groups)) if g != reference_index]
    if len(groups) == 2:
        large = int(np.argmax(people))
        return [(1 - large, [large], groups[large])]
    return [(g, [o for o in range(len(groups)) if o != g], REST) for g in range(len(groups))]


def number_of_contrasts(groups: int, *, named: bool = False) -> int:
    """Return how many comparisons ``opponents`` finds; ``named`` where a reference was named."""
    return 0 if groups < 2 else 1 if groups == 2 else groups - 1 if named else groups


def contrast_record(
    about: Mapping[str, Any], value: float, error: float, undefined: Reason | None, few: Reason | None
) -> Record:
    """Return the record of a contrast: undefined, of too few people or clusters, or without anything that varies."""
    status = Status.UNDEFINED if undefined is not None else Status.TOO_SMALL if few is not None else Status.OK
    reason = undefined or few or (because(AuditReason.NO_SPREAD) if error == 0 else None)
    return Record(kind="contrast", value=value, status=status, reason=reason, **about)


def contrast_by_error(
    about: Mapping[str, Any], value: float, error: float, *, undefined: Reason | None, few: Reason | None,
    clusters: int | None = None, method: str = "normal",
) -> Contrast:  # fmt: skip
    """Return a contrast with a standard error; ``undefined`` and ``few`` say why it has no test.

    With clusters the error is that of clusters drawn again, and test and interval are Student's t: draws of n clusters
    miss a factor n - 1 over n of the variance.
    """
    degrees = float("inf")
    record = contrast_record(about, value, error, undefined, few)
    if clusters is not None:
        method, degrees = "bootstrap", clusters - 1.0
        error = error * float(np.sqrt(clusters / (clusters - 1))) if clusters >= MIN_UNITS else float("nan")
    p = float("nan") if record.reason is not None else normal_p(value, error, degrees)
    return Contrast(record, p, None, error if error > 0 else float("nan"), method, degrees)


def rate_contrasts(view: View, needs: str) -> list[Contrast]:
    """Return the contrasts of the main rates: of the favourable class, else of every class."""
    table = view.compared
    if len(table.groups) < 2:
        return []
    pairs = opponents(view.compared.groups, view.reference, table.people[:, 0])
    contrasts: list[Contrast] = []
    for name in CONTRASTED:
        measure = get_measure(name)
        if measure.needs != needs:
            continue
        spreads = (
            None if view.resampled is None else _cluster_spreads(measure, view.only_compared(view.resampled), pairs)
        )
        parts = _Parts.of(measure, view)
        for class_place in class_indices(view, measure):
            for number, (group, others, called) in enumerate(pairs):
                spread = None if spreads is None else float(spreads[number, class_place or 0])
                contrasts.append(_rate_contrast(measure, view, parts, group, others, called, class_place, spread))
    return _with_p_of_counts(contrasts)


def _with_p_of_counts(contrasts: list[Contrast]) -> list[Contrast]:
    """Test all differences of counts at once: by the score test, where an outcome is rare by the exact one."""
    tested = [
        index
        for index, contrast in enumerate(contrasts)
        if contrast.counts is not None and contrast.record.reason is None
    ]
    if not tested:
        return contrasts
    counts = np.array([contrasts[position].counts for position in tested]).T
    rare, p = is_rare(*counts), difference_p(*counts)
    if rare.any():
        p[rare] = exact_difference_p(*counts[:, rare])
    with_p = list(contrasts)
    for position, p_value, is_exact in zip(tested, p.tolist(), rare.tolist(), strict=True):
        untested = contrasts[position]
        with_p[position] = Contrast(untested.record, p_value, untested.counts, rare=is_exact)
    return with_p


def class_indices(view: View, measure: Measure) -> list[int | None]:
    """Return the classes to contrast; for two classes one says it all."""
    classes = view.compared.classes
    if not measure.classwise:
        return [None]
    if view.favourable is not None:
        return [classes.index(view.favourable)]
    return [len(classes) - 1] if len(classes) == 2 or view.label is not None else list(range(len(classes)))


def _rate_contrast(
    measure: Measure, view: View, parts: _Parts, group: int, others: list[int], called: str,
    class_index: int | None, spread: float | None,
) -> Contrast:  # fmt: skip
    (x1, n1, rows1, rate1, raw), (x2, n2, rows2, rate2, _) = (
        parts.side(members, class_index or 0) for members in ([group], others)
    )
    clusters = None if view.behind is None else clusters_behind(view.behind, group, others, view.compared.groups)
    value, name = rate1 - rate2, None if class_index is None else view.compared.classes[class_index]
    scope: Scope = "overall" if name is None else "favourable" if name == view.favourable else "class"
    undefined = because(AuditReason.NO_DENOMINATOR_ON_ONE_SIDE, of=measure.denominator) if np.isnan(value) else None
    small = too_few_people(min(rows1, rows2), view.least_people)
    about = {
        "measure": measure.name, "alias": measure.alias, "scope": scope, "class_": name,
        "group": view.compared.groups[group], "against": called, "numerator": raw[0], "denominator": raw[1],
        **view.record_fields(),
    }  # fmt: skip
    if clusters is None:
        record = contrast_record(about, value, float("nan"), undefined, small)
        return Contrast(record, float("nan"), None if undefined is not None else (x1, n1, x2, n2))
    error = float("nan") if spread is None or small is not None else spread
    return contrast_by_error(
        about, value, error, undefined=undefined, few=small or too_few_clusters(clusters), clusters=clusters
    )


@dataclass(frozen=True, eq=False)
class _Parts:
    """What a rate is made of, ``[part, group, class]``: numerator and denominator, both in squares, and in rows.

    All five add up over groups, so the rest of a group is the total less that group.
    """

    parts: Floats
    totals: Floats
    # Of each class, the share of Kish's number that weights related to the outcome leave, over all groups.
    design: Floats

    @classmethod
    def of(cls, measure: Measure, view: View) -> _Parts:
        numerator, denominator = measure.function(view.compared)
        squares = measure.function(view.only_compared(view.squares))
        rows = measure.function(view.only_compared(view.rows))[1]
        stacked = np.stack([numerator, denominator, *squares, rows]).astype(np.float64)
        parts = stacked if measure.classwise else stacked[..., None]
        totals = parts.sum(axis=1)
        x, n, x2, n2, _ = totals
        with np.errstate(invalid="ignore", divide="ignore"):
            share = effective_counts(x, n, x2, n2)[1] / (n**2 / n2)
        mixed = (x > 0) & (x < n)
        return cls(parts, totals, np.where(mixed & (share < 1), share, 1.0))

    def side(self, groups: list[int], class_index: int) -> tuple[float, float, float, float, tuple[float, float]]:
        """Return effective successes and trials, rows, the rate and its raw parts, for some groups taken together."""
        number = self.parts.shape[1]
        if len(groups) == number - 1 and number > 2:
            left_out = number * (number - 1) // 2 - sum(groups)
            total = self.totals[:, class_index]
            rest = total - self.parts[:, left_out, class_index]
            together = np.where(rest <= 1e-12 * total, 0.0, rest)
        else:
            together = self.parts[:, groups, class_index].sum(axis=1)
        numerator, denominator, *squares, rows = together.tolist()
        if denominator <= 0:
            return 0.0, 0.0, rows, float("nan"), (numerator, denominator)
        x, n = effective_counts(numerator, denominator, *squares)
        if (numerator <= 0 or numerator >= denominator) and number > 1:
            n = n * self.design[class_index]
            x = n if numerator > 0 else np.zeros_like(n)
        return float(x), float(n), rows, numerator / denominator, (numerator, denominator)


def _cluster_spreads(measure: Measure, samples: Confusion, pairs: Sequence[tuple[int, list[int], str]]) -> Floats:
    """Return the standard error of every contrast ``[contrast, class]``, from tables of clusters drawn again."""
    numerators, denominators = measure.function(samples)
    if not measure.classwise:
        numerators, denominators = numerators[..., None], denominators[..., None]
    differences = []
    for group, others, _ in pairs:
        rates = ratio(numerators[:, group], denominators[:, group])
        rest = ratio(numerators[:, others].sum(axis=1), denominators[:, others].sum(axis=1))
        differences.append(rates - rest)
    return standard_deviation_of_draws(np.stack(differences, axis=1))


def clusters_behind(behind: ClusterCounts, group: int, others: Sequence[int], groups: Sequence[str]) -> int:
    """Return how many clusters the side with fewer has."""
    return min(behind.of([groups[group]]), behind.of([groups[other] for other in others]))


def too_few_clusters(clusters: int) -> Reason | None:
    """Say that there are too few clusters on a side for a test; None where there are enough."""
    if clusters >= MIN_UNITS:
        return None
    return because(AuditReason.FEW_CLUSTERS_ON_ONE_SIDE, clusters=clusters, least=MIN_UNITS)


def too_few_people(people: float, least: int, of: str = "") -> Reason | None:
    """Say that there are too few people on a side for a test; None where there are enough."""
    if people >= least:
        return None
    return because(AuditReason.FEW_ON_ONE_SIDE, people=float(people), of=of, least=least)


def normal_p(value: float, spread: float, degrees: float = float("inf")) -> float:
    """Return the two-sided p-value of a difference with a standard error; NaN where nothing varies.

    With degrees of freedom it is Student's.
    """
    if np.isnan(spread) or spread == 0:
        return float("nan")
    return float(2 * stats.t.sf(abs(value) / spread, degrees))


def error_of_p(value: float, p: float, degrees: float = float("inf")) -> float:
    """Return the standard error with which a difference has this p-value; above 0.5 that would tell nothing."""
    if np.isnan(p):
        return 0.0
    tail = min(p, 0.5) / 2
    return float(abs(value) / (stats.norm.isf(tail) if np.isinf(degrees) else stats.t.isf(tail, degrees)))


POWER = 0.8
# The rates whose power an audit of outcomes tells, of the favourable class.
POWERED = ("selection_rate", "true_positive_rate")


@dataclass(frozen=True, kw_only=True)
class Power:
    """What these numbers of people could show: the smallest difference found 8 times in 10, and the people one needs.

    Both at the ``level`` that decides in this report, after correction for the number of tests. Of two rates the need
    is told in people, of other numbers as how many times as many.
    """

    measure: str
    label: str | None = None
    attribute: tuple[str, ...]
    group: str
    against: str
    split: str | None = None
    rate: float | None = None
    detectable: float
    gap: float | None
    people_needed: float | None = None
    times_as_many: float | None = None
    level: float


def power_of_rates(
    contrasts: Iterable[Contrast], records: Iterable[Record], level: float, gap: float | None
) -> list[Power]:
    """Return, for each contrast of the main rates, the gap it would find and the people a stated gap needs.

    People are counted by their effective number, which weights and clusters make smaller.
    """
    behind = _people_behind(records)
    comparisons: list[tuple[Record, float, float, float]] = []
    for record in (contrast.record for contrast in contrasts):
        if record.measure not in POWERED or record.scope != "favourable" or record.control is not None:
            continue
        sides = behind[record.measure, record.attribute, record.split]
        n1, x1 = sides[str(record.group)]
        if record.against == REST:
            known_sides = [both for group, both in sides.items() if not is_missing(group)]
            is_counted = 0.0 if is_missing(str(record.group)) else 1.0
            n2, x2 = sum(n for n, _ in known_sides) - is_counted * n1, sum(x for _, x in known_sides) - is_counted * x1
        else:
            n2, x2 = sides[str(record.against)]
        if n1 + n2:
            comparisons.append((record, (x1 + x2) / (n1 + n2), n1, n2))
    if not comparisons:
        return []
    rates, left, right = (np.array(column, dtype=np.float64) for column in list(zip(*comparisons, strict=True))[1:])
    detectable = detectable_gap(rates, left, right, level=1.0 - level).tolist()
    return [
        Power(
            measure=record.measure, attribute=record.attribute, group=str(record.group), against=str(record.against),
            split=record.split, rate=rate, detectable=smallest, gap=gap, level=level,
            people_needed=None if gap is None or not n1 or not n2
            else people_needed(gap, rate, n1 / (n1 + n2), level=1.0 - level),
        )
        for (record, rate, n1, n2), smallest in zip(comparisons, detectable, strict=True)
    ]  # fmt: skip


def _people_behind(records: Iterable[Record]) -> dict[tuple[object, ...], dict[str, tuple[float, float]]]:
    """Return effective trials and successes of each group, by what the rate is of."""
    behind: dict[tuple[object, ...], dict[str, tuple[float, float]]] = {}
    for r in records:
        if r.kind == "rate" and r.measure in POWERED and r.scope == "favourable" and r.control is None:
            trials = r.effective_n or 0.0
            sides = behind.setdefault((r.measure, r.attribute, r.split), {})
            sides[str(r.group)] = (trials, r.value * trials if trials else 0.0)
    return behind


def power_of_means(contrasts: Iterable[Contrast], level: float, gap: float | None) -> Iterator[Power]:
    """Yield, for each tested contrast, the difference it would find, and how many times the people a gap needs.

    With the standard error s of a difference that is (t + z) s, where t decides in the report and z is the normal
    quantile of the power; s falls as one over the root of the number of people.
    """
    for contrast in contrasts:
        if math.isnan(contrast.p):
            continue
        record = contrast.record
        reach = float(stats.t.isf((1.0 - level) / 2.0, contrast.degrees)) + float(special.ndtri(POWER))
        detectable = reach * contrast.spread
        yield Power(
            measure=record.measure, label=record.label, attribute=record.attribute, group=str(record.group),
            against=str(record.against), detectable=detectable, gap=gap,
            times_as_many=None if gap is None else max((detectable / gap) ** 2, 0.0), level=level,
        )  # fmt: skip
