"""What a part of a report is about: an attribute of one split, and the records that speak of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from equipoise.audits import AuditResult, GroupResult
from equipoise.reports._formats import safe_name
from equipoise.reports._measure_words import is_classwise
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
