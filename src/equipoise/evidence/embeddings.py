"""Intervals and tests for the numbers of an embedding: ``EMBEDDING_EVIDENCE[measure](embedded, generator, draws)``.

A value gets an interval for each group. A gap gets an interval where it is signed, and a permutation test: groups are
dealt out anew to the units that carry them. A gap that cannot be negative gets the test alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from equipoise.evidence.alignment_spread import alignment_spread
from equipoise.evidence.embedding_spread import (
    Spread,
    mutual_information,
    quick_singular_values,
    rbf_spread,
    resampled_queries,
    student,
    uniformity_spread,
)
from equipoise.evidence.embedding_units import permuted_codes, permuted_units
from equipoise.evidence.permutation import permutation_p
from equipoise.measures.embeddings import PAPER_SIGN, compared, compared_sets
from equipoise.measures.evenness import common_size, divergence, spacing
from equipoise.measures.gap_rules import RULES
from equipoise.measures.measure import Measure, get_measure
from equipoise.tallies.embedded import Embedded

Floats = NDArray[np.float64]

DRAWS = 2_000
# A first round of permutations with a p-value above this is enough: more would not make it a finding.
OPEN = 0.1


@dataclass(frozen=True)
class EmbeddingEvidence:
    """What can be said of a number: for a value, arrays with an interval a group; for a gap, one interval and a p.

    NaN where it cannot be told. ``unit`` names what was drawn or permuted: rows, classes or clusters.
    """

    value: Floats
    low: Floats
    high: Floats
    p: float
    unit: str
    method: str
    draws: int


class Judge(Protocol):
    """A function of an embedding that returns its evidence; ``variant`` is for gaps."""

    def __call__(
        self, embedded: Embedded, generator: np.random.Generator, draws: int = DRAWS, *, variant: str = "paper"
    ) -> EmbeddingEvidence:
        """Judge one number."""


@dataclass(frozen=True)
class _Way:
    """How a value's spread is found, its value under permuted groups, and how many permutations make a first round."""

    spread: Callable[[Embedded, Floats, np.random.Generator, int], Spread]
    permutations: int = DRAWS
    under_null: Callable[[Embedded], Floats] | None = None


def _quick_uniformity(embedded: Embedded) -> Floats:
    size, precision = common_size(embedded), spacing(embedded)
    rows = [embedded.space.rows(embedded.sample(group, size, "uniformity")) for group in range(len(embedded.groups))]
    return np.array([divergence(quick_singular_values(points), points.shape, precision) for points in rows])


_WAYS: Mapping[str, _Way] = {
    "recall_at_k": _Way(lambda e, values, g, draws: resampled_queries(e, values, e.space.hits, g, draws)),
    "mean_average_precision_at_r": _Way(
        lambda e, values, g, draws: resampled_queries(e, values, e.space.average_precisions, g, draws)
    ),
    "intra_class_alignment": _Way(lambda e, values, g, draws: alignment_spread(e, values, within_class=True), 200),
    "inter_class_alignment": _Way(lambda e, values, g, draws: alignment_spread(e, values, within_class=False), 200),
    "uniformity": _Way(uniformity_spread, 200, _quick_uniformity),
    "rbf_uniformity": _Way(rbf_spread, 100),
    "normalised_mutual_information": _Way(
        lambda e, values, g, draws: mutual_information(e, values, adjusted=False), 500
    ),
    "adjusted_mutual_information": _Way(lambda e, values, g, draws: mutual_information(e, values, adjusted=True), 200),
}


def _value(name: str) -> Judge:
    def judge(
        embedded: Embedded, generator: np.random.Generator, draws: int = DRAWS, *, variant: str = "paper"
    ) -> EmbeddingEvidence:
        values = get_measure(name).by_class(embedded, variant)
        found = _WAYS[name].spread(embedded, values, generator, draws)
        low, high = (np.clip(edge, *get_measure(name).bounds) for edge in (found.low, found.high))
        return EmbeddingEvidence(values, low, high, float("nan"), found.unit, found.method, draws)

    return judge


def _gap(name: str) -> Judge:
    def judge(
        embedded: Embedded, generator: np.random.Generator, draws: int = DRAWS, *, variant: str = "paper"
    ) -> EmbeddingEvidence:
        measure, way = get_measure(name), _WAYS[name]
        values = measure.by_class(embedded)
        gap = compared(values, embedded, measure.better, variant)
        low, high, method = np.asarray(np.nan), np.asarray(np.nan), "permuted groups"
        units = permuted_units(embedded)
        if variant not in RULES:
            found = way.spread(embedded, values, generator, draws)
            low, high = _interval(gap, _signs(embedded, measure, variant), values, found)
            method = f"{found.method}; permuted groups"
        p = _permutation_p(embedded, measure, gap, variant, generator, draws)
        return EmbeddingEvidence(gap, low, high, p, units.name, method, draws)

    return judge


def _signs(embedded: Embedded, measure: Measure, variant: str) -> Floats:
    """Return what each group's value is multiplied with in the gap."""
    majoritised, minoritised = compared_sets(embedded)
    sign = -1.0 if measure.better == "low" and variant != PAPER_SIGN else 1.0
    shares = [mask / max(int(mask.sum()), 1) for mask in (majoritised, minoritised)]
    return np.asarray(sign * (shares[0] - shares[1]), dtype=np.float64)


def _interval(gap: Floats, signs: Floats, values: Floats, found: Spread) -> tuple[Floats, Floats]:
    used = signs != 0
    if np.isnan(gap) or np.isnan(found.low[used]).any():
        return np.asarray(np.nan), np.asarray(np.nan)
    if found.covariance is not None:
        reach = float(student(found.units[used].min(keepdims=True))[0]) * np.sqrt(signs @ found.covariance @ signs)
        return np.asarray(gap - reach), np.asarray(gap + reach)
    # Independent groups with lopsided intervals: their distances to the values are added up in squares (Newcombe).
    below, above = values - found.low, found.high - values
    to_low = np.where(signs > 0, below, above)[used]
    to_high = np.where(signs > 0, above, below)[used]
    return tuple(  # type: ignore[return-value]
        np.asarray(gap + side * np.sqrt(((signs[used] * away) ** 2).sum()))
        for side, away in ((-1.0, to_low), (1.0, to_high))
    )


def _permutation_p(
    embedded: Embedded, measure: Measure, gap: Floats, variant: str, generator: np.random.Generator, draws: int
) -> float:
    """Return how often permuted groups are as far apart: on either side where the gap is signed.

    A first round settles what chance could easily give; only what it leaves open is permuted as often as asked for.
    """
    if np.isnan(gap):
        return float("nan")
    way, units = _WAYS[measure.name], permuted_units(embedded)
    under_null = way.under_null or measure.by_class
    null: list[float] = []
    p = 0.0
    while len(null) < draws and p <= OPEN:
        for _ in range(min(way.permutations, draws) if not null else draws - len(null)):
            dealt = replace(embedded, codes=permuted_codes(embedded, units, generator))
            # Who is majoritised is settled by the rows as they are, not by how large a group became by dealing.
            null.append(_compared_as(embedded, under_null(dealt), measure, variant))
        p = _p_of(gap, np.array(null), variant)
    return p


def _p_of(gap: Floats, null: Floats, variant: str) -> float:
    above = float(permutation_p(gap, null))
    if variant in RULES:
        return above
    return min(1.0, 2 * min(above, float(permutation_p(gap, null, above=False))))


def _compared_as(embedded: Embedded, values: Floats, measure: Measure, variant: str) -> float:
    return float(compared(values, embedded, measure.better, variant))


EMBEDDING_EVIDENCE: Mapping[str, Judge] = {
    **{name: _value(name) for name in _WAYS},
    **{f"{name}_gap": _gap(name) for name in _WAYS},
}
