"""The front of performance and fairness, chosen on dev rows, and the less discriminatory alternative by name."""

from __future__ import annotations

import numpy as np

from equipoise.studies.findings.data import Floats

# Performances this near on dev rows are called equal.
EQUAL_WITHIN = 0.01


def front_of(performance: Floats, fairness: Floats) -> np.ndarray:
    """Tell which points no other beats, at least as good on both and better on one; undefined ones are on none."""
    known = ~(np.isnan(performance) | np.isnan(fairness))
    with np.errstate(invalid="ignore"):
        no_worse = (performance[None] >= performance[:, None]) & (fairness[None] >= fairness[:, None])
        better = (performance[None] > performance[:, None]) | (fairness[None] > fairness[:, None])
    beaten = (no_worse & better & known[None]).any(axis=1)
    return np.asarray(known & ~beaten)


def alternative_to(baseline: int, performance: Floats, fairness: Floats, margin: float = EQUAL_WITHIN) -> int | None:
    """Return the fairest point whose performance is within a margin of the baseline's, or better.

    Performance and fairness are those of dev rows. None where no such point is fairer than the baseline.
    """
    with np.errstate(invalid="ignore"):
        fit = (performance >= performance[baseline] - margin) & (fairness > fairness[baseline])
    if not fit.any():
        return None
    places = np.flatnonzero(fit)
    order = np.lexsort((-performance[places], -fairness[places]))
    return int(places[order[0]])
