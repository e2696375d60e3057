"""Conditions as objects: the four settings of paper 001, section 5, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from equipoise import BadInput
from equipoise.conditions import (
    AsGiven,
    ClassRatio,
    Condition,
    Interpolation,
    Stereotyping,
    interpolate,
    make_condition,
    settings_of,
)

# Moji as its training data come: HAPPY and SAD by African American and Standard American English.
MOJI = np.array([[40_000, 10_000], [10_000, 40_000]])
CLASSES, GROUPS = ("HAPPY", "SAD"), ("AAE", "SAE")


@pytest.mark.parametrize(
    ("section", "condition", "percent"),
    [
        ("5.1", Stereotyping(0.2), [[10, 40], [40, 10]]),
        ("5.1", Stereotyping(0.8), [[40, 10], [10, 40]]),
        ("5.2", ClassRatio({"HAPPY": 0.2}), [[10, 10], [40, 40]]),
        ("5.3", Stereotyping(0.2, {"HAPPY": 0.9}), [[18, 72], [8, 2]]),
        ("5.4", ClassRatio({"HAPPY": 0.2}, stereotyping=0.9), [[18, 2], [8, 72]]),
    ],
)
def test_the_examples_of_the_papers_four_settings(section: str, condition: Condition, percent: list[list[int]]) -> None:
    assert 100 * condition.probabilities(MOJI, CLASSES, GROUPS) == pytest.approx(np.array(percent)), section


@pytest.mark.parametrize("alpha", [0, 0.25, 0.5, 1, 1.5, 2])
def test_on_moji_both_interpolations_are_a_stereotyping_ratio(alpha: float) -> None:
    ratio = (1 - alpha) * 0.8 + alpha * 0.5
    expected = Stereotyping(ratio).probabilities(MOJI)
    assert interpolate(MOJI, "CB", alpha) == pytest.approx(expected)
    assert interpolate(MOJI, "JB", alpha) == pytest.approx(expected)


def test_pairs_can_be_named_and_several_classes_may_share_a_group() -> None:
    counts = np.full((3, 3), 10)
    pairs = {"a": "x", "b": "x", "c": "z"}
    found = Stereotyping(0.6, {"a": 0.5}, pairs).probabilities(counts, "abc", "xyz")
    assert found == pytest.approx(np.array([[0.3, 0.1, 0.1], [0.15, 0.05, 0.05], [0.05, 0.05, 0.15]]))


def test_labels_of_any_kind_are_the_same_label() -> None:
    one, other = ClassRatio({1: 0.2}), ClassRatio({"1": 0.2})
    assert one == other
    assert np.array_equal(one.probabilities(MOJI, [0, 1]), other.probabilities(MOJI, ["0", "1"]))


def test_a_condition_is_made_by_its_name_and_made_again_from_its_settings() -> None:
    for condition, name in (
        (AsGiven(), "as_given"),
        (Interpolation("JB", 1), "interpolation"),
        (ClassRatio({"HAPPY": 0.2}, 0.9, {"HAPPY": "AAE", "SAD": "SAE"}), "class_ratio"),
        (Stereotyping(0.2, {"HAPPY": 0.9}), "stereotyping"),
    ):
        made = make_condition(name, **settings_of(condition))
        assert made == condition
        assert hash(made) == hash(condition)
        assert isinstance(made, Condition)
    assert Interpolation("cb", 2) == Interpolation("group_given_class", 2.0)


def test_a_condition_tells_what_it_is() -> None:
    assert str(AsGiven()) == "as given"
    assert str(Interpolation("JB", 1.5)) == "joint, alpha 1.5"
    assert str(ClassRatio({">50K": 0.9})) == "class ratio >50K 0.9, stereotyping none"
    assert str(ClassRatio({">50K": 0.9}, 0.8)) == "class ratio >50K 0.9, stereotyping 0.8"
    assert str(Stereotyping(0.8)) == "stereotyping 0.8, classes balanced"
    assert str(Stereotyping(0.8, {">50K": 0.9})) == "stereotyping 0.8, classes >50K 0.9"


@pytest.mark.parametrize(
    ("name", "settings", "complaint"),
    [
        ("interpolation", {"mode": "CB", "alpha": 3}, "alpha is 3"),
        ("interpolation", {"mode": "XB", "alpha": 1}, "mode 'XB' not found"),
        ("interpolation", {"mode": "CB"}, "cannot be made"),
        ("interpolation", {"mode": "CB", "alfa": 1}, "did you mean 'alpha'"),
        ("interpolatoin", {"mode": "CB", "alpha": 1}, "did you mean 'interpolation'"),
        ("class_ratio", {"shares": {"a": 1.2}}, "share of class 'a' is 1.2"),
        ("class_ratio", {"shares": {"a": float("nan")}}, "share of class 'a' is nan"),
        ("class_ratio", {"shares": {"a": 0.6, "b": 0.6}}, "sum to 1.2"),
        ("class_ratio", {"shares": {}}, "shares of classes, such as"),
        ("class_ratio", {"shares": "balanced"}, "shares of classes, such as"),
        ("class_ratio", {"shares": {"a": 0.5}, "stereotyping": "non"}, "did you mean 'none'"),
        ("class_ratio", {"shares": {"a": 0.5}, "stereotyping": -1}, "stereotyping is -1"),
        ("stereotyping", {"ratio": 1.1}, "ratio is 1.1"),
        ("stereotyping", {"ratio": None}, "ratio is None"),
        ("stereotyping", {"ratio": 0.5, "shares": "balance"}, "did you mean 'balanced'"),
        ("stereotyping", {"ratio": 0.5, "pairs": 3}, "a group for each class"),
    ],
)
def test_settings_that_mean_nothing_are_refused(name: str, settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        make_condition(name, **settings)


@pytest.mark.parametrize(
    ("condition", "counts", "complaint"),
    [
        (ClassRatio({"HAPY": 0.2}), MOJI, "did you mean 'HAPPY'"),
        (ClassRatio({"HAPPY": 0.2, "SAD": 0.2}), MOJI, "shares of all classes sum to 0.4"),
        (Stereotyping(0.2, pairs={"HAPPY": "AAE"}), MOJI, "No group is paired with class 'SAD'"),
        (Stereotyping(0.2, pairs={"HAPPY": "AEA", "SAD": "SAE"}), MOJI, "group 'AEA' not found"),
        (Stereotyping(0.2, pairs={"HAPY": "AAE", "SAD": "SAE"}), MOJI, "did you mean 'HAPPY'"),
        (Stereotyping(0.2), np.full((2, 2), 5), "no one group is over-represented"),
    ],
)
def test_what_the_data_do_not_have_is_refused(condition: Condition, counts: Any, complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        condition.probabilities(counts, CLASSES, GROUPS)


def test_a_stereotype_needs_two_groups_and_names_must_fit_the_counts() -> None:
    with pytest.raises(BadInput, match="only one group"):
        Stereotyping(0.5).probabilities([[1], [2]])
    with pytest.raises(BadInput, match="one name each"):
        Stereotyping(0.5).probabilities(MOJI, ["HAPPY"], GROUPS)
    with pytest.raises(BadInput, match="no name twice"):
        Stereotyping(0.5).probabilities(MOJI, CLASSES, ["AAE", "AAE"])
