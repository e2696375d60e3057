"""Skewed samples: rows in which two halves go together more often than not, drawn from precomputed cells (paper 002).

Every attribute is cut in two in one way (``cohorts.factors.Factor.upper``), for classifiers, for skew and for ground
truth. The paper's code cuts the shape in three different ways, so that what a classifier was taught, what it was biased
by and what counted as found were not the same attribute.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.cohorts.cohort import Cohort
from equipoise.cohorts.factors import LOWER, UPPER
from equipoise.foundation.errors import BadInput, unknown_name
from equipoise.foundation.reproducibility import stream

Bits = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SkewedCells:
    """The rows of each of four cells (target half, biased half), found once; a sample costs no search."""

    rows: tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...] = field(repr=False)

    def sample(self, number: int, *, agreement: float = 0.9, seed: int = 0) -> NDArray[np.int64]:
        """Draw rows with repetition: either half of the target as often, the same half of the other by ``agreement``.

        An agreement of 0.9 is the paper's skew, 0.5 is none, and 0.1 is as strong the other way round.
        """
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise BadInput(f"A sample of {number!r} rows was requested", available="a whole number of at least 1")
        if not 0.0 <= agreement <= 1.0:
            raise BadInput(f"agreement is {agreement!r}", available="0 to 1; the paper uses 0.9, and 0.5 means no skew")
        drawn = stream(seed, "skewed sample")
        target = drawn.random(number) < 0.5
        biased = target ^ (drawn.random(number) >= agreement)
        place = drawn.random(number)
        made = np.empty(number, dtype=np.int64)
        for t in (0, 1):
            for b in (0, 1):
                here, cell = (target == t) & (biased == b), self.rows[t][b]
                if here.any() and not len(cell):
                    raise _empty(t, b)
                made[here] = cell[(place[here] * len(cell)).astype(np.int64)] if len(cell) else 0
        return made


def skewed_cells(target: ArrayLike, biased: ArrayLike) -> SkewedCells:
    """Find the rows of the four cells of two attributes that are cut in two, true in the upper half."""
    first, second = np.asarray(target), np.asarray(biased)
    if first.dtype != np.bool_ or second.dtype != np.bool_ or first.ndim != 1 or first.shape != second.shape:
        raise BadInput(
            f"The halves are {first.dtype} of the shape {first.shape} and {second.dtype} of the shape {second.shape}",
            available="two arrays of booleans, one value per row",
            help="Factor.upper(codes) makes them, or halves(cohort, name).",
        )
    return SkewedCells(tuple(
        (np.flatnonzero((first == t) & ~second), np.flatnonzero((first == t) & second)) for t in (False, True)
    ))  # fmt: skip


def halves(cohort: Cohort, factor: str) -> Bits:
    """Return which rows of a cohort with known factors are in the upper half of one."""
    known = [name.removesuffix("_half") for name in cohort.columns if name.endswith("_half")]
    if factor not in known:
        raise unknown_name("factor", factor, known, f"the cohort {cohort.name!r}")
    found: Bits = np.asarray(cohort[f"{factor}_half"] == UPPER, dtype=np.bool_)
    return found


def _empty(target: int, biased: int) -> BadInput:
    words = (LOWER, UPPER)
    return BadInput(
        f"No row is in the {words[target]} half of the target and the {words[biased]} half of the other attribute",
        available="rows in every cell with a share above 0",
        help="more rows, other attributes, or an agreement of 0 or 1 that leaves the cell out.",
    )
