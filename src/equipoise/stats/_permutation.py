"""The null engine: permutation tests that stop when they know enough (Besag and Clifford 1991).

Whoever tests against permuted groups passes what was observed, a function that permutes and a function that computes
the statistic of what was permuted; ``sequential_permutation`` does the rest.

Null values are drawn until h of them were at least as extreme as what was observed. Where that took l draws,

    p = h / l;

where it does not happen within n draws fixed beforehand, of which g were as extreme, p = (1 + g) / (1 + n) as ever.
Where nothing differs, P(p <= a) <= a for every a, although the test chose when to stop. What chance gives easily costs
few draws, and what is rare gets them all.

**The number of draws.** With m tests and a correction the smallest p of a test has to be able to reach threshold / m.
``draws_needed`` is h m / threshold: a p at threshold / m then still rests on h extreme draws, so the smallest p that so
many draws can give (the floor) is h times smaller than what decides. It is fixed before anything is drawn: adding draws
until a decision is reached would be peeking. Where a cap keeps a test from the draws it needs, the test is limited.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.foundation import Floats

Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]
Sample = TypeVar("Sample")

# So many extreme draws tell p to about a fifth of itself (1 / sqrt(20)).
ENOUGH_EXTREME_DRAWS = 20
# Sums in another order differ by this much.
ROUNDING = 1e-12
# The first batch settles most tests of nothing; each further one is twice as large, up to the largest. Where draws are
# cheap, the first two settle nearly all of them.
FIRST_BATCH, LARGEST_BATCH = 128, 4_096
FIRST_CHEAP, LARGEST_CHEAP = 250, 4_000
# What lies this many standard deviations above the mean of so many draws is not drawn any further: of the absolute
# value of a normal number that is 5.3, which chance exceeds once in ten million times.
OBVIOUS, LOOKED_AT = 7.5, 1_000


def draws_needed(tests: int, threshold: float = 0.05, enough: int = ENOUGH_EXTREME_DRAWS) -> int:
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


def draw_limits(tests: int, cap: int) -> tuple[int, int]:
    """Return at how many draws tests stop, and how many they need: the first is smaller where the cap limits them.

    Examples
    --------
    >>> draw_limits(6, 2_000), draw_limits(3, 2_000)
    ((2000, 2400), (1200, 1200))
    """
    needed = draws_needed(tests)
    return min(needed, cap), needed


def limited_by_draws(p: ArrayLike, draws: int, tests: int) -> Flags:
    """Tell of a p from all of so many draws whether more of them could have made it smaller.

    That is so where the tests of the report need more draws, and fewer than ``ENOUGH_EXTREME_DRAWS`` of these were
    extreme.

    Examples
    --------
    >>> limited_by_draws([0.004, 0.5], draws=999, tests=10).tolist()
    [True, False]
    """
    rank = np.asarray(p, dtype=np.float64) * (draws + 1)
    return np.asarray((draws < draws_needed(tests)) & (rank < ENOUGH_EXTREME_DRAWS + 1), dtype=np.bool_)


def _p_of_counts(extreme: Counts, draws: Counts) -> Floats:
    """Return (1 + extreme) / (1 + drawn): what was observed counts as one of the draws."""
    return np.asarray((1.0 + extreme) / (1.0 + draws), dtype=np.float64)


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

    def __init__(
        self, observed: ArrayLike, signed: bool | ArrayLike = False, enough: int | None = ENOUGH_EXTREME_DRAWS
    ) -> None:
        self.observed: Floats = np.atleast_1d(np.asarray(observed, dtype=np.float64))
        self.signed: Flags = np.broadcast_to(np.asarray(signed, dtype=np.bool_), self.observed.shape)
        self.enough = enough
        # Sides: as large, and as small.
        self.extreme: Counts = np.zeros((2, *self.observed.shape), dtype=np.int64)
        self.drawn_by_side: Counts = np.zeros((2, *self.observed.shape), dtype=np.int64)

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
        counted_draws = (~np.isnan(null)).sum(axis=0)
        if self.enough is not None:
            left = self.enough - self.extreme[side, at]
            # The draw that makes it enough is the last that counts.
            full = np.flatnonzero(number >= left)
            if len(full):
                over = np.cumsum(extreme[:, full], axis=0) >= np.maximum(left[full], 1)
                last = np.where(left[full] > 0, np.argmax(over, axis=0) + 1, 0)
                counted = np.arange(len(null))[:, None] < last
                counted_draws[full] = (~np.isnan(null[:, full]) & counted).sum(axis=0)
                number[full] = np.maximum(left[full], 0)
        is_defined = ~np.isnan(self.observed[at])
        self.extreme[side, at] += number * is_defined
        self.drawn_by_side[side, at] += counted_draws * is_defined

    @property
    def p(self) -> Floats:
        """The p-values by what was drawn so far; NaN where nothing was observed."""
        plain = _p_of_counts(self.extreme, self.drawn_by_side)
        if self.enough is not None:
            stopped = self.extreme >= self.enough
            plain = np.where(stopped, self.extreme / np.maximum(self.drawn_by_side, 1), plain)
        p = np.where(self.signed, np.minimum(1.0, 2.0 * plain.min(axis=0)), plain[0])
        return np.where(np.isnan(self.observed), np.nan, p)

    @property
    def draws(self) -> Counts:
        """How many draws each p rests on."""
        return np.asarray(np.where(self.signed, self.drawn_by_side.max(axis=0), self.drawn_by_side[0]), dtype=np.int64)


def permutation_p(observed: ArrayLike, null: ArrayLike) -> Floats:
    """Return the p of numbers that are extreme where they are large, from null values that are all there.

    Parameters
    ----------
    observed : array of shape (k,), or a number
        What was observed; of an undefined number (NaN) p is NaN.
    null : array of shape (draws, k), or (draws,)
        Null values; undefined ones (NaN) do not count as draws.

    Returns
    -------
    array of shape (k,), or ()

    Examples
    --------
    >>> float(permutation_p(0.3, [0.1, 0.2, 0.3]))
    0.5
    """
    return np.asarray(_all_draws(observed, null).p.reshape(np.shape(observed)), dtype=np.float64)


def rank_among(observed: float, null: ArrayLike) -> int:
    """Return the place of a number among null values, the largest first: 1 where none of them is as large.

    Examples
    --------
    >>> rank_among(0.3, [0.1, 0.2, 0.3])
    2
    """
    return 1 + int(_all_draws(observed, null).extreme[0, 0])


def _all_draws(observed: ArrayLike, null: ArrayLike) -> SequentialTests:
    tests = SequentialTests(observed, enough=None)
    tests.add(np.asarray(null, dtype=np.float64).reshape(-1, len(tests)))
    return tests


@dataclass(frozen=True, eq=False)
class NullSample:
    """The p of one test, the draws it rests on, whether a cap limits it, and its null values."""

    p: float
    draws: int
    limited: bool
    values: Floats = field(repr=False)

    def quantile(self, alpha: float) -> float:
        """Return the value that the null exceeds with this probability; NaN where too few draws tell it."""
        defined = self.values[~np.isnan(self.values)]
        if alpha * len(defined) < 10:
            return float("nan")
        return float(np.quantile(defined, 1 - alpha, method="higher"))


def draw_until_settled(
    open_tests: Callable[[], int], draw: Callable[[int], None], *, most: int, first: int, largest: int | None = None,
    work: int | None = None,
) -> int:  # fmt: skip
    """Draw in batches, each twice as large as the one before, until no test is open; return how many draws were made.

    Parameters
    ----------
    open_tests : callable
        How many tests are open.
    draw : callable
        ``draw(n)`` makes n more draws and adds them to the tests.
    most : int
        How many draws are made at the most.
    first, largest : int
        The first batch, and the largest.
    work : int, optional
        How many values are drawn at the most over all open tests. How far a test gets then depends on how many others
        are open, never on how extreme its own draws were.
    """
    drawn, spent, batch = 0, 0, first
    while drawn < most and (work is None or spent < work) and (still := open_tests()):
        number = min(batch, most - drawn)
        number = number if largest is None else min(number, largest)
        number = number if work is None else min(number, max(first, (work - spent) // still))
        draw(number)
        drawn, spent, batch = drawn + number, spent + number * still, 2 * batch
    return drawn


def sequential_permutation(
    observed: Mapping[str, ArrayLike],
    permute: Callable[[int, Sequence[str]], Sample],
    statistic: Callable[[str, Sample], ArrayLike],
    *,
    most: int,
    needed: int | None = None,
    signed: Collection[str] = (),
    enough: int | None = ENOUGH_EXTREME_DRAWS,
    largest_batch: int = LARGEST_BATCH,
    cheap: bool = False,
) -> dict[str, list[NullSample]]:
    """Test named statistics, each of one or several numbers, against draws that they share.

    Draws are made in batches, each twice as large as the one before, until every test is settled.

    Parameters
    ----------
    observed : mapping of name to array of shape (k,)
        What was observed; NaN is not tested.
    permute : callable
        ``permute(n, names)`` makes the next n draws: a tally whose groups were permuted n times, for the statistics
        that are still open. It owns its random generator, and how many draws are asked for depends on nothing but what
        was drawn, so the result is determined by the generator's state.
    statistic : callable
        ``statistic(name, drawn)`` returns the null values of a statistic, an array of shape (n, k).
    most : int
        The number of draws at which the tests stop, fixed beforehand: ``draws_needed(tests)``, or a cap below it.
    needed : int, optional
        What ``most`` would be without a cap; ``most`` where it is not given.
    signed : collection of names
        The statistics that can differ in both directions; the others are extreme where they are large.
    enough : int or None
        How many extreme draws settle a test; with None every test takes ``most`` draws.
    largest_batch : int
        How many draws are made at once at the most.
    cheap : bool
        Whether many draws are made in one go, as of tables. There may be very many then, so what lies 7.5 standard
        deviations above the mean of the first 1,000 gets the smallest p that ``most`` can give, without making them.

    Returns
    -------
    dict of name to list of NullSample
        ``p``, ``draws``, ``limited`` and null ``values`` of each of the k numbers. ``limited`` is true where ``most``
        is a cap, and the test was not settled within it.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> found = sequential_permutation(
    ...     {"gap": [0.1, 5.0]},
    ...     lambda n, names: generator.normal(size=(n, 2)),
    ...     lambda name, drawn: drawn,
    ...     most=draws_needed(2),
    ... )
    >>> [(test.draws, round(test.p, 4), test.limited) for test in found["gap"]]
    [(41, 0.4878, False), (800, 0.0012, False)]
    """
    tests = {name: SequentialTests(values, name in signed, enough) for name, values in observed.items()}
    null: dict[str, list[Floats]] = {name: [] for name in tests}
    obvious = {name: np.zeros(len(test), dtype=np.bool_) for name, test in tests.items()}
    draws_made, looked = 0, not cheap

    names: list[str] = []

    def open_tests() -> int:
        names[:] = [name for name, test in tests.items() if not (test.settled | obvious[name]).all()]
        return len(names)

    def draw(number: int) -> None:
        nonlocal draws_made, looked
        permuted = permute(number, names)
        draws_made += number
        for name in names:
            test = tests[name]
            null[name].append(np.asarray(statistic(name, permuted), dtype=np.float64))
            test.add(null[name][-1])
            if draws_made >= LOOKED_AT and not looked:
                obvious[name] = _is_far(test.observed, np.concatenate(null[name])) & (test.extreme[0] == 0)
        looked = looked or draws_made >= LOOKED_AT

    first, largest = (FIRST_CHEAP, min(largest_batch, LARGEST_CHEAP)) if cheap else (FIRST_BATCH, largest_batch)
    draw_until_settled(open_tests, draw, most=most, first=first, largest=largest)
    capped = needed is not None and most < needed
    smallest, samples = _p_of_counts(np.zeros(1, dtype=np.int64), np.array([most])), {}
    for name, test in tests.items():
        sample = np.concatenate(null[name]) if null[name] else np.empty((0, len(test)))
        p = np.where(obvious[name] & (test.extreme[0] == 0), smallest, test.p).tolist()
        limited = (capped & ~test.settled).tolist()
        samples[name] = [
            NullSample(*outcome, sample[:, index])
            for index, outcome in enumerate(zip(p, test.draws.tolist(), limited, strict=True))
        ]
    return samples


def _is_far(observed: Floats, null: Floats) -> Flags:
    """Tell which numbers lie far above all that was drawn; undefined draws do not count."""
    is_defined = ~np.isnan(null)
    number = np.maximum(is_defined.sum(axis=0), 1)
    mean = np.where(is_defined, null, 0.0).sum(axis=0) / number
    spread = np.sqrt(np.where(is_defined, (null - mean) ** 2, 0.0).sum(axis=0) / number)
    with np.errstate(invalid="ignore"):
        return np.asarray(is_defined.any(axis=0) & (observed > mean + OBVIOUS * spread), dtype=np.bool_)
