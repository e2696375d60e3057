"""Dev rows of one treated trial in the space that is released and in those of the heads that learnt attributes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.errors import BadInput
from equipoise.studies.findings.cells import Cell
from equipoise.studies.findings.data import Codes
from equipoise.studies.findings.spaces.choosing import DEV_EMBEDDING, dev_rows, is_control
from equipoise.studies.findings.spaces.groups import degree_of
from equipoise.studies.findings.spaces.kept import KeptArrays
from equipoise.studies.findings.spaces.measuring import Spaces
from equipoise.studies.findings.spaces.telling import cells_with_spaces

# What is kept under this and the place of the attribute among the trial's group columns.
SENSITIVE = "sensitive."
# Two maps each: more would not fit a page.
MOST_ATTRIBUTES = 3


@dataclass(frozen=True, eq=False)
class Apart:
    """Dev rows whose class is known, in two spaces: ``rows`` are places in the split, a code of -1 is no group."""

    cell: Cell
    place: int
    attribute: str
    groups: tuple[str, ...]
    rows: Codes
    codes: Codes
    target: Codes
    embedding: NDArray[np.float32]
    sensitive: NDArray[np.float32]


def aparts_of(spaces: Spaces) -> list[Apart]:
    """Return the spaces of one trial, one of each attribute; none where no trial kept a sensitive space.

    The trial is of the furthest imbalance and of the lowest seed that has them, and never of a control, in which
    nothing is held apart, or what was learnt is no attribute.
    """
    kept = spaces.study.data.kept
    if kept is None or kept.truth is None or not any(name.startswith(SENSITIVE) for name in kept.names):
        return []
    cells = [cell for cell in cells_with_spaces(spaces) if cell.chosen and not is_control(cell)]
    for cell in sorted(cells, key=lambda cell: -(degree_of(cell.described["condition"]) or 0.0)):
        for place in cell.places[np.argsort(cell.seeds, kind="stable")].tolist():
            found = list(_of_trial(spaces, kept, cell, place))
            if found:
                return found
    return []


def _of_trial(spaces: Spaces, kept: KeptArrays, cell: Cell, place: int) -> Iterator[Apart]:
    assert kept.truth is not None
    embedding: NDArray[np.float32] | None = None
    for number, attribute in enumerate(spaces.study.data.trials[place].groups[:MOST_ATTRIBUTES]):
        sensitive = kept.read(f"{SENSITIVE}{number}", place)
        if sensitive is None:
            continue
        embedding = kept.read(DEV_EMBEDDING, place) if embedding is None else embedding
        rows = dev_rows(kept.truth, (attribute,))
        for points in (embedding, sensitive):
            if points is None or points.ndim != 2 or len(points) != rows.rows:
                raise BadInput(
                    f"A trial kept a space of dev rows of the shape {None if points is None else points.shape}",
                    available=f"the {rows.rows:,} dev rows of the study",
                )
        assert embedding is not None
        if len(rows.places):
            yield Apart(
                cell, place, attribute, rows.groups, rows.places, rows.codes, rows.classes.codes,
                embedding[rows.places].astype(np.float32), sensitive[rows.places].astype(np.float32),
            )  # fmt: skip
