"""The engine of an audit: from the numbers of groups to records, tests and statements.

A kind of audit is a spec (its arguments, declared as options), a tally (from rows to sums that add up) and a list of
statistics. A statistic is the mean of a number in each group; the tally gives those means and says what is sampled,
rows or clusters (``stats.GroupMeans``). This module does what is the same for all of them: values with intervals,
contrasts with tests, gaps and ratios compared with chance and bounded, the suppression of small groups, and power.
``MultipleTesting`` then corrects every test of the report together, and ``GroupResult`` turns records into statements
and gates.

Rates of classes and values with an error of their own (``_values``) are compared by the same parts: a difference with
its test is a ``Contrast``, the test of a largest difference a ``GapTest``, and what was too small to tell has a code of
``AuditReason``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from equipoise.audits._contrasts import (
    Contrast,
    contrast_record,
    error_of_p,
    normal_p,
    number_of_contrasts,
    opponents,
    too_few_people,
)
from equipoise.audits._multiple_testing import GapTest, MeansBound, MultipleTesting
from equipoise.audits._reasons import AuditReason
from equipoise.audits._records import number_of_group
from equipoise.audits._tallies import suppressed
from equipoise.foundation import Floats
from equipoise.measures import Better
from equipoise.results import Reason, ReasonCode, Record, Status, because
from equipoise.stats import (
    ENOUGH_CLUSTERS,
    MAX_PAIRED_GROUPS,
    MIN_UNITS,
    ComparisonSides,
    GroupMeans,
    MeanDifferences,
    NullSample,
    RowMeans,
    draw_limits,
    sequential_permutation,
    wilson,
)
from equipoise.tallies import is_missing

LEVEL = 0.95
# Draws of means cost little: so many times as many as were asked for are made where the tests need them.
CHEAP = 10
# So many numbers are drawn at once at the most.
MOST_NUMBERS = 20_000_000


@dataclass(frozen=True, kw_only=True)
class GroupStatistic:
    """A number of each group, and the names under which groups are compared by it.

    A ``rate`` is a share of people. ``label`` tells statistics of one name apart (``top 10``). ``gap`` names the
    largest difference, ``ratio`` the smallest value over the largest; both are one test. ``undefined`` says why there
    may be no number.
    """

    name: str
    kind: Literal["rate", "value"]
    better: Better
    gap: str
    ratio: str | None = None
    label: str | None = None
    alias: str | None = None
    bounds: tuple[float, float] = (-math.inf, math.inf)
    undefined: ReasonCode = AuditReason.NO_ROWS


def same_tests(statistics: Iterable[GroupStatistic]) -> dict[str, str]:
    """Return which measures test one hypothesis: a ratio that of its gap."""
    return {statistic.ratio: statistic.gap for statistic in statistics if statistic.ratio is not None}


def most_tests(statistics: int, groups: Iterable[int]) -> int:
    """Return how many tests a report has at the most: a gap and the contrasts of every statistic and attribute."""
    contrasts = map(number_of_contrasts, groups)
    return max(1, statistics * sum(1 + number for number in contrasts if number))


class Settings(Protocol):
    """What the engine reads of a spec."""

    @property
    def least_people(self) -> int:
        """Groups with fewer are not tested."""

    @property
    def suppress_below(self) -> int:
        """Numbers about fewer people are hidden."""

    @property
    def include_missing(self) -> bool:
        """Whether people without a group are a group."""

    @property
    def draws(self) -> int:
        """Resamples; 0 for no tests."""

    @property
    def reference(self) -> Mapping[str, str]:
        """The group that others are compared with, by attribute."""


def audit_groups(
    means: GroupMeans, statistics: Sequence[GroupStatistic], groups: Sequence[str], attribute: tuple[str, ...],
    settings: Settings, testing: MultipleTesting, generator: np.random.Generator, tests: int,
) -> list[Record]:  # fmt: skip
    """Return the records of one attribute: values of groups, gaps and ratios; its contrasts go to ``testing``.

    Parameters
    ----------
    means : GroupMeans
        The tally, ``[group, statistic]``.
    statistics : sequence of GroupStatistic
        What its numbers are.
    groups : sequence of str
        The names of its groups.
    attribute : tuple of str
        The group column, or several that are crossed.
    settings : Settings
        The spec of the audit.
    testing : MultipleTesting
        The tests of the report.
    generator : numpy.random.Generator
        What chance is drawn from.
    tests : int
        How many tests the report has at the most.
    """
    view = _Groups(means, tuple(groups), attribute, settings)
    records = [record for index, statistic in enumerate(statistics) for record in view.values(statistic, index)]
    compared = view.compared()
    if len(compared.groups) >= 2:
        comparison = _Comparison(compared, statistics)
        samples = comparison.tests(generator, tests)
        testing.add(comparison.contrasts(samples.get("contrasts")))
        records += testing.add_gaps(comparison.gaps(samples.get("gaps")), 1.0 - LEVEL)
    else:
        records += [record for statistic in statistics for record in view.no_gaps(statistic)]
    visible = [group for group, people in zip(groups, means.people, strict=True) if people >= settings.suppress_below]
    return list(suppressed(records, visible, settings.suppress_below))


@dataclass(frozen=True, eq=False)
class _Groups:
    """The groups of one attribute, with their means."""

    means: GroupMeans
    groups: tuple[str, ...]
    attribute: tuple[str, ...]
    settings: Settings

    @property
    def clustered(self) -> bool:
        return not isinstance(self.means, RowMeans)

    @property
    def reference(self) -> str | None:
        return self.settings.reference.get(self.attribute[0]) if len(self.attribute) == 1 else None

    def compared(self) -> _Groups:
        """Return the groups that are compared: without people of no group, and without those that are hidden."""
        least = max(self.settings.suppress_below, 1)
        compared_groups = [
            index for index, (group, people) in enumerate(zip(self.groups, self.means.people, strict=True))
            if people >= least and (self.settings.include_missing or not is_missing(group))
        ]  # fmt: skip
        return replace(
            self,
            means=self.means.only(compared_groups),
            groups=tuple(self.groups[group_index] for group_index in compared_groups),
        )

    def values(self, statistic: GroupStatistic, index: int) -> Iterator[Record]:
        """Yield the number of each group with its interval."""
        means, column = self.means, (slice(None), index)
        values, people, units = means.values[column], means.people, means.units[column]
        trials = means.trials(LEVEL)[column] if statistic.kind == "rate" else np.full_like(values, np.nan)
        low, high = (
            wilson(values * trials, trials, LEVEL) if statistic.kind == "rate"
            else tuple(np.clip(end[column], *statistic.bounds) for end in means.interval(LEVEL))
        )  # fmt: skip
        for at, group in enumerate(self.groups):
            value, number = float(values[at]), float(people[at])
            about = {
                "measure": statistic.name, "alias": statistic.alias, "kind": statistic.kind, "label": statistic.label,
                "attribute": self.attribute, "group": group,
            }  # fmt: skip
            few = self.clustered and units[at] < MIN_UNITS
            reason = because(statistic.undefined) if math.isnan(value) else self._why_small(group, number, units[at])
            ends = None if few else (float(low[at]), float(high[at]), "score" if statistic.kind == "rate" else "normal")
            record = number_of_group(about, value, number, reason, ends, float(trials[at]))
            counted = not self.clustered and statistic.kind == "rate" and record.defined
            yield replace(
                record, numerator=value * number if counted else None,
                status=Status.TOO_SMALL if record.defined and number < self.settings.least_people else record.status,
                approximate=record.low is not None and self.clustered and bool(units[at] < ENOUGH_CLUSTERS),
            )  # fmt: skip

    def _why_small(self, group: str, people: float, units: float) -> Reason | None:
        if people < self.settings.least_people:
            return because(AuditReason.FEW_PEOPLE, people=float(people), least=self.settings.least_people)
        if self.clustered and units < MIN_UNITS:
            return because(AuditReason.FEW_CLUSTERS, group=group, clusters=int(units), least=MIN_UNITS)
        return None

    def no_gaps(self, statistic: GroupStatistic) -> Iterator[Record]:
        """Yield undefined gaps, where there is nothing to compare."""
        for kind, name in (("gap", statistic.gap), ("ratio", statistic.ratio)):
            if name is not None:
                yield Record(
                    measure=name, kind=kind, label=statistic.label, attribute=self.attribute, value=math.nan,
                    status=Status.UNDEFINED, reason=because(AuditReason.FEW_GROUPS),
                )  # fmt: skip


class _Comparison:
    """Groups that are compared: contrasts of each with others, and the largest difference of any two."""

    def __init__(self, view: _Groups, statistics: Sequence[GroupStatistic]) -> None:
        self.view, self.statistics = view, statistics
        means, settings = view.means, view.settings
        number = len(view.groups)
        self.opponents = opponents(view.groups, view.reference, means.people)
        self.sides = ComparisonSides.of([([group], others) for group, others, _ in self.opponents], number)
        self.contrasted = means.differences(self.sides)
        self.people = np.minimum(self.sides.left @ means.people, self.sides.right @ means.people)
        self.every = ComparisonSides.pairs(np.ones(number, dtype=bool))
        self.pair_differences = means.differences(self.every)
        enough = MIN_UNITS if view.clustered else 1
        # Who is tested, ``[group, statistic]``.
        self.tested = (means.people >= settings.least_people)[:, None] & (means.units >= enough)

    def tests(self, generator: np.random.Generator, tests: int) -> dict[str, list[NullSample]]:
        """Compare contrasts and largest differences with what chance gives them; nothing without draws."""
        settings = self.view.settings
        if not settings.draws:
            return {}
        number = len(self.view.groups)
        pairs = self.every if number <= MAX_PAIRED_GROUPS else ComparisonSides.of(
            [([group], [other for other in range(number) if other != group]) for group in range(number)], number
        )  # fmt: skip
        both = ComparisonSides(np.vstack([self.sides.left, pairs.left]), np.vstack([self.sides.right, pairs.right]))
        tested = self._both_tested(pairs)
        draw = self.view.means.null(both, generator)
        first = len(self.sides)

        def largest(values: Floats) -> Floats:
            sizes = np.where(tested, np.abs(np.nan_to_num(values)), -np.inf)
            return np.asarray(sizes.max(axis=-2), dtype=np.float64)

        most, needed = draw_limits(tests, CHEAP * settings.draws)
        gaps = largest(self.view.means.differences(pairs).statistic)
        size = 2 * len(both) * len(self.statistics) * number
        return sequential_permutation(
            {"contrasts": self.contrasted.statistic.reshape(-1), "gaps": np.where(np.isfinite(gaps), gaps, np.nan)},
            lambda n, names: draw(n),
            lambda name, values: values[:, :first].reshape(len(values), -1)
            if name == "contrasts"
            else largest(values[:, first:]),
            most=most, needed=needed, signed=("contrasts",), largest_batch=int(np.clip(MOST_NUMBERS // size, 16, 256)),
        )  # fmt: skip

    def _both_tested(self, sides: ComparisonSides) -> NDArray[np.bool_]:
        """Tell which comparisons have a tested group on both sides, ``[comparison, statistic]``."""
        weights = self.tested.astype(np.float64)
        return np.asarray((sides.left @ weights > 0) & (sides.right @ weights > 0), dtype=np.bool_)

    def contrasts(self, samples: Sequence[NullSample] | None) -> Iterator[Contrast]:
        """Yield the difference of each group from those it is compared with."""
        width = len(self.statistics)
        for index, statistic in enumerate(self.statistics):
            for row, (group, _, called) in enumerate(self.opponents):
                sample = None if samples is None else samples[row * width + index]
                yield self._contrast(statistic, (row, index), self.view.groups[group], called, sample)

    def _contrast(
        self, statistic: GroupStatistic, at: tuple[int, int], group: str, called: str, sample: NullSample | None
    ) -> Contrast:
        contrasted, view = self.contrasted, self.view
        value, error = float(contrasted.value[at]), float(contrasted.error[at])
        degrees, units = float(contrasted.degrees[at]), float(contrasted.units[at])
        undefined = because(statistic.undefined) if math.isnan(value) else None
        few = too_few_people(float(self.people[at[0]]), view.settings.least_people)
        if few is None and view.clustered and units < MIN_UNITS:
            few = because(AuditReason.FEW_CLUSTERS_WITH_BOTH, clusters=int(units), least=MIN_UNITS)
        tested = undefined is None and few is None and error != 0 and sample is not None
        about = {
            "measure": statistic.name, "alias": statistic.alias, "label": statistic.label,
            "attribute": view.attribute, "group": group,
            "against": called, "draws": sample.draws if tested and sample is not None else None,
            "limited_by_draws": sample.limited if tested and sample is not None else None,
            "approximate": tested and view.clustered and units < ENOUGH_CLUSTERS,
        }  # fmt: skip
        record = contrast_record(about, value, error, undefined, few)
        if sample is None or not tested:
            is_known = record.reason is None and error > 0
            return Contrast(record, math.nan, None, error if is_known else math.nan, degrees=degrees)
        # Where permutations are as extreme, the interval is as wide as they ask for: it and the test decide alike.
        p = float(contrasted.p()[at])
        error = max(error, error_of_p(value, p, degrees))
        if sample.p > 2.0 / (1.0 + sample.draws):
            error = max(error, error_of_p(value, sample.p, degrees))
        return Contrast(record, max(p, normal_p(value, error, degrees), sample.p), None, error, degrees=degrees)

    def gaps(self, samples: Sequence[NullSample] | None) -> Iterator[tuple[Record, GapTest | None]]:
        """Yield the largest difference of any two groups by each statistic, and the smallest ratio."""
        for index, statistic in enumerate(self.statistics):
            differences = _column(self.pair_differences, index)
            is_defined = ~np.isnan(differences.value)
            test = self._gap_test(index, None if samples is None else samples[index])
            if not is_defined.any():
                yield from ((record, None) for record in self.view.no_gaps(statistic))
                continue
            row = int(np.nanargmax(np.abs(differences.value)))
            low, high = self._names(self.every, row, differences)
            record = Record(
                measure=statistic.gap, kind="gap", label=statistic.label, attribute=self.view.attribute, group=low,
                against=high, value=float(abs(differences.value[row])), approximate=self._approximate(index),
            )  # fmt: skip
            yield record, test
            if statistic.ratio is not None:
                yield self._ratio(statistic, differences), None if test is None else replace(test, bound=None)

    def _ratio(self, statistic: GroupStatistic, differences: MeanDifferences) -> Record:
        """Return the smallest value over the largest, of any two groups; undefined where none is above 0."""
        low, high = np.minimum(differences.left, differences.right), np.maximum(differences.left, differences.right)
        defined = (low >= 0) & (high > 0)
        record = Record(
            measure=str(statistic.ratio), kind="ratio", label=statistic.label, attribute=self.view.attribute,
            value=math.nan,
            status=Status.UNDEFINED, reason=because(AuditReason.NONE_ABOVE_ZERO),
        )  # fmt: skip
        if not defined.any():
            return record
        ratios = np.where(defined, low / np.where(defined, high, 1.0), np.inf)
        row = int(np.argmin(ratios))
        names = self._names(self.every, row, differences)
        return replace(
            record, value=float(ratios[row]), group=names[0], against=names[1], status=Status.OK, reason=None
        )

    def _names(self, sides: ComparisonSides, row: int, differences: MeanDifferences) -> tuple[str, str]:
        """Return the two groups of a pair, the one with the lower value first."""
        names = [self.view.groups[int(np.argmax(side[row]))] for side in (sides.left, sides.right)]
        return (names[0], names[1]) if differences.value[row] <= 0 else (names[1], names[0])

    def _approximate(self, index: int) -> bool:
        units = self.view.means.units[:, index]
        return self.view.clustered and bool(units[self.tested[:, index]].min(initial=np.inf) < ENOUGH_CLUSTERS)

    def _gap_test(self, index: int, sample: NullSample | None) -> GapTest | None:
        if sample is None:
            return None
        is_compared = self.tested[:, index]
        left_out = tuple(group for group, compared in zip(self.view.groups, is_compared, strict=True) if not compared)
        if is_compared.sum() < 2 or math.isnan(sample.p):
            few = because(AuditReason.FEW_LARGE_GROUPS, least=self.view.settings.least_people, whom="people")
            return GapTest(left_out=left_out, reason=few)
        sides = ComparisonSides.pairs(is_compared)
        differences = _column(self.view.means.differences(sides), index)
        row = int(np.argmax(np.abs(np.nan_to_num(differences.statistic))))
        bound = MeansBound(
            differences.value, differences.error, np.maximum(differences.degrees, 1.0), complete=not left_out
        )
        if self.view.clustered:  # changed signs take skewed differences for even ones; Student's t over pairs does not
            sample = replace(sample, p=max(sample.p, bound.p))
        return GapTest.of(sample, left_out=left_out, pair=self._names(sides, row, differences), bound=bound)


def _column(differences: MeanDifferences, column: int) -> MeanDifferences:
    parts = (
        differences.left,
        differences.right,
        differences.error,
        differences.degrees,
        differences.units,
        differences.skewness,
    )
    return MeanDifferences(*(part[:, column] for part in parts))
