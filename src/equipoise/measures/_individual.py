"""Consistency: are people who are alike predicted alike? (Zemel et al. 2013, section 4; paper 003, Table 1)"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from equipoise.foundation import BadInput, Floats, distinct_rows, plural

# Distances that differ by less than this part of the k-th are the same: rounding makes no neighbours.
TIE = 1e-9
BLOCK_CELLS = 4_000_000


def consistency(X: ArrayLike, predictions: ArrayLike, k: int = 5, *, include_self: bool = False) -> float:  # noqa: N803
    """1 - mean_i |y_i - mean of y over the k nearest neighbours of i|: 1 where neighbours are predicted alike.

    Neighbours are nearest by Euclidean distance between the rows of ``X`` as they are given (scale them first if their
    units differ). A person is not their own neighbour; ``include_self=True`` counts them as one of the k, as AIF360 and
    scikit-learn do. Everybody at the distance of the k-th neighbour is a neighbour: they share the places that are
    left equally, so the order of rows never matters. ``predictions`` are 0 and 1, or scores.
    """
    rows, values = _checked(X, predictions)
    available = len(rows) if include_self else len(rows) - 1
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= available:
        raise BadInput(f"k is {k!r}", available=f"a whole number from 1 to {available:,}, the neighbours there are")
    distinct, pattern = distinct_rows(rows)
    self_weight = 0.0 if include_self else 1.0
    neighbourhoods = _neighbourhoods(distinct, np.bincount(pattern), _sums(pattern, values), int(k), self_weight)
    # A person leaves their own pattern: always among the closer ones, or among those that tie at distance 0.
    mine = np.where(neighbourhoods.inside, self_weight, 0.0)[pattern] * values
    tied = np.where(neighbourhoods.inside, 0.0, self_weight)[pattern] * values
    total = (
        neighbourhoods.closer[pattern] - mine + neighbourhoods.share[pattern] * (neighbourhoods.tied[pattern] - tied)
    )
    return float(1.0 - np.abs(values - total / k).mean())


def _sums(pattern: NDArray[np.intp], values: Floats) -> Floats:
    return np.asarray(np.bincount(pattern, weights=values), dtype=np.float64)


class _Neighbourhoods(NamedTuple):
    """For each distinct row: sums of predictions of those closer than the k-th neighbour, and of those that tie."""

    closer: Floats
    tied: Floats
    share: Floats  # the part of a place that each of those who tie gets
    inside: NDArray[np.bool_]  # whether the row itself is among the closer ones


def _neighbourhoods(
    rows: Floats, people: NDArray[np.intp], sums: Floats, k: int, self_weight: float
) -> _Neighbourhoods:
    """Find the neighbours of every distinct row, some rows at a time; never the whole table of distances."""
    parts = []
    both = np.column_stack([people, sums])
    step = max(1, BLOCK_CELLS // len(rows))
    reach = min(k + 1, len(rows))  # each distinct row is at least one person; the first may be the person alone
    for begin in range(0, len(rows), step):
        indices = np.arange(begin, min(begin + step, len(rows)))
        distance = cdist(rows[indices], rows)
        nearest = np.argpartition(distance, reach - 1, axis=1)[:, :reach]
        near = np.take_along_axis(distance, nearest, axis=1)
        order = np.argsort(near, axis=1)
        near = np.take_along_axis(near, order, axis=1)
        counted = people[np.take_along_axis(nearest, order, axis=1)].cumsum(axis=1) - self_weight
        radius = np.take_along_axis(near, (counted < k).sum(axis=1)[:, None], axis=1)
        slack = TIE * radius
        closer, tied = distance < radius - slack, np.abs(distance - radius) <= slack
        inside = radius[:, 0] > 0
        closer_people, closer_sums = (closer.astype(np.float64) @ both).T
        tied_people, tied_sums = (tied.astype(np.float64) @ both).T
        share = (k - (closer_people - self_weight * inside)) / (tied_people - self_weight * ~inside)
        parts.append(_Neighbourhoods(closer_sums, tied_sums, share, inside))
    return _Neighbourhoods(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _checked(X: ArrayLike, predictions: ArrayLike) -> tuple[Floats, Floats]:  # noqa: N803
    try:
        rows, values = np.asarray(X, dtype=np.float64), np.asarray(predictions, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(
            f"X or the predictions are not numbers ({error})", help='pass 0 and 1, such as predictions == "yes".'
        ) from error
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise BadInput(f"X has the shape {rows.shape}", available="rows by columns, at least one of each")
    if values.shape != (len(rows),):
        raise BadInput(
            f"The predictions have the shape {values.shape}", available=f"one for each of the {len(rows):,} rows of X"
        )
    for name, part in (("X", rows), ("predictions", values)):
        if not np.isfinite(part).all():
            count = int((~np.isfinite(part)).sum())
            raise BadInput(f"{name} has {plural(count, 'missing or infinite value')}", help="drop or fill them.")
    return rows, values
