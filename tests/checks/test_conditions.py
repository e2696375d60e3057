"""The shared checks over every registered condition, and proof that they bite."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import equipoise
from equipoise.conditions import shares_of
from equipoise.foundation import registry
from equipoise.testing import check
from helpers.oracles.condition import CONDITION_ORACLES

NAMES = [entry.name for entry in registry.entries("condition")]
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "as_given": [{}],
    "interpolation": [
        {"mode": mode, "alpha": alpha}
        for mode in ("JB", "CB", "class_given_group", "class_only", "group_only")
        for alpha in (0, 0.75, 1, 2)
    ],
    "class_ratio": [
        {"shares": {"1": 0.2}},
        {"shares": {"0": 0.9}, "stereotyping": 0.9},
        {"shares": {"1": 0.5}, "stereotyping": "as_given"},
    ],
    "minoritised": [{"degree": degree, "classes": 1} for degree in (0.5, 0.75, 0.9)],
    "stereotyping": [{"ratio": 0.8}, {"ratio": 0.1, "shares": {"0": 0.9}}, {"ratio": 0.5, "shares": "as_given"}],
}


@pytest.fixture(autouse=True)
def registered_conditions_are_put_back() -> Iterator[None]:
    found = dict(registry._entries["condition"])
    yield
    registry._entries["condition"].clear()
    registry._entries["condition"].update(found)


@pytest.mark.parametrize("name", NAMES)
def test_every_condition_passes_the_shared_checks_and_agrees_with_its_slow_reference(name: str) -> None:
    for settings in SETTINGS[name]:
        check("condition", name, reference=CONDITION_ORACLES[name], trials=4, **settings)


def test_every_reference_belongs_to_a_condition() -> None:
    assert set(CONDITION_ORACLES) == set(NAMES) == set(SETTINGS)


# The checks bite.


class Sound:
    """The shares of the data."""

    version = 1

    def probabilities(self, counts: Any, classes: Any = None, groups: Any = None) -> Any:
        return self.changed(shares_of(counts))

    def changed(self, shares: Any) -> Any:
        return shares


def register(kind: type, **options: Any) -> None:
    equipoise.condition("broken", paper="none", **options)(kind)


def test_a_sound_new_condition_passes() -> None:
    register(Sound)
    check("condition", "broken", trials=3)


class Negative(Sound):
    """A share below 0."""

    def changed(self, shares: Any) -> Any:
        return 3 * shares / 2 - 0.5 / shares.size


class NotWhole(Sound):
    """Half of everything."""

    def changed(self, shares: Any) -> Any:
        return shares / 2


class Ordered(Sound):
    """All for the first class."""

    def changed(self, shares: Any) -> Any:
        shares[1:] = 0
        return shares / shares.sum()


class Flat(Sound):
    """One row for all."""

    def changed(self, shares: Any) -> Any:
        return shares.reshape(1, -1)


class Restless(Sound):
    """Another answer each time."""

    def changed(self, shares: Any) -> Any:
        moved = shares + 1e-3 * np.random.default_rng().random(shares.shape)
        return moved / moved.sum()


class Careless(Sound):
    """It takes any counts."""

    def probabilities(self, counts: Any, classes: Any = None, groups: Any = None) -> Any:
        return np.asarray(counts) / np.sum(counts)


class Greedy(Sound):
    """It writes into what it is given."""

    def probabilities(self, counts: Any, classes: Any = None, groups: Any = None) -> Any:
        shares = shares_of(counts)
        counts[0, 0] += 1
        return shares


class Nameless(Sound):
    """A version that is no whole number."""

    version = "first"  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("kind", "complaint"),
    [
        (Negative, "a negative share"),
        (NotWhole, "sum to 0.5"),
        (Ordered, "depends on the order of classes or groups"),
        (Flat, "answers with the shape"),
        (Restless, "differs between two calls"),
        (Careless, "shares_of of equipoise.conditions refuses them"),
        (Greedy, "changes the counts it is given"),
        (Nameless, "not a whole number"),
    ],
)
def test_a_broken_condition_is_caught(kind: type, complaint: str) -> None:
    register(kind)
    with pytest.raises(AssertionError, match=complaint):
        check("condition", "broken", trials=5)


def test_a_condition_that_disagrees_with_its_reference_is_caught() -> None:
    with pytest.raises(AssertionError, match="its reference says"):
        check("condition", "interpolation", reference=lambda counts, *_, **__: shares_of(counts), mode="JB", alpha=1)


def test_a_condition_that_cannot_be_applied_is_refused() -> None:
    class Empty:
        """Nothing."""

    register(Empty)
    with pytest.raises(equipoise.BadInput, match="cannot be applied"):
        check("condition", "broken")
