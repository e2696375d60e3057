"""Probes find a planted group and do not find what is not there."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from equipoise.audits.leakage import Leakage, leakage
from equipoise.audits.leakage._leakage import effective_rows, reading_of
from equipoise.foundation import BadInput
from equipoise.stats import wilson


def planted(rows: int, strength: float, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    generator = np.random.default_rng(seed)
    group = generator.choice(["a", "b"], rows, p=[0.7, 0.3])
    points = generator.normal(size=(rows, 5))
    points[:, 0] += strength * (group == "b")
    return points, group


def test_a_planted_group_is_read_and_a_shuffled_one_is_not() -> None:
    points, group = planted(250, 3.0)
    seen: list[tuple[str, float]] = []
    result = leakage(points, {"g": group}, folds=3, draws=200, progress=lambda *step: seen.append(step))
    assert seen[-1] == ("probing g", 1.0)
    assert [record.probe for record in result.records] == ["linear", "mlp"]
    for record in result.records:
        assert record.majority < record.accuracy_low <= record.accuracy <= record.accuracy_high
        assert record.chance < record.balanced_low <= record.balanced <= record.balanced_high <= 1
        assert record.accuracy_p < 1e-6
        # Two tests: 20 x 2 / 0.05 draws, none of them as extreme.
        assert (record.balanced_p, record.limited_by_draws) == (pytest.approx(1 / 801), False)
        assert abs(record.shuffled_balanced - 0.5) < 0.1


def test_a_curved_group_is_read_by_the_network_only() -> None:
    generator = np.random.default_rng(2)
    points = generator.normal(size=(400, 2))
    group = np.where(points[:, 0] * points[:, 1] > 0, "same", "other")
    linear, network = leakage(points, group, folds=2, draws=99).records
    assert linear.balanced < 0.6
    assert network.balanced > 0.85


@pytest.mark.long
def test_a_group_that_is_not_there_is_rarely_found() -> None:
    """Few rows in many directions, where out-of-fold guesses depend on each other the most."""
    p, covered, trials = [], np.zeros(2), 150
    group = np.arange(80) % 2
    for seed in range(trials):
        points = np.random.default_rng(seed).normal(size=(80, 10))
        [record] = leakage(points, group, probes=["linear"], draws=99, seed=seed).records
        p.append((record.accuracy_p, record.balanced_p))
        covered += [
            record.accuracy_low <= 0.5 <= record.accuracy_high,
            record.balanced_low <= 0.5 <= record.balanced_high,
        ]
    rejected = (np.array(p, dtype=float) <= 0.05).mean(axis=0)
    assert (rejected <= 0.08).all()
    assert (covered / trials >= 0.9).all()


def test_out_of_fold_guesses_count_as_fewer_than_independent_ones() -> None:
    codes = np.arange(200) % 2
    guesses = np.where(np.arange(200) % 10 < 4, 1 - codes, codes)
    alone, folded = (
        reading_of(codes, guesses, guesses, 2, None, 999, np.random.default_rng(0), folds) for folds in (1, 5)
    )
    assert folded.accuracy == alone.accuracy == pytest.approx(0.6)
    assert (folded.accuracy_low, folded.accuracy_high) == tuple(map(float, wilson(0.6 * 200 / 1.8, 200 / 1.8)))
    assert alone.accuracy_p < folded.accuracy_p < 0.05
    assert alone.balanced_p is not None
    assert folded.balanced_p is not None
    assert alone.balanced_p < folded.balanced_p < 0.05
    assert folded.balanced_low < alone.balanced_low


def test_a_group_that_is_large_enough_stays_so_in_the_sample() -> None:
    generator = np.random.default_rng(0)
    group = np.where(np.arange(3000) < 150, "few", np.where(np.arange(3000) < 160, "rare", "many"))
    result = leakage(generator.normal(size=(3000, 2)), {"g": group}, probes="linear", draws=20, sample=300)
    [record] = result.records
    assert record.groups == ("few", "many")
    assert record.people == 300
    assert record.majority == pytest.approx(280 / 300)
    assert any("'rare' was not probed (10 rows: fewer than 20)" in note for note in result.notes)


def test_people_and_not_rows_are_counted() -> None:
    """A thousand rows of twenty people who carry no group: by rows a group is found, by people it is not."""
    generator = np.random.default_rng(5)
    person = np.repeat(np.arange(20), 50)
    points = generator.normal(size=(20, 8))[person] + 0.1 * generator.normal(size=(1000, 8))
    group = np.where(person % 2 == 0, "even", "odd")
    [rows] = leakage(points, group, probes="linear", draws=99).records
    [people] = leakage(points, group, probes="linear", cluster=person, draws=99).records
    assert rows.balanced > 0.75
    assert people.balanced < 0.75
    assert people.test == "permutation of clusters"
    [mixed] = leakage(points, np.tile(["a", "b"], 500), probes="linear", cluster=person, draws=99).records
    assert (mixed.balanced_p, mixed.test, str(mixed.reason)) == (
        None,
        "none",
        "the group varies within clusters: no test",
    )
    assert people.accuracy_high - people.accuracy_low > 0.2


def test_effective_rows_are_the_people_where_all_rows_of_a_person_agree() -> None:
    hits = np.repeat([1.0, 0.0, 1.0, 1.0, 0.0, 1.0], 10)
    people = np.repeat(np.arange(6), 10)
    assert effective_rows(hits, None) == 60
    assert effective_rows(hits, people) == pytest.approx(5)
    assert effective_rows(hits, np.arange(60)) == pytest.approx(59)
    assert effective_rows(np.ones(60), people) == 6


def test_the_numbers_of_a_reading_by_hand() -> None:
    codes = np.array([0] * 6 + [1] * 2)
    plain = np.array([0] * 8)
    even = np.array([0, 0, 0, 1, 1, 1, 1, 1])
    reading = reading_of(codes, plain, even, 2, None, 99, np.random.default_rng(0), 1)
    assert (reading.accuracy, reading.majority) == (0.75, 0.75)
    assert (reading.accuracy_low, reading.accuracy_high) == tuple(map(float, wilson(6, 8)))
    assert reading.balanced == 0.75  # (3/6 + 2/2) / 2
    low = np.hypot(0.5 - float(wilson(3, 6)[0]), 1 - float(wilson(2, 2)[0])) / 2
    assert reading.balanced_low == pytest.approx(0.75 - low)
    # Of the 28 ways to place the two of the second group, 10 put both on a guess of 1.
    assert reading.balanced_p == pytest.approx(10 / 28, abs=0.15)


def test_small_and_missing_groups_are_left_out_and_many_rows_are_sampled() -> None:
    points, group = planted(300, 3.0)
    groups = [None if row < 4 else "rare" if row < 10 else name for row, name in enumerate(group.tolist())]
    result = leakage(points, {"g": groups}, probes="linear", draws=20, sample=250)
    assert result.records[0].groups == ("a", "b")
    assert "g: a random sample of 250 of 300 rows, with at least 20 of each group" in result.notes
    assert any("'rare' was not probed" in note for note in result.notes)
    assert any("'(missing)' was not probed" in note for note in result.notes)
    assert [(str(reason.code), dict(reason.details)["rows"]) for reason in result.left_out] == [
        ("group_small", 6), ("group_unknown", 4),
    ]  # fmt: skip
    assert not any("not probed" in remark for remark in result.remarks)


def test_three_groups_are_read_and_the_seed_decides() -> None:
    generator = np.random.default_rng(0)
    group = generator.integers(0, 3, 240)
    points = generator.normal(size=(240, 3)) + 2 * np.eye(3)[group]
    first, second = (leakage(points, group, probes="linear", draws=50, seed=1) for _ in range(2))
    assert first == second
    assert isinstance(first, Leakage)
    assert first.find(probe="linear")[0].chance == pytest.approx(1 / 3)
    assert first.records[0].balanced > 0.7


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"groups": ["a"] * 60}, "1 group of 20 rows"),
        ({"groups": ["a"] * 5}, "different lengths"),
        ({"probes": "guess"}, "learner 'guess' not found"),
        ({"folds": 90}, "folds is 90"),
        ({"cluster": [0] * 30 + [1] * 30, "folds": 2}, "1 of the 2 groups"),
        ({"points": np.full((60, 2), np.nan)}, "not finite"),
    ],
)
def test_bad_input_is_refused(change: dict[str, object], words: str) -> None:
    given = {"points": np.random.default_rng(0).normal(size=(60, 2)), "groups": ["a"] * 30 + ["b"] * 30} | change
    with pytest.raises(BadInput, match=words):
        leakage(**given)


@pytest.mark.skipif("EQUIPOISE_DATA" not in os.environ, reason="EQUIPOISE_DATA is not set")
def test_sex_can_be_read_from_faces_of_people_never_seen() -> None:
    folder = Path(os.environ["EQUIPOISE_DATA"]) / "lfw"
    labels = np.load(folder / "lfw_labels.npz")
    points = np.load(folder / "lfw_dlib128_f16.npz")["embedding"]
    sex = np.where(labels["gender_male"] == 255, None, np.where(labels["gender_male"] == 1, "male", "female"))
    [record] = leakage(
        points, {"sex": sex}, probes="linear", cluster=labels["identity"], sample=2_000, draws=99
    ).records
    assert record.balanced_low > 0.9
    assert abs(record.shuffled_balanced - 0.5) < 0.1
