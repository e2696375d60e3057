"""What must be true of a comparison of two representations, whoever wrote it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from equipoise.foundation import BadInput, Floats
from equipoise.measures import (
    Comparison,
    get_comparison,
)

TOLERANCE = 1e-9


def check_comparison(
    name: str, *, reference: Callable[..., Any] | None = None, trials: int = 10, seed: int = 0, **options: Any
) -> None:
    """Run the shared checks on a registered comparison; options go to it, and to the ``reference``, a slow version."""
    comparison = get_comparison(name)
    for number in range(trials):
        generator = np.random.default_rng([seed, number])
        before, after = random_pair(generator)
        answer = _answer(comparison, before, after, options)
        _check_order(comparison, before, after, answer, generator, options)
        _check_input_is_left_alone(comparison, before, after, answer, options)
        if reference is not None:
            expected = np.asarray(reference(before, after, **options), dtype=np.float64)
            agrees = np.allclose(answer, expected, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
            assert agrees, f"{name} is {answer}, its reference says {expected}"
    _check_rows_must_match(comparison, before, after, options)


def random_pair(generator: np.random.Generator) -> tuple[Floats, Floats]:
    """Return two representations of the same rows, of different widths and sizes, that share a part."""
    rows, width = int(generator.integers(12, 60)), int(generator.integers(2, 9))
    before = generator.normal(3.0, 2.0, (rows, width))
    shared = before @ generator.normal(size=(width, width + 1))
    return before, 0.1 * shared + generator.normal(-1.0, float(generator.uniform(0.01, 1.0)), shared.shape)


def _answer(comparison: Comparison, before: Floats, after: Floats, options: dict[str, Any]) -> Floats:
    answer = np.asarray(comparison(before, after, **options), dtype=np.float64)
    shape = (len(before),) if comparison.pointwise else ()
    assert answer.shape == shape, f"{comparison.name} answers with the shape {answer.shape}, not {shape}"
    return answer


def _check_order(
    comparison: Comparison,
    before: Floats,
    after: Floats,
    answer: Floats,
    generator: np.random.Generator,
    options: dict[str, Any],
) -> None:
    order = generator.permutation(len(before))
    shuffled = _answer(comparison, before[order], after[order], options)
    expected = answer[order] if comparison.pointwise else answer
    agrees = np.allclose(shuffled, expected, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
    assert agrees, f"{comparison.name} depends on the order of rows"


def _check_input_is_left_alone(
    comparison: Comparison, before: Floats, after: Floats, answer: Floats, options: dict[str, Any]
) -> None:
    copies = before.copy(), after.copy()
    for array in (before, after):
        array.flags.writeable = False
    again = _answer(comparison, before, after, options)
    assert np.array_equal(again, answer, equal_nan=True), f"{comparison.name} differs between two calls"
    assert np.array_equal(before, copies[0]), f"{comparison.name} wrote to what it was given"
    assert np.array_equal(after, copies[1]), f"{comparison.name} wrote to what it was given"


def _check_rows_must_match(comparison: Comparison, before: Floats, after: Floats, options: dict[str, Any]) -> None:
    try:
        comparison(before, after[:-1], **options)
    except BadInput:
        return
    raise AssertionError(f"{comparison.name} compares representations of different numbers of rows")
