"""The values of an embedding for each group, with their intervals: a line a group, a panel a measure."""

from __future__ import annotations

from equipoise.audits import AuditResult
from equipoise.reports._formats import plural, safe_name
from equipoise.reports.charts.chart import INK, QUIET, Chart, Row, finish
from equipoise.reports.charts.dumbbells import Look
from equipoise.reports.charts.grid import Lines
from equipoise.reports.charts.intervals import fit, interval_panels, spanned
from equipoise.reports.measure_words import better_end
from equipoise.reports.spaces import CHANCE, NMI, VALUES, first_of, value_title, values_of
from equipoise.reports.subjects import Placed, groups_of, subjects_of
from equipoise.results import Record, Status

MOST_GROUPS = 40
EVERYONE, GROUP, SMALL, BY_CHANCE = "everyone", "a group", "too few rows to test", "NMI by chance"
LOOKS = {
    EVERYONE: Look(INK, INK, "square"), GROUP: Look("#0072B2", "#0072B2", "circle"),
    SMALL: Look(QUIET, "#FFFFFF", "circle"), BY_CHANCE: Look(INK, INK, "M0,-1L0,1"),
}  # fmt: skip
NUMBERS = {
    "value": ("value", ".4g"), "low": ("from", ".4g"), "high": ("to", ".4g"),
}  # fmt: skip

EQUAL_SIZE = "Uniformity is taken at the size of an attribute's smallest group: compare it within an attribute only."


def space_values(result: AuditResult) -> Chart | None:
    """Draw the main values of every group beside everyone's."""
    everyone, subjects = values_of(result, None), subjects_of(result)
    every = [*everyone, *(item for subject in subjects for item in values_of(result, subject))]
    measures = [name for name in VALUES if any(r.measure == name and r.defined for _, r in every)]
    if not measures or not subjects:
        return None
    lines, rows, notes = Lines(), [], []
    rows += _line(everyone, None, lines.add(EVERYONE), measures)
    room = max(MOST_GROUPS // len(subjects), 4)
    for subject in subjects:
        own = values_of(result, subject)
        groups = groups_of(own)
        if len(groups) > room:
            notes.append(f"Of {subject.title}, {room} of {len(groups)} groups are drawn; the table has more.")
        lines.add(safe_name(subject.title, 30), head=True)
        for group in groups[:room]:
            rows += _line(own, group, lines.add(safe_name(group, 30)), measures)
    drawn = lines.heads.count(False) - 1
    words = (
        f"Values of {plural(drawn, 'group')} beside everyone's, with intervals, for {plural(len(measures), 'measure')} "
        "of the space."
    )
    panels: list[object] = [_panel(result, measure) for measure in measures]
    looks = {name: look for name, look in LOOKS.items() if any(row["what"] == name for row in rows)}
    chance = " The upright stroke beside NMI is what chance alone gives such clusters." if NMI in measures else ""
    return Chart(
        name="values",
        title="Every group beside everyone",
        caption=(
            f"A mark is a value, the line its 95% interval; an arrow points to the better side.{chance} {EQUAL_SIZE}"
        ),
        alt=words + " The numbers are in the table of values below.",
        spec=finish(
            interval_panels(looks, NUMBERS, panels=len(measures), lines=len(lines.names), heads=True),
            rows,
            lines.labels([]) | {"panels": panels},
            alt=words,
        ),
        fit=fit(len(measures), lines.names, looks, columns=4),
        notes=tuple(notes),
        rows=3 * len(rows),
    )


def _panel(result: AuditResult, measure: str) -> str:
    name = value_title(result, measure)
    return f"{name} →" if better_end(measure) == "high" else f"← {name}"


def _line(placed: list[Placed], group: str | None, line: int, measures: list[str]) -> list[Row]:
    rows = []
    for panel, measure in enumerate(measures):
        found = first_of(placed, measure, group)
        if found is None or not found[1].defined:
            continue
        chance = first_of(placed, CHANCE, group) if measure == NMI else None
        if chance is not None and chance[1].defined:
            rows.append(_row(*chance, line, panel, BY_CHANCE))
        small = found[1].status == Status.TOO_SMALL
        rows.append(_row(*found, line, panel, EVERYONE if group is None else SMALL if small else GROUP))
    return rows


def _row(place: int, record: Record, line: int, panel: int, what: str) -> Row:
    return {
        "record": place,
        "line": line,
        "panel": panel,
        "what": what,
        "of": EVERYONE if record.group is None else safe_name(record.group),
        **spanned(record.value, record.low, record.high),
    }
