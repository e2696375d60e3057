"""Calibration: among those with a score of 0.7, do seven in ten turn out so, in every group?"""

from __future__ import annotations

from collections import Counter

import altair as alt

from equipoise.audits import AuditResult
from equipoise.reports._formats import count, distinct_names, percent, plural, safe_name
from equipoise.reports.charts.chart import COLOURS, ONCE, ROWS, Chart, Fit, Row, finish, rounded
from equipoise.reports.subjects import subjects_of, widest_groups, widest_in_words

MOST_PANELS = 18
LEAST_PEOPLE = 10
LEAST_BINS = 3
# As many letters fit above a panel; longer names keep their beginning and end.
PANEL_LETTERS = 17


def calibration(result: AuditResult, split: str | None) -> Chart | None:
    """Draw observed shares against mean scores, a panel a group."""
    subjects = [subject for subject in subjects_of(result) if subject.split == split]
    points = [point for point in result.calibration if point.weight >= LEAST_PEOPLE]
    own = {subject: [point for point in points if subject.has(point)] for subject in subjects}
    subjects = [subject for subject in subjects if own[subject]]
    rows: list[Row] = []
    panels: list[str] = []
    notes: list[str] = []
    for subject in subjects:
        bins = Counter(point.group for point in own[subject])
        groups = [group for group, number in bins.items() if number >= LEAST_BINS]
        if len(groups) < len(bins):
            notes.append(
                f"Of {subject.title}, {plural(len(bins) - len(groups), 'group')} with too few people are not drawn."
            )
        room = (MOST_PANELS - len(panels)) if subject is subjects[-1] else MOST_PANELS // len(subjects)
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
            for point in own[subject]
            if point.group in chosen
        ]
        panels += distinct_names(chosen, PANEL_LETTERS)
    if not rows:
        return None
    words = (
        f"Calibration of {plural(len(panels), 'group')}: observed share against mean score, in ten bins of the score."
    )
    return Chart(
        name=f"calibration {split or ''}".strip(),
        title="Calibration" + (f" ({safe_name(split)})" if split is not None else ""),
        caption=(
            "For those with about the same score: the mean score across, the share that truly was so up. On the dashed "
            "line a score means what it says; points below it are scored too high. Larger points are more people; "
            f"bins with fewer than {LEAST_PEOPLE} are left out."
        ),
        alt=words,
        spec=finish(_plot(len(panels)), rows, {"panels": panels}, alt=words),
        fit=Fit(min(6, len(panels)), 98, 160, 70),
        notes=tuple(notes),
        rows=3 * len(rows),
    )


def _plot(panels: int) -> alt.FacetChart:
    base, once = alt.Chart(), alt.Chart(alt.NamedData(ONCE))
    even = once.mark_rule(color="#5F6B76", strokeDash=[4, 3]).encode(
        x=alt.datum(0), y=alt.datum(0), x2=alt.datum(1), y2=alt.datum(1)
    )
    x = alt.X("x:Q").title(None).axis(values=[0, 0.5, 1], format="~g").scale(domain=[0, 1])
    y = alt.Y("y:Q").title("observed").axis(values=[0, 0.5, 1], format=".0%").scale(domain=[0, 1])
    line = base.mark_line(color=COLOURS[0], strokeWidth=1.5).encode(x=x, y=y)
    point = base.mark_point(filled=True, color=COLOURS[0], opacity=1).encode(
        x=x, y=y,
        size=alt.Size("people:Q").scale(type="sqrt", range=[20, 160]).legend(None),
        tooltip=[
            alt.Tooltip("x:Q", title="mean score", format=".3f"), alt.Tooltip("text:N", title="truly so"),
        ],
    )  # fmt: skip
    plot: alt.FacetChart = (
        alt.layer(even, line, point)
        .properties(width=100, height=100)
        .facet(
            data=alt.NamedData(ROWS),
            facet=alt.Facet("panel:O").header(
                title=None, labelExpr="panels[datum.value]", labelLimit=124, labelFontSize=11
            ),
            columns=min(panels, 6),
        )
        .resolve_axis(x="independent")
    )
    return plot
