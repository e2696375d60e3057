"""Three spreads of one number, kept apart by a nested estimate: of the test sample, of identical reruns, of seeds.

A run with seed s and repeat r, judged on a sample of people, gives

    y_sr = mu + a_s + e_sr + (what this sample of people adds)

Runs of one study are judged on the same people, so seeds and reruns are estimated on this test set, by moments of the
one-way layout (``stats.variance_components``, with intervals). An estimate below 0 is reported as 0, with a word. The
spread of the test sample is that of the number when people are drawn again: a multinomial draw over the cells of the
count tensor, group sizes kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy import special

from equipoise.stats import variance_components
from equipoise.studies.findings.data import Codes, Floats
from equipoise.tallies.confusion import ratio


class SpreadNote(StrEnum):
    """What must be known to read the spreads of a number."""

    NEGATIVE = "the estimate of the seeds' variance was below 0 and is reported as 0: reruns vary as much as seeds do"
    NO_RERUNS = "no seed was run twice, so what identical reruns add cannot be told from the seeds' spread"
    ONE_SEED = "one seed says nothing about other seeds"
    TOO_FEW = "one run has no spread"


@dataclass(frozen=True)
class Nested:
    """Standard deviations, one a number: of reruns of a seed, and of seeds (NaN where they cannot be told).

    ``*_low`` and ``*_high`` are the ends of their 95% intervals.
    """

    reruns: Floats
    seeds: Floats
    notes: tuple[SpreadNote | None, ...]
    reruns_low: Floats
    reruns_high: Floats
    seeds_low: Floats
    seeds_high: Floats


def nested(values: Floats, seeds: Codes) -> Nested:
    """Estimate both spreads of runs from values ``[run, number]``; runs of equal ``seeds`` are identical runs.

    Runs in which a number is undefined do not count for it.
    """
    found = variance_components(values, seeds)
    columns = (found.runs, found.number_of_seeds, found.reruns, found.seeds)
    told = [_note(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
    ends = (found.reruns_low, found.reruns_high, found.seeds_low, found.seeds_high)
    return Nested(
        np.sqrt(found.reruns), np.sqrt(np.maximum(found.seeds, 0.0)), tuple(told), *(np.sqrt(end) for end in ends)
    )


def _note(runs: float, seeds: float, reruns: float, variance: float) -> SpreadNote | None:
    if runs < 2:
        return SpreadNote.TOO_FEW
    if seeds < 2:
        return SpreadNote.ONE_SEED
    if np.isnan(reruns):
        return SpreadNote.NO_RERUNS
    return SpreadNote.NEGATIVE if variance < 0 else None


def mean_intervals(values: Floats, level: float = 0.95) -> Floats:
    """Return mean, standard deviation and Student's interval of the mean over units, ``[4, quantity]``."""
    known = ~np.isnan(values)
    number = known.sum(axis=0).astype(np.float64)
    mean = ratio(np.where(known, values, 0.0).sum(axis=0), number)
    variance = ratio(np.where(known, (values - mean) ** 2, 0.0).sum(axis=0), number - 1)
    # Equal values have no spread; what rounding makes of it is none.
    stdev = np.where(variance < (1e-12 * mean) ** 2, 0.0, np.sqrt(variance))
    half = special.stdtrit(np.maximum(number - 1, 1), (1 + level) / 2) * stdev / np.sqrt(np.maximum(number, 1))
    return np.stack([mean, stdev, mean - half, mean + half])
