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
        classes, groups = (tuple(str(place) for place in range(length)) for length in counts.shape)
        found = _shares(condition, name, counts, classes, groups)
        _check_names_travel(condition, name, counts, found, generator)
        again = make_condition(name, **settings_of(condition)).probabilities(counts, classes, groups)
        assert np.array_equal(found, again), f"{name} made again from its settings gives other shares"
        if reference is not None:
            expected = np.asarray(reference(counts, classes, groups, **settings), dtype=np.float64)
            same = np.allclose(found, expected, rtol=TOLERANCE, atol=TOLERANCE)
            assert same, f"{name} is {found}, its reference says {expected}"
        _check_draw(name, counts, found, number)
    _check_bad_counts(condition, name)


def random_counts(generator: np.random.Generator) -> NDArray[np.int64]:
    """Return counts of two to four classes in two to four groups, uneven, with at least one row in each cell."""
    shape = tuple(generator.integers(2, 5, 2).tolist())
    return generator.integers(1, 10 ** generator.integers(1, 4, shape) + 1, shape)


def _shares(
    condition: Condition, name: str, counts: NDArray[np.int64], classes: tuple[str, ...], groups: tuple[str, ...]
) -> Floats:
    kept = counts.copy()
    found = np.asarray(condition.probabilities(counts, classes, groups), dtype=np.float64)
    assert np.array_equal(counts, kept), f"{name} changes the counts it is given"
    assert found.shape == counts.shape, f"{name} answers with the shape {found.shape}, not {counts.shape}"
    assert (found >= 0).all(), f"{name} gives a negative share: {found}"
    assert abs(found.sum() - 1) < TOLERANCE, f"the shares of {name} sum to {found.sum()}"
    again = condition.probabilities(counts, classes, groups)
    assert np.array_equal(found, again), f"{name} differs between two calls"
    return found


def _check_names_travel(
    condition: Condition, name: str, counts: NDArray[np.int64], found: Floats, generator: np.random.Generator
) -> None:
    rows, columns = (generator.permutation(length) for length in counts.shape)
    shuffled = condition.probabilities(counts[np.ix_(rows, columns)], rows.tolist(), columns.tolist())
    same = np.allclose(shuffled, found[np.ix_(rows, columns)], rtol=TOLERANCE, atol=TOLERANCE)
    assert same, f"{name} depends on the order of classes or groups"


def _check_draw(name: str, counts: NDArray[np.int64], shares: Floats, seed: int) -> None:
    class_codes, group_codes = (np.repeat(codes.reshape(-1), counts.reshape(-1)) for codes in np.indices(counts.shape))
    drawn = draw(class_codes, group_codes, shares, seed=seed)
    assert len(set(drawn.rows.tolist())) == len(drawn.rows), f"{name} repeats rows at its default size"
    taken = np.zeros(counts.shape, dtype=np.int64)
    np.add.at(taken, (class_codes[drawn.rows], group_codes[drawn.rows]), 1)
    wanted = apportion(shares, len(drawn.rows))
    assert np.array_equal(taken, wanted), f"the rows drawn for {name} are {taken}, its shares say {wanted}"


def _check_bad_counts(condition: Condition, name: str) -> None:
    for bad in ([[1.0, np.nan], [2.0, 3.0]], [[1, -1], [2, 3]], [[0, 0], [2, 3]]):
        try:
            found = condition.probabilities(bad)
        except BadInput:
            continue
        if bad[0] == [0, 0] and not np.any(found[0]):
            # A class without rows may also have no share.
            continue
        raise AssertionError(
            f"{name} answers {found} to the counts {bad}: shares_of of equipoise.conditions refuses them"
        )
