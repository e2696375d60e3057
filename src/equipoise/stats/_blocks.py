"""Sums of rows against chance: rows are taken in blocks, and blocks are allocated to the groups anew.

A block is a few rows of one group drawn at random; blocks of all groups are of one size, so that where groups do not
differ any allocation is as likely as the one seen. Standard errors leave out one block after the other (the jackknife).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from equipoise.stats._permutation import draws_needed, sequential_permutation

Floats = NDArray[np.float64]
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


def row_blocks(sums: Floats, places: Integers, groups: int, generator: np.random.Generator) -> list[Floats]:
    """Return each group's block sums ``[block, sum]`` from those of rows; blocks of all groups are of one size."""
    people = np.bincount(places[places >= 0], minlength=groups)
    size = max(1, min(-(-int(people.sum()) // MOST_BLOCKS), int(people.min()) // FEWEST_BLOCKS))
    blocks = [_blocks(sums[places == group], size, generator) for group in range(groups)]
    if sum(map(len, blocks)) <= MOST_BLOCKS:
        return blocks
    # A tiny group asks for small blocks; of the large groups a share of those tells enough.
    most = max(MOST_BLOCKS // groups, 10 * FEWEST_BLOCKS)
    return [own[:most] for own in blocks]


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
    seen = read(np.stack([own.sum(axis=0) for own in blocks])[None])
    observed = {name: np.sqrt(statistic(seen)) * (1 - 1e-9) for name, statistic in statistics.items()}

    def far_where_undefined(name: str, drawn: Read) -> Floats:
        values = np.sqrt(statistics[name](drawn))[:, None]
        return np.where(np.isnan(values), 1e300, values)

    needed = draws_needed(tests)
    moved = sum(map(len, blocks))
    found = sequential_permutation(
        observed,
        lambda number, names: read(_permuted(blocks, number, generator)),
        far_where_undefined,
        most=min(needed, max(draws, MOST_MOVED // moved)), needed=needed,
        largest_batch=max(1, BATCH // (blocks[0].shape[1] * moved)), cheap=True,
    )  # fmt: skip
    return {name: tested[0].p for name, tested in found.items()}


def _permuted(blocks: list[Floats], draws: int, generator: np.random.Generator) -> Floats:
    """Return the groups' sums ``[draw, group, sum]`` with blocks permuted; the largest group has what is left."""
    pool, sizes = np.concatenate(blocks), np.array([len(own) for own in blocks])
    largest = int(np.argmax(sizes))
    others = [group for group in range(len(blocks)) if group != largest]
    ends = np.cumsum(sizes[others])
    made = np.zeros((draws, len(blocks), pool.shape[1]))
    for draw in range(draws):
        taken = pool[generator.permutation(len(pool))[: ends[-1]]]
        made[draw, others] = np.add.reduceat(taken, np.r_[0, ends[:-1]], axis=0)
    made[:, largest] = pool.sum(axis=0) - made.sum(axis=1)
    return made


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
