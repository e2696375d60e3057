"""Did a rate change? Held against statsmodels' formulas written out, root-finding by scipy, and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from equipoise.stats import (
    PAIR_CASES,
    pair_estimate,
    pair_interval,
    pair_p,
    pair_statistic,
    sample_estimate,
)

GAINED, LOST, BOTH, NEITHER = (PAIR_CASES.index((1, 1, *case)) for case in ((1, 0), (0, 1), (1, 1), (0, 0)))
DRAWS = 4_000

pairs = st.tuples(st.integers(0, 60), st.integers(0, 60), st.integers(0, 300)).filter(lambda t: sum(t) > 0)


def table_of(drawn: np.ndarray) -> np.ndarray:
    """Put (gained, lost, neither) into tables of pairs."""
    table = np.zeros((len(drawn), len(PAIR_CASES)))
    table[:, GAINED], table[:, LOST], table[:, NEITHER] = drawn.T
    return table


@given(pairs)
def test_without_a_hypothesis_the_statistic_is_that_of_mcnemar(counts: tuple[int, int, int]) -> None:
    b, c, rest = counts
    expected = (b - c) / math.sqrt(b + c) if b + c else 0.0
    assert pair_statistic(b, c, b + c + rest) == pytest.approx(expected)
    p = float(pair_p(b, c, b + c + rest))
    assert p == pytest.approx(float(stats.chi2.sf(expected**2, 1)) if b != c else 1.0)


def tango(b: int, c: int, n: int, d: float) -> float:
    """The score statistic with the restricted estimate found by maximising the likelihood."""

    def log_likelihood(q: float) -> float:
        # gained: q + d, lost: q, the rest: 1 - 2q - d
        parts = ((b, q + d), (c, q), (n - b - c, 1 - 2 * q - d))
        return -sum(count * math.log(max(share, 1e-300)) for count, share in parts if count)

    low, high = max(0.0, -d), (1 - d) / 2
    q = optimize.minimize_scalar(log_likelihood, bounds=(low, high), method="bounded", options={"xatol": 1e-12}).x
    return (b - c - n * d) / math.sqrt(n * (2 * q + d * (1 - d)))


@pytest.mark.parametrize(("b", "c", "n"), [(9, 3, 60), (20, 31, 200), (4, 4, 40), (50, 1, 90)])
def test_the_statistic_and_the_interval_are_those_of_the_restricted_likelihood(b: int, c: int, n: int) -> None:
    for d in (-0.2, -0.03, 0.01, 0.15):
        assert float(pair_statistic(b, c, n, d)) == pytest.approx(tango(b, c, n, d), rel=1e-5)
    low, high = (float(edge) for edge in pair_interval(b, c, n))
    z = stats.norm.ppf(0.975)
    estimate = (b - c) / n
    assert low == pytest.approx(optimize.brentq(lambda d: tango(b, c, n, d) - z, -0.99, estimate), abs=1e-6)
    assert high == pytest.approx(optimize.brentq(lambda d: tango(b, c, n, d) + z, estimate, 0.99), abs=1e-6)


@given(pairs, st.floats(0.5, 0.999))
def test_the_interval_excludes_0_exactly_when_the_test_rejects(counts: tuple[int, int, int], level: float) -> None:
    b, c, rest = counts
    n = b + c + rest
    low, high = (float(edge) for edge in pair_interval(b, c, n, level))
    p = float(pair_p(b, c, n))
    assert -1 <= low <= (b - c) / n + 1e-12
    assert (b - c) / n - 1e-12 <= high <= 1
    if abs(p - (1 - level)) > 1e-6:
        assert (low > 0 or high < 0) == (p < 1 - level)
    mirrored = pair_interval(c, b, n, level)
    assert (float(mirrored[0]), float(mirrored[1])) == pytest.approx((-high, -low), abs=1e-9)


def test_nobody_has_no_change_and_no_change_is_certain_of_nothing() -> None:
    assert np.isnan(pair_p(0, 0, 0))
    assert np.isnan(pair_interval(0, 0, 0)).all()
    low, high = (float(edge) for edge in pair_interval(0, 0, 50))
    assert low == pytest.approx(-high)
    assert 0.05 < high < 0.1
    assert pair_p(0, 0, 50) == 1.0


# Gained and lost shares, people: at least 100 people, and 10 expected to change.
ORDINARY = [(100, 0.1, 0.1), (200, 0.05, 0.1), (100, 0.2, 0.05), (500, 0.02, 0.03), (1_000, 0.01, 0.01)]


@pytest.mark.parametrize(("n", "gained", "lost"), ORDINARY)
def test_tango_covers_as_it_promises(n: int, gained: float, lost: float) -> None:
    drawn = np.random.default_rng(n).multinomial(n, [gained, lost, 1 - gained - lost], DRAWS)
    low, high = pair_interval(drawn[:, 0], drawn[:, 1], n)
    covered = np.mean((low <= gained - lost) & (gained - lost <= high))
    assert 0.93 <= covered <= 0.97


@pytest.mark.parametrize(("n", "gained", "lost"), ORDINARY)
def test_the_change_of_a_difference_between_pairs_covers_as_it_promises(n: int, gained: float, lost: float) -> None:
    generator = np.random.default_rng([n, 1])
    here = table_of(generator.multinomial(n, [gained, lost, 1 - gained - lost], DRAWS))
    there = table_of(generator.multinomial(4 * n, [0.05, 0.04, 0.91], DRAWS))
    low, high = pair_estimate(here).minus(pair_estimate(there)).interval(0.95)
    true = gained - lost - 0.01
    assert 0.93 <= np.mean((low <= true) & (true <= high)) <= 0.97


@pytest.mark.parametrize(
    ("people", "rates"),
    [
        ((150, 150, 900, 900), (0.3, 0.3, 0.3, 0.3)), ((100, 100, 1_000, 1_000), (0.1, 0.1, 0.2, 0.2)),
        ((120, 400, 120, 400), (0.1, 0.2, 0.1, 0.25)), ((200, 300, 200, 300), (0.05, 0.1, 0.5, 0.55)),
    ],
)  # fmt: skip
def test_the_change_of_a_difference_between_samples_covers_as_it_promises(
    people: tuple[int, ...], rates: tuple[float, ...]
) -> None:
    generator = np.random.default_rng(people)
    a, b, c, d = (generator.binomial(n, p, DRAWS) for n, p in zip(people, rates, strict=True))
    found = sample_estimate(a, people[0], b, people[1]).minus(sample_estimate(c, people[2], d, people[3]))
    low, high = found.interval(0.95)
    true = rates[0] - rates[1] - rates[2] + rates[3]
    assert 0.93 <= np.mean((low <= true) & (true <= high)) <= 0.97
    assert np.array_equal(found.p < 0.05, (low > 0) | (high < 0))


def predictive_tables(n: int, flip: float, seed: int) -> tuple[np.ndarray, float]:
    """Tables of a predictive value of two models that disagree in some rows, and its true change."""
    shares = np.zeros((2, 2, 2))  # truth, after, before
    for truth in (0, 1):
        for before in (0, 1):
            said = (0.7 if truth else 0.2) if before else (0.3 if truth else 0.8)
            other = flip * (1.5 if (truth, before) == (0, 1) else 1.0)
            for after in (0, 1):
                shares[truth, after, before] = (
                    (0.4 if truth else 0.6) * said * (1 - other if after == before else other)
                )
    drawn = np.random.default_rng(seed).multinomial(n, shares.ravel(), DRAWS).reshape(-1, 2, 2, 2)
    table = np.zeros((DRAWS, len(PAIR_CASES)))
    for truth, after, before in np.ndindex(2, 2, 2):
        table[:, PAIR_CASES.index((after, before, after * truth, before * truth))] += drawn[:, truth, after, before]
    true = shares[1, 1].sum() / shares[:, 1].sum() - shares[1, :, 1].sum() / shares[:, :, 1].sum()
    return table, true


@pytest.mark.parametrize(("n", "flip"), [(400, 0.1), (2_000, 0.02), (300, 0.3)])
def test_the_change_of_a_rate_whose_denominator_changes_covers_as_it_promises(n: int, flip: float) -> None:
    table, true = predictive_tables(n, flip, n)
    low, high = pair_estimate(table).interval(0.95)
    assert 0.93 <= np.mean((low <= true) & (true <= high)) <= 0.97


def test_the_spread_of_a_pair_is_that_of_drawing_rows_again() -> None:
    table, _ = predictive_tables(600, 0.1, 3)
    one = table[0]
    generator = np.random.default_rng(0)
    again = generator.multinomial(600, one / one.sum(), 4_000).astype(float)
    centres = pair_estimate(again).centre
    assert float(pair_estimate(one).spread) == pytest.approx(float(np.std(centres)), rel=0.06)


def test_nothing_that_changed_has_an_interval_around_0_all_the_same() -> None:
    table = np.zeros(len(PAIR_CASES))
    table[BOTH], table[NEITHER] = 30, 70
    found = pair_estimate(table)
    low, high = found.interval(0.95)
    assert float(found.p) == 1.0
    assert low < 0 < high
