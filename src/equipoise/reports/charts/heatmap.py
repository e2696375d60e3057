"""Heat maps of numbers: rates of groups, settings of a treatment, layers of two runs; the grid of cells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import altair as alt

from equipoise.audits import AuditResult
from equipoise.foundation import plural
from equipoise.reports._formats import decimal, percent, safe_name, thousandths
from equipoise.reports._records import (
    RATES,
    Subject,
    groups_of,
    is_share,
    least_people,
    main_records,
    reading_order,
    short_title_of,
    subjects_of,
    widest_groups,
    widest_in_words,
)
from equipoise.reports.charts.chart import (
    CELL,
    INK,
    QUIET,
    ROWS,
    Chart,
    Fit,
    Lines,
    Row,
    draw,
    grid,
    in_panels,
    line_axis,
    number,
    rounded,
    tips,
)
from equipoise.results import Record
from equipoise.studies import Diagnosis, StudyResult
from equipoise.studies.findings import (
    SpaceSetting,
    title_of,
)
from equipoise.training.diverging import ALL_LAYERS

MOST_GROUPS = 60
# Light enough at both ends for dark letters on them.
BELOW, SAME, ABOVE = "#56B4E9", "#F7F7F7", "#E69F00"
LEAST_RANGE = 10.0
EVERYONE = "everyone"
MOST_SETTING_CHARTS, MOST_CELLS = 3, 300
PlacedSetting = tuple[int, SpaceSetting]
MOST_LAYERS = 80
# From hardly anything to large, light enough for the eye to order.
FAINT, DEEP = "#E8F1FA", "#08306B"


def rates(result: AuditResult, split: str | None) -> Chart | None:
    """Draw the main rates or values of every group, a block an attribute."""
    placed = [
        item for item in main_records(result, ("rate", "value")) if item[1].measure in RATES and item[1].split == split
    ]
    overall = {record.measure: record for _, record in placed if not record.attribute}
    measures = sorted(
        {record.measure for _, record in placed if record.attribute and record.defined}, key=reading_order
    )
    placed = [item for item in placed if item[1].measure in measures]
    subjects = [subject for subject in subjects_of(result) if subject.split == split]
    if not measures:
        return None
    least = least_people(result)
    rows = [_rate_row(index, record, 0, measures, overall, least) for index, record in placed if not record.attribute]
    lines = Lines([EVERYONE], [False])
    notes: list[str] = []
    for subject in subjects:
        subject_records = [item for item in placed if subject.has(item[1])]
        groups = groups_of(subject_records)
        chosen = widest_groups(result, subject, groups, max(MOST_GROUPS // len(subjects), 10))
        if len(chosen) < len(groups):
            which = widest_in_words(result, subject)
            notes.append(f"Of {subject.title}, the {len(chosen)} of {len(groups)} groups {which}.")
        lines.add(_heading(subject), head=True)
        first = len(lines.names)
        for group in chosen:
            lines.add(safe_name(group, 40))
        rows += [
            _rate_row(index, record, first + chosen.index(record.group), measures, overall, least)
            for index, record in subject_records
            if record.group in chosen
        ]
    shares = all(is_share(record) for _, record in placed)
    words = f"Heat map of {plural(lines.heads.count(False) - 1, 'group')} by {plural(len(measures), 'measure')}."
    labels = lines.labels([short_title_of(measure) for measure in measures])
    return draw(
        _rate_plot(rows, len(lines.names), len(measures), shares), rows, labels,
        name=f"rates {split or ''}".strip(),
        title="Every group beside everyone" + (f" ({safe_name(split)})" if split is not None else ""),
        caption=_rate_caption(shares, least),
        words=words, where="The numbers are in the table of rates below.",
        notes=notes, marks=2, bare=True,
    )  # fmt: skip


def _rate_caption(shares: bool, least: int) -> str:
    unit = "" if shares else ", in parts of everyone's error"
    few = f" Grey numbers have fewer than {least:,} people behind them and no colour." if least else ""
    quantity = "rate" if shares else "value"
    return (
        f"Each cell is a group's {quantity}; its colour is how far that lies from everyone's: blue below, orange above"
        f"{unit}.{few}"
    )


def _heading(subject: Subject) -> str:
    return " × ".join(safe_name(part, 24) for part in subject.attribute)


def _rate_row(
    index: int, record: Record, line: int, measures: list[str], overall: dict[str, Record], least: int
) -> Row:
    text = percent(record.value) if record.kind == "rate" else decimal(record.value)
    few = record.denominator is not None and record.denominator < least
    return {
        "record": index,
        "line": line,
        "column": measures.index(record.measure),
        "text": text if record.defined else record.status,
        "far": None if few else _far(record, overall),
        "few": few,
        "group": EVERYONE if record.group is None else safe_name(record.group),
    }


def _far(record: Record, overall: dict[str, Record]) -> float | None:
    """How far a rate lies from everyone's: in points; an error, in hundredths of everyone's error."""
    base = overall.get(record.measure)
    if base is None or not base.defined or not record.defined:
        return None
    if is_share(record) or record.measure == "pearson":
        return rounded(record.value - base.value, 100)
    error = overall.get("root_mean_squared_error")
    size = error.value if error is not None and error.defined else abs(base.value)
    return rounded((record.value - base.value) / size, 100) if size else None


def _rate_plot(rows: list[Row], lines: int, columns: int, shares: bool) -> alt.TopLevelMixin:
    widest = max([LEAST_RANGE, *(abs(number(row, "far")) for row in rows if row["far"] is not None)])
    colour = alt.Color("far:Q").scale(domain=[-widest, 0, widest], range=[BELOW, SAME, ABOVE], clamp=True)
    title = "points from everyone" if shares else "% of everyone's error"
    base = grid(lines)
    box = base.mark_rect(stroke="white", strokeWidth=2, invalid=None).encode(
        color=colour.legend(title=title, orient="bottom", gradientLength=220),
        tooltip=tips(group="group", text="value", far=("from everyone", "+.2f")),
    )  # fmt: skip
    ink = alt.condition("datum.few", alt.value(QUIET), alt.value(INK))
    text = base.mark_text(fontSize=12).encode(text="text:N", color=ink)
    return alt.layer(box, text).properties(width=columns * CELL, height=alt.Step(26))


def space_settings(result: StudyResult) -> Iterator[Chart]:
    """Draw a chart for each treatment that was tried with two numbers, such as alpha and rho."""
    kinds: dict[tuple[str, str, str], list[PlacedSetting]] = {}
    for index, space_setting in enumerate(result.space_settings):
        kinds.setdefault((space_setting.condition, space_setting.learner, space_setting.treatment), []).append(
            (index, space_setting)
        )
    charts = [chart for kind in kinds.values() if (chart := _settings_chart(kind)) is not None]
    yield from charts[:MOST_SETTING_CHARTS]


def _settings_chart(placed: Sequence[PlacedSetting]) -> Chart | None:
    axes = _settings_axes([record for _, record in placed])
    if axes is None:
        return None
    down, across = axes
    cells = [(index, record) for index, record in placed if down in record.settings and across in record.settings][
        :MOST_CELLS
    ]
    lines, columns = (sorted({float(record.settings[name]) for _, record in cells}) for name in (down, across))
    first = cells[0][1]
    panels = _settings_panels([record for _, record in cells])
    rows = [
        row
        for number, (_, field, better) in enumerate(panels)
        for row in _setting_rows(cells, number, field, better, (down, lines), (across, columns))
    ]
    words = (
        f"Heat maps of {safe_name(down, 20)} and {safe_name(across, 20)} of {safe_name(first.treatment, 40)}: "
        f"{plural(len(panels), 'panel')}, {plural(len(cells), 'setting')}."
    )
    labels = {
        "panels": [title for title, _, _ in panels],
        "labels": [f"{value:g}" for value in lines], "columns": [f"{value:g}" for value in columns],
    }  # fmt: skip
    return draw(
        _settings_plot(len(lines), len(columns), safe_name(down, 20), safe_name(across, 20)), rows, labels,
        name=f"settings of {first.treatment}",
        title=f"{safe_name(first.treatment, 40)} on dev rows: {safe_name(down, 20)} by {safe_name(across, 20)}",
        caption=(
            f"{safe_name(first.learner, 40)}, {safe_name(first.condition, 40)}; means over "
            f"{plural(first.seeds, 'seed')}. Blue is the better end of each panel, orange the worse; the frame is the "
            "setting that was chosen, by the worst group. Leakage is how well a probe reads the attribute: nearer to "
            "chance is better. Test rows had no say."
        ),
        words=words,
        fit=Fit(min(3, len(panels)), 60 * len(columns) if len(columns) < 4 else 215, 300, 70),
        marks=2, bare=True,
    )  # fmt: skip


def _settings_axes(settings: Sequence[SpaceSetting]) -> tuple[str, str] | None:
    """Return the two settings that are numbers and vary; None where there are not two."""
    names = [
        name
        for name in dict.fromkeys(name for setting in settings for name in setting.settings)
        if len({setting.settings[name] for setting in settings if _isnumber(setting.settings.get(name))}) > 1
    ]
    return (names[0], names[1]) if len(names) > 1 else None


def _isnumber(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _settings_panels(settings: Sequence[SpaceSetting]) -> list[tuple[str, str, int]]:
    """Return titles, fields and directions: 1 where high is better, -1 where low is."""
    measure = title_of(settings[0].measure)
    leaks = dict.fromkeys(name for setting in settings for name in setting.leakage if not name.startswith("chance"))
    return [
        (f"{measure}, everyone", "overall", 1), (f"{measure}, gap of halves", "gap", -1),
        (f"{measure}, worst group", "worst", 1),
        *((f"leakage: {safe_name(name, 24)}", f"leakage.{name}", -1) for name in list(leaks)[:6]),
    ]  # fmt: skip


def _setting_value(setting: SpaceSetting, field: str) -> float:
    kind, _, name = field.partition(".")
    return setting.leakage.get(name, math.nan) if kind == "leakage" and name else float(getattr(setting, field))


def _setting_rows(
    placed: Sequence[PlacedSetting], panel: int, field: str, better: int,
    down: tuple[str, list[float]], across: tuple[str, list[float]],
) -> Iterator[Row]:  # fmt: skip
    """Yield the cells of one panel; shades go from the worst of the panel (-1) to the best (1)."""
    values = [_setting_value(record, field) for _, record in placed]
    defined = [value for value in values if not math.isnan(value)]
    low, high = (min(defined), max(defined)) if defined else (0.0, 0.0)
    for (index, record), value in zip(placed, values, strict=True):
        undefined = math.isnan(value)
        shade = 0.0 if undefined or high == low else better * (2 * (value - low) / (high - low) - 1)
        yield {
            "setting": index, "panel": panel, "line": down[1].index(float(record.settings[down[0]])),
            "column": across[1].index(float(record.settings[across[0]])), "value": rounded(value),
            "shade": rounded(shade), "text": thousandths(None if undefined else value), "chosen": record.chosen,
            "of": safe_name(record.setting, 60),
        }  # fmt: skip


def _settings_plot(lines: int, columns: int, down: str, across: str) -> alt.FacetChart:
    base = alt.Chart().encode(
        x=alt.X("column:O").title(across).axis(
            labelExpr="columns[datum.value]", labelAngle=0, domain=False, ticks=False, labelOverlap="greedy"
        ),
        y=alt.Y("line:O").scale(domain=list(range(lines))[::-1]).title(down).axis(
            labelExpr="labels[datum.value]", domain=False, ticks=False
        ),
    )  # fmt: skip
    colour = alt.Color("shade:Q").scale(domain=[-1, 0, 1], range=[ABOVE, SAME, BELOW]).legend(None)
    box = base.mark_rect(stroke="white", strokeWidth=2).encode(color=colour, tooltip=tips(of="setting", text="value"))
    frame = base.mark_rect(filled=False, stroke=INK, strokeWidth=2.5).transform_filter(
        alt.FieldEqualPredicate(field="chosen", equal=True)
    )
    text = base.mark_text(fontSize=12 if columns <= 5 else 9, color=INK).encode(text="text:N")
    return in_panels([box, frame, text], columns=3, width=230, height=max(40 * lines, 90), axes="xy")


def layers(result: Diagnosis) -> Chart | None:
    """Draw how far apart every layer is after each step that was looked at: one line per layer, one column per step."""
    records = [record for record in result.records if record.layer != ALL_LAYERS and record.relative > 0]
    names = list(dict.fromkeys(record.layer for record in result.records if record.layer != ALL_LAYERS))
    steps = sorted({record.step for record in records})
    if len(names) < 2 or len(steps) < 2:
        return None
    shown_names = names[:MOST_LAYERS]
    places = {name: index for index, name in enumerate(shown_names)}
    rows: list[Row] = [
        {
            "line": places[record.layer],
            "column": steps.index(record.step),
            "power": rounded(math.log10(record.relative)),
            "relative": rounded(record.relative),
            "layer": safe_name(record.layer, 60),
            "step": record.step,
        }
        for record in records
        if record.layer in places
    ]
    words = (
        f"Map of {plural(len(shown_names), 'layer')} by {plural(len(steps), 'step')}: how far apart the two runs are."
    )
    labels = {"labels": [safe_name(name, 40) for name in shown_names], "columns": [f"{step:,}" for step in steps]}
    notes = () if len(shown_names) == len(names) else (f"The first {len(shown_names)} of {len(names)} layers.",)
    return draw(
        _layers_plot(len(shown_names), len(steps)),
        rows,
        labels,
        name="layers",
        title="Layer by layer",
        caption=(
            "Each cell is the relative difference of a layer's values after a step; layers stand in the order in "
            "which pictures or rows pass through them. A cell without colour: nothing differed."
        ),
        words=words,
        where="The numbers are in the JSON.",
        notes=notes,
    )


def _layers_plot(lines: int, columns: int) -> alt.TopLevelMixin:
    x = alt.X("column:O").scale(domain=list(range(columns))).axis(
        title="after step", labelExpr="columns[datum.value]", labelAngle=0, labelOverlap="greedy", ticks=False
    )  # fmt: skip
    colour = alt.Color("power:Q").scale(range=[FAINT, DEEP])
    title = "relative difference, power of ten"
    plot: alt.Chart = alt.Chart(alt.NamedData(ROWS)).mark_rect(stroke="white", strokeWidth=1)
    return plot.encode(
        x=x, y=line_axis(lines, ticks=False, domain=False),
        color=colour.legend(title=title, orient="bottom", gradientLength=260, titleLimit=300),
        tooltip=tips(layer="layer", step=("after step", ""), relative=("relative difference", ".3g")),
    ).properties(width=max(240, min(620, 30 * columns)), height=alt.Step(15 if lines > 20 else 24))  # fmt: skip
