"""Comparisons with a baseline as charts and tables need them: those there is room for, in order, by name, as cells.

The techniques of evidence come first, the treatments of a study after them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from equipoise.audits.evidence import EvidenceRecord, EvidenceResult
from equipoise.reports import _formats as formats
from equipoise.reports._document import (
    Cell,
    Column,
    Meaning,
    Name,
    Text,
    pieces,
)
from equipoise.reports._formats import safe_name
from equipoise.reports._records import Write, number, span, title_of
from equipoise.results import Verdict
from equipoise.studies import StudyResult
from equipoise.studies.analysis import LABELS
from equipoise.studies.analysis import WORDS as REASONS
from equipoise.studies.findings import (
    CellRecord,
    ContrastRecord,
    RankRecord,
    SpaceContrast,
    StudyRecord,
    undefined_everywhere,
    under_name,
)

# A record and its place among the records of the result: every number on a page can be traced to its JSON.
PlacedEffect = tuple[int, EvidenceRecord]
# A technique and a metric.
TechniqueMetric = tuple[str, str]


@dataclass(frozen=True)
class Family:
    """A baseline and the techniques that are compared with it."""

    baseline: str
    techniques: tuple[str, ...]


def families_of(result: EvidenceResult) -> list[Family]:
    """Return every baseline with its techniques, in the order of the records."""
    families: dict[str, dict[str, None]] = {}
    for record in result.records:
        if record.baseline is not None:
            families.setdefault(record.baseline, {})[record.technique] = None
    return [Family(baseline, tuple(techniques)) for baseline, techniques in families.items()]


def metrics_of(result: EvidenceResult) -> list[str]:
    """Return the metrics, those that are better high last."""
    metrics = dict.fromkeys(record.metric for record in result.records)
    return sorted(metrics, key=lambda metric: metric in result.performance)


def by_cell(result: EvidenceResult) -> dict[TechniqueMetric, PlacedEffect]:
    """Return the record of each technique and metric, with its place."""
    return {(record.technique, record.metric): (index, record) for index, record in enumerate(result.records)}


def with_largest_effects(
    result: EvidenceResult, most: int, metrics: Collection[str]
) -> tuple[list[Family], str | None]:
    """Return the families with as many techniques as there is room for, and a word about those left out."""
    families = families_of(result)
    size: dict[str, float] = {}
    for record in result.records:
        if record.baseline is not None:
            told = (
                abs(record.d or 0.0)
                if record.metric in metrics and record.verdict in (Verdict.LOWER, Verdict.HIGHER)
                else 0.0
            )
            size[record.technique] = max(size.get(record.technique, 0.0), 0.0 if math.isnan(told) else told)
    if len(size) <= most:
        return families, None
    chosen = set(sorted(size, key=lambda technique: -size[technique])[:most])
    reduced = [Family(f.baseline, tuple(t for t in f.techniques if t in chosen)) for f in families]
    note = f"Shown are the {most} of {len(size)} techniques with the largest effects."
    return [family for family in reduced if family.techniques], note


Under = tuple[str, str]
# A record and its place among the records of the result: every number on a page can be traced to its JSON.
Placed = tuple[int, StudyRecord]

TITLES = {
    "balanced_accuracy": "Balanced accuracy", "fairness": "Fairness (1 − GAP)", "distance_to_optimum": "DTO",
    "regression_fairness": "Fairness (1 − gap)", "regression_distance_to_optimum": "DTO",
    **{name: label.replace("1 - ", "1 − ") for name, label in LABELS.items()},
}  # fmt: skip


def treatments_of(result: StudyResult) -> list[str]:
    """Return the treatments, the baseline first, in the order of the study."""
    names = dict.fromkeys(cell.treatment for cell in result.cells if cell.chosen)
    return sorted(names, key=lambda name: name != result.baseline)


def nearest_treatments(result: StudyResult, most: int) -> tuple[list[str], str | None]:
    """Return as many treatments as there is room for, those with the best ranks, and a word about the others."""
    names = treatments_of(result)
    if len(names) <= most:
        return names, None
    ranks: dict[str, list[float]] = {}
    for rank in ranks_of(result):
        if not math.isnan(rank.rank):
            ranks.setdefault(rank.treatment, []).append(rank.rank)
    mean = {name: sum(rank) / len(rank) for name, rank in ranks.items()}
    chosen = set(sorted(names, key=lambda name: (name != result.baseline, mean.get(name, math.inf)))[:most])
    note = f"Shown are the {most} of {len(names)} treatments that come nearest to the optimum, and the baseline."
    return [name for name in names if name in chosen], note


def ranks_of(result: StudyResult) -> list[RankRecord]:
    """Return the ranks by distance to the optimum on the main attribute."""
    return [
        rank for rank in result.ranks if rank.measure == result.distance and rank.attribute == result.attribute
    ]  # fmt: skip


def placed(
    result: StudyResult, under: Under, treatment: str, measure: str, attribute: tuple[str, ...] | None = None
) -> Placed | None:
    """Return the record of a treatment on a measure, of everyone or of an attribute (by default the main one)."""
    for recorded_attribute in ((), result.attribute if attribute is None else attribute):
        entry = result.spoken_for.get((*under, treatment, measure, recorded_attribute))
        if entry is not None:
            return entry
    return None


def title_of_under(result: StudyResult, under: Under, limit: int = 40) -> str:
    """Name a condition (and its learner where there are several) as a label."""
    return safe_name(under_name(result, under), limit)


def heading_of(record: StudyRecord) -> str:
    """Return a short heading of a measure."""
    return TITLES.get(record.measure) or record.alias or title_of(record.measure)


def title_of_measure(measure: str) -> str:
    """Return the title of a measure."""
    return TITLES.get(measure) or title_of(measure)


def columns_of(result: StudyResult, attribute: tuple[str, ...]) -> list[StudyRecord]:
    """Return one record of each measure that is told of an attribute and has a number, those of everyone last."""
    records: dict[str, StudyRecord] = {}
    left_out = undefined_everywhere(result, attribute)
    for record in result.records:
        if record.attribute in ((), attribute) and record.measure not in left_out:
            records.setdefault(record.measure, record)
    return sorted(records.values(), key=lambda record: not record.attribute)


def marks_text(cell: CellRecord) -> str:
    """Say what stands between a cell and a verdict: it has collapsed, or was trained too briefly; or nothing."""
    unfinished = ", ".join(REASONS[reason] for reason in cell.unfinished_training)
    return "; ".join(part for part in (_collapsed_text(cell), unfinished) if part)


def _collapsed_text(cell: CellRecord) -> str:
    if cell.collapsed:
        return "collapsed" if cell.collapsed_runs == cell.runs else f"collapsed, {cell.collapsed_runs} of {cell.runs}"
    return f"{cell.collapsed_runs} of {cell.runs} runs collapsed" if cell.collapsed_runs else ""


def requested_measures(result: StudyResult) -> list[str]:
    """Return the measures that were asked for and have a number."""
    left_out = undefined_everywhere(result, result.attribute)
    return [measure for measure in result.measures if measure not in left_out]


def attributes_of(result: StudyResult) -> list[tuple[str, ...]]:
    """Return the attributes that gaps were told of, the main one first."""
    attributes = dict.fromkeys(record.attribute for record in result.records if record.attribute)
    return sorted(attributes, key=lambda attribute: attribute != result.attribute)


def main_measures(result: StudyResult) -> list[str]:
    """Return performance, fairness and distance: what the page is about; what is undefined everywhere is left out."""
    return _defined_measures(result, [*result.performance, result.fairness, result.distance])


def spread_measures(result: StudyResult) -> list[str]:
    """Return the first performance, fairness and distance, without what is undefined everywhere."""
    return _defined_measures(result, [result.performance[0], result.fairness, result.distance])


def _defined_measures(result: StudyResult, measures: list[str]) -> list[str]:
    """Leave out measures without a number; where none has one, all stay and say so."""
    left_out = undefined_everywhere(result, result.attribute)
    return [measure for measure in measures if measure not in left_out] or measures


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


def text_of(source: str, index: int, record: object, field: str, write: Write = formats.fine) -> Text:
    """Return a field of a record as a number that can be traced; nothing where it is not known."""
    return number(index, getattr(record, field), write, field, source)


def cell_of(source: str, index: int, record: object, field: str, write: Write = formats.fine) -> Cell:
    """Return a field of a record in a cell of its own."""
    text = text_of(source, index, record, field, write)
    return Cell(text) if text else UNDEFINED


def interval_of(
    source: str, index: int, record: object, fields: tuple[str, str], write: Write = formats.fine
) -> Text:  # fmt: skip
    """Return the interval between two fields of a record; nothing where one is not known."""
    low, high = (getattr(record, field) for field in fields)
    return span(index, low, high, write, source, fields)


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


def changed_cell(entry: tuple[int, StudyRecord] | None) -> Cell:
    """Return the mean, and below it the change from the baseline with its verdict."""
    if entry is None:
        return Cell("–", meaning=Meaning.QUIET)
    index, record = entry
    if math.isnan(record.mean):
        return UNDEFINED
    below: tuple[Text, ...] = ()
    if record.verdict is not None:
        change = text_of("records", index, record, "change", formats.signed_fine)
        sign = ARROWS[record.verdict]
        below = ((*pieces(change), f" {sign}"),) if change else (sign,)
    return Cell(text_of("records", index, record, "mean"), below, meaning=meaning_of(record))


def plain_columns(*titles: Text, numbers: Sequence[str] = ()) -> list[Column]:
    """Return columns of words, then columns of numbers; the second stays where a medium is narrow."""
    words = [Column(title, always_shown=index == 1) for index, title in enumerate(titles)]
    return [*words, *(Column(title, number=True) for title in numbers)]


def listed(parts: list[tuple[str | Name, ...]]) -> Text:
    """Join texts by commas."""
    joined: list[str | Name] = []
    for index, part in enumerate(parts):
        joined += [*([", "] if index else []), *part]
    return tuple(joined)


Charts = Mapping[str, tuple[str, ...]]


def chosen_cells(result: StudyResult) -> list[CellRecord]:
    """Return the cells that speak for their treatments."""
    return [cell for cell in result.cells if cell.chosen]


def under_of(record: CellRecord | StudyRecord | RankRecord) -> tuple[str, str]:
    """Return the condition and the learner of a record."""
    return record.condition, record.learner
