"""What changed, as plain data for a page: a table in which every cell names its change."""

from __future__ import annotations

from equipoise.audits.result import AuditResult
from equipoise.reports.audit_tables import Table, known, limited
from equipoise.reports.measure_words import title_of
from equipoise.reports.subjects import Subject
from equipoise.results import Status

DESIGNS = {
    "paired": "The same rows were judged twice: a change counts those whose outcome is another one now.",
    "independent": "The two sides are different people, taken as two independent samples.",
}


def summarise_changes(result: AuditResult) -> Table:
    """Return the part about changes; its total is 0 where none was asked for."""
    rows: list[Table] = [
        {
            "change": place,
            "kind": change.kind,
            "title": title_of(change.measure),
            "subject": Subject(change.attribute, change.split).title if change.attribute else (change.split or ""),
            "class": change.class_,
            "group": change.group,
            "against": change.against,
            "before": known(change.before),
            "after": known(change.after),
            "moved": known(change.change),
            "low": known(change.low),
            "high": known(change.high),
            "p_adjusted": known(change.p_adjusted),
            "finding": change.finding,
            "status": change.status,
            "reason": change.reason,
        }
        for place, change in enumerate(result.changes)
    ]
    rows.sort(key=lambda row: (row["finding"] is not True, row["status"] != Status.OK))
    tested = [change for change in result.changes if change.finding is not None]
    return {
        **limited(rows),
        "design": DESIGNS[result.changes[0].design] if result.changes else "",
        "tested": len(tested),
        "findings": sum(1 for change in tested if change.finding),
    }
