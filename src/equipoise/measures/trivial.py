"""Trivial models: what a constant prediction would score, and whether a trained model does no better than one.

A constant prediction treats all groups alike and knows nothing, so measures of fairness alone reward it. Every summary
shows what it would get, and a model that has collapsed to (nearly) one is marked. Numpy alone, so that a compute node
needs nothing else.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

# A model that predicts one class for this share of rows, or more, has collapsed.
CONSTANT_SHARE = 0.99
# So has one whose balanced accuracy is, at the upper end of its 95% interval, no more than this above chance.
CHANCE_MARGIN = 0.02
_Z = 1.959963984540054


def has_collapsed(confusion: ArrayLike) -> NDArray[np.bool_]:
    """Tell which models have collapsed, from counts on rows that had no part in their training.

    A classifier has collapsed if it predicts one class for 99% of the rows or more, or if the upper end of the 95%
    interval of its balanced accuracy is at most 1/K + 0.02. Both are told from dev rows, never from test rows.

    Parameters
    ----------
    confusion : array of shape (..., n_classes, n_classes)
        Rows by true class and predicted class. Classes without rows do not count towards K.

    Returns
    -------
    array of bool of shape (...)
        False where there are no rows, or rows of one class alone: nothing can be said of a model there.
    """
    counts = np.asarray(confusion, dtype=np.float64)
    return counts_have_collapsed(counts.sum(axis=-1), counts.sum(axis=-2), np.diagonal(counts, axis1=-2, axis2=-1))


def counts_have_collapsed(actual: ArrayLike, predicted: ArrayLike, right: ArrayLike) -> NDArray[np.bool_]:
    """Tell it from rows of each class by truth, by prediction, and by both, ``[..., class]``, as ``has_collapsed``."""
    rows = np.asarray(actual, dtype=np.float64)
    number = (rows > 0).sum(axis=-1)
    _, high = _interval(rows, np.asarray(right, dtype=np.float64))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.asarray(predicted, dtype=np.float64).max(axis=-1) / rows.sum(axis=-1)
        by_chance = high <= 1.0 / number + CHANCE_MARGIN
    return np.asarray((number > 1) & ((share >= CONSTANT_SHARE) | by_chance))


def has_collapsed_regression(r_squared: ArrayLike) -> NDArray[np.bool_]:
    """Tell which regressions do no better than the mean: R2 of at most 0 on rows that had no part in the training.

    Where R2 is undefined (a constant target) nothing can be said, and the answer is False.
    """
    return np.asarray(np.asarray(r_squared, dtype=np.float64) <= 0.0)


def balanced_accuracy_interval(confusion: ArrayLike) -> tuple[Floats, Floats]:
    """Return the 95% interval of balanced accuracy, the mean of the true positive rates of the classes present.

    Wilson intervals of the rates are combined by the distances of their ends from the rates (MOVER; Zou and Donner
    2008), so a rate of 0 or 1 among few rows still has a width. NaN without rows.

    Parameters
    ----------
    confusion : array of shape (..., n_classes, n_classes)
        Rows by true class and predicted class.
    """
    counts = np.asarray(confusion, dtype=np.float64)
    return _interval(counts.sum(axis=-1), np.diagonal(counts, axis1=-2, axis2=-1))


def _interval(rows: Floats, right: Floats) -> tuple[Floats, Floats]:
    present = rows > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = right / rows
        centre = (rate + _Z**2 / (2 * rows)) / (1 + _Z**2 / rows)
        half = _Z / (1 + _Z**2 / rows) * np.sqrt(rate * (1 - rate) / rows + _Z**2 / (4 * rows**2))
        number = present.sum(axis=-1)
        mean = np.where(present, rate, 0.0).sum(axis=-1) / number
        below, above = (
            np.sqrt((np.where(present, distance, 0.0) ** 2).sum(axis=-1)) / number
            for distance in (rate - (centre - half), (centre + half) - rate)
        )
    return np.maximum(mean - below, 0.0), np.minimum(mean + above, 1.0)


def constant_prediction(confusion: ArrayLike, place: int) -> Floats:
    """Return the counts of a model that predicts the class at ``place`` for every row of ``confusion``."""
    counts = np.asarray(confusion, dtype=np.float64)
    constant = np.zeros_like(counts)
    constant[..., place] = counts.sum(axis=-1)
    return constant
