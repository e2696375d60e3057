"""How many predictions flip between identical runs: same seed, same data, same environment, another answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.studies.findings.cells import Cell
from equipoise.studies.findings.data import Attribute, Codes, Floats, Layout, StudyData, TestRows

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
    said = np.stack([(predicted == code).sum(axis=0) for code in range(classes)])
    agree = (said * (said - 1.0)).sum(axis=0) / (runs * (runs - 1.0))
    return (said.max(axis=0) < runs), 1.0 - agree


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
        identical = [(seed, own) for seed, _, own in cell.identical() if len(own) > 1]
        # One question to the store for a whole cell.
        everything = data.predictions(cell.places.tolist()) if identical else None
        if everything is None:
            continue
        for seed, own in identical:
            predicted = everything[own]
            differ, pairs = disagreement(predicted, len(data.layout.classes))
            records += _records(cell, seed, len(own), differ, pairs, groups)
            if show_rows and data.rows is not None and len(rows) < MOST_ROWS:
                rows += _rows(cell, seed, predicted, differ, pairs, data.rows, data.layout)
    return tuple(records), tuple(rows[:MOST_ROWS])


def _groups(data: StudyData, attributes: Sequence[Attribute]) -> list[Group]:
    """Return everyone, and the rows of each group of each attribute where rows are known."""
    found: list[Group] = [((), None, None)]
    if data.rows is not None:
        for attribute in attributes:
            matrix, names = data.layout.folding(attribute)
            places = [np.flatnonzero(own[data.rows.group] > 0) for own in matrix]
            found += [(attribute, name, own) for name, own in zip(names, places, strict=True) if len(own)]
    return found


def _records(
    cell: Cell, seed: int, runs: int, differ: NDArray[np.bool_], pairs: Floats, groups: Sequence[Group]
) -> Iterator[FlipRecord]:
    for attribute, group, places in groups:
        own = differ if places is None else differ[places]
        shares = pairs if places is None else pairs[places]
        yield FlipRecord(
            condition=cell.under.condition, learner=cell.under.learner, treatment=cell.treatment,
            setting=cell.setting, seed=seed, runs=runs, attribute=attribute, group=group, people=len(own),
            flipped=int(own.sum()), share=float(own.mean()), pair_share=float(shares.mean()),
        )  # fmt: skip


def _rows(
    cell: Cell, seed: int, predicted: NDArray[np.generic], differ: NDArray[np.bool_], pairs: Floats, rows: TestRows,
    layout: Layout,
) -> Iterator[FlipRow]:  # fmt: skip
    """Yield who flips, those that most pairs of runs differ on first."""
    places = np.flatnonzero(differ)
    for place in places[np.argsort(-pairs[places], kind="stable")].tolist()[:MOST_ROWS]:
        codes, times = np.unique(predicted[:, place], return_counts=True)
        yield FlipRow(
            condition=cell.under.condition, learner=cell.under.learner, treatment=cell.treatment,
            setting=cell.setting, seed=seed, row=int(rows.ids[place]),
            groups=tuple("(missing)" if label is None else label for label in layout.groups[int(rows.group[place])]),
            said=tuple((layout.classes[int(code)], int(n)) for code, n in zip(codes, times, strict=True)),
        )  # fmt: skip
