"""Which runs are identical: the same cell, seed and environment, twice or more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from equipoise.studies.findings.cells import Cell
from equipoise.studies.findings.data import Codes
from equipoise.studies.findings.measuring import Measured
from equipoise.studies.findings.quantities import DISTANCE, PERFORMANCE


@dataclass(frozen=True, eq=False)
class IdenticalSet:
    """Identical runs: ``places`` are their positions in the study, ``repeats`` what tells them apart."""

    cell: Cell
    seed: int
    environment: int
    places: Codes
    repeats: tuple[int, ...]

    @property
    def said(self) -> dict[str, str]:
        """Which technique it is, as a record says it."""
        cell = self.cell
        return {
            "condition": cell.under.condition, "learner": cell.under.learner, "treatment": cell.treatment,
            "setting": cell.setting,
        }  # fmt: skip


def sets_of(study: Measured) -> list[IdenticalSet]:
    """Return the sets of identical runs of every cell that speaks for its treatment."""
    made = []
    for cell in study.cells:
        for seed, environment, own in cell.identical() if cell.chosen else ():
            if len(own) > 1:
                places = cell.places[own]
                repeats = tuple(study.data.trials[place].repeat for place in places.tolist())
                made.append(IdenticalSet(cell, seed, environment, places, repeats))
    return made


def bias_places(study: Measured) -> list[int]:
    """Return the quantities that are biases: gaps between the groups that the study is about, better low."""
    distance = DISTANCE[study.data.layout.task]
    return [
        place
        for place, own in enumerate(study.quantities)
        if own.attribute == study.attribute and own.better == "low" and own.measure != distance
    ]


def performance_place(study: Measured) -> int:
    """Return the quantity that is the performance."""
    return study.place(PERFORMANCE[study.data.layout.task][0])


def one_of_each(sets: Sequence[IdenticalSet]) -> list[IdenticalSet]:
    """Return one set of each cell, of the seed and environment that most cells have, with the most runs.

    Techniques are then compared over identical runs of the same seed; a cell without it is left out.
    """
    tried: dict[tuple[int, int], list[IdenticalSet]] = {}
    for own in sets:
        tried.setdefault((own.seed, own.environment), []).append(own)
    if not tried:
        return []
    return max(tried.values(), key=lambda own: (len(own), sum(len(one.places) for one in own), -own[0].seed))
