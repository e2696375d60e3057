"""Strips: every run of every technique as a mark, beside the mean of its baseline. One panel per metric."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import altair as alt

from equipoise.audits.evidence import EvidenceRecord, EvidenceResult, RunValues
from equipoise.reports._formats import plural, safe_name
from equipoise.reports.charts.chart import (
    BETTER,
    INK,
    LINE,
    MOST_MARKS,
    QUIET,
    ROWS,
    WORSE,
    Chart,
    Fit,
    Row,
    finish,
    rounded,
)
from equipoise.reports.charts.intervals import ROOM, with_room
from equipoise.reports.techniques import Cell, Placed, by_cell, metrics_of, with_largest_effects
from equipoise.results import Verdict

MOST_PANELS = 6
# Of all strips together; with the maps, more would not fit a page.
MOST_MARKS_ON_A_PAGE = 3_500
FEWEST_LINES, MOST_LINES = 8, 40
# Around the runs of a line: its range, its mean and the mean of its baseline.
EXTRA = 3
BINS = 40
BASELINE = "baseline"
# What a mark says: the shape is the direction, the colour is better or worse.
VERDICTS = {
    BASELINE: ("diamond", INK),
    "lower, better": ("triangle-down", BETTER),
    "higher, better": ("triangle-up", BETTER),
    "lower, worse": ("triangle-down", WORSE),
    "higher, worse": ("triangle-up", WORSE),
    "not significant": ("circle", QUIET),
    "undecided": ("cross", QUIET),
}
FIT = Fit(columns=3, narrowest=190, widest=420, labels=ROOM + 10)
LETTER = 7
STILL_WIDTH = 200


@dataclass(frozen=True)
class _Line:
    technique: str
    against: str


def strips(result: EvidenceResult) -> Iterator[Chart]:
    """Draw the runs, as many metrics a chart as it can hold."""
    metrics, cells = metrics_of(result), by_cell(result)
    values = {(own.technique, own.metric): own for own in result.runs if own.values}
    longest = max((len(own.values) for own in values.values()), default=0) + EXTRA
    binned = longest > BINS + EXTRA and longest * FEWEST_LINES * len(metrics) > MOST_MARKS_ON_A_PAGE
    marks = BINS + EXTRA if binned else longest
    room = max(FEWEST_LINES, min(MOST_LINES, MOST_MARKS_ON_A_PAGE // (marks * len(metrics))))
    lines, note = _lines(result, room, metrics)
    panels = max(1, min(MOST_PANELS, MOST_MARKS // (marks * max(len(lines), 1))))
    for number, first in enumerate(range(0, len(metrics), panels), start=1):
        own = metrics[first : first + panels]
        rows = [
            row
            for panel, metric in enumerate(own)
            for row in _panel(panel, metric, lines, cells, values, high=metric in result.performance, binned=binned)
        ]
        if rows:
            part = f" ({number} of {math.ceil(len(metrics) / panels)})" if len(metrics) > panels else ""
            yield _chart(result, own, lines, rows, note, part, binned=binned)


def _lines(result: EvidenceResult, room: int, metrics: Sequence[str]) -> tuple[list[_Line], str | None]:
    """Return the lines: each baseline, and below it the techniques compared with it."""
    families, note = with_largest_effects(result, room, metrics)
    lines: dict[str, _Line] = {}
    for family in families:
        lines.setdefault(family.baseline, _Line(family.baseline, family.baseline))
        lines |= {technique: _Line(technique, family.baseline) for technique in family.techniques}
    # A technique that nothing is compared with has runs too.
    alone = [record.technique for record in result.records if record.baseline is None]
    for technique in [name for name in dict.fromkeys(alone) if name not in lines][: max(room - len(lines), 0)]:
        lines[technique] = _Line(technique, technique)
    return list(lines.values()), note


def _panel(
    panel: int, metric: str, lines: Sequence[_Line], cells: dict[Cell, Placed], values: dict[Cell, RunValues], *,
    high: bool, binned: bool,
) -> Iterator[Row]:  # fmt: skip
    """Yield what a panel shows: one row per line, and one per run or bin of runs."""
    shown = [value for line in lines if (own := values.get((line.technique, metric))) for value in own.values]
    for place, line in enumerate(lines):
        own, placed = values.get((line.technique, metric)), cells.get((line.technique, metric))
        if own is None or placed is None:
            continue
        verdict = _verdict(placed[1].verdict, high=high)
        against = cells.get((line.against, metric))
        yield {
            "panel": panel, "line": place, "verdict": verdict, "technique": safe_name(line.technique),
            **_summary(placed, against[1] if against is not None else None),
        }  # fmt: skip
        if binned:
            yield from (
                {"panel": panel, "line": place, "verdict": verdict, **bin_}
                for bin_ in _bins(own.values, min(shown), max(shown))
            )
            continue
        for run, value in zip(own.runs, own.values, strict=True):
            yield {
                "panel": panel, "line": place, "verdict": verdict, "x": rounded(value), "run": safe_name(run, 24)
            }  # fmt: skip


def _verdict(verdict: Verdict | None, *, high: bool) -> str:
    """Say which way a line differs from its baseline, and whether that is better."""
    if verdict is None:
        return BASELINE
    if verdict not in (Verdict.LOWER, Verdict.HIGHER):
        return "not significant" if verdict == Verdict.NONE else "undecided"
    return f"{verdict}, {'better' if (verdict == Verdict.HIGHER) == high else 'worse'}"


def _summary(placed: Placed, against: EvidenceRecord | None) -> Row:
    place, record = placed
    return {
        "record": place,
        "mean": rounded(record.mean),
        "min": rounded(record.min),
        "max": rounded(record.max),
        "base": rounded(against.mean) if against is not None else None,
        "runs": record.runs,
    }


def _bins(values: Sequence[float], low: float, high: float) -> Iterator[Row]:
    """Yield the share of runs in each of equally wide bins over the panel."""
    width = (high - low) / BINS
    times = Counter(min(int((value - low) / width), BINS - 1) if width > 0 else 0 for value in values)
    for place, number in sorted(times.items()):
        yield {
            "from": rounded(low + place * width), "to": rounded(low + (place + 1) * width),
            "share": rounded(number / len(values)), "binned": number,
        }  # fmt: skip


def _chart(
    result: EvidenceResult, metrics: Sequence[str], lines: Sequence[_Line], rows: list[Row], note: str | None,
    part: str, *, binned: bool,
) -> Chart:  # fmt: skip
    names = [safe_name(line.technique, 40) for line in lines]
    panels = [safe_name(metric, 30) + (" (better high)" if metric in result.performance else "") for metric in metrics]
    used = [verdict for verdict in VERDICTS if any(row["verdict"] == verdict for row in rows)]
    words = f"Runs of {plural(len(lines), 'technique')} on {', '.join(panels)}: every value, its range and its mean."
    runs = "Darker is more runs" if binned else "A short stroke is a run"
    return Chart(
        name=f"runs{part}",
        title=f"Every run{part}",
        caption=(
            f"{runs}, the line is their range, the large mark their mean; the vertical black line is the mean of "
            "the baseline. Where ranges overlap, one run of each can suggest the opposite. The shape shows the "
            "direction of a significant difference, the colour whether it is better or worse."
        ),
        alt=words + " The numbers are in the table below.",
        spec=with_room(
            finish(_plot(len(metrics), used, binned=binned), rows, {"labels": names, "panels": panels}, alt=words)
        ),
        fit=Fit(
            min(FIT.columns, len(metrics)), FIT.narrowest, FIT.widest,
            min(FIT.labels, 20 + LETTER * max(map(len, names))),
        ),
        notes=(note,) if note else (),
        rows=sum(1 if row.get("record") is None else EXTRA for row in rows),
    )  # fmt: skip


def _plot(panels: int, verdicts: Sequence[str], *, binned: bool) -> alt.FacetChart:
    base = alt.Chart()
    shapes, colours = ([VERDICTS[verdict][part] for verdict in verdicts] for part in (0, 1))
    y = alt.Y("line:O").axis(title=None, labelExpr="labels[datum.value]", grid=True)
    x = alt.X("mean:Q").title(None).scale(zero=False, nice=True)
    x = x.axis(tickCount=4, format=".4~g", labelOverlap="greedy", labelSeparation=6, gridColor=LINE)
    legend = alt.Legend(title=None, symbolOpacity=1)
    colour = alt.Color("verdict:N").scale(domain=list(verdicts), range=colours).legend(legend)
    shape = alt.Shape("verdict:N").scale(domain=list(verdicts), range=shapes).legend(legend)
    tooltip = [
        alt.Tooltip("technique:N", title="technique"),
        alt.Tooltip("runs:Q", title="runs"),
        alt.Tooltip("mean:Q", title="mean", format=".4g"),
        alt.Tooltip("min:Q", title="from", format=".4g"),
        alt.Tooltip("max:Q", title="to", format=".4g"),
        alt.Tooltip("base:Q", title="mean of the baseline", format=".4g"),
        alt.Tooltip("verdict:N", title="verdict"),
    ]
    stroke = base.mark_tick(color=INK, thickness=1.5, size=22).encode(x="base:Q", y=y)
    if binned:
        dots = base.mark_bar(height=14).encode(
            x=alt.X("from:Q"), x2="to:Q", y=y, color=colour,
            opacity=alt.Opacity("share:Q").scale(range=[0.12, 0.75]).legend(None),
            tooltip=[alt.Tooltip("binned:Q", title="runs")],
        )  # fmt: skip
    else:
        dots = base.mark_tick(thickness=1.5, size=12, opacity=0.6).encode(
            x="x:Q", y=y, color=colour,
            tooltip=[alt.Tooltip("run:N", title="run"), alt.Tooltip("x:Q", title="value", format=".4g")],
        )  # fmt: skip
    span = base.mark_rule(strokeWidth=1.5).encode(x=alt.X("min:Q"), x2="max:Q", y=y, color=colour)
    mean = base.mark_point(filled=True, size=95, opacity=1, stroke="white", strokeWidth=1).encode(
        x=x, y=y, color=colour, shape=shape, tooltip=tooltip
    )
    plot: alt.FacetChart = (
        alt.layer(stroke, span, dots, mean)
        .properties(width=STILL_WIDTH, height=alt.Step(22))
        .facet(
            data=alt.NamedData(ROWS),
            facet=alt.Facet("panel:O").header(title=None, labelExpr="panels[datum.value]"),
            columns=min(panels, FIT.columns),
        )
        .resolve_axis(x="independent")
        .resolve_scale(x="independent")
    )
    return plot
