"""What must be true of a condition, whoever wrote it: its shares are shares, and rows can be drawn that follow them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.conditions import Condition, apportion, draw, make_condition, settings_of
from equipoise.foundation import BadInput, Floats

TOLERANCE = 1e-9


def check_condition(
    name: str, *, reference: Callable[..., Any] | None = None, trials: int = 10, seed: int = 0, **settings: Any
) -> None:
    """Run the shared checks on a registered condition, made with ``settings``.

    ``reference(counts, classes, groups, **settings)`` is a slow version. Classes and groups are called "0", "1", ..
    """
    condition = make_condition(name, **settings)
    version = condition.version
    assert isinstance(version, int), f"the version of {name} is {version!r}, not a whole number"
    for number in range(trials):
        generator = np.random.default_rng([seed, number])
        counts = random_counts(generator)
        classes, groups = (tuple(str(index) for index in range(length)) for length in counts.shape)
        probabilities = _shares(condition, name, counts, classes, groups)
        _check_names_travel(condition, name, counts, probabilities, generator)
        again = make_condition(name, **settings_of(condition)).probabilities(counts, classes, groups)
        assert np.array_equal(probabilities, again), f"{name} made again from its settings gives other shares"
        if reference is not None:
            expected = np.asarray(reference(counts, classes, groups, **settings), dtype=np.float64)
            agrees = np.allclose(probabilities, expected, rtol=TOLERANCE, atol=TOLERANCE)
            assert agrees, f"{name} is {probabilities}, its reference says {expected}"
        _check_draw(name, counts, probabilities, number)
    _check_bad_counts(condition, name)


def random_counts(generator: np.random.Generator) -> NDArray[np.int64]:
    """Return counts of two to four classes in two to four groups, uneven, with at least one row in each cell."""
    shape = tuple(generator.integers(2, 5, 2).tolist())
    return generator.integers(1, 10 ** generator.integers(1, 4, shape) + 1, shape)


def _shares(
    condition: Condition, name: str, counts: NDArray[np.int64], classes: tuple[str, ...], groups: tuple[str, ...]
) -> Floats:
    counts_before = counts.copy()
    probabilities = np.asarray(condition.probabilities(counts, classes, groups), dtype=np.float64)
    assert np.array_equal(counts, counts_before), f"{name} changes the counts it is given"
    assert probabilities.shape == counts.shape, (
        f"{name} answers with the shape {probabilities.shape}, not {counts.shape}"
    )
    assert (probabilities >= 0).all(), f"{name} gives a negative share: {probabilities}"
    assert abs(probabilities.sum() - 1) < TOLERANCE, f"the shares of {name} sum to {probabilities.sum()}"
    again = condition.probabilities(counts, classes, groups)
    assert np.array_equal(probabilities, again), f"{name} differs between two calls"
    return probabilities


def _check_names_travel(
    condition: Condition, name: str, counts: NDArray[np.int64], probabilities: Floats, generator: np.random.Generator
) -> None:
    rows, columns = (generator.permutation(length) for length in counts.shape)
    shuffled = condition.probabilities(counts[np.ix_(rows, columns)], rows.tolist(), columns.tolist())
    agrees = np.allclose(shuffled, probabilities[np.ix_(rows, columns)], rtol=TOLERANCE, atol=TOLERANCE)
    assert agrees, f"{name} depends on the order of classes or groups"


def _check_draw(name: str, counts: NDArray[np.int64], shares: Floats, seed: int) -> None:
    class_codes, group_codes = (np.repeat(codes.reshape(-1), counts.reshape(-1)) for codes in np.indices(counts.shape))
    sample = draw(class_codes, group_codes, shares, seed=seed)
    assert len(set(sample.rows.tolist())) == len(sample.rows), f"{name} repeats rows at its default size"
    sample_counts = np.zeros(counts.shape, dtype=np.int64)
    np.add.at(sample_counts, (class_codes[sample.rows], group_codes[sample.rows]), 1)
    expected_counts = apportion(shares, len(sample.rows))
    assert np.array_equal(sample_counts, expected_counts), (
        f"the rows drawn for {name} are {sample_counts}, its shares say {expected_counts}"
    )


def _check_bad_counts(condition: Condition, name: str) -> None:
    for bad in ([[1.0, np.nan], [2.0, 3.0]], [[1, -1], [2, 3]], [[0, 0], [2, 3]]):
        try:
            probabilities = condition.probabilities(bad)
        except BadInput:
            continue
        if bad[0] == [0, 0] and not np.any(probabilities[0]):
            # A class without rows may also have no share.
            continue
        raise AssertionError(
            f"{name} answers {probabilities} to the counts {bad}: shares_of of equipoise.conditions refuses them"
        )
