"""Values of an embedding when groups are dealt out: what all deals share is done once, so that each costs little.

Rows of one unit are dealt together, so sums over units are all that a deal needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from equipoise.audits.embedding._spreads import quick_singular_values
from equipoise.audits.embedding._units import carried_codes, permuted_units
from equipoise.foundation.seeds import stream
from equipoise.measures.evenness import RBF_WEIGHT, common_size, divergence, spacing, squared_distances
from equipoise.tallies.embedded import Embedded
from equipoise.tallies.factorise import Coded, Codes
from equipoise.tallies.moments import Moments

Floats = NDArray[np.float64]
# The value of every group, as a function of an embedding whose groups were dealt out.
Dealt = Callable[[Embedded], Floats]

# Rows whose pairs stand for all under the RBF.
DEALT_ROWS = 3_000


def dealt_alignment(value: Callable[[Moments, int], Floats]) -> Callable[[Embedded], Dealt]:
    """Sum the points of each class and unit once; a deal only says which sums go together."""

    def prepare(embedded: Embedded) -> Dealt:
        first, part = _parts(embedded)
        if 2 * len(first) > len(part):  # nearly every row is a unit: their sums would be a copy of the points
            return lambda dealt: value(dealt.moments, len(dealt.groups))
        moments = embedded.space.moments(Coded(part, tuple(map(str, range(len(first))))))

        def by_sums(dealt: Embedded) -> Floats:
            groups = len(dealt.groups)
            codes = dealt.codes[first]
            whole = (*dealt.groups, None)
            return value(regrouped(moments, np.where(codes < 0, groups, codes), whole), groups)

        return by_sums

    return prepare


def regrouped(moments: Moments, group: Codes, labels: tuple[str | None, ...]) -> Moments:
    """Return the sums of whole groups put together: ``group`` says where each goes. Second moments are left out."""
    keys = moments.cells[:, 0] * len(labels) + group[moments.cells[:, 1]]
    order = np.argsort(keys, kind="stable")
    kept, starts = np.unique(keys[order], return_index=True)
    number, total, square = (
        np.add.reduceat(sums[order], starts, axis=0) for sums in (moments.number, moments.total, moments.square)
    )
    cells = np.stack([kept // len(labels), kept % len(labels)], axis=1)
    return replace(moments, cells=cells, number=number, total=total, square=square, second=None, groups=labels)


def dealt_uniformity(embedded: Embedded) -> Dealt:
    """Take singular values by the quick way; a deal takes other rows, so nothing is shared."""
    precision = spacing(embedded)

    def value(dealt: Embedded) -> Floats:
        size = common_size(dealt)
        rows = [dealt.space.rows(dealt.sample(group, size, "uniformity")) for group in range(len(dealt.groups))]
        return np.array([divergence(quick_singular_values(points), points.shape, precision) for points in rows])

    return value


def dealt_rbf(embedded: Embedded) -> Dealt:
    """Form the kernel of a sample of all rows once; a deal then only says which pairs are whose."""
    space = embedded.space
    chosen = np.sort(stream(embedded.options.seed, "rbf under permutation").permutation(space.canonical)[:DEALT_ROWS])
    exponents = -RBF_WEIGHT * squared_distances(space.rows(chosen))
    np.fill_diagonal(exponents, -np.inf)
    largest = float(exponents.max())
    kernel = np.exp(exponents - largest)
    part = _parts(embedded)[1][chosen]
    order = np.argsort(part, kind="stable")
    starts = np.unique(part[order], return_index=True)[1]
    for axis in (0, 1):
        kernel = np.add.reduceat(kernel.take(order, axis=axis), starts, axis=axis)
    rows, sizes = chosen[order[starts]], np.diff([*starts, len(order)])

    def value(dealt: Embedded) -> Floats:
        own = (dealt.codes[rows][:, None] == np.arange(len(dealt.groups))).astype(np.float64)
        sums, people = (own * (kernel @ own)).sum(axis=0), sizes @ own
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(largest + np.log(sums / (people * (people - 1))), dtype=np.float64)

    return value


def _parts(embedded: Embedded) -> tuple[Codes, Codes]:
    """Return the parts that are dealt whole: the first row of each, and the part of every row.

    A part is the rows of a unit that have its group; all rows that are never dealt a group are one more.
    """
    units = permuted_units(embedded)
    whole = np.where(carried_codes(embedded, units) >= 0, units.of_row, -1)
    _, first, part = np.unique(whole, return_index=True, return_inverse=True)
    return first, part.reshape(-1)
