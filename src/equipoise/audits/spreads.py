"""Records of numbers that have a standard error in each group: intervals for the numbers, tests for their gaps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from equipoise.audits.view import View
from equipoise.evidence.bounds import least_difference
from equipoise.evidence.proportions import quantile
from equipoise.evidence.ranking import auc_interval
from equipoise.foundation.results import Record
from equipoise.measures.measure import get_measure

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GapEvidence:
    """What is known of a gap: the p-value under no difference, and the simultaneous lower bound."""

    p: float = float("nan")
    low: float = float("nan")


@dataclass(frozen=True)
class Spreads:
    """Standard errors of values by measure, for the groups shown; evidence of gaps by measure."""

    shown: Mapping[str, Floats] = field(default_factory=dict)
    gaps: Mapping[str, GapEvidence] = field(default_factory=dict)


def with_spreads(records: Iterable[Record], view: View, spreads: Spreads) -> Iterator[Record]:
    """Yield the records: values with an interval, gaps with a p-value and a lower bound."""
    for record in records:
        if record.kind == "value" and record.measure in spreads.shown and record.group in view.shown.groups:
            error = spreads.shown[record.measure][view.shown.groups.index(record.group)]
            yield _with_interval(record, float(error))
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
    return record if np.isnan(low) else replace(record, low=low, high=high, interval="normal")


def _with_evidence(record: Record, evidence: GapEvidence) -> Record:
    known = not np.isnan(evidence.low)
    return replace(
        record,
        p=None if np.isnan(evidence.p) else evidence.p,
        low=evidence.low if known else None,
        interval="lower-bound" if known else None,
    )


def least_gap(values: Floats, errors: Floats) -> float:
    """Return the least difference in a box around the groups' values, at 95 % together (Bonferroni)."""
    if np.isnan(values).any() or np.isnan(errors).any():
        return float("nan")
    half = float(quantile(1 - 0.05 / len(values))) * errors
    return float(least_difference((values - half)[:, None], (values + half)[:, None])[0])


def standardised(evidence: GapEvidence, view: View, difference: str, gap: str) -> GapEvidence:
    """Return the evidence of a difference counted in standard deviations: the same test, and the bound as many."""
    values = get_measure(difference).by_class(view.compared)
    size = float(values.max() - values.min())
    standard = float(get_measure(gap).by_class(view.compared))
    # Both are multiples of one another; where the difference is 0 the bound is, too.
    return replace(evidence, low=evidence.low * standard / size if size > 0 else evidence.low)
