"""Rates of other rows than before: two independent samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from equipoise.audits._spec import AuditSpec
from equipoise.audits.change.side import Four, Side, Sides
from equipoise.audits.view import View
from equipoise.measures.measure import Measure
from equipoise.results import Status
from equipoise.stats import sample_estimate
from equipoise.tallies.confusion import Confusion
from equipoise.tallies.counts import ROWS, SQUARES, WEIGHT

Floats = NDArray[np.float64]
Sums = tuple[Confusion, Confusion, Confusion]
NOW, THEN = 0, 1


class SampledSides(Sides):
    """Other rows: two independent samples."""

    design = "independent"

    def __init__(
        self, spec: AuditSpec, view: View, absent: Mapping[str, tuple[Status, str]], now: Sums, then: Sums
    ) -> None:
        compared = list(view.compared.groups)
        people = view.compared.people[:, 0] + then[WEIGHT].only(compared).people[:, 0]
        super().__init__(spec, view, absent, people)
        self._samples = (now, then)
        self._places = [[sums[WEIGHT].groups.index(group) for group in compared] for sums in self._samples]
        self._parts: dict[str, list[Floats]] = {}

    def side(self, measure: Measure, place: int | None, groups: Sequence[int]) -> Side:  # noqa: D102
        chosen = [[places[group] for group in groups] for places in self._places]
        return _side(*(self._counted(measure, place, sample, chosen[sample]) for sample in (NOW, THEN)))

    def whole(self, measure: Measure, place: int | None) -> Side:  # noqa: D102
        return _side(*(self._counted(measure, place, sample, slice(None)) for sample in (NOW, THEN)))

    def lone(self, measure: Measure, place: int | None, group: str) -> tuple[float, float]:  # noqa: D102
        rates = [float("nan"), float("nan")]
        for sample in (NOW, THEN) if self.absent[group][0] != Status.TOO_SMALL else ():
            groups = self._samples[sample][WEIGHT].groups
            if group in groups:
                x, n, _, _ = self._counted(measure, place, sample, [groups.index(group)])
                rates[sample] = x / n if n > 0 else float("nan")
        return rates[THEN], rates[NOW]

    def _counted(self, measure: Measure, place: int | None, sample: int, groups: list[int] | slice) -> Four:
        """Return successes, trials, their squared weights and the rows among them, of some groups together."""
        if measure.name not in self._parts:
            self._parts[measure.name] = [_sums_of(measure, sums) for sums in self._samples]
        x, n, squares, rows = self._parts[measure.name][sample][:, groups, place or 0].sum(axis=1).tolist()
        return x, n, squares, rows


def _sums_of(measure: Measure, sums: Sums) -> Floats:
    """Return ``[part, group, class]``: what a rate is made of adds up over groups."""
    x, n = measure.function(sums[WEIGHT])
    parts = np.stack([x, n, measure.function(sums[SQUARES])[1], measure.function(sums[ROWS])[1]])
    return parts if measure.classwise else parts[..., None]


def _side(now: Four, then: Four) -> Side:
    """Make a side of two samples; weighted rows count as so many as their squared weights allow."""
    sizes = [n * n / squares if squares > 0 else 0.0 for _, n, squares, _ in (now, then)]
    counts = [x / n * size if n > 0 else 0.0 for (x, n, _, _), size in zip((now, then), sizes, strict=True)]
    samples = (counts[NOW], sizes[NOW], counts[THEN], sizes[THEN])
    return Side(
        successes=(now[0], then[0]), trials=(now[1], then[1]), people=min(now[3], then[3]),
        estimate=sample_estimate(*samples), samples=samples,
    )  # fmt: skip
