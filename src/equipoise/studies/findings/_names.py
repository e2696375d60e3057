"""How conditions, measures and the baseline of a study are named where people read of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from equipoise.studies.findings._quantities import LABELS

if TYPE_CHECKING:
    from equipoise.studies.findings._result import ConditionRecord, StudyRecord, StudyResult


Under = tuple[str, str]

UNTREATED = "untreated"
ORIGINAL = "original data"
# What the training data are at alpha 1.
BALANCED = {"CB": "class-balanced", "JB": "jointly balanced"}
MEASURES = {"accuracy": "accuracy", "balanced_accuracy": "balanced accuracy", "pearson": "correlation"}


def condition_titles(conditions: Sequence[ConditionRecord]) -> dict[str, str]:
    """Return what each condition is called, by its name in the plan; no two are called alike."""
    titles = {one.condition: _condition_title(one) for one in conditions}
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
    titles = condition_titles(conditions)
    return {one.condition: _condition_phrase(one, titles[one.condition]) for one in conditions}


def _condition_phrase(condition: ConditionRecord, title: str) -> str:
    if condition.mode not in BALANCED or condition.alpha is None or condition.alpha > 1:
        return f"under {title}"
    return f"with {title}" if condition.alpha == 0 else f"with {title} data"


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
        found = result.spoken_for.get((*under, treatment, measure, attribute))
        if found is not None:
            return found[1]
    return None


def only_baseline(result: StudyResult) -> bool:
    """Tell whether nothing but the baseline was run."""
    return {cell.treatment for cell in result.cells if cell.chosen} == {result.baseline}
