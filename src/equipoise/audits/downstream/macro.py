"""Macro precision, macro recall and accuracy of tables (group, pair of true and predicted class).

Only the pairs that occur are kept, so thousands of classes cost no more than the rows. With TP, P (truly of the class)
and T (predicted to be of it), for one group:

- default: precision = mean of TP / T over the classes the group has and that are predicted in it; recall = mean of
  TP / P over the classes the group has
- ``"paper"``: both over the labels in the group's truth or predictions, and what has no denominator counts 0, as
  scikit-learn's ``average="macro"`` does and as paper 000's tables fit
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from equipoise.audits.downstream.splits import Codes
from equipoise.foundation.errors import BadInput
from equipoise.tallies.confusion import ratio

Floats = NDArray[np.float64]

MEASURES = ("macro_precision", "macro_recall", "accuracy")
VARIANTS = ("default", "paper")


def check_variant(variant: str) -> None:
    """Refuse a variant that is not known."""
    if variant not in VARIANTS:
        raise BadInput(f"There is no variant {variant!r}", available=", ".join(VARIANTS))


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs of true and predicted class that occur, and where each row's pair stands among them."""

    truth: Codes
    guess: Codes
    of_row: Codes
    classes: int

    def __len__(self) -> int:
        return len(self.truth)

    @cached_property
    def _sums(self) -> tuple[sparse.csr_array, sparse.csr_array, sparse.csr_array]:
        """What turns weights of pairs into true positives, people and predictions of each class."""
        places, shape, right = np.arange(len(self)), (len(self), self.classes), self.truth == self.guess
        ones = np.ones(len(self))
        return (
            sparse.csr_array((ones[right], (places[right], self.truth[right])), shape=shape),
            sparse.csr_array((ones, (places, self.truth)), shape=shape),
            sparse.csr_array((ones, (places, self.guess)), shape=shape),
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


def pairs_of(truth: Codes, guess: Codes, classes: int) -> Pairs:
    """Find the pairs of true and predicted class that occur."""
    found, of_row = np.unique(truth * classes + guess, return_inverse=True)
    return Pairs(found // classes, found % classes, of_row.reshape(-1).astype(np.int64), classes)


def macro_values(
    pairs: Pairs, tables: Floats, variant: str = "default", observed: Floats | None = None, whole: bool = False
) -> Floats:
    """Return the three measures, ``[..., measure]``, of tables ``[..., pair]``; NaN where nothing is defined.

    In bootstrap draws ``observed`` (the people of each class in the table they are drawn from) keeps the classes the
    group has. With ``whole`` classes are drawn whole, so one that is drawn twice counts twice in the mean.
    """
    hits, people, guesses = pairs.margins(tables)
    everyone = tables.sum(axis=-1)
    accuracy = ratio(hits.sum(axis=-1), everyone)
    times = np.ones(people.shape)
    if observed is not None and whole:
        times = np.divide(people, observed, out=times, where=observed > 0)
    if variant == "paper":
        labels = (people > 0) | (guesses > 0)
        precision = _mean(np.nan_to_num(ratio(hits, guesses)), labels * times)
        recall = _mean(np.nan_to_num(ratio(hits, people)), labels * times)
    else:
        own = people > 0 if observed is None else observed > 0
        precision = _mean(ratio(hits, guesses), (own & (guesses > 0)) * times)
        recall = _mean(ratio(hits, people), (own & (people > 0)) * times)
    return np.stack([precision, recall, accuracy], axis=-1)


def class_numbers(pairs: Pairs, tables: Floats, variant: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many classes each of the three is a mean over, and how many the group has without a precision."""
    _, people, guesses = pairs.margins(tables)
    own, told = people > 0, guesses > 0
    if variant == "paper":
        labels = (own | told).sum(axis=-1)
        return np.stack([labels, labels, labels], axis=-1), np.zeros((*labels.shape, 3), dtype=np.int64)
    number = own.sum(axis=-1)
    lost = (own & ~told).sum(axis=-1)
    none = np.zeros_like(lost)
    return np.stack([number - lost, number, number], axis=-1), np.stack([lost, none, none], axis=-1)


def _mean(values: Floats, weights: Floats) -> Floats:
    return ratio((np.where(weights > 0, values, 0.0) * weights).sum(axis=-1), weights.sum(axis=-1))
