"""Other people: what the numbers of a cell would be had the test set been drawn again.

Where predictions were kept, people are drawn as they are, the same people for every cell: what two treatments say of
one person stays together. Else each cell's count tensor is drawn by itself, which widens differences between cells: a
verdict then needs more, never less. Groups keep their sizes. The draws are of the average run of a cell, so they speak
of its mean over runs. Rows that belong together (a cluster) are drawn together, which counts alone cannot do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.seeds import stream
from equipoise.studies.findings.cells import Cell
from equipoise.studies.findings.clusters import drawn_clusters, is_clustered
from equipoise.studies.findings.data import TEST, Floats, Layout, StudyData, TestRows
from equipoise.studies.findings.quantities import Quantity, batched
from equipoise.tallies.residuals import WIDTH
from equipoise.tallies.residuals import quantities as summed

DRAWS = 200
# Cells that are drawn at once.
AT_ONCE = 20
# So many counts of a table at the most: 200 classes have 40,000 a group, and drawing those of ten takes seconds a cell.
MOST_COUNTS = 200_000
NOT_DRAWN = (
    "People were not drawn again: counts of so many classes and groups (more than "
    f"{MOST_COUNTS:,} a trial) would take too long. Verdicts are about these test rows."
)
NO_PREDICTIONS = (
    "People were not drawn again: of a regression that takes predictions, which are not at hand or too many. Verdicts "
    "are about these test rows."
)
# So many numbers at the most: weights of people by draws.
MOST_WEIGHTS = 60_000_000


@dataclass(frozen=True, eq=False)
class Redrawn:
    """How far each number moves when people are drawn again, ``[cell, draw, quantity]``.

    ``alone`` draws each cell's counts by itself; ``together`` draws the same people for all cells where it can
    (``joint``), and is also what ``alone`` is where rows come in clusters. NaN where there is nothing to draw; without
    ``drawn`` nobody was, for there are too many classes and groups, or no predictions of a regression.
    """

    alone: Floats
    together: Floats
    joint: bool
    drawn: bool = True

    def spread(self) -> Floats:
        """Return the standard deviation that the test sample gives each number, ``[cell, quantity]``."""
        return _spread(self.alone)

    def spread_of_change(self, cell: int, baseline: int) -> Floats:
        """Return the standard deviation of the difference of two cells, over people."""
        return _spread(self.together[cell] - self.together[baseline])


def _spread(moves: Floats) -> Floats:
    """Return the standard deviation over draws ``[..., draw, quantity]``; NaN where most draws are undefined."""
    known = ~np.isnan(moves)
    number = known.sum(axis=-2)
    mean = np.where(known, moves, 0.0).sum(axis=-2) / np.maximum(number, 1)
    squares = np.where(known, (moves - mean[..., None, :]) ** 2, 0.0).sum(axis=-2) / np.maximum(number - 1, 1)
    spread: Floats = np.where(number * 2 > moves.shape[-2], np.sqrt(squares), np.nan)
    return spread


def redrawn(
    data: StudyData, cells: Sequence[Cell], quantities: Sequence[Quantity], *, draws: int = DRAWS, seed: int = 0
) -> Redrawn:
    """Draw people again for every cell."""
    compute = partial(batched, quantities, layout=data.layout)
    regression = data.layout.task == "regression"
    # Sums of a regression do not say how people differ; one run of each cell then stands for all of them.
    firsts = np.array([cell.places[0] for cell in cells], dtype=np.int64)
    tables = data.tables[TEST]
    means = tables[firsts] if regression else np.stack([tables[cell.places].mean(axis=0) for cell in cells])
    observed = compute(tables=means)
    shape = (len(cells), draws, len(quantities))
    alone = np.full(shape, np.nan)
    if int(np.prod(means.shape[1:])) > MOST_COUNTS:
        return Redrawn(alone, alone, joint=False, drawn=False)
    if not regression:
        for first in range(0, len(cells), AT_ONCE):
            own = slice(first, first + AT_ONCE)
            drawn = drawn_counts(means[own], draws, stream(seed, "people", first))
            alone[own] = _moved(compute(tables=_flat(drawn)), observed[own], draws)
    rows = data.rows
    if rows is None or data.predictions is None or len(rows) * draws > MOST_WEIGHTS:
        return Redrawn(alone, alone, joint=False, drawn=not regression)
    joint, counted = np.full(shape, np.nan), Counted(rows, data.layout)
    weights = counted.weights(draws, stream(seed, "people"))
    for first in range(0, len(cells), AT_ONCE):
        own = slice(first, first + AT_ONCE)
        together = _together(data, cells[own], counted, weights)
        if together is None:
            return Redrawn(alone, alone, joint=False, drawn=not regression)
        joint[own] = _moved(compute(tables=_flat(together)), observed[own], draws)
    return Redrawn(joint if regression or is_clustered(rows) else alone, joint, joint=True)


def _flat(tables: Floats) -> Floats:
    return tables.reshape(-1, *tables.shape[2:])


def _moved(values: Floats, observed: Floats, draws: int) -> Floats:
    """Return how far drawn values lie from the observed ones, ``[cell, draw, quantity]``."""
    moved: Floats = values.reshape(len(observed), draws, -1) - observed[:, None]
    return moved


def drawn_counts(means: Floats, draws: int, generator: np.random.Generator) -> Floats:
    """Return counts ``[cell, draw, group, true, predicted]`` of people drawn again, the size of each group kept."""
    flat = means.reshape(*means.shape[:2], -1)
    totals = flat.sum(axis=-1)
    shares = np.divide(flat, totals[..., None], out=np.zeros_like(flat), where=totals[..., None] > 0)
    # An empty group has no shares; one cell takes its 0 people.
    shares[totals == 0, 0] = 1.0
    made = generator.multinomial(np.rint(totals).astype(np.int64), shares, size=(draws, *totals.shape))
    return np.moveaxis(made, 0, 1).reshape(len(means), draws, *means.shape[1:]).astype(np.float64)


def _together(data: StudyData, cells: Sequence[Cell], counted: Counted, weights: NDArray[np.float32]) -> Floats | None:
    """Return the tables of people drawn as they are, ``[cell, draw, group, ...]``; None where that cannot be done."""
    assert data.predictions is not None
    made: list[Floats] = []
    for cell in cells:
        regression = data.layout.task == "regression"
        predicted = data.predictions(cell.places[:1].tolist() if regression else cell.places.tolist())
        if predicted is None:
            return None
        made.append(counted.tables(predicted, weights))
    return np.stack(made)


class Counted:
    """The rows of the test set in the order of their cells, so that a count is a product of matrices."""

    def __init__(self, rows: TestRows, layout: Layout) -> None:
        self._rows, self._layout = rows, layout
        regression = layout.task == "regression"
        self._known = np.isfinite(rows.target) if regression else rows.target >= 0
        truth = np.zeros(len(rows), dtype=np.int64) if regression else rows.target.astype(np.int64)
        self._truths = 1 if regression else len(layout.classes)
        cell = (rows.group * self._truths + truth)[self._known]
        self._order = np.flatnonzero(self._known)[np.argsort(cell, kind="stable")]
        starts = np.searchsorted(np.sort(cell), np.arange(len(layout.groups) * self._truths + 1))
        self._parts = [(place, slice(a, b)) for place, (a, b) in enumerate(pairwise(starts.tolist())) if b > a]

    def weights(self, draws: int, generator: np.random.Generator) -> NDArray[np.float32]:
        """Return how often each row is drawn, ``[draw, row]``: as many of each group as there are; clusters whole."""
        group = self._rows.group[self._order]
        if self._rows.cluster is not None and is_clustered(self._rows):
            return drawn_clusters(group, self._rows.cluster[self._order], draws, generator)
        made = np.zeros((draws, len(self._order)), dtype=np.float32)
        for place in np.unique(group).tolist():
            own = np.flatnonzero(group == place)
            for draw in range(draws):
                made[draw, own] = np.bincount(generator.integers(0, len(own), len(own)), minlength=len(own))
        return made

    def ordered(self, weights: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return weights ``[draw, row]`` of all rows in the order in which they are counted, without unknown truths."""
        return np.ascontiguousarray(weights[:, self._order])

    def tables(self, predicted: NDArray[np.generic], weights: NDArray[np.float32]) -> Floats:
        """Return the tables of drawn people, ``[draw, group, ...]``, from predictions ``[run, row]``."""
        told = self._told(predicted[:, self._order])
        made = np.zeros((len(weights), len(self._layout.groups) * self._truths, told.shape[1]))
        for place, part in self._parts:
            made[:, place] = weights[:, part] @ told[part]
        if self._layout.task == "regression":
            return made
        return made.reshape(len(weights), len(self._layout.groups), self._truths, self._truths)

    def _told(self, predicted: NDArray[np.generic]) -> NDArray[np.float32]:
        """Return what a row adds to its cell: shares of the runs that say each class, or the sums of a regression."""
        if self._layout.task == "class":
            classes = range(len(self._layout.classes))
            return np.stack([(predicted == code).mean(axis=0) for code in classes], axis=1).astype(np.float32)
        target = self._rows.target[self._order].astype(np.float64)
        sums = summed(target, predicted[0].astype(np.float64), self._layout.pivot)
        one = np.ones_like(target)
        told = np.stack([one, one, one, *sums], axis=1)
        assert told.shape[1] == WIDTH
        return told.astype(np.float32)
