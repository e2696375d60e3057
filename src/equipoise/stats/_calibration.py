"""Uncertainty of the calibration error. It cannot be negative, so it gets a null and bounds, not an interval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from equipoise.measures.ranking import CalibrationCurve, calibration_curve
from equipoise.stats._bounds import box
from equipoise.stats._gaps import compare_with_null
from equipoise.stats._permutation import draws_needed
from equipoise.tallies.confusion import ratio
from equipoise.tallies.scores import Scores

Floats = NDArray[np.float64]

# So many numbers are drawn at once.
BATCH = 4_000_000


def calibration_bounds(scores: Scores) -> tuple[Floats, Floats]:
    """Return the least and the greatest calibration error of each group, all of them together at 95 %.

    The observed share of every bin of every group lies in a box; the error is least and greatest at its ends.
    """
    curve = calibration_curve(scores)
    trials = _people(curve)
    low, high = box(np.nan_to_num(curve.observed) * trials, trials)
    means = np.nan_to_num(curve.mean_score)
    nearest = np.maximum(means - high, 0.0) + np.maximum(low - means, 0.0)
    farthest = np.maximum(np.abs(means - low), np.abs(means - high))
    return _over_bins(nearest, curve), _over_bins(farthest, curve)


def calibration_p(scores: Scores, observed: Floats, generator: np.random.Generator, tests: int = 1) -> Floats:
    """Return the p-value that each group is calibrated: members of a bin are then a binomial draw at its mean score."""
    curve = calibration_curve(scores)
    sizes, means = np.rint(_people(curve)).astype(np.int64), np.clip(np.nan_to_num(curve.mean_score), 0.0, 1.0)

    def draw(number: int, names: Sequence[str]) -> dict[str, Floats]:
        members = generator.binomial(sizes, means, size=(number, *sizes.shape))
        return {name: _over_bins(np.abs(members / np.maximum(sizes, 1) - means), curve) for name in names}

    needed = draws_needed(tests)
    batch = max(1, BATCH // max(sizes.size, 1))
    found = compare_with_null({"error": observed}, draw, most=needed, needed=needed, batch=batch)
    return np.array([test.p for test in found["error"]])


def _people(curve: CalibrationCurve) -> Floats:
    """How many people a bin counts as: with weights fewer than rows."""
    return np.nan_to_num(ratio(curve.weight**2, curve.squared_weight))


def _over_bins(distance: Floats, curve: CalibrationCurve) -> Floats:
    total = ratio((curve.weight * np.where(curve.weight > 0, distance, 0.0)).sum(axis=-1), curve.weight.sum(axis=-1))
    return np.asarray(total, dtype=np.float64)
