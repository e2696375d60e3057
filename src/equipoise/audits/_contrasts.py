"""Signed contrasts: this group against the rest, against the larger of two, or against a reference.

Each is a difference with a two-sided test. Intervals wait until all tests of the report are known, because they are
then widened so that intervals and verdicts agree (false-coverage adjustment, Benjamini and Yekutieli 2005).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from equipoise.audits._reasons import AuditReason
from equipoise.audits._small_groups import ClusterCounts
from equipoise.audits._values import UnitValues
from equipoise.audits._view import View
from equipoise.measures.measure import Measure, get_measure
from equipoise.results import Reason, Record, Scope, Status, because
from equipoise.stats import (
    FEWEST_UNITS,
    difference_equivalence_p,
    difference_interval,
    difference_p,
    effective_counts,
    equivalence_p,
    exact_difference_interval,
    exact_difference_p,
    exact_equivalence_p,
    is_rare,
    logit_spread,
    pair_interval,
    spread_of,
)
from equipoise.tallies.confusion import Confusion, ratio
from equipoise.tallies.scores import Scores

Floats = NDArray[np.float64]

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
    how: str = "normal"
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
    found: list[tuple[float, float, str]] = [(float("nan"), float("nan"), "")] * len(contrasts)
    parts: tuple[tuple[Sequence[tuple[float, ...] | None], Callable[..., tuple[Floats, Floats]], str], ...] = (
        ([None if one.rare else one.counts for one in contrasts], difference_interval, "score"),
        ([one.counts if one.rare else None for one in contrasts], exact_difference_interval, "exact"),
        ([one.pairs for one in contrasts], pair_interval, "score"),
    )
    for counts, interval, how in parts:
        counted = {place: part for place, part in enumerate(counts) if part is not None}
        if counted:
            ends = interval(*np.array(list(counted.values())).T, level)
            for place, low, high in zip(counted, *ends, strict=True):
                found[place] = (float(low), float(high), how)
    for place, contrast in enumerate(contrasts):
        if contrast.counts is None and contrast.pairs is None:
            half = float(stats.t.isf((1.0 - level) / 2.0, contrast.degrees)) * contrast.spread
            found[place] = (contrast.record.value - half, contrast.record.value + half, contrast.how)
    return found


def opponents(groups: Sequence[str], reference: str | None, people: Floats) -> list[tuple[int, list[int], str]]:
    """Return who is compared with whom: (group, the groups on the other side, what they are called)."""
    if len(groups) < 2:
        return []
    if reference is not None and reference in groups:
        place = list(groups).index(reference)
        return [(g, [place], groups[place]) for g in range(len(groups)) if g != place]
    if len(groups) == 2:
        large = int(np.argmax(people))
        return [(1 - large, [large], groups[large])]
    return [(g, [o for o in range(len(groups)) if o != g], REST) for g in range(len(groups))]


def rate_contrasts(view: View, needs: str) -> Iterator[Contrast]:
    """Yield the contrasts of the main rates: of the favourable class, else of every class."""
    table = view.compared
    if len(table.groups) < 2:
        return
    people = table.people[:, 0]
    pairs = opponents(view.compared.groups, view.reference, people)
    for name in CONTRASTED:
        measure = get_measure(name)
        if measure.needs != needs:
            continue
        spreads = None if view.drawn is None else _cluster_spreads(measure, view.only_compared(view.drawn), pairs)
        parts = _Parts.of(measure, view)
        for class_place in class_places(view, measure):
            for number, (group, others, called) in enumerate(pairs):
                spread = None if spreads is None else float(spreads[number, class_place or 0])
                yield _rate_contrast(measure, view, parts, group, others, called, class_place, spread)


def class_places(view: View, measure: Measure) -> list[int | None]:
    """Return the classes to contrast; for two classes one says it all."""
    classes = view.compared.classes
    if not measure.classwise:
        return [None]
    if view.favourable is not None:
        return [classes.index(view.favourable)]
    return [len(classes) - 1] if len(classes) == 2 or view.label is not None else list(range(len(classes)))


def _rate_contrast(
    measure: Measure, view: View, parts: _Parts, group: int, others: list[int], called: str,
    class_place: int | None, spread: float | None,
) -> Contrast:  # fmt: skip
    sides = [parts.side([group], class_place or 0), parts.side(others, class_place or 0)]
    (x1, n1, rows1, rate1, raw), (x2, n2, rows2, rate2, _) = sides
    clusters = None if view.behind is None else clusters_behind(view.behind, group, others, view.compared.groups)
    few = None if clusters is None else too_few_clusters(clusters)
    value = rate1 - rate2
    name = None if class_place is None else view.compared.classes[class_place]
    scope: Scope = "overall" if name is None else "favourable" if name == view.favourable else "class"
    least = min(rows1, rows2)
    undefined, small = bool(np.isnan(value)), least < view.least_people
    reason = None
    if undefined:
        reason = because(AuditReason.NO_DENOMINATOR_ON_ONE_SIDE, of=measure.denominator)
    elif small:
        reason = because(AuditReason.FEW_ON_ONE_SIDE, people=least, of="", least=view.least_people)
    elif few is not None or spread == 0:
        reason = few or because(AuditReason.NO_SPREAD)
    record = Record(
        measure=measure.name,
        alias=measure.alias,
        kind="contrast",
        scope=scope,
        class_=name,
        group=view.compared.groups[group],
        against=called,
        value=value,
        numerator=raw[0],
        denominator=raw[1],
        status=Status.UNDEFINED if undefined else Status.TOO_SMALL if small or few is not None else Status.OK,
        reason=reason,
        **view.place(),
    )
    counts = (x1, n1, x2, n2)
    rare = not undefined and bool(is_rare(*counts))
    if undefined or small:
        return Contrast(record, float("nan"), None if undefined or clusters is not None else counts)
    if spread is not None and clusters is not None:
        return drawn_contrast(record, spread, clusters)
    p = exact_difference_p(*counts) if rare else difference_p(*counts)
    return Contrast(record, float(p), counts, rare=rare)


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
        made = np.stack([numerator, denominator, *squares, rows]).astype(np.float64)
        parts = made if measure.classwise else made[..., None]
        totals = parts.sum(axis=1)
        x, n, x2, n2, _ = totals
        with np.errstate(invalid="ignore", divide="ignore"):
            share = effective_counts(x, n, x2, n2)[1] / (n**2 / n2)
        mixed = (x > 0) & (x < n)
        return cls(parts, totals, np.where(mixed & (share < 1), share, 1.0))

    def side(self, groups: list[int], place: int) -> tuple[float, float, float, float, tuple[float, float]]:
        """Return effective successes and trials, rows, the rate and its raw parts, for some groups taken together."""
        number = self.parts.shape[1]
        if len(groups) == number - 1 and number > 2:
            left_out = number * (number - 1) // 2 - sum(groups)
            total = self.totals[:, place]
            rest = total - self.parts[:, left_out, place]
            together = np.where(rest <= 1e-12 * total, 0.0, rest)
        else:
            together = self.parts[:, groups, place].sum(axis=1)
        numerator, denominator, *squares, rows = together.tolist()
        if denominator <= 0:
            return 0.0, 0.0, rows, float("nan"), (numerator, denominator)
        x, n = effective_counts(numerator, denominator, *squares)
        if (numerator <= 0 or numerator >= denominator) and number > 1:
            n = n * self.design[place]
            x = n if numerator > 0 else np.zeros_like(n)
        return float(x), float(n), rows, numerator / denominator, (numerator, denominator)


def _cluster_spreads(measure: Measure, drawn: Confusion, pairs: Sequence[tuple[int, list[int], str]]) -> Floats:
    """Return the standard error of every contrast ``[contrast, class]``, from tables of clusters drawn again."""
    numerators, denominators = measure.function(drawn)
    if not measure.classwise:
        numerators, denominators = numerators[..., None], denominators[..., None]
    made = []
    for group, others, _ in pairs:
        own = ratio(numerators[:, group], denominators[:, group])
        rest = ratio(numerators[:, others].sum(axis=1), denominators[:, others].sum(axis=1))
        made.append(own - rest)
    return spread_of(np.stack(made, axis=1))


def clusters_behind(behind: ClusterCounts, group: int, others: Sequence[int], groups: Sequence[str]) -> int:
    """Return how many clusters the side with fewer has."""
    return min(behind.of([groups[group]]), behind.of([groups[other] for other in others]))


def too_few_clusters(clusters: int) -> Reason | None:
    """Say that there are too few clusters on a side for a test; None where there are enough."""
    if clusters >= FEWEST_UNITS:
        return None
    return because(AuditReason.FEW_CLUSTERS_ON_ONE_SIDE, clusters=clusters, least=FEWEST_UNITS)


def drawn_contrast(record: Record, spread: float, clusters: int) -> Contrast:
    """Return a contrast with the spread of clusters drawn again: a test and an interval by Student's t.

    Draws of n clusters miss a factor n - 1 over n of the variance.
    """
    if clusters < FEWEST_UNITS or spread == 0:
        return Contrast(record, float("nan"), how="bootstrap")
    wide, degrees = spread * float(np.sqrt(clusters / (clusters - 1))), clusters - 1.0
    return Contrast(record, normal_p(record.value, wide, degrees), None, wide, "bootstrap", degrees)


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


def value_contrasts(
    measure: Measure, view: View, spreads: Floats, permuted: Sequence[float] | None = None,
    units: UnitValues | None = None,
) -> Iterator[Contrast]:  # fmt: skip
    """Yield the contrasts of a value with a standard error in each group: an AUC, a mean residual.

    With p-values of permuted groups, one a contrast, an error is at least as large as those say. Where clusters are
    drawn, it is that of the drawn difference: groups may share clusters.
    """
    values = measure.by_class(view.compared)
    sizes = np.asarray(view.compared.weight, dtype=np.float64).reshape(len(view.compared.groups), -1).sum(axis=1)
    people = _people(measure, view)
    for number, (group, others, called) in enumerate(opponents(view.compared.groups, view.reference, sizes)):
        # The rest are the groups that have a value and a spread: one person alone has no spread.
        others = [other for other in others if not np.isnan(values[other] + spreads[other])]
        weights = sizes[others] / sizes[others].sum() if others else np.array([])
        rest = float((weights * values[others]).sum()) if others else float("nan")
        errors = (float(spreads[group]), float(np.sqrt(((weights * spreads[others]) ** 2).sum())))
        if units is not None:
            spread = units.difference_error(measure.name, group, others, weights)
        elif measure.name == "auc":
            spread = logit_spread((float(values[group]), rest), errors)
        else:
            spread = float(np.hypot(*errors))
        if permuted is not None and spread > 0:
            spread = max(spread, error_of_p(float(values[group] - rest), permuted[number]))
        clusters = None if units is None else clusters_behind(units.behind, group, others, view.compared.groups)
        undefined = bool(np.isnan(values[group] - rest) or np.isnan(spread))
        few = _too_few(people, view.least_people, group, others)
        few = few or (None if clusters is None else too_few_clusters(clusters))
        record = Record(
            measure=measure.name,
            alias=measure.alias,
            kind="contrast",
            group=view.compared.groups[group],
            against=called,
            value=float("nan") if undefined else float(values[group] - rest),
            status=Status.UNDEFINED if undefined else Status.TOO_SMALL if few else Status.OK,
            reason=because(AuditReason.UNDEFINED_ON_ONE_SIDE)
            if undefined
            else few or (because(AuditReason.NO_SPREAD) if spread == 0 else None),
            **view.place(),
        )
        if clusters is not None:
            made = drawn_contrast(record, spread, clusters)
            yield replace(made, p=float("nan")) if few or undefined else made
        else:
            p = float("nan") if undefined or few else normal_p(record.value, spread)
            yield Contrast(record, p, None, spread if spread > 0 else float("nan"))


def _people(measure: Measure, view: View) -> dict[str, Floats]:
    """Return how many people each group has; for an AUC how many of the class, and how many others."""
    if measure.name == "auc" and isinstance(view.compared, Scores):
        rows = np.asarray(view.compared.rows, dtype=np.float64).sum(axis=-1)
        return {" of the class": rows[:, 1], " not of the class": rows[:, 0]}
    return {"": np.asarray(view.compared.people, dtype=np.float64)}


def _too_few(people: Mapping[str, Floats], least_people: int, group: int, others: list[int]) -> Reason | None:
    """Say of what a side has too little."""
    for of, number in people.items():
        least = min(number[group], number[others].sum())
        if least < least_people:
            return because(AuditReason.FEW_ON_ONE_SIDE, people=float(least), of=of, least=least_people)
    return None
