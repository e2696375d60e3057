"""The noise floor: how much a second, identical run of the intervention differs from the first.

Without it a low score says that a person's point moved, not that the intervention moved it. One rerun shows one draw of
that noise; its intervals speak of other people, not of other reruns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from equipoise.audits.compare.result import FloorRecord
from equipoise.audits.compare.rows import Attribute
from equipoise.results import Status
from equipoise.stats import Units, clustered_mean_error
from equipoise.tallies.arrays import Floats

LEAST_UNITS = 10


def floor_records(
    scores: Floats, floor: Floats, attributes: Sequence[Attribute], units: Units, *, least: int
) -> Iterator[FloorRecord]:
    """Yield a record for everyone, then for each group."""
    known = ~np.isnan(scores) & ~np.isnan(floor)
    yield _record(None, None, scores, floor, known, units, least)
    for attribute in attributes:
        for place, group in enumerate(attribute.groups):
            rows = known & (attribute.codes == place)
            yield _record(attribute.name, group, scores, floor, rows, units, least)


def _record(
    attribute: str | None, group: str | None, scores: Floats, floor: Floats, rows: NDArray[np.bool_], units: Units,
    least: int,
) -> FloorRecord:  # fmt: skip
    people = int(rows.sum())
    if people < max(least, 1):
        why = f"fewer than {least:,} people" if least > 1 else "nobody has both scores"
        return FloorRecord(
            attribute=attribute, group=group, people=None if least > 1 else 0, mean=math.nan, floor_mean=math.nan,
            excess=math.nan, low=None, high=None, status=Status.TOO_SMALL if least > 1 else Status.UNDEFINED,
            reason=why,
        )  # fmt: skip
    held, excess = units.only(rows), floor[rows] - scores[rows]
    mean, spread = float(excess.mean()), clustered_mean_error(held, excess)
    freedom = held.effective - 1
    told = held.effective >= LEAST_UNITS and spread > 0
    half = float(stats.t.ppf(0.975, freedom)) * spread if told else math.nan
    return FloorRecord(
        attribute=attribute,
        group=group,
        people=people,
        mean=float(scores[rows].mean()),
        floor_mean=float(floor[rows].mean()),
        excess=mean,
        low=mean - half if told else None,
        high=mean + half if told else None,
        p=float(2 * stats.t.sf(abs(mean) / spread, freedom)) if told else None,
        reason=None if told else f"fewer than {LEAST_UNITS} distinct units, or no spread: no interval and no test",
    )
