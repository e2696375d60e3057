"""The numbers a study reports of every trial: registered measures over stacked count tensors, all trials at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from equipoise.foundation.errors import BadInput
from equipoise.foundation.registry import registry
from equipoise.measures.measure import Better, Measure, class_place, get_measure
from equipoise.studies.findings.data import Attribute, Floats, Layout
from equipoise.tallies.confusion import Confusion, ratio
from equipoise.tallies.residuals import moments

BALANCED = "balanced_accuracy"
# What is better high and said of everyone: a loss there is a cost.
PERFORMANCE = {"class": ("accuracy", BALANCED), "regression": ("pearson",)}
FAIRNESS = {"class": "fairness", "regression": "regression_fairness"}
DISTANCE = {"class": "distance_to_optimum", "regression": "regression_distance_to_optimum"}
# The seven of paper 004.
GAPS = {
    "class": ("DP", "DI", "SPSF", "FPSF", "EOFP", "EOTP", "BA"),
    "regression": ("pearson_difference", "mean_absolute_error_difference", "mean_residual_difference"),
}
NEEDS = {"class": ("predictions", "counts"), "regression": ("residuals",)}


@dataclass(frozen=True)
class Quantity:
    """One number of a trial: a measure of everyone (no attribute), or one that compares the groups of an attribute.

    ``class_`` is the class it speaks of; without one it is the mean over classes, or has no classes.
    """

    measure: str
    alias: str | None
    better: Better
    attribute: Attribute
    class_: str | None = None

    @property
    def name(self) -> str:
        """How verdicts name it."""
        return (self.alias or self.measure) + (f" ({' & '.join(self.attribute)})" if self.attribute else "")


def quantities_of(
    layout: Layout, attributes: Sequence[Attribute], measures: Sequence[str] | None = None
) -> tuple[Quantity, ...]:
    """Return what is reported: by default performance, fairness, the distance to the optimum and the usual gaps.

    With ``measures`` those, together with performance, fairness and distance, which verdicts and ranks stand on.
    """
    task = layout.task
    always = (*PERFORMANCE[task], FAIRNESS[task], DISTANCE[task])
    wanted = dict.fromkeys((*always, *(GAPS[task] if measures is None else measures)))
    found: dict[tuple[str, Attribute], Quantity] = {}
    for name in wanted:
        for quantity in _of_measure(name, layout, attributes):
            found.setdefault((quantity.measure, quantity.attribute), quantity)
    return tuple(found.values())


def _of_measure(name: str, layout: Layout, attributes: Sequence[Attribute]) -> list[Quantity]:
    if name == BALANCED:
        return [Quantity(BALANCED, None, "high", ())]
    measure = get_measure(name)
    if measure.needs not in NEEDS[layout.task]:
        known = [e.name for e in registry.entries("measure") if e.details["needs"] in NEEDS[layout.task]]
        raise BadInput(
            f"The measure {measure.name!r} needs {measure.needs}, and a trial keeps "
            + ("counts of classes" if layout.task == "class" else "sums of a regression"),
            allowed=", ".join([BALANCED, *known] if layout.task == "class" else known),
        )
    class_ = layout.favourable if measure.classwise and layout.favourable in layout.classes else None
    over = [()] if measure.kind in ("rate", "value") else attributes
    return [Quantity(measure.name, measure.alias, measure.better, tuple(one), class_) for one in over]


def measured(quantities: Sequence[Quantity], tables: Floats, layout: Layout) -> Floats:
    """Return the value of every quantity, ``[..., quantity]``, of tables ``[..., group, ...]``; undefined is NaN."""
    lead = tables.ndim - (3 if layout.task == "class" else 2)
    made = np.full((*tables.shape[:lead], len(quantities)), np.nan)
    for attribute in dict.fromkeys(quantity.attribute for quantity in quantities):
        tally, comparable = _tally(tables, layout, attribute)
        for place, quantity in enumerate(quantities):
            if quantity.attribute == attribute and (comparable or not attribute):
                made[..., place] = _values(quantity, tally)
    return made


def _tally(tables: Floats, layout: Layout, attribute: Attribute) -> tuple[Any, bool]:
    """Return the tally of an attribute, and whether it has two groups to compare."""
    if not attribute:
        axis = tables.ndim - (3 if layout.task == "class" else 2)
        names: tuple[str, ...] = ("everyone",)
        cells: Floats = tables.sum(axis=axis, keepdims=True)
    else:
        cells, names = layout.folded(tables, attribute)
    if layout.task == "regression":
        return moments(cells, names, layout.pivot), len(names) > 1
    return Confusion(cells, names, layout.classes), len(names) > 1


@cache
def _measure(name: str) -> Measure:
    """Return a measure that is known to be registered; asking the registry each time takes longer than counting."""
    return get_measure(name)


def _values(quantity: Quantity, tally: Any) -> Floats:
    if quantity.measure == BALANCED:
        return _mean_over_classes(_measure("true_positive_rate").by_class(tally)[..., 0, :])
    measure = _measure(quantity.measure)
    values = measure.by_class(tally)
    if measure.kind in ("rate", "value"):  # of everyone, who are one group
        values = values[..., 0, :] if measure.classwise else values[..., 0]
    if not measure.classwise:
        return values
    if quantity.class_ is not None:
        return np.asarray(values[..., class_place(tally, quantity.class_)], dtype=np.float64)
    return _mean_over_classes(values)


def _mean_over_classes(values: Floats) -> Floats:
    """Return the mean over the classes that are defined; NaN where none is."""
    known = ~np.isnan(values)
    total = np.where(known, values, 0.0).sum(axis=-1)
    return ratio(total, known.sum(axis=-1).astype(np.float64))


def batched(quantities: Sequence[Quantity], tables: Floats, layout: Layout, most: int = 2_000_000) -> Floats:
    """Return ``measured`` of stacked tables ``[table, group, ...]``, in parts that fit the memory."""
    step = max(1, most // max(int(np.prod(tables.shape[1:])), 1))
    compute = partial(measured, quantities, layout=layout)
    parts = [compute(tables=tables[first : first + step]) for first in range(0, len(tables), step)]
    return np.concatenate(parts) if parts else np.empty((0, len(quantities)))
