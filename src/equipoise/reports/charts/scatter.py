"""Scatter plots: scores against what happened, gaps upstream against gaps downstream, performance against fairness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import altair as alt

from equipoise.audits import AuditResult
from equipoise.audits.downstream import PropagationPoint
from equipoise.foundation import fitting, plural
from equipoise.reports._comparisons import title_of_measure, title_of_under
from equipoise.reports._formats import count, distinct_names, percent, safe_name
from equipoise.reports._records import subjects_of, widest_groups, widest_in_words
from equipoise.reports._spaces import learner_title, value_title
from equipoise.reports.charts.chart import (
    COLOURS,
    INK,
    LINE,
    QUIET,
    SHAPES,
    STAR,
    ZERO,
    Chart,
    Fit,
    Look,
    Row,
    by_line,
    by_look,
    draw,
    in_panels,
    marks_once,
    number,
    rounded,
    spanned,
    tips,
    used,
)
from equipoise.results import Status
from equipoise.studies import StudyResult
from equipoise.studies.findings import (
    HALVES,
    MAJORITISED,
    RECALL,
    SPOKEN,
    CellRecord,
    SearchSetting,
    SpaceRecord,
    set_aside,
    source_title,
    title_of,
)

MOST_CALIBRATED = 18
LEAST_PEOPLE = 10
LEAST_BINS = 3
# As many letters fit above a panel; longer names keep their beginning and end.
PANEL_LETTERS = 17
MOST_ATTRIBUTES = 10
MOST_PANELS = 6
# Marks of one attribute lie on one upright line: each measure is moved aside by so many pixels.
ASIDE = 11
MOST_PAIRS = 1_200
# What a classifier was trained on, with colour and shape.
TRAININGS = {
    "own": ("trained on own rows", COLOURS[0], "circle"),
    "balanced": ("on balanced rows", COLOURS[1], SHAPES[1]),
}
MOST_POINTS = 400
# In shares of what a narrow panel spans: how far a name stands from its mark, and how wide a letter is.
LIFT, LETTER_SHARE = 0.07, 0.029
Box = tuple[float, float, float]
# Neither better nor worse: the front is chosen on dev rows, and says nothing about significance.
ON_FRONT = "#007A5E"
BASELINE, FRONT, OTHER = "baseline", "on the front (by dev rows)", "beaten on dev rows"
COLLAPSED, CONSTANT = "collapsed on dev rows", "constant prediction"
FRONT_LOOKS = {
    BASELINE: Look(INK, INK, STAR),
    FRONT: Look(ON_FRONT, ON_FRONT, "circle"),
    OTHER: Look(QUIET, "#FFFFFF", "circle"),
    COLLAPSED: Look(QUIET, "#FFFFFF", SHAPES[1]),
    CONSTANT: Look(INK, "#FFFFFF", STAR),
}


def calibration(result: AuditResult, split: str | None) -> Chart | None:
    """Draw observed shares against mean scores, one panel per group."""
    subjects = [subject for subject in subjects_of(result) if subject.split == split]
    points = [point for point in result.calibration if point.weight >= LEAST_PEOPLE]
    subject_points = {subject: [point for point in points if subject.has(point)] for subject in subjects}
    subjects = [subject for subject in subjects if subject_points[subject]]
    rows: list[Row] = []
    panels: list[str] = []
    notes: list[str] = []
    for subject in subjects:
        bins = Counter(point.group for point in subject_points[subject])
        groups = [group for group, number in bins.items() if number >= LEAST_BINS]
        if len(groups) < len(bins):
            blank_panels = len(bins) - len(groups)
            are = fitting(blank_panels, "is", "are")
            notes.append(f"Of {subject.title}, {plural(blank_panels, 'group')} with too few people {are} not drawn.")
        room = (MOST_CALIBRATED - len(panels)) if subject is subjects[-1] else MOST_CALIBRATED // len(subjects)
        chosen = widest_groups(result, subject, groups, max(room, 2))
        if len(chosen) < len(groups):
            which = widest_in_words(result, subject)
            notes.append(f"Of {subject.title}, the {len(chosen)} of {len(groups)} groups {which}.")
        rows += [
            {
                "panel": len(panels) + chosen.index(point.group),
                "x": rounded(point.mean_score),
                "y": rounded(point.observed),
                "people": rounded(point.weight),
                "text": f"{percent(point.observed)} of {count(point.weight)}",
            }
            for point in subject_points[subject]
            if point.group in chosen
        ]
        panels += distinct_names(chosen, PANEL_LETTERS)
    if not rows:
        return None
    words = (
        f"Calibration of {plural(len(panels), 'group')}: observed share against mean score, in ten bins of the score."
    )
    return draw(
        _calibration_plot(len(panels)),
        rows,
        {"panels": panels},
        name=f"calibration {split or ''}".strip(),
        title="Calibration" + (f" ({safe_name(split)})" if split is not None else ""),
        caption=(
            "For those with about the same score: the mean score across, the share that truly was so up. On the dashed "
            "line a score means what it says; points below it are scored too high. Larger points are more people; "
            f"bins with fewer than {LEAST_PEOPLE} are left out."
        ),
        words=words,
        where="",
        fit=Fit(min(6, len(panels)), 98, 160, 70),
        notes=notes,
        marks=3,
    )


def _calibration_plot(panels: int) -> alt.FacetChart:
    base = alt.Chart()
    even = marks_once().mark_rule(color=QUIET, strokeDash=[4, 3]).encode(
        x=alt.datum(0), y=alt.datum(0), x2=alt.datum(1), y2=alt.datum(1)
    )  # fmt: skip
    x = alt.X("x:Q").title(None).axis(values=[0, 0.5, 1], format="~g").scale(domain=[0, 1])
    y = alt.Y("y:Q").title("observed").axis(values=[0, 0.5, 1], format=".0%").scale(domain=[0, 1])
    line = base.mark_line(color=COLOURS[0], strokeWidth=1.5).encode(x=x, y=y)
    point = base.mark_point(filled=True, color=COLOURS[0], opacity=1).encode(
        x=x, y=y, size=alt.Size("people:Q").scale(type="sqrt", range=[20, 160]).legend(None),
        tooltip=tips(x=("mean score", ".3f"), text="truly so"),
    )  # fmt: skip
    return in_panels(
        [even, line, point], columns=min(panels, 6), width=100, height=100, labelLimit=124, labelFontSize=11
    )


def _zeros() -> list[alt.Chart]:
    """Return the two lines at 0."""
    return [marks_once().mark_rule(color=ZERO).encode(**{axis: alt.datum(0)}) for axis in ("y", "x")]


def _reach(values: Sequence[float], room: float, least: float) -> list[float]:
    """Return a domain for an axis: everything that is drawn and 0, with room at both ends."""
    ends = [0.0, *values]
    space = room * (max(ends) - min(ends)) or least
    return [min(ends) - space, max(ends) + space]


def propagation_chart(result: AuditResult) -> Chart | None:
    """Draw the pairs of gaps."""
    points = [(index, p) for index, p in enumerate(result.propagation) if p.status == Status.OK]
    attributes = list(dict.fromkeys(point.attribute for _, point in points))[:MOST_ATTRIBUTES]
    learners = list(dict.fromkeys(point.learner for _, point in points))[:MOST_PANELS]
    measures = list(dict.fromkeys(point.measure for _, point in points))[: len(SHAPES)]
    rows = [
        _propagation_row(record_index, point, learners.index(point.learner), measures.index(point.measure))
        for record_index, point in points
        if point.attribute in attributes and point.learner in learners and point.measure in measures
    ]
    if not rows:
        return None
    for row in rows:  # an attribute is named once a panel, above the highest of its marks
        row["top"] = max(number(other, "to") for other in rows if _same_point(row, other))
        row["name"] = row["of"] if row["line"] == 0 else ""
    upstream = value_title(result, points[0][1].upstream_measure)
    words = (
        f"Scatter of {plural(len(rows), 'pair')}: the gap in {upstream} of {plural(len(attributes), 'attribute')} "
        f"against the gaps of {plural(len(learners), 'classifier')}."
    )
    names = [measure.replace("_", " ") for measure in measures]
    return draw(
        _propagation_plot(
            len(learners),
            len(measures),
            upstream,
            _reach([number(row, "upstream") for row in rows], 0.18, 1.0),
            _reach([number(row, end) for row in rows for end in ("from", "to")], 0.18, 1.0),
        ),
        rows,
        {"panels": [learner_title(learner) for learner in learners], "lines": names},
        name="propagation",
        title="Gap of the space against gap downstream",
        caption=(
            f"Across, an attribute's gap in {upstream}; up, its gap in a classifier trained on the same points, with "
            "its 95% interval; both in percentage points. Right and above 0 the minoritised are worse off. A few "
            "points are an observation, not a law."
        ),
        words=words,
        fit=Fit(min(3, len(learners)), 210, 420, 70, max(map(len, names))),
        notes=_propagation_notes(points, len(attributes), len(learners)),
        marks=3,
    )


def _propagation_notes(points: list[tuple[int, PropagationPoint]], attributes: int, learners: int) -> tuple[str, ...]:
    every = len({point.attribute for _, point in points}), len({point.learner for _, point in points})
    if every == (attributes, learners):
        return ()
    return (f"Shown are {attributes} of {every[0]} attributes and {learners} of {every[1]} classifiers.",)


def _propagation_row(index: int, point: PropagationPoint, panel: int, line: int) -> Row:
    attribute = safe_name(point.attribute, 24)
    return {
        "propagation": index,
        "panel": panel,
        "line": line,
        "upstream": rounded(point.upstream, 100),
        **spanned(point.downstream, point.low, point.high, 100),
        "of": attribute,
        "group": f"{safe_name(str(point.group), 30)} against {safe_name(str(point.against), 30)}",
    }


def _same_point(row: Row, other: Row) -> bool:
    return (row["panel"], row["of"]) == (other["panel"], other["of"])


def _propagation_plot(
    panels: int, measures: int, upstream: str, across: list[float], up: list[float]
) -> alt.FacetChart:
    base, places = alt.Chart(), list(range(measures))
    channels = by_line(places, shapes=SHAPES)
    x = alt.X("upstream:Q").title(f"gap in {upstream}, points").scale(domain=across, nice=False)
    x = x.axis(tickCount=4, labelOverlap="greedy", labelSeparation=6, gridColor=LINE)
    y = alt.Y("from:Q").title("gap downstream, points").scale(domain=up, nice=False).axis(tickCount=5, gridColor=LINE)
    tooltip = tips(
        of="attribute", group="group", upstream=("upstream", "+.2f"), value=("downstream", "+.2f"),
        low=("from", "+.2f"), high=("to", "+.2f"),
    )  # fmt: skip
    layers = _zeros()
    for index in places:
        aside = ASIDE * (index - (measures - 1) / 2)
        points = base.transform_filter(alt.FieldEqualPredicate(field="line", equal=index))
        layers += [
            points.mark_rule(strokeWidth=2, xOffset=aside).encode(
                x=x, y=y, y2="to:Q", color=channels["color"], tooltip=tooltip
            ),
            points.mark_point(filled=True, size=75, opacity=1, xOffset=aside).encode(
                x=x, y="value:Q", **channels, tooltip=tooltip
            ),
        ]
    text = base.mark_text(fontSize=12, color=INK, align="center", baseline="bottom", dy=-8, limit=120)
    layers.append(text.encode(x=x, y="top:Q", text="name:N"))
    return in_panels(layers, columns=min(panels, 3), width=230, height=230, axes="")


def space_scatter(result: StudyResult) -> Chart | None:
    """Draw the pairs of gaps; none with fewer than two cells, where there is nothing to see."""
    aside = set_aside(space.source for space in result.spaces)
    across = {_cell_of(space): space for space in result.spaces if _is_gap(space, RECALL) and space.upstream}
    placed = [
        (index, space, across[_cell_of(space)])
        for index, space in enumerate(result.spaces)
        if _is_gap(space, SPOKEN)
        and space.training in TRAININGS
        and space.source not in aside
        and _cell_of(space) in across
    ]
    sources = list(dict.fromkeys(record.source for _, record, _ in placed))
    panels = sources[:MOST_PANELS]
    pairs = [item for item in placed if item[1].source in panels][:MOST_PAIRS]
    if len({_cell_of(record) for _, record, _ in pairs}) < 2:
        return None
    trained = [name for name in TRAININGS if any(record.training == name for _, record, _ in pairs)]
    rows = [_pair_row(*item, panels.index(item[1].source), trained.index(str(item[1].training))) for item in pairs]
    words = (
        f"Scatter of the gap in {title_of(RECALL)} of the space against the gap in {title_of(SPOKEN)} of "
        f"{plural(len(panels), 'classifier')}, {plural(len(rows), 'mark')}."
    )
    notes = [f"Shown are {len(panels)} of {len(sources)} classifiers."] if len(panels) < len(sources) else []
    return draw(
        _pair_plot(panels, [TRAININGS[name] for name in trained], rows),
        rows,
        {
            "panels": [safe_name(source_title(name), 44) for name in panels],
            "lines": [TRAININGS[name][0] for name in trained],
        },
        name="gaps upstream and downstream",
        title="Gap of the space against gap downstream",
        caption=(
            f"A mark is a condition, learner and treatment: across its gap in {title_of(RECALL)} of the space, up its "
            f"gap in {title_of(SPOKEN)} of a classifier on that space, means over seeds. Right of and above 0 the "
            "minoritised are worse off. Cells of one study share their test rows and seeds: no line is fitted."
        ),
        words=words,
        where="The numbers are in the tables.",
        fit=Fit(min(3, len(panels)), 190, 330, 70, 20),
        notes=notes,
    )


def _is_gap(record: SpaceRecord, measure: str) -> bool:
    return (
        record.kind == "gap" and record.rule in (MAJORITISED, HALVES) and record.measure == measure and record.defined
    )


def _cell_of(record: SpaceRecord) -> tuple[str, ...]:
    return record.condition, record.learner, record.treatment, record.setting, record.attribute


def _pair_row(index: int, record: SpaceRecord, above: SpaceRecord, panel: int, line: int) -> Row:
    title = " · ".join(part for part in (record.condition, record.learner, record.treatment, record.setting) if part)
    return {
        "space": index, "panel": panel, "line": line, "upstream": rounded(above.mean),
        "downstream": rounded(record.mean),
        "of": safe_name(title, 90),
    }  # fmt: skip


def _pair_plot(panels: Sequence[str], looks: Sequence[tuple[str, str, str]], rows: Sequence[Row]) -> alt.FacetChart:
    channels = by_line(
        range(len(looks)), colours=[look[1] for look in looks], shapes=[look[2] for look in looks], symbolOpacity=1
    )
    across, up = (_reach([number(row, name) for row in rows], 0.1, 0.05) for name in ("upstream", "downstream"))
    x = alt.X("upstream:Q").title(f"gap in {title_of(RECALL)} of the space").scale(domain=across, nice=False)
    x = x.axis(tickCount=4, format="+.2f", labelOverlap="greedy", gridColor=LINE)
    y = alt.Y("downstream:Q").title(f"gap in {title_of(SPOKEN)}").scale(domain=up, nice=False)
    y = y.axis(tickCount=5, format="+.2f", gridColor=LINE)
    tooltip = tips(of="cell", upstream=("space", "+.4f"), downstream=("downstream", "+.4f"))
    point = alt.Chart().mark_point(filled=True, size=55, opacity=0.8).encode(x=x, y=y, **channels, tooltip=tooltip)
    return in_panels([*_zeros(), point], columns=min(len(panels), 3), width=230, height=210, axes="")


def front(result: StudyResult) -> Chart | None:
    """Draw every cell, and the front."""
    unders = result.unders[:MOST_PANELS]
    rows: list[Row] = []
    for index, cell in enumerate(result.cells[:MOST_POINTS]):
        under = (cell.condition, cell.learner)
        if (
            under in unders
            and cell.test_performance == cell.test_performance
            and cell.test_fairness == cell.test_fairness
        ):
            rows.append(_front_row(index, cell, unders.index(under), result.baseline))
    if not rows:
        return None
    rows += _constants(result, sorted({int(str(row["panel"])) for row in rows}))
    _place_names(rows)
    looks = used(FRONT_LOOKS, rows)
    titles = [title_of_under(result, under) for under in unders]
    performance = title_of_measure(result.performance[0])
    number = plural(len(unders), "condition")
    marks = plural(sum(row["what"] != CONSTANT for row in rows), "cell")
    words = f"Scatter of {performance} and fairness of {marks} under {number}, and of a constant prediction."
    notes = []
    if len(unders) < len(result.unders):
        notes.append(f"Shown are {len(unders)} of {len(result.unders)} conditions; the JSON has all of them.")
    return draw(
        _front_plot(looks, len(unders), performance),
        rows,
        {"panels": titles},
        name="front",
        title="Performance and fairness together",
        caption=(
            "Each mark is a treatment (with each of its settings) at its test numbers; up and right is better. Filled "
            "circles are on the front: no other was at least as good on both on the dev rows. The line joins them in "
            "the order of their dev performance; on test rows it may turn back. The hollow star is a model that "
            "predicts the same for everybody: what has collapsed to one on the dev rows is not on the front."
        ),
        words=words,
        fit=Fit(min(3, len(unders)), 240, 480, 70, max(map(len, looks))),
        notes=notes,
        marks=3,
    )


CHOSEN, TRIED, TRIED_COLLAPSED = "chosen", "tried", "collapsed"
TRIED_LOOKS = {
    CHOSEN: Look(INK, INK, SHAPES[2]),
    TRIED: Look(COLOURS[0], "#FFFFFF", "circle"),
    TRIED_COLLAPSED: Look(QUIET, "#FFFFFF", SHAPES[1]),
}
MOST_SEARCHED = 12


def tried(result: StudyResult) -> Chart | None:
    """Draw the settings that a search tried, one panel per treatment and condition."""
    if result.search is None:
        return None
    units = list(dict.fromkeys(_unit_of(setting) for setting in result.search.settings))
    shown = units[:MOST_SEARCHED]
    several = len({unit[0] for unit in units}) > 1
    rows: list[Row] = [
        {
            "panel": shown.index(_unit_of(setting)), "x": rounded(setting.performance), "y": rounded(setting.fairness),
            "what": CHOSEN if setting.chosen else TRIED_COLLAPSED if setting.collapsed else TRIED,
            "of": ", ".join(f"{name} {value:g}" for name, value in setting.values.items()),
            "distance": rounded(setting.distance), "generation": setting.generation,
        }
        for setting in sorted(result.search.settings, key=lambda setting: setting.chosen)
        if _unit_of(setting) in shown
        and setting.performance == setting.performance and setting.fairness == setting.fairness
    ]  # fmt: skip
    if not rows:
        return None
    looks = used(TRIED_LOOKS, rows)
    titles = [
        f"{treatment}, {title_of_under(result, (condition, learner))}" if several else treatment
        for condition, learner, treatment, _ in shown
    ]
    performance = title_of_measure(result.performance[0])
    notes = []
    if len(shown) < len(units):
        notes.append(f"Shown are {len(shown)} of {len(units)} searches; the JSON has all of them.")
    return draw(
        _tried_plot(looks, len(shown), performance),
        rows,
        {"panels": [safe_name(title, 44) for title in titles]},
        name="tried",
        title="Settings that were tried",
        caption=(
            "Each mark is a setting at its dev numbers, up and right is better: a mean over the seeds of the search. "
            "The filled pentagon is the chosen one, nearest to the optimum among those that have not collapsed."
        ),
        words=f"Scatter of {performance} and fairness of {plural(len(rows), 'setting')} on dev rows.",
        fit=Fit(min(3, len(shown)), 240, 480, 70, max(map(len, looks))),
        notes=notes,
        marks=1,
    )


def _unit_of(setting: SearchSetting) -> tuple[str, str, str, str]:
    return setting.condition, setting.learner, setting.treatment, setting.selection


def _tried_plot(looks: dict[str, Look], panels: int, performance: str) -> alt.FacetChart:
    base = alt.Chart()
    x = alt.X("x:Q").title(f"{performance}, dev").scale(zero=False, padding=20)
    x = x.axis(tickCount=4, format=".3~f", gridColor=LINE, labelOverlap="greedy", labelSeparation=6)
    y = alt.Y("y:Q").title("fairness, dev").scale(zero=False, padding=16)
    y = y.axis(tickCount=5, format=".3~f", gridColor=LINE)
    point = base.mark_point(size=70, opacity=1, strokeWidth=1.5).encode(
        x=x, y=y, **by_look(looks),
        tooltip=tips(of="setting", x=("performance, dev", ".4f"), y=("fairness, dev", ".4f"),
                     distance=("distance to the optimum", ".4f"), generation=("generation", "d")),
    )  # fmt: skip
    return in_panels(point, columns=min(panels, 3), width=250, height=200, axes="xy")


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


def _front_row(index: int, cell: CellRecord, panel: int, baseline: str) -> Row:
    is_baseline = cell.treatment == baseline and cell.chosen
    name = safe_name(cell.treatment + (f" ({cell.setting})" if cell.setting else ""), 26)
    return {
        "cell": index, "panel": panel, "x": rounded(cell.test_performance), "y": rounded(cell.test_fairness),
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
        panel_rows = [row for row in rows if row["panel"] == panel]
        across, up = (_range([number(row, axis) for row in panel_rows]) for axis in ("x", "y"))
        marks = [(number(row, "x") / across, number(row, "y") / up, 0.0) for row in panel_rows]
        occupied = list(marks)
        leftmost = min(x for x, _, _ in marks)
        for row, (x, y, _) in sorted(
            zip(panel_rows, marks, strict=True), key=lambda marked: (marked[0]["what"] == OTHER, -marked[1][1])
        ):
            name = str(row.pop("name"))
            width = LETTER_SHARE * len(name)
            row["align"], at = _aligned(x - leftmost, x, width)
            boxes = {"above": (at, y + LIFT, width), "below": (at, y - LIFT, width)}
            side = next(
                (side for side, box in boxes.items() if not any(_touch(box, other) for other in occupied)), None
            )
            row["above"], row["below"] = (name if side == box else "" for box in boxes)
            if name and side is not None:
                occupied.append(boxes[side])


def _aligned(share: float, x: float, width: float) -> tuple[str, float]:
    """Let names at the sides of a panel grow inwards; return how, and where the middle of the name then is."""
    if 0.2 <= share <= 0.8:
        return "center", x
    return ("left", x + width / 2) if share < 0.2 else ("right", x - width / 2)


def _touch(box: Box, other: Box) -> bool:
    """Tell whether two names, or a name and a mark, would lie over each other."""
    return abs(box[0] - other[0]) < (box[2] + other[2]) / 2 and abs(box[1] - other[1]) < 0.9 * LIFT


def _range(values: Sequence[float]) -> float:
    return max(values) - min(values) or 1.0


def _front_plot(looks: dict[str, Look], panels: int, performance: str) -> alt.FacetChart:
    base = alt.Chart()
    x = alt.X("x:Q").title(f"{performance}, test").scale(zero=False, padding=28)
    x = x.axis(tickCount=4, format=".3~f", gridColor=LINE, labelOverlap="greedy", labelSeparation=6)
    y = alt.Y("y:Q").title("fairness, test").scale(zero=False, padding=22)
    y = y.axis(tickCount=5, format=".3~f", gridColor=LINE)
    tooltip = tips(
        of="treatment", x=("performance, test", ".4f"), y=("fairness, test", ".4f"), devx=("performance, dev", ".4f"),
        devy=("fairness, dev", ".4f"),
    )  # fmt: skip
    line = base.mark_line(color=ON_FRONT, strokeDash=[4, 3], strokeWidth=1.2).encode(x=x, y=y, order="order:Q")
    point = base.mark_point(size=80, opacity=1, strokeWidth=1.5).encode(x=x, y=y, **by_look(looks), tooltip=tooltip)
    names = [
        base.mark_text(
            fontSize=11, color=INK, limit=150, align=alt.ExprRef("datum.align"), baseline="middle", dy=dy
        ).encode(x=x, y=y, text=f"{side}:N")
        for side, dy in (("above", -13), ("below", 14))
    ]
    return in_panels(
        [line.transform_filter("datum.front"), point, *names], columns=min(panels, 3), width=250, height=230,
        axes="xy", scales="xy",
    )  # fmt: skip
