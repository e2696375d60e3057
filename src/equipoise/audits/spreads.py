"""Records of numbers that have a standard error in each group: intervals for the numbers, tests for their gaps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from equipoise.audits.view import View
from equipoise.measures.measure import get_measure
from equipoise.results import Reason, Record
from equipoise.stats import LEVEL, auc_interval, least_difference, quantile, widening

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GapEvidence:
    """What is known of a gap: the p-value under no difference, the simultaneous lower bound, or why there is none."""

    p: float = float("nan")
    low: float = float("nan")
    reason: Reason | str | None = None
    left_out: tuple[str, ...] = ()
    draws: int | None = None
    limited_by_draws: bool | None = None


@dataclass(frozen=True)
class Spreads:
    """Standard errors of values by measure, for the groups shown; evidence of gaps; why groups have none."""

    shown: Mapping[str, Floats] = field(default_factory=dict)
    gaps: Mapping[str, GapEvidence] = field(default_factory=dict)
    untold: Mapping[str, Reason | str] = field(default_factory=dict)


def with_spreads(records: Iterable[Record], view: View, spreads: Spreads) -> Iterator[Record]:
    """Yield the records: values with an interval, gaps with a p-value and a lower bound."""
    for record in records:
        if record.kind == "value" and record.measure in spreads.shown and record.group in view.shown.groups:
            error = spreads.shown[record.measure][view.shown.groups.index(record.group)]
            told = _with_interval(record, float(error))
            yield replace(told, reason=told.reason or spreads.untold.get(str(record.group)))
        elif record.kind == "gap" and record.defined and record.measure in spreads.gaps:
            yield _with_evidence(record, spreads.gaps[record.measure])
        else:
            yield record


def _with_interval(record: Record, spread: float) -> Record:
    if not record.defined or np.isnan(spread):
        return record
    if record.measure == "auc":
        low, high = (float(edge) for edge in auc_interval(np.asarray(record.value), np.asarray(spread)))
    else:
        half = float(quantile(0.95)) * spread
        low, high = record.value - half, record.value + half
    return record if np.isnan(low) else replace(record, low=low, high=high, interval="normal", level=1.0 - LEVEL)


def _with_evidence(record: Record, evidence: GapEvidence) -> Record:
    known = not np.isnan(evidence.low)
    return replace(
        record,
        p=None if np.isnan(evidence.p) else evidence.p,
        low=evidence.low if known else None,
        interval="lower-bound" if known else None,
        level=1.0 - LEVEL if known else None,
        left_out=evidence.left_out,
        draws=evidence.draws,
        limited_by_draws=evidence.limited_by_draws,
        reason=evidence.reason or record.reason,
    )


def least_gap(values: Floats, errors: Floats, units: int | None = None, risk: float = 0.05) -> float:
    """Return the least difference in a box around the groups' values, at 95 % (less the risk) together (Bonferroni).

    Errors that are from draws of so many units give a wider box.
    """
    if np.isnan(values).any() or np.isnan(errors).any():
        return float("nan")
    level = 1 - risk / len(values)
    half = float(quantile(level)) * errors * (1.0 if units is None else widening(units, level))
    return float(least_difference((values - half)[:, None], (values + half)[:, None])[0])


def standardised(evidence: GapEvidence, view: View, difference: str, gap: str) -> GapEvidence:
    """Return the evidence of a difference counted in standard deviations: the same test, and the bound as many."""
    values = get_measure(difference).by_class(view.compared)
    size = float(values.max() - values.min())
    standard = float(get_measure(gap).by_class(view.compared))
    # Both are multiples of one another; where the difference is 0 the bound is, too.
    return replace(evidence, low=evidence.low * standard / size if size > 0 else evidence.low)
