"""The same test rows in several spaces of a study, side by side: principal components, coloured by group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import altair as alt
import numpy as np

from equipoise.foundation.seeds import stream
from equipoise.reports._formats import plural, safe_name
from equipoise.reports.charts.chart import COLOURS, QUIET, ROWS, Chart, Fit, Row, finish
from equipoise.reports.charts.space_map import OTHERS, SHAPES
from equipoise.studies.findings import StudyMap, StudyResult

SIDE = 290
MOST_GROUPS = len(COLOURS)
MOST_MAPS = 3
NOBODY = "no group"


def study_space_maps(result: StudyResult) -> Chart | None:
    """Draw the maps; None where there are none."""
    maps = [one for one in result.space_maps if one.x and one.split == "test"][:MOST_MAPS]
    if not maps:
        return None
    title = f"The same rows in {plural(len(maps), 'space')}, by {safe_name(maps[0].attribute, 40)}"
    return side_by_side(maps, [_title(one) for one in maps], name="maps of spaces", title=title)


def sensitive_maps(result: StudyResult) -> Iterator[Chart]:
    """Draw the dev rows in the space that is released and in the sensitive one, once for each attribute."""
    own = [one for one in result.space_maps if one.x and one.split == "dev"]
    for attribute in dict.fromkeys(one.attribute for one in own):
        maps = [one for one in own if one.attribute == attribute]
        shown, first = safe_name(attribute, 40), maps[0]
        titles = {
            "embedding": ["What is released", "colours should mix"],
            "sensitive": [f"Sensitive: {safe_name(attribute, 22)}", "colours should part"],
        }
        told = (
            f"{safe_name(f'{first.learner}: {first.treatment}', 60)}, {safe_name(first.condition, 60)}. First the "
            f"embedding that is released: colours should mix. Then that of the head which learnt to tell {shown}, and "
            "which is not released: colours should part. Where it follows from the class, rows of one class have one "
            "colour wherever they lie, and to mix means that classes of several colours lie among one another. "
        )
        title = f"Held apart: the released and the sensitive space, by {shown}"
        panels = [titles[one.space] for one in maps]
        yield side_by_side(maps, panels, name=f"sensitive space of {shown}", title=title, before=told)


def side_by_side(
    maps: Sequence[StudyMap], titles: Sequence[list[str]], *, name: str, title: str, before: str = ""
) -> Chart:
    """Draw maps of the same rows, a panel each."""
    names = _names(maps)
    number = {name: place for place, name in enumerate(names)}
    rows = [row for panel, one in enumerate(maps) for row in _rows(one, panel, number)]
    first = maps[0]
    words = f"Maps of {plural(len(maps), 'space')} by {safe_name(first.attribute, 40)}, {plural(len(rows), 'mark')}."
    shown = [safe_name(name, 30) for name in names]
    every = f"{len(first.x):,} of {first.of:,} {first.split} rows, drawn at random"
    of = every if len(first.x) < first.of else f"all {first.split} rows"
    return Chart(
        name=name,
        title=title,
        caption=(
            f"{before}Seed {first.seed}; {of}. Principal components of each space by itself, so axes of two panels "
            f"cannot be compared: {'; '.join(map(_explained, maps))}. What is "
            "not seen may set points apart that lie together here."
        ),
        alt=words,
        spec=finish(_plot(names, len(maps)), rows, {"panels": titles, "lines": shown}, alt=words),
        fit=Fit(len(maps), 230, SIDE, 20, max(map(len, shown)) + 3),
        rows=len(rows),
    )


def _title(one: StudyMap) -> list[str]:
    treated = f": {one.treatment}" if one.treatment != "untreated" else ""
    # In two lines: a panel is narrow.
    return [safe_name(one.learner + treated, 34), safe_name(one.condition, 34)]


def _explained(one: StudyMap) -> str:
    if one.explained is None:
        return "all points are the same"
    return f"{100 * one.explained[0]:.0f}% and {100 * one.explained[1]:.0f}% of the variance"


def _names(maps: Sequence[StudyMap]) -> list[str]:
    """Return the groups of all maps, the largest first; of too many the rest is one."""
    counted = Counter(_label(one, code) for one in maps for code in one.group)
    ranked = [name for name, _ in counted.most_common()]
    return ranked if len(ranked) <= MOST_GROUPS else [*ranked[: MOST_GROUPS - 1], OTHERS]


def _label(one: StudyMap, code: int) -> str:
    return one.groups[code] if code >= 0 else NOBODY


def _rows(one: StudyMap, panel: int, number: dict[str, int]) -> Iterator[Row]:
    """Yield places in pixels from the middle, in a random order: one group after another would bury the first."""
    points = np.array([one.x, one.y]).T
    unit = float(np.ptp(points, axis=0).max() / SIDE) or 1.0
    placed = ((points - (points.max(axis=0) + points.min(axis=0)) / 2) / unit).round(1)
    for place in stream(0, "order on a map").permutation(len(placed)).tolist():
        x, y = placed[place].tolist()
        yield {"panel": panel, "x": x, "y": y, "line": number.get(_label(one, one.group[place]), len(number) - 1)}


def _plot(names: Sequence[str], panels: int) -> alt.FacetChart:
    places = list(range(len(names)))
    colours = [QUIET if names[place] in (OTHERS, NOBODY) else COLOURS[place % len(COLOURS)] for place in places]
    shapes = [SHAPES[place % len(SHAPES)] for place in places]
    legend = alt.Legend(title=None, labelExpr="lines[datum.value]", symbolOpacity=1)
    axis = alt.Axis(title=None, labels=False, ticks=False, grid=False, domain=False)
    scale = alt.Scale(domain=[-SIDE / 2 - 6, SIDE / 2 + 6], nice=False)
    plot: alt.FacetChart = (
        alt.Chart()
        .mark_point(filled=True, size=20, opacity=0.7)
        .encode(
            x=alt.X("x:Q").axis(axis).scale(scale),
            y=alt.Y("y:Q").axis(axis).scale(scale),
            color=alt.Color("line:N").scale(domain=places, range=colours).legend(legend),
            shape=alt.Shape("line:N").scale(domain=places, range=shapes).legend(legend),
        )
        .properties(width=SIDE, height=SIDE)
        .facet(
            data=alt.NamedData(ROWS),
            facet=alt.Facet("panel:O").header(title=None, labelExpr="panels[datum.value]"),
            columns=panels,
        )
    )
    return plot
