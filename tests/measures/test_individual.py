"""Consistency against a slow loop, scikit-learn's neighbours and hand-made ties; the signed parity difference."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import NearestNeighbors

import equipoise
from equipoise import BadInput
from equipoise.measures import _individual as individual
from equipoise.measures import consistency, statistical_parity_difference


def slow(rows: list[tuple[float, ...]], values: list[float], k: int, include_self: bool) -> float:
    total = 0.0
    for i, row in enumerate(rows):
        others = [j for j in range(len(rows)) if include_self or j != i]
        distances = {j: math.dist(row, rows[j]) for j in others}
        radius = sorted(distances.values())[k - 1]
        closer = [j for j in others if distances[j] < radius * (1 - 1e-9)]
        tied = [j for j in others if abs(distances[j] - radius) <= radius * 1e-9]
        places = k - len(closer)
        mean = (sum(values[j] for j in closer) + places * sum(values[j] for j in tied) / len(tied)) / k
        total += abs(values[i] - mean)
    return 1 - total / len(rows)


GRID = st.tuples(st.integers(0, 2), st.integers(0, 1), st.sampled_from([0.0, 0.1, 0.3]))


@settings(deadline=None, max_examples=60)
@given(
    people=st.lists(st.tuples(GRID, st.sampled_from([0.0, 1.0, 0.25])), min_size=4, max_size=25),
    k=st.integers(1, 3),
    include_self=st.booleans(),
)
def test_it_agrees_with_a_slow_loop_on_rows_full_of_ties(
    people: list[tuple[tuple[float, ...], float]], k: int, include_self: bool
) -> None:
    rows, values = [person[0] for person in people], [person[1] for person in people]
    expected = slow(rows, values, k, include_self)
    assert consistency(rows, values, k, include_self=include_self) == pytest.approx(expected, abs=1e-12)


@settings(deadline=None, max_examples=30)
@given(people=st.lists(st.tuples(GRID, st.sampled_from([0.0, 1.0])), min_size=4, max_size=25), seed=st.integers(0, 99))
def test_the_order_of_rows_does_not_matter(people: list[tuple[tuple[float, ...], float]], seed: int) -> None:
    rows, values = np.array([person[0] for person in people]), np.array([person[1] for person in people])
    order = np.random.default_rng(seed).permutation(len(rows))
    assert consistency(rows, values, 3) == pytest.approx(consistency(rows[order], values[order], 3), abs=1e-12)


@pytest.mark.parametrize("k", [1, 5, 11])
def test_without_ties_it_is_what_scikit_learns_neighbours_give_and_with_oneself_what_aif360_computes(k: int) -> None:
    generator = np.random.default_rng(3)
    rows, values = generator.normal(size=(300, 4)), generator.integers(0, 2, 300).astype(float)
    search = NearestNeighbors(n_neighbors=k).fit(rows)
    others = search.kneighbors(return_distance=False)  # of the training rows: without themselves
    assert consistency(rows, values, k) == pytest.approx(1 - np.abs(values - values[others].mean(axis=1)).mean())
    # AIF360: 1 - mean |y - mean of y over kneighbors(X)|, and a row is its own first neighbour there.
    with_self = search.kneighbors(rows, return_distance=False)
    expected = 1 - np.abs(values - values[with_self].mean(axis=1)).mean()
    assert consistency(rows, values, k, include_self=True) == pytest.approx(expected)


def test_those_who_tie_share_the_places_that_are_left() -> None:
    # The neighbours of 0: one at distance 1, then two that tie at 2 for the second place.
    rows, values = [[0.0], [1.0], [2.0], [-2.0]], [0.0, 0.0, 1.0, 0.0]
    found = consistency(rows, values, k=2)
    # person 0: (0 + (1 + 0) / 2) / 2 = 0.25; person 1: 0 and 2 tie, 0.5; person 2: 1 and 0, 1; person 3: 0 and 1, 0.
    assert found == pytest.approx(1 - (0.25 + 0.5 + 1.0 + 0.0) / 4)


def test_many_equal_rows_share_their_places_too() -> None:
    rows, values = np.zeros((4, 2)), [1, 0, 0, 0]
    assert consistency(rows, values, k=1) == pytest.approx(1 - (1 + 3 * (1 / 3)) / 4)


def test_blocks_give_the_same_number(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(5)
    rows, values = generator.integers(0, 4, (120, 3)).astype(float), generator.random(120)
    whole = consistency(rows, values)
    monkeypatch.setattr(individual, "BLOCK_CELLS", 100)
    assert consistency(rows, values) == pytest.approx(whole, abs=1e-12)


def test_predictions_that_are_all_alike_are_consistent() -> None:
    assert consistency(np.arange(20.0)[:, None], np.ones(20)) == 1.0


@pytest.mark.parametrize(
    ("rows", "values", "k", "words"),
    [
        ([[0.0], [1.0]], [0, 1], 2, "k is 2"),
        ([[0.0], [1.0]], [0, 1], 0, "k is 0"),
        ([[0.0], [1.0]], [0, 1], 1.5, "k is 1.5"),
        ([0.0, 1.0], [0, 1], 1, "shape"),
        ([[0.0], [1.0]], [0, 1, 1], 1, "shape"),
        ([[0.0], [np.nan]], [0, 1], 1, "missing or infinite"),
        ([[0.0], [1.0]], [0, np.nan], 1, "predictions has 1 missing"),
        ([["a"], ["b"]], [0, 1], 1, "not numbers"),
    ],
)
def test_bad_input_is_refused(rows: object, values: object, k: object, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        consistency(rows, values, k)  # type: ignore[arg-type]


def test_the_parity_difference_has_the_sign_of_the_named_side() -> None:
    sex, guess = ["f", "f", "f", "f", "m", "m"], ["no", "no", "no", "yes", "yes", "no"]
    named = {"sensitive_features": sex, "favourable": "yes"}
    found = statistical_parity_difference(guess, **named, unprivileged="f", privileged="m")
    assert found == pytest.approx(0.25 - 0.5)
    assert statistical_parity_difference(guess, **named, unprivileged="m", privileged="f") == pytest.approx(-found)
    assert abs(found) == pytest.approx(equipoise.measures.demographic_parity(None, guess, **named))


def test_the_parity_difference_is_the_contrast_of_an_audit() -> None:
    cohort = equipoise.load("adult").take(np.arange(2_000))
    result = equipoise.audit(cohort, reference={"sex": "Male"})
    contrast = next(
        record for record in result.records
        if record.kind == "contrast" and record.measure == "selection_rate" and record.group == "Female"
    )  # fmt: skip
    found = equipoise.measures.statistical_parity_difference(
        cohort["predicted"], sensitive_features=cohort["sex"], favourable=">50K",
        unprivileged="Female", privileged="Male",
    )  # fmt: skip
    assert found == pytest.approx(contrast.value, abs=1e-12)
    assert found < 0


def test_a_group_that_is_not_there_is_refused_with_the_nearest() -> None:
    with pytest.raises(BadInput, match="did you mean 'Male'"):
        statistical_parity_difference(
            [1, 0], sensitive_features=["Male", "Female"], favourable=1, unprivileged="Female", privileged="male"
        )


def test_a_class_that_nobody_is_predicted_is_known_from_the_target_or_refused() -> None:
    sides = {"sensitive_features": ["a", "b"], "favourable": 1, "unprivileged": "a", "privileged": "b"}
    assert statistical_parity_difference([0, 0], **sides, target=[1, 0]) == 0.0
    with pytest.raises(BadInput, match="The class '1' is neither"):
        statistical_parity_difference([0, 0], **sides)


def test_they_are_found_beside_the_registered_measures() -> None:
    assert equipoise.measures.consistency is consistency
    assert "statistical_parity_difference" in dir(equipoise.measures)
