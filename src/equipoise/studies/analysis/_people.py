"""Other people: what the numbers of a cell would be had the test set been drawn again, and flips between reruns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import Floats, ratio, stream
from equipoise.stats import people_variance
from equipoise.studies.analysis._cells import Cell
from equipoise.studies.analysis._data import (
    TEST,
    Attribute,
    Codes,
    Layout,
    StudyData,
    TestRows,
)
from equipoise.studies.analysis._quantities import Quantity, batched
from equipoise.studies.storage import OUTCOMES
from equipoise.tallies import RESIDUAL_SUMS
from equipoise.tallies import residual_sums as summed
from equipoise.training import known_targets


def is_clustered(rows: TestRows) -> bool:
    """Tell whether any two rows belong together."""
    return rows.cluster is not None and len(np.unique(rows.cluster)) < len(rows)


def resampled_clusters(group: Codes, cluster: Codes, draws: int, generator: np.random.Generator) -> NDArray[np.float32]:
    """Return how often each row is drawn, ``[draw, row]``: as many clusters of each kind as there are."""
    cluster_index = np.unique(cluster, return_inverse=True)[1].reshape(-1)
    kind = _kinds(group, cluster_index)
    times = np.zeros((draws, len(kind)), dtype=np.float32)
    for kind_code in np.unique(kind).tolist():
        places = np.flatnonzero(kind == kind_code)
        for draw in range(draws):
            times[draw, places] = np.bincount(generator.integers(0, len(places), len(places)), minlength=len(places))
    return times[:, cluster_index]


def _kinds(group: Codes, cluster_index: Codes) -> Codes:
    """Number clusters by the groups that their rows are in; those that are alone of their kind are one kind together.

    A cluster that is drawn from itself would always be there once, as if it could not have been another.
    """
    is_present = np.zeros((int(cluster_index.max()) + 1, int(group.max()) + 1), dtype=bool)
    is_present[cluster_index, group] = True
    kind = np.unique(is_present, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    alone = np.bincount(kind)[kind] == 1
    return np.where(alone, -1, kind)


DRAWS = 200
# So many draws of one seed at least; of more seeds than there is room for, some stand for all.
LEAST_OF_A_SEED = 10
# Cells that are drawn at once.
AT_ONCE = 20
# So many counts of a table at the most: 200 classes have 40,000 a group, and drawing those of ten takes seconds a cell.
MOST_COUNTS = 200_000
NOT_RESAMPLED = (
    "Test people were not resampled: counts of so many classes and groups (more than "
    f"{MOST_COUNTS:,} a trial) would take too long. Verdicts are about these test rows."
)
NO_PREDICTIONS = (
    "Test people were not resampled: for a regression that takes predictions, which were not kept or are too many. "
    "Verdicts are about these test rows."
)
NO_LABELS = (
    "Test people were not resampled: with several labels a row that takes predictions, which were not kept or are too "
    "many. Verdicts are about these test rows."
)
# So many numbers at the most: weights of people by draws.
MOST_WEIGHTS = 60_000_000
ALL = slice(None)


@dataclass(frozen=True, eq=False)
class Resampled:
    """How far each number moves when people are drawn again, ``[cell, draw, quantity]``.

    ``moves`` are those of a cell's mean over runs, ``singles`` those of one seed: draw b is of the seed ``of_draw[b]``.
    With ``joint`` the same people are drawn for all cells; else each cell's counts are drawn by themselves, and there
    are no ``singles``. NaN where there is nothing to draw; without ``resampled`` nobody was, for there are too many
    classes and groups, or no predictions of a regression or of several labels.
    """

    moves: Floats
    joint: bool
    resampled: bool = True
    singles: Floats | None = None
    of_draw: Codes | None = None

    def spread(self) -> Floats:
        """Return the standard deviation that the test sample gives each number, ``[cell, quantity]``."""
        return np.sqrt(_variance(self.moves))

    def variance_of_change(
        self, cell: int, baseline: int, seeds: int, columns: tuple[int, ...] | slice = ALL
    ) -> Floats:
        """Return the variance that people give the difference of two cells, apart from that of single seeds.

        ``seeds`` is how many of them the difference is the mean of. Without draws of single seeds nothing is taken out,
        so a verdict needs more, never less.
        """
        couple = np.array([[cell], [baseline]])
        values: Floats = self.variances_of_changes(couple[0], couple[1], seeds, columns)[0]
        return values

    def variances_of_changes(
        self, cells: Codes, baselines: Codes, seeds: int, columns: tuple[int, ...] | slice = ALL
    ) -> Floats:
        """Return the same of many couples of cells at once, ``[couple, quantity]``."""
        moves = self.moves[..., columns]
        of_mean = _variance(moves[cells] - moves[baselines])
        if self.singles is None or self.of_draw is None or seeds < 2:
            return of_mean
        singles = self.singles[..., columns]
        change = singles[cells] - singles[baselines]
        of_single = np.stack([_variance(change[:, self.of_draw == seed]) for seed in np.unique(self.of_draw)])
        defined = ~np.isnan(of_single)
        single = ratio(np.where(defined, of_single, 0.0).sum(axis=0), defined.sum(axis=0).astype(np.float64))
        return people_variance(of_mean, np.where(np.isnan(single), of_mean, single), seeds)


def _variance(moves: Floats) -> Floats:
    """Return the variance over draws ``[..., draw, quantity]``; NaN where most draws are undefined."""
    defined = ~np.isnan(moves)
    number = defined.sum(axis=-2)
    mean = np.where(defined, moves, 0.0).sum(axis=-2) / np.maximum(number, 1)
    squares = np.where(defined, (moves - mean[..., None, :]) ** 2, 0.0).sum(axis=-2) / np.maximum(number - 1, 1)
    values: Floats = np.where((number * 2 > moves.shape[-2]) & (number > 1), squares, np.nan)
    return values


def resample_people(
    data: StudyData, cells: Sequence[Cell], quantities: Sequence[Quantity], *, draws: int = DRAWS, seed: int = 0
) -> Resampled:
    """Draw people again for every cell: as they are where predictions are at hand, else from counts."""
    tables = data.tables[TEST]
    means = np.stack([tables[cell.indices].mean(axis=0) for cell in cells])
    if int(np.prod(means.shape[1:])) > MOST_COUNTS:
        return Resampled(np.full((len(cells), draws, len(quantities)), np.nan), joint=False, resampled=False)
    together = _redrawn_together(data, cells, quantities, draws, seed)
    if together is not None:
        return together
    moves = np.full((len(cells), draws, len(quantities)), np.nan)
    # Sums of a regression do not say how people differ, and counts of labels not which of them one person has.
    if data.layout.task != "class":
        return Resampled(moves, joint=False, resampled=False)
    compute = partial(batched, quantities, layout=data.layout)
    observed = compute(tables=means)
    for first in range(0, len(cells), AT_ONCE):
        part = slice(first, first + AT_ONCE)
        counts = drawn_counts(means[part], draws, stream(seed, "people", first))
        moves[part] = compute(tables=_flat(counts)).reshape(-1, draws, len(quantities)) - observed[part, None]
    return Resampled(moves, joint=False)


def _redrawn_together(
    data: StudyData, cells: Sequence[Cell], quantities: Sequence[Quantity], draws: int, seed: int
) -> Resampled | None:
    """Draw the same people for all cells; None where predictions are not at hand, or too many."""
    rows = data.rows
    if rows is None or data.predictions is None or len(rows) * draws > MOST_WEIGHTS:
        return None
    counted = Counted(rows, data.layout)
    weights = counted.weights(draws, stream(seed, "people"))
    seeds = _spread_evenly(
        sorted({distinct_seed for cell in cells for distinct_seed in cell.distinct_seeds}), draws // LEAST_OF_A_SEED
    )
    of_draw = np.array(seeds, dtype=np.int64)[np.arange(draws) % len(seeds)]
    moves, singles = (np.full((len(cells), draws, len(quantities)), np.nan) for _ in range(2))
    # What is observed is counted in the same way, so that a move is 0 where everybody is drawn once.
    everybody = np.ones((1, weights.shape[1]), dtype=np.float32)
    weighed = {seed: np.concatenate([everybody, weights[of_draw == seed]]) for seed in seeds}
    all_weights = np.concatenate([everybody, weights])
    for first in range(0, len(cells), AT_ONCE):
        parts: list[tuple[Floats, Codes | slice, Floats]] = []
        for index, cell in enumerate(cells[first : first + AT_ONCE], start=first):
            predicted = data.predictions(cell.indices.tolist())
            if predicted is None:
                return None
            parts.append((moves[index], ALL, counted.tables(counted.row_sums(predicted), all_weights)))
            cell_seeds = [seed for seed in seeds if seed in cell.distinct_seeds]
            parts += [
                (singles[index], np.flatnonzero(of_draw == distinct),
                 counted.tables(counted.row_sums(predicted[cell.runs_of(distinct)]), weighed[distinct]))
                for distinct in (cell_seeds if len(cell_seeds) > 1 else ())
            ]  # fmt: skip
        values = batched(quantities, np.concatenate([tables for *_, tables in parts]), data.layout)
        start = 0
        for into, positions, tables in parts:
            end = start + len(tables)
            into[positions] = values[start + 1 : end] - values[start]
            start = end
    return Resampled(moves, joint=True, singles=singles, of_draw=of_draw)


def _spread_evenly(values: Sequence[int], most: int) -> list[int]:
    """Return at most so many of these, evenly over their order."""
    if len(values) <= most:
        return list(values)
    return [values[place] for place in np.linspace(0, len(values) - 1, max(most, 1)).round().astype(int).tolist()]


def _flat(tables: Floats) -> Floats:
    return tables.reshape(-1, *tables.shape[2:])


def drawn_counts(means: Floats, draws: int, generator: np.random.Generator) -> Floats:
    """Return counts ``[cell, draw, group, true, predicted]`` of people drawn again, the size of each group kept."""
    flat = means.reshape(*means.shape[:2], -1)
    totals = flat.sum(axis=-1)
    shares = np.divide(flat, totals[..., None], out=np.zeros_like(flat), where=totals[..., None] > 0)
    # An empty group has no shares; one cell takes its 0 people.
    shares[totals == 0, 0] = 1.0
    made = generator.multinomial(np.rint(totals).astype(np.int64), shares, size=(draws, *totals.shape))
    return np.moveaxis(made, 0, 1).reshape(len(means), draws, *means.shape[1:]).astype(np.float64)


class Counted:
    """The rows of the test set in the order of their cells, so that a count is a product of matrices."""

    def __init__(self, rows: TestRows, layout: Layout) -> None:
        self._rows, self._layout = rows, layout
        classes = layout.task == "class"
        self._is_known = known_targets(rows.target)
        truth = rows.target.astype(np.int64) if classes else np.zeros(len(rows), dtype=np.int64)
        self._truths = len(layout.classes) if classes else 1
        cell = (rows.group * self._truths + truth)[self._is_known]
        self._order = np.flatnonzero(self._is_known)[np.argsort(cell, kind="stable")]
        starts = np.searchsorted(np.sort(cell), np.arange(len(layout.groups) * self._truths + 1))
        self._parts = [(index, slice(a, b)) for index, (a, b) in enumerate(pairwise(starts.tolist())) if b > a]

    def weights(self, draws: int, generator: np.random.Generator) -> NDArray[np.float32]:
        """Return how often each row is drawn, ``[draw, row]``: as many of each group as there are; clusters whole."""
        group = self._rows.group[self._order]
        if self._rows.cluster is not None and is_clustered(self._rows):
            return resampled_clusters(group, self._rows.cluster[self._order], draws, generator)
        times_drawn = np.zeros((draws, len(self._order)), dtype=np.float32)
        for group_index in np.unique(group).tolist():
            members = np.flatnonzero(group == group_index)
            for draw in range(draws):
                times_drawn[draw, members] = np.bincount(
                    generator.integers(0, len(members), len(members)), minlength=len(members)
                )
        return times_drawn

    def ordered(self, weights: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return weights ``[draw, row]`` of all rows in the order in which they are counted, without unknown truths."""
        return np.ascontiguousarray(weights[:, self._order])

    def tables(self, row_sums: NDArray[np.float32], weights: NDArray[np.float32]) -> Floats:
        """Return the tables of drawn people, ``[draw, group, ...]``, from what each row adds to its cell."""
        sums = np.zeros((len(weights), len(self._layout.groups) * self._truths, row_sums.shape[1]))
        for cell_index, part in self._parts:
            sums[:, cell_index] = weights[:, part] @ row_sums[part]
        if self._layout.task == "regression":
            return sums
        if self._layout.task == "multilabel":
            return sums.reshape(len(weights), len(self._layout.groups), len(self._layout.classes), -1)
        return sums.reshape(len(weights), len(self._layout.groups), self._truths, self._truths)

    def row_sums(self, predicted: NDArray[np.generic]) -> NDArray[np.float32]:
        """Return what a row adds to its cell, ``[row, ...]``, as the mean over runs of predictions ``[run, row]``.

        Of classes: the share of the runs that say each. Of labels: that of each outcome, label by label. Of a
        regression: its sums.
        """
        ordered = predicted[:, self._order]
        if self._layout.task == "class":
            classes = range(len(self._layout.classes))
            return np.stack([(ordered == code).mean(axis=0) for code in classes], axis=1).astype(np.float32)
        if self._layout.task == "multilabel":
            outcome = 2 * self._rows.target[self._order] + ordered
            shares = np.stack([(outcome == code).mean(axis=0) for code in range(OUTCOMES)], axis=-1)
            return shares.reshape(len(shares), -1).astype(np.float32)
        target = self._rows.target[self._order].astype(np.float64)
        ones = np.ones_like(target)
        sums = np.mean([summed(target, run.astype(np.float64), self._layout.pivot) for run in ordered], axis=0)
        row_sums = np.stack([ones, ones, ones, *sums], axis=1)
        assert row_sums.shape[1] == RESIDUAL_SUMS
        return row_sums.astype(np.float32)


MOST_ROWS = 1_000
# An attribute, a group of it, and the places of its rows; everyone has neither.
Group = tuple[Attribute, str | None, Codes | None]


@dataclass(frozen=True, kw_only=True)
class FlipRecord:
    """People whose predicted class is not the same in all identical runs of one seed.

    ``share`` is flipped / people; ``pair_share`` is how many change between two runs on average. A record is of
    everyone (no group), or of one group of an attribute.
    """

    condition: str
    learner: str
    treatment: str
    setting: str
    seed: int
    runs: int
    attribute: Attribute
    group: str | None
    people: int
    flipped: int
    share: float
    pair_share: float


@dataclass(frozen=True, kw_only=True)
class FlipRow:
    """One person whose prediction flips, with what the runs say. Only there when rows were asked for."""

    condition: str
    learner: str
    treatment: str
    setting: str
    seed: int
    row: int
    groups: tuple[str, ...]
    said: tuple[tuple[str, int], ...]


def disagreement(predicted: NDArray[np.generic], classes: int) -> tuple[NDArray[np.bool_], Floats]:
    """Return for each row of ``[run, row]`` whether its runs differ, and the share of pairs of runs that do.

    With n_c of R runs saying class c, the share of pairs that agree is sum_c n_c (n_c - 1) / (R (R - 1)).
    """
    runs = len(predicted)
    votes = np.stack([(predicted == code).sum(axis=0) for code in range(classes)])
    agree = (votes * (votes - 1.0)).sum(axis=0) / (runs * (runs - 1.0))
    return (votes.max(axis=0) < runs), 1.0 - agree


def flips_of(
    data: StudyData, cells: Sequence[Cell], attributes: Sequence[Attribute], *, show_rows: bool = False
) -> tuple[tuple[FlipRecord, ...], tuple[FlipRow, ...]]:
    """Return the flips of every cell and seed with two identical runs or more, and who (if asked for)."""
    records: list[FlipRecord] = []
    rows: list[FlipRow] = []
    if data.predictions is None or data.layout.task != "class":
        return (), ()
    groups = _groups(data, attributes)
    for cell in cells:
        identical = [(seed, runs) for seed, _, runs in cell.identical() if len(runs) > 1]
        # One question to the store for a whole cell.
        everything = data.predictions(cell.indices.tolist()) if identical else None
        if everything is None:
            continue
        for seed, runs in identical:
            predicted = everything[runs]
            differ, pairs = disagreement(predicted, len(data.layout.classes))
            records += _records(cell, seed, len(runs), differ, pairs, groups)
            if show_rows and data.rows is not None and len(rows) < MOST_ROWS:
                rows += _rows(cell, seed, predicted, differ, pairs, data.rows, data.layout)
    return tuple(records), tuple(rows[:MOST_ROWS])


def _groups(data: StudyData, attributes: Sequence[Attribute]) -> list[Group]:
    """Return everyone, and the rows of each group of each attribute where rows are known."""
    groups: list[Group] = [((), None, None)]
    if data.rows is not None:
        for attribute in attributes:
            matrix, names = data.layout.folding(attribute)
            places = [np.flatnonzero(is_member[data.rows.group] > 0) for is_member in matrix]
            groups += [(attribute, name, members) for name, members in zip(names, places, strict=True) if len(members)]
    return groups


def _records(
    cell: Cell, seed: int, runs: int, differ: NDArray[np.bool_], pairs: Floats, groups: Sequence[Group]
) -> Iterator[FlipRecord]:
    for attribute, group, places in groups:
        differing = differ if places is None else differ[places]
        shares = pairs if places is None else pairs[places]
        yield FlipRecord(
            condition=cell.under.condition, learner=cell.under.learner, treatment=cell.treatment,
            setting=cell.setting, seed=seed, runs=runs, attribute=attribute, group=group, people=len(differing),
            flipped=int(differing.sum()), share=float(differing.mean()), pair_share=float(shares.mean()),
        )  # fmt: skip


def _rows(
    cell: Cell, seed: int, predicted: NDArray[np.generic], differ: NDArray[np.bool_], pairs: Floats, rows: TestRows,
    layout: Layout,
) -> Iterator[FlipRow]:  # fmt: skip
    """Yield who flips, those that most pairs of runs differ on first."""
    places = np.flatnonzero(differ)
    for row in places[np.argsort(-pairs[places], kind="stable")].tolist()[:MOST_ROWS]:
        codes, times = np.unique(predicted[:, row], return_counts=True)
        yield FlipRow(
            condition=cell.under.condition, learner=cell.under.learner, treatment=cell.treatment,
            setting=cell.setting, seed=seed, row=int(rows.ids[row]),
            groups=tuple("(missing)" if label is None else label for label in layout.groups[int(rows.group[row])]),
            said=tuple((layout.classes[int(code)], int(n)) for code, n in zip(codes, times, strict=True)),
        )  # fmt: skip
