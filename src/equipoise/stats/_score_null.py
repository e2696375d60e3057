"""Numbers of scores against chance: what they are when groups are dealt out at random.

The score is first cut into fewer bins, so that a permutation is a random table of groups by bins. Both sides of the
comparison use the same bins: the p-value is then valid however coarse they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from equipoise.measures.ranking import CALIBRATION_BINS
from equipoise.stats._gaps import NullSample, compare_with_null
from equipoise.stats._permutation import draws_needed
from equipoise.stats._random_tables import permuted, permuted_weights
from equipoise.tallies.confusion import ratio
from equipoise.tallies.scores import Scores

Floats = NDArray[np.float64]
# A number of a histogram that is large when groups differ, one for each draw.
Statistic = Callable[[Scores], Floats]

MOST_BINS = 200
# So many cells are drawn in all, and so many of them are held at once.
CELLS = 2_000_000
BATCH = 2_000_000
# What 2,000 draws leave open may take so many cells more.
MOST_CELLS = 40_000_000


def coarse_bins(scores: Scores, draws: int) -> int:
    """Return how many bins so many draws can afford."""
    return int(np.clip(CELLS // max(2 * draws * len(scores.groups), 1), CALIBRATION_BINS, MOST_BINS))


def coarse_starts(scores: Scores, bins: int) -> NDArray[np.int64]:
    """Return where bins start: at the ten of a calibration curve, and at equal shares of the people in between."""
    fixed = scores.places_of(scores.scale.steps(CALIBRATION_BINS))
    below = np.cumsum(scores.weight.sum(axis=(0, 1)))
    cuts = np.searchsorted(below, below[-1] * np.arange(1, bins) / bins, side="right")
    return np.unique(np.concatenate([fixed, np.minimum(cuts, len(below) - 1)]))


def heterogeneity(values: Floats, errors: Floats) -> Floats:
    """Return Cochran's Q: squared distances from the common value, each in units of its own error."""
    known = ~np.isnan(values) & (errors > 0)
    weights = np.where(known, 1.0 / np.where(known, errors, 1.0) ** 2, 0.0)
    filled = np.where(known, values, 0.0)
    centre = ratio((weights * filled).sum(axis=-1), weights.sum(axis=-1))
    return np.asarray((weights * (filled - centre[..., None]) ** 2).sum(axis=-1), dtype=np.float64)


def score_p(
    scores: Scores, statistics: Mapping[str, Statistic], *, within_class: bool, generator: np.random.Generator,
    draws: int, tests: int = 1,
) -> dict[str, NullSample]:  # fmt: skip
    """Return the test of each statistic under permuted groups: across all rows, or within the true class.

    ``draws`` decides how coarse the bins are, and ``tests``, how many the report has, how often groups are permuted.
    """
    coarse = scores.coarser(coarse_starts(scores, coarse_bins(scores, draws)))
    observed = with_shared_scores(coarse, coarse.weight)
    weighted = not np.array_equal(coarse.rows, coarse.weight)

    def draw(number: int, names: Sequence[str]) -> dict[str, Floats]:
        drawn = (
            permuted_weights(coarse.rows, coarse.weight, coarse.squared_weight, within_class, number, generator)
            if weighted
            else permuted(coarse.weight, within_class, number, generator)
        )
        made = with_shared_scores(coarse, drawn)
        return {name: np.sqrt(statistics[name](made))[:, None] for name in names}

    size, needed = coarse.weight.size, draws_needed(tests)
    seen = {name: np.atleast_1d(np.sqrt(statistic(observed))) for name, statistic in statistics.items()}
    most = min(needed, max(draws, MOST_CELLS // size))
    found = compare_with_null(seen, draw, most=most, needed=needed, batch=max(1, BATCH // size))
    return {name: tested[0] for name, tested in found.items()}


def with_shared_scores(coarse: Scores, weight: Floats) -> Scores:
    """Return a histogram with these weights, in which a row's score is the mean of its bin over all groups."""
    total = coarse.weight.sum(axis=0)
    score, square, squared = (
        weight * np.divide(part.sum(axis=0), total, out=np.zeros_like(total), where=total > 0)
        for part in (coarse.score_sum, coarse.square_sum, coarse.squared_weight)
    )
    return replace(coarse, weight=weight, score_sum=score, square_sum=square, squared_weight=squared, rows=weight)
