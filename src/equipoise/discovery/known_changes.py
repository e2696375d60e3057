"""How much a prediction changes along attributes that have a name: counterfactual fairness, with intervals.

Nothing is searched for: each attribute's own normal is walked on fresh latents of the prior. The intervals of means are
those of a bootstrap over latents; the share that crosses 0.5 has Wilson's, for where nobody crosses a bootstrap is sure
of 0. What the generator changes along with an attribute is counted with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from equipoise.discovery.hyperplane import Hyperplane
from equipoise.discovery.investigation import KnownChange
from equipoise.discovery.judging import Bench
from equipoise.discovery.strips import Strips
from equipoise.stats import wilson

HALF = 0.5


def known_changes(
    bench: Bench, named: Sequence[Hyperplane], strips: Strips, report: Callable[[int, int], None] | None = None
) -> tuple[KnownChange, ...]:
    """Walk every named attribute on the latents of a bench."""
    found: list[KnownChange] = []
    for place, plane in enumerate(named):
        found.append(known_change(bench, plane, strips))
        if report is not None:
            report(place + 1, len(named))
    return tuple(found)


def known_change(bench: Bench, plane: Hyperplane, strips: Strips) -> KnownChange:
    """Walk one attribute; steps that leave the data (of a search with a guard) count in nothing."""
    p, counted = bench.walk(plane, bench.asked.latents)
    steps = (p[1:] - p[:-1]) * counted
    crossed = (((p[1:] >= HALF) != (p[:-1] >= HALF)) & counted).any(0)
    low, high = wilson(crossed.sum(), len(crossed), bench.asked.level)
    return KnownChange(
        name=plane.name,
        change=bench.mean_with_interval(steps.sum(0), plane.name),
        variation=bench.mean_with_interval(np.abs(steps).mean(0), plane.name),
        flips=(float(crossed.mean()), float(low), float(high)),
        strips=strips.along(plane),
    )
