"""What each row of two centred kernels has in common with the other: all that PNKA and CKA are made of."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from equipoise.measures.representations import Array, namespace

# What is left of a sum after its largest part is taken out is rounding below this share of it.
ROUNDING = 1e-13
LEAST_ROWS_DEBIASED = 4


@dataclass(frozen=True)
class KernelRows:
    """Sums over the reference rows j for each scored row i, with K before and K' after.

    A row at the mean of a representation has only zeros in its kernel: its direction is undefined.
    """

    shared: Array  # sum_j K_ij K'_ij
    before: Array  # sum_j K_ij^2
    after: Array  # sum_j K'_ij^2
    own_before: Array  # K_ii
    own_after: Array  # K'_ii

    def cosines(self, times_in_reference: Array | float | None = None) -> Array:
        """Return the cosine of K_i and K'_i; with how often i is in the reference, leave those entries out."""
        xp = namespace(self.shared)
        shared, before, after = self.shared, self.before, self.after
        if times_in_reference is not None:
            shared = shared - times_in_reference * self.own_before * self.own_after
            before = _rest(xp, before, times_in_reference * self.own_before**2)
            after = _rest(xp, after, times_in_reference * self.own_after**2)
        defined = (before > 0) & (after > 0)
        length = xp.sqrt(xp.where(defined, before, 1.0)) * xp.sqrt(xp.where(defined, after, 1.0))
        cosines = xp.clip(shared / length, -1.0, 1.0)
        return xp.where(defined, cosines, xp.full_like(cosines, math.nan))

    def alignment(self, *, debiased: bool) -> float:
        """Return CKA, where the reference rows are the scored ones."""
        shared, before, after = (_total(values) for values in (self.shared, self.before, self.after))
        if debiased:
            shared = self._debiased(shared, self.own_before, self.own_after)
            before = self._debiased(before, self.own_before, self.own_before)
            after = self._debiased(after, self.own_after, self.own_after)
        return shared / math.sqrt(before) / math.sqrt(after) if before > 0 and after > 0 else math.nan

    @staticmethod
    def _debiased(total: float, first: Array, second: Array) -> float:
        """Return Song et al.'s unbiased HSIC (times n (n - 3)) of two kernels whose rows sum to 0.

        With the diagonals k, l taken out, K 1 = -k, so that every term is a sum over rows.
        """
        n = int(first.shape[0])
        product = _total(first * second)
        rest = total - product + _total(first) * _total(second) / ((n - 1) * (n - 2)) - 2.0 / (n - 2) * product
        return rest if abs(rest) > ROUNDING * (abs(total) + abs(product)) else 0.0


def _rest(xp: Any, total: Array, own: Array) -> Array:
    rest = total - own
    return xp.where(rest > ROUNDING * total, rest, xp.zeros_like(rest))


def _total(values: Array) -> float:
    xp = namespace(values)
    return float(xp.sum(xp.astype(values, xp.float64)))
