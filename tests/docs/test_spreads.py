"""The script that compares spreads for docs/papers/004.md, against slow and separate computations."""

from __future__ import annotations

from itertools import combinations
from types import ModuleType

import numpy as np
import pytest
from scipy import stats

from equipoise.studies.analysis import nested
from helpers.paper_scripts import paper_script


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return paper_script("004", "spreads")


def runs(seed: int, number: int, share: float = 0.2, rows: int = 400) -> np.ndarray:
    """Predictions of runs that differ from one another here and there; two rows belong to each picture."""
    generator = np.random.default_rng(seed)
    said = np.tile(np.arange(rows) % 3, (number, 1))
    return np.where(generator.random(said.shape) < share, generator.integers(0, 3, said.shape), said)


def test_churn_is_the_share_of_rows_that_two_runs_predict_differently(script: ModuleType) -> None:
    one, other = runs(0, 5), runs(1, 4)
    cluster = np.tile(np.arange(200), 2)
    found = script.churn_compared([one, other], cluster)
    churn = [np.mean([np.mean(a != b) for a, b in combinations(arm, 2)]) for arm in (one, other)]
    assert found["first"] == pytest.approx(churn[0])
    assert found["second"] == pytest.approx(churn[1])
    assert found["across"] == pytest.approx(np.mean([np.mean(a != b) for a in one for b in other]))
    assert found["low"] < churn[0] - churn[1] < found["high"]
    assert not found["equivalent"]


def test_an_arm_held_against_itself_has_no_difference(script: ModuleType) -> None:
    arm = runs(0, 6)
    found = script.churn_compared([arm, arm], np.tile(np.arange(200), 2))
    assert found["difference"] == 0
    assert found["low"] == -found["high"]


def test_the_variance_over_runs_is_that_of_leaving_each_run_out(script: ModuleType) -> None:
    arm = runs(2, 5)
    without = [script.disagreement(np.delete(arm, place, axis=0)).mean() for place in range(5)]
    assert script.jackknife(arm) == pytest.approx(4 / 5 * np.sum((np.array(without) - np.mean(without)) ** 2))


def test_a_wider_arm_is_told(script: ModuleType) -> None:
    generator = np.random.default_rng(0)
    narrow = generator.normal(size=40)
    found = script.spread_compared([narrow, 5 * generator.normal(size=40)])
    assert found["high"] < 1
    assert found["p"] < 0.001
    assert script.spread_compared([narrow, narrow])["ratio"] == 1


def test_the_part_of_seeds_is_that_of_the_reports_nested_estimate(script: ModuleType) -> None:
    generator = np.random.default_rng(0)
    own = {seed: generator.normal(size=4) + 2 * generator.normal() for seed in range(6)}
    report = nested(np.concatenate(list(own.values()))[:, None], np.repeat(np.arange(6), 4))
    part = report.seeds[0] ** 2 / (report.seeds[0] ** 2 + report.reruns[0] ** 2)
    found = script.seeds_and_reruns(own)
    assert found["seeds_part"] == pytest.approx(part)
    assert found["seeds_low"] < part < found["seeds_high"]
    assert found["p"] == pytest.approx(stats.f_oneway(*own.values()).pvalue)


def test_the_interval_of_the_part_covers_as_often_as_it_says(script: ModuleType) -> None:
    generator = np.random.default_rng(1)
    drawn = generator.normal(size=(2_000, 6, 4)) + generator.normal(size=(2_000, 6, 1))
    found = [script.seeds_and_reruns(dict(enumerate(one))) for one in drawn]
    covered = np.mean([one["seeds_low"] <= 0.5 <= one["seeds_high"] for one in found])
    assert covered == pytest.approx(script.LEVEL, abs=0.02)


def test_each_seed_stands_beside_the_controls(script: ModuleType) -> None:
    found = script.beside_control(
        {0: np.array([1.0, 3.0]), 1: np.array([4.0, 4.0])}, {0: np.array([3.0, 3.0]), 1: np.array([1.0, 2.0])}
    )
    assert found["change"] == {"0": -1.0, "1": 2.5}
    assert (found["lower"], found["smallest"], found["largest"]) == (1, -1.0, 2.5)
