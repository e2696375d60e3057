"""Do the runs of a technique spread more, or less, than those of its baseline? (Paper 004, figure 2: Levene's test.)"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from equipoise.audits.evidence._comparison import Comparison, SpreadRule
from equipoise.audits.evidence._verdict import within

SpreadChange = Literal["lower", "higher", "none"]


@dataclass(frozen=True)
class VarianceChange:
    """How the spread of a technique compares with its baseline's.

    ``ratio``, ``levene_p_adjusted`` and ``change`` are about values divided by their mean, as in paper 004; those with
    ``absolute_`` before them about the values themselves. A ratio is the mean distance of the runs from their median,
    divided by that of the baseline; NaN where the baseline does not vary. A change is None where Levene's test is
    undefined; the record's reason says why. ``spread`` tells which of the two counts as a cost.
    """

    technique: str
    baseline: str
    metric: str
    ratio: float
    levene_p_adjusted: float
    change: SpreadChange | None
    absolute_ratio: float = math.nan
    absolute_p_adjusted: float = math.nan
    absolute_change: SpreadChange | None = None
    spread: SpreadRule = "relative"

    @property
    def counted(self) -> tuple[float, float, SpreadChange | None]:
        """The ratio, the p and the change that count as a cost."""
        if self.spread == "relative":
            return self.ratio, self.levene_p_adjusted, self.change
        return self.absolute_ratio, self.absolute_p_adjusted, self.absolute_change


def variance_changes(
    compared: Iterable[Comparison], threshold: float, spread: SpreadRule = "relative"
) -> Iterator[VarianceChange]:
    """Yield a change for each comparison; a corrected p up to the threshold is a finding."""
    for found in compared:
        own = found.technique
        yield VarianceChange(
            technique=own.technique,
            baseline=found.baseline.technique,
            metric=own.metric,
            ratio=_ratio(own.relative_spread, found.baseline.relative_spread, len(own)),
            levene_p_adjusted=found.levene_adjusted,
            change=_change(found.levene_adjusted, found.wider, threshold),
            absolute_ratio=_ratio(own.spread, found.baseline.spread, len(own)),
            absolute_p_adjusted=found.spread_adjusted,
            absolute_change=_change(found.spread_adjusted, found.spread_wider, threshold),
            spread=spread,
        )


def _ratio(technique: float, baseline: float, runs: int) -> float:
    return technique / baseline if runs > 1 and baseline > 0 else math.nan


def _change(p: float, wider: float, threshold: float) -> SpreadChange | None:
    if math.isnan(p):
        return None
    if not within(p, threshold):
        return "none"
    return "higher" if wider > 0 else "lower"
