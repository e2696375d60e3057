"""Strips: every run of every technique as a mark beside its baseline, and classes that change sides between runs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import altair as alt

from equipoise.audits.evidence import RULE, EvidenceRecord, EvidenceResult, RunValues, Straddle, worst_first
from equipoise.foundation import plural
from equipoise.reports._comparisons import PlacedEffect, TechniqueMetric, by_cell, metrics_of, with_largest_effects
from equipoise.reports._formats import safe_name
from equipoise.reports.charts.chart import (
    BETTER,
    INK,
    LETTER,
    LINE,
    MOST_MARKS,
    OPEN,
    QUIET,
    ROOM,
    ROWS,
    SHAPES,
    STAR,
    STRONG,
    UNDECIDED,
    WORSE,
    Chart,
    Fit,
    Look,
    Row,
    by_look,
    draw,
    in_panels,
    line_axis,
    marks_once,
    rounded,
    tips,
    used,
)
from equipoise.results import Verdict

# For the names of classes, in pixels and in letters.
CLASS_ROOM, CLASS_LETTERS = 330, 54

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
    BASELINE: Look(INK, INK, STAR),
    "lower, better": Look(BETTER, BETTER, "triangle-down"),
    "higher, better": Look(BETTER, BETTER, "triangle-up"),
    "lower, worse": Look(WORSE, WORSE, "triangle-down"),
    "higher, worse": Look(WORSE, WORSE, "triangle-up"),
    "not significant": OPEN,
    "inconclusive": UNDECIDED,
}
STILL_COLUMNS, STILL_WIDTH = 3, 200
MOST_CLASSES = 30
COMPLETE, PARTLY = "0% in one run, 100% in another", "on both sides of the rule"
SIDES = {COMPLETE: Look(STRONG, STRONG, SHAPES[2]), PARTLY: Look(QUIET, QUIET, SHAPES[1])}


@dataclass(frozen=True)
class _Technique:
    technique: str
    against: str


def strips(result: EvidenceResult) -> Iterator[Chart]:
    """Draw the runs, as many metrics a chart as it can hold."""
    metrics, cells = metrics_of(result), by_cell(result)
    values = {(run.technique, run.metric): run for run in result.runs if run.values}
    longest = max((len(value.values) for value in values.values()), default=0) + EXTRA
    binned = longest > BINS + EXTRA and longest * FEWEST_LINES * len(metrics) > MOST_MARKS_ON_A_PAGE
    marks = BINS + EXTRA if binned else longest
    room = max(FEWEST_LINES, min(MOST_LINES, MOST_MARKS_ON_A_PAGE // (marks * len(metrics))))
    lines, note = _techniques(result, room, metrics)
    panels = max(1, min(MOST_PANELS, MOST_MARKS // (marks * max(len(lines), 1))))
    for number, first in enumerate(range(0, len(metrics), panels), start=1):
        panel_metrics = metrics[first : first + panels]
        rows = [
            row
            for panel, metric in enumerate(panel_metrics)
            for row in _panel_rows(
                panel, metric, lines, cells, values, high=metric in result.performance, binned=binned
            )
        ]
        if rows:
            part = f" ({number} of {math.ceil(len(metrics) / panels)})" if len(metrics) > panels else ""
            yield _strips_chart(result, panel_metrics, lines, rows, note, part, binned=binned)


def _techniques(result: EvidenceResult, room: int, metrics: Sequence[str]) -> tuple[list[_Technique], str | None]:
    """Return the lines: each baseline, and below it the techniques compared with it."""
    families, note = with_largest_effects(result, room, metrics)
    lines: dict[str, _Technique] = {}
    for family in families:
        lines.setdefault(family.baseline, _Technique(family.baseline, family.baseline))
        lines |= {technique: _Technique(technique, family.baseline) for technique in family.techniques}
    # A technique that nothing is compared with has runs too.
    alone = [record.technique for record in result.records if record.baseline is None]
    for technique in [name for name in dict.fromkeys(alone) if name not in lines][: max(room - len(lines), 0)]:
        lines[technique] = _Technique(technique, technique)
    return list(lines.values()), note


def _panel_rows(
    panel: int, metric: str, lines: Sequence[_Technique], cells: dict[TechniqueMetric, PlacedEffect],
    values: dict[TechniqueMetric, RunValues], *, high: bool, binned: bool,
) -> Iterator[Row]:  # fmt: skip
    """Yield what a panel shows: one row per line, and one per run or bin of runs."""
    displayed_values = [
        value for line in lines if (record := values.get((line.technique, metric))) for value in record.values
    ]
    for index, line in enumerate(lines):
        record, placed = values.get((line.technique, metric)), cells.get((line.technique, metric))
        if record is None or placed is None:
            continue
        verdict = _strip_verdict(placed[1].verdict, high=high)
        against = cells.get((line.against, metric))
        yield {
            "panel": panel, "line": index, "verdict": verdict, "technique": safe_name(line.technique),
            **_summary(placed, against[1] if against is not None else None),
        }  # fmt: skip
        if binned:
            yield from (
                {"panel": panel, "line": index, "verdict": verdict, **bin_}
                for bin_ in _bins(record.values, min(displayed_values), max(displayed_values))
            )
            continue
        for run, value in zip(record.runs, record.values, strict=True):
            yield {
                "panel": panel, "line": index, "verdict": verdict, "x": rounded(value), "run": safe_name(run, 24)
            }  # fmt: skip


def _strip_verdict(verdict: Verdict | None, *, high: bool) -> str:
    """Say which way a line differs from its baseline, and whether that is better."""
    if verdict is None:
        return BASELINE
    if verdict not in (Verdict.LOWER, Verdict.HIGHER):
        return "not significant" if verdict == Verdict.NONE else "inconclusive"
    return f"{verdict}, {'better' if (verdict == Verdict.HIGHER) == high else 'worse'}"


def _summary(placed: PlacedEffect, against: EvidenceRecord | None) -> Row:
    index, record = placed
    return {
        "record": index,
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
    for index, number in sorted(times.items()):
        yield {
            "from": rounded(low + index * width), "to": rounded(low + (index + 1) * width),
            "share": rounded(number / len(values)), "binned": number,
        }  # fmt: skip


def _strips_chart(
    result: EvidenceResult, metrics: Sequence[str], lines: Sequence[_Technique], rows: list[Row], note: str | None,
    part: str, *, binned: bool,
) -> Chart:  # fmt: skip
    names = [safe_name(line.technique, 40) for line in lines]
    panels = [safe_name(metric, 30) + (" (better high)" if metric in result.performance else "") for metric in metrics]
    words = f"Runs of {plural(len(lines), 'technique')} on {', '.join(panels)}: every value, its range and its mean."
    runs = "Darker is more runs" if binned else "A short stroke is a run"
    chart = draw(
        _strips_plot(len(metrics), list(used(VERDICTS, rows, "verdict")), binned=binned),
        rows,
        {"labels": names, "panels": panels},
        name=f"runs{part}",
        title=f"Every run{part}",
        caption=(
            f"{runs}, the line is their range, the large mark their mean; the vertical black line is the mean of "
            "the baseline. Where ranges overlap, one run of each can suggest the opposite. The shape shows the "
            "direction of a significant difference, the colour whether it is better or worse."
        ),
        words=words,
        fit=Fit(min(STILL_COLUMNS, len(metrics)), 190, 420, min(ROOM + 10, 20 + LETTER * max(map(len, names)))),
        notes=(note,),
        room=True,
    )
    return replace(chart, rows=sum(1 if row.get("record") is None else EXTRA for row in rows))


def _strips_plot(panels: int, verdicts: Sequence[str], *, binned: bool) -> alt.FacetChart:
    base, y = alt.Chart(), line_axis(grid=True)
    x = alt.X("mean:Q").title(None).scale(zero=False, nice=True)
    x = x.axis(tickCount=4, format=".4~g", labelOverlap="greedy", labelSeparation=6, gridColor=LINE)
    looked = by_look({verdict: VERDICTS[verdict] for verdict in verdicts}, "verdict", symbolOpacity=1)
    colour = looked["color"]
    stroke = base.mark_tick(color=INK, thickness=1.5, size=22).encode(x="base:Q", y=y)
    if binned:
        dots = base.mark_bar(height=14, color=QUIET).encode(
            x=alt.X("from:Q"), x2="to:Q", y=y,
            opacity=alt.Opacity("share:Q").scale(range=[0.12, 0.75]).legend(None), tooltip=tips(binned=("runs", "")),
        )  # fmt: skip
    else:
        dots = base.mark_tick(color=QUIET, thickness=1.5, size=12, opacity=0.6).encode(
            x="x:Q", y=y, tooltip=tips(run="run", x=("value", ".4g"))
        )
    span = base.mark_rule(strokeWidth=1.5).encode(x=alt.X("min:Q"), x2="max:Q", y=y, color=colour)
    mean = base.mark_point(size=90, opacity=1, strokeWidth=1.5).encode(
        x=x, y=y, **looked,
        tooltip=tips(technique="technique", runs=("runs", ""), mean=("mean", ".4g"), min=("from", ".4g"),
                     max=("to", ".4g"), base=("mean of the baseline", ".4g"), verdict="verdict"),
    )  # fmt: skip
    return in_panels(
        [stroke, span, dots, mean], columns=min(panels, STILL_COLUMNS), width=STILL_WIDTH, height=alt.Step(22),
        scales="x",
    )  # fmt: skip


def straddles(result: EvidenceResult) -> Chart | None:
    """Draw the classes that straddle the rule, the worst first."""
    every = worst_first(result.straddling)
    chosen = every[:MOST_CLASSES]
    if not chosen:
        return None
    rows: list[Row] = [
        {
            "straddle": result.straddling.index(straddle), "line": line, "low": rounded(straddle.min),
            "high": rounded(straddle.max), "kind": COMPLETE if straddle.complete else PARTLY,
            "text": f"{straddle.broken} of {straddle.runs}",
        }
        for line, straddle in enumerate(chosen)
    ]  # fmt: skip
    some = len(chosen) < len(every)
    chart = draw(
        _straddles_plot(used(SIDES, rows, "kind")), rows, {"labels": [_class_label(straddle) for straddle in chosen]},
        name="straddling classes", title="Classes on both sides of the 20% rule",
        caption=(
            "From the lowest run to the highest of each class; the dashed line is the rule, 20%. On the right: how "
            "many runs lie above it."
        ),
        words=f"Ranges of the runs of {plural(len(chosen), 'class', 'classes')} across the 20% rule.",
        notes=(f"Shown are the {len(chosen)} of {len(every)} that move furthest." * some,), marks=4,
    )  # fmt: skip
    chart.spec["config"]["axisY"]["labelLimit"] = CLASS_ROOM
    return chart


def _class_label(straddle: Straddle) -> str:
    """Name a line, the class first; the technique takes what class and metric leave, so that two stay apart."""
    first = f"{safe_name(straddle.by, 24)}: {safe_name(straddle.metric, 16)}, "
    return first + safe_name(straddle.technique, max(20, CLASS_LETTERS - len(first)))


def _straddles_plot(sides: Mapping[str, Look]) -> alt.TopLevelMixin:
    base, y = alt.Chart(alt.NamedData(ROWS)), line_axis(grid=True)
    looked = by_look(sides, "kind")
    x = alt.X("low:Q").title(None).axis(format=".0%", tickCount=6, gridColor=LINE).scale(domain=[0, 1])
    rule = marks_once().mark_rule(color=INK, strokeDash=[4, 3]).encode(x=alt.datum(RULE))
    span = base.mark_rule(strokeWidth=2).encode(x=x, x2="high:Q", y=y, color=looked["color"])
    ends = [
        base.mark_point(size=70, opacity=1).encode(x=alt.X(f"{end}:Q"), y=y, **looked, tooltip=tips(text="the rule"))
        for end in ("low", "high")
    ]
    text = base.mark_text(align="left", dx=10, fontSize=11, color=INK).encode(x=alt.datum(1), y=y, text="text:N")
    return alt.layer(rule, span, *ends, text).properties(width=330, height=alt.Step(24))
