"""Macro precision, macro recall and accuracy of tables (group, pair of true and predicted class), and random tables.

Only the pairs that occur are kept, so thousands of classes cost no more than the rows. With TP, P (truly of the class)
and T (predicted to be of it), for one group:

- default: precision = mean of TP / T over the classes the group has and that are predicted in it; recall = mean of
  TP / P over the classes the group has
- ``"paper"``: both over the labels in the group's truth or predictions, and what has no denominator counts 0, as
  scikit-learn's ``average="macro"`` does and as paper 000's tables fit

Where rows are independent no row is touched by resampling: counts are drawn. Else whole units are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from equipoise.audits._units import Codes, GroupedUnits
from equipoise.foundation import BadInput, Floats, ratio
from equipoise.stats import (
    bootstrap_counts,
    permuted_tables,
)

MACRO_MEASURES = ("macro_precision", "macro_recall", "accuracy")
VARIANTS = ("default", "paper")
# So many numbers at the most are held at once.
BATCH = 4_000_000


def check_variant(variant: str) -> None:
    """Refuse a variant that is not known."""
    if variant not in VARIANTS:
        raise BadInput(f"There is no variant {variant!r}", available=", ".join(VARIANTS))


@dataclass(frozen=True, eq=False)
class ClassPairs:
    """The pairs of true and predicted class that occur, and which of them each row has."""

    truth: Codes
    guess: Codes
    of_row: Codes
    classes: int

    def __len__(self) -> int:
        return len(self.truth)

    @cached_property
    def _sums(self) -> tuple[sparse.csr_array, sparse.csr_array, sparse.csr_array]:
        """What turns weights of pairs into true positives, people and predictions of each class."""
        columns, shape, right = np.arange(len(self)), (len(self), self.classes), self.truth == self.guess
        ones = np.ones(len(self))
        return (
            sparse.csr_array((ones[right], (columns[right], self.truth[right])), shape=shape),
            sparse.csr_array((ones, (columns, self.truth)), shape=shape),
            sparse.csr_array((ones, (columns, self.guess)), shape=shape),
        )

    def margins(self, tables: Floats) -> tuple[Floats, Floats, Floats]:
        """Return TP, P and T, ``[..., class]``, of tables ``[..., pair]``."""
        flat = tables.reshape(-1, len(self))
        hits, people, guesses = ((flat @ part).reshape(*tables.shape[:-1], self.classes) for part in self._sums)
        return hits, people, guesses

    def table(self, groups: Codes, number: int) -> Floats:
        """Count rows by group and pair, ``[group, pair]``."""
        counts = np.bincount(groups * len(self) + self.of_row, minlength=number * len(self))
        return counts.reshape(number, len(self)).astype(np.float64)


def class_pairs(truth: Codes, guess: Codes, classes: int) -> ClassPairs:
    """Find the pairs of true and predicted class that occur."""
    pairs, of_row = np.unique(truth * classes + guess, return_inverse=True)
    return ClassPairs(pairs // classes, pairs % classes, of_row.reshape(-1).astype(np.int64), classes)


def macro_values(
    pairs: ClassPairs,
    tables: Floats,
    variant: str = "default",
    observed: Floats | None = None,
    whole_units: bool = False,
) -> Floats:
    """Return the three measures, ``[..., measure]``, of tables ``[..., pair]``; NaN where nothing is defined.

    In bootstrap draws ``observed`` (the people of each class in the table they are drawn from) keeps the classes the
    group has. With ``whole_units`` classes are drawn whole, so one that is drawn twice counts twice in the mean.
    """
    hits, people, guesses = pairs.margins(tables)
    totals = tables.sum(axis=-1)
    accuracy = ratio(hits.sum(axis=-1), totals)
    times = np.ones(people.shape)
    if observed is not None and whole_units:
        times = np.divide(people, observed, out=times, where=observed > 0)
    if variant == "paper":
        labels = (people > 0) | (guesses > 0)
        precision = _mean(np.nan_to_num(ratio(hits, guesses)), labels * times)
        recall = _mean(np.nan_to_num(ratio(hits, people)), labels * times)
    else:
        has = people > 0 if observed is None else observed > 0
        precision = _mean(ratio(hits, guesses), (has & (guesses > 0)) * times)
        recall = _mean(ratio(hits, people), (has & (people > 0)) * times)
    return np.stack([precision, recall, accuracy], axis=-1)


def class_numbers(pairs: ClassPairs, tables: Floats, variant: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many classes each of the three is a mean over, and how many the group has without a precision."""
    _, people, guesses = pairs.margins(tables)
    has, predicted = people > 0, guesses > 0
    if variant == "paper":
        labels = (has | predicted).sum(axis=-1)
        return np.stack([labels, labels, labels], axis=-1), np.zeros((*labels.shape, 3), dtype=np.int64)
    number = has.sum(axis=-1)
    lost = (has & ~predicted).sum(axis=-1)
    none = np.zeros_like(lost)
    return np.stack([number - lost, number, number], axis=-1), np.stack([lost, none, none], axis=-1)


def _mean(values: Floats, weights: Floats) -> Floats:
    return ratio((np.where(weights > 0, values, 0.0) * weights).sum(axis=-1), weights.sum(axis=-1))


def resampled_rows(table: Floats, draws: int, generator: np.random.Generator) -> Iterator[Floats]:
    """Yield bootstrap tables, the size of each group kept."""
    for number in _batches(draws, table.size):
        yield bootstrap_counts(table, number, generator)


def permuted_rows(table: Floats, strata: Codes | None, draws: int, generator: np.random.Generator) -> Iterator[Floats]:
    """Yield tables with the groups permuted over all rows, or within each stratum of pairs."""
    parts = [np.arange(table.shape[1])] if strata is None else [
        np.flatnonzero(strata == stratum) for stratum in np.unique(strata)
    ]  # fmt: skip
    for number in _batches(draws, table.size):
        tables = np.empty((number, *table.shape))
        for columns in parts:
            tables[:, :, columns] = permuted_tables(table[:, None, columns], False, number, generator)[:, :, 0, :]
        yield tables


def resampled_units(
    units: GroupedUnits, codes: Codes, pairs: ClassPairs, groups: int, draws: int, generator: np.random.Generator
) -> Iterator[Floats]:
    """Yield tables of units drawn with replacement; where units carry the group, within each group.

    ``codes`` are the groups of the rows.
    """
    cells = _cells(units, codes * len(pairs) + pairs.of_row, groups * len(pairs))
    of_unit = np.zeros(units.number, dtype=np.int64) if units.group is None else units.group
    parts = [np.flatnonzero(of_unit == group) for group in np.unique(of_unit)]
    for number in _batches(draws, max(groups * len(pairs), units.number)):
        times = np.zeros((number, units.number))
        for part in parts:
            times[:, part] = generator.multinomial(len(part), np.full(len(part), 1 / len(part)), size=number)
        yield np.asarray(times @ cells).reshape(number, groups, len(pairs))


def permuted_units(
    units: GroupedUnits, pairs: ClassPairs, groups: int, strata: Codes | None, draws: int,
    generator: np.random.Generator,
) -> Iterator[Floats]:  # fmt: skip
    """Yield tables with the groups of units permuted over all units, or within each stratum of units."""
    assert units.group is not None
    cells = _cells(units, pairs.of_row, len(pairs))
    layers = np.zeros(units.number, dtype=np.int64) if strata is None else strata
    by_layer = np.argsort(layers, kind="stable")
    for number in _batches(draws, max(groups * len(pairs), units.number)):
        tables = np.empty((number, groups, len(pairs)))
        permutations = np.empty((number, units.number), dtype=np.int64)
        for draw in range(number):
            order = np.lexsort((generator.random(units.number), layers))
            permutations[draw, order] = units.group[by_layer]
        for group in range(groups):
            tables[:, group] = (permutations == group).astype(np.float64) @ cells
        yield tables


def _cells(units: GroupedUnits, columns: Codes, number: int) -> sparse.csr_array:
    """Count the rows of each unit by column."""
    return sparse.csr_array((np.ones(len(columns)), (units.of_row, columns)), shape=(units.number, number))


def _batches(draws: int, size: int) -> Iterator[int]:
    step = max(1, BATCH // max(size, 1))
    for start in range(0, draws, step):
        yield min(step, draws - start)
