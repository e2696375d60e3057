"""Class by class: from the lowest of identical runs to the highest, one line per technique and a column a class."""

from __future__ import annotations

import altair as alt

from equipoise.audits.evidence import RULE
from equipoise.reports._formats import plural, safe_name
from equipoise.reports.charts.chart import INK, QUIET, Chart, Row, finish, rounded
from equipoise.reports.charts.effects import ORANGES, WHITE
from equipoise.reports.charts.grid import Lines, grid
from equipoise.reports.charts.intervals import with_room
from equipoise.reports.study_terms import title_of_under
from equipoise.studies.findings import IMPACT, ClassRecord, StudyResult

MOST_LINES, MOST_CLASSES = 36, 12
WIDTH = 74
# Of a difference between identical runs, light enough for dark letters.
STEPS = {
    "under 2 points": (0.02, WHITE), "2 to 5": (0.05, ORANGES[0]), "5 to 10": (0.10, ORANGES[2]),
    "10 to 20": (0.20, ORANGES[3]), "20 points or more": (float("inf"), ORANGES[5]),
}  # fmt: skip


def classes(result: StudyResult) -> Chart | None:
    """Draw the range of identical runs of each class, on disparate impact or else on the first bias told by class."""
    own = _told(result)
    if not own:
        return None
    columns, left_out = _columns(own)
    lines, rows = Lines(), []
    for under in result.unders:
        treatments = list(dict.fromkeys(one.treatment for one in own if (one.condition, one.learner) == under))
        if not treatments or len(lines.names) + len(treatments) >= MOST_LINES:
            left_out += bool(treatments)
            continue
        if len(result.unders) > 1:
            lines.add(title_of_under(result, under), head=True)
        places = {treatment: lines.add(safe_name(treatment, 40)) for treatment in treatments}
        rows += [
            _cell(place, one, places[one.treatment], columns.index(one.class_))
            for place, one in enumerate(own)
            if (one.condition, one.learner) == under and one.class_ in columns
        ]
    if not rows:
        return None
    name = own[0].alias or own[0].measure
    words = (
        f"Range of {safe_name(name, 30)} over identical runs, {plural(len(columns), 'class', 'classes')} by technique."
    )
    used = {step: colour for step, (_, colour) in STEPS.items() if any(row["step"] == step for row in rows)}
    headings: list[object] = [safe_name(column, 14) for column in columns]
    spec = with_room(finish(_plot(used, len(lines.names), len(columns)), rows, lines.labels(headings), alt=words))
    spec["config"]["view"] = {"stroke": None}
    return Chart(
        name="classes",
        title=f"Identical runs class by class ({safe_name(name, 30)})",
        caption=(
            "In each cell the lowest and the highest of the identical runs, in percent. The deeper the colour, the "
            "further they lie apart. Bold: some runs are within the 20% rule and others are not."
        ),
        alt=words + " The numbers are in the JSON.",
        spec=spec,
        notes=("Classes or conditions that move less are left out here; the JSON has them.",) if left_out else (),
        rows=2 * len(rows),
    )


def _told(result: StudyResult) -> list[ClassRecord]:
    """Return the classes on one bias, of one seed of each technique."""
    measures = list(dict.fromkeys(one.measure for one in result.identical_classes))
    measure = IMPACT if IMPACT in measures else next(iter(measures), "")
    best: dict[tuple[str, str, str], tuple[int, int, int]] = {}
    for one in result.identical_classes:
        key, size = (one.condition, one.learner, one.treatment), (one.runs, -one.seed, -one.environment)
        best[key] = max(best.get(key, size), size)
    return [
        one
        for one in result.identical_classes
        if one.measure == measure
        and (-one.seed, -one.environment) == best[one.condition, one.learner, one.treatment][1:]
    ]


def _columns(own: list[ClassRecord]) -> tuple[list[str], int]:
    """Return the classes in their order; of too many those that move furthest, and how many are left out."""
    most: dict[str, float] = {}
    for one in own:
        most[one.class_] = max(most.get(one.class_, 0.0), one.maxdiff)
    chosen = set(sorted(most, key=lambda name: -most[name])[:MOST_CLASSES])
    return [name for name in most if name in chosen], len(most) - len(chosen)


def _cell(place: int, one: ClassRecord, line: int, column: int) -> Row:
    step = next(step for step, (most, _) in STEPS.items() if one.maxdiff < most)
    return {
        "place": place, "line": line, "column": column, "step": step,
        "text": f"{100 * one.min:.0f}–{100 * one.max:.0f}", "found": one.min <= RULE < one.max,
        "low": rounded(one.min), "high": rounded(one.max), "diff": rounded(one.maxdiff),
        "technique": safe_name(one.treatment), "of": safe_name(one.class_), "runs": one.runs,
        "best": one.lowest_run, "worst": one.highest_run,
    }  # fmt: skip


def _plot(steps: dict[str, str], lines: int, columns: int) -> alt.TopLevelMixin:
    base = grid(lines, WIDTH)
    colour = (
        alt.Color("step:N")
        .scale(domain=list(steps), range=list(steps.values()))
        .legend(
            title=None, orient="bottom", symbolType="square", symbolStrokeColor=QUIET, symbolStrokeWidth=1, columns=5
        )
    )
    tooltip = [
        alt.Tooltip("technique:N", title="technique"),
        alt.Tooltip("of:N", title="class"),
        alt.Tooltip("low:Q", title="lowest run", format=".1%"),
        alt.Tooltip("high:Q", title="highest run", format=".1%"),
        alt.Tooltip("best:Q", title="the lowest is run"),
        alt.Tooltip("worst:Q", title="the highest is run"),
        alt.Tooltip("runs:Q", title="runs"),
    ]
    box = base.mark_rect(stroke="white", strokeWidth=2).encode(color=colour, tooltip=tooltip)
    plain = base.mark_text(fontSize=12, color=INK).encode(text="text:N").transform_filter("!datum.found")
    bold = (
        base.mark_text(fontSize=12, color=INK, fontWeight="bold").encode(text="text:N").transform_filter("datum.found")
    )
    return alt.layer(box, plain, bold).properties(width=columns * WIDTH, height=alt.Step(26))
