"""Intervals of the numbers of an embedding, and the units that are resampled and permuted.

Whole units are drawn: those the caller named, else classes where the group is constant in them, else rows; where the
caller's are parts of such classes (days on which a person was photographed), classes.

Queries are resampled while the gallery stays; clusters stay as they are, and mutual information is jackknifed on its
table; alignment is linearised on its pairs, by what each row, or each unit of rows, adds to their mean; uniformity,
which a row drawn twice would bend, is subsampled without replacement.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from equipoise.audits._units import GroupedUnits, UnitName, carried_by, constant_in
from equipoise.foundation import Floats, ratio
from equipoise.measures import (
    RBF_ROWS,
    Contingency,
    Pairs,
    common_group_size,
    contingency_tables,
    divergence_from_uniform,
    expected_mutual_information,
    float_spacing,
    log_mean_rbf_kernel,
    pairs_of_all,
    pairs_within,
    singular_values,
)
from equipoise.stats import (
    bootstrap_totals,
    wilson,
)
from equipoise.tallies import (
    CHUNK_ROWS,
    Coded,
    Codes,
    EmbeddingMoments,
    EmbeddingSpace,
    EmbeddingTally,
)

LEVEL = 0.95
# More subsamples than this tell little. Where each is dear (multiply-adds) fewer are taken: 50 tell a width to a tenth.
SUBSAMPLES = 200
FEWEST_SUBSAMPLES = 50
SUBSAMPLING_WORK = 2e11
# Squaring the rows loses the digits of singular values that are this small beside the largest.
SQUARED = 1e-5
FEWEST_UNITS = 4
# Of two units Student's t reaches 12.7 standard errors: everything from 0 to 1, which says nothing.
FEWEST_QUERIED = 3


class IntervalMethod(StrEnum):
    """How an interval was made."""

    RESAMPLED = "resampled queries"
    JACKKNIFED = "jackknifed on the contingency table"
    LINEARISED = "linearised on the pairs"
    SUBSAMPLED = "subsampled without replacement"

    @property
    def kind(self) -> str:
        """The kind of interval, as records name it."""
        return "bootstrap" if self == IntervalMethod.RESAMPLED else "normal"


@dataclass(frozen=True)
class Spread:
    """Intervals of the groups' values, and what the interval of a gap needs.

    ``covariance`` is that of the groups' values; None where groups are independent and the intervals say it all.
    """

    low: Floats
    high: Floats
    covariance: Floats | None
    units: Floats
    unit: UnitName
    method: IntervalMethod


def resampled_units(embedded: EmbeddingTally) -> GroupedUnits:
    """Return the units that intervals resample: the caller's, else classes where they carry the group, else rows."""
    if embedded.unit is not None and not _parts_of_classes(embedded, embedded.unit.codes):
        return GroupedUnits.of(embedded.unit.codes, embedded.codes)
    return _carrying(embedded, ())


def permuted_units(embedded: EmbeddingTally) -> GroupedUnits:
    """Return the first of the caller's units, classes and rows that carry the group."""
    codes_of_units = () if embedded.unit is None else (embedded.unit.codes,)
    return _carrying(embedded, tuple(codes for codes in codes_of_units if not _parts_of_classes(embedded, codes)))


def _parts_of_classes(embedded: EmbeddingTally, codes: Codes) -> bool:
    """Tell whether several units make up a class that carries the group: then they are one witness, not several."""
    classes = embedded.space.classes.codes
    more = len(np.unique(codes)) > len(np.unique(classes))
    return more and constant_in(codes, classes) and carried_by(classes, embedded.codes)


def _carrying(embedded: EmbeddingTally, first: tuple[Codes, ...]) -> GroupedUnits:
    for codes in first:
        units = GroupedUnits.of(codes, embedded.codes)
        if units.group is not None and units.number < len(codes):
            return units
    classes = GroupedUnits.of(embedded.space.classes.codes, embedded.codes, "classes")
    if classes.group is not None and classes.number < len(embedded.codes):
        return classes
    return GroupedUnits.of(np.arange(len(embedded.codes)), embedded.codes, "rows")


def carried_codes(embedded: EmbeddingTally, units: GroupedUnits) -> Codes:
    """Return the rows' groups as far as their unit has them: a row that disagrees with its unit is in no group.

    This is what ``permuted_codes`` permutes, so what permuted groups give is compared with what these give.
    """
    assert units.group is not None
    return np.where(embedded.codes == units.group[units.of_row], embedded.codes, -1)


def permuted_codes(embedded: EmbeddingTally, units: GroupedUnits, generator: np.random.Generator) -> Codes:
    """Return the rows' groups after the groups of whole units were permuted.

    Rows of no group keep none, and rows that disagree with their unit are in none.
    """
    assert units.group is not None
    group = units.group.copy()
    having = np.flatnonzero(group >= 0)
    group[having] = generator.permutation(group[having])
    return np.where(carried_codes(embedded, units) >= 0, group[units.of_row], -1)


def t_quantile(units: Floats) -> Floats:
    """Return how many standard errors an interval reaches: Student's t, since the spread is estimated from units."""
    return np.asarray(stats.t.ppf((1 + LEVEL) / 2, np.maximum(units - 1, 1)), dtype=np.float64)


def query_spread(
    embedded: EmbeddingTally,
    values: Floats,
    generator: np.random.Generator,
    draws: int,
    *,
    of: Callable[[EmbeddingSpace], Floats],
) -> Spread:
    """Resample queries (or whole units of them) with the gallery fixed; ``of`` returns the value of each query.

    The draws tell how many independent queries the group's are worth; Wilson's interval at that number stays inside 0
    to 1, and does not shrink to a point where every query is answered.
    """
    units, groups, per_query = resampled_units(embedded), len(embedded.groups), of(embedded.space)
    is_known = (embedded.codes >= 0) & ~np.isnan(per_query)
    cell = units.of_row[is_known] * groups + embedded.codes[is_known]
    sums = np.stack(
        [
            np.bincount(cell, weights=weights, minlength=units.number * groups).reshape(units.number, groups)
            for weights in (per_query[is_known], np.ones(int(is_known.sum())))
        ],
        axis=-1,
    )
    has_queries = sums[..., 1] > 0
    used = (has_queries if units.group is None else has_queries & (units.group[:, None] == np.arange(groups))).sum(
        axis=0
    )
    totals = np.zeros((draws, groups, 2))
    # Units of one group are drawn among themselves, with the few rows of other groups that they may have.
    for members in [has_queries.any(axis=1)] if units.group is None else (units.group[:, None] == np.arange(groups)).T:
        part, groups_present = sums[members & has_queries.any(axis=1)], has_queries[members].any(axis=0)
        if len(part):
            resampled = bootstrap_totals(part[:, groups_present].reshape(len(part), -1), generator, draws)
            totals[:, groups_present] += resampled.reshape(draws, -1, 2)
    samples = ratio(totals[..., 0], totals[..., 1])
    # A group of few units is missing from some draws; the others tell its spread.
    centred = samples - _mean(samples)
    covariance = _mean(centred[:, :, None] * centred[:, None, :])
    correction = used / np.maximum(used - 1, 1)
    variance = np.diagonal(covariance) * correction
    with np.errstate(invalid="ignore", divide="ignore"):
        worth = np.where(variance > 0, values * (1 - values) / variance, used)
    unknown = np.isnan(values) | (used < FEWEST_QUERIED)
    low, high = wilson(values * worth, worth, np.where(unknown, LEVEL, 2 * special.ndtr(t_quantile(used)) - 1))
    independent = units.group is not None and not units.mixed
    joint = None if independent else covariance * np.sqrt(correction[:, None] * correction)
    return Spread(
        np.where(unknown, np.nan, low),
        np.where(unknown, np.nan, high),
        joint,
        used,
        units.name,
        IntervalMethod.RESAMPLED,
    )


def _mean(values: Floats) -> Floats:
    is_defined = ~np.isnan(values)
    return np.asarray(np.where(is_defined, values, 0.0).sum(axis=0) / np.maximum(is_defined.sum(axis=0), 1))


def linearised(values: Floats, influence: Floats, units: Floats, unit: UnitName, method: IntervalMethod) -> Spread:
    """Return intervals from what each unit adds to each group's number, ``[unit, group]``."""
    number = len(influence)
    centred = influence - influence.mean(axis=0) if number else influence
    covariance = centred.T @ centred * number / max(number - 1, 1)
    reach = t_quantile(units) * np.sqrt(np.diagonal(covariance))
    is_known = (units >= FEWEST_UNITS) & ~np.isnan(values)
    low, high = (np.where(is_known, edge, np.nan) for edge in (values - reach, values + reach))
    return Spread(low, high, covariance, units, unit, method)


def mutual_information_spread(embedded: EmbeddingTally, values: Floats, *, adjusted: bool) -> Spread:
    """Leave every unit out of the contingency table in turn; clusters and the chance level stay as they are."""
    units, groups = resampled_units(embedded), len(embedded.groups)
    influence = np.zeros((units.number, groups))
    for group, table in enumerate(contingency_tables(embedded)):
        if table is None or np.isnan(values[group]):
            continue
        rows = np.flatnonzero(embedded.codes == group)
        present, of_row = np.unique(units.of_row[rows], return_inverse=True)
        chance = expected_mutual_information(table.classes, table.clusters) if adjusted else 0.0
        left = _left_out(
            embedded.space.classes.codes[rows], embedded.space.clusters[rows], of_row.reshape(-1), table, chance
        )
        influence[present, group] = (left.mean() - left) * (len(present) - 1) / len(present)
    return linearised(values, influence, units.by_group(groups), units.name, IntervalMethod.JACKKNIFED)


def _left_out(classes: Codes, clusters: Codes, units: Codes, table: Contingency, chance: float) -> Floats:
    """Return (I - chance) / (mean entropy - chance) without each unit, from what its rows take off the sums x log x."""
    sizes = np.bincount(units)
    of_all = _x_log_x(table.rows - sizes)
    joint = classes * len(table.clusters) + clusters
    without = [
        float(_x_log_x(counts).sum()) + _taken_off(codes, units, len(sizes))
        for codes, counts in ((joint, table.cells), (classes, table.classes), (clusters, table.clusters))
    ]
    with np.errstate(invalid="ignore", divide="ignore"):
        mutual = (without[0] - without[1] - without[2] + of_all) / (table.rows - sizes)
        entropy = (of_all - (without[1] + without[2]) / 2) / (table.rows - sizes)
        return np.asarray((mutual - chance) / (entropy - chance), dtype=np.float64)


def _taken_off(codes: Codes, units: Codes, number: int) -> Floats:
    """Return how much the sum of x log x over the counts of codes changes when a unit's rows are left out."""
    counts = np.bincount(codes)
    pairs, taken = np.unique(units * len(counts) + codes, return_counts=True)
    before = counts[pairs % len(counts)]
    change = _x_log_x(before - taken) - _x_log_x(before)
    return np.bincount(pairs // len(counts), weights=change, minlength=number).astype(np.float64)


def _x_log_x(x: NDArray[Any]) -> Floats:
    return np.asarray(special.xlogy(x, x), dtype=np.float64)


def subsampled(
    embedded: EmbeddingTally,
    values: Floats,
    size: int,
    statistic: Callable[[Floats], float],
    generator: np.random.Generator,
    draws: int,
) -> Spread:
    """Draw parts of each group without replacement: their spread is that of the whole, but for the share drawn."""
    units, groups, number = resampled_units(embedded), len(embedded.groups), min(draws, SUBSAMPLES)
    numbers = units.by_group(groups)
    variance = np.full(groups, np.nan)
    for group in range(groups):
        members = embedded.members(group)
        if len(members) < 2 * FEWEST_UNITS or numbers[group] < FEWEST_UNITS or np.isnan(values[group]):
            continue
        parts = [statistic(embedded.space.rows(_part(members, units, size, generator))) for _ in range(number)]
        # Parts of b among n vary by (1/b - 1/n) where the number at size m varies by 1/m.
        if units.name == "rows":
            scale = (1 / size) / (1 / (size - size // 2) - 1 / len(members))
        else:
            half, full = int(numbers[group]) // 2, numbers[group]
            scale = (1 / full) / (1 / half - 1 / full)
        variance[group] = np.nanvar(parts, ddof=1) * scale
    covariance = np.diag(np.where(np.isnan(variance), 0.0, variance))
    fewest = np.minimum(numbers, number)
    reach = t_quantile(fewest) * np.sqrt(variance)
    return Spread(values - reach, values + reach, covariance, fewest, units.name, IntervalMethod.SUBSAMPLED)


def _part(
    members: NDArray[np.int64], units: GroupedUnits, size: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return half as many rows as are compared, or the rows of half the units, at most so many."""
    number = size - size // 2
    if units.name != "rows":
        several = np.unique(units.of_row[members])
        chosen = generator.permutation(several)[: len(several) // 2]
        members = members[np.isin(units.of_row[members], chosen)]
    return np.sort(generator.permutation(members)[:number])


def uniformity_spread(embedded: EmbeddingTally, values: Floats, generator: np.random.Generator, draws: int) -> Spread:
    """Subsample U_KL."""
    precision, size = float_spacing(embedded), common_group_size(embedded)
    few, many = sorted((size - size // 2, embedded.space.points.shape[1]))
    return subsampled(
        embedded, values, size,
        lambda rows: divergence_from_uniform(quick_singular_values(rows), rows.shape, precision),
        generator, min(draws, max(FEWEST_SUBSAMPLES, int(SUBSAMPLING_WORK / (few * few * many)))),
    )  # fmt: skip


def rbf_spread(embedded: EmbeddingTally, values: Floats, generator: np.random.Generator, draws: int) -> Spread:
    """Subsample the RBF uniformity."""
    return subsampled(
        embedded, values, min(common_group_size(embedded), RBF_ROWS), log_mean_rbf_kernel, generator, draws // 4
    )


def quick_singular_values(rows: Floats) -> Floats:
    """Return singular values in rising order by way of the smaller Gram matrix, several times faster.

    A value s is off by about eps (largest / s)^2 of itself, so where the smallest is below 1e-5 of the largest (or 0,
    which decides about the rank) rows are decomposed as they are.
    """
    gram = rows.T @ rows if rows.shape[0] >= rows.shape[1] else rows @ rows.T
    squares = np.linalg.eigvalsh(gram)
    if len(squares) and squares[0] <= SQUARED**2 * squares[-1]:
        return singular_values(rows)[::-1]
    return np.asarray(np.sqrt(squares), dtype=np.float64)


def alignment_spread(embedded: EmbeddingTally, values: Floats, *, within_class: bool) -> Spread:
    """Linearise the mean squared distance over the pairs of a class, or over the pairs of different classes.

    A unit adds the pairs it has with other units, and those inside it once.
    """
    units, groups = resampled_units(embedded), len(embedded.groups)
    single = Coded(np.zeros(len(embedded.codes), dtype=np.int64), ("all",))
    added = _added(embedded, embedded.space.classes, units)
    number = pairs_within(embedded.moments).by_group(groups)[1]
    if not within_class:
        everything = _added(embedded, single, units)
        added = (everything[0] - added[0], everything[1] - added[1])
        number = pairs_of_all(embedded.moments).by_group(groups)[1] - number
    with np.errstate(invalid="ignore", divide="ignore"):
        influence = (added[0] - values * added[1]) / number
    influence = np.where(np.isfinite(influence), influence, 0.0)
    return linearised(values, influence, units.by_group(groups), units.name, IntervalMethod.LINEARISED)


def _added(embedded: EmbeddingTally, classes: Coded, units: GroupedUnits) -> tuple[Floats, Floats]:
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
    has_group = pairs.cells[:, 1] < groups
    np.subtract.at(sums, (unit_of[pairs.cells[has_group, 0]], pairs.cells[has_group, 1]), values[has_group])


def _rows_added(
    embedded: EmbeddingTally, moments: EmbeddingMoments, classes: Coded, codes: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Return, per row and group, the row's pairs: with all of its class if it is of the group, else with members."""
    rows, groups = len(codes), len(embedded.groups)
    cell_of, number, total, square = _cells(moments, len(classes.labels))
    class_sums = [_by_class(moments.cells[:, 0], sums[:-1], len(classes.labels)) for sums in (number, total, square)]
    distances, count = np.empty((rows, groups)), np.empty((rows, groups))
    for start in range(0, rows, CHUNK_ROWS):
        chunk = np.arange(start, min(start + CHUNK_ROWS, rows))
        points = embedded.space.rows(chunk) - np.asarray(moments.pivot)
        norms, of_row = np.einsum("ij,ij->i", points, points), classes.codes[chunk]
        for group in range(groups):
            member = codes[chunk] == group
            cell = cell_of[of_row, group]
            n, Q = (np.where(member, of_class[of_row], part[cell]) for of_class, part in
                    ((class_sums[0], number), (class_sums[2], square)))  # fmt: skip
            S = np.where(member[:, None], class_sums[1][of_row], total[cell])
            distances[chunk, group] = n * norms + Q - 2 * np.einsum("ij,ij->i", points, S)
            count[chunk, group] = n - member
    return distances, count


def _cells(moments: EmbeddingMoments, classes: int) -> tuple[NDArray[np.int64], Floats, Floats, Floats]:
    """Return which cell a class and group are, ``[class, group]``, and the cells' sums; the last cell is empty."""
    cell_of = np.full((classes, len(moments.groups)), len(moments.cells), dtype=np.int64)
    cell_of[moments.cells[:, 0], moments.cells[:, 1]] = np.arange(len(moments.cells))
    number, total, square = (
        np.concatenate([sums, np.zeros((1, *sums.shape[1:]))])
        for sums in (moments.number, moments.total, moments.square)
    )
    return cell_of, number, total, square


def _by_class(class_of: NDArray[np.int64], sums: Floats, classes: int) -> Floats:
    sums_of_class = np.zeros((classes, *sums.shape[1:]))
    np.add.at(sums_of_class, class_of, sums)
    return sums_of_class
