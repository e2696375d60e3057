"""What carries over: gaps of classifiers trained on the points, a line a classifier, a panel a measure."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.audits import AuditResult
from equipoise.audits.downstream import DownstreamRecord
from equipoise.reports._formats import plural, safe_name
from equipoise.reports.charts.chart import Chart, Row, finish, rounded
from equipoise.reports.charts.grid import Lines
from equipoise.reports.charts.intervals import fit, interval_panels, spanned, with_room
from equipoise.reports.charts.space_gaps import FINDING, LOOKS, NO_FINDING, UNTESTED
from equipoise.reports.spaces import learner_title

MOST_LINES = 48
NUMBERS = {
    "value": ("gap, points", "+.2f"), "low": ("from", "+.2f"), "high": ("to", "+.2f"), "p": ("p, corrected", ".3g"),
}  # fmt: skip

Placed = tuple[int, DownstreamRecord]


def downstream_gaps(result: AuditResult) -> Chart | None:
    """Draw every downstream gap with its interval."""
    placed = [
        (place, record)
        for place, record in enumerate(result.downstream)
        if record.kind in ("gap", "largest gap") and record.defined
    ]
    if not placed:
        return None
    measures = list(dict.fromkeys(record.measure for _, record in placed))
    learners = list(dict.fromkeys(record.learner for _, record in placed))
    lines, places, left_out = _lines([record for _, record in placed], learners)
    rows = [
        _row(place, record, places[who_of(record), record.learner], measures.index(record.measure))
        for place, record in placed
        if (who_of(record), record.learner) in places
    ]
    findings = sum(1 for _, record in placed if record.finding)
    looks = {name: look for name, look in LOOKS.items() if any(row["what"] == name for row in rows)}
    words = (
        f"Downstream gaps of {plural(len(learners), 'classifier')} in {plural(len(measures), 'measure')}: "
        f"{plural(findings, 'finding')}."
    )
    panels: list[object] = [measure.replace("_", " ").capitalize() for measure in measures]
    trained = "" if len(learners) > 1 else f" The classifier: {learner_title(learners[0])}."
    return Chart(
        name="downstream",
        title="Gaps of classifiers trained on the points",
        caption=(
            f"{plural(len(placed), 'gap')}, {plural(findings, 'finding')}, in percentage points with 95% intervals. "
            f"Right of 0 the named group is worse off.{trained}"
        ),
        alt=words + " The numbers are in the table of downstream values below.",
        spec=with_room(finish(
            interval_panels(
                looks, NUMBERS, panels=len(measures), lines=len(lines.names), title="points worse off →", zero=True,
                heads=True, own_scales=False,
            ),
            rows,
            lines.labels([]) | {"panels": panels},
            alt=words,
        )),
        fit=fit(len(measures), lines.names, looks, columns=3, widest=320),
        notes=(f"{plural(left_out, 'comparison')} did not fit; the table has all of them.",) if left_out else (),
        rows=3 * len(rows),
    )  # fmt: skip


def _lines(
    records: Sequence[DownstreamRecord], learners: Sequence[str]
) -> tuple[Lines, dict[tuple[str, str], int], int]:
    """Return the lines, where each comparison of each learner stands, and how many comparisons had no room."""
    lines, places, left_out = Lines(), {}, 0
    heads: set[str] = set()
    for who, record in {who_of(record): record for record in records}.items():
        if len(lines.names) + len(learners) >= MOST_LINES:
            left_out += 1
            continue
        head = safe_name(str(record.attribute), 30)
        if head not in heads:
            heads.add(head)
            lines.add(head, head=True)
        for learner in learners:
            title = f": {learner_title(learner)}" if len(learners) > 1 else ""
            places[who, learner] = lines.add(who.removeprefix(f"{_attribute(record)}: ") + title)
    return lines, places, left_out


def who_of(record: DownstreamRecord) -> str:
    """Name who is compared with whom."""
    name = _attribute(record)
    if record.kind == "largest gap":
        return f"{name}: best minus worst"
    return f"{name}: {safe_name(str(record.group), 20)} against {safe_name(str(record.against), 20)}"


def _attribute(record: DownstreamRecord) -> str:
    return safe_name(str(record.attribute), 20)


def _row(place: int, record: DownstreamRecord, line: int, panel: int) -> Row:
    found = record.finding
    return {
        "downstream": place,
        "line": line,
        "panel": panel,
        **spanned(record.value, record.low, record.high, 100),
        "p": rounded(record.p_adjusted),
        "what": UNTESTED if found is None else FINDING if found else NO_FINDING,
        "of": who_of(record),
    }
