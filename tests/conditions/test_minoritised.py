"""Minoritised classes: exactly so many distinct rows a class, equal totals, other classes with every seed."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.cohorts import Cohort
from equipoise.conditions import (
    AsGiven,
    Minoritised,
    apply,
    apportion,
    draw_training,
    feasibility,
    for_seed,
    make_condition,
    partition_of,
    settings_of,
    sizing_shares,
)
from equipoise.foundation import BadInput

DEGREES = (0.5, 0.6, 0.7, 0.8, 0.9)


def birds(sizes: list[int], colours: int = 3, crossed: bool = False) -> Cohort:
    """So many training rows of each class; the colour is the class's own, or crosses the classes."""
    label = np.repeat(np.arange(len(sizes)), sizes)
    row = np.arange(len(label))
    colour = (row if crossed else label) % colours
    return Cohort(
        name="birds",
        columns={
            "class": np.array([f"bird {one:03d}" for one in label], dtype=object),
            "colour": np.array([f"colour {one}" for one in colour], dtype=object),
            "x": row.astype(float),
            "split": np.array(["train"] * len(label), dtype=object),
        },
        target="class",
        groups=("colour",),
        features=("x",),
        split="split",
    )


def by_class(cohort: Cohort) -> Counter[str]:
    return Counter(cohort["class"].tolist())


def test_the_issue_s_example_200_classes_of_30() -> None:
    cohort = birds([30] * 200)
    plan = [Minoritised(degree) for degree in DEGREES]
    drawn = {one.degree: apply(one, cohort, seed=3, plan=plan) for one in plan}
    assert {len(one) for one in drawn.values()} == {4_666}
    control, steepest = by_class(drawn[0.5]), by_class(drawn[0.9])
    assert set(control.values()) == {23, 24}
    kinds = dict(zip(sorted(steepest), plan[0].partition(sorted(steepest), 3), strict=True))
    assert {steepest[name] for name in kinds if kinds[name] == "majoritised"} == {30}
    assert {steepest[name] for name in kinds if kinds[name] == "minoritised"} == {3, 4}
    assert Counter(kinds.values()) == {"majoritised": 150, "minoritised": 50}
    for one in drawn.values():
        assert len(set(one["x"].tolist())) == len(one)  # distinct rows


def slow_counts(sizes: dict[str, int], degree: Fraction, few: set[str], total: int) -> dict[str, list[int]]:
    """What each class may get: the exact share, rounded down or up."""
    weights = {name: 1 - degree if name in few else degree for name in sizes}
    found = {}
    for name, weight in weights.items():
        exact = total * weight / sum(weights.values())
        found[name] = sorted({math.floor(exact), math.ceil(exact)})
    return found


@settings(max_examples=40)
@given(
    sizes=st.lists(st.integers(4, 40), min_size=3, max_size=14),
    few=st.integers(1, 13),
    tenths=st.integers(5, 9),
    seed=st.integers(0, 50),
    crossed=st.booleans(),
)
def test_every_class_gets_its_share_of_distinct_rows_as_near_as_whole_numbers_can(
    sizes: list[int], few: int, tenths: int, seed: int, crossed: bool
) -> None:
    few = min(few, len(sizes) - 1)
    cohort = birds(sizes, crossed=crossed)
    plan = [Minoritised(one / 10, few) for one in range(5, 10)]
    chosen = plan[tenths - 5]
    drawn = apply(chosen, cohort, seed=seed, plan=plan)
    names = [f"bird {place:03d}" for place in range(len(sizes))]
    kinds = dict(zip(names, chosen.partition(names, seed), strict=True))
    assert Counter(kinds.values())["minoritised"] == few
    # The total is the largest at which no seed and no degree repeats a row: the smallest class is majoritised.
    limit = min(
        min(sizes) * ((len(sizes) - few) * Fraction(one, 10) + few * (1 - Fraction(one, 10))) / Fraction(one, 10)
        for one in range(5, 10)
    )
    assert len(drawn) == math.floor(limit)
    allowed = slow_counts(
        dict(zip(names, sizes, strict=True)), Fraction(tenths, 10),
        {name for name in names if kinds[name] == "minoritised"}, len(drawn),
    )  # fmt: skip
    counted = by_class(drawn)
    assert all(counted.get(name, 0) in allowed[name] for name in names)
    assert len(set(drawn["x"].tolist())) == len(drawn)
    assert feasibility(chosen, cohort, plan=plan).repeated == ()


@settings(max_examples=30)
@given(classes=st.integers(2, 30), few=st.integers(1, 29), seed=st.integers(0, 99), data=st.data())
def test_the_classes_hang_on_the_seed_alone(classes: int, few: int, seed: int, data: Any) -> None:
    few = min(few, classes - 1)
    names = [f"class {place}" for place in range(classes)]
    kinds = dict(zip(names, Minoritised(0.9, few).partition(names, seed), strict=True))
    shuffled = data.draw(st.permutations(names))
    for degree in DEGREES:
        again = Minoritised(degree, few).partition(shuffled, seed)
        assert dict(zip(shuffled, again, strict=True)) == kinds


def test_different_seeds_draw_different_classes_and_equally_many_rows() -> None:
    cohort = birds([30] * 30 + [24] + [50] * 9)
    condition = Minoritised(0.9, 10)
    names = sorted(by_class(cohort))
    drawn = [apply(condition, cohort, seed=seed) for seed in range(10)]
    assert len({condition.partition(names, seed) for seed in range(10)}) == 10
    assert len({len(one) for one in drawn}) == 1
    drawn_often = Counter(
        name
        for seed in range(200)
        for name, kind in zip(names, condition.partition(names, seed), strict=True)
        if kind == "minoritised"
    )
    assert 25 < min(drawn_often.values()) <= 50 <= max(drawn_often.values()) < 80  # 50 expected of each


def test_a_steeper_degree_keeps_the_rows_of_a_flatter_one_where_it_can() -> None:
    cohort = birds([30] * 12)
    plan = [Minoritised(degree, 4) for degree in DEGREES]
    control, steep = (set(apply(one, cohort, seed=1, plan=plan)["x"].tolist()) for one in (plan[0], plan[-1]))
    kinds = plan[0].partition(sorted(by_class(cohort)), 1)
    majoritised = {place for place in range(12) if kinds[place] == "majoritised"}
    assert {x for x in control if int(x) // 30 in majoritised} <= steep
    assert {x for x in steep if int(x) // 30 not in majoritised} <= control


def test_groups_keep_their_shares_inside_a_class_and_classes_are_made_whole_first() -> None:
    counts = np.array([[3, 3, 3], [3, 3, 3], [3, 3, 3], [3, 3, 3]])
    shares = Minoritised(0.5, 1).probabilities(counts)
    assert np.allclose(shares, 1 / 12)
    assert apportion(shares, 22).sum(axis=1).tolist() == [6, 6, 6, 4]  # remainders go to the first cells
    assert apportion(shares, 22, by_class=True).sum(axis=1).tolist() == [6, 6, 5, 5]


def test_the_sizing_shares_ask_at_least_as_much_as_those_of_any_seed() -> None:
    counts = np.array([[9], [4], [30], [12], [5]])
    names = ("a", "b", "c", "d", "e"), ("all",)
    condition = Minoritised(0.8, 2)
    hardest = (counts / sizing_shares(condition, counts, *names)).min()
    for seed in range(50):
        asked = for_seed(condition, seed).probabilities(counts, *names)
        assert (counts / asked).min() >= hardest * (1 - 1e-12)


def test_the_feasibility_says_what_was_possible() -> None:
    cohort = birds([30] * 200)
    plan = [Minoritised(degree) for degree in DEGREES]
    words = feasibility(plan[-1], cohort, plan=plan).words[-1]
    assert words == (
        "Of 200 classes 50 are minoritised, others with every seed. Each gets 3 or 4 rows and each majoritised class "
        "30, of 30 that a class has; in the balanced control it would be 23 or 24. In all these are 4,666 of 6,000 "
        "rows, as many at every degree."
    )
    assert "each class gets 23 or 24 rows, of 30 that it has" in feasibility(plan[0], cohort, plan=plan).words[-1]
    drawn = draw_training(plan[-1], cohort, seed=5, plan=plan)
    assert drawn.feasibility.remarks == (words,)
    assert feasibility(AsGiven(), cohort).remarks == ()


def test_minoritised_classes_without_a_pair_are_told() -> None:
    words = feasibility(Minoritised(0.9, 4), birds([8] * 12)).words
    assert words[-1] == "4 minoritised classes get fewer than 2 rows: they have no pair to learn from."


def test_it_is_made_again_from_its_settings_and_has_a_name() -> None:
    condition = make_condition("minoritised", degree=0.8, classes=10)
    assert settings_of(condition) == {"degree": 0.8, "classes": 10}
    assert str(condition) == str(for_seed(condition, 4)) == "80-20, 10 classes minoritised"
    assert for_seed(AsGiven(), 4) == AsGiven()
    assert partition_of(AsGiven(), ["a", "b"], 0) is None
    assert partition_of(Minoritised(0.9, 1), ["a", "b"], 0) in (
        ("majoritised", "minoritised"), ("minoritised", "majoritised"),
    )  # fmt: skip


@pytest.mark.parametrize("degree", [0.4, 1.0, 1.5, float("nan"), "much", True, None])
def test_a_degree_out_of_range_is_refused(degree: Any) -> None:
    with pytest.raises(BadInput, match="degree is"):
        Minoritised(degree)


@pytest.mark.parametrize("classes", [0, -1, 2.5, "many", True])
def test_a_number_of_classes_that_is_none_is_refused(classes: Any) -> None:
    with pytest.raises(BadInput, match="classes is"):
        Minoritised(0.9, classes)


def test_as_many_minoritised_classes_as_there_are_is_refused_with_what_would_fit() -> None:
    with pytest.raises(BadInput, match=r"(?s)classes is 50, and the training rows have 40 classes.*classes = 10"):
        apply(Minoritised(0.9), birds([10] * 40), seed=0)
