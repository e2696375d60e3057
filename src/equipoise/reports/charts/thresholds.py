"""Where there are scores: gaps and rates at every threshold."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt

from equipoise.audits import AuditResult, Curve
from equipoise.reports._formats import plural, safe_name
from equipoise.reports.charts.chart import COLOURS, DASHES, ONCE, ROWS, Chart, Fit, Row, Spec, finish, rounded
from equipoise.reports.measure_words import title_of
from equipoise.reports.subjects import (
    Subject,
    small_groups,
    subjects_of,
    used_threshold,
    widest_groups,
    widest_in_words,
)

GAPS = ("demographic_parity", "equalized_odds_true_positive", "equalized_odds_false_positive", "disparate_impact")
RATES = ("selection_rate", "true_positive_rate", "false_positive_rate")
MOST_PANELS = 6
MOST_LINES = len(COLOURS)


def gap_curves(result: AuditResult, split: str | None) -> Chart | None:
    """Draw the main gaps against the threshold: a panel an attribute, a line a measure."""
    subjects = [subject for subject in subjects_of(result) if subject.split == split][:MOST_PANELS]
    rows: list[Row] = []
    for panel, subject in enumerate(subjects):
        for curve in result.curves:
            if subject.has(curve) and curve.measure in GAPS:
                rows += _points(curve, panel, GAPS.index(curve.measure))
    if not rows:
        return None
    labels = {"panels": [subject.title for subject in subjects], "lines": [title_of(name) for name in GAPS]}
    words = f"Lines of {len(GAPS)} gaps against the threshold on the score, for {plural(len(subjects), 'attribute')}."
    return Chart(
        name=f"gaps by threshold {split or ''}".strip(),
        title="Gaps at every threshold" + (f" ({safe_name(split)})" if split is not None else ""),
        caption=(
            "A gap is the largest difference between any two groups, so a group with few people can make it wide by "
            "chance. A line stops where its gap is undefined."
        ),
        alt=words,
        spec=_spec(_plot(len(subjects), len(GAPS), "gap", used_threshold(result)), rows, labels, words),
        fit=Fit(min(3, len(subjects)), 210, 420, 70, max(map(len, labels["lines"]))),
        rows=len(rows),
    )


def rate_curves(result: AuditResult, subject: Subject) -> Chart | None:
    """Draw the main rates of an attribute's groups against the threshold: a panel a rate, a line a group."""
    curves = [
        curve for curve in result.curves if subject.has(curve) and curve.measure in RATES and curve.group is not None
    ]
    small = small_groups(result, subject)
    every_group = list(dict.fromkeys(str(curve.group) for curve in curves))
    groups = [group for group in every_group if group not in small]
    chosen = widest_groups(result, subject, groups, MOST_LINES)
    rows: list[Row] = []
    for curve in curves:
        if curve.group in chosen:
            rows += _points(curve, RATES.index(curve.measure), chosen.index(curve.group))
    if not rows:
        return None
    labels = {"panels": [title_of(name) for name in RATES], "lines": [safe_name(group, 40) for group in chosen]}
    words = (
        f"Lines of {len(RATES)} rates against the threshold on the score, for {plural(len(chosen), 'group')} of "
        f"{subject.title}."
    )
    return Chart(
        name=f"rates by threshold {subject.title}",
        title=f"{subject.title}: rates at every threshold",
        caption=f"One line for each group of {subject.title}.",
        alt=words,
        spec=_spec(_plot(len(RATES), len(chosen), "rate", used_threshold(result)), rows, labels, words),
        fit=Fit(len(RATES), 210, 420, 70, max(map(len, labels["lines"]))),
        notes=tuple(_left_out(len(chosen), len(groups), len(every_group), widest_in_words(result, subject))),
        rows=len(rows),
    )


def _left_out(drawn: int, large: int, every: int, which: str) -> Iterator[str]:
    if large < every:
        yield f"{plural(every - large, 'group')} with too few people are not drawn: the lines would be noise."
    if drawn < large:
        yield f"Shown are the {drawn} of {large} groups {which}."


def _spec(plot: alt.FacetChart, rows: list[Row], labels: dict[str, list[str]], words: str) -> Spec:
    """Finish a plot, its legend in as many columns as paper has room for."""
    spec = finish(plot, rows, labels, alt=words)
    spec["config"]["legend"]["columns"] = max(1, min(4, 740 // (7 * max(map(len, labels["lines"])) + 45)))
    return spec


def _points(curve: Curve, panel: int, line: int) -> list[Row]:
    return [
        {"panel": panel, "line": line, "x": rounded(threshold), "y": rounded(value)}
        for threshold, value in zip(curve.thresholds, curve.values, strict=True)
    ]


def _plot(panels: int, lines: int, title: str, used: float | None) -> alt.FacetChart:
    base, once = alt.Chart(), alt.Chart(alt.NamedData(ONCE))
    places = list(range(lines))
    legend = alt.Legend(title=None, labelExpr="lines[datum.value]", symbolType="stroke", symbolSize=400)
    line = base.mark_line(strokeWidth=2).encode(
        x=alt.X("x:Q")
        .title("threshold on the score")
        .axis(tickCount=5, labelOverlap="greedy", labelSeparation=6)
        .scale(zero=False, nice=False),
        y=alt.Y("y:Q").title(title).axis(tickCount=5, format=".0%").scale(domain=[0, 1]),
        color=alt.Color("line:O").scale(domain=places, range=list(COLOURS[:lines])).legend(legend),
        strokeDash=alt.StrokeDash("line:O").scale(domain=places, range=list(DASHES[:lines])).legend(legend),
    )
    layers: list[alt.Chart] = [line]
    if used is not None:
        layers.append(once.mark_rule(color="#5F6B76", strokeDash=[3, 3]).encode(x=alt.datum(used)))
    plot: alt.FacetChart = (
        alt.layer(*layers)
        .properties(width=215, height=190)
        .facet(
            data=alt.NamedData(ROWS),
            facet=alt.Facet("panel:O").header(title=None, labelExpr="panels[datum.value]"),
            columns=min(panels, 3),
        )
        .resolve_axis(x="independent")
    )
    return plot
