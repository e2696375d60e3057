"""Measures of a predicted number, per group and as largest differences (paper 001, section 7 and appendix A.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from equipoise.foundation.arrays import ratio
from equipoise.measures.gaps import distance
from equipoise.measures.measure import Better, Floats, Measure, largest_difference, measure
from equipoise.tallies.scores import Residuals

INFINITE = float("inf")


@dataclass(frozen=True)
class Row:
    """One row of the table: a number per group, and the range it can have."""

    name: str
    better: Better
    formula: str
    values: Callable[[Residuals], Floats]
    bounds: tuple[float, float]


def _pearson(moments: Residuals) -> Floats:
    spread = np.sqrt(moments.variance_target) * np.sqrt(moments.variance_prediction)
    return np.clip(ratio(moments.covariance, spread), -1.0, 1.0)


ROWS = (
    Row("pearson", "high", "cov(y, p) / (sd(y) sd(p)); undefined where either is constant.", _pearson, (-1.0, 1.0)),
    Row("mean_absolute_error", "low", "MAE = mean |p - y|.", lambda m: m.mean_absolute_error, (0.0, INFINITE)),
    Row(
        "root_mean_squared_error", "low", "RMSE = sqrt(mean (p - y)^2).", lambda m: np.sqrt(m.mean_squared_error),
        (0.0, INFINITE),
    ),
    Row("mean_prediction", "none", "Mean of the predictions.", lambda m: m.mean_prediction, (-INFINITE, INFINITE)),
    Row(
        "mean_residual", "none", "Mean of p - y: above 0 the group is overestimated.",
        lambda m: m.mean_prediction - m.mean_target, (-INFINITE, INFINITE),
    ),
)  # fmt: skip


def _register(row: Row) -> Measure:
    def values(moments: Residuals) -> Floats:
        return row.values(moments)

    def difference(moments: Residuals) -> Floats:
        return largest_difference(row.values(moments), axis=-1)

    values.__doc__ = row.formula
    difference.__doc__ = f"Largest difference between groups of: {row.formula}"
    values.__module__ = difference.__module__ = __name__
    measure(
        f"{row.name}_difference", kind="gap", better="low", needs="residuals", paper="001", classwise=False,
        bounds=(0.0, 2.0 if row.name == "pearson" else INFINITE), of=row.name,
    )(difference)  # fmt: skip
    return measure(
        row.name, kind="value", better=row.better, needs="residuals", paper="001", classwise=False, bounds=row.bounds
    )(values)


BY_NAME = {row.name: _register(row) for row in ROWS}


@measure(
    "prediction_standardised_difference", kind="gap", better="low", needs="residuals", paper="field", classwise=False,
    bounds=(0.0, INFINITE), of="mean_prediction",
)  # fmt: skip
def prediction_standardised_difference(moments: Residuals) -> Floats:
    """Largest difference of mean predictions in standard deviations of the prediction over everyone."""
    spread = np.sqrt(moments.everyone.variance_prediction)[..., 0]
    return ratio(largest_difference(moments.mean_prediction, axis=-1), spread)


@measure(
    "regression_fairness", kind="summary", better="high", needs="residuals", paper="001", classwise=False,
    bounds=(-1.0, 1.0), title="1 - Pearson gap", of="pearson",
)  # fmt: skip
def regression_fairness(moments: Residuals) -> Floats:
    """Fairness = 1 - (max_g Pearson_g - min_g Pearson_g)."""
    return 1.0 - largest_difference(_pearson(moments), axis=-1)


@measure(
    "regression_distance_to_optimum", kind="summary", better="low", needs="residuals", paper="001", classwise=False,
    bounds=(0.0, float(np.sqrt(8.0))), of="pearson",
)  # fmt: skip
def regression_distance_to_optimum(moments: Residuals) -> Floats:
    """DTO = sqrt((1 - Pearson)^2 + (1 - Fairness)^2), with Pearson over everyone in place of accuracy."""
    return distance(_pearson(moments.everyone)[..., 0], regression_fairness.by_class(moments))
