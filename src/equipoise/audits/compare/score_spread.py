"""What charts of scores are drawn from: quantiles and histograms by group, and rings (paper 003, figures 12-13)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from equipoise.audits.compare.result import Histogram, RingPart
from equipoise.audits.compare.rows import Attribute
from equipoise.tallies.arrays import Floats

QUANTILES = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}
BINS = 40
HIDDEN = "(hidden)"


def spread(scores: Floats) -> dict[str, float]:
    """Return the mean and the quantiles of scores; NaN where there are none."""
    if not len(scores):
        return dict.fromkeys(("mean", *QUANTILES), math.nan)
    values = np.quantile(scores, list(QUANTILES.values()))
    return {"mean": float(scores.mean()), **dict(zip(QUANTILES, map(float, values), strict=True))}


def histograms(scores: Floats, attributes: Sequence[Attribute], least: int) -> Iterator[Histogram]:
    """Yield everyone's histogram and each group's, on the same edges; bins of fewer than ``least`` are hidden."""
    low, high = math.floor(20 * float(scores.min())) / 20, math.ceil(20 * float(scores.max())) / 20
    edges = np.linspace(low, high if high > low else low + 0.05, BINS + 1)
    yield _histogram(None, None, scores, edges, least)
    for attribute in attributes:
        for place, group in enumerate(attribute.groups):
            own = scores[attribute.codes == place]
            if len(own) >= least:
                yield _histogram(attribute.name, group, own, edges, least)


def _histogram(attribute: str | None, group: str | None, scores: Floats, edges: Floats, least: int) -> Histogram:
    counts, _ = np.histogram(scores, edges)
    shown = tuple(int(count) if count == 0 or count >= least else None for count in counts)
    return Histogram(attribute=attribute, group=group, edges=tuple(float(edge) for edge in edges), counts=shown)


def rings(attributes: Sequence[Attribute], weights: Floats, least: int) -> Iterator[RingPart]:
    """Yield the rings of everyone and of the most changed: a ring an attribute, in the order given, inside out."""
    for whom, counted in (("population", np.ones(len(weights))), ("changed", weights)):
        for ring, attribute in enumerate(attributes):
            number = len(attribute.groups)
            people = np.bincount(attribute.codes, minlength=number)
            parts = np.bincount(attribute.codes, weights=counted, minlength=number) / counted.sum()
            shown = people >= least
            named = [(group, float(part)) for group, part, ok in zip(attribute.groups, parts, shown, strict=True) if ok]
            named += [(HIDDEN, float(parts[~shown].sum()))] if not shown.all() else []
            start = 0.0
            for group, share in named:
                end = start + share
                yield RingPart(
                    whom=whom, ring=ring, attribute=attribute.name, group=group, share=share, start=start, end=end
                )
                start = end
