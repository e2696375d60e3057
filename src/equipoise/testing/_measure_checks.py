"""What must be true of a measure, whoever wrote it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.measures import (
    Measure,
    get_measure,
    tally_of,
)
from equipoise.tallies import (
    RESIDUAL_SUMS,
    SCORE_BINS,
    ResidualPivot,
    ScoreHistogram,
    ScoreScale,
    confusion,
    residual_moments,
)
from equipoise.testing._embedding_checks import check_embedding_measure

# target, outcome (prediction or score), group, weights
Rows = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[np.float64]]
Reference = Callable[..., float]
TOLERANCE = 1e-9


def check_measure(name: str, *, reference: Reference | None = None, trials: int = 25, seed: int = 0) -> None:
    """Run the shared checks on a registered measure.

    ``reference(target, outcome, group, weights, favourable)`` is a slow version written row by row; with it, values
    are compared on random data, weighted and not, with many groups and classes and with empty cells.
    """
    measure = get_measure(name)
    if measure.needs == "embedding":
        check_embedding_measure(name, reference=reference, trials=trials, seed=seed)
        return
    for number in range(trials):
        generator = np.random.default_rng([seed, number])
        rows = random_rows(measure, generator)
        _check_order(measure, rows, generator)
        _check_names(measure, rows)
        _check_bounds(measure, rows)
        _check_merging(measure, rows)
        if measure.kind == "gap":
            _check_equal_groups(measure, rows)
        if reference is not None:
            _check_reference(measure, rows, reference)
    _check_empty_denominator(measure)
    _check_nobody(measure)


def random_rows(measure: Measure, generator: np.random.Generator) -> Rows:
    """Return random rows that the measure can read, with small cells so that some are empty."""
    n = int(generator.integers(12, 80))
    groups = generator.choice(list("abcde")[: int(generator.integers(2, 6))], n)
    groups[:2] = ["a", "b"]
    weights = generator.integers(1, 4, n).astype(np.float64)
    if measure.needs == "residuals":
        target = generator.normal(100.0, 3.0, n)
        return target, target + generator.normal(1.0, 2.0, n), groups, weights
    classes = 2 if measure.needs == "scores" else int(generator.integers(2, 5))
    labels = generator.integers(0, classes, n)
    labels[:2] = [0, 1]
    if measure.needs == "scores":
        return labels, generator.integers(0, 101, n) / 100, groups, weights
    guesses = np.where(generator.random(n) < 0.6, labels, generator.integers(0, classes, n))
    return labels, guesses, groups, weights


def value_of(measure: Measure, rows: Rows, *, favourable: object = None, weighted: bool = False) -> float:
    """Call the measure with arrays; a mean over two classes is asked for on purpose."""
    target, outcome, group, weights = rows
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* is the mean over the classes")
        return measure(
            target,
            outcome,
            sensitive_features=group,
            favourable=favourable,
            sample_weight=weights if weighted else None,
        )


def _questions(measure: Measure, rows: Rows) -> Iterator[tuple[object, bool]]:
    """Yield what can be asked of the measure: overall and one class, without and with weights."""
    favourables: list[object] = [None]
    if measure.classwise and measure.needs != "scores":
        favourables.append(int(rows[0][0]))
    for favourable in favourables:
        for weighted in (False, True):
            yield favourable, weighted


def _agree(first: float, second: float) -> bool:
    return bool(np.isclose(first, second, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True))


def _check_order(measure: Measure, rows: Rows, generator: np.random.Generator) -> None:
    order = generator.permutation(len(rows[0]))
    shuffled = tuple(part[order] for part in rows)
    for favourable, weighted in _questions(measure, rows):
        first = value_of(measure, rows, favourable=favourable, weighted=weighted)
        second = value_of(measure, shuffled, favourable=favourable, weighted=weighted)  # type: ignore[arg-type]
        assert _agree(first, second), f"{measure.name} depends on the order of rows: {first} and {second}"


def _check_names(measure: Measure, rows: Rows) -> None:
    target, outcome, group, weights = rows
    # The new names stand in another order than the old ones.
    names = {name: f"group {9 - index}" for index, name in enumerate(sorted(set(group.tolist())))}
    renamed = np.array([names[name] for name in group.tolist()])
    first = value_of(measure, rows)
    second = value_of(measure, (target, outcome, renamed, weights))
    assert _agree(first, second), f"{measure.name} depends on the names of groups: {first} and {second}"


def _check_bounds(measure: Measure, rows: Rows) -> None:
    low, high = measure.bounds
    value = value_of(measure, rows)
    inside = np.isnan(value) or low - TOLERANCE <= value <= high + TOLERANCE
    assert inside, f"{measure.name} gave {value}, outside [{low}, {high}]"


def _check_merging(measure: Measure, rows: Rows) -> None:
    """Equal weights of 2 are the same as every row twice: a measure is a function of counts, not of rows."""
    if measure.needs == "residuals":
        return
    doubled = tuple(np.concatenate([part, part]) for part in rows)
    weights = np.full(len(rows[0]), 2.0)
    first = value_of(measure, doubled)  # type: ignore[arg-type]
    second = value_of(measure, (rows[0], rows[1], rows[2], weights), weighted=True)
    assert _agree(first, second), f"{measure.name}: every row twice gives {first}, weights of two {second}"


def _check_equal_groups(measure: Measure, rows: Rows) -> None:
    """A gap is 0 when the groups' slices are proportional."""
    target, outcome, _, weights = rows
    twice, thrice = (np.concatenate([part] * 3) for part in (target, outcome))
    group = np.repeat(["a", "b", "b"], len(target))
    value = value_of(measure, (twice, thrice, group, np.concatenate([weights] * 3)))
    assert np.isnan(value) or abs(value) < 1e-6, f"{measure.name} is {value} though the groups are alike"


def _check_reference(measure: Measure, rows: Rows, reference: Reference) -> None:
    target, outcome, group, weights = rows
    for favourable, weighted in _questions(measure, rows):
        value = value_of(measure, rows, favourable=favourable, weighted=weighted)
        expected = reference(target, outcome, group, weights if weighted else None, favourable)
        close = np.isclose(value, expected, rtol=1e-7, atol=1e-9, equal_nan=True)
        assert close, (
            f"{measure.name} is {value}, its reference says {expected} "
            f"(favourable={favourable!r}, weighted={weighted}, target={target.tolist()}, "
            f"outcome={outcome.tolist()}, group={group.tolist()})"
        )


def _check_nobody(measure: Measure) -> None:
    """Where nobody was counted every number is undefined."""
    none = np.zeros((2, 2, SCORE_BINS + 1))
    tallies: dict[str, object] = {
        "scores": ScoreHistogram(none, none, none, none, none, ("a", "b"), ScoreScale()),
        "residuals": residual_moments(np.zeros((2, RESIDUAL_SUMS)), ("a", "b"), ResidualPivot(0.0, 0.0)),
    }
    values = measure.by_class(tallies.get(measure.needs, confusion(np.zeros((2, 2, 2)))))
    assert np.isnan(values).all(), f"{measure.name} is {values.tolist()} though no denominator has anybody"


def _check_empty_denominator(measure: Measure) -> None:
    """Where a group has nobody in the denominator the answer is NaN, never a number."""
    if measure.kind in ("gap", "summary") and measure.of is not None:
        empty = {
            "true_positive_rate": ([0, 0, 0, 1], [0, 1, 1, 1], 1),
            "false_positive_rate": ([1, 1, 1, 0], [0, 1, 1, 1], 1),
            "positive_predictive_value": ([0, 1, 1, 1], [0, 0, 1, 1], 1),
        }.get(measure.of)
        if empty is None or not measure.classwise:
            return
        target, outcome, favourable = empty
        rows = (np.array(target), np.array(outcome), np.array(["a", "a", "b", "b"]), np.ones(4))
        tally = tally_of("counts", rows[:2], sensitive_features=rows[2])
        of = get_measure(measure.of)
        if np.isnan(of.by_class(tally)[:, favourable]).any():
            value = value_of(measure, rows, favourable=favourable)
            assert np.isnan(value), f"{measure.name} is {value} though a group has no denominator"
