"""How far alignment could be off: what each row, or each unit of rows, adds to the mean over pairs, in closed form."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from equipoise.audits.embedding._spreads import Spread, linearised
from equipoise.audits.embedding._units import Units, drawn_units
from equipoise.measures.alignment import Pairs, pairs_of_all, pairs_within
from equipoise.tallies.embedded import CHUNK, Embedded
from equipoise.tallies.factorise import Coded
from equipoise.tallies.moments import Moments

Floats = NDArray[np.float64]


def alignment_spread(embedded: Embedded, values: Floats, *, within_class: bool) -> Spread:
    """Linearise the mean squared distance over the pairs of a class, or over the pairs of different classes.

    A unit adds the pairs it has with other units, and those inside it once.
    """
    units, groups = drawn_units(embedded), len(embedded.groups)
    one = Coded(np.zeros(len(embedded.codes), dtype=np.int64), ("all",))
    added = _added(embedded, embedded.space.classes, units)
    number = pairs_within(embedded.moments).by_group(groups)[1]
    if not within_class:
        everything = _added(embedded, one, units)
        added = (everything[0] - added[0], everything[1] - added[1])
        number = pairs_of_all(embedded.moments).by_group(groups)[1] - number
    with np.errstate(invalid="ignore", divide="ignore"):
        influence = (added[0] - values * added[1]) / number
    influence = np.where(np.isfinite(influence), influence, 0.0)
    return linearised(values, influence, units.by_group(groups), units.name, "linearised on the pairs")


def _added(embedded: Embedded, classes: Coded, units: Units) -> tuple[Floats, Floats]:
    """Return, per unit and group, the squared distances of the pairs of one class it is in, and their number."""
    groups = len(embedded.groups)
    codes = np.where(embedded.codes < 0, groups, embedded.codes)
    coded = Coded(codes, (*embedded.groups, None))
    total, number = _rows_added(embedded, embedded.space.moments(coded, classes=classes), classes, codes)
    summed = [
        np.stack(
            [np.bincount(units.of_row, weights=added[:, group], minlength=units.number) for group in range(groups)],
            axis=1,
        ).astype(np.float64)
        for added in (total, number)
    ]
    if units.name != "rows":  # pairs inside a unit were met from both of their ends
        joint, inside = np.unique(classes.codes * units.number + units.of_row, return_inverse=True)
        cells = Coded(inside.reshape(-1), tuple(str(key) for key in joint.tolist()))
        pairs = pairs_within(embedded.space.moments(coded, classes=cells))
        for sums, values in zip(summed, (pairs.total, pairs.number), strict=True):
            _subtract(sums, values, pairs, joint % units.number, groups)
    return summed[0], summed[1]


def _subtract(sums: Floats, values: Floats, pairs: Pairs, unit_of: NDArray[np.int64], groups: int) -> None:
    known = pairs.cells[:, 1] < groups
    np.subtract.at(sums, (unit_of[pairs.cells[known, 0]], pairs.cells[known, 1]), values[known])


def _rows_added(
    embedded: Embedded, moments: Moments, classes: Coded, codes: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Return, per row and group, the row's pairs: with all of its class if it is of the group, else with members."""
    rows, groups = len(codes), len(embedded.groups)
    cell_of, number, total, square = _cells(moments, len(classes.labels))
    whole = [_by_class(moments.cells[:, 0], sums[:-1], len(classes.labels)) for sums in (number, total, square)]
    apart, count = np.empty((rows, groups)), np.empty((rows, groups))
    for start in range(0, rows, CHUNK):
        places = np.arange(start, min(start + CHUNK, rows))
        points = embedded.space.rows(places) - np.asarray(moments.pivot)
        norms, own = np.einsum("ij,ij->i", points, points), classes.codes[places]
        for group in range(groups):
            member = codes[places] == group
            cell = cell_of[own, group]
            n, Q = (np.where(member, all_[own], part[cell]) for all_, part in
                    ((whole[0], number), (whole[2], square)))  # fmt: skip
            S = np.where(member[:, None], whole[1][own], total[cell])
            apart[places, group] = n * norms + Q - 2 * np.einsum("ij,ij->i", points, S)
            count[places, group] = n - member
    return apart, count


def _cells(moments: Moments, classes: int) -> tuple[NDArray[np.int64], Floats, Floats, Floats]:
    """Return which cell a class and group are, ``[class, group]``, and the cells' sums; the last cell is empty."""
    cell_of = np.full((classes, len(moments.groups)), len(moments.cells), dtype=np.int64)
    cell_of[moments.cells[:, 0], moments.cells[:, 1]] = np.arange(len(moments.cells))
    number, total, square = (
        np.concatenate([sums, np.zeros((1, *sums.shape[1:]))])
        for sums in (moments.number, moments.total, moments.square)
    )
    return cell_of, number, total, square


def _by_class(class_of: NDArray[np.int64], sums: Floats, classes: int) -> Floats:
    whole = np.zeros((classes, *sums.shape[1:]))
    np.add.at(whole, class_of, sums)
    return whole
