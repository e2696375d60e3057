"""Before and after as dumbbells: two rates of each group, a line between them. Findings differ in shape too."""

from __future__ import annotations

import math
from collections.abc import Sequence

from equipoise.audits import AuditResult
from equipoise.audits.change import Change
from equipoise.reports._formats import plural, safe_name
from equipoise.reports.charts.chart import Chart, Row, finish, rounded
from equipoise.reports.charts.dumbbells import CHANCE, FOUND, RING, dumbbells, fit, pair
from equipoise.reports.measure_words import reading_order, title_of
from equipoise.reports.subjects import Subject
from equipoise.results import Status

MOST_LINES = 40
# A scale shows at least so many points, or a change of a tenth of a point would look like a leap.
LEAST_POINTS = 10
BEFORE, FINDING, NO_FINDING = "before", "after: confirmed", "after: not significant"
LOOKS = {BEFORE: RING, FINDING: FOUND, NO_FINDING: CHANCE}
MOVED = {"moved": "change", "low": "low", "high": "high"}
NUMBERS = {
    "rate": ("rate, %", ".2f"), "moved": ("change, points", "+.2f"), "low": ("from", "+.2f"), "high": ("to", "+.2f"),
    "p": ("p, corrected", ".3g"),
}  # fmt: skip

# A line of the plot: a class where there are several, and a group; None for everyone.
Line = tuple[str | None, str | None]
Placed = tuple[int, Change]


def before_after(result: AuditResult, subject: Subject) -> Chart | None:
    """Draw the changes of a subject's rates: a line a group, a panel a measure."""
    placed = [
        (place, change)
        for place, change in enumerate(result.changes)
        if change.kind == "rate"
        and change.status == Status.OK
        and (subject.has(change) or _of_everyone(change, subject))
    ]
    if not any(change.group is not None for _, change in placed):
        return None
    lines, left_out = _lines(placed)
    measures = sorted({change.measure for _, change in placed}, key=reading_order)
    rows = [
        row
        for place, change in placed
        if _line(change) in lines
        for row in _rows(place, change, lines.index(_line(change)), measures.index(change.measure))
    ]
    own = [change for _, change in placed if change.group is not None]
    findings = sum(1 for change in own if change.finding)
    words = (
        f"Rates of {subject.title} before and after: {plural(findings, 'finding')} among {plural(len(own), 'change')}."
    )
    names = [_label(line) for line in lines]
    low, high = _scale([100 * rate for _, change in placed for rate in (change.before, change.after)])
    return Chart(
        name=f"changes {subject.title}",
        title=f"{subject.title}: before and after",
        caption=(
            f"{plural(len(own), 'change')}, {plural(findings, 'finding')}. A hollow ring is the rate before. All "
            f"panels have one scale, from {low:g} to {high:g}%."
        ),
        alt=words + " The numbers are in the table of changes below.",
        spec=finish(
            dumbbells(LOOKS, NUMBERS, panels=len(measures), lines=len(lines), unit="%", domain=(low, high)),
            rows,
            {"labels": names, "panels": [title_of(name) for name in measures]},
            alt=words,
        ),
        fit=fit(len(measures), names, LOOKS, columns=5, widest=260),
        notes=(f"Shown are the {len(lines)} of {len(lines) + left_out} lines that changed most.",) if left_out else (),
        rows=2 * len(rows),
    )


def _scale(rates: Sequence[float]) -> tuple[float, float]:
    """Return where the scale of all panels begins and ends: whole fives around the rates, within 0 and 100."""
    low, high = 5 * math.floor(min(rates) / 5), 5 * math.ceil(max(rates) / 5)
    while high - low < LEAST_POINTS:
        low, high = max(low - 5, 0), min(high + 5, 100)
    return float(low), float(high)


def _of_everyone(change: Change, subject: Subject) -> bool:
    return change.group is None and change.split == subject.split


def _line(change: Change) -> Line:
    return (change.class_ if change.scope == "class" else None, change.group)


def _label(line: Line) -> str:
    class_, group = line
    name = "everyone" if group is None else safe_name(group, 40)
    return name if class_ is None else f"{safe_name(class_, 24)}: {name}"


def _lines(placed: Sequence[Placed]) -> tuple[list[Line], int]:
    """Return the lines in their order; where there are too many, those that changed most."""
    widest: dict[Line, float] = {}
    for _, change in placed:
        widest[_line(change)] = max(widest.get(_line(change), 0.0), abs(change.change))
    chosen = set(sorted(widest, key=lambda line: -widest[line])[:MOST_LINES])
    return [line for line in widest if line in chosen], len(widest) - len(chosen)


def _rows(place: int, change: Change, line: int, panel: int) -> list[Row]:
    common: Row = {"change": place, "line": line, "panel": panel, "group": _label((None, change.group))}
    common |= {name: rounded(getattr(change, field), 100) for name, field in MOVED.items()}
    common["p"] = rounded(change.p_adjusted)
    verdict = FINDING if change.finding else NO_FINDING
    return pair(common, (BEFORE, rounded(change.before, 100)), (verdict, rounded(change.after, 100)))
