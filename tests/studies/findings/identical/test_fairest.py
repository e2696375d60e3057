"""The fairest of n runs: both gains by explicit loops, clusters kept whole, and luck told from merit."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.foundation import stream
from equipoise.studies.analysis import StudyData
from equipoise.studies.findings import measure_study
from equipoise.studies.findings.identical import _fairest as fairest
from equipoise.studies.findings.identical._fairest import clusters_of, fairest_of, first_halves, gains, numbers_of
from equipoise.studies.findings.identical._runs import sets_of
from helpers.cases.study import TECHNIQUES, picture_data


def impact(data: StudyData, said: np.ndarray, kept: np.ndarray) -> float:
    """Disparate impact, the mean over classes, of some rows, one by one."""
    assert data.rows is not None
    values = []
    for code in range(10):
        rates = []
        for domain in (0, 1):
            own = [said[row] == code for row in np.flatnonzero(kept) if data.rows.group[row] == domain]
            rates.append(sum(own) / len(own))
        if max(rates) > 0:
            values.append(1 - min(rates) / max(rates))
    return sum(values) / len(values)


def test_both_gains_are_those_of_choosing_row_by_row() -> None:
    data = picture_data(images=80, runs=4, techniques=TECHNIQUES[3:4])
    study = measure_study(data, baseline="untreated")
    records = [one for one in fairest_of(study, sets_of(study), halves=5, seed=3) if one.alias == "DI"]
    [every] = [record for record in records if record.n == 4]
    assert [record.n for record in records] == [2, 4]
    assert (every.clusters, every.halves, every.runs) == (80, 5, 4)
    assert data.rows is not None
    assert data.predictions is not None
    halves = first_halves(clusters_of(data.rows), 5, stream(3, "halves"))
    said = data.predictions(range(4))
    assert said is not None
    apparent, honest, means = [], [], []
    for kept in halves:
        there = [impact(data, own, kept) for own in said]
        fresh = [impact(data, own, ~kept) for own in said]
        chosen = there.index(min(there))
        apparent.append(sum(there) / 4 - there[chosen])
        honest.append(sum(fresh) / 4 - fresh[chosen])
        means.append(sum(fresh) / 4)
    assert every.apparent == pytest.approx(np.mean(apparent))
    assert every.honest == pytest.approx(np.mean(honest))
    assert every.mean == pytest.approx(np.mean(means))
    assert every.survives == pytest.approx(np.mean(honest) / np.mean(apparent))
    assert (every.honest_low, every.honest_high) == pytest.approx(np.quantile(honest, [0.025, 0.975]).tolist())


@given(st.integers(2, 40), st.integers(1, 4), st.integers(0, 99))
def test_a_half_has_half_of_the_clusters_and_all_rows_of_each(clusters: int, rows: int, seed: int) -> None:
    own = np.random.default_rng(seed).permutation(np.repeat(np.arange(clusters), rows))
    for kept in first_halves(own, 3, np.random.default_rng(seed)):
        chosen = set(own[kept].tolist())
        assert len(chosen) == clusters // 2
        assert not chosen & set(own[~kept].tolist())


def test_rows_without_clusters_are_their_own() -> None:
    rows = picture_data(images=10, runs=2, techniques=TECHNIQUES[:1]).rows
    assert rows is not None
    assert clusters_of(rows).tolist() == [*range(10), *range(10)]
    assert clusters_of(replace(rows, cluster=None)).tolist() == list(range(20))


@given(st.integers(2, 7), st.integers(1, 6), st.integers(0, 99))
def test_gains_are_those_of_a_loop(runs: int, halves: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    first, second, performance = generator.normal(size=(3, runs, halves))
    mean, apparent, honest, better = gains(first, second, performance, runs, np.random.default_rng(0))
    for half in range(halves):
        chosen = min(range(runs), key=lambda run: first[run, half])
        assert mean[half] == pytest.approx(second[:, half].mean())
        assert apparent[half] == pytest.approx(first[:, half].mean() - first[chosen, half])
        assert apparent[half] >= 0
        assert honest[half] == pytest.approx(second[:, half].mean() - second[chosen, half])
        assert better[half] == pytest.approx(performance[chosen, half] - performance[:, half].mean())


def test_of_equal_runs_nothing_is_left_and_of_unequal_ones_nearly_all() -> None:
    generator = np.random.default_rng(5)
    merit = np.linspace(0, 1, 8)[:, None]
    for spread, least, most in ((0.0, -0.1, 0.1), (100.0, 0.95, 1.05)):
        first, second = (spread * merit + generator.normal(size=(8, 4_000)) for _ in range(2))
        _, apparent, honest, _ = gains(first, second, second, 8, np.random.default_rng(1))
        assert apparent.mean() > 1
        assert least < honest.mean() / apparent.mean() < most


def test_more_runs_to_choose_from_seem_to_gain_more() -> None:
    generator = np.random.default_rng(6)
    first, second = generator.normal(size=(2, 16, 3_000))
    found = [gains(first, second, second, n, np.random.default_rng(n))[1].mean() for n in numbers_of(16)]
    assert found == sorted(found)
    # The expected lead of the least of n normal numbers: 0.564 of two, 1.766 of sixteen.
    assert (found[0], found[-1]) == pytest.approx((0.564, 1.766), abs=0.03)


def test_an_undefined_run_is_not_chosen_and_an_undefined_half_is_undefined() -> None:
    first = np.array([[np.nan, np.nan], [0.3, np.nan], [0.5, np.nan]])
    second = np.array([[0.1, 0.1], [0.2, 0.2], [0.6, 0.6]])
    mean, apparent, honest, better = gains(first, second, second, 3, np.random.default_rng(0))
    assert apparent[0] == pytest.approx(0.1)
    assert honest[0] == pytest.approx(0.1)
    assert mean[0] == pytest.approx(0.3)
    assert better[0] == pytest.approx(-0.1)
    assert all(math.isnan(one[1]) for one in (mean, apparent, honest, better))


@pytest.mark.parametrize(("runs", "numbers"), [(2, [2]), (3, [2, 3]), (8, [2, 4, 8]), (12, [2, 4, 8, 12])])
def test_the_fairest_is_chosen_of_powers_of_two_and_of_all(runs: int, numbers: list[int]) -> None:
    assert numbers_of(runs) == numbers


def test_a_choice_on_dev_rows_is_read_on_all_test_rows() -> None:
    data = picture_data(images=60, runs=3, seeds=2, techniques=TECHNIQUES[:1])
    study = measure_study(data)
    place = study.quantity_index("disparate_impact", ("domain",))
    [found] = [one for one in fairest_of(study, sets_of(study), halves=4) if (one.alias, one.n) == ("DI", 3)]
    dev, test = (study.values[split][:, place].reshape(2, 3) for split in ("dev", "test"))
    chosen = [row.tolist().index(min(row)) for row in dev]
    assert found.seeds == 2
    assert found.dev_apparent == pytest.approx(np.mean([r.mean() - r[c] for r, c in zip(dev, chosen, strict=True)]))
    assert found.dev_honest == pytest.approx(np.mean([r.mean() - r[c] for r, c in zip(test, chosen, strict=True)]))


@given(values=st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40), share=st.floats(0, 1))
def test_quantiles_are_numpy_s(values: list[float], share: float) -> None:
    found = fairest._between(np.sort(np.array(values)), share)
    assert found == pytest.approx(float(np.quantile(values, share)), abs=1e-9)
