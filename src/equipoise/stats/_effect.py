"""How large a difference is, beside whether there is one (paper 004, appendix B.3).

Cohen's d of technique t against baseline b, with the sample variances s² (divided by n - 1):

    d = (mean_t - mean_b) / sqrt((s_t² + s_b²) / 2)

It is below 0 where the technique is lower. Where neither side varies there is nothing to divide by: d is then 0 for
equal means and undefined (NaN) for others. One run has no variance, so d needs two runs on each side.
"""

from __future__ import annotations

import math
from typing import Literal

Band = Literal["negligible", "small", "medium", "large", "very large", "huge"]

# From which |d| on a difference is called so (Sawilowsky 2009).
BANDS: tuple[tuple[float, Band], ...] = (
    (2.0, "huge"),
    (1.2, "very large"),
    (0.8, "large"),
    (0.5, "medium"),
    (0.2, "small"),
    (0.0, "negligible"),
)


def cohens_d(mean: float, stdev: float, baseline_mean: float, baseline_stdev: float) -> float:
    """Return Cohen's d with the root of the mean of the two sample variances; NaN where it is undefined."""
    pooled = math.hypot(stdev, baseline_stdev) / math.sqrt(2)
    difference = mean - baseline_mean
    if pooled == 0:
        return 0.0 if difference == 0 else math.nan
    return difference / pooled


def band_of(d: float) -> Band | None:
    """Return the name of an effect of this size, whatever its sign; none where d is undefined."""
    if math.isnan(d):
        return None
    return next(name for least, name in BANDS if abs(d) >= least)
