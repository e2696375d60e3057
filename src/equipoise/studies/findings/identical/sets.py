"""Which runs are identical: the same cell, seed and environment, twice or more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from equipoise.studies.findings.cells import Cell
from equipoise.studies.findings.data import Attribute, Codes
from equipoise.studies.findings.measuring import Measured

# So many sets are told one by one: a reader takes in fewer, and a page has to stay small.
MOST_SETS = 100


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


@dataclass(frozen=True, slots=True, kw_only=True)
class OfIdenticalRuns:
    """What records about one set of identical runs have in common: which runs, and which number of theirs."""

    condition: str
    learner: str
    treatment: str
    setting: str
    seed: int
    environment: int
    measure: str
    alias: str | None
    attribute: Attribute


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


def told_of(sets: Sequence[IdenticalSet]) -> list[IdenticalSet]:
    """Return the sets that are told one by one: of a large study the first seeds of each cell, one at least."""
    cells = by_cell(sets)
    each = max(MOST_SETS // max(len(cells), 1), 1)
    return [own for members in cells for own in members[:each]]


def by_cell(sets: Sequence[IdenticalSet]) -> list[list[IdenticalSet]]:
    """Return the sets of each cell, in order."""
    cells: dict[int, list[IdenticalSet]] = {}
    for own in sets:
        cells.setdefault(id(own.cell), []).append(own)
    return list(cells.values())


def untold_note(study: Measured) -> tuple[str, ...]:
    """Say how many sets of identical runs are told one by one, where it is not all of them."""
    sets = sets_of(study)
    told = told_of(sets)
    if len(told) == len(sets):
        return ()
    return (f"Identical runs are told one by one for the first seeds of each treatment: {len(told):,} of {len(sets):,} "
            "sets.",)  # fmt: skip


def bias_places(study: Measured) -> list[int]:
    """Return the quantities that are biases: gaps between the groups that the study is about, better low."""
    distance = study.main.distance
    return [
        place
        for place, own in enumerate(study.quantities)
        if own.attribute == study.attribute and own.better == "low" and own.measure != distance
    ]


def performance_place(study: Measured) -> int:
    """Return the quantity that is the performance."""
    return study.place(study.main.performance)


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
