"""Differences and values of groups with their intervals.

Colour and shape say what is confirmed, and for whom it is worse or better.
"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from equipoise.audits import AuditResult, GroupResult
from equipoise.audits.downstream import DownstreamRecord
from equipoise.foundation import plural
from equipoise.reports._document import Meaning
from equipoise.reports._formats import safe_name
from equipoise.reports._records import (
    Placed,
    Subject,
    better_end,
    contrasts_of,
    groups_of,
    is_classwise,
    is_share,
    meaning_of,
    name_of,
    reading_order,
    subjects_of,
    title_of,
)
from equipoise.reports._spaces import CHANCE as NMI_BY_CHANCE
from equipoise.reports._spaces import (
    NMI,
    ORIENTED,
    VALUES,
    first_of,
    learner_title,
    main_gaps,
    majoritised,
    space_order,
    value_title,
    values_of,
)
from equipoise.reports.charts.chart import (
    BETTER,
    INK,
    LETTER,
    LINE,
    OPEN,
    QUIET,
    REFERENCE,
    SHAPES,
    UNDECIDED,
    WORSE,
    ZERO,
    Chart,
    Fit,
    Lines,
    Look,
    Row,
    alone,
    by_look,
    draw,
    in_panels,
    interval_chart,
    line_axis,
    marks_once,
    rounded,
    spanned,
    tips,
)
from equipoise.results import Record, Status

MOST_LINES = 60
# What a mark says, and how it looks: the shape tells the same as the colour.
LOOKS = {
    Meaning.WORSE: ("worse for the group", Look(WORSE, WORSE, "diamond")),
    Meaning.BETTER: ("better for the group", Look(BETTER, BETTER, "square")),
    Meaning.NEUTRAL: ("confirmed", Look(INK, INK, "circle")),
    Meaning.QUIET: ("not significant", OPEN),
}
# The chart of the first screen: two measures at most, and so many lines.
MAIN_MEASURES, MAIN_LINES = 2, 16
# A line of the plot: a class or label where there are several, and a group.
ClassAndGroup = tuple[str | None, str]
MAIN_NUMBERS = {
    "value": ("difference", "+.2f"), "low": ("from", "+.2f"), "high": ("to", "+.2f"), "p": ("p, corrected", ".3g"),
}  # fmt: skip
UNTOLD = {Status.TOO_SMALL: "too few people"}
MANY_LINES = 24
# On paper three panels in a row can be read; with many lines all six, or the page is not long enough.
MOST_COLUMNS, STILL_COLUMNS, STILL_WIDTH = 6, 3, 180
MOST_GAPS = 40
NO_FINDING, UNTESTED = "not significant", "not tested"
# Of gaps that are above 0 where somebody is worse off, and below it where they are better off.
WORSE_OFF, BETTER_OFF = "confirmed, worse off", "confirmed, better off"
GAP_LOOKS = {
    WORSE_OFF: Look(WORSE, WORSE, "diamond"), BETTER_OFF: Look(BETTER, BETTER, "square"), NO_FINDING: OPEN,
    UNTESTED: UNDECIDED,
}  # fmt: skip
GAP_NUMBERS = {
    "value": ("gap", "+.4g"), "low": ("from", "+.4g"), "high": ("to", "+.4g"), "p": ("p, corrected", ".3g"),
}  # fmt: skip
MOST_VALUES = 40
EVERYONE, GROUP, SMALL, BY_CHANCE = "everyone", "a group", "too few rows to test", "NMI by chance"
VALUE_LOOKS = {
    EVERYONE: REFERENCE, GROUP: Look("#0072B2", "#0072B2", "circle"), SMALL: UNDECIDED,
    BY_CHANCE: Look(QUIET, "#FFFFFF", SHAPES[2]),
}  # fmt: skip
VALUE_NUMBERS = {
    "value": ("value", ".4g"), "low": ("from", ".4g"), "high": ("to", ".4g"),
}  # fmt: skip
EQUAL_SIZE = "Uniformity is taken at the size of an attribute's smallest group: compare it within an attribute only."
MOST_DOWNSTREAM = 48
DOWNSTREAM_NUMBERS = {
    "value": ("gap, points", "+.2f"), "low": ("from", "+.2f"), "high": ("to", "+.2f"), "p": ("p, corrected", ".3g"),
}  # fmt: skip


def forest(result: GroupResult, subject: Subject) -> Chart | None:
    """Draw the contrasts of a subject: one line per group, one panel per measure."""
    every = contrasts_of(result, subject)
    placed = [item for item in every if item[1].status == Status.OK and item[1].defined]
    if not placed:
        return None
    chosen, left_out = _contrast_lines(placed)
    lines = {line: number for number, line in enumerate(chosen)}
    measures = sorted({record.measure for _, record in placed}, key=reading_order)
    shares = all(is_share(record) for _, record in placed)
    rows = [
        _contrast_row(index, record, lines[_line_of(record)], measures.index(record.measure), shares)
        for index, record in every
        if _line_of(record) in lines and record.measure in measures
    ]
    findings = sum(1 for _, record in placed if record.finding)
    against = " or ".join(dict.fromkeys(safe_name(str(record.against)) for _, record in placed))
    words = f"Forest plot for {subject.title}: contrasts with {against}, {findings:,} confirmed."
    names = [_contrast_label(line) for line in lines]
    labels = {"labels": names, "panels": [title_of(measure) for measure in measures]}
    return draw(
        _contrasts_plot(len(measures), len(lines), shares),
        rows,
        labels,
        name=f"contrasts {subject.title}",
        title=f"{subject.title}: differences from {against}",
        caption=(
            f"{plural(len(placed), 'contrast')} with {against}, {findings:,} confirmed"
            + ("." if shares else "; in the units of each measure.")
        ),
        words=words,
        where="The numbers are in the table of contrasts below.",
        fit=Fit(min(MOST_COLUMNS, len(measures)), 150, 260, min(200, 20 + LETTER * max(map(len, names)))),
        notes=(f"Shown are the {len(lines)} of {len(lines) + left_out} lines with the widest contrasts.",)
        if left_out
        else (),
        marks=3,
    )


def main_forest(result: GroupResult, leading: Sequence[str] = ()) -> Chart | None:
    """Draw the contrasts that are read first, of all attributes: those of the leading measures, of one class."""
    subjects = subjects_of(result)
    placed = [
        (subject, index, record) for subject in subjects for index, record in contrasts_of(result, subject)
        if record.status == Status.OK and record.defined and (not leading or record.measure in leading)
    ]  # fmt: skip
    if not placed:
        return None
    order = list(leading).index if leading else reading_order
    measures = sorted({record.measure for _, _, record in placed}, key=order)[:MAIN_MEASURES]
    placed = [item for item in placed if item[2].measure in measures]
    first = min((record for _, _, record in placed), key=lambda record: (not record.finding, -_reach(record)))
    of = (first.class_, first.label)
    # Beside the class that is shown no mean over classes: a line would have two marks of one measure.
    contrasts = [
        item for item in placed
        if (item[2].class_, item[2].label) == of or not (_is_classed(item[2]) or is_classwise(item[2].measure))
    ]  # fmt: skip
    measures = [name for name in measures if any(record.measure == name for _, _, record in contrasts)]
    lines, places, left_out = _main_lines(contrasts)
    rows = [
        _main_row(index, record, places[subject, str(record.group)], measures.index(record.measure))
        for subject, index, record in contrasts
        if (subject, str(record.group)) in places
    ]
    confirmed = sum(row["what"] != LOOKS[Meaning.QUIET][0] for row in rows)
    against = " or ".join(dict.fromkeys(safe_name(str(record.against), 30) for _, _, record in contrasts))
    measure_names = " and ".join(name_of(measure) for measure in measures)
    words = (
        f"Differences of groups in {measure_names}, compared with {against}: {confirmed} of {len(rows)} are confirmed."
    )
    shares = all(is_share(record) for _, _, record in contrasts)
    class_ = of[1] if of[1] is not None else of[0] if first.scope == "class" else None
    unit = "percentage points" if shares else "the unit of each measure"
    chart = interval_chart(
        rows, lines, [title_of(measure) for measure in measures], dict(LOOKS.values()), MAIN_NUMBERS,
        columns=MAIN_MEASURES, unit="percentage points" if shares else "difference", zero=True, own_scales=not shares,
        widest=400, name="main contrasts",
        title=f"How groups differ in {measure_names}" + ("" if class_ is None else f" of '{safe_name(class_, 30)}'"),
        caption=(
            f"Each mark is a group's value minus that of {against}, in {unit}, with its interval, corrected for the "
            "number of tests: an interval that crosses 0 is not significant."
        ),
        words=words, where="The numbers are in the table of contrasts.",
        notes=(f"Shown are the {len(places)} of {len(places) + left_out} groups with the widest differences.",)
        if left_out else (),
    )  # fmt: skip
    return alone(chart) if len(measures) == 1 else chart


def _is_classed(record: Record) -> bool:
    return record.class_ is not None or record.label is not None


def _reach(record: Record) -> float:
    return abs(record.value) if is_share(record) else 0.0


def _main_lines(
    placed: Sequence[tuple[Subject, int, Record]],
) -> tuple[Lines, dict[tuple[Subject, str], int], int]:
    """Return the lines: a heading for each attribute, its groups below it; the widest where there are too many."""
    widest: dict[tuple[Subject, str], float] = {}
    for subject, _, record in placed:
        key = (subject, str(record.group))
        widest[key] = max(widest.get(key, 0.0), abs(record.value))
    chosen = set(sorted(widest, key=lambda key: -widest[key])[:MAIN_LINES])
    lines, places = Lines([], []), {}
    for subject in dict.fromkeys(subject for subject, _ in widest):
        groups = [group for owner, group in widest if owner == subject and (owner, group) in chosen]
        if groups:
            lines.add(subject.title, head=True)
        for group in groups:
            places[subject, group] = len(lines.names)
            lines.add(safe_name(group, 30))
    return lines, places, len(widest) - len(places)


def _main_row(index: int, record: Record, line: int, panel: int) -> Row:
    return {
        "record": index, "line": line, "panel": panel,
        **spanned(record.value, record.low, record.high, 100.0 if is_share(record) else 1.0),
        "p": rounded(record.p_adjusted), "what": LOOKS[meaning_of(record)][0], "of": safe_name(str(record.group)),
    }  # fmt: skip


def _line_of(record: Record) -> ClassAndGroup:
    return (record.label if record.label is not None else _class(record), str(record.group))


def _class(record: Record) -> str | None:
    return record.class_ if record.scope == "class" else None


def _contrast_label(line: ClassAndGroup) -> str:
    class_, group = line
    return safe_name(group, 40) if class_ is None else f"{safe_name(class_, 24)}: {safe_name(group, 30)}"


def _contrast_lines(placed: Sequence[Placed]) -> tuple[list[ClassAndGroup], int]:
    """Return the lines in the order of the first measure's contrasts, the widest only where there are too many."""
    widest: dict[ClassAndGroup, float] = {}
    for _, record in placed:
        widest[_line_of(record)] = max(widest.get(_line_of(record), 0.0), abs(record.value))
    chosen = sorted(widest, key=lambda line: -widest[line])[:MOST_LINES]
    first = min((record.measure for _, record in placed), key=reading_order)
    values = {_line_of(record): record.value for _, record in placed if record.measure == first}
    classes = list(dict.fromkeys(line[0] for line in widest))
    chosen.sort(key=lambda line: (classes.index(line[0]), values.get(line, 0.0)))
    return chosen, len(widest) - len(chosen)


def _contrast_row(index: int, record: Record, line: int, panel: int, shares: bool) -> Row:
    scale = 100.0 if shares else 1.0
    if record.status != Status.OK:
        return {"record": index, "line": line, "panel": panel, "text": UNTOLD.get(record.status, record.status)}
    return {
        "record": index,
        "line": line,
        "panel": panel,
        "value": rounded(record.value, scale),
        "low": rounded(record.low, scale),
        "high": rounded(record.high, scale),
        "text": "",
        "verdict": LOOKS[meaning_of(record)][0],
        "group": safe_name(str(record.group)),
        "p": rounded(record.p_adjusted),
    }


def _contrasts_plot(panels: int, lines: int, shares: bool) -> alt.FacetChart:
    base, y = alt.Chart(), line_axis(grid=True)
    looked = by_look(dict(LOOKS.values()), "verdict")
    tooltip = tips(
        group="group", value=("difference", "+.2f"), low=("from", "+.2f"), high=("to", "+.2f"),
        p=("p, corrected", ".3g"), verdict="verdict",
    )  # fmt: skip
    x = alt.X("low:Q").title("points" if shares else "difference")
    x = x.axis(tickCount=4, labelOverlap="greedy", labelSeparation=6, gridColor=LINE)
    layers = [
        marks_once().mark_rule(color=ZERO).encode(x=alt.datum(0)),
        base.mark_rule(strokeWidth=2).encode(x=x, x2="high:Q", y=y, color=looked["color"], tooltip=tooltip),
        base.mark_point(size=75, opacity=1, strokeWidth=1.5).encode(x="value:Q", y=y, **looked, tooltip=tooltip),
        base.mark_text(fontSize=11, fontStyle="italic", color=QUIET).encode(x=alt.datum(0), y=y, text="text:N"),
    ]
    many = lines > MANY_LINES
    return in_panels(
        layers, columns=min(panels, MOST_COLUMNS if many else STILL_COLUMNS), width=130 if many else STILL_WIDTH,
        height=alt.Step(22), scales="" if shares else "x",
    )  # fmt: skip


def space_gaps(result: AuditResult) -> Chart | None:
    """Draw the gaps of every attribute: one line per attribute (and rule), one panel per measure."""
    placed = [
        (index, record, _gap_label(result, subject, record))
        for subject in subjects_of(result)
        for index, record in main_gaps(result, subject)
        if record.defined
    ]
    if not placed:
        return None
    every = list(dict.fromkeys(label for _, _, label in placed))
    labels = every[:MOST_GAPS]
    measures = sorted({record.measure for _, record, _ in placed}, key=space_order)
    rows = [
        _gap_row(index, record, labels.index(label), measures.index(record.measure), label)
        for index, record, label in placed
        if label in labels
    ]
    findings = sum(1 for _, record, _ in placed if record.finding)
    return interval_chart(
        rows, Lines(labels, [False] * len(labels)), [value_title(result, measure) for measure in measures], GAP_LOOKS,
        GAP_NUMBERS, columns=4, unit="worse off →", zero=True, name="gaps of the space",
        title="Gaps with their intervals",
        caption=(
            f"{plural(len(placed), 'gap')}, {findings:,} confirmed. Right of 0 the minoritised groups are worse "
            "off, whichever end of the measure is better; left of 0 they are better off. Best minus worst is never "
            "below 0 and has no interval."
        ),
        words=f"Gaps of {plural(len(measures), 'measure')} on {plural(len(labels), 'line')}: {findings:,} confirmed.",
        where="The numbers are in the table of gaps below.",
        notes=(f"Shown are {len(labels)} of {len(every)} lines.",) if len(labels) < len(every) else (),
    )  # fmt: skip


def _gap_label(result: AuditResult, subject: Subject, record: Record) -> str:
    name = safe_name(subject.title, 24)
    if record.variant != ORIENTED:
        return f"{name}: best minus worst"
    return f"{name} (against {safe_name(majoritised(result, subject) or 'the largest', 20)})"


def _gap_row(index: int, record: Record, line: int, panel: int, label: str) -> Row:
    return {
        "record": index,
        "line": line,
        "panel": panel,
        **spanned(record.value, record.low, record.high),
        "p": rounded(record.p_adjusted),
        "what": _gap_verdict(record.finding, record.value),
        "of": label,
    }


def _gap_verdict(finding: bool | None, value: float) -> str:
    if not finding:
        return UNTESTED if finding is None else NO_FINDING
    return BETTER_OFF if value < 0 else WORSE_OFF


def space_values(result: AuditResult) -> Chart | None:
    """Draw the main values of every group beside everyone's."""
    overall, subjects = values_of(result, None), subjects_of(result)
    every = [*overall, *(item for subject in subjects for item in values_of(result, subject))]
    measures = [name for name in VALUES if any(r.measure == name and r.defined for _, r in every)]
    if not measures or not subjects:
        return None
    lines, rows, notes = Lines(), [], []
    rows += _value_line(overall, None, lines.add(EVERYONE), measures)
    room = max(MOST_VALUES // len(subjects), 4)
    for subject in subjects:
        subject_values = values_of(result, subject)
        groups = groups_of(subject_values)
        if len(groups) > room:
            notes.append(f"Of {subject.title}, {room} of {len(groups)} groups are drawn; the table has more.")
        lines.add(safe_name(subject.title, 30), head=True)
        for group in groups[:room]:
            rows += _value_line(subject_values, group, lines.add(safe_name(group, 30)), measures)
    value_lines = lines.heads.count(False) - 1
    words = (
        f"Values of {plural(value_lines, 'group')} beside everyone's, with intervals, for "
        f"{plural(len(measures), 'measure')} of the space."
    )
    panels: list[object] = [_value_panel(result, measure) for measure in measures]
    chance = " The pentagon beside NMI is what chance alone gives such clusters." if NMI in measures else ""
    return interval_chart(
        rows, lines, panels, VALUE_LOOKS, VALUE_NUMBERS, columns=4, name="values",
        title="Every group beside everyone",
        caption=(
            f"A mark is a value, the line its 95% interval; an arrow points to the better side.{chance} {EQUAL_SIZE}"
        ),
        words=words, where="The numbers are in the table of values below.", notes=notes,
    )  # fmt: skip


def _value_panel(result: AuditResult, measure: str) -> str:
    name = value_title(result, measure)
    return f"{name} →" if better_end(measure) == "high" else f"← {name}"


def _value_line(placed: list[Placed], group: str | None, line: int, measures: list[str]) -> list[Row]:
    rows = []
    for panel, measure in enumerate(measures):
        entry = first_of(placed, measure, group)
        if entry is None or not entry[1].defined:
            continue
        chance = first_of(placed, NMI_BY_CHANCE, group) if measure == NMI else None
        if chance is not None and chance[1].defined:
            rows.append(_value_row(*chance, line, panel, BY_CHANCE))
        small = entry[1].status == Status.TOO_SMALL
        rows.append(_value_row(*entry, line, panel, EVERYONE if group is None else SMALL if small else GROUP))
    return rows


def _value_row(index: int, record: Record, line: int, panel: int, title: str) -> Row:
    return {
        "record": index,
        "line": line,
        "panel": panel,
        "what": title,
        "of": EVERYONE if record.group is None else safe_name(record.group),
        **spanned(record.value, record.low, record.high),
    }


def downstream_gaps(result: AuditResult) -> Chart | None:
    """Draw every downstream gap with its interval."""
    placed = [
        (index, record)
        for index, record in enumerate(result.downstream)
        if record.kind in ("gap", "largest gap") and record.defined
    ]
    if not placed:
        return None
    measures = list(dict.fromkeys(record.measure for _, record in placed))
    learners = list(dict.fromkeys(record.learner for _, record in placed))
    lines, places, left_out = _downstream_lines([record for _, record in placed], learners)
    rows = [
        _downstream_row(record_index, record, places[who_of(record), record.learner], measures.index(record.measure))
        for record_index, record in placed
        if (who_of(record), record.learner) in places
    ]
    findings = sum(1 for _, record in placed if record.finding)
    words = (
        f"Downstream gaps of {plural(len(learners), 'classifier')} in {plural(len(measures), 'measure')}: "
        f"{findings:,} confirmed."
    )
    panels: list[object] = [measure.replace("_", " ").capitalize() for measure in measures]
    trained = "" if len(learners) > 1 else f" The classifier: {learner_title(learners[0])}."
    return interval_chart(
        rows, lines, panels, GAP_LOOKS, DOWNSTREAM_NUMBERS, columns=3, unit="points worse off →", zero=True,
        own_scales=False, widest=320, name="downstream", title="Gaps of classifiers trained on the points",
        caption=(
            f"{plural(len(placed), 'gap')}, {findings:,} confirmed, in percentage points with 95% intervals. "
            f"Right of 0 the named group is worse off.{trained}"
        ),
        words=words, where="The numbers are in the table of downstream values below.",
        notes=(f"{plural(left_out, 'comparison')} did not fit; the table has all of them.",) if left_out else (),
    )  # fmt: skip


def _downstream_lines(
    records: Sequence[DownstreamRecord], learners: Sequence[str]
) -> tuple[Lines, dict[tuple[str, str], int], int]:
    """Return the lines, where each comparison of each learner stands, and how many comparisons had no room."""
    lines, places, left_out = Lines(), {}, 0
    heads: set[str] = set()
    for subject, record in {who_of(record): record for record in records}.items():
        if len(lines.names) + len(learners) >= MOST_DOWNSTREAM:
            left_out += 1
            continue
        head = safe_name(str(record.attribute), 30)
        if head not in heads:
            heads.add(head)
            lines.add(head, head=True)
        for learner in learners:
            title = f": {learner_title(learner)}" if len(learners) > 1 else ""
            places[subject, learner] = lines.add(subject.removeprefix(f"{_attribute(record)}: ") + title)
    return lines, places, left_out


def who_of(record: DownstreamRecord) -> str:
    """Name who is compared with whom."""
    name = _attribute(record)
    if record.kind == "largest gap":
        return f"{name}: best minus worst"
    return f"{name}: {safe_name(str(record.group), 20)} against {safe_name(str(record.against), 20)}"


def _attribute(record: DownstreamRecord) -> str:
    return safe_name(str(record.attribute), 20)


def _downstream_row(index: int, record: DownstreamRecord, line: int, panel: int) -> Row:
    return {
        "downstream": index,
        "line": line,
        "panel": panel,
        **spanned(record.value, record.low, record.high, 100),
        "p": rounded(record.p_adjusted),
        "what": _gap_verdict(record.finding, record.value),
        "of": who_of(record),
    }
