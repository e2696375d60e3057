"""The words of a study: names of conditions, measures and the baseline, and the notes needed to read the numbers."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from equipoise.foundation import (
    listing,
    plural,
)
from equipoise.results import Verdict
from equipoise.studies.analysis import (
    LABELS,
    STILL_FALLING,
    UNTREATED,
    Composition,
    SpreadNote,
    StudyData,
    Unfinished,
    is_clustered,
)
from equipoise.studies.plans import StoppingRule, equal_words

if TYPE_CHECKING:
    from equipoise.studies.findings._result import (
        Alternative,
        ConditionRecord,
        Looks,
        StoppingRecord,
        StudyRecord,
        StudyResult,
    )


Under = tuple[str, str]

ORIGINAL = "original data"
# What the training data are at alpha 1.
BALANCED = {"CB": "class-balanced", "JB": "jointly balanced"}
MEASURES = {"accuracy": "accuracy", "balanced_accuracy": "balanced accuracy", "pearson": "correlation"}


def condition_titles(conditions: Sequence[ConditionRecord]) -> dict[str, str]:
    """Return what each condition is called, by its name in the plan; no two are called alike."""
    titles = {condition.condition: _condition_title(condition) for condition in conditions}
    alike = Counter(titles.values())
    return {name: title if alike[title] == 1 else f"{title} ({name})" for name, title in titles.items()}


def _condition_title(condition: ConditionRecord) -> str:
    mode, alpha = condition.mode, condition.alpha
    if mode not in BALANCED or alpha is None:
        return condition.condition
    if alpha == 0:
        return ORIGINAL
    if alpha <= 1:
        return BALANCED[mode] if alpha == 1 else f"{100 * alpha:g}% {BALANCED[mode]}"
    return f"imbalance reversed ({condition.condition})" if alpha == 2 else f"past balance ({condition.condition})"


def condition_phrases(conditions: Sequence[ConditionRecord]) -> dict[str, str]:
    """Return how a sentence speaks of each condition, by its name in the plan: "with class-balanced data"."""
    nouns = condition_nouns(conditions)
    return {
        condition.condition: f"{'with' if _names_data(condition) else 'under'} {nouns[condition.condition]}"
        for condition in conditions
    }


def condition_nouns(conditions: Sequence[ConditionRecord]) -> dict[str, str]:
    """Return what each condition is called beside a number, by its name in the plan: "class-balanced data"."""
    titles = condition_titles(conditions)
    return {
        condition.condition: titles[condition.condition] + " data" * bool(_names_data(condition) and condition.alpha)
        for condition in conditions
    }


def _names_data(condition: ConditionRecord) -> bool:
    """Whether a condition is named by the data it gives: as they are, or balanced."""
    return condition.mode in BALANCED and condition.alpha is not None and condition.alpha <= 1


def with_symbol(title: str, condition: str) -> str:
    """Return the title of a condition with its name in the plan beside it, where it is another."""
    return title if condition in title else f"{title} ({condition})"


def under_name(result: StudyResult, under: Under) -> str:
    """Name a condition; with several learners, by both."""
    title = result.condition_titles.get(under[0], under[0])
    return title if len({learner for _, learner in result.unders}) == 1 else f"{title}, {under[1]}"


def under_phrase(result: StudyResult, under: Under) -> str:
    """Say under which condition, in a sentence; with several learners, with which one too."""
    phrase = result.condition_phrases.get(under[0], f"under {under[0]}")
    return phrase if len({learner for _, learner in result.unders}) == 1 else f"{phrase} ({under[1]})"


def under_noun(result: StudyResult, under: Under) -> str:
    """Name a condition beside a number, in brackets; with several learners, with the learner too."""
    noun = result.condition_nouns.get(under[0], under[0]).replace(f" ({under[0]})", f", {under[0]}")
    return noun if len({learner for _, learner in result.unders}) == 1 else f"{noun}, {under[1]}"


def measure_name(result: StudyResult, measure: str) -> str:
    """Name a measure in a sentence."""
    main = {result.fairness: "fairness", result.distance: "distance to the optimum"}
    return main.get(measure) or performance_name(measure)


def performance_name(measure: str) -> str:
    """Name a measure of performance in a sentence."""
    return MEASURES.get(measure) or LABELS.get(measure) or measure.replace("_", " ")


def baseline_name(result: StudyResult) -> str:
    """Name the baseline in a sentence."""
    return "the untreated model" if result.baseline == UNTREATED else result.baseline


def record_of(result: StudyResult, under: Under, treatment: str, measure: str) -> StudyRecord | None:
    """Return the record of a treatment on a measure of everyone or of the main attribute."""
    for attribute in ((), result.attribute):
        spoken = result.spoken_for.get((*under, treatment, measure, attribute))
        if spoken is not None:
            return spoken[1]
    return None


def only_baseline(result: StudyResult) -> bool:
    """Tell whether nothing but the baseline was run."""
    return {cell.treatment for cell in result.cells if cell.chosen} == {result.baseline}


UNFINISHED = {
    Unfinished.LOSS_STILL_FALLING: (
        f"Trained too briefly to judge the treatment: the last fifth of the epochs accounts for more than "
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
        equal_words(condition.condition, [own.condition for own in condition.equal])
        for condition in result.conditions
        if condition.equal
    )
    unders = result.unders
    if len(unders) < 2:
        return
    for measure in (result.performance[0], result.fairness, result.distance):
        yield from _range_words(result, unders, measure)
    yield from _changed_verdicts(result, unders)


def _range_words(result: StudyResult, unders: Sequence[Under], measure: str) -> Iterator[str]:
    baseline_records = [(under, record) for under in unders
             if (record := record_of(result, under, result.baseline, measure)) is not None
             and not math.isnan(record.mean)]  # fmt: skip
    if len(baseline_records) < 2:
        return
    low, high = (pick(baseline_records, key=lambda item: item[1].mean) for pick in (min, max))
    yield (
        f"{result.baseline}: {measure_name(result, measure)} is {low[1].mean:.3f} {under_phrase(result, low[0])} "
        f"and {high[1].mean:.3f} {under_phrase(result, high[0])}."
    )


def _changed_verdicts(result: StudyResult, unders: Sequence[Under]) -> Iterator[str]:
    """Say which treatments change fairness under some conditions only, or in opposite directions."""
    treatments = dict.fromkeys(cell.treatment for cell in result.cells if cell.chosen)
    for treatment in treatments:
        conditions_by_verdict: dict[str, list[str]] = {}
        for under in unders:
            record = record_of(result, under, treatment, result.fairness)
            if record is not None and record.verdict is not None:
                conditions_by_verdict.setdefault(VERDICTS[record.verdict], []).append(under_phrase(result, under))
        if len(conditions_by_verdict) > 1:
            parts = [f"{verdict} {listing(where, 4)}" for verdict, where in conditions_by_verdict.items()]
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
            if result.stopping is None
            else _growing_note(result.stopping, len(judged), threshold, level)
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
    if result.stopping is not None:
        yield from stopping_notes(result.stopping)
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


def _growing_note(stopping: StoppingRecord, comparisons: int, threshold: float, level: float) -> str:
    """Say how a change is tested where seeds are added until it is decided."""
    looks = listing([str(look) for look in stopping.looks], len(stopping.looks))
    if stopping.rule == StoppingRule.ANYTIME:
        test = (
            "by a confidence sequence over seeds (the t e-process, valid at any number of them), to which z times the "
            f"standard error over test people is added; {stopping.seeds_share:.0%} of the level is spent on seeds. "
            "Holm's correction"
        )
    else:
        test = (
            f"after {looks} pairs of seeds, over seeds (Student's t) and test people (z) together, at one nominal "
            "level (Pocock), so that all looks together keep the threshold. Benjamini-Hochberg"
        )
    return (
        f"Seeds were added until each comparison was decided. A change is tested {test} over {comparisons:,} "
        f"comparisons, two-sided, threshold {threshold:g}. Verdicts and intervals of changes are the same test, at the "
        f"level that decided ({level:.2g}) over all looks."
    )


def stopping_notes(stopping: StoppingRecord) -> Iterator[str]:
    """Say how many seeds there are of each treatment, and which may get more."""
    by_seeds: dict[int, list[str]] = {}
    for arm in stopping.arms:
        by_seeds.setdefault(arm.seeds, []).append(f"{arm.treatment} ({arm.condition})")
    seeds = "; ".join(f"{number}: {listing(by_seeds[number], 6)}" for number in sorted(by_seeds))
    yield f"Seeds of each treatment (at most {stopping.looks[-1]}): {seeds}."
    undecided = [f"{arm.treatment} ({arm.condition})" for arm in stopping.arms if arm.undecided]
    if undecided:
        yield f"More seeds may decide {listing(undecided, 6)}: equipoise study run PLAN adds them."


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


def alternative_words(alternative: Alternative, performance: str, condition: str) -> str:
    """Name the less discriminatory alternative where the test rows confirm it, or say that there is none."""
    name = performance_name(performance)
    equal = f"equal {name} (within {alternative.margin:g})"
    if alternative.outcome == "no candidate":
        return f"No treatment is fairer than {alternative.baseline} at {equal} on the dev rows {condition}."
    called = (
        f"{alternative.candidate} ({alternative.candidate_setting})"
        if alternative.candidate_setting
        else str(alternative.candidate)
    )
    numbers = (
        f"on the test rows fairness {_three(alternative.fairness)} against {_three(alternative.baseline_fairness)}, "
        f"{name} {_three(alternative.performance)} against {_three(alternative.baseline_performance)}"
    )
    if alternative.outcome == "confirmed":
        return (
            f"Less discriminatory alternative {condition}: {called} is significantly fairer than "
            f"{alternative.baseline} at {equal}; {numbers}."
        )
    why = {
        "not confirmed": "the difference in fairness is not significant",
        "less fair": "it is less fair on the test rows",
        "less performance": f"it costs more {name} than that on the test rows",
    }[alternative.outcome]
    return (
        f"No less discriminatory alternative is confirmed {condition}: {called} is fairer than {alternative.baseline} "
        f"at {equal} on the dev rows, but {why} ({numbers})."
    )


def _three(value: float | None) -> str:
    return "undefined" if value is None or math.isnan(value) else f"{value:.3f}"


# More cells than these nobody reads one by one.
MANY = 24
EXAMPLES = 3
# A number of rows stands apart where it is so many, and this share of the whole range, above the next smaller one.
LEAST_STEP, STEP = 2, 0.2


@dataclass(frozen=True)
class Move:
    """A cell, its share of the rows under the first condition and under this one, and by how many rows it moved."""

    label: str
    was: float
    now: float
    rows: float


def composition_words(name: str, composition: Composition | None, first: Composition | None) -> str:
    """Say what a condition made of the training rows, against the first condition."""
    if composition is None or first is None:
        return ""
    total = _total(composition)
    head = f"{name}: {total:,} training rows"
    alone = composition is first or composition.classes != first.classes or composition.groups != first.groups
    cells = _cells(composition)
    if len(cells) > MANY:
        return f"{head}, {'; '.join(_many(composition, None if alone else first))}"
    if alone:
        parts = [f"{label} {100 * rows / max(total, 1):.1f}%" for label, rows in cells]
        return f"{head}, {listing(parts, 8)}"
    moved = sorted(
        (move for move in _moves(cells, _cells(first)) if abs(move.now - move.was) >= 0.0005), key=_least_first
    )
    if not moved:
        return f"{head} with the same shares"
    parts = [f"{change.label} {100 * change.now:.1f}% instead of {100 * change.was:.1f}%" for change in moved]
    return f"{head}, {listing(parts, 4)}"


def _many(composition: Composition, first: Composition | None) -> Iterator[str]:
    """Say how many classes have how many rows, or cells where there are few classes or none of them changed."""
    noun, now, before = "classes", _classes(composition), None if first is None else _classes(first)
    if len(now) <= MANY or (
        first is not None and not _shifted(_moves(now, before or [])) and composition.rows != first.rows
    ):
        noun, now, before = "cells of class and group", _cells(composition), None if first is None else _cells(first)
    yield _sizes([rows for _, rows in now], noun)
    if before is not None:
        yield _changes(_moves(now, before), noun, composition.seed)


def _sizes(sizes: Sequence[int], noun: str) -> str:
    clumps = _clumps(sorted(sizes))
    if len(clumps) == 1:
        return f"each of {len(sizes):,} {noun} has {_range(clumps[0])}"
    first, *others = clumps
    parts = [f"{len(first):,} of {len(sizes):,} {noun} {_has(first)} {_range(first)}"]
    return ", ".join(parts + [f"{len(other):,} {_has(other)} {_range(other)}" for other in others])


def _clumps(ordered: Sequence[int]) -> list[list[int]]:
    """Part numbers where they jump; those that are 0 stand by themselves."""
    step = max(LEAST_STEP, STEP * (ordered[-1] - ordered[0]))
    clumps = [[ordered[0]]]
    for before, size in pairwise(ordered):
        if size - before > step or (size and not before):
            clumps.append([])
        clumps[-1].append(size)
    return clumps


def _has(clump: Sequence[int]) -> str:
    return "has" if len(clump) == 1 else "have"


def _range(clump: Sequence[int]) -> str:
    low, high = clump[0], clump[-1]
    if not high:
        return "none"
    if high - low <= 1:
        return f"{low:,} row{'' if high == 1 else 's'}" if low == high else f"{low:,} or {high:,} rows"
    middle = f", half of them at least {clump[len(clump) // 2]:,}" if high > 2 * low else ""
    return f"{low:,} to {high:,} rows{middle}"


def _changes(moves: Sequence[Move], noun: str, seed: int | None) -> str:
    """Say how many have a smaller and a larger share than under the first condition; what is within a row is neither.

    Where the seed draws which, examples are those of one.
    """
    moved = _shifted(moves)
    if not moved:
        return "as under the first condition"
    smaller = sum(move.rows < 0 for move in moved)
    larger = len(moved) - smaller
    than = "than under the first condition"
    parts = [f"of {len(moves):,} {noun} the share is smaller {than} for {smaller:,}, larger for {larger:,}"]
    parts += [f"the same for {len(moves) - len(moved):,}"] if len(moved) < len(moves) else []
    examples = sorted(moved, key=_least_first)[:EXAMPLES]
    examples_text = ", ".join(
        f"{example.label} {_percent(example.now)} instead of {_percent(example.was)}" for example in examples
    )
    seed_note = "" if seed is None else f" (with seed {seed}; another draws others)"
    return f"{', '.join(parts)}; changed most{seed_note}: {examples_text}"


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%" if share < 0.01 else f"{100 * share:.1f}%"


def _shifted(moves: Sequence[Move]) -> list[Move]:
    """Return what moved by more than the row that rounding may give or take."""
    return [move for move in moves if abs(move.rows) > 1 + 1e-9]


def _least_first(move: Move) -> float:
    return -abs(move.now - move.was)


def _moves(now: Sequence[tuple[str, int]], before: Sequence[tuple[str, int]]) -> list[Move]:
    total, earlier = (max(sum(rows for _, rows in one), 1) for one in (now, before))
    return [
        Move(label, was / earlier, rows / total, rows - was / earlier * total)
        for (label, rows), (_, was) in zip(now, before, strict=True)
    ]


def _total(own: Composition) -> int:
    return sum(map(sum, own.rows))


def _classes(composition: Composition) -> list[tuple[str, int]]:
    return [(name, sum(row)) for name, row in zip(composition.classes, composition.rows, strict=True)]


def _cells(composition: Composition) -> list[tuple[str, int]]:
    return [
        (f"{name} / {group}", rows)
        for name, row in zip(composition.classes, composition.rows, strict=True)
        for group, rows in zip(composition.groups, row, strict=True)
    ]


# A number by itself: not a part of a word, and not in quotation marks, where it is a name.
NUMBER = re.compile(r"(?<![\w.'\"])-?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w'\"])")
MOST = 20


@dataclass
class _Kind:
    """Notes of one text: which trials wrote it, and the numbers that stand at each place, as they were written."""

    between: tuple[str, ...]
    trials: set[int] = field(default_factory=set)
    numbers: list[list[str]] = field(default_factory=list)

    def __str__(self) -> str:
        ranges = [_trial_notes_range(column) for column in zip(*self.numbers, strict=True)]
        return "".join(text for pair in zip(self.between, [*ranges, ""], strict=True) for text in pair)


def note_texts(notes: Sequence[Sequence[str]]) -> Iterator[str]:
    """Say what trials noted, with how many noted it; the most frequent first."""
    kinds: dict[tuple[str, ...], _Kind] = {}
    for index, trial_notes in enumerate(notes):
        for note in trial_notes:
            between = tuple(NUMBER.split(note))
            kind = kinds.setdefault(between, _Kind(between))
            kind.trials.add(index)
            kind.numbers.append(NUMBER.findall(note))
    ordered = sorted(kinds.values(), key=lambda kind: -len(kind.trials))
    for kind in ordered[:MOST]:
        yield f"{len(kind.trials):,} of {len(notes):,} trials noted: {kind}"
    if len(ordered) > MOST:
        yield f"{plural(len(ordered) - MOST, 'other note')} of fewer trials: the store has them all."


def _trial_notes_range(written: Sequence[str]) -> str:
    low, high = (pick(written, key=_value) for pick in (min, max))
    return low if _value(low) == _value(high) else f"{low} to {high}"


def _value(written: str) -> float:
    return float(written.replace(",", ""))


def undefined_everywhere(result: StudyResult, attribute: tuple[str, ...]) -> set[str]:
    """Return the measures of everyone or of an attribute that are undefined for every treatment and condition."""
    records = [record for record in result.records if record.attribute in ((), attribute)]
    return {record.measure for record in records} - {record.measure for record in records if record.mean == record.mean}


# The F1 of a label, and the largest difference of its true positive rates between groups.
LABEL_F1, LABEL_GAP = "f1", "equalized_odds_true_positive"
MOST_LABELS = 10


def label_notes(result: StudyResult) -> Iterator[str]:
    """Say of each label of the baseline how well it is predicted and how unequally; and which labels gaps leave out."""
    undefined = dict.fromkeys(
        label.label for label in result.labels
        if label.measure == LABEL_GAP and label.attribute == result.attribute and not label.runs
    )  # fmt: skip
    if undefined:
        yield (
            f"No test row of some group of {' & '.join(result.attribute)} has these labels, so fairness leaves them "
            f"out: {listing(undefined, MOST_LABELS)}."
        )
    for condition, learner in result.unders:
        baseline_labels = [
            label for label in result.labels
            if label.chosen
            and (label.condition, label.learner, label.treatment) == (condition, learner, result.baseline)
        ]  # fmt: skip
        means = {
            (label_record.label, label_record.measure): label_record.mean
            for label_record in baseline_labels
            if label_record.attribute in ((), result.attribute) and label_record.runs
        }
        labels = list(dict.fromkeys(label_record.label for label_record in baseline_labels))
        lines = [
            f"{label} {means[label, LABEL_F1]:.3f}"
            + (f" ({means[label, LABEL_GAP]:.3f})" if (label, LABEL_GAP) in means else " (undefined)")
            for label in labels if (label, LABEL_F1) in means
        ]  # fmt: skip
        if lines:
            yield (
                f"Labels of {result.baseline} under {condition} ({learner}), not tested: F1, and the largest "
                f"difference of true positive rates between groups: {listing(lines, MOST_LABELS)}."
            )


def undefined_notes(result: StudyResult) -> Iterator[str]:
    """Say once which of the main measures is nowhere to be seen, and why."""
    found = undefined_everywhere(result, result.attribute)
    left_out = [measure for measure in (*result.performance, result.fairness, result.distance) if measure in found]
    if not left_out:
        return
    reasons = (
        record.reason for record in result.records
        if record.measure in left_out and record.attribute in ((), result.attribute) and record.reason
    )  # fmt: skip
    names = " and ".join(measure.replace("_", " ") for measure in left_out)
    reason = next(reasons, None)
    yield (
        f"Undefined under every condition: {names} on {' & '.join(result.attribute)}"
        f"{f' ({reason})' if reason else ''}. Ranks, charts and columns that would show nothing else are left out."
    )
