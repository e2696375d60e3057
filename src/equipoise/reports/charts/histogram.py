"""Histograms of scores: everyone, and each group with the outline of everyone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from equipoise.audits.compare import ChangeRecord, CompareResult, Histogram
from equipoise.foundation import plural
from equipoise.reports._formats import safe_name
from equipoise.reports.charts.chart import (
    COLOURS,
    INK,
    LINE,
    QUIET,
    STRONG,
    Chart,
    Fit,
    Row,
    draw,
    in_panels,
    rounded,
    tips,
)
from equipoise.results import Status

MOST_GROUPS = 12
FEW_PANELS = 6
TICKS = [0, 4, 20, 50, 100]
MEAN, CKA, CUTOFF, FLOOR = "mean score", "CKA", "cut-off, most changed", "noise floor (a rerun)"
# Colour and dash of the upright lines.
LINES: dict[str, tuple[str, list[int]]] = {
    MEAN: (INK, [1, 0]), CKA: (COLOURS[3], [8, 2, 2, 2]), CUTOFF: (STRONG, [5, 3]), FLOOR: (COLOURS[2], [2, 2]),
}  # fmt: skip


@dataclass(frozen=True)
class _Panel:
    label: str
    histogram: Histogram
    people: int
    lines: Mapping[str, float | None]


def everyone(result: CompareResult) -> Chart | None:
    """Draw the scores of everyone, with the aggregates as upright lines."""
    similarity = result.similarity
    lines = {MEAN: similarity.pnka, CKA: similarity.cka, CUTOFF: similarity.cutoff, FLOOR: similarity.rerun_pnka}
    panels = [
        _Panel("everyone", histogram, similarity.rows - similarity.undefined, lines)
        for histogram in result.histograms
        if histogram.attribute is None
    ]
    return _chart(
        panels, None,
        name="scores",
        title="Scores of everyone",
        caption=(
            "How many people have which score (PNKA). 1: a person's similarities to all others stayed the same; the "
            "further to the left, the more they changed. The vertical axis is a square-root scale, so that a few "
            "people can be seen."
        ),
        words=f"Histogram of the scores of {plural(similarity.rows - similarity.undefined, 'person', 'people')}.",
    )  # fmt: skip


def by_group(result: CompareResult, most: int) -> Iterator[Chart]:
    """Draw the scores of the groups of so many attributes, each with the outline of everyone."""
    overall = next((histogram for histogram in result.histograms if histogram.attribute is None), None)
    floors = {(record.attribute, record.group): record.floor_mean for record in result.floor}
    for attribute in result.attributes[:most]:
        records = {record.group: record for record in result.find(attribute=attribute)}
        every = [
            _panel(histogram, records[histogram.group], result.similarity.cutoff, floors)
            for histogram in result.histograms
            if histogram.attribute == attribute and records[histogram.group].status == Status.OK
        ]
        name = safe_name(attribute)
        chart = _chart(
            every, None if overall is None else (overall, result.similarity.rows - result.similarity.undefined),
            name=f"scores by {name}",
            title=f"{name}: scores of each group",
            caption=(
                "Bars are the group, the grey outline is everyone: where bars exceed it on the left, more of the group "
                "changed much."
            ),
            words=f"Histograms of the scores of {plural(len(every), 'group')} of {name}, beside everyone's.",
        )  # fmt: skip
        if chart is not None:
            yield chart


def _panel(
    histogram: Histogram, record: ChangeRecord, cutoff: float, floors: Mapping[tuple[str | None, str | None], float]
) -> _Panel:
    people = (record.people or 0) - (record.undefined or 0)
    lines = {MEAN: record.mean, CUTOFF: cutoff, FLOOR: floors.get((record.attribute, record.group))}
    return _Panel(f"{safe_name(str(record.group), 40)} ({people:,})", histogram, people, lines)


def _chart(
    every: Sequence[_Panel], overall: tuple[Histogram, int] | None, *, name: str, title: str, caption: str, words: str
) -> Chart | None:
    panels = sorted(every, key=lambda panel: -panel.people)[:MOST_GROUPS] if len(every) > MOST_GROUPS else every
    rows = [row for index, panel in enumerate(panels) for row in _rows(index, panel, overall)]
    if not rows:
        return None
    used = [line for line in LINES if any(row.get("what") == line for row in rows)]
    notes = [f"Shown are the {len(panels)} largest of {len(every)} groups."] if len(panels) < len(every) else []
    if any(count is None for panel in panels for count in panel.histogram.counts):
        notes.append("Bars of a few people are hidden.")
    columns = 1 if len(panels) <= FEW_PANELS else 2
    labels = {"panels": [panel.label for panel in panels]}
    return draw(
        _plot(used, columns, outlined=overall is not None),
        rows,
        labels,
        name=name,
        title=title,
        caption=caption,
        words=words,
        where="Their means and quantiles are in the table of scores.",
        fit=Fit(columns, 240, 860 // columns, 60, max(map(len, used))),
        notes=notes,
    )


def _rows(panel_index: int, panel: _Panel, overall: tuple[Histogram, int] | None) -> Iterator[Row]:
    histogram = panel.histogram
    for start, end, count in zip(histogram.edges, histogram.edges[1:], histogram.counts, strict=False):
        if count:
            yield {
                "panel": panel_index, "from": rounded(start), "to": rounded(end), "people": count,
                "share": rounded(count / panel.people, 100),
            }  # fmt: skip
    for title, at in panel.lines.items():
        if at is not None and not math.isnan(at):
            yield {"panel": panel_index, "what": title, "at": rounded(at)}
    if overall is not None:
        everybody, people = overall
        # The last edge closes the outline; a hidden bin counts as nothing.
        counts = [*(count or 0 for count in everybody.counts), 0]
        for edge, count in zip(everybody.edges, counts, strict=True):
            yield {"panel": panel_index, "edge": rounded(edge), "outline": rounded(count / people, 100)}


def _plot(lines: Sequence[str], columns: int, *, outlined: bool) -> alt.FacetChart:
    base = alt.Chart()
    x = alt.X("from:Q").title("score (PNKA)").scale(zero=False, nice=False)
    x = x.axis(tickCount=8, gridColor=LINE, labelOverlap="greedy")
    # Few people changed much: on a scale of square roots they are seen beside the many who did not.
    y, outlined_y = (
        alt.Y(f"{field}:Q").title("% of them").scale(type="sqrt").axis(values=TICKS, labelOverlap=False)
        for field in ("share", "outline")
    )
    legend = alt.Legend(title=None, symbolType="stroke", symbolStrokeWidth=2)
    colour, dash = (
        channel("what:N").scale(domain=list(lines), range=[LINES[line][part] for line in lines]).legend(legend)
        for part, channel in enumerate((alt.Color, alt.StrokeDash))
    )
    bars = base.mark_bar(color="#9CC9E3", stroke="white", strokeWidth=0.5).encode(
        x=x, x2="to:Q", y=y, y2=alt.datum(0),
        tooltip=tips(**{"from": ("score from", ".3f"), "to": ("to", ".3f")}, people=("people", ","),
                     share=("% of them", ".2f")),
    )  # fmt: skip
    rules = base.mark_rule(strokeWidth=2).encode(
        x="at:Q", color=colour, strokeDash=dash, tooltip=tips(what="line", at=("score", ".4f"))
    )
    outline = base.mark_line(interpolate="step-after", color=QUIET, strokeWidth=1.5).encode(x="edge:Q", y=outlined_y)
    return in_panels(
        [bars, *([outline] * outlined), rules], columns=columns, width=560 // columns, height=76 if outlined else 170,
        axes="", labelAnchor="start",
    )  # fmt: skip
