"""Moments of a regression: what Pearson, MAE, RMSE and mean residuals per group are functions of.

Sums of squares are taken about a pivot near the mean, so that a salary in the millions loses no digits.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.tallies.cells import Cells
from equipoise.tallies.confusion import ratio
from equipoise.tallies.counts import group_axis, group_labels, group_name

if TYPE_CHECKING:
    from scipy import sparse

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Pivot:
    """The values that target and prediction are measured from."""

    target: float
    prediction: float


def quantities(target: Any, prediction: Any, pivot: Pivot) -> list[Any]:
    """Return what is summed per group, for arrays and for lazy expressions alike."""
    y, p = target - pivot.target, prediction - pivot.prediction
    residual = prediction - target
    size = residual.abs() if hasattr(residual, "abs") else np.abs(residual)
    square = residual * residual
    return [y, p, y * y, p * p, y * p, size, square, square * square]


# Rows, weight and squared weight come before the quantities.
WIDTH = 3 + 8


@dataclass(frozen=True, eq=False)
class Residuals:
    """Per group: weight, means, variances, covariance and the errors' means. Each has the shape ``[..., group]``."""

    rows: Floats
    weight: Floats
    squared_weight: Floats
    mean_target: Floats
    mean_prediction: Floats
    variance_target: Floats
    variance_prediction: Floats
    covariance: Floats
    mean_absolute_error: Floats
    mean_squared_error: Floats
    mean_fourth_power: Floats
    groups: tuple[str, ...]
    everyone_sums: Floats
    pivot: Pivot

    @property
    def people(self) -> Floats:
        """How many rows each group has, whatever they weigh."""
        return self.rows

    @property
    def everyone(self) -> Residuals:
        """The same moments with all groups taken together."""
        return moments(self.everyone_sums[..., None, :], ("everyone",), self.pivot)


def moments(sums: Floats, groups: tuple[str, ...], pivot: Pivot) -> Residuals:
    """Turn sums ``[..., group, WIDTH]`` into means, variances and covariances."""
    weight = sums[..., 1]
    y, p, yy, pp, yp, size, squared, fourth = (ratio(sums[..., place], weight) for place in range(3, WIDTH))
    return Residuals(
        rows=sums[..., 0],
        weight=weight,
        squared_weight=sums[..., 2],
        mean_target=y + pivot.target,
        mean_prediction=p + pivot.prediction,
        variance_target=_spread(yy, y),
        variance_prediction=_spread(pp, p),
        covariance=yp - y * p,
        mean_absolute_error=size,
        mean_squared_error=squared,
        mean_fourth_power=fourth,
        groups=groups,
        everyone_sums=sums.sum(axis=-2),
        pivot=pivot,
    )


def _spread(mean_square: Floats, mean: Floats) -> Floats:
    """Return the variance; what rounding leaves of a constant column is 0."""
    variance = mean_square - mean * mean
    return np.where(variance <= 1e-12 * mean_square, 0.0, variance)


def residuals_of(
    cells: Cells,
    attributes: Sequence[str],
    pivot: Pivot,
    *,
    include_missing: bool = False,
    only: Collection[str] | None = None,
) -> Residuals:
    """Return the moments of one attribute's groups, or of several crossed."""
    axes = [group_axis(attribute) for attribute in attributes]
    groups = group_labels(cells, attributes, include_missing=include_missing, only=only)
    sums = cells.crossed(axes, groups, [], [])
    return moments(sums, tuple(group_name(labels) for labels in groups), pivot)


def residual_units(cells: Cells, unit: str, attributes: Sequence[str], like: Residuals) -> sparse.csc_array:
    """Return the sums of every unit: a sparse row a unit, flat over sums and groups."""
    from scipy import sparse

    axes = [group_axis(attribute) for attribute in attributes]
    groups = group_labels(cells, attributes, include_missing=True, only=like.groups)
    columns = [cells.crossed_by(unit, axes, groups, [], [], column) for column in range(WIDTH)]
    return sparse.csc_array(sparse.hstack(columns, format="csc"))
