"""Notes on a study: how conditions differ, alternatives to the baseline, and what is needed to read the numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from equipoise.foundation.errors import listing
from equipoise.results import Verdict
from equipoise.studies.findings.clusters import is_clustered
from equipoise.studies.findings.data import StudyData
from equipoise.studies.findings.names import (
    Under,
    measure_name,
    only_baseline,
    performance_name,
    record_of,
    under_phrase,
)
from equipoise.studies.findings.result import Alternative, Looks, StudyResult
from equipoise.studies.findings.spreads import SpreadNote
from equipoise.studies.findings.unfinished import STILL_FALLING, Unfinished
from equipoise.studies.plans.condition_names import equal_words

UNFINISHED = {
    Unfinished.LOSS_STILL_FALLING: (
        f"Trained too briefly to judge the treatment by: the last fifth of the epochs brought more than "
        f"{STILL_FALLING:.0%} of the whole decline in loss, in at least half of the runs"
    ),
    Unfinished.CONSTRAINT_UNMET: (
        "Not balanced as intended: in the end a constraint of the treatment was unmet, in at least half of the runs"
    ),
}
VERDICTS = {
    Verdict.HIGHER: "significantly fairer", Verdict.LOWER: "significantly less fair",
    Verdict.NONE: "no significant change of fairness", Verdict.UNDECIDED: "change of fairness inconclusive",
}  # fmt: skip


def differences(result: StudyResult) -> Iterator[str]:
    """Say what differs between conditions: the rows, the baseline's numbers, and what treatments do."""
    yield from (f"{condition.words}." for condition in result.conditions if condition.words)
    yield from (
        equal_words(one.condition, [own.condition for own in one.equal]) for one in result.conditions if one.equal
    )
    unders = result.unders
    if len(unders) < 2:
        return
    for measure in (result.performance[0], result.fairness, result.distance):
        yield from _range_words(result, unders, measure)
    yield from _changed_verdicts(result, unders)


def _range_words(result: StudyResult, unders: Sequence[Under], measure: str) -> Iterator[str]:
    found = [(under, record) for under in unders
             if (record := record_of(result, under, result.baseline, measure)) is not None
             and not math.isnan(record.mean)]  # fmt: skip
    if len(found) < 2:
        return
    low, high = (pick(found, key=lambda one: one[1].mean) for pick in (min, max))
    yield (
        f"{result.baseline}: {measure_name(result, measure)} is {low[1].mean:.3f} {under_phrase(result, low[0])} "
        f"and {high[1].mean:.3f} {under_phrase(result, high[0])}."
    )


def _changed_verdicts(result: StudyResult, unders: Sequence[Under]) -> Iterator[str]:
    """Say which treatments change fairness under some conditions only, or in opposite directions."""
    treatments = dict.fromkeys(cell.treatment for cell in result.cells if cell.chosen)
    for treatment in treatments:
        found: dict[str, list[str]] = {}
        for under in unders:
            record = record_of(result, under, treatment, result.fairness)
            if record is not None and record.verdict is not None:
                found.setdefault(VERDICTS[record.verdict], []).append(under_phrase(result, under))
        if len(found) > 1:
            parts = [f"{verdict} {listing(where, 4)}" for verdict, where in found.items()]
            yield f"{treatment}: {'; '.join(parts)}."


def notes_of(result: StudyResult, data: StudyData, *, joint: bool, people: bool, threshold: float) -> Iterator[str]:
    """Yield what must be known to read the numbers: tests, scope, people, environments, what is missing."""
    judged = [record for record in result.records if record.verdict is not None]
    if judged:
        level = next((record.level for record in judged if record.level is not None), threshold)
        yield (
            f"A change is tested once, over seeds (Student's t) and test people (z) together, two-sided, threshold "
            f"{threshold:g}, Benjamini-Hochberg over {len(judged):,} comparisons. Verdicts and intervals of changes "
            f"are the same test, at the level that decided ({level:.2g}). Rank tests are shown beside them as a check."
        )
        few = sum(record.few_seeds for record in judged)
        if few:
            yield f"Few seeds: {few:,} comparisons rest on 3 or 4 pairs of seeds, whose spread is taken to be normal."
        scopes = list(dict.fromkeys(record.scope for record in judged))
        yield from (f"Scope: {scope}." for scope in scopes[:6])
    elif only_baseline(result):
        yield f"Only {result.baseline} was run, so nothing is compared."
    else:
        yield f"No treatment is called {result.baseline!r}, so nothing is compared with a baseline."
    if people:
        yield (
            "A difference must also hold when test people are resampled: "
            + ("the same people for all treatments." if joint
               else "each treatment's counts are resampled separately, as predictions were not kept, which makes "
               "verdicts more conservative.")
        )  # fmt: skip
        if data.rows is not None and is_clustered(data.rows):
            yield _clusters_note(joint)
    untested = dict.fromkeys(measure_name(result, record.measure) for record in judged if record.people_untested)
    if untested:
        yield (
            f"Not tested over people, and so inconclusive: {listing(untested, 6)}. They cannot be computed from "
            "resampled counts, or are undefined in most resamples."
        )
    yield from _environment_notes(result, data)
    yield (
        "Seconds are wall-clock times on a shared machine, not a result: they include whatever else ran at the time, "
        "and the first trials of a process also load its libraries."
    )
    yield from _collapsed_notes(result)
    yield from _unfinished_notes(result)
    if any(record.spread_note is SpreadNote.NEGATIVE for record in result.records):
        yield "Where the spread of seeds is 0, reruns of one seed vary as much as runs of different seeds."
    if data.unfinished:
        trials = "1 trial of the plan is" if data.unfinished == 1 else f"{data.unfinished:,} trials of the plan are"
        yield f"{trials} not done yet; the report is of those that are done."
    if data.layout.task == "class" and not result.flips:
        yield (
            "Whether predictions flip between identical runs is unknown: no seed was run twice, or predictions were "
            "not kept."
        )
    yield from data.notes


def look_notes(looks: Looks) -> Iterator[str]:
    """Say that this reading counts as a look, or why it does not."""
    if not looks.recorded:
        yield (
            "The store could not be written to, so this reading of its verdicts is not counted among the looks: a "
            "report after more trials will not correct for it."
        )
    elif looks.number == 1:
        yield (
            "The store counts this as the first look at the verdicts. Verdicts read again after more trials are "
            "decided at the threshold divided by the number of looks."
        )


def _collapsed_notes(result: StudyResult) -> Iterator[str]:
    """Say how many runs have collapsed, and by which rule."""
    runs, collapsed = sum(cell.runs for cell in result.cells), sum(cell.collapsed_runs for cell in result.cells)
    if collapsed:
        yield (
            f"{collapsed:,} of {runs:,} runs have collapsed: on the dev rows they predict one class for 99% of them "
            "or more, or the upper end of their balanced accuracy is at most 0.02 above chance (of a regression: R2 is "
            "at most 0). They stay in means and verdicts; a cell with half of its runs collapsed is neither best, nor "
            "on the front, nor an alternative."
        )


def _unfinished_notes(result: StudyResult) -> Iterator[str]:
    """Say which treatments were trained too briefly to judge them by, and by which rule."""
    for reason, rule in UNFINISHED.items():
        marked = [cell for cell in result.cells if reason in cell.unfinished_training]
        if marked:
            names = listing(dict.fromkeys(cell.treatment for cell in marked), 12)
            yield f"{rule}: {names} ({len(marked):,} of {len(result.cells):,} cells)."


def _clusters_note(joint: bool) -> str:
    if joint:
        return "Rows of one cluster (such as two versions of one picture) are resampled together."
    return (
        "Rows of one cluster (such as two versions of one picture) belong together, but are treated here as "
        "independent, as predictions were not kept: intervals over people may be too narrow or too wide."
    )


def _environment_notes(result: StudyResult, data: StudyData) -> Iterator[str]:
    if len(data.environments) < 2:
        yield "All runs come from one environment (packages and hardware)."
        return
    mixed = sum(cell.environments > 1 for cell in result.cells)
    yield (
        f"Runs come from {len(data.environments)} environments (packages and hardware); {mixed:,} of "
        f"{len(result.cells):,} cells mix them. A comparison takes of each seed the runs of one environment only, and "
        "identical runs are those of one environment."
    )


def alternative_words(made: Alternative, performance: str, condition: str) -> str:
    """Name the less discriminatory alternative where the test rows confirm it, or say that there is none."""
    name = performance_name(performance)
    equal = f"equal {name} (within {made.margin:g})"
    if made.outcome == "no candidate":
        return f"No treatment is fairer than {made.baseline} at {equal} on the dev rows {condition}."
    called = f"{made.candidate} ({made.candidate_setting})" if made.candidate_setting else str(made.candidate)
    numbers = (
        f"on the test rows fairness {_three(made.fairness)} against {_three(made.baseline_fairness)}, {name} "
        f"{_three(made.performance)} against {_three(made.baseline_performance)}"
    )
    if made.outcome == "confirmed":
        return (
            f"Less discriminatory alternative {condition}: {called} is significantly fairer than "
            f"{made.baseline} at {equal}; {numbers}."
        )
    why = {
        "not confirmed": "the difference in fairness is not significant",
        "less fair": "it is less fair on the test rows",
        "less performance": f"it costs more {name} than that on the test rows",
    }[made.outcome]
    return (
        f"No less discriminatory alternative is confirmed {condition}: {called} is fairer than {made.baseline} "
        f"at {equal} on the dev rows, but {why} ({numbers})."
    )


def _three(value: float | None) -> str:
    return "undefined" if value is None or math.isnan(value) else f"{value:.3f}"
