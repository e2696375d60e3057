"""Maps of spaces side by side: test rows in raw, untreated and treated spaces; dev rows in a sensitive one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from equipoise.audits.embedding.maps import embedding_map
from equipoise.studies.findings.cells import Cell
from equipoise.studies.findings.spaces.apart import Apart
from equipoise.studies.findings.spaces.choosing import is_control
from equipoise.studies.findings.spaces.groups import Grouping, degree_of
from equipoise.studies.findings.spaces.kept import TEST_EMBEDDING
from equipoise.studies.findings.spaces.measuring import Spaces, groupings
from equipoise.studies.findings.spaces.result import Space, StudyMap
from equipoise.studies.findings.spaces.telling import cells_with_spaces

RAW = "raw_features"
# Three panels of so many marks stay far below what a chart may have.
POINTS, DEV_POINTS = 1_000, 600


def maps_of(spaces: Spaces) -> Iterator[StudyMap]:
    """Yield the maps of one seed: raw features (where the study has them), the baseline, and a treatment or control."""
    cells = _chosen(spaces)
    seeds = set.intersection(*(set(cell.distinct_seeds) for cell in cells)) if cells else set()
    if not seeds:
        return
    seed = min(seeds)
    for cell in cells:
        place = int(cell.places[cell.runs_of(seed)[0]])
        if place in spaces.places:
            yield _map(spaces, cell, place)


def sensitive_maps_of(spaces: Spaces, aparts: Sequence[Apart]) -> Iterator[StudyMap]:
    """Yield two maps an attribute: the dev rows in the space that is released, then in the sensitive one."""
    for apart in aparts:
        both: tuple[tuple[Space, NDArray[np.float32]], ...]
        both = (("embedding", apart.embedding), ("sensitive", apart.sensitive))
        for space, points in both:
            grouping = Grouping(apart.attribute, apart.codes, apart.groups)
            drawn = _drawn(spaces, apart.cell, apart.place, grouping, points, DEV_POINTS)
            yield replace(drawn, split="dev", space=space)


def _chosen(spaces: Spaces) -> list[Cell]:
    """Choose what stands side by side; without a treatment, the furthest imbalance beside its control."""
    study, cells = spaces.study, [cell for cell in cells_with_spaces(spaces) if cell.chosen]
    above = {id(cell): base for cell, base in zip(study.cells, study.baselines, strict=True)}
    trained = [cell for cell in cells if cell.described["learner"].name != RAW]
    shown: list[Cell] = []
    treated = max((cell for cell in trained if above[id(cell)] is not None), key=_shown_first, default=None)
    if treated is not None:
        base = above[id(treated)]
        assert base is not None
        shown = [base, treated]
    elif trained:
        first = min(trained, key=_degree)
        same = [cell for cell in trained if cell.under.learner == first.under.learner]
        last = max(same, key=_degree)
        shown = [first] if last is first else [first, last]
    raw = [cell for cell in cells if cell.described["learner"].name == RAW]
    if shown and raw:
        wanted = shown[-1].under.condition
        shown.insert(0, next((cell for cell in raw if cell.under.condition == wanted), raw[0]))
    return shown or raw[:1]


def _shown_first(cell: Cell) -> tuple[bool, float]:
    return not is_control(cell), _degree(cell)


def _degree(cell: Cell) -> float:
    return degree_of(cell.described["condition"]) or 0.0


def _map(spaces: Spaces, cell: Cell, place: int) -> StudyMap:
    data = spaces.study.data
    assert data.kept is not None
    points = data.kept.read(TEST_EMBEDDING, place)
    assert points is not None
    return _drawn(spaces, cell, place, groupings(spaces.study, place)[0], points.astype(np.float32), POINTS)


def _drawn(
    spaces: Spaces, cell: Cell, place: int, grouping: Grouping, points: NDArray[np.float32], most: int
) -> StudyMap:
    # The seed of the sample is that of no trial: the same rows are shown in every panel.
    drawn = embedding_map(points, "pca", min(most, max(1, len(points))))
    return StudyMap(
        condition=cell.under.condition, learner=cell.under.learner, treatment=cell.treatment, setting=cell.setting,
        seed=spaces.study.data.trials[place].seed, attribute=grouping.attribute, groups=grouping.groups,
        group=tuple(grouping.codes[list(drawn.rows)].tolist()), x=tuple(_short(v) for v in drawn.x),
        y=tuple(_short(v) for v in drawn.y), explained=drawn.explained, of=drawn.of,
    )  # fmt: skip


def _short(value: float) -> float:
    """Return a place on a map in four digits: more are not seen."""
    return float(f"{value:.4g}")
