"""Conditions by the names that people read: no two alike, and the plan's name kept beside them."""

from __future__ import annotations

import pytest

from equipoise.studies.findings._result import ConditionRecord
from equipoise.studies.findings._words import condition_phrases, condition_titles, with_symbol


def condition(name: str, mode: str | None = None, alpha: float | None = None) -> ConditionRecord:
    return ConditionRecord(condition=name, mode=mode, alpha=alpha, size=100)


@pytest.mark.parametrize(
    ("mode", "alpha", "title", "phrase"),
    [
        ("CB", 0.0, "original data", "with original data"),
        ("CB", 1.0, "class-balanced", "with class-balanced data"),
        ("CB", 0.5, "50% class-balanced", "with 50% class-balanced data"),
        ("JB", 1.0, "jointly balanced", "with jointly balanced data"),
        ("CB", 2.0, "imbalance reversed (CB alpha 2)", "under imbalance reversed (CB alpha 2)"),
        ("JB", 1.5, "past balance (JB alpha 1.5)", "under past balance (JB alpha 1.5)"),
    ],
)
def test_an_interpolation_has_a_name_that_people_read(mode: str, alpha: float, title: str, phrase: str) -> None:
    name = f"{mode} alpha {alpha:g}"
    assert condition_titles([condition(name, mode, alpha)]) == {name: title}
    assert condition_phrases([condition(name, mode, alpha)]) == {name: phrase}
    assert name in with_symbol(title, name)


def test_other_conditions_keep_their_names_and_no_two_are_called_alike() -> None:
    own = condition("group only, alpha 1", "group only", 1.0)
    assert condition_titles([condition("as given"), own]) == {
        "as given": "as given", "group only, alpha 1": "group only, alpha 1",
    }  # fmt: skip
    both = [condition("CB alpha 0", "CB", 0.0), condition("JB alpha 0", "JB", 0.0)]
    assert condition_titles(both) == {
        "CB alpha 0": "original data (CB alpha 0)", "JB alpha 0": "original data (JB alpha 0)",
    }  # fmt: skip
