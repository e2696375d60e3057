"""The shared checks over every registered comparison, and proof that they bite."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import equipoise
from equipoise import measures
from equipoise.foundation import BadInput, registry
from equipoise.measures import (
    Comparison,
    get_comparison,
)
from equipoise.testing import check
from helpers.oracles.comparison import COMPARISON_ORACLES

NAMES = [entry.name for entry in registry.entries("comparison")]
NEEDED: dict[str, dict[str, Any]] = {"neighbour_overlap": {"k": 3}}


@pytest.fixture(autouse=True)
def registered_comparisons_are_put_back() -> Iterator[None]:
    found = dict(registry._entries["comparison"])
    yield
    registry._entries["comparison"].clear()
    registry._entries["comparison"].update(found)


@pytest.mark.parametrize("name", NAMES)
def test_every_comparison_passes_the_shared_checks_and_agrees_with_its_slow_reference(name: str) -> None:
    check("comparison", name, reference=COMPARISON_ORACLES[name], trials=5, **NEEDED.get(name, {}))


def test_every_reference_belongs_to_a_comparison() -> None:
    assert set(COMPARISON_ORACLES) == set(NAMES) == {"pnka", "aggregate_pnka", "cka", "neighbour_overlap"}


def test_a_comparison_is_found_by_name_and_alias_and_tells_what_it_is() -> None:
    assert measures.pnka is measures.PNKA is get_comparison("PNKA")
    assert isinstance(measures.cka, Comparison)
    assert measures.pnka.pointwise
    assert not measures.aggregate_pnka.pointwise
    assert {"pnka", "demographic_parity"} <= set(dir(measures))
    assert "cos(K_i, K'_i)" in repr(measures.pnka)
    assert list(inspect.signature(measures.neighbour_overlap).parameters) == ["before", "after", "k", "metric"]
    assert "NaN for a" in str(measures.pnka.__doc__)
    assert "kornblith2019" in measures.cka.bibtex


def test_a_name_that_neither_a_measure_nor_a_comparison_has_is_refused() -> None:
    with pytest.raises(AttributeError, match="measure 'pnkaa' not found"):
        _ = measures.pnkaa


# The checks bite.


def register(function: Any, **options: Any) -> None:
    equipoise.comparison("broken", paper="none", **options)(function)


def test_a_sound_new_comparison_passes() -> None:
    def sound(before: Any, after: Any) -> float:
        """Half of CKA."""
        return 0.5 * float(measures.cka(before, after))

    register(sound)
    check("comparison", "broken", trials=3)


def test_a_comparison_that_answers_in_another_shape_is_caught() -> None:
    def number(before: Any, after: Any) -> float:
        """One number where a score a row is promised."""
        return float(measures.cka(before, after))

    register(number, pointwise=True)
    with pytest.raises(AssertionError, match="answers with the shape"):
        check("comparison", "broken")


def test_a_comparison_that_depends_on_the_order_of_rows_is_caught() -> None:
    def ordered(before: Any, after: Any) -> Any:
        """Scores that are sorted, and so belong to nobody."""
        return np.sort(measures.pnka(before, after))

    register(ordered, pointwise=True)
    with pytest.raises(AssertionError, match="depends on the order of rows"):
        check("comparison", "broken")


def test_a_comparison_that_answers_differently_to_the_same_rows_is_caught() -> None:
    generator = np.random.default_rng(0)

    def restless(before: Any, after: Any) -> float:
        """CKA with a trace of noise, below what an order of rows may change."""
        return float(measures.cka(before, after)) + 1e-12 * generator.random()

    register(restless)
    with pytest.raises(AssertionError, match="differs between two calls"):
        check("comparison", "broken")


def test_a_comparison_that_takes_different_numbers_of_rows_is_caught() -> None:
    def careless(before: Any, after: Any) -> float:
        """The difference of two means."""
        return round(float(np.mean(before) - np.mean(after)), 9)

    register(careless)
    with pytest.raises(AssertionError, match="different numbers of rows"):
        check("comparison", "broken", trials=3)


def test_a_comparison_that_disagrees_with_its_reference_is_caught() -> None:
    with pytest.raises(AssertionError, match="its reference says"):
        check("comparison", "aggregate_pnka", reference=COMPARISON_ORACLES["cka"])


def test_a_second_comparison_of_a_name_is_refused() -> None:
    def cka(before: Any, after: Any) -> float:
        """Another CKA."""
        return 0.0

    with pytest.raises(BadInput, match="already registered"):
        equipoise.comparison("cka", paper="none")(cka)
