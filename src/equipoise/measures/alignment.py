"""Alignment (paper 000, Definition 2): the mean squared distance over all pairs of a class, and over all other pairs.

A group's pairs are those in which at least one of the two is of the group. For n points with sum S and sum of squared
norms Q the squared distances of all pairs add up to n Q - |S|^2, and those between two sets to
n Q' + n' Q - 2 S.S': so all pairs are counted in closed form and none is formed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.foundation.arrays import ratio
from equipoise.measures.embeddings import INFINITE, embedding_measure
from equipoise.measures.measure import Floats
from equipoise.tallies.embedded import Embedded, Moments
from equipoise.tallies.labels import Codes


@dataclass(frozen=True)
class Pairs:
    """Per class and group that occur together: the squared distances of its pairs added up, and how many there are."""

    total: Floats
    number: Floats
    cells: Codes

    def by_group(self, groups: int) -> tuple[Floats, Floats]:
        """Add up over classes."""
        total, number = (
            np.bincount(self.cells[:, 1], weights=weights, minlength=groups)[:groups].astype(np.float64)
            for weights in (self.total, self.number)
        )
        return total, number


def pairs_within(moments: Moments) -> Pairs:
    """Return the pairs of two different rows of one class of which at least one is of the group."""
    n, S, Q = moments.number, np.asarray(moments.total), np.asarray(moments.square)
    classes = moments.cells[:, 0]
    order = np.argsort(classes, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(classes[order]) != 0]) if len(order) else order
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.cumsum(np.isin(np.arange(len(order)), starts)) - 1
    # The others of the class: everybody of it who is not of the group.
    n_others, S_others, Q_others = (
        (np.add.reduceat(sums[order], starts, axis=0)[place] if len(order) else sums) - sums for sums in (n, S, Q)
    )
    inside = n * Q - np.einsum("ij,ij->i", S, S)
    across = n * Q_others + n_others * Q - 2 * np.einsum("ij,ij->i", S, S_others)
    return Pairs(np.maximum(inside, 0.0) + np.maximum(across, 0.0), n * (n - 1) / 2 + n * n_others, moments.cells)


def pairs_of_all(moments: Moments) -> Pairs:
    """Return the pairs of two different rows of any classes of which at least one is of the group."""
    totals, sizes = moments.by_group()
    squares = np.bincount(moments.cells[:, 1], weights=moments.square, minlength=len(moments.groups))
    groups = np.arange(len(moments.groups))
    whole = Moments(
        cells=np.stack([np.zeros_like(groups), groups], axis=1), number=sizes, total=totals, square=squares,
        second=None, pivot=moments.pivot, classes=("all",), groups=moments.groups,
    )  # fmt: skip
    return pairs_within(whole)


def aligned_within(moments: Moments, groups: int) -> Floats:
    """Return the mean squared distance over the pairs of one class, for each of so many groups."""
    return ratio(*pairs_within(moments).by_group(groups))


def aligned_across(moments: Moments, groups: int) -> Floats:
    """Return the mean squared distance over the pairs of two classes, for each of so many groups."""
    of_all, within = (pairs(moments).by_group(groups) for pairs in (pairs_of_all, pairs_within))
    return ratio(of_all[0] - within[0], of_all[1] - within[1])


@embedding_measure(
    "intra_class_alignment",
    better="low",
    bounds=(0.0, INFINITE),
    undefined="no pair of rows of one class involves the group",
)
def intra_class_alignment(embedded: Embedded) -> Floats:
    """E |x - y|^2 over all pairs of two rows of one class, at least one of them of the group."""
    return aligned_within(embedded.moments, len(embedded.groups))


@intra_class_alignment.variant("literal")
def _with_self_pairs(embedded: Embedded) -> Floats:
    """The pairs of Definition 2 to the letter: X x X, in which a row is also paired with itself, at distance 0."""
    total, number = pairs_within(embedded.moments).by_group(len(embedded.groups))
    return ratio(2 * total, 2 * number + embedded.people)


@embedding_measure(
    "inter_class_alignment",
    better="high",
    bounds=(0.0, INFINITE),
    undefined="no pair of rows of two classes involves the group",
)
def inter_class_alignment(embedded: Embedded) -> Floats:
    """E |x - y|^2 over all pairs of two rows of different classes, at least one of them of the group."""
    return aligned_across(embedded.moments, len(embedded.groups))
