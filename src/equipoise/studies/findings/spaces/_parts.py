"""Everything that a study says of embedding spaces, with titles and notes; nothing where no space was kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from equipoise.audits.downstream import classifier_from_source
from equipoise.foundation.errors import listing
from equipoise.foundation.long_work import Progress
from equipoise.foundation.text import plural
from equipoise.studies.findings._cells import Cell
from equipoise.studies.findings._data import Attribute, StudyData
from equipoise.studies.findings._measuring import Measured
from equipoise.studies.findings.spaces._choosing import Choosing, choosings_of
from equipoise.studies.findings.spaces._comparing import contrasts_of, records_of
from equipoise.studies.findings.spaces._maps import aparts_of, examples_of, maps_of, sensitive_maps_of
from equipoise.studies.findings.spaces._measuring import spaces_of
from equipoise.studies.findings.spaces._result import BALANCED, HALVES, MAJORITISED, NEAREST, OWN
from equipoise.studies.findings.spaces._values import AMI, NMI, RECALL, UNIFORMITY

if TYPE_CHECKING:
    from equipoise.studies.findings._result import StudyResult
    from equipoise.studies.findings.spaces._choosing import Choosing


TITLES = {
    RECALL: "recall@1", NMI: "NMI", AMI: "AMI", UNIFORMITY: "U_KL", "macro_precision": "macro precision",
    "macro_recall": "macro recall", "accuracy": "accuracy",
}  # fmt: skip
# How a classifier was trained: as a heading, and in a sentence.
DOMAIN_INDEPENDENT = "domain_independent"
BALANCED_DOMAIN_INDEPENDENT, BALANCED_OVERSAMPLED = f"{BALANCED}_{DOMAIN_INDEPENDENT}", f"{BALANCED}_oversampled"
TRAININGS = {
    OWN: "own rows", BALANCED: "balanced rows", DOMAIN_INDEPENDENT: "domain-independent",
    BALANCED_DOMAIN_INDEPENDENT: "domain-independent, balanced rows",
    BALANCED_OVERSAMPLED: "balanced, oversampled rows",
}  # fmt: skip
# The measure that a sentence about classifiers is about.
SPOKEN = "macro_recall"
# The gaps of which an attribute has one.
MAIN_RULES = (MAJORITISED, HALVES)
SCOPE = (
    "Intervals and tests of embedding spaces are over seeds: other samples of the training rows and other trainings, "
    "on these test rows. They say nothing about other test rows."
)


def space_notes(result: StudyResult) -> Iterator[str]:
    """Yield what must be known to read the numbers of spaces."""
    if not result.spaces:
        return
    yield SCOPE
    if any(record.rule == HALVES for record in result.spaces):
        yield (
            "With more than two groups the gap is the mean of the better half minus that of the worse half, as in "
            "Dullerud et al. (2022). Halves are chosen by their values, so it is above 0 even where "
            "nothing differs: it has no interval, and what is tested is its difference between cells."
        )
    if result.space_examples is not None and result.space_examples.reason is not None:
        yield str(result.space_examples.reason)
    undefined = sorted({title_of(record.measure) for record in result.spaces if not record.defined})
    if undefined:
        yield f"Undefined for some groups, and left out of their gaps: {listing(undefined)}."


def choice_notes(choosings: Sequence[Choosing]) -> Iterator[str]:
    """Say how a setting was chosen by the spaces of dev rows, and what could not take part."""
    for one in choosings:
        chosen = one.chosen
        which = "none has a value" if chosen is None else f"{chosen.setting} ({chosen.worst:.3f})"
        told = (
            f"Of {plural(len(one.settings), 'setting')} of {one.treatment} ({one.under.condition}, "
            f"{one.under.learner}) the one with the best {title_of(one.measure)} of the worst group of "
            f"{one.attribute} on dev rows represents it: {which}"
        )
        without = f"; left out, as they have no value there: {listing(one.left_out)}" if one.left_out else ""
        yield f"{told}{without}."
        yield from one.notes


def source_title(source: str) -> str:
    """Return the name of a classifier, or of the space."""
    return "nearest training row" if source == NEAREST else classifier_from_source(source).title


def training_title(training: str | None) -> str:
    """Return how a classifier was trained, as a heading; nothing for what is no classifier."""
    return "" if training is None else TRAININGS.get(training, f"{training.replace('_', ' ')} rows")


def title_of(measure: str) -> str:
    """Return the name of a measure."""
    return TITLES.get(measure, measure.replace("_", " "))


def space_parts(study: Measured, *, threshold: float = 0.05, progress: Progress | None = None) -> dict[str, Any]:
    """Return the fields of a ``StudyResult`` that are about spaces."""
    spaces = spaces_of(study, progress)
    if spaces is None:
        return {}
    aparts = aparts_of(spaces)
    return {
        "spaces": tuple(records_of(spaces)),
        "space_contrasts": tuple(contrasts_of(spaces, threshold=threshold)),
        "space_settings": tuple(setting for choosing in study.choosings for setting in choosing.settings),
        "space_maps": (*maps_of(spaces), *sensitive_maps_of(spaces, aparts)),
        "space_examples": examples_of(study.data, aparts[0]) if aparts else None,
    }


def chosen_by_spaces(
    data: StudyData, cells: Sequence[Cell], attribute: Attribute, measure: str
) -> tuple[Choosing, ...]:
    """Choose settings by their worst group on dev rows where trials kept the spaces of these; nothing elsewhere."""
    kept = data.kept
    if kept is None or not kept.has_spaces or kept.truth is None or data.layout.task != "class":
        return ()
    return choosings_of(cells, data.trials, kept, kept.truth, measure=measure, attribute=attribute)
