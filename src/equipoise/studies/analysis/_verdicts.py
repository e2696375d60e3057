"""Verdicts of a study: each treatment against the baseline, by one test of seeds and people."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy import special

from equipoise.audits.evidence import (
    WILCOXON,
    Comparison,
    Plan,
    Series,
    VarianceChange,
    asides,
    compare,
    costs_of,
    variance_changes,
    within,
)
from equipoise.foundation import Floats, plural
from equipoise.results import (
    Reason,
    Verdict,
    all_reasons,
    because,
)
from equipoise.stats import (
    CORRECTIONS,
    FEW_SEEDS,
    MIN_SEEDS,
    Change,
    LimitedBy,
    banerjee_p,
    detection_power,
    is_equivalent,
    looks_p,
    nominal_level,
    paired_change,
    seeds_to_detect,
    sources_equivalence_p,
    sources_interval,
    unpaired_change,
)
from equipoise.studies.analysis._cells import SEEDS, Cell, Units, series_of
from equipoise.studies.analysis._looks import Looked, look_at
from equipoise.studies.analysis._quantities import Quantity
from equipoise.studies.analysis._reasons import StudyReason
from equipoise.studies.plans import Stopping, StoppingRule

POWER = 0.8
# A change that is worth detecting unless the plan says otherwise: 2 points.
SMALLEST_EFFECT = 0.02
PAIRED = Plan(test=WILCOXON, alternative="two-sided", correction="none", threshold=0.05, pair="seed")
UNPAIRED = replace(PAIRED, test="mann-whitney", pair=None)


class StudyTest(StrEnum):
    """What a change was tested over, besides test people."""

    PAIRED = "paired seeds"
    UNPAIRED = "unpaired seeds"
    RERUNS = "identical runs"


class Undecided(StrEnum):
    """Why a comparison is undecided."""

    NO_VALUES = "no values"
    TOO_FEW = "fewer than 3 shared seeds"
    PEOPLE_UNTESTED = "not tested over people"
    POWER = "too little power"


@dataclass(frozen=True, eq=False)
class Case:
    """A cell that is compared with a baseline: their units, and the variance that people give each change."""

    cell: Cell
    baseline: Cell
    units: Units
    people: Floats | None

    @property
    def test(self) -> StudyTest:
        """What is tested."""
        if self.units.unit != SEEDS:
            return StudyTest.RERUNS
        return StudyTest.PAIRED if self.units.pairs else StudyTest.UNPAIRED


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How a report decides: its threshold, the relevant effect, and the margin of equivalence if there is one.

    ``bounded`` says of each quantity whether its values have bounds: an effect in points means nothing to a measure in
    the target's own unit. ``stopping`` says how seeds are added, where their number is not fixed.
    """

    threshold: float = 0.05
    smallest_effect: float = SMALLEST_EFFECT
    margin: float | None = None
    margin_recorded: bool | None = None
    bounded: Callable[[Quantity], bool] = lambda quantity: True
    stopping: Stopping | None = None

    @property
    def single_look(self) -> float:
        """The threshold of a test of its own that is read at every look."""
        return self.threshold if self.stopping is None else float(nominal_level(self.threshold, self.stopping.looks))


@dataclass(frozen=True, kw_only=True)
class Judged:
    """One comparison with its verdict: numbers over seeds, over people, and corrected over the report.

    ``level`` is the level that decided, and that ``low`` to ``high`` is the interval at. ``single`` is the standard
    deviation of one pair of seeds (or of two single runs), ``people`` that of the change over test people. ``power`` is
    that of a change of ``smallest_effect`` at this level, ``needed`` how many seeds of each have 0.8 of it (None where
    no number up to 1,000 has).
    """

    comparison: Comparison
    test: StudyTest
    rank_test: str
    unit: str
    units: int
    change: float
    p: float
    p_adjusted: float
    p_runs: float
    p_people: float
    p_rank: float
    level: float
    low: float
    high: float
    single: float
    people: float
    verdict: Verdict
    reason: Reason
    undecided: Undecided | None
    limited_by: LimitedBy | None
    power: float
    needed: int | None
    smallest_effect: float | None
    few_seeds: bool
    costs: tuple[str, ...]
    variance: VarianceChange
    scope: str
    # Variances and degrees of freedom by source, for the interval at another level.
    sources: tuple[Floats, Floats]
    # People were drawn again for the study, but this quantity has no spread over them.
    people_untested: bool = False
    margin: float | None = None
    margin_recorded: bool | None = None
    equivalent: bool | None = None
    equivalence_p: float = math.nan
    p_equivalence_adjusted: float = math.nan


@dataclass(frozen=True, eq=False)
class Tested:
    """All comparisons of a report as arrays ``[case, quantity]``, with the level that decided."""

    changes: Change  # its last source is people
    people: Floats
    untested: NDArray[np.bool_]
    p: Floats
    p_adjusted: Floats
    p_runs: Floats
    p_people: Floats
    level: float
    low: Floats
    high: Floats
    looked: Looked | None = None  # of seeds that are added until comparisons are decided

    def level_of(self, units: Floats) -> Floats:
        """Return the level of a single test with so many units that is as strict as these."""
        return np.full(units.shape, self.level) if self.looked is None else self.looked.fixed_level(self.level, units)


def run_tests(cases: Sequence[Case], threshold: float = 0.05, stopping: Stopping | None = None) -> Tested:
    """Test every change of every case, and correct over all of them together."""
    changes = stacked_changes([change_of(case) for case in cases])
    people_by_case = [np.zeros(changes.change.shape[1]) if case.people is None else case.people for case in cases]
    people = np.stack(people_by_case)
    if stopping is not None:
        return _run_looks(cases, look_at([case.units for case in cases], people, stopping), people, threshold)
    untested = np.isnan(people) & ~np.isnan(changes.change)
    undecidable = untested | (changes.units < MIN_SEEDS) | np.isnan(changes.change)
    changes = changes._replace(variances=np.concatenate([changes.variances, people[..., None]], axis=-1))
    changes = changes._replace(
        degrees=np.concatenate([changes.degrees, np.full_like(people, np.inf)[..., None]], axis=-1)
    )
    alone = changes.variances.copy()
    alone[..., -1] = 0.0
    few = changes.units < MIN_SEEDS
    p = np.where(undecidable, np.nan, banerjee_p(changes.change, changes.variances, changes.degrees))
    p_runs = np.where(few, np.nan, banerjee_p(changes.change, alone, changes.degrees))
    p_people = _people_p(cases, changes.change, people)
    adjusted = CORRECTIONS["bh"](p.reshape(-1)).reshape(p.shape)
    level = deciding_level(adjusted, threshold)
    low, high = sources_interval(changes.change, changes.variances, changes.degrees, level)
    low, high = (np.where(undecidable, np.nan, end) for end in (low, high))
    return Tested(changes, people, untested, p, adjusted, p_runs, p_people, level, low, high)


def _run_looks(cases: Sequence[Case], looked: Looked, people: Floats, threshold: float) -> Tested:
    """Test over all looks that are complete; each comparison says its change at the look that speaks."""
    anytime = looked.stopping.rule is StoppingRule.ANYTIME
    adjusted = CORRECTIONS["holm" if anytime else "bh"](looked.p.reshape(-1)).reshape(looked.p.shape)
    level = (holm_level if anytime else deciding_level)(adjusted, threshold)
    with np.errstate(invalid="ignore"):
        changes = looked.change_at(looked.places(adjusted <= threshold * (1 + 1e-12)))
    untested = np.isnan(people) & ~np.isnan(changes.change)
    half = looked.critical(changes, level)
    alone = changes.variances.copy()
    alone[..., -1] = 0.0
    p_runs = looks_p(banerjee_p(changes.change, alone, changes.degrees), looked.stopping.looks)
    p_people = _people_p(cases, changes.change, people)
    return Tested(changes, people, untested, looked.p, adjusted, p_runs, p_people, level,
                  changes.change - half, changes.change + half, looked)  # fmt: skip


def _people_p(cases: Sequence[Case], change: Floats, people: Floats) -> Floats:
    """Return p-values of other test people alone; NaN where none were drawn."""
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.abs(change) / np.sqrt(people)
        p = np.where(people > 0, 2 * special.ndtr(-z), np.where(change == 0, 1.0, 0.0))
    has_people = np.array([case.people is not None for case in cases])[:, None]
    return np.where(has_people & ~np.isnan(people) & ~np.isnan(change), p, np.nan)


def holm_level(adjusted: Floats, threshold: float) -> float:
    """Return the level that Holm's correction decides at: threshold / (m - R + 1) with R of m tests significant.

    Every p that is significant is at most this, and every other is above it.
    """
    number = int((~np.isnan(adjusted)).sum())
    with np.errstate(invalid="ignore"):
        found = int((adjusted <= threshold * (1 + 1e-12)).sum())
    return threshold / max(number - max(found, 1) + 1, 1)


def deciding_level(adjusted: Floats, threshold: float) -> float:
    """Return the level that Benjamini-Hochberg decides at: threshold R / m with R of m tests significant."""
    number = int((~np.isnan(adjusted)).sum())
    with np.errstate(invalid="ignore"):
        found = int((adjusted <= threshold * (1 + 1e-12)).sum())
    return threshold * max(found, 1) / max(number, 1)


def change_of(case: Case) -> Change:
    """Return the change of every quantity, with its variance over seeds or runs."""
    technique, baseline = case.units.values
    return paired_change(technique, baseline) if case.units.pairs else unpaired_change(technique, baseline)


def stacked_changes(changes: Sequence[Change]) -> Change:
    """Stack the changes of cases; a pair's single source of variance gets an empty one beside it."""
    variances, degrees = [], []
    for change in changes:
        missing = 2 - change.variances.shape[-1]
        variances.append(np.pad(change.variances, ((0, 0), (0, missing))))
        degrees.append(np.pad(change.degrees, ((0, 0), (0, missing)), constant_values=np.inf))
    return Change(
        np.stack([change.change for change in changes]), np.stack(variances), np.stack(degrees),
        np.stack([change.units for change in changes]), np.stack([change.single for change in changes]),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Limits:
    """Of each comparison: its power for the relevant effect, the seeds that would have it, and what limits it."""

    power: Floats
    needed: Floats
    by: list[list[LimitedBy | None]]


def limits_of(tested: Tested, effects: Floats) -> Limits:
    """Return what a change of these sizes, one for each quantity, would have needed at the level that decided."""
    shape = tested.p.shape
    effect, single = np.broadcast_to(effects, shape), tested.changes.single
    people = np.nan_to_num(tested.people)
    open_ = ~np.isnan(tested.p) & ~np.isnan(effect)
    power, alone, ever = (np.full(shape, np.nan) for _ in range(3))
    level = tested.level_of(tested.changes.units)
    for number in np.unique(tested.changes.units[open_]).astype(int).tolist():
        same_units = open_ & (tested.changes.units == number)
        arrays = effect[same_units], single[same_units], people[same_units]
        power[same_units] = detection_power(*arrays, number, level[same_units])
        alone[same_units] = detection_power(*arrays[:2], 0.0, number, level[same_units])
    ever[open_] = detection_power(effect[open_], single[open_], people[open_], np.inf, level[open_])
    needed = np.full(shape, np.nan)
    needed[open_] = seeds_to_detect(effect[open_], single[open_], people[open_], level=level[open_])

    def by(position: tuple[int, int]) -> LimitedBy | None:
        if not open_[position]:
            return None
        if power[position] >= POWER:
            return LimitedBy.NOTHING
        if ever[position] >= POWER:
            return LimitedBy.SEEDS
        return LimitedBy.PEOPLE if alone[position] >= POWER else LimitedBy.BOTH

    return Limits(power, needed, [[by((row, column)) for column in range(shape[1])] for row in range(shape[0])])


def judge(
    cases: Sequence[Case], quantities: Sequence[Quantity], performance: Sequence[str], rules: Rules | None = None
) -> list[list[Judged]]:
    """Judge every case on every quantity; the correction goes over all of them together."""
    rules = rules or Rules()
    if not cases:
        return []
    tested = run_tests(cases, rules.threshold, rules.stopping)
    effects = np.array([rules.smallest_effect if rules.bounded(quantity) else math.nan for quantity in quantities])
    limits = limits_of(tested, effects)
    equivalence = _equivalence(tested, quantities, rules)
    compared = _ranks(cases, quantities)
    judged: list[list[Judged]] = []
    for row, case in enumerate(cases):
        verdicts = [
            _verdict(case, tested, limits, compared[row][at], (row, at), rules) for at in range(len(quantities))
        ]
        costly = [
            (compared[row][at], verdicts[at][0])
            for at, quantity in enumerate(quantities)
            if quantity.measure in performance
        ]
        judged.append([
            _judged(
                case, tested, limits, compared[row][at], (row, at), verdicts[at], rules,
                costly if quantities[at].measure not in performance else (), equivalence,
            )
            for at in range(len(quantities))
        ])  # fmt: skip
    return judged


def is_open(judged: Judged, stopping: Stopping) -> bool:
    """Tell whether more seeds may decide a comparison: it is neither different nor equivalent, and seeds limit it."""
    if judged.verdict in (Verdict.LOWER, Verdict.HIGHER) or judged.equivalent or judged.units >= stopping.most:
        return False
    if judged.undecided in (Undecided.NO_VALUES, Undecided.PEOPLE_UNTESTED):
        return False
    return judged.limited_by is not LimitedBy.PEOPLE


def _ranks(cases: Sequence[Case], quantities: Sequence[Quantity]) -> list[list[Comparison]]:
    """Compare by ranks, pairs as pairs, with effect sizes and spreads; Levene's p is corrected over all."""
    flat = [(case, column) for case in cases for column in range(len(quantities))]
    couples: list[tuple[Series, Series]] = [
        (series_of(case.units, 0, case.cell.name, quantities[column], column),
         series_of(case.units, 1, case.baseline.name, quantities[column], column))
        for case, column in flat
    ]  # fmt: skip
    comparisons: dict[int, Comparison] = {}
    for plan, paired in ((PAIRED, True), (UNPAIRED, False)):
        places = [index for index, (case, _) in enumerate(flat) if case.units.pairs == paired]
        comparisons |= dict(zip(places, compare([couples[column] for column in places], plan), strict=True))
    ordered = [comparisons[column] for column in range(len(flat))]
    levene = CORRECTIONS["bh"]([comparison.levene_p for comparison in ordered]).tolist()
    ordered = [replace(comparison, levene_adjusted=p) for comparison, p in zip(ordered, levene, strict=True)]
    width = len(quantities)
    return [ordered[first : first + width] for first in range(0, len(ordered), width)]


def _equivalence(tested: Tested, quantities: Sequence[Quantity], rules: Rules) -> tuple[Floats, Floats]:
    """Return p-values of equivalence, and corrected as a family of their own; NaN where nothing is tested."""
    p = np.full(tested.p.shape, np.nan)
    if rules.margin is not None:
        bounded = np.broadcast_to([rules.bounded(quantity) for quantity in quantities], p.shape)
        testable = ~np.isnan(tested.p) & bounded
        changes = tested.changes
        p[testable] = (
            sources_equivalence_p(
                changes.change[testable], changes.variances[testable], changes.degrees[testable], rules.margin
            )
            if tested.looked is None
            else tested.looked.equivalence_p(rules.margin)[testable]
        )
    return p, CORRECTIONS["bh"](p.reshape(-1)).reshape(p.shape)


def _verdict(
    case: Case, tested: Tested, limits: Limits, ranks: Comparison, at: tuple[int, int], rules: Rules
) -> tuple[Verdict, Undecided | None, Reason]:
    """Return the verdict, why it is undecided if it is, and the reasons for both."""
    change, adjusted = float(tested.changes.change[at]), float(tested.p_adjusted[at])
    number, unit = int(tested.changes.units[at]), case.units.unit
    if rules.stopping is not None and number < MIN_SEEDS <= len(ranks.technique):
        why = because(StudyReason.TOO_FEW_SEEDS, seeds=len(ranks.technique), least=rules.stopping.looks[0])
        return Verdict.UNDECIDED, Undecided.TOO_FEW, why
    if math.isnan(change):
        empty = next((side for side in (ranks.technique, ranks.baseline) if not len(side)), None)
        name = case.cell.name if empty is None else empty.technique
        why = because(StudyReason.NO_VALUES, treatment=name, measure=ranks.technique.metric)
        return Verdict.UNDECIDED, Undecided.NO_VALUES, why
    if number < MIN_SEEDS:
        why = (
            because(StudyReason.TOO_FEW_SEEDS, seeds=number, least=MIN_SEEDS)
            if unit == SEEDS
            else because(StudyReason.TOO_FEW_RUNS, runs=number, least=MIN_SEEDS)
        )
        return Verdict.UNDECIDED, Undecided.TOO_FEW, why
    if tested.untested[at]:
        return Verdict.UNDECIDED, Undecided.PEOPLE_UNTESTED, because(StudyReason.NOT_TESTED_OVER_PEOPLE)
    numbers = {
        "mean": ranks.technique.mean, "against": ranks.baseline.mean, "units": _units(case, number), "p": adjusted,
    }  # fmt: skip
    if within(adjusted, rules.threshold):
        verdict = Verdict.LOWER if change < 0 else Verdict.HIGHER
        return verdict, None, because(StudyReason.SIGNIFICANT, **numbers)
    why = because(StudyReason.NOT_SIGNIFICANT, **numbers)
    limit = limits.by[at[0]][at[1]]
    if limit is None or limit is LimitedBy.NOTHING:
        return Verdict.NONE, None, why
    needed = limits.needed[at]
    limited = limit_reason(limit, None if math.isinf(needed) else int(needed), rules.smallest_effect, unit)
    return Verdict.UNDECIDED, Undecided.POWER, all_reasons((why, limited)) or why


def _units(case: Case, number: int) -> str:
    if case.units.pairs:
        return plural(number, "pair of seeds", "pairs of seeds")
    return f"{len(case.units.names[0])} against {len(case.units.names[1])} {case.units.unit}"


LIMITS = {
    LimitedBy.PEOPLE: StudyReason.LIMITED_BY_PEOPLE,
    LimitedBy.BOTH: StudyReason.LIMITED_BY_BOTH,
    LimitedBy.NOTHING: StudyReason.NOT_LIMITED,
}


def limit_reason(limit: LimitedBy, needed: int | None, effect: float, unit: str = SEEDS) -> Reason:
    """Return what limits a comparison, with what would detect a change of the relevant size."""
    if limit is not LimitedBy.SEEDS:
        return because(LIMITS[limit], unit=unit, effect=effect)
    if needed is None:
        return because(StudyReason.LIMITED_BY_MANY_SEEDS, unit=unit, effect=effect)
    return because(StudyReason.LIMITED_BY_SEEDS, unit=unit, needed=needed, effect=effect)


def _judged(
    case: Case, tested: Tested, limits: Limits, ranks: Comparison, at: tuple[int, int],
    decided: tuple[Verdict, Undecided | None, Reason], rules: Rules, costly: Sequence[tuple[Comparison, Verdict]],
    equivalence: tuple[Floats, Floats],
) -> Judged:  # fmt: skip
    verdict, undecided, why = decided
    costs, explained = costs_of(ranks, costly, rules.threshold)
    [variance] = variance_changes([ranks], rules.threshold)
    number = int(tested.changes.units[at])
    few = case.units.unit == SEEDS and MIN_SEEDS <= number < FEW_SEEDS
    reasons = [why, *_asides(tested, ranks, at, verdict, rules, few=few), *case.units.notes]
    if explained:
        reasons.append(because(StudyReason.COSTS, costs=", ".join(map(str, explained))))
    needed, limit = limits.needed[at], limits.by[at[0]][at[1]]
    bounded = limit is not None
    equivalence_p, adjusted = (float(p_values[at]) for p_values in equivalence)
    return Judged(
        comparison=ranks, test=case.test, rank_test=WILCOXON if case.units.pairs else UNPAIRED.test,
        unit=case.units.unit,
        units=number, change=float(tested.changes.change[at]), p=float(tested.p[at]),
        p_adjusted=float(tested.p_adjusted[at]), p_runs=float(tested.p_runs[at]), p_people=float(tested.p_people[at]),
        p_rank=ranks.p, level=tested.level, low=float(tested.low[at]), high=float(tested.high[at]),
        single=math.sqrt(tested.changes.single[at]), people=math.sqrt(tested.people[at]) if case.people is not None else
        math.nan, verdict=verdict, reason=all_reasons(reasons) or why, undecided=undecided,
        limited_by=limit if undecided is Undecided.POWER else None, power=float(limits.power[at]),
        needed=int(needed) if bounded and math.isfinite(needed) else None,
        smallest_effect=rules.smallest_effect if bounded else None, few_seeds=few, costs=costs, variance=variance,
        scope=scope_of(case, people=not math.isnan(float(tested.p_people[at]))),
        sources=(tested.changes.variances[at], tested.changes.degrees[at]),
        people_untested=bool(tested.untested[at]), margin=rules.margin, margin_recorded=rules.margin_recorded,
        equivalent=is_equivalent(adjusted, rules.threshold), equivalence_p=equivalence_p,
        p_equivalence_adjusted=adjusted,
    )  # fmt: skip


def _asides(
    tested: Tested, ranks: Comparison, at: tuple[int, int], verdict: Verdict, rules: Rules, *, few: bool
) -> Iterator[Reason]:
    """Yield what else must be known to read a comparison."""
    if few:
        yield because(StudyReason.FEW_SEEDS, seeds=int(tested.changes.units[at]))
    p_runs, p_people = float(tested.p_runs[at]), float(tested.p_people[at])
    if verdict not in (Verdict.LOWER, Verdict.HIGHER) and p_runs <= rules.threshold < p_people:
        yield because(StudyReason.OTHER_PEOPLE, seeds=p_runs, people=p_people)
    yield from asides(ranks, None, copies=False)


def scope_of(case: Case, *, people: bool) -> str:
    """Say how far a verdict reaches."""
    number = len(case.units.names[0])
    if case.units.unit == SEEDS:
        pairing = "paired" if case.units.pairs else "compared without pairing, as the two sides share none"
        scope = f"holds for other seeds like these {number}, {pairing}"
        more = (
            "and for other people like those tested"
            if people
            else "on this test set: it says nothing about other people"
        )
    else:
        scope = f"holds for identical runs of one seed ({number} of them)"
        more = (
            "and for other people like those tested: it says nothing about other seeds" if people
            else "on one test set: it says nothing about other seeds or other people"
        )  # fmt: skip
    return f"{scope}, {more}"
