"""Values with a standard error in each group: intervals, contrasts and gaps, from rows or from clusters drawn again.

A kind of audit of values (of scores, of a regression) is a list of ``ValueStatistic`` and ``Evidence`` for them;
``value_records`` makes records, tests and contrasts of both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from equipoise.audits._contrasts import (
    Contrast,
    clusters_behind,
    contrast_by_error,
    error_of_p,
    opponents,
    too_few_clusters,
    too_few_people,
)
from equipoise.audits._multiple_testing import GapTest, MultipleTesting
from equipoise.audits._reasons import AuditReason
from equipoise.audits._records import with_interval
from equipoise.audits._tallies import ClusterCounts, View
from equipoise.foundation import Floats
from equipoise.measures import (
    Measure,
    get_measure,
)
from equipoise.results import Reason, Record, because
from equipoise.stats import (
    auc_interval,
    bootstrap_totals,
    heterogeneity,
    least_possible_difference,
    logit_standard_error,
    normal_quantile,
    permutation_p,
    small_sample_factor,
    standard_deviation_of_draws,
    student_factors,
)
from equipoise.tallies import ScoreHistogram


@dataclass(frozen=True, kw_only=True)
class ValueStatistic:
    """A value of each group of a tally, and how groups are compared by it.

    ``error`` is its standard error in each group; without one only its gap is tested. ``contrasted`` values have signed
    contrasts. ``standardised`` names a gap that is the same difference in standard deviations. Where ``within_class``
    groups are permuted within the true class.
    """

    name: str
    error: Callable[[Any], Floats] | None = None
    contrasted: bool = False
    standardised: str | None = None
    within_class: bool = False

    @property
    def measure(self) -> Measure:
        """The registered measure."""
        return get_measure(self.name)

    @property
    def gap(self) -> str:
        """The name of its largest difference."""
        return f"{self.name}_difference"

    def values(self, tally: Any) -> Floats:
        """Return the value of each group."""
        return self.measure.by_class(tally)


@dataclass(frozen=True)
class UnitValues:
    """Values of each measure by group, the same in every draw ``[draw, group]``, and the clusters behind each group.

    ``stretched`` is a factor for each draw that makes its deviations those of as few clusters as there are.
    """

    values: Mapping[str, Floats]
    resampled: Mapping[str, Floats]
    behind: ClusterCounts
    stretched: Floats

    def errors(self, name: str) -> Floats:
        """The standard error in each group; NaN where most draws cannot tell."""
        return standard_deviation_of_draws(self.resampled[name])

    def difference_error(self, name: str, group: int, others: Sequence[int], weights: Floats) -> float:
        """The standard error of a group's distance from the weighted mean of others."""
        samples = self.resampled[name]
        return float(
            standard_deviation_of_draws(
                samples[:, [group]] - (samples[:, others] * weights).sum(axis=1, keepdims=True)
            )[0]
        )

    def errors_for(self, name: str, groups: Sequence[str]) -> Floats:
        """The errors of the wanted groups for an interval of 95%; NaN where not drawn, or of too few clusters."""
        wider = [small_sample_factor(self.behind.of([group])) for group in self.behind.groups]
        error_of = dict(zip(self.behind.groups, (self.errors(name) * wider).tolist(), strict=True))
        return np.array([error_of.get(group, np.nan) for group in groups])

    @property
    def untold(self) -> dict[str, Reason]:
        """Why groups have no interval, by group."""
        reasons = {group: self.behind.why_untested([group]) for group in self.behind.groups}
        return {group: reason for group, reason in reasons.items() if reason is not None}

    def gap(self, name: str, risk: float = 0.05) -> GapTest:
        """Test whether the groups differ: their heterogeneity against that of draws moved to a common value.

        An error that cannot be negative is too large, the more so the fewer the clusters, so what draws are off on
        average is taken off the values. But that makes them vary more than the draws do: the p-value is the larger of
        those with and without it, and the bound the lower. The bound is from each group's own error: where groups
        share clusters it is lower than it need be.
        """
        reason = self.behind.why_untested(self.behind.groups)
        if reason is not None:
            return GapTest(reason=reason)
        samples, errors = self.resampled[name], self.errors(name)
        if np.isnan(errors).any():
            return GapTest(reason=because(AuditReason.UNDEFINED_DRAWS))
        if not (errors > 0).all():
            return GapTest(reason=because(AuditReason.NO_SPREAD))
        is_defined = ~np.isnan(samples)
        mean = np.where(is_defined, samples, 0.0).sum(axis=0) / is_defined.sum(axis=0)
        null = heterogeneity((samples - mean) * self.stretched[:, None], errors)
        fewest, sides = self.behind.fewest(self.behind.groups), (self.values[name], 2 * self.values[name] - mean)
        p = max(float(permutation_p(heterogeneity(values, errors), null)) for values in sides)
        return GapTest(p, low=min(least_gap(values, errors, fewest, risk) for values in sides))


def unit_values(
    units: sparse.csc_array, numbers: Callable[[Floats], Mapping[str, Floats]], generator: np.random.Generator,
    draws: int, behind: ClusterCounts,
) -> UnitValues:  # fmt: skip
    """Compute numbers from the totals of all units, and from those of units drawn with replacement."""
    totals = np.asarray(units.sum(axis=0), dtype=np.float64).reshape(1, -1)
    observed = {name: values[0] for name, values in numbers(totals).items()}
    samples = numbers(bootstrap_totals(units, generator, draws))
    return UnitValues(observed, samples, behind, student_factors(behind.fewest(behind.groups), draws, generator))


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known of values by measure: standard errors of the groups shown and of those compared, tests of gaps.

    ``untested`` says why a group has no interval; ``permuted`` are the p-values of contrasts from permuted groups.
    """

    reported: Mapping[str, Floats] = field(default_factory=dict)
    compared: Mapping[str, Floats] = field(default_factory=dict)
    gaps: Mapping[str, GapTest] = field(default_factory=dict)
    untested: Mapping[str, Reason] = field(default_factory=dict)
    permuted: Mapping[str, Sequence[float]] = field(default_factory=dict)
    units: UnitValues | None = None


def clustered_evidence(
    statistics: Sequence[ValueStatistic], view: View, units: sparse.csc_array, read: Callable[[Floats], Any],
    behind: ClusterCounts, generator: np.random.Generator, draws: int,
) -> Evidence:  # fmt: skip
    """Return what clusters drawn again tell; ``read`` turns totals ``[draw, sum]`` into a tally."""

    def numbers(totals: Floats) -> dict[str, Floats]:
        resampled = read(totals)
        return {statistic.name: statistic.values(resampled) for statistic in statistics}

    estimates = unit_values(units, numbers, generator, draws, behind)
    with_error = [statistic.name for statistic in statistics if statistic.error is not None]
    return Evidence(
        reported={name: estimates.errors_for(name, view.reported.groups) for name in with_error},
        compared={name: estimates.errors(name) for name in with_error},
        gaps={statistic.gap: estimates.gap(statistic.name, view.risk) for statistic in statistics}
        if len(behind.groups) > 1
        else {},
        untested=estimates.untold,
        units=estimates,
    )


def value_records(
    records: Iterable[Record], view: View, statistics: Sequence[ValueStatistic], evidence: Evidence,
    testing: MultipleTesting,
) -> list[Record]:  # fmt: skip
    """Return the records with intervals, tests and bounds, and add the contrasts to the tests."""
    gaps = dict(evidence.gaps)
    for statistic in statistics if gaps else ():
        if statistic.standardised is not None and statistic.gap in gaps:
            gaps[statistic.standardised] = _standardised(gaps[statistic.gap], view, statistic)
    tested = testing.add_gaps(_with_evidence(records, view, evidence, gaps), view.risk)
    for statistic in statistics if gaps else ():
        if statistic.contrasted:
            testing.add(value_contrasts(statistic, view, evidence))
    return tested


def _with_evidence(
    records: Iterable[Record], view: View, evidence: Evidence, gaps: Mapping[str, GapTest]
) -> Iterator[tuple[Record, GapTest | None]]:
    """Yield values with an interval, and gaps with their test."""
    for record in records:
        if record.kind == "value" and record.measure in evidence.reported and record.group in view.reported.groups:
            error = evidence.reported[record.measure][view.reported.groups.index(record.group)]
            evidenced = _with_interval(record, float(error))
            yield replace(evidenced, reason=evidenced.reason or evidence.untested.get(str(record.group))), None
        else:
            yield record, gaps.get(record.measure) if record.kind == "gap" and record.defined else None


def _with_interval(record: Record, spread: float) -> Record:
    if record.measure == "auc":
        low, high = (float(edge) for edge in auc_interval(np.asarray(record.value), np.asarray(spread)))
    else:
        half = float(normal_quantile(0.95)) * spread
        low, high = record.value - half, record.value + half
    return with_interval(record, low, high, "normal")


def least_gap(values: Floats, errors: Floats, units: int | None = None, risk: float = 0.05) -> float:
    """Return the least difference in a box around the groups' values, at 95% (less the risk) together (Bonferroni).

    Errors that are from draws of so many units give a wider box.
    """
    if np.isnan(values).any() or np.isnan(errors).any():
        return float("nan")
    level = 1 - risk / len(values)
    half = float(normal_quantile(level)) * errors * (1.0 if units is None else small_sample_factor(units, level))
    return float(least_possible_difference((values - half)[:, None], (values + half)[:, None])[0])


def _standardised(test: GapTest, view: View, statistic: ValueStatistic) -> GapTest:
    """Return the test of a difference counted in standard deviations: the same p, and the bound as many."""
    values = statistic.values(view.compared)
    size = float(values.max() - values.min())
    standard = float(get_measure(str(statistic.standardised)).by_class(view.compared))
    # Both are multiples of one another; where the difference is 0 the bound is, too.
    return replace(test, low=test.low * standard / size if size > 0 else test.low)


def value_contrasts(statistic: ValueStatistic, view: View, evidence: Evidence) -> Iterator[Contrast]:
    """Yield the contrasts of a value with a standard error in each group: an AUC, a mean residual.

    With p-values of permuted groups, one a contrast, an error is at least as large as those say. Where clusters are
    drawn, it is that of the drawn difference: groups may share clusters.
    """
    measure, spreads, units = statistic.measure, evidence.compared[statistic.name], evidence.units
    permuted = evidence.permuted.get(statistic.name)
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
            spread = logit_standard_error((float(values[group]), rest), errors)
        else:
            spread = float(np.hypot(*errors))
        if permuted is not None and spread > 0:
            spread = max(spread, error_of_p(float(values[group] - rest), permuted[number]))
        clusters = None if units is None else clusters_behind(units.behind, group, others, view.compared.groups)
        value = float(values[group] - rest)
        undefined = bool(np.isnan(value) or np.isnan(spread))
        few = _too_few(people, view.least_people, group, others)
        about = {
            "measure": measure.name, "alias": measure.alias, "group": view.compared.groups[group], "against": called,
            **view.record_fields(),
        }  # fmt: skip
        yield contrast_by_error(
            about, float("nan") if undefined else value, spread,
            undefined=because(AuditReason.UNDEFINED_ON_ONE_SIDE) if undefined else None,
            few=few or (None if clusters is None else too_few_clusters(clusters)), clusters=clusters,
        )  # fmt: skip


def _people(measure: Measure, view: View) -> dict[str, Floats]:
    """Return how many people each group has; for an AUC how many of the class, and how many others."""
    if measure.name == "auc" and isinstance(view.compared, ScoreHistogram):
        rows = np.asarray(view.compared.rows, dtype=np.float64).sum(axis=-1)
        return {" of the class": rows[:, 1], " not of the class": rows[:, 0]}
    return {"": np.asarray(view.compared.people, dtype=np.float64)}


def _too_few(people: Mapping[str, Floats], least_people: int, group: int, others: list[int]) -> Reason | None:
    """Say of what a side has too little."""
    sides = ((min(number[group], number[others].sum()), of) for of, number in people.items())
    return next(filter(None, (too_few_people(least, least_people, of) for least, of in sides)), None)
