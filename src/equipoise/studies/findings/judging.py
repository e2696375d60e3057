"""Verdicts of a study: each treatment against the baseline under the same condition, by the tests of ``evidence``.

The unit is the seed: the mean of its identical runs. With the same seeds on both sides and ten of them or more, they
are paired (Wilcoxon). Fewer pairs cannot reach a p that survives the correction over a report's many measures (of six
the smallest is 0.031), so means of seeds are then compared without pairing (Mann-Whitney; 0.0022), which is careful
where the same seed pulls both sides the same way. With one seed, its identical runs are compared: the scope says so.

A difference must also survive other people: p is the larger of the p over runs and the p of the same difference when
people are drawn again (z = change / its spread over people). Benjamini-Hochberg goes over all of them. A comparison
never mixes two environments: of each seed the environment that has most runs on both sides is taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from equipoise.evidence.comparison import WILCOXON, Comparison, Plan, compare
from equipoise.evidence.series import Series, paired
from equipoise.evidence.tests import smallest_p
from equipoise.evidence.variance import VarianceChange, variance_changes
from equipoise.evidence.verdict import Verdict, asides, costs_of, decide, within
from equipoise.stats import CORRECTIONS
from equipoise.studies.findings.cells import Cell
from equipoise.studies.findings.data import Floats
from equipoise.studies.findings.deciding import MOST_TRIED, SIDE, smallest_of_seeds
from equipoise.studies.findings.quantities import Quantity
from equipoise.studies.findings.units import SEEDS, Units, series_of

PAIRED = Plan(test=WILCOXON, alternative="two-sided", correction="none", threshold=0.05, pair="seed")
UNPAIRED = replace(PAIRED, test="mann-whitney", pair=None)
NOT_OVER_PEOPLE = (
    "not tested over people: the counts of people who are drawn again do not tell it, or leave it undefined in most "
    "draws"
)


@dataclass(frozen=True)
class Judged:
    """One comparison with its verdict: numbers over runs, over people, and corrected over the report."""

    found: Comparison
    test: str
    unit: str
    p_runs: float
    p_people: float
    low: float
    high: float
    verdict: Verdict
    reason: str
    costs: tuple[str, ...]
    variance: VarianceChange
    scope: str
    # How many of each side could decide at least, where these could not; None where that is not the trouble.
    needed: int | None = None
    spread_people: float = math.nan
    # People were drawn again for the study, but this quantity has no spread over them.
    people_untested: bool = False


@dataclass(frozen=True, eq=False)
class Case:
    """A cell that is held against a baseline: their units, and the spread of each quantity's change over people."""

    cell: Cell
    baseline: Cell
    units: Units
    people: Floats | None


def judge(
    cases: Sequence[Case], quantities: Sequence[Quantity], performance: Sequence[str], *, threshold: float = 0.05
) -> list[list[Judged]]:
    """Judge every case on every quantity; the correction goes over all of them together."""
    flat = [(case, place) for case in cases for place in range(len(quantities))]
    couples = [
        (series_of(case.units, 0, case.cell.name, quantities[place], place),
         series_of(case.units, 1, case.baseline.name, quantities[place], place))
        for case, place in flat
    ]  # fmt: skip
    compared = _compared(couples, [case.units.pairs for case, _ in flat])
    people = [math.nan if case.people is None else float(case.people[place]) for case, place in flat]
    p_people = [_p_over_people(found.difference, spread) for found, spread in zip(compared, people, strict=True)]
    untested = [
        case.people is not None and math.isnan(spread) and not math.isnan(found.difference)
        for (case, _), found, spread in zip(flat, compared, people, strict=True)
    ]
    judged = _corrected(compared, p_people, untested)
    needed = _needed(judged, [case.units.unit == SEEDS for case, _ in flat], threshold)
    made: list[list[Judged]] = []
    width = len(quantities)
    for first in range(0, len(flat), width):
        case = flat[first][0]
        plan = replace(PAIRED if case.units.pairs else UNPAIRED, correction="bh", threshold=threshold)
        own = judged[first : first + width]
        bare = untested[first : first + width]
        intervals = [
            (math.nan, math.nan) if skipped else _interval(found, case.units, spread)
            for found, spread, skipped in zip(own, people[first : first + width], bare, strict=True)
        ]
        verdicts = [
            _untested(compared[first + place]) or decide(found, plan) if bare[place]
            else _within_bounds(decide(found, plan), intervals[place])
            for place, found in enumerate(own)
        ]  # fmt: skip
        costly = [
            (found, verdict[0])
            for found, verdict, quantity in zip(own, verdicts, quantities, strict=True)
            if quantity.measure in performance
        ]
        made.append([
            _judged(
                case, own[place], verdicts[place], costly if quantities[place].measure not in performance else (),
                plan, compared[first + place].p, p_people[first + place], people[first + place],
                intervals[place], needed[first + place], bare[place],
            )
            for place in range(width)
        ])  # fmt: skip
    return made


def _untested(found: Comparison) -> tuple[Verdict, str] | None:
    """Leave undecided what runs alone could decide; None where they could not either."""
    return None if math.isnan(found.p) else ("undecided", NOT_OVER_PEOPLE)


def _within_bounds(decided: tuple[Verdict, str], interval: tuple[float, float]) -> tuple[Verdict, str]:
    """Let no verdict contradict the interval that stands beside it: one that includes 0 confirms nothing."""
    low, high = interval
    if decided[0] in ("lower", "higher") and low <= 0.0 <= high:
        return "none", f"the 95% interval of the change over runs and people includes 0 ({low:.3g} to {high:.3g})"
    return decided


def _compared(couples: Sequence[tuple[Series, Series]], pairs: Sequence[bool]) -> list[Comparison]:
    """Compare pairs by pairs and the others without; corrections come afterwards, over all."""
    found: dict[int, Comparison] = {}
    for plan, wanted in ((PAIRED, True), (UNPAIRED, False)):
        places = [place for place, own in enumerate(pairs) if own == wanted]
        found |= dict(zip(places, compare([couples[place] for place in places], plan), strict=True))
    return [found[place] for place in range(len(couples))]


def _p_over_people(change: float, spread: float) -> float:
    """Return the two-sided p that the difference is one of these people only; NaN where it cannot be told."""
    if math.isnan(change) or math.isnan(spread):
        return math.nan
    if spread == 0:
        return 1.0 if change == 0 else 0.0
    return float(2 * special.ndtr(-abs(change) / spread))


def _corrected(
    compared: Sequence[Comparison], p_people: Sequence[float], untested: Sequence[bool]
) -> list[Comparison]:  # fmt: skip
    """Let a difference survive both: p is the larger of the two, corrected over the report; NaN where one is missing.

    Where people were not drawn for the study, the runs alone decide.
    """
    correct = CORRECTIONS["bh"]
    p_runs = np.array([found.p for found in compared])
    p = np.where(np.isnan(p_runs) | np.array(untested, dtype=bool), np.nan, np.fmax(p_runs, np.array(p_people)))
    least = attainable(p, np.array([found.smallest for found in compared]))
    levene = correct([found.levene_p for found in compared])
    columns = zip(compared, p.tolist(), correct(p).tolist(), least.tolist(), levene.tolist(), strict=True)
    return [
        replace(found, p=one, p_adjusted=adjusted, attainable=within_reach, levene_adjusted=variance)
        for found, one, adjusted, within_reach, variance in columns
    ]


def attainable(p: Floats, smallest: Floats) -> Floats:
    """Return the smallest corrected p that each test could have had, all others being what they are.

    Of m tests, one that is moved to its smallest possible p takes the rank after those at or below it and pushes those
    up to where it was by one rank; Benjamini-Hochberg is then the least of m p / rank from there on.
    """
    made = np.full(len(p), np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    m = len(order)
    ranks = np.arange(1.0, m + 1)
    stays, pushed = m * p[order] / ranks, m * p[order] / (ranks + 1)
    after = np.append(np.minimum.accumulate(stays[::-1])[::-1], np.inf)
    place = np.empty(len(p), dtype=np.int64)
    place[order] = np.arange(m)
    for floor in np.unique(smallest[known]).tolist():
        own = known[smallest[known] == floor]
        below = int(np.searchsorted(p[order], floor * (1 + 1e-12), side="right"))
        between = np.append(np.inf, np.minimum.accumulate(pushed[below:]))
        moved = place[own] >= below
        here = m * floor / np.where(moved, below + 1, below)
        passed = between[np.where(moved, place[own] - below, 0)]
        rest = after[np.where(moved, place[own] + 1, below)]
        made[own] = np.minimum(np.minimum(here, np.minimum(passed, rest)), 1.0)
    return made


def _judged(
    case: Case, found: Comparison, decided: tuple[Verdict, str],
    costly: Sequence[tuple[Comparison, Verdict]], plan: Plan, p_runs: float, p_people: float, spread: float,
    interval: tuple[float, float], needed: int | None, people_untested: bool,
) -> Judged:  # fmt: skip
    costs, in_words = costs_of(found, costly, plan.threshold)
    low, high = interval
    told = [_too_few(found, plan, case.units.unit, needed) or decided[1], *asides(found, plan.pair), *case.units.notes]
    if decided[0] == "none" and p_runs <= plan.threshold < p_people:
        told.append(f"runs differ (p = {p_runs:.2g}), but other people could give the opposite (p = {p_people:.2g})")
    if in_words:
        told.append("costs: " + ", ".join(in_words))
    [variance] = variance_changes([found], plan.threshold)
    return Judged(
        found=found, test=WILCOXON if case.units.pairs else plan.test, unit=case.units.unit, p_runs=p_runs,
        p_people=p_people, low=low, high=high, verdict=decided[0], reason="; ".join(told), costs=costs,
        variance=variance, scope=scope_of(case, people=not math.isnan(p_people)), needed=needed,
        spread_people=spread, people_untested=people_untested,
    )  # fmt: skip


def _needed(compared: Sequence[Comparison], seeds: Sequence[bool], threshold: float) -> list[int | None]:
    """Return, where no outcome of these runs survives the correction, the least number of each side that could.

    A comparison is moved to the smallest p that so many can have, all others being what they are, and corrected with
    them; None where these runs are enough, or where none of the numbers that are tried is.
    """
    p = np.array([found.p for found in compared])
    made: list[int | None] = [None] * len(compared)
    wanting = [
        place
        for place, found in enumerate(compared)
        if not math.isnan(found.p) and not within(found.attainable, threshold)
    ]
    for number in range(2, MOST_TRIED + 1):
        if not wanting:
            break
        floors = np.where(seeds, smallest_of_seeds(number), smallest_p(number, number, SIDE))
        reached = attainable(p, floors)
        for place in wanting:
            more = number > min(len(compared[place].technique), len(compared[place].baseline))
            if more and within(float(reached[place]), threshold):
                made[place] = number
        wanting = [place for place in wanting if made[place] is None]
    return made


def _too_few(found: Comparison, plan: Plan, unit: str, needed: int | None) -> str:
    """Say that no outcome of so few runs would have survived the correction, and how many could."""
    if math.isnan(found.p) or within(found.attainable, plan.threshold):
        return ""
    pairs = found.pairs is not None
    had = f"{found.pairs} pairs" if pairs else f"{len(found.technique)} against {len(found.baseline)}"
    told = (
        f"undecided with {had}: the smallest p that is possible is {found.smallest:.2g}, and {found.attainable:.2g} "
        f"after the correction over this report, above {plan.threshold:g}"
    )
    return told if needed is None else f"{told}; at least {needed} {unit} of each could decide"


def _interval(found: Comparison, units: Units, people: float, level: float = 0.95) -> tuple[float, float]:
    """Return the interval of the change over training runs and people: two variances, Satterthwaite's degrees."""
    t, b = found.technique, found.baseline
    runs, degrees = _paired_variance(*paired(t, b, "seed")) if units.pairs else _welch(t, b)
    if math.isnan(runs):
        return math.nan, math.nan
    total = runs + (0.0 if math.isnan(people) else people**2)
    # People are as many as there are draws of them: their part has no degrees to lose.
    own = degrees * (total / runs) ** 2 if runs > 0 else 1e9
    half = float(special.stdtrit(own, (1 + level) / 2)) * math.sqrt(total)
    return found.difference - half, found.difference + half


def _paired_variance(x: Floats, y: Floats) -> tuple[float, float]:
    if len(x) < 2:
        return math.nan, 0.0
    return float((x - y).var(ddof=1)) / len(x), len(x) - 1.0


def _welch(t: Series, b: Series) -> tuple[float, float]:
    if min(len(t), len(b)) < 2:
        return math.nan, 0.0
    parts = [side.stdev**2 / len(side) for side in (t, b)]
    total = sum(parts)
    if total == 0:
        return 0.0, 1.0
    return total, total**2 / sum(part**2 / (len(side) - 1) for part, side in zip(parts, (t, b), strict=True))


def scope_of(case: Case, *, people: bool) -> str:
    """Say how far a verdict reaches."""
    number = len(case.units.names[0])
    if case.units.unit == SEEDS:
        how = "paired" if case.units.pairs else "compared without pairing"
        told = f"holds for other seeds like these {number}, {how}"
        more = (
            "and for other people like those tested"
            if people
            else "on this test set: it says nothing about other people"
        )
    else:
        told = f"holds for identical runs of one seed ({number} of them)"
        more = (
            "and for other people like those tested: it says nothing about other seeds" if people
            else "on one test set: it says nothing about other seeds or other people"
        )  # fmt: skip
    return f"{told}, {more}"
