"""Permutation tests that stop when they know enough (Besag and Clifford 1991).

Null values are drawn until h of them were at least as extreme as what was observed. Where that took l draws,

    p = h / l;

where it does not happen within n draws fixed beforehand, of which g were as extreme, p = (1 + g) / (1 + n) as ever.
Where nothing differs, P(p <= a) <= a for every a, although the test chose when to stop. What chance gives easily costs
few draws, and what is rare gets them all.

**The number of draws.** With m tests and a correction the smallest p of a test has to be able to reach threshold / m.
``draws_needed`` is h m / threshold: a p at threshold / m then still rests on h extreme draws, so the smallest p that so
many draws can give (the floor) is h times smaller than what decides. It is fixed before anything is drawn: adding draws
until a decision is reached would be peeking.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]

# So many extreme draws tell p to about a fifth of itself (1 / sqrt(20)).
ENOUGH = 20
# Sums in another order differ by this much.
ROUNDING = 1e-12
# The first batch settles most tests of nothing; each further one doubles what was drawn, up to the last.
FIRST_BATCH, LARGEST_BATCH = 128, 4_096


def draws_needed(tests: int, threshold: float = 0.05, enough: int = ENOUGH) -> int:
    """Return how many draws the tests of one report need, so that the smallest possible p never decides.

    Parameters
    ----------
    tests : int
        How many tests are corrected together.
    threshold : float
        The largest corrected p of a finding.
    enough : int
        How many extreme draws settle a test.

    Returns
    -------
    int
        enough x tests / threshold, rounded up.

    Examples
    --------
    >>> draws_needed(1), draws_needed(36)
    (400, 14400)
    """
    return math.ceil(enough * max(tests, 1) / threshold - 1e-9)


def most_draws(tests: int, cap: int) -> tuple[int, int]:
    """Return at how many draws tests stop, and how many they need: the first is smaller where the cap limits them.

    Examples
    --------
    >>> most_draws(6, 2_000), most_draws(3, 2_000)
    ((2000, 2400), (1200, 1200))
    """
    needed = draws_needed(tests)
    return min(needed, cap), needed


class SequentialTests:
    """Permutation tests of k numbers at once, each of which stops at its own ``enough`` extreme draws.

    Parameters
    ----------
    observed : array of shape (k,)
        What was observed; a number that is undefined (NaN) is not tested.
    signed : bool or array of shape (k,)
        Whether a number can differ in both directions: p is then twice the smaller p of the two sides.
        A number that is not signed is extreme where it is large.
    enough : int or None
        How many extreme draws settle a side; with None every draw is taken.

    Examples
    --------
    >>> tests = SequentialTests([1.0, 9.0], enough=2)
    >>> tests.add([[0.0, 0.0], [2.0, 1.0], [1.0, 0.5], [3.0, 2.0]])
    >>> tests.p.round(3).tolist(), tests.draws.tolist(), tests.settled.tolist()
    ([0.667, 0.2], [3, 4], [True, False])
    """

    def __init__(self, observed: ArrayLike, signed: bool | ArrayLike = False, enough: int | None = ENOUGH) -> None:
        self.observed: Floats = np.atleast_1d(np.asarray(observed, dtype=np.float64))
        self.signed: Flags = np.broadcast_to(np.asarray(signed, dtype=np.bool_), self.observed.shape)
        self.enough = enough
        # Sides: as large, and as small.
        self.extreme: Counts = np.zeros((2, *self.observed.shape), dtype=np.int64)
        self.drawn: Counts = np.zeros((2, *self.observed.shape), dtype=np.int64)

    def __len__(self) -> int:
        return len(self.observed)

    @property
    def settled(self) -> Flags:
        """Which tests would not change by further draws; an undefined number has nothing to settle."""
        if self.enough is None:
            return np.isnan(self.observed)
        sides = self.extreme >= self.enough
        return np.asarray(np.isnan(self.observed) | (sides[0] & (sides[1] | ~self.signed)), dtype=np.bool_)

    def add(self, values: ArrayLike, of: NDArray[np.intp] | None = None) -> None:
        """Take more null values ``[draw, test]``, of all tests or of those named; undefined ones (NaN) do not count."""
        null = np.asarray(values, dtype=np.float64)
        at = np.arange(len(self)) if of is None else of
        observed = self.observed[at]
        slack = ROUNDING * np.maximum(1.0, np.abs(observed))
        self._count(0, at, null >= observed - slack, null)
        if self.signed[at].any():
            self._count(1, at, null <= observed + slack, null)

    def _count(self, side: int, at: NDArray[np.intp], extreme: Flags, null: Floats) -> None:
        """Count draws of one side; comparisons with what is undefined are false."""
        number = extreme.sum(axis=0)
        drawn = (~np.isnan(null)).sum(axis=0)
        if self.enough is not None:
            left = self.enough - self.extreme[side, at]
            # The draw that makes it enough is the last that counts.
            full = np.flatnonzero(number >= left)
            if len(full):
                over = np.cumsum(extreme[:, full], axis=0) >= np.maximum(left[full], 1)
                last = np.where(left[full] > 0, np.argmax(over, axis=0) + 1, 0)
                counted = np.arange(len(null))[:, None] < last
                drawn[full] = (~np.isnan(null[:, full]) & counted).sum(axis=0)
                number[full] = np.maximum(left[full], 0)
        known = ~np.isnan(self.observed[at])
        self.extreme[side, at] += number * known
        self.drawn[side, at] += drawn * known

    @property
    def p(self) -> Floats:
        """The p-values by what was drawn so far; NaN where nothing was observed."""
        plain = (1.0 + self.extreme) / (1.0 + self.drawn)
        if self.enough is not None:
            stopped = self.extreme >= self.enough
            plain = np.where(stopped, self.extreme / np.maximum(self.drawn, 1), plain)
        p = np.where(self.signed, np.minimum(1.0, 2.0 * plain.min(axis=0)), plain[0])
        return np.where(np.isnan(self.observed), np.nan, p)

    @property
    def draws(self) -> Counts:
        """How many draws each p rests on."""
        return np.asarray(np.where(self.signed, self.drawn.max(axis=0), self.drawn[0]), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class SequentialResult:
    """The p of each test, how many draws it rests on, and whether fewer draws than needed limit it."""

    p: Floats
    draws: Counts
    limited: Flags


def sequential_permutation(
    observed: ArrayLike,
    sampler: Callable[[int], ArrayLike],
    *,
    most: int,
    needed: int | None = None,
    signed: bool | ArrayLike = False,
    enough: int | None = ENOUGH,
    largest_batch: int = LARGEST_BATCH,
) -> SequentialResult:
    """Test k numbers against null values that are drawn in batches until every test is settled.

    Parameters
    ----------
    observed : array of shape (k,)
        What was observed; NaN is not tested.
    sampler : callable
        ``sampler(n)`` returns the next n null values of every number, an array of shape (n, k). It owns its random
        generator, and how many are asked for depends on nothing but what it returned, so the result is determined by
        the generator's state.
    most : int
        The number of draws at which the tests stop, fixed beforehand: ``draws_needed(tests)``, or a cap below it.
    needed : int, optional
        What ``most`` would be without a cap; ``most`` where it is not given.
    signed : bool or array of shape (k,)
        Whether a number can differ in both directions.
    enough : int or None
        How many extreme draws settle a test.
    largest_batch : int
        How many draws are asked for at once at the most.

    Returns
    -------
    SequentialResult
        ``p``, ``draws`` and ``limited``, arrays of shape (k,). ``limited`` is true where ``most`` is a cap, and the
        test was not settled within it.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> found = sequential_permutation([0.1, 5.0], lambda n: generator.normal(size=(n, 2)), most=draws_needed(2))
    >>> found.draws.tolist(), found.p.round(4).tolist(), found.limited.tolist()
    ([41, 800], [0.4878, 0.0012], [False, False])
    """
    tests = SequentialTests(observed, signed, enough)
    asked, batch = 0, FIRST_BATCH
    while asked < most and not tests.settled.all():
        number = min(batch, most - asked, largest_batch)
        tests.add(sampler(number))
        asked, batch = asked + number, min(2 * batch, largest_batch)
    capped = needed is not None and asked >= most and most < needed
    return SequentialResult(tests.p, tests.draws, ~tests.settled if capped else np.zeros(len(tests), dtype=np.bool_))
