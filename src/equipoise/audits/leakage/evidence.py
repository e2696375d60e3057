"""From out-of-fold guesses of the group to numbers with intervals and tests.

Accuracy has Wilson's interval. Balanced accuracy puts the groups' Wilson intervals together by the distance of each
end from its rate (MOVER; Zou and Donner 2008). With clusters the rows count as fewer: n is divided by how much the
clusters widen the variance. Out-of-fold guesses help or mislead each other: two rows of different folds are each among
those that the other's guess was learnt from, and what they share counts twice. So where nothing can be read the
variance can be 1 + (folds - 1) / folds times that of independent guesses; every interval and test allows for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from equipoise.audits.downstream.macro import pairs_of
from equipoise.audits.downstream.splits import Codes
from equipoise.audits.downstream.table_draws import Units, permuted_rows, permuted_units
from equipoise.stats import most_draws, sequential_permutation, wilson

Floats = NDArray[np.float64]

# Tables are cheap to draw: so many times the draws that were asked for at the most.
CHEAP = 10


@dataclass(frozen=True)
class Reading:
    """How well groups were read, from one set of guesses."""

    people: int
    accuracy: float
    accuracy_ends: tuple[float, float]
    majority: float
    accuracy_p: float
    balanced: float
    balanced_ends: tuple[float, float]
    balanced_p: float | None
    interval: str
    test: str
    limited: bool | None = None


def reading_of(
    codes: Codes, plain: Codes, even: Codes, number: int, units: Codes | None, draws: int,
    generator: np.random.Generator, folds: int, tests: int = 1,
) -> Reading:  # fmt: skip
    """Judge guesses: ``plain`` for accuracy, ``even`` (at equal shares) for balanced accuracy.

    With one fold the guesses were learnt elsewhere, and are independent. ``tests`` is how many the report makes.
    """
    widening = 1 + (folds - 1) / folds
    right = (plain == codes).astype(np.float64)
    accuracy, people = float(right.mean()), effective_rows(right, units) / widening
    majority = float(np.bincount(codes, minlength=number).max() / len(codes))
    ends = wilson(accuracy * people, people)
    rates, lows, highs = np.empty(number), np.empty(number), np.empty(number)
    for group in range(number):
        own = codes == group
        hits = (even[own] == group).astype(np.float64)
        rows = effective_rows(hits, None if units is None else units[own]) / widening
        rates[group] = hits.mean()
        low, high = wilson(rates[group] * rows, rows)
        lows[group], highs[group] = float(low), float(high)
    balanced = float(rates.mean())
    p, limited, test = _permutation(codes, even, number, units, most_draws(tests, CHEAP * draws), generator, widening)
    return Reading(
        people=len(codes),
        accuracy=accuracy,
        accuracy_ends=(float(ends[0]), float(ends[1])),
        majority=majority,
        accuracy_p=_above(right, majority, people),
        balanced=balanced,
        balanced_ends=(
            balanced - float(np.sqrt(((rates - lows) ** 2).sum())) / number,
            balanced + float(np.sqrt(((highs - rates) ** 2).sum())) / number,
        ),
        balanced_p=p,
        interval="score" if units is None else "score, for clusters",
        test=test,
        limited=limited,
    )


def effective_rows(hits: Floats, units: Codes | None) -> float:
    """Return how many independent rows would vary as much as these, which come in clusters."""
    rows = len(hits)
    if units is None:
        return float(rows)
    found, codes = np.unique(units, return_inverse=True)
    rate = hits.mean()
    # Nobody or everybody is right: nothing varies, and the clusters are all that can be counted on.
    if rate in (0.0, 1.0) or len(found) < 2:
        return float(len(found))
    residuals = np.bincount(codes.reshape(-1), weights=hits - rate)
    variance = (residuals**2).sum() / rows**2 * len(found) / (len(found) - 1)
    return float(np.clip(rate * (1 - rate) / variance, 1.0, rows)) if variance > 0 else float(rows)


def _above(right: Floats, majority: float, people: float) -> float:
    """Return the one-sided p that the accuracy is no higher than the majority rate: binomial, on effective rows."""
    hits = right.mean() * people
    return float(stats.binomtest(round(hits), max(round(people), 1), majority, alternative="greater").pvalue)


def _permutation(
    codes: Codes, guesses: Codes, number: int, units: Codes | None, draws: tuple[int, int],
    generator: np.random.Generator, widening: float,
) -> tuple[float | None, bool | None, str]:  # fmt: skip
    """Return the one-sided p that the balanced accuracy is by chance: true groups permuted, guesses kept.

    Guesses that are kept are independent of the permuted groups, so what comes of it is widened. Beside it: whether
    more draws could have made it smaller.
    """
    most, needed = draws
    if not most:
        return None, None, "none"
    # A table of guesses by true group: the "class" of a pair is the guess alone, so pairs are the guesses.
    pairs = pairs_of(guesses, guesses, number)
    table = pairs.table(codes, number)
    if units is None:
        tables, words = partial(permuted_rows, table, None), "permutation of rows"
    else:
        carried = Units(np.unique(units, return_inverse=True)[1].reshape(-1), codes, len(np.unique(units)))
        if not carried.carry_the_group:
            return None, None, "none: the group varies within clusters"
        tables, words = partial(permuted_units, carried, pairs, number, None), "permutation of clusters"

    def permute(times: int, names: Sequence[str]) -> Floats:
        return np.concatenate([_balanced(part, pairs.truth) for part in tables(times, generator)])

    def widened(name: str, drawn: Floats) -> Floats:
        return np.asarray(1 / number + (drawn - 1 / number) * np.sqrt(widening))[:, None]

    observed = {"balanced accuracy": _balanced(table, pairs.truth)}
    [found] = sequential_permutation(observed, permute, widened, most=most, needed=needed)["balanced accuracy"]
    return found.p, found.limited, words


def _balanced(tables: Floats, guessed: Codes) -> Floats:
    """Return the mean hit rate of tables ``[..., group, guess]``; ``guessed`` names the guesses that occur."""
    sizes = tables.sum(axis=-1)
    hits = np.zeros(sizes.shape)
    hits[..., guessed] = tables[..., guessed, np.arange(len(guessed))]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((hits / sizes).mean(axis=-1), dtype=np.float64)
