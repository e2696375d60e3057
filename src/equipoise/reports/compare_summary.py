"""A comparison as one plain dictionary: everything its page says, before any of it is HTML."""

from __future__ import annotations

from collections.abc import Iterator

from equipoise.audits.compare.result import CompareResult
from equipoise.foundation.errors import listing
from equipoise.reports.compare_verdict import verdict_of
from equipoise.reports.plain_tables import Table, limited
from equipoise.reports.provenance import NOT_CERTIFIED, provenance_of

ONE_CHANGE = (
    "Tests here are about people: would others of the same kind give the same picture of this one change? Whether "
    "another training would change the same people is another question; a rerun (--rerun) is a first answer."
)
# There are many tables with a line a group: together they must fit a page.
MOST_LINES = 80
MOST_PEOPLE, MOST_COLUMNS = 50, 8
# The lists of a result that have a line a group, and what is untold of them.
PARTS = {
    "records": "Scores and shares", "descriptions": "Descriptions", "projections": "Projections",
    "outcomes": "Predictions", "floor": "Noise floor",
}  # fmt: skip


def summarise(result: CompareResult) -> Table:
    """Return what the page says, as plain data."""
    plain = result.as_json()
    lines = {name: _lines(plain, name) for name in (*PARTS, "rows")}
    groups = [line for line in lines["records"] if line["attribute"] is not None]
    return {
        "title": f"Comparison of {result.provenance.get('data')}",
        "call": "equipoise.compare",
        "created": result.provenance.get("created"),
        "verdict": verdict_of(result),
        "not_certified": NOT_CERTIFIED,
        "one_change": ONE_CHANGE,
        "similarity": _single(plain, "similarity"),
        "spaces": _spaces(result),
        "card": limited(groups, MOST_LINES),
        "scores": limited(lines["records"], MOST_LINES),
        "shares": limited([line for line in groups if line["share_changed"] is not None], MOST_LINES),
        "profiles": any(record.share_changed_profiles == record.share_changed_profiles for record in result.records),
        "rerun": bool(result.floor),
        "floor": limited(lines["floor"], MOST_LINES),
        "rings": limited(_ring_lines(result), MOST_LINES),
        "descriptions": limited(lines["descriptions"], MOST_LINES),
        "projections": limited(lines["projections"], MOST_LINES),
        "outcomes": limited(lines["outcomes"], MOST_LINES),
        "shifts": bool(result.outcomes) and result.outcomes[0].mean_shift is not None,
        "link": _single(plain, "link"),
        "attributes": list(result.attributes),
        "columns": list(result.attributes[:MOST_COLUMNS]),
        "people": limited(lines["rows"], MOST_PEOPLE),
        "untold": list(_untold(result)),
        "notes": list(result.notes),
        "provenance": provenance_of(result),
    }


def _single(plain: Table, name: str) -> Table | None:
    """Return a part of the JSON that is no list; None where there is none."""
    part = plain[name]
    return {"list": name, "place": "", **part} if isinstance(part, dict) else None


def _lines(plain: Table, name: str) -> list[Table]:
    """Return a list of the JSON as lines of a table: where they stand, what leads them, and every field."""
    records = plain[name]
    assert isinstance(records, list)
    return [
        {"list": name, "place": place, "lead": own.get("words", own.get("group")), "hint": own.get("attribute"), **own}
        for place, own in enumerate(records)
    ]


def _spaces(result: CompareResult) -> list[Table]:
    """Return what was compared: the name of each side, and its width."""
    options = result.provenance.get("options")
    sides = ((side, options.get(side) if isinstance(options, dict) else None) for side in ("before", "after"))
    return [{"side": side, **told} for side, told in sides if isinstance(told, dict)]


def _ring_lines(result: CompareResult) -> list[Table]:
    """Return the rings as lines: a group's share among the most changed beside its share of everyone."""
    lines: dict[tuple[str, str], Table] = {}
    for place, part in enumerate(result.rings):
        line = lines.setdefault((part.attribute, part.group), {"lead": part.group, "hint": part.attribute})
        line[part.whom] = {"list": "rings", "place": place, "share": part.share}
    return list(lines.values())


def _untold(result: CompareResult) -> Iterator[str]:
    """Yield what is hidden or undefined, and why; those with the same reason together."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for name, part in PARTS.items():
        for record in getattr(result, name):
            if record.reason is not None:
                words = getattr(record, "words", None) or f"{record.attribute} {record.group}"
                everyone = name != "descriptions" and record.attribute is None
                reasons.setdefault((part, record.reason), []).append("everyone" if everyone else words)
    for (part, reason), whom in reasons.items():
        yield f"{part} of {listing(whom, 6)}: {reason}."
    if result.link is not None and result.link.reason is not None:
        yield f"Whether the score foretells whose prediction moved: {result.link.reason}."
