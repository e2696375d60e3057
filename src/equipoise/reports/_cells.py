"""Records as people read them: what they are about, and the cells of tables made from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from equipoise.audits import AuditResult, GroupResult
from equipoise.reports import _formats as formats
from equipoise.reports._document import MOST_ROWS, Cell, Column, DataTable, Meaning, Name, Number, Row, Text, pieces
from equipoise.reports._formats import safe_name
from equipoise.reports._measure_words import better_end, is_classwise, is_share, title_of
from equipoise.results import Record, Status

MISSING = "(missing)"

# A record and its place among the records of the result: every number on a page can be traced to its JSON.
Placed = tuple[int, Record]


@dataclass(frozen=True)
class Subject:
    """An attribute, or several crossed, within one split."""

    attribute: tuple[str, ...]
    split: str | None = None

    @property
    def title(self) -> str:
        """Name it as a heading does."""
        name = " × ".join(safe_name(part) for part in self.attribute)
        return name if self.split is None else f"{name} ({safe_name(self.split)})"

    def has(self, record: object) -> bool:
        """Tell whether a record (or a curve, a point, a rule) speaks of it."""
        own: bool = (
            getattr(record, "attribute", None) == self.attribute and getattr(record, "split", None) == self.split
        )
        return own


def subjects_of(result: GroupResult) -> list[Subject]:
    """Return what the groups are compared by, in the order of the audit."""
    found = (Subject(r.attribute, r.split) for r in result.records if r.attribute and r.control is None)
    return list(dict.fromkeys(found))


def splits_of(result: AuditResult) -> list[str | None]:
    """Return the splits that were audited each by itself; None stands for all rows."""
    return list(dict.fromkeys(subject.split for subject in subjects_of(result)))


def main_records(result: AuditResult, kinds: Sequence[str]) -> Iterator[Placed]:
    """Yield the records a reader wants first: of the favourable class if there is one, else over all classes."""
    scope = "favourable" if result.favourable is not None else "overall"
    for place, record in enumerate(result.records):
        if record.kind not in kinds or record.control is not None or record.label is not None:
            continue
        if record.variant != "micro" and (
            record.scope == scope or (record.scope == "overall" and not is_classwise(record.measure))
        ):
            yield place, record


def groups_of(records: Sequence[Placed]) -> list[str]:
    """Return the groups in the order of the records."""
    return list(dict.fromkeys(record.group for _, record in records if record.group is not None))


def contrasts_of(result: GroupResult, subject: Subject) -> list[Placed]:
    """Return the signed contrasts of a subject, those within the values of a control column left out."""
    return [
        (place, record)
        for place, record in enumerate(result.records)
        if record.kind == "contrast" and record.control is None and subject.has(record)
    ]


def least_people(result: AuditResult) -> int:
    """Return the number of people below which the audit tells nothing."""
    options = result.provenance.get("options")
    least = options.get("least_people") if isinstance(options, dict) else None
    return least if isinstance(least, int) else 0


def used_threshold(result: AuditResult) -> float | None:
    """Return the threshold that made the predictions, where they were made from the score."""
    columns, options = result.provenance.get("columns"), result.provenance.get("options")
    if not isinstance(columns, dict) or not isinstance(options, dict) or columns.get("prediction"):
        return None
    used = options.get("threshold")
    return used if isinstance(used, (int, float)) else None


def small_groups(result: AuditResult, subject: Subject) -> set[str]:
    """Return the groups with a rate that was not tested: too few people."""
    return {str(record.group) for _, record in contrasts_of(result, subject) if record.status != Status.OK}


def widest_groups(result: AuditResult, subject: Subject, groups: Sequence[str], most: int) -> list[str]:
    """Return the groups that there is room for, in their order: those with the widest contrasts, else the first."""
    if len(groups) <= most:
        return list(groups)
    widest = _widest(result, subject)
    chosen = set(sorted(groups, key=lambda group: -widest.get(group, -1.0))[:most])
    return [group for group in groups if group in chosen]


def widest_in_words(result: AuditResult, subject: Subject) -> str:
    """Say which groups ``widest_groups`` chooses; an audit without evidence has no contrasts."""
    return "with the widest contrasts" if _widest(result, subject) else "that come first"


def _widest(result: AuditResult, subject: Subject) -> dict[str, float]:
    """Return the size of each group's widest contrast."""
    widest: dict[str, float] = {}
    for _, record in contrasts_of(result, subject):
        if record.group is not None and record.defined and record.status == Status.OK:
            widest[record.group] = max(widest.get(record.group, 0.0), abs(record.value))
    return widest


CONFIRMED, NOT_SIGNIFICANT, NOT_TESTED = "confirmed", "not significant", "not tested"
# Of these a difference is neither better nor worse for a group: more false positives are errors in its favour.
NO_DIRECTION = ("false_positive_rate", "positive_predictive_value", "base_rate", "mean_prediction", "mean_residual")
Write = Callable[[float], str]


def known(value: float | None) -> float | None:
    """Return a number that can be shown, or None."""
    return None if value is None or not math.isfinite(value) else value


def writer(record: Record) -> tuple[Write, Write]:
    """Return how a record's value and the ends of its interval are written."""
    if record.kind == "contrast":
        both = formats.points if is_share(record) else formats.signed
        return both, both
    if record.kind == "rate":
        return formats.percent, formats.bare_percent
    return formats.thousandths if is_share(record) else formats.decimal, formats.decimal


def number(place: int, value: float | None, write: Write, field: str = "value", source: str = "records") -> Text:
    """Return a number with its place in the JSON; nothing where it is not known."""
    return "" if known(value) is None or value is None else Number(write(value), place, field, source)


def value_text(place: int, record: Record) -> Text:
    """Return the value of a record; where it has none, its status."""
    return number(place, record.value, writer(record)[0]) if record.defined else record.status


def value_cell(place: int, record: Record, *below: Text, bar: bool = False) -> Cell:
    """Return a record's value in a cell, with smaller lines below it."""
    if not record.defined:
        return Cell(record.status, meaning=Meaning.QUIET)
    return Cell(value_text(place, record), tuple(line for line in below if line), record.value if bar else None)


def span(
    place: int, low: float | None, high: float | None, write: Write, source: str = "records",
    fields: tuple[str, str] = ("low", "high"),
) -> Text:  # fmt: skip
    """Return an interval; nothing where one end is not known."""
    if known(low) is None or known(high) is None:
        return ""
    ends = [number(place, end, write, field, source) for end, field in zip((low, high), fields, strict=True)]
    return (*pieces(ends[0]), " to ", *pieces(ends[1]))


def interval(place: int, record: Record, write: Write | None = None) -> Text:
    """Return the interval of a record."""
    return span(place, record.low, record.high, write or writer(record)[1]) if record.defined else ""


def counts(place: int, record: Record) -> Text:
    """Return the counts behind a rate."""
    if not record.defined or known(record.numerator) is None or known(record.denominator) is None:
        return ""
    parts = [number(place, getattr(record, field), formats.count, field) for field in ("numerator", "denominator")]
    return (*pieces(parts[0]), " / ", *pieces(parts[1]))


def p_value(place: int, value: float | None, source: str = "records", field: str = "p_adjusted") -> Text:
    """Return a corrected p-value; nothing where nothing was tested."""
    return number(place, value, formats.p_value, field, source)


def lower_bound(place: int, record: Record) -> Text:
    """Return the lower bound of a gap; nothing where it has none."""
    bounded = record.interval == "lower-bound" and record.defined
    return number(place, record.low, formats.decimal, "low") if bounded else ""


def meaning_of(record: Record) -> Meaning:
    """Return what a record's verdict means: a confirmed gap is worse, a contrast better or worse for its group."""
    if not record.finding:
        return Meaning.QUIET
    if record.kind != "contrast":
        return Meaning.WORSE
    end = "high" if record.measure == "selection_rate" and record.scope == "favourable" else better_end(record.measure)
    if end not in ("high", "low") or record.measure in NO_DIRECTION:
        return Meaning.NEUTRAL
    return Meaning.BETTER if (record.value > 0) == (end == "high") else Meaning.WORSE


def verdict(finding: bool | None, meaning: Meaning = Meaning.WORSE) -> Cell:
    """Return the verdict of a test."""
    words = NOT_TESTED if finding is None else CONFIRMED if finding else NOT_SIGNIFICANT
    return Cell(words, meaning=meaning if finding else Meaning.QUIET)


def record_verdict(record: Record) -> Cell:
    """Return the verdict on a record, or why there is none."""
    if record.status != Status.OK:
        reason = f": {record.reason}" if record.reason else ""
        return Cell(f"{record.status}{reason}", meaning=Meaning.QUIET)
    return verdict(record.finding, meaning_of(record))


def who(record: Record) -> Cell:
    """Return the group of a record, with what it is about below it."""
    about = Subject(record.attribute, record.split).title
    within = (", within ", Name(record.control)) if record.control is not None else ()
    return Cell(everyone_or(record.group), ((about, *within),))


def everyone_or(group: str | None) -> Text:
    """Return the name of a group; no group is everyone."""
    return "everyone" if group is None else Name(group)


def measure_cell(record: Record) -> Cell:
    """Return the measure of a record, with its class or label below it."""
    of = record.class_ if record.label is None else record.label
    return Cell(title_of(record.measure), () if of is None else (Name(of),))


def named_measure(record: Record) -> Cell:
    """Return the measure of a record with its short name."""
    title = title_of(record.measure)
    return Cell(f"{title} ({record.alias})" if record.alias and record.alias != title else title)


def limited_table(
    caption: Text, columns: Sequence[Column], rows: Sequence[Row], *, total: int | None = None, what: str = "rows",
    chosen: str = "", most: int = MOST_ROWS,
) -> DataTable:  # fmt: skip
    """Return a table of as many rows as a page can hold; the others are counted."""
    every = sum(not row.emphasis for row in rows) if total is None else total
    return DataTable(caption, tuple(columns), tuple(rows[:most]), every, what, chosen)
