"""What chance does with units, held against enumeration, known distributions, and its own promises."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy import stats

from equipoise.stats import (
    Units,
    _cluster_permutation,
    compare_with_null,
    permuted_sums,
    share_interval,
    shares_of_groups,
    weighted_mean_shift,
)


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("values", [[1, 1, 0, 0, 0], [1, 0.25, 0, 0, 0], [0.1, 0.2, 0.3, 0.4, 0.5]])
@pytest.mark.parametrize("as_tables", [True, False])
def test_dealing_out_visits_every_order_equally_often(
    values: list[float], as_tables: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not as_tables:
        monkeypatch.setattr(_cluster_permutation, "MOST_VALUES", 0)
    weights = np.array([[1.0, -1.0], [1.0, 0.0], [0.0, 2.0], [-2.0, -1.0], [0.0, 0.0]])
    drawn = permuted_sums(np.array(values), weights, 6_000, generator())
    every = np.array([np.array(order) @ weights for order in itertools.permutations(values)])
    assert drawn.mean(axis=0) == pytest.approx(every.mean(axis=0), abs=0.06)
    for level in (0.2, 0.5, 0.8):
        edge = np.quantile(every, level, axis=0) + 1e-9
        assert (drawn <= edge).mean(axis=0) == pytest.approx((every <= edge).mean(axis=0), abs=0.03)


def test_people_who_are_all_distinct_are_tested_as_by_the_hypergeometric_distribution() -> None:
    women, people, changed, seen = 30, 100, 20, 11
    member = (np.arange(people) < women).astype(float)
    fraction = np.zeros(people)
    fraction[:seen] = fraction[women : women + changed - seen] = 1
    residual = ((member - women / people) / changed)[:, None]
    observed = fraction @ residual
    tested = compare_with_null(observed, permuted_sums(fraction, residual, 20_000, generator()))
    counts = np.arange(changed + 1)
    chances = stats.hypergeom(people, women, changed).pmf(counts)
    expected = chances[np.abs(counts - 6) >= seen - 6].sum()
    assert tested.p[0] == pytest.approx(expected, abs=0.003)


def test_many_units_are_dealt_out_by_the_normal_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = generator(4)
    values, weights = draw.normal(size=200), draw.random((200, 2))
    each = permuted_sums(values, weights, 4_000, generator())
    monkeypatch.setattr(_cluster_permutation, "MANY_UNITS", 100)
    limit = permuted_sums(values, weights, 4_000, generator())
    spread = math.sqrt(200**2 / 199 * values.var() * weights[:, 0].var())
    for drawn in (each, limit):
        assert drawn[:, 0].mean() == pytest.approx(values.mean() * weights[:, 0].sum(), abs=0.05 * spread)
        assert drawn[:, 0].std() == pytest.approx(spread, rel=0.05)


@pytest.mark.parametrize("kind", ["amounts alike in a unit", "groups alike in a unit", "both differ"])
def test_shares_are_those_of_rows_and_their_null_is_centred(kind: str) -> None:
    draw = generator(6)
    units = Units.of_codes(draw.integers(0, 40, 300))
    amounts, groups = draw.random(300), draw.integers(0, 3, 300)
    if kind == "amounts alike in a unit":
        amounts = draw.random(units.number)[units.codes]
    if kind == "groups alike in a unit":
        groups = draw.integers(0, 3, units.number)[units.codes]
    found = shares_of_groups(units, amounts, groups, 3, 2_000, draw)
    for group in range(3):
        own = groups == group
        assert found.observed[group] == pytest.approx(amounts[own].sum() / amounts.sum() - own.mean())
    assert found.null.mean(axis=0) == pytest.approx(np.zeros(3), abs=0.01)
    assert (found.null.std(axis=0) > 0).all()
    as_values = weighted_mean_shift(units, amounts, (groups == 1).astype(float), 2_000, draw)
    assert as_values.observed[0] == pytest.approx(found.observed[1])
    assert as_values.null.std() == pytest.approx(found.null[:, 1].std(), rel=0.1)


def test_what_differs_inside_clusters_is_not_taken_for_a_finding() -> None:
    """Households of a woman and a man: every cluster is half and half, so dealing out clusters would tell nothing."""
    draw, rejected = generator(8), 0
    units, groups = Units.of_codes(np.repeat(np.arange(60), 2)), np.tile([0, 1], 60)
    for _ in range(300):
        shares = shares_of_groups(units, (draw.random(120) < 0.2) + 1e-3, groups, 2, 200, draw)
        rejected += compare_with_null(shares.observed, shares.null).p[0] <= 0.05
    assert rejected <= 27


def test_clusters_that_are_nearly_alike_widen_the_null_as_clusters_do() -> None:
    """Families of ten that share a group and a change but for one member: the sample is 40 families, not 400 people."""
    draw, rejected = generator(9), 0
    units = Units.of_codes(np.repeat(np.arange(40), 10))
    for _ in range(200):
        groups = np.repeat(draw.integers(0, 2, 40), 10)
        amounts = np.repeat((draw.random(40) < 0.3) * 1.0, 10)
        groups[::10], amounts[::10] = 1 - groups[::10], 1 - amounts[::10]
        shares = shares_of_groups(units, amounts, groups, 2, 200, draw)
        rejected += compare_with_null(shares.observed, shares.null).p[0] <= 0.05
    # Rows dealt out by themselves reject 102 times; widened, 14 times.
    assert rejected <= 26


@settings(max_examples=80, deadline=None)
@given(
    some.lists(some.integers(-5, 5), min_size=19, max_size=120), some.integers(-6, 6),
)  # fmt: skip
def test_the_interval_leaves_out_0_exactly_where_the_test_rejects(null: list[int], observed: int) -> None:
    tested = compare_with_null(np.array([float(observed)]), np.array(null, dtype=float)[:, None])
    excludes = abs(observed) > tested.half[0]
    assert excludes == (tested.p[0] <= 0.05 + 1e-12)


def test_too_few_draws_give_a_p_and_no_interval_and_none_give_nothing() -> None:
    tested = compare_with_null(np.array([3.0]), np.zeros((5, 1)))
    assert tested.p[0] == pytest.approx(1 / 6)
    assert math.isnan(tested.half[0])
    assert math.isnan(compare_with_null(np.array([3.0]), np.empty((0, 1))).p[0])


@settings(max_examples=150, deadline=None)
@given(some.floats(0, 1), some.floats(0.01, 0.99), some.floats(0.001, 0.6))
def test_the_interval_of_a_share_stays_inside_and_agrees_with_the_test(
    share: float, people: float, half: float
) -> None:
    low, high = share_interval(share - people, people, half)
    assert -people - 1e-9 <= low <= share - people + 1e-9
    assert share - people - 1e-9 <= high <= 1 - people + 1e-9
    if abs(abs(share - people) - half) > 1e-6:
        assert (low > 0 or high < 0) == (abs(share - people) > half)


def test_with_the_half_width_of_a_plain_sample_it_is_wilsons_interval() -> None:
    z, population, share, size = 1.96, 0.3, 0.45, 80
    half = z * math.sqrt(population * (1 - population) / size)
    low, high = share_interval(share - population, population, half)
    centre, spread = share + z**2 / (2 * size), z * math.sqrt(share * (1 - share) / size + z**2 / (4 * size**2))
    assert low + population == pytest.approx((centre - spread) / (1 + z**2 / size))
    assert high + population == pytest.approx((centre + spread) / (1 + z**2 / size))
