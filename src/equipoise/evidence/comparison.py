"""Technique against baseline on one metric: every number that a verdict needs, computed for all comparisons at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from equipoise.evidence.effect import cohens_d
from equipoise.evidence.series import Series, paired
from equipoise.evidence.tests import (
    Side,
    levene_p,
    p_values,
    paired_lean,
    share_above,
    smallest_p,
    smallest_paired_p,
)
from equipoise.stats import CORRECTIONS

Alternative = Literal["two-sided", "observed"]
WILCOXON = "wilcoxon"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How to compare: the test, its alternative, the correction, and from which p on there is a finding."""

    test: str
    alternative: str
    correction: str
    threshold: float
    pair: str | None = None


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One technique against its baseline. What is undefined is NaN."""

    technique: Series
    baseline: Series
    pairs: int | None
    difference: float
    lean: float
    p: float
    p_adjusted: float
    smallest: float
    attainable: float
    d: float
    levene_p: float
    levene_adjusted: float
    wider: float
    above: float

    @property
    def overlap(self) -> bool | None:
        """Tell whether the ranges of the runs have a value in common."""
        if not (len(self.technique) and len(self.baseline)):
            return None
        return self.technique.min <= self.baseline.max and self.baseline.min <= self.technique.max

    @property
    def misleads(self) -> float:
        """The probability that one run of each points the other way than the means do; a tie counts half.

        It is U / (n1 n2), counted against the direction of the means. Equal means point no way: then it is NaN.
        """
        difference = self.technique.mean - self.baseline.mean
        if math.isnan(difference) or difference == 0:
            return math.nan
        return self.above if difference < 0 else 1.0 - self.above


def compare(couples: Sequence[tuple[Series, Series]], plan: Plan) -> list[Comparison]:
    """Compare each technique with its baseline, and correct for how many comparisons there are."""
    x, y = [t.ranked for t, _ in couples], [b.ranked for _, b in couples]
    above = share_above(x, y)
    differences, leans = [t.mean - b.mean for t, b in couples], (above - 0.5).tolist()
    pairs: list[int | None] = [None] * len(couples)
    if plan.pair is not None:
        matched = [paired(t, b, plan.pair) for t, b in couples]
        x, y = [a for a, _ in matched], [b for _, b in matched]
        differences = [math.fsum((a - b).tolist()) / len(a) if len(a) else math.nan for a, b in matched]
        leans, pairs = [paired_lean(a, b) for a, b in matched], [len(a) for a, _ in matched]
    sides = [
        _side(difference, lean, max(abs(t.mean), abs(b.mean)), plan.alternative)
        for difference, lean, (t, b) in zip(differences, leans, couples, strict=True)
    ]
    p = p_values(WILCOXON if plan.pair is not None else plan.test, x, y, sides)
    smallest = [
        smallest_p(len(a), len(b), side) if plan.pair is None else smallest_paired_p(len(a), side)
        for a, b, side in zip(x, y, sides, strict=True)
    ]
    least = np.where(np.isnan(p), np.nan, smallest)
    correct = CORRECTIONS[plan.correction]
    levene, wider = levene_p([t.relative for t, _ in couples], [b.relative for _, b in couples])
    # Both corrections never fall when a p rises, so correcting the smallest p gives the smallest corrected one.
    columns = zip(
        couples, pairs, differences, leans, p.tolist(), correct(p).tolist(), smallest, correct(least).tolist(),
        levene.tolist(), correct(levene).tolist(), wider.tolist(), above.tolist(), strict=True,
    )  # fmt: skip
    return [_comparison(*row) for row in columns]


def _side(difference: float, lean: float, size: float, alternative: str) -> Side:
    """Return the side that is tested: with "observed" the one the means point to.

    Where the means are equal but for rounding, the ranks decide; where they lean no way either, both sides have the
    same p, about one half.
    """
    if alternative == "two-sided" or math.isnan(difference):
        return "two-sided"
    direction = lean if abs(difference) <= 1e-12 * size else difference
    return "less" if direction < 0 else "greater"


def _comparison(
    couple: tuple[Series, Series], pairs: int | None, difference: float, lean: float, p: float, p_adjusted: float,
    smallest: float, attainable: float, levene: float, levene_adjusted: float, wider: float, above: float,
) -> Comparison:  # fmt: skip
    technique, baseline = couple
    return Comparison(
        technique=technique,
        baseline=baseline,
        pairs=pairs,
        difference=difference,
        lean=lean,
        p=p,
        p_adjusted=p_adjusted,
        smallest=smallest,
        attainable=attainable,
        d=cohens_d(technique.mean, technique.stdev, baseline.mean, baseline.stdev),
        levene_p=levene,
        levene_adjusted=levene_adjusted,
        wider=wider,
        above=above,
    )
