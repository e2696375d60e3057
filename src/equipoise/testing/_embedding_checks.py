"""What must be true of a measure of an embedding, whoever wrote it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.measures import (
    Measure,
    get_measure,
)
from equipoise.tallies import (
    Coded,
    EmbeddingSpace,
    EmbeddingTally,
)

# classes, points, groups
Rows = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
Reference = Callable[..., float]
TOLERANCE = 1e-9


def check_embedding_measure(name: str, *, reference: Reference | None = None, trials: int = 25, seed: int = 0) -> None:
    """Run the shared checks on a measure of an embedding.

    ``reference(target, points, group, weights, favourable)`` is a slow version; the last two are always None.
    """
    measure = get_measure(name)
    for number in range(trials):
        generator = np.random.default_rng([seed, number])
        rows = random_points(generator)
        _check_order(measure, rows, generator)
        _check_names(measure, rows)
        _check_bounds(measure, rows)
        _check_doing_it_twice(measure, rows)
        if measure.kind == "gap":
            _check_equal_groups(measure, rows)
        if reference is not None:
            _check_reference(measure, rows, reference)
    _check_nobody(measure)


def random_points(generator: np.random.Generator) -> Rows:
    """Return random points of a few classes, one of them with a single member, in groups of different sizes."""
    n, width = int(generator.integers(20, 60)), int(generator.integers(2, 6))
    classes = generator.integers(0, int(generator.integers(2, 6)), n)
    classes[0] = 99
    points = generator.normal(0.3, 1.0, (n, width)) + generator.normal(0.0, 1.5, (100, width))[classes]
    groups = generator.choice(list("abcd")[: int(generator.integers(2, 5))], n, p=None)
    groups[: n // 2] = "b"
    groups[-4:] = "a"
    return classes, points, groups


def value_of(measure: Measure, rows: Rows, **options: Any) -> float:
    """Call the measure with arrays."""
    classes, points, groups = rows
    return measure(classes, points, sensitive_features=groups, **options)


def _agree(first: float, second: float) -> bool:
    return bool(np.isclose(first, second, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True))


def _variants(measure: Measure) -> list[str]:
    return ["paper", *sorted(measure.variants)]


def _check_order(measure: Measure, rows: Rows, generator: np.random.Generator) -> None:
    order = generator.permutation(len(rows[0]))
    shuffled = (rows[0][order], rows[1][order], rows[2][order])
    for variant in _variants(measure):
        first, second = (value_of(measure, points, variant=variant) for points in (rows, shuffled))
        assert _agree(first, second), f"{measure.name} depends on the order of rows: {first} and {second}"


def _check_names(measure: Measure, rows: Rows) -> None:
    classes, points, groups = rows
    # The new names stand in another order than the old ones.
    names = {name: f"group {9 - index}" for index, name in enumerate(sorted(set(groups.tolist())))}
    renamed = np.array([names[name] for name in groups.tolist()])
    other_classes = np.array([f"class {199 - label}" for label in classes.tolist()])
    for variant in _variants(measure):
        first = value_of(measure, rows, variant=variant)
        second = value_of(measure, (other_classes, points, renamed), variant=variant)
        assert _agree(first, second), f"{measure.name} depends on the names of groups or classes: {first} and {second}"


def _check_bounds(measure: Measure, rows: Rows) -> None:
    low, high = measure.bounds
    value = value_of(measure, rows)
    inside = np.isnan(value) or low - TOLERANCE <= value <= high + TOLERANCE
    assert inside, f"{measure.name} gave {value}, outside [{low}, {high}]"


def _check_doing_it_twice(measure: Measure, rows: Rows) -> None:
    first, second = (value_of(measure, rows, seed=3, metric="cosine") for _ in range(2))
    assert first == second or (np.isnan(first) and np.isnan(second)), f"{measure.name} differs for the same seed"


def _check_equal_groups(measure: Measure, rows: Rows) -> None:
    """A gap is 0 when two groups hold the same points, whichever of them is called majoritised."""
    classes, points, _ = rows
    twice = (np.tile(classes, 2), np.tile(points, (2, 1)), np.repeat(["a", "b"], len(classes)))
    for variant in _variants(measure):
        value = value_of(measure, twice, variant=variant, majoritised="a")
        assert np.isnan(value) or abs(value) < 1e-6, f"{measure.name} is {value} though the groups are alike"


def _check_reference(measure: Measure, rows: Rows, reference: Reference) -> None:
    classes, points, groups = rows
    value = value_of(measure, rows)
    expected = reference(classes, points, groups, None, None)
    close = np.isclose(value, expected, rtol=1e-7, atol=1e-9, equal_nan=True)
    assert close, (
        f"{measure.name} is {value}, its reference says {expected} "
        f"(target={classes.tolist()}, embedding={points.tolist()}, group={groups.tolist()})"
    )


def _check_nobody(measure: Measure) -> None:
    """Where a group has nobody its number, and every gap that compares it, is undefined."""
    generator = np.random.default_rng(0)
    classes = Coded(np.repeat([0, 1, 2], 4), ("x", "y", "z"))
    space = EmbeddingSpace(generator.normal(size=(12, 3)), classes)
    values = measure.by_class(EmbeddingTally(space, np.zeros(12, dtype=np.int64), ("a", "nobody")))
    empty = values if measure.kind not in ("rate", "value") else values[1]
    assert np.isnan(empty).all(), f"{measure.name} is {values.tolist()} though a group has nobody"
