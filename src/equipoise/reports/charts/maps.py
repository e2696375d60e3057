"""Maps of points: the rows of one space, or the same rows in several spaces side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import altair as alt
import numpy as np

from equipoise.audits import AuditResult, SpaceMap
from equipoise.foundation import plural, stream
from equipoise.reports._formats import safe_name
from equipoise.reports._spaces import MOST_MAPS, map_caution
from equipoise.reports.charts.chart import (
    COLOURS,
    QUIET,
    SHAPES,
    Chart,
    Fit,
    Row,
    by_line,
    draw,
    in_panels,
)
from equipoise.studies import StudyResult
from equipoise.studies.findings import StudyMap

# Of all maps together, and of one of them: more would not fit a page.
MOST_POINTS_ON_A_PAGE, MOST_POINTS = 3_000, 1_500
# Colours and shapes that can be told apart: of more groups, the largest are shown each by itself.
MOST_GROUPS, MOST_CLASSES = len(COLOURS), 20
OTHERS = "other groups"
WIDTH, HEIGHT = 560, 430
SIDE = 290
MOST_GROUPS = len(COLOURS)
MOST_SIDE_BY_SIDE = 3
NOBODY = "no group"


def space_maps(result: AuditResult) -> Iterator[Chart]:
    """Draw the map once for each attribute, and once for the classes where they are few enough to be named."""
    space_map = result.map
    if space_map is None or not space_map.x:
        return
    parts = [(safe_name(name), labels) for name, labels in space_map.groups.items()][:MOST_MAPS]
    classes = len(set(space_map.classes))
    labelled = [*parts, *([("class", space_map.classes)] if 0 < classes <= MOST_CLASSES else [])]
    places = _sample(len(space_map.x), min(MOST_POINTS, MOST_POINTS_ON_A_PAGE // max(len(labelled), 1)))
    for name, labels in labelled:
        yield _space_map(result, space_map, name, labels, places, is_class=labels is space_map.classes)


def _sample(number: int, most: int) -> list[int]:
    if number <= most:
        return list(range(number))
    chosen = stream(0, "map on a page").choice(number, most, replace=False)
    return sorted(int(index) for index in chosen)


def _space_map(
    result: AuditResult, space_map: SpaceMap, name: str, labels: Sequence[str], places: Sequence[int], *, is_class: bool
) -> Chart:
    names = _largest_first([labels[record_index] for record_index in places], MOST_CLASSES if is_class else MOST_GROUPS)
    number = {label: index for index, label in enumerate(names)}
    rows: list[Row] = [
        {"panel": 0, "x": x, "y": y, "line": number.get(labels[record_index], len(names) - 1)}
        for (x, y), record_index in zip(_pixels(space_map, places), places, strict=True)
    ]
    # Points of one group after another would bury the first.
    order = stream(0, "order on a map").permutation(len(rows)).tolist()
    rows = [rows[record_index] for record_index in order]
    legend = [safe_name(label, 30) for label in names]
    words = f"Map of {plural(len(rows), 'point')} by {name}: {plural(len(names), 'kind')} of marks."
    of = (
        f"{len(rows):,} of {space_map.of:,} points, drawn at random."
        if len(rows) < space_map.of
        else f"{plural(space_map.of, 'point')}."
    )
    plot = _points(names, _shapes(names), WIDTH, HEIGHT, edge=8, panels=1, size=26, opacity=0.75)
    chart = draw(
        plot, rows, {"panels": [""], "lines": legend},
        name=f"map {name}",
        title=f"The points by {name}",
        caption=f"{of} {map_caution(result, short=True)}",
        words=words, where="",
        fit=Fit(1, 280, WIDTH, 40, max(map(len, legend)) + 3),
    )  # fmt: skip
    chart.spec["config"]["legend"]["columns"] = max(1, min(6, 620 // (7 * max(map(len, legend)) + 45)))
    return chart


def _largest_first(labels: Sequence[str], most: int) -> list[str]:
    """Return the labels, the largest first; of too many the rest is one."""
    ranked = [label for label, _ in Counter(labels).most_common()]
    return ranked if len(ranked) <= most else [*ranked[: most - 1], OTHERS]


def _pixels(space_map: SpaceMap, places: Sequence[int]) -> Iterator[tuple[float, float]]:
    """Yield places in pixels from the middle: short to send, and a step across is as far as a step up."""
    points = np.array([space_map.x, space_map.y])[:, list(places)].T
    unit = float((np.ptp(points, axis=0) / (WIDTH, HEIGHT)).max()) or 1.0
    middle = (points.max(axis=0) + points.min(axis=0)) / 2
    for x, y in ((points - middle) / unit).tolist():
        yield round(x, 1), round(y, 1)


def study_space_maps(result: StudyResult) -> Chart | None:
    """Draw the maps; None where there are none."""
    maps = [study_map for study_map in result.space_maps if study_map.x and study_map.split == "test"][
        :MOST_SIDE_BY_SIDE
    ]
    if not maps:
        return None
    title = f"The same rows in {plural(len(maps), 'space')}, by {safe_name(maps[0].attribute, 40)}"
    return side_by_side(maps, [_panel_title(study_map) for study_map in maps], name="maps of spaces", title=title)


def sensitive_maps(result: StudyResult) -> Iterator[Chart]:
    """Draw the dev rows in the space that is released and in the sensitive one, once for each attribute."""
    dev_maps = [study_map for study_map in result.space_maps if study_map.x and study_map.split == "dev"]
    for attribute in dict.fromkeys(study_map.attribute for study_map in dev_maps):
        maps = [study_map for study_map in dev_maps if study_map.attribute == attribute]
        attribute_name, first = safe_name(attribute, 40), maps[0]
        titles = {
            "embedding": ["What is released", "colours should mix"],
            "sensitive": [f"Sensitive: {safe_name(attribute, 22)}", "colours should part"],
        }
        words = (
            f"{safe_name(f'{first.learner}: {first.treatment}', 60)}, {safe_name(first.condition, 60)}. First the "
            "embedding that is released: colours should mix. Then that of the head which learnt to tell "
            f"{attribute_name}, and which is not released: colours should part. Where it follows from the class, rows "
            "of one class have one colour wherever they lie, and to mix means that classes of several colours lie "
            "among one another. "
        )
        title = f"Held apart: the released and the sensitive space, by {attribute_name}"
        panels = [titles[study_map.space] for study_map in maps]
        yield side_by_side(maps, panels, name=f"sensitive space of {attribute_name}", title=title, before=words)


def side_by_side(
    maps: Sequence[StudyMap], titles: Sequence[list[str]], *, name: str, title: str, before: str = ""
) -> Chart:
    """Draw maps of the same rows, a panel each."""
    names = _groups_of(maps)
    number = {name: index for index, name in enumerate(names)}
    rows = [row for panel, study_map in enumerate(maps) for row in _map_rows(study_map, panel, number)]
    first = maps[0]
    words = f"Maps of {plural(len(maps), 'space')} by {safe_name(first.attribute, 40)}, {plural(len(rows), 'mark')}."
    legend = [safe_name(name, 30) for name in names]
    every = f"{len(first.x):,} of {first.of:,} {first.split} rows, drawn at random"
    of = every if len(first.x) < first.of else f"all {first.split} rows"
    return draw(
        _points(
            names,
            [SHAPES[record_index % len(SHAPES)] for record_index in range(len(names))],
            SIDE,
            SIDE,
            edge=6,
            panels=len(maps),
            size=20,
            opacity=0.7,
        ),
        rows,
        {"panels": titles, "lines": legend},
        name=name,
        title=title,
        caption=(
            f"{before}Seed {first.seed}; {of}. Principal components of each space by itself, so axes of two panels "
            f"cannot be compared: {'; '.join(map(_explained, maps))}. What is "
            "not seen may set points apart that lie together here."
        ),
        words=words,
        where="",
        fit=Fit(len(maps), 230, SIDE, 20, max(map(len, legend)) + 3),
    )


def _panel_title(study_map: StudyMap) -> list[str]:
    treated = f": {study_map.treatment}" if study_map.treatment != "untreated" else ""
    # In two lines: a panel is narrow.
    return [safe_name(study_map.learner + treated, 34), safe_name(study_map.condition, 34)]


def _explained(study_map: StudyMap) -> str:
    if study_map.explained is None:
        return "all points are the same"
    return f"{100 * study_map.explained[0]:.0f}% and {100 * study_map.explained[1]:.0f}% of the variance"


def _groups_of(maps: Sequence[StudyMap]) -> list[str]:
    """Return the groups of all maps, the largest first; of too many the rest is one."""
    counted = Counter(_label(study_map, code) for study_map in maps for code in study_map.group)
    ranked = [name for name, _ in counted.most_common()]
    return ranked if len(ranked) <= MOST_GROUPS else [*ranked[: MOST_GROUPS - 1], OTHERS]


def _label(study_map: StudyMap, code: int) -> str:
    return study_map.groups[code] if code >= 0 else NOBODY


def _map_rows(study_map: StudyMap, panel: int, number: dict[str, int]) -> Iterator[Row]:
    """Yield places in pixels from the middle, in a random order: one group after another would bury the first."""
    points = np.array([study_map.x, study_map.y]).T
    unit = float(np.ptp(points, axis=0).max() / SIDE) or 1.0
    placed = ((points - (points.max(axis=0) + points.min(axis=0)) / 2) / unit).round(1)
    for index in stream(0, "order on a map").permutation(len(placed)).tolist():
        x, y = placed[index].tolist()
        yield {
            "panel": panel,
            "x": x,
            "y": y,
            "line": number.get(_label(study_map, study_map.group[index]), len(number) - 1),
        }


def _points(
    names: Sequence[str], shapes: Sequence[str], width: int, height: int, *, edge: int, panels: int, size: int,
    opacity: float,
) -> alt.FacetChart:  # fmt: skip
    """Draw a mark for each point, at its place in pixels from the middle; those of no group of their own are grey."""
    places = range(len(names))
    colours = [QUIET if names[index] in (OTHERS, NOBODY) else COLOURS[index % len(COLOURS)] for index in places]
    axis = alt.Axis(title=None, labels=False, ticks=False, grid=False, domain=False)
    across, up = (alt.Scale(domain=[-side / 2 - edge, side / 2 + edge], nice=False) for side in (width, height))
    point = alt.Chart().mark_point(filled=True, size=size, opacity=opacity).encode(
        x=alt.X("x:Q").axis(axis).scale(across), y=alt.Y("y:Q").axis(axis).scale(up),
        **by_line(places, colours=colours, shapes=shapes, symbolOpacity=1),
    )  # fmt: skip
    return in_panels(point, columns=panels, width=width, height=height, axes="")


def _shapes(names: Sequence[str]) -> list[str]:
    """Return a shape for each group; those that share a colour have another."""
    return [SHAPES[(index + index // len(COLOURS)) % len(SHAPES)] for index in range(len(names))]
