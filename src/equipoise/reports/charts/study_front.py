"""Performance against fairness on the test rows, a panel a condition, with the front that was chosen on dev rows."""

from __future__ import annotations

import altair as alt

from equipoise.reports._formats import plural, safe_name
from equipoise.reports.charts.chart import INK, LINE, QUIET, ROWS, Chart, Fit, Row, finish, rounded
from equipoise.reports.charts.dumbbells import Look
from equipoise.reports.study_terms import title_of_measure, title_of_under
from equipoise.studies.findings import CellRecord, StudyResult

MOST_PANELS = 6
MOST_POINTS = 400
# In shares of what a narrow panel spans: how far a name stands from its mark, and how wide a letter is.
LIFT, LETTER = 0.07, 0.029
Box = tuple[float, float, float]
# Neither better nor worse: the front is chosen on dev rows, and says nothing about significance.
ON_FRONT = "#007A5E"
BASELINE, FRONT, OTHER = "baseline", "on the front (by dev rows)", "beaten on dev rows"
COLLAPSED, CONSTANT = "collapsed on dev rows", "constant prediction"
LOOKS = {
    BASELINE: Look(INK, INK, "diamond"),
    FRONT: Look(ON_FRONT, ON_FRONT, "circle"),
    OTHER: Look(QUIET, "#FFFFFF", "circle"),
    COLLAPSED: Look(QUIET, "#FFFFFF", "triangle-down"),
    CONSTANT: Look(INK, "#FFFFFF", "cross"),
}


def front(result: StudyResult) -> Chart | None:
    """Draw every cell, and the front."""
    unders = result.unders[:MOST_PANELS]
    rows: list[Row] = []
    for place, cell in enumerate(result.cells[:MOST_POINTS]):
        under = (cell.condition, cell.learner)
        if (
            under in unders
            and cell.test_performance == cell.test_performance
            and cell.test_fairness == cell.test_fairness
        ):
            rows.append(_row(place, cell, unders.index(under), result.baseline))
    if not rows:
        return None
    rows += _constants(result, sorted({int(str(row["panel"])) for row in rows}))
    _place_names(rows)
    looks = {name: look for name, look in LOOKS.items() if any(row["what"] == name for row in rows)}
    titles = [title_of_under(result, under) for under in unders]
    performance = title_of_measure(result.performance[0])
    number = plural(len(unders), "condition")
    marks = plural(sum(row["what"] != CONSTANT for row in rows), "cell")
    words = f"Scatter of {performance} and fairness of {marks} under {number}, and of a constant prediction."
    notes = []
    if len(unders) < len(result.unders):
        notes.append(f"Shown are {len(unders)} of {len(result.unders)} conditions; the JSON has all of them.")
    return Chart(
        name="front",
        title="Performance and fairness together",
        caption=(
            "Each mark is a treatment (with each of its settings) at its test numbers; up and right is better. Filled "
            "circles are on the front: no other was at least as good on both on the dev rows. The line joins them in "
            "the order of their dev performance; on test rows it may turn back. The cross is a model that predicts the "
            "same for everybody: what has collapsed to one on the dev rows is not on the front."
        ),
        alt=words + " The numbers are in the table below.",
        spec=finish(_plot(looks, len(unders), performance), rows, {"panels": titles}, alt=words),
        fit=Fit(min(3, len(unders)), 240, 480, 70, max(map(len, looks))),
        notes=tuple(notes),
        rows=3 * len(rows),
    )


def _constants(result: StudyResult, panels: list[int]) -> list[Row]:
    """Return the mark of a constant prediction in every panel; nothing where it has no numbers."""
    constant = result.constant
    if constant is None or constant.performance != constant.performance or constant.fairness != constant.fairness:
        return []
    name = safe_name(f"always {constant.prediction}", 26)
    return [
        {"cell": None, "panel": panel, "x": rounded(constant.performance), "y": rounded(constant.fairness),
         "what": CONSTANT, "name": name, "front": False, "order": None, "of": name, "devx": None, "devy": None}
        for panel in panels
    ]  # fmt: skip


def _row(place: int, cell: CellRecord, panel: int, baseline: str) -> Row:
    is_baseline = cell.treatment == baseline and cell.chosen
    name = safe_name(cell.treatment + (f" ({cell.setting})" if cell.setting else ""), 26)
    return {
        "cell": place, "panel": panel, "x": rounded(cell.test_performance), "y": rounded(cell.test_fairness),
        "what": COLLAPSED if cell.collapsed else BASELINE if is_baseline else FRONT if cell.on_front else OTHER,
        "name": name if is_baseline or cell.on_front or (cell.chosen and not cell.setting) else "",
        "front": cell.on_front, "order": rounded(cell.dev_performance), "of": name,
        "devx": rounded(cell.dev_performance), "devy": rounded(cell.dev_fairness),
    }  # fmt: skip


def _place_names(rows: list[Row]) -> None:
    """Write a name above its mark, below it where that is taken by a name or a mark, and nowhere where both are.

    The front and the baseline are named first; a name that found no room is told by the mark's tooltip.
    """
    for panel in dict.fromkeys(row["panel"] for row in rows):
        own = [row for row in rows if row["panel"] == panel]
        across, up = (_reach([float(str(row[axis])) for row in own]) for axis in ("x", "y"))
        marks = [(float(str(row["x"])) / across, float(str(row["y"])) / up, 0.0) for row in own]
        taken = list(marks)
        left = min(x for x, _, _ in marks)
        for row, (x, y, _) in sorted(
            zip(own, marks, strict=True), key=lambda one: (one[0]["what"] == OTHER, -one[1][1])
        ):
            name = str(row.pop("name"))
            width = LETTER * len(name)
            row["align"], at = _aligned(x - left, x, width)
            boxes = {"above": (at, y + LIFT, width), "below": (at, y - LIFT, width)}
            side = next((side for side, box in boxes.items() if not any(_touch(box, other) for other in taken)), None)
            row["above"], row["below"] = (name if side == one else "" for one in boxes)
            if name and side is not None:
                taken.append(boxes[side])


def _aligned(share: float, x: float, width: float) -> tuple[str, float]:
    """Let names at the sides of a panel grow inwards; return how, and where the middle of the name then is."""
    if 0.2 <= share <= 0.8:
        return "center", x
    return ("left", x + width / 2) if share < 0.2 else ("right", x - width / 2)


def _touch(one: Box, other: Box) -> bool:
    """Tell whether two names, or a name and a mark, would lie over each other."""
    return abs(one[0] - other[0]) < (one[2] + other[2]) / 2 and abs(one[1] - other[1]) < 0.9 * LIFT


def _reach(values: list[float]) -> float:
    return max(values) - min(values) or 1.0


def _plot(looks: dict[str, Look], panels: int, performance: str) -> alt.FacetChart:
    base = alt.Chart()
    x = alt.X("x:Q").title(f"{performance}, test").scale(zero=False, padding=28)
    x = x.axis(tickCount=4, format=".3~f", gridColor=LINE, labelOverlap="greedy", labelSeparation=6)
    y = (
        alt.Y("y:Q")
        .title("fairness, test")
        .scale(zero=False, padding=22)
        .axis(tickCount=5, format=".3~f", gridColor=LINE)
    )
    names = list(looks)
    colour, fill, shape = (
        channel("what:N").scale(domain=names, range=[getattr(look, part) for look in looks.values()]).legend(title=None)
        for channel, part in ((alt.Color, "colour"), (alt.Fill, "fill"), (alt.Shape, "shape"))
    )
    tooltip = [
        alt.Tooltip("of:N", title="treatment"),
        alt.Tooltip("x:Q", title="performance, test", format=".4f"),
        alt.Tooltip("y:Q", title="fairness, test", format=".4f"),
        alt.Tooltip("devx:Q", title="performance, dev", format=".4f"),
        alt.Tooltip("devy:Q", title="fairness, dev", format=".4f"),
    ]
    line = (
        base.mark_line(color=ON_FRONT, strokeDash=[4, 3], strokeWidth=1.2)
        .encode(x=x, y=y, order="order:Q")
        .transform_filter("datum.front")
    )
    point = base.mark_point(size=80, opacity=1, strokeWidth=1.5).encode(
        x=x, y=y, color=colour, fill=fill, shape=shape, tooltip=tooltip
    )
    align = alt.ExprRef("datum.align")
    above, below = (
        base.mark_text(fontSize=11, color=INK, limit=150, align=align, baseline="middle", dy=dy).encode(
            x=x, y=y, text=f"{side}:N"
        )
        for side, dy in (("above", -13), ("below", 14))
    )
    plot: alt.FacetChart = (
        alt.layer(line, point, above, below)
        .properties(width=250, height=230)
        .facet(
            data=alt.NamedData(ROWS),
            facet=alt.Facet("panel:O").header(title=None, labelExpr="panels[datum.value]"),
            columns=min(panels, 3),
        )
        .resolve_axis(x="independent", y="independent")
        .resolve_scale(x="independent", y="independent")
    )
    return plot
