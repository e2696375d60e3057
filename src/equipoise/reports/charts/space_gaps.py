"""The gaps of an embedding: to the right the minoritised are worse off. Findings differ in shape too."""

from __future__ import annotations

from equipoise.audits import AuditResult
from equipoise.reports._formats import plural, safe_name
from equipoise.reports.charts.chart import Chart, Row, finish, rounded
from equipoise.reports.charts.dumbbells import CHANCE, FOUND, RING
from equipoise.reports.charts.intervals import fit, interval_panels, spanned, with_room
from equipoise.reports.spaces import ORIENTED, main_gaps, majoritised, space_order, value_title
from equipoise.reports.subjects import Subject, subjects_of
from equipoise.results import Record

MOST_LINES = 40
FINDING, NO_FINDING, UNTESTED = "confirmed", "not significant", "not tested"
LOOKS = {FINDING: FOUND, NO_FINDING: CHANCE, UNTESTED: RING}
NUMBERS = {
    "value": ("gap", "+.4g"), "low": ("from", "+.4g"), "high": ("to", "+.4g"), "p": ("p, corrected", ".3g"),
}  # fmt: skip


def space_gaps(result: AuditResult) -> Chart | None:
    """Draw the gaps of every attribute: a line an attribute (and rule), a panel a measure."""
    placed = [
        (place, record, _label(result, subject, record))
        for subject in subjects_of(result)
        for place, record in main_gaps(result, subject)
        if record.defined
    ]
    if not placed:
        return None
    every = list(dict.fromkeys(label for _, _, label in placed))
    labels = every[:MOST_LINES]
    measures = sorted({record.measure for _, record, _ in placed}, key=space_order)
    rows = [
        _row(place, record, labels.index(label), measures.index(record.measure), label)
        for place, record, label in placed
        if label in labels
    ]
    findings = sum(1 for _, record, _ in placed if record.finding)
    looks = {name: look for name, look in LOOKS.items() if any(row["what"] == name for row in rows)}
    words = (
        f"Gaps of {plural(len(measures), 'measure')} on {plural(len(labels), 'line')}: {plural(findings, 'finding')}."
    )
    return Chart(
        name="gaps of the space",
        title="Gaps with their intervals",
        caption=(
            f"{plural(len(placed), 'gap')}, {plural(findings, 'finding')}. Right of 0 the minoritised groups are worse "
            "off, whichever end of the measure is better; left of 0 they are better off. Best minus worst is never "
            "below 0 and has no interval."
        ),
        alt=words + " The numbers are in the table of gaps below.",
        spec=with_room(
            finish(
                interval_panels(
                    looks, NUMBERS, panels=len(measures), lines=len(labels), title="worse off →", zero=True
                ),
                rows,
                {"labels": labels, "panels": [value_title(result, measure) for measure in measures]},
                alt=words,
            )
        ),
        fit=fit(len(measures), labels, looks, columns=4),
        notes=(f"Shown are {len(labels)} of {len(every)} lines.",) if len(labels) < len(every) else (),
        rows=3 * len(rows),
    )


def _label(result: AuditResult, subject: Subject, record: Record) -> str:
    name = safe_name(subject.title, 24)
    if record.variant != ORIENTED:
        return f"{name}: best minus worst"
    return f"{name} (against {safe_name(majoritised(result, subject) or 'the largest', 20)})"


def _row(place: int, record: Record, line: int, panel: int, label: str) -> Row:
    return {
        "record": place,
        "line": line,
        "panel": panel,
        **spanned(record.value, record.low, record.high),
        "p": rounded(record.p_adjusted),
        "what": UNTESTED if record.finding is None else FINDING if record.finding else NO_FINDING,
        "of": label,
    }
