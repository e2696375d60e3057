"""Flips, ranks, fronts and alternatives, each against the slow and obvious way."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from equipoise.studies.analysis import alternative_to, cells_of, front_of, ranked
from equipoise.studies.analysis._people import disagreement, flips_of
from equipoise.studies.findings import measure_study
from helpers.cases.study import ARMS, interpolation, study

CONDITION = [interpolation(0)]


@pytest.mark.parametrize("classes", [2, 4])
def test_disagreement_is_that_of_all_pairs_of_runs(classes: int) -> None:
    said = np.random.default_rng(classes).integers(0, classes, (5, 60))
    differ, pairs = disagreement(said, classes)
    for row in range(60):
        own = said[:, row].tolist()
        couples = list(combinations(own, 2))
        assert differ[row] == (len(set(own)) > 1)
        assert pairs[row] == pytest.approx(sum(a != b for a, b in couples) / len(couples))


def test_flips_are_counted_for_everyone_and_each_group_and_rows_only_when_asked() -> None:
    data = study(conditions=CONDITION, seeds=2, repeats=3, people=400)
    cells = cells_of(data, np.zeros(len(data)))
    records, rows = flips_of(data, cells, [("sex",), ("race",)])
    assert rows == ()
    assert data.predictions is not None
    for cell in cells:
        for seed in (0, 1):
            said = data.predictions(cell.indices[cell.runs_of(seed)].tolist())
            assert said is not None
            own = [r for r in records if (r.treatment, r.seed) == (cell.treatment, seed)]
            [everyone] = [r for r in own if r.group is None]
            assert everyone.flipped == int((said != said[0]).any(axis=0).sum())
            for attribute in (("sex",), ("race",)):
                assert sum(r.flipped for r in own if r.attribute == attribute) == everyone.flipped
    _, shown = flips_of(data, cells, [("sex",)], show_rows=True)
    assert len(shown) == sum(record.flipped for record in records if record.group is None)
    assert all(sum(times for _, times in row.said) == 3 and len(row.said) > 1 for row in shown)


def test_ranks_follow_the_means_and_probabilities_add_up() -> None:
    measured = measure_study(study(conditions=CONDITION, seeds=4, repeats=2, people=600))
    higher = [quantity.better == "high" for quantity in measured.quantities]
    found = ranked(measured.values["test"], measured.cells, higher)
    assert found.best.sum(axis=0) == pytest.approx(1)
    assert found.best_single.sum(axis=0) == pytest.approx(1)
    for index, quantity in enumerate(measured.quantities):
        means = [measured.mean(cell, "test", quantity.measure, quantity.attribute) for cell in measured.cells]
        order = np.argsort(np.argsort([-mean if higher[index] else mean for mean in means]))
        if len(set(means)) == len(means):
            assert found.rank[:, index].tolist() == (order + 1).tolist()


def test_equal_treatments_are_best_equally_often_and_a_clear_one_always() -> None:
    data = study(arms=ARMS[:3], conditions=CONDITION, seeds=5, repeats=1, people=200)
    cells = cells_of(data, np.zeros(len(data)))
    generator = np.random.default_rng(0)
    noise = generator.normal(0, 1, 5)
    values = np.zeros((len(data), 2))
    for index, cell in enumerate(cells):
        values[cell.indices, 0] = noise  # the same runs in every cell: always tied
        values[cell.indices, 1] = noise + 100 * (index == 2)
    found = ranked(values, cells, [True, True])
    assert found.best[:, 0] == pytest.approx([1 / 3] * 3)
    assert found.rank[:, 0].tolist() == [2.0] * 3
    assert found.best[:, 1].tolist() == [0.0, 0.0, 1.0]


def test_people_who_move_all_treatments_alike_change_no_rank() -> None:
    data = study(arms=ARMS[:2], conditions=CONDITION, seeds=3, repeats=1, people=200)
    cells = cells_of(data, np.zeros(len(data)))
    values = np.zeros((len(data), 1))
    values[cells[1].indices] = 0.01
    shared = np.random.default_rng(1).normal(0, 1, (1, 50, 1))
    assert ranked(values, cells, [True], np.repeat(shared, 2, axis=0)).best[:, 0].tolist() == [0.0, 1.0]
    apart = np.random.default_rng(2).normal(0, 1, (2, 50, 1))
    assert 0.2 < ranked(values, cells, [True], apart).best[1, 0] < 0.8


def test_how_values_were_rounded_changes_neither_ranks_nor_who_is_best_nor_the_front() -> None:
    """Two treatments with the same values, one of them summed by another processor, are tied in everything."""
    generator = np.random.default_rng(9)
    data = study(arms=ARMS[:2], conditions=CONDITION, seeds=5, repeats=1, people=200)
    cells = cells_of(data, np.zeros(len(data)))
    values = np.zeros((len(data), 1))
    values[cells[0].indices, 0] = generator.choice([0.1, 0.3, 0.7], size=5)
    values[cells[1].indices] = values[cells[0].indices] * (1 + 3e-16 * generator.choice([-1, 0, 1], size=(5, 1)))
    found = ranked(values, cells, [True])
    assert found.rank[:, 0].tolist() == [1.5, 1.5]
    assert found.best[:, 0].tolist() == found.best_single[:, 0].tolist() == [0.5, 0.5]
    above = np.nextafter(0.9, 1)
    assert front_of(np.array([0.9, above]), np.array([0.8, 0.8])).all()
    assert alternative_to(0, np.array([0.9, 0.9]), np.array([0.9, above])) is None


def test_the_front_is_what_no_other_point_beats() -> None:
    generator = np.random.default_rng(3)
    for _ in range(30):
        x, y = generator.integers(0, 5, 12) / 5, generator.integers(0, 5, 12) / 5
        x[0] = np.nan
        found = front_of(x, y)
        for i in range(12):
            beaten = any(
                x[j] >= x[i] and y[j] >= y[i] and (x[j] > x[i] or y[j] > y[i]) for j in range(12) if x[j] == x[j]
            )
            assert found[i] == (x[i] == x[i] and not beaten)


def test_the_alternative_is_the_fairest_at_an_equal_performance() -> None:
    performance = np.array([0.80, 0.795, 0.785, 0.90, np.nan])
    fairness = np.array([0.90, 0.94, 0.99, 0.92, 1.0])
    assert alternative_to(0, performance, fairness, 0.01) == 1
    assert alternative_to(0, performance, fairness, 0.02) == 2
    assert alternative_to(0, performance, fairness, 0.001) == 3
    assert alternative_to(2, performance, fairness) is None
