"""How many of a row's nearest rows are still its nearest after a change (paper 003, appendix A.1)."""

from __future__ import annotations

from equipoise.measures.comparison import comparison
from equipoise.measures.neighbours import HELD, Metric, nearest_by_block
from equipoise.measures.representations import Array, as_pair, namespace


@comparison("neighbour_overlap", paper="003", pointwise=True)
def neighbour_overlap(before: object, after: object, k: int, metric: Metric = "cosine") -> Array:
    """Share of a row's k nearest rows that are among its k nearest in both representations.

    The neighbours are exact. Among rows equally far away the one that comes first is nearer, in both representations:
    where many rows are equal, the overlap counts them as kept. By chance the share is k / (N - 1).
    """
    pair = as_pair(before, after)
    step = max(16, HELD // len(pair))
    searches = [nearest_by_block(side, k, metric=metric, block=step) for side in pair.sides]
    shares = [_share(first, second) for (_, first), (_, second) in zip(*searches, strict=True)]
    return namespace(pair.sides[0].array).concat(shares)


def _share(first: Array, second: Array) -> Array:
    """Return the share of each row of numbers that is in the other row too."""
    xp = namespace(first)
    both = xp.sort(xp.concat([first, second], axis=1), axis=1)
    found = xp.sum(xp.astype(both[:, 1:] == both[:, :-1], xp.int64), axis=1)
    return xp.astype(found, xp.float64) / int(first.shape[1])
