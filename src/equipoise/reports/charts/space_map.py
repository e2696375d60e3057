"""The map of an embedding: a mark a point, its group or class told by colour and by shape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import altair as alt
import numpy as np

from equipoise.audits import AuditResult, SpaceMap
from equipoise.foundation.seeds import stream
from equipoise.reports._formats import plural, safe_name
from equipoise.reports.charts.chart import COLOURS, QUIET, ROWS, Chart, Fit, Row, finish
from equipoise.reports.spaces import MOST_MAPS, map_caution

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
# Of all maps together, and of one of them: more would not fit a page.
MOST_POINTS_ON_A_PAGE, MOST_POINTS = 3_000, 1_500

# Colours and shapes that can be told apart: of more groups, the largest are shown each by itself.
MOST_GROUPS, MOST_CLASSES = len(COLOURS), 20
OTHERS = "other groups"
WIDTH, HEIGHT = 560, 430


def space_maps(result: AuditResult) -> Iterator[Chart]:
    """Draw the map once for each attribute, and once for the classes where they are few enough to be named."""
    drawn = result.map
    if drawn is None or not drawn.x:
        return
    parts = [(safe_name(name), labels) for name, labels in drawn.groups.items()][:MOST_MAPS]
    classes = len(set(drawn.classes))
    wanted = [*parts, *([("class", drawn.classes)] if 0 < classes <= MOST_CLASSES else [])]
    places = _sample(len(drawn.x), min(MOST_POINTS, MOST_POINTS_ON_A_PAGE // max(len(wanted), 1)))
    for name, labels in wanted:
        yield _map(result, drawn, name, labels, places, is_class=labels is drawn.classes)


def _sample(number: int, most: int) -> list[int]:
    if number <= most:
        return list(range(number))
    chosen = stream(0, "map on a page").choice(number, most, replace=False)
    return sorted(int(place) for place in chosen)


def _map(
    result: AuditResult, drawn: SpaceMap, name: str, labels: Sequence[str], places: Sequence[int], *, is_class: bool
) -> Chart:
    names = _names([labels[place] for place in places], MOST_CLASSES if is_class else MOST_GROUPS)
    number = {label: place for place, label in enumerate(names)}
    rows: list[Row] = [
        {"panel": 0, "x": x, "y": y, "line": number.get(labels[place], len(names) - 1)}
        for (x, y), place in zip(_pixels(drawn, places), places, strict=True)
    ]
    # Points of one group after another would bury the first.
    order = stream(0, "order on a map").permutation(len(rows)).tolist()
    rows = [rows[place] for place in order]
    shown = [safe_name(label, 30) for label in names]
    words = f"Map of {plural(len(rows), 'point')} by {name}: {plural(len(names), 'kind')} of marks."
    of = (
        f"{len(rows):,} of {drawn.of:,} points, drawn at random."
        if len(rows) < drawn.of
        else f"{plural(drawn.of, 'point')}."
    )
    spec = finish(_plot(names), rows, {"panels": [""], "lines": shown}, alt=words)
    spec["config"]["legend"]["columns"] = max(1, min(6, 620 // (7 * max(map(len, shown)) + 45)))
    return Chart(
        name=f"map {name}",
        title=f"The points by {name}",
        caption=f"{of} {map_caution(result, short=True)}",
        alt=words,
        spec=spec,
        fit=Fit(1, 280, WIDTH, 40, max(map(len, shown)) + 3),
        rows=len(rows),
    )


def _names(labels: Sequence[str], most: int) -> list[str]:
    """Return the labels, the largest first; of too many the rest is one."""
    ranked = [label for label, _ in Counter(labels).most_common()]
    return ranked if len(ranked) <= most else [*ranked[: most - 1], OTHERS]


def _pixels(drawn: SpaceMap, places: Sequence[int]) -> Iterator[tuple[float, float]]:
    """Yield places in pixels from the middle: short to send, and a step across is as far as a step up."""
    points = np.array([drawn.x, drawn.y])[:, list(places)].T
    unit = float((np.ptp(points, axis=0) / (WIDTH, HEIGHT)).max()) or 1.0
    middle = (points.max(axis=0) + points.min(axis=0)) / 2
    for x, y in ((points - middle) / unit).tolist():
        yield round(x, 1), round(y, 1)


def _plot(names: Sequence[str]) -> alt.FacetChart:
    places = list(range(len(names)))
    colours = [QUIET if names[place] == OTHERS else COLOURS[place % len(COLOURS)] for place in places]
    shapes = [SHAPES[(place + place // len(COLOURS)) % len(SHAPES)] for place in places]
    legend = alt.Legend(title=None, labelExpr="lines[datum.value]", symbolOpacity=1)
    axis = alt.Axis(title=None, labels=False, ticks=False, grid=False, domain=False)
    across, up = (alt.Scale(domain=[-side / 2 - 8, side / 2 + 8], nice=False) for side in (WIDTH, HEIGHT))
    plot: alt.FacetChart = (
        alt.Chart()
        .mark_point(filled=True, size=26, opacity=0.75)
        .encode(
            x=alt.X("x:Q").axis(axis).scale(across),
            y=alt.Y("y:Q").axis(axis).scale(up),
            color=alt.Color("line:N").scale(domain=places, range=colours).legend(legend),
            shape=alt.Shape("line:N").scale(domain=places, range=shapes).legend(legend),
        )
        .properties(width=WIDTH, height=HEIGHT)
        .facet(
            data=alt.NamedData(ROWS),
            facet=alt.Facet("panel:O").header(title=None, labelExpr="panels[datum.value]"),
            columns=1,
        )
    )
    return plot
