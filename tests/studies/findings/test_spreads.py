"""Three spreads: the moments estimator finds variance components that are known, and says what it cannot tell."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equipoise.studies.analysis import SpreadNote, nested
from equipoise.studies.analysis._people import drawn_counts


def simulated(
    seeds: float, reruns: float, sizes: list[int], studies: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return values ``[run, study]`` with known components, and the seed of each run."""
    generator = np.random.default_rng(seed)
    parts = [0.8 + generator.normal(0, seeds, studies) + generator.normal(0, reruns, (size, studies)) for size in sizes]
    return np.concatenate(parts), np.repeat(np.arange(len(sizes)), sizes)


@pytest.mark.parametrize("sizes", [[4] * 6, [2, 3, 5, 8], [1, 1, 4, 6, 9]], ids=["balanced", "uneven", "some alone"])
def test_known_components_are_found_on_average(sizes: list[int]) -> None:
    # Seeds vary far more than reruns, so that no estimate is below 0 and cutting off there moves no mean.
    found = nested(*simulated(0.03, 0.004, sizes, 6_000))
    assert np.mean(found.reruns**2) == pytest.approx(0.004**2, rel=0.03)
    assert np.mean(found.seeds**2) == pytest.approx(0.03**2, rel=0.05)


def test_the_estimates_are_those_of_the_slow_sums() -> None:
    values, seeds = simulated(0.02, 0.01, [2, 3, 5], 4)
    found = nested(values, seeds)
    for place in range(4):
        groups = [[float(v) for v, s in zip(values[:, place], seeds, strict=True) if s == one] for one in range(3)]
        n, k = sum(map(len, groups)), len(groups)
        means = [sum(group) / len(group) for group in groups]
        whole = sum(map(sum, groups)) / n
        msw = sum((v - mean) ** 2 for group, mean in zip(groups, means, strict=True) for v in group) / (n - k)
        msb = sum(len(group) * (mean - whole) ** 2 for group, mean in zip(groups, means, strict=True)) / (k - 1)
        n0 = (n - sum(len(group) ** 2 for group in groups) / n) / (k - 1)
        assert found.reruns[place] == pytest.approx(math.sqrt(msw))
        assert found.seeds[place] == pytest.approx(math.sqrt(max((msb - msw) / n0, 0.0)))


def test_an_estimate_below_0_is_0_with_a_word() -> None:
    found = nested(*simulated(0.0, 0.01, [4] * 5, 200))
    low = [index for index, note in enumerate(found.notes) if note == SpreadNote.NEGATIVE]
    assert 60 < len(low) < 190, "without a seed effect it is below 0 more often than not"
    assert (found.seeds[low] == 0).all()
    assert all(found.seeds[place] > 0 for place in range(200) if place not in low)


def test_what_cannot_be_told_is_undefined_and_says_why() -> None:
    alone = nested(np.array([[0.5]]), np.array([0]))
    assert (alone.notes, math.isnan(alone.reruns[0]), math.isnan(alone.seeds[0])) == ((SpreadNote.TOO_FEW,), True, True)
    one_seed = nested(np.array([[0.5], [0.7]]), np.array([3, 3]))
    assert one_seed.notes == (SpreadNote.ONE_SEED,)
    assert one_seed.reruns[0] == pytest.approx(math.sqrt(0.02))
    assert math.isnan(one_seed.seeds[0])
    once_each = nested(np.array([[0.5], [0.7]]), np.array([0, 1]))
    assert once_each.notes == (SpreadNote.NO_RERUNS,)
    assert math.isnan(once_each.reruns[0])
    assert once_each.seeds[0] == pytest.approx(math.sqrt(0.02)), "the spread of seeds and reruns together"


def test_equal_runs_have_no_spread_and_undefined_ones_do_not_count() -> None:
    values = np.array([[0.1, 0.3], [0.1, np.nan], [0.1, 0.5], [0.1, 0.5]])
    found = nested(values, np.array([0, 0, 1, 1]))
    assert (found.reruns[0], found.seeds[0]) == (0.0, 0.0)
    assert found.reruns[1] == 0.0, "of the second seed alone, whose runs agree"
    assert found.seeds[1] > 0


def test_drawing_people_gives_the_spread_of_a_share() -> None:
    table = np.array([[[0.0, 0.0], [120.0, 280.0]], [[30.0, 70.0], [0.0, 0.0]]])
    drawn = drawn_counts(table[None], 20_000, np.random.default_rng(1))[0]
    assert (drawn.sum(axis=(-1, -2)) == [400, 100]).all(), "groups keep their sizes"
    shares = drawn[:, 0, 1, 1] / 400
    assert shares.mean() == pytest.approx(0.7, abs=0.002)
    assert shares.std() == pytest.approx(math.sqrt(0.7 * 0.3 / 400), rel=0.03)
