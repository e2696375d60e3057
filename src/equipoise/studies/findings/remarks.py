"""Beside the answers of a study: what differs between conditions, and what must be known to read the numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from equipoise.foundation.errors import listing
from equipoise.results import Verdict
from equipoise.studies.findings.claims import Under
from equipoise.studies.findings.clusters import is_clustered
from equipoise.studies.findings.data import StudyData
from equipoise.studies.findings.result import Looks, StudyResult
from equipoise.studies.findings.sayings import measure_name, only_baseline, record_of, under_name
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
VERDICTS = {Verdict.NONE: "no difference shown", Verdict.UNDECIDED: "undecided"}


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
    name = measure.replace("_", " ")
    yield (
        f"{result.baseline} itself: {name} goes from {low[1].mean:.3f} ({under_name(result, low[0])}) to "
        f"{high[1].mean:.3f} ({under_name(result, high[0])})."
    )


def _changed_verdicts(result: StudyResult, unders: Sequence[Under]) -> Iterator[str]:
    """Say which treatments change fairness under some conditions and not, or the other way, under others."""
    treatments = dict.fromkeys(cell.treatment for cell in result.cells if cell.chosen)
    for treatment in treatments:
        found: dict[str, list[str]] = {}
        for under in unders:
            record = record_of(result, under, treatment, result.fairness)
            if record is not None and record.verdict is not None:
                told = {Verdict.HIGHER: "raises fairness", Verdict.LOWER: "lowers fairness"}.get(
                    record.verdict, VERDICTS.get(record.verdict, "")
                )
                found.setdefault(told, []).append(under_name(result, under))
        if len(found) > 1:
            parts = [f"{told} under {listing(where, 4)}" for told, where in found.items()]
            yield f"{treatment}: {'; '.join(parts)}."


def notes_of(result: StudyResult, data: StudyData, *, joint: bool, people: bool, threshold: float) -> Iterator[str]:
    """Yield what must be known to read the numbers: tests, scope, people, environments, what is missing."""
    judged = [record for record in result.records if record.verdict is not None]
    if judged:
        level = next((record.level for record in judged if record.level is not None), threshold)
        yield (
            f"A change is tested once, over seeds (Student's t) and test people (z) together, two-sided, threshold "
            f"{threshold:g}, Benjamini-Hochberg over {len(judged):,} comparisons. Verdicts and intervals of changes "
            f"are the same test, at the level that decided ({level:.2g}). Tests on ranks stand beside as a check."
        )
        few = sum(record.few_seeds for record in judged)
        if few:
            yield f"Few seeds: {few:,} comparisons rest on 3 or 4 pairs of seeds, whose spread is taken to be normal."
        scopes = list(dict.fromkeys(record.scope for record in judged))
        yield from (f"Scope: {scope}." for scope in scopes[:6])
    elif only_baseline(result):
        yield f"Only {result.baseline} was run, so nothing is compared."
    else:
        yield f"There is no treatment called {result.baseline!r} beside others, so nothing is held against a baseline."
    if people:
        yield (
            "A difference must also hold when people are drawn again: "
            + ("the same people for all treatments." if joint
               else "each treatment's counts are drawn by themselves, as predictions were not at hand, which makes "
               "verdicts more careful.")
        )  # fmt: skip
        if data.rows is not None and is_clustered(data.rows):
            yield _clusters_note(joint)
    untested = dict.fromkeys(measure_name(result, record.measure) for record in judged if record.people_untested)
    if untested:
        yield (
            f"Not tested over people, so undecided: {listing(untested, 6)}. The counts of people who are drawn again "
            "do not tell them, or leave them undefined in most draws."
        )
    yield from _environment_notes(result, data)
    yield (
        "Seconds are wall-clock on a shared machine, not a result: whatever else ran at the time is in them, and the "
        "first trials of a process also pay for loading its libraries."
    )
    yield from _collapsed_notes(result)
    yield from _unfinished_notes(result)
    if any(record.spread_note is SpreadNote.NEGATIVE for record in result.records):
        yield "Where the spread of seeds is 0, reruns of one seed vary as much as runs of different seeds."
    if data.unfinished:
        trials = "1 trial of the plan is" if data.unfinished == 1 else f"{data.unfinished:,} trials of the plan are"
        yield f"{trials} not done yet; the report is of those that are done."
    if data.layout.task == "class" and not result.flips:
        yield "Flips between identical runs cannot be told: no seed was run twice, or predictions were not kept."
    yield from data.notes


def look_notes(looks: Looks) -> Iterator[str]:
    """Say that this reading counts as a look, or why it does not."""
    if not looks.recorded:
        yield (
            "The store could not be written to, so this reading of its verdicts is not counted among the looks: a "
            "report after more trials will not allow for it."
        )
    elif looks.number == 1:
        yield (
            "The store counts this as the first look at the verdicts. Verdicts that are read again after more trials "
            "are decided at the threshold divided by the number of looks."
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
        return "Rows of one cluster (such as two versions of one picture) are drawn together."
    return (
        "Rows of one cluster (such as two versions of one picture) belong together, but are counted here as if each "
        "stood by itself, as predictions were not at hand: intervals over people may be too narrow or too wide."
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
