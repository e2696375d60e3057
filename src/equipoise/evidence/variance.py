"""Do the runs of a technique spread more, or less, than those of its baseline? (Paper 004, figure 2: Levene's test.)"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from equipoise.evidence.comparison import Comparison
from equipoise.evidence.series import Series
from equipoise.evidence.verdict import within

Change = Literal["lower", "higher", "none"]


@dataclass(frozen=True)
class VarianceChange:
    """How the spread of a technique compares with its baseline's, both relative to their means.

    ``ratio`` is the mean distance of the runs from their median, divided by that of the baseline; NaN where the
    baseline does not vary. ``change`` is None where Levene's test is undefined; the record's reason says why.
    """

    technique: str
    baseline: str
    metric: str
    ratio: float
    levene_p_adjusted: float
    change: Change | None


def variance_changes(compared: Iterable[Comparison], threshold: float) -> Iterator[VarianceChange]:
    """Yield a change for each comparison; a corrected p up to the threshold is a finding."""
    for found in compared:
        own = found.technique
        yield VarianceChange(
            technique=own.technique,
            baseline=found.baseline.technique,
            metric=own.metric,
            ratio=_ratio(own, found.baseline),
            levene_p_adjusted=found.levene_adjusted,
            change=_change(found, threshold),
        )


def _ratio(technique: Series, baseline: Series) -> float:
    if len(technique) < 2 or not baseline.spread > 0:
        return math.nan
    return technique.spread / baseline.spread


def _change(found: Comparison, threshold: float) -> Change | None:
    if math.isnan(found.levene_adjusted):
        return None
    if not within(found.levene_adjusted, threshold):
        return "none"
    return "higher" if found.wider > 0 else "lower"
