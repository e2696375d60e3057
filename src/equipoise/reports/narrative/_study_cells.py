"""Cells of a study's tables: numbers with their place in the JSON, treatments with their settings, and verdicts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from equipoise.reports import formats
from equipoise.reports._comparisons import (
    Under,
    title_of_under,
)
from equipoise.reports._document import (
    Cell,
    Column,
    Meaning,
    Name,
    Text,
    pieces,
)
from equipoise.reports._records import Write, number, span
from equipoise.reports.narrative._story import Field
from equipoise.results import Verdict
from equipoise.studies.findings import (
    CellRecord,
    ContrastRecord,
    RankRecord,
    SpaceContrast,
    StudyRecord,
    StudyResult,
)

UNDEFINED = Cell(formats.UNDEFINED, meaning=Meaning.QUIET)
# A direction is an arrow; colours say whether it is better or worse.
ARROWS = {Verdict.LOWER: "▼", Verdict.HIGHER: "▲", Verdict.NONE: "○", Verdict.UNDECIDED: "?"}
VERDICTS = {
    Verdict.LOWER: "lower", Verdict.HIGHER: "higher", Verdict.NONE: "not significant",
    Verdict.UNDECIDED: "inconclusive",
}  # fmt: skip
READING = (
    "▼ lower, ▲ higher than the baseline, significant after correction, with ■ where that is better, ◆ where it is "
    "worse and ● where it is neither; ○ not significant, ? inconclusive"
)
Judged = StudyRecord | ContrastRecord | SpaceContrast


def text_of(source: str, place: int, record: object, field: str, write: Write = formats.fine) -> Text:
    """Return a field of a record as a number that can be traced; nothing where it is not known."""
    return number(place, getattr(record, field), write, field, source)


def cell_of(source: str, place: int, record: object, field: str, write: Write = formats.fine) -> Cell:
    """Return a field of a record in a cell of its own."""
    text = text_of(source, place, record, field, write)
    return Cell(text) if text else UNDEFINED


def interval_of(
    source: str, place: int, record: object, fields: tuple[str, str], write: Write = formats.fine
) -> Text:  # fmt: skip
    """Return the interval between two fields of a record; nothing where one is not known."""
    low, high = (getattr(record, field) for field in fields)
    return span(place, low, high, write, source, fields)


def under_cell(result: StudyResult, under: Under, limit: int = 40) -> Cell:
    """Return a condition (with its learner where there are several)."""
    return Cell(Name(title_of_under(result, under, limit)))


def treatment_cell(treatment: str, setting: str = "", mark: str = "") -> Cell:
    """Return a treatment, with its setting and what must be known of it below."""
    below: list[Text] = [mark] if mark else []
    return Cell(Name(treatment), (*below, *([Name(setting)] if setting else [])))


def meaning_of(record: Judged) -> Meaning | None:
    """Return whether a verdict is better or worse; None where there is nothing significant to colour."""
    if record.verdict is None or not record.verdict.significant:
        return None
    return {True: Meaning.BETTER, False: Meaning.WORSE, None: Meaning.NEUTRAL}[record.good]


def verdict_cell(record: Judged, none: str = "baseline") -> Cell:
    """Return the verdict of a comparison; where there is none, why."""
    if record.verdict is None:
        return Cell(none, meaning=Meaning.QUIET)
    direction = f"{ARROWS[record.verdict]} {VERDICTS[record.verdict]}"
    good = {True: " (better)", False: " (worse)", None: ""}[record.good]
    return Cell(direction + good, meaning=meaning_of(record) or Meaning.QUIET)


def changed_cell(found: tuple[int, StudyRecord] | None) -> Cell:
    """Return the mean, and below it the change from the baseline with its verdict."""
    if found is None:
        return Cell("–", meaning=Meaning.QUIET)
    place, record = found
    if math.isnan(record.mean):
        return UNDEFINED
    below: tuple[Text, ...] = ()
    if record.verdict is not None:
        change = text_of("records", place, record, "change", formats.signed_fine)
        sign = ARROWS[record.verdict]
        below = ((*pieces(change), f" {sign}"),) if change else (sign,)
    return Cell(text_of("records", place, record, "mean"), below, meaning=meaning_of(record))


def plain_columns(*titles: Text, numbers: Sequence[str] = ()) -> list[Column]:
    """Return columns of words, then columns of numbers; the second stays where a medium is narrow."""
    words = [Column(title, kept=place == 1) for place, title in enumerate(titles)]
    return [*words, *(Column(title, number=True) for title in numbers)]


def listed(parts: list[tuple[str | Name, ...]]) -> Text:
    """Join texts by commas."""
    joined: list[str | Name] = []
    for place, part in enumerate(parts):
        joined += [*([", "] if place else []), *part]
    return tuple(joined)


Charts = Mapping[str, tuple[str, ...]]


def chosen_cells(result: StudyResult) -> list[CellRecord]:
    """Return the cells that speak for their treatments."""
    return [cell for cell in result.cells if cell.chosen]


def under_of(record: CellRecord | StudyRecord | RankRecord) -> tuple[str, str]:
    """Return the condition and the learner of a record."""
    return record.condition, record.learner


def condition_field(result: StudyResult) -> Field:
    """Return the column of conditions."""
    return Field("Condition", lambda _, record: under_cell(result, under_of(record)))
