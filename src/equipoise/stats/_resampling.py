"""Resampling: percentiles of draws, random tables with fixed margins or drawn again, and blocks of rows.

Sums of rows are compared with chance in blocks, which are allocated to the groups anew. A block is a few rows of one
group drawn at random; blocks of all groups are of one size, so that where groups do not differ any allocation is as
likely as the one seen. Standard errors leave out one block after the other (the jackknife).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats

from equipoise.foundation import Floats
from equipoise.stats._permutation import draws_needed, sequential_permutation

# Draws of fewer units than this vary far too little to tell anything of.
MIN_UNITS = 5


def bootstrap_counts(
    cells: Floats, draws: int, generator: np.random.Generator, squares: Floats | None = None
) -> Floats:
    """Return bootstrap draws of counts ``[group, ...]``, the size of each group kept: ``[draw, group, ...]``.

    With squared weights a cell's sum is drawn from the gamma distribution with its mean and its variance.

    Examples
    --------
    >>> bootstrap_counts(np.array([[3.0, 1.0], [0.0, 2.0]]), 5, np.random.default_rng(0)).sum(axis=2).tolist()[0]
    [4.0, 2.0]
    """
    if squares is not None:
        scale = np.divide(squares, cells, out=np.zeros_like(cells), where=cells > 0)
        shape = np.divide(cells**2, squares, out=np.zeros_like(cells), where=squares > 0)
        return np.asarray(generator.standard_gamma(shape, size=(draws, *cells.shape)) * scale, dtype=np.float64)
    flat = np.rint(cells.reshape(len(cells), -1)).astype(np.int64)
    samples = np.zeros((draws, *flat.shape))
    for index, counts in enumerate(flat):
        total = int(counts.sum())
        if total:
            samples[:, index] = generator.multinomial(total, counts / total, size=draws)
    return samples.reshape(draws, *cells.shape)


def bootstrap_totals(units: sparse.csc_array, generator: np.random.Generator, draws: int) -> Floats:
    """Return the totals of units drawn with replacement, ``[draw, sum]``; a unit is a sparse row of sums."""
    number = units.shape[0]
    totals = np.empty((draws, units.shape[1]))
    for draw in range(draws):
        times = np.bincount(generator.integers(0, number, number, dtype=np.int32), minlength=number)
        totals[draw] = times.astype(np.float64) @ units
    return totals


def standard_deviation_of_draws(values: Floats) -> Floats:
    """Return the standard deviation over draws ``[draw, ...]``; NaN where most draws are undefined."""
    is_defined = ~np.isnan(values)
    # A statistic that most draws cannot tell has no spread worth the name.
    enough = is_defined.mean(axis=0) > 0.5
    mean = np.where(is_defined, values, 0.0).sum(axis=0) / np.maximum(is_defined.sum(axis=0), 1)
    squares = np.where(is_defined, (values - mean) ** 2, 0.0).sum(axis=0) / np.maximum(is_defined.sum(axis=0) - 1, 1)
    return np.where(enough, np.sqrt(squares), np.nan)


def small_sample_factor(number: int, level: float = 0.95) -> float:
    """Return by how much a normal interval from draws of so many units is too narrow; NaN where there are too few.

    Draws miss a factor n - 1 over n of the variance, and the variance itself is estimated: Student's t, not normal.
    """
    if number < MIN_UNITS:
        return float("nan")
    tail = (1.0 - level) / 2.0
    return float(np.sqrt(number / (number - 1)) * stats.t.isf(tail, number - 1) / stats.norm.isf(tail))


def student_factors(number: int, draws: int, generator: np.random.Generator) -> Floats:
    """Return a factor for each draw of so many units that turns its deviation into one of Student's t."""
    degrees = max(number - 1, 1)
    return np.asarray(np.sqrt((degrees + 1) / generator.chisquare(degrees, draws)), dtype=np.float64)


def percentiles(values: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return the percentile interval of draws ``[draw, ...]``; NaN where most draws are undefined."""
    share_defined = (~np.isnan(values)).mean(axis=0)
    low, high = np.full(values.shape[1:], np.nan), np.full(values.shape[1:], np.nan)
    is_defined = share_defined > 0.5
    if is_defined.any():
        edges = [(1 - level) / 2, (1 + level) / 2]
        low[is_defined], high[is_defined] = np.nanquantile(values[:, is_defined], edges, axis=0)
    return low, high


# So many numbers at the most are held at once.
TABLE_BATCH = 4_000_000
# With more classes than this the cells that never occur are left out of the drawn tables.
MOST_DENSE_CLASSES = 30


def permuted_tables(rows: Floats, within_class: bool, draws: int, generator: np.random.Generator) -> Floats:
    """Return tables ``[draw, group, true, predicted]`` with groups permuted: across all rows, or within true class."""
    cells = np.rint(rows).astype(np.int64)
    groups, truths, guesses = cells.shape
    if within_class:
        parts = [_random_tables(cells[:, truth, :], draws, generator) for truth in range(truths)]
        return np.stack(parts, axis=2)
    flat = _random_tables(cells.reshape(groups, truths * guesses), draws, generator)
    return flat.reshape(draws, groups, truths, guesses)


def _random_tables(table: NDArray[np.int64], draws: int, generator: np.random.Generator) -> Floats:
    """Return random tables with the margins of this one; rows and columns of zeros stay zero."""
    out = np.zeros((draws, *table.shape))
    rows, columns = np.flatnonzero(table.sum(axis=1)), np.flatnonzero(table.sum(axis=0))
    if len(rows) == 0:
        return out
    inner = table[np.ix_(rows, columns)]
    if len(rows) == 1 or len(columns) == 1:
        tables = np.broadcast_to(inner, (draws, *inner.shape))
    elif len(columns) == 2:
        tables = _two_columns(inner, draws, generator)
    else:
        margins = stats.random_table(inner.sum(axis=1), inner.sum(axis=0))
        tables = margins.rvs(size=draws, random_state=generator)
    out[np.ix_(np.arange(draws), rows, columns)] = tables
    return out


def _two_columns(table: NDArray[np.int64], draws: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Deal the first column's rows out to the groups, one group after the other: a hypergeometric draw each."""
    sizes = table.sum(axis=1)
    left = np.full(draws, table[:, 0].sum())
    rest = int(sizes.sum())
    tables = np.zeros((draws, *table.shape), dtype=np.int64)
    for index, size in enumerate(sizes):
        taken = generator.hypergeometric(left, rest - left, size) if index < len(sizes) - 1 else left
        tables[:, index, 0], tables[:, index, 1] = taken, size - taken
        left, rest = left - taken, rest - int(size)
    return tables


def weighted_null(
    weights: Floats, squares: Floats, within_class: bool, draws: int, generator: np.random.Generator
) -> Floats:
    """Return null tables of weighted rows: every group has the same shares, with the spread its weights give.

    A cell's sum of weights is drawn from the gamma distribution with its mean and the variance of its squared weights.
    """
    shared = (-1,) if within_class else (-1, -2)
    total = weights.sum(axis=0, keepdims=True)
    share = _divide(total, total.sum(axis=shared, keepdims=True))
    mean = weights.sum(axis=shared, keepdims=True) * share
    variance = squares.sum(axis=shared, keepdims=True) * share
    shape = _divide(mean**2, variance)
    gammas = generator.standard_gamma(np.maximum(shape, 1e-12), size=(draws, *mean.shape))
    return np.asarray(gammas * _divide(variance, mean), dtype=np.float64)


def permuted_weights(
    rows: Floats, weights: Floats, squares: Floats, within_class: bool, draws: int, generator: np.random.Generator
) -> Floats:
    """Return tables of weights with the rows of groups permuted; a row keeps its column and so about its weight.

    The weights of the rows that fall into a cell are drawn from the gamma distribution with the mean and the variance
    of the weights in that column, so equal weights give the tables of unweighted rows times the weight, and columns of
    one row each give a permutation of the weighted rows.
    """
    number = np.maximum(rows.sum(axis=0), 1.0)
    mean = weights.sum(axis=0) / number
    variance = np.maximum(squares.sum(axis=0) / number - mean**2, 0.0)
    varies = variance > 1e-9 * mean**2
    permuted = permuted_tables(rows, within_class, draws, generator)
    shape = permuted * _divide(mean**2, np.where(varies, variance, 0.0))
    spread = generator.standard_gamma(shape) * _divide(variance, mean)
    return np.asarray(np.where(varies, spread, permuted * mean), dtype=np.float64)


def clustered_null(
    observed: Floats, resampled: Floats, *, within_class: bool, stretched: Floats | None = None
) -> Floats:
    """Return tables of clusters drawn again, moved to where every group has the shares of all groups together.

    What a draw ``[draw, group, true, predicted]`` is off from its own group's shares stays: that is the chance that
    clusters bring. With few clusters it is stretched by a factor for each draw.
    """
    shared = (-1,) if within_class else (-1, -2)
    total = observed.sum(axis=0, keepdims=True)
    common = _divide(total, total.sum(axis=shared, keepdims=True))
    shares = _divide(observed, observed.sum(axis=shared, keepdims=True))
    sizes = resampled.sum(axis=shared, keepdims=True)
    off = resampled - sizes * shares
    moved = sizes * common + (off if stretched is None else off * stretched[:, None, None, None])
    return np.asarray(np.maximum(moved, 0.0), dtype=np.float64)


def _divide(numerator: Floats, denominator: Floats) -> Floats:
    return np.divide(numerator, denominator, out=np.zeros_like(numerator * denominator), where=denominator > 0)


def null_totals(
    cells: Floats, within_class: bool, draws: int, generator: np.random.Generator,
    weights: Floats | None = None, squares: Floats | None = None,
) -> tuple[Floats, Floats, Floats]:  # fmt: skip
    """Return the totals of each class in tables of permuted groups: predicted, truly so, and both.

    They are those of ``permuted_tables`` (of ``weighted_null`` with weights and their squares), of the shape
    ``[draw, group, class]``, from the cells that occur at all: the table of very many classes is mostly empty. No more
    than ``TABLE_BATCH`` numbers should be asked for at once.
    """
    shape = (draws, cells.shape[0], cells.shape[2])
    predicted, positives, hits = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    truths = np.arange(cells.shape[1])
    for chosen in ([truth] for truth in truths) if within_class else [truths]:
        part = cells[:, chosen]
        true, guess = np.nonzero(part.sum(axis=0))
        if not len(true):
            continue
        true_class = np.asarray(chosen)[true]
        columns = np.ascontiguousarray(part[:, true, guess])
        # Columns are taken some at a time only where the tables would not fit; else all draws are made at once.
        for start in range(0, draws, most := max(1, TABLE_BATCH // columns.size)):
            stop = min(start + most, draws)
            if weights is None or squares is None:
                tables = _random_tables(np.rint(columns).astype(np.int64), stop - start, generator)
            else:
                heavy, square = (table[:, chosen][:, true, guess] for table in (weights, squares))
                tables = weighted_null(heavy[:, None], square[:, None], False, stop - start, generator)[:, :, 0]
            _add_columns(predicted[start:stop], tables, guess)
            if len(truths) > 1:
                _add_columns(positives[start:stop], tables, true_class)
                same = true_class == guess
                hits[start:stop, :, guess[same]] += tables[..., same]
    return predicted, positives, hits


def _add_columns(totals: Floats, values: Floats, places: NDArray[np.int64]) -> None:
    """Add columns of drawn tables to the totals of the classes they belong to."""
    order = np.argsort(places, kind="stable")
    classes, starts = np.unique(places[order], return_index=True)
    totals[..., classes] += np.add.reduceat(values[..., order], starts, axis=-1)


Integers = NDArray[np.int64]
# From what is read of the groups' sums to a number that is large when they differ, one for each draw.
Read = TypeVar("Read")

# So many blocks at the most, as long as that leaves so many to the smallest group.
MOST_BLOCKS = 20_000
FEWEST_BLOCKS = 30
# So many blocks are moved at the most, in all permutations together, where 2,000 permutations leave a test open.
MOST_MOVED = 100_000_000
# So many numbers at the most are held at once.
BATCH = 4_000_000


def row_blocks(sums: Floats, group_codes: Integers, groups: int, generator: np.random.Generator) -> list[Floats]:
    """Return each group's block sums ``[block, sum]`` from those of rows; blocks of all groups are of one size."""
    people = np.bincount(group_codes[group_codes >= 0], minlength=groups)
    size = max(1, min(-(-int(people.sum()) // MOST_BLOCKS), int(people.min()) // FEWEST_BLOCKS))
    blocks = [_blocks(sums[group_codes == group], size, generator) for group in range(groups)]
    if sum(map(len, blocks)) <= MOST_BLOCKS:
        return blocks
    # A tiny group asks for small blocks; of the large groups a share of those tells enough.
    most = max(MOST_BLOCKS // groups, 10 * FEWEST_BLOCKS)
    return [block[:most] for block in blocks]


def _blocks(sums: Floats, size: int, generator: np.random.Generator) -> Floats:
    number = len(sums) // size
    chosen = sums[generator.permutation(len(sums))[: number * size]]
    return np.asarray(chosen.reshape(number, size, sums.shape[1]).sum(axis=1), dtype=np.float64)


def block_p(
    blocks: list[Floats], read: Callable[[Floats], Read], statistics: Mapping[str, Callable[[Read], Floats]],
    generator: np.random.Generator, draws: int, tests: int = 1,
) -> dict[str, float]:  # fmt: skip
    """Return the p-value of each statistic under permuted blocks; ``tests`` is how many the report has.

    ``read`` turns the sums of the groups ``[draw, group, sum]`` into what the statistics are computed from.

    A draw in which a number is undefined counts as one that is as far off: p is then too large, never too small.
    Sums taken in another order differ in their last digits, so a draw a hair below what was seen is equal to it.
    """
    observed_sums = read(np.stack([block.sum(axis=0) for block in blocks])[None])
    observed = {name: np.sqrt(statistic(observed_sums)) * (1 - 1e-9) for name, statistic in statistics.items()}

    def far_where_undefined(name: str, sample: Read) -> Floats:
        values = np.sqrt(statistics[name](sample))[:, None]
        return np.where(np.isnan(values), 1e300, values)

    needed = draws_needed(tests)
    moved = sum(map(len, blocks))
    samples = sequential_permutation(
        observed,
        lambda number, names: read(_permuted(blocks, number, generator)),
        far_where_undefined,
        most=min(needed, max(draws, MOST_MOVED // moved)), needed=needed,
        largest_batch=max(1, BATCH // (blocks[0].shape[1] * moved)), cheap=True,
    )  # fmt: skip
    return {name: tested[0].p for name, tested in samples.items()}


def _permuted(blocks: list[Floats], draws: int, generator: np.random.Generator) -> Floats:
    """Return the groups' sums ``[draw, group, sum]`` with blocks permuted; the largest group has what is left."""
    pool, sizes = np.concatenate(blocks), np.array([len(block) for block in blocks])
    largest = int(np.argmax(sizes))
    others = [group for group in range(len(blocks)) if group != largest]
    ends = np.cumsum(sizes[others])
    totals = np.zeros((draws, len(blocks), pool.shape[1]))
    for draw in range(draws):
        taken = pool[generator.permutation(len(pool))[: ends[-1]]]
        totals[draw, others] = np.add.reduceat(taken, np.r_[0, ends[:-1]], axis=0)
    totals[:, largest] = pool.sum(axis=0) - totals.sum(axis=1)
    return totals


def jackknife(
    sums: Floats, read: Callable[[Floats], Read], measures: Mapping[str, Callable[[Read], Floats]],
    generator: np.random.Generator,
) -> dict[str, float]:  # fmt: skip
    """Return the standard error of each number of one group, from the sums of its rows ``[row, sum]``.

    ``read`` turns sums ``[draw, 1, sum]`` into what the numbers are computed from.
    """
    blocks = _blocks(sums, max(1, -(-len(sums) // MOST_BLOCKS)), generator)
    if len(blocks) < 2:
        return dict.fromkeys(measures, float("nan"))
    without = read((blocks.sum(axis=0) - blocks)[:, None])
    return {name: _spread(measure(without)[:, 0]) for name, measure in measures.items()}


def _spread(left: Floats) -> float:
    """What rounding leaves of numbers that are all equal is 0."""
    spread = float(np.sqrt((len(left) - 1) * left.var()))
    return 0.0 if spread <= 1e-12 * np.abs(left).max() else spread
