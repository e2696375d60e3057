"""The numbers a study reports of every trial: registered measures over stacked count tensors, all trials at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal

import numpy as np

from equipoise.foundation.errors import BadInput
from equipoise.foundation.registry import registry
from equipoise.measures.gaps import distance
from equipoise.measures.measure import Better, Measure, class_place, get_measure
from equipoise.measures.objectives import (
    FAIRNESSES,
    PERFORMANCES,
    ClassCounts,
    Task,
    check_fairness,
    check_performance,
    class_fairness,
    class_performance,
    r_squared,
)
from equipoise.studies.findings.data import Attribute, Floats, Layout
from equipoise.tallies.confusion import Confusion, ratio
from equipoise.tallies.residuals import Residuals, moments

Role = Literal["performance", "fairness", "distance"]
BALANCED = "balanced_accuracy"
# What is better high and said of everyone: a loss there is a cost.
PERFORMANCE = {"class": ("accuracy", BALANCED), "regression": ("pearson",)}
FAIRNESS = {"class": "fairness", "regression": "regression_fairness"}
DISTANCE = {"class": "distance_to_optimum", "regression": "regression_distance_to_optimum"}


# What performances and fairnesses of ``measures.objectives`` are called among measures, where not by their own names.
OWN_NAMES = {"f1": "macro_f1", "DP": "fairness_dp", "EO": "fairness_eo", "EOTP": "fairness_eotp"}
LABELS = {
    OWN_NAMES.get(name, name): own.label
    for name, own in (*PERFORMANCES.items(), *FAIRNESSES.items())
    if name not in ("accuracy", "balanced_accuracy", "GAP", "pearson")
}


@dataclass(frozen=True)
class MainMeasures:
    """The measures that a study is decided by: performance and fairness, both better high, and their distance.

    ``by`` are their names in ``measures.objectives``. ``beside`` are further measures of performance that are always
    told.
    """

    performance: str
    fairness: str
    distance: str
    by: tuple[str, str]
    beside: tuple[str, ...] = ()

    @property
    def performances(self) -> tuple[str, ...]:
        """Every measure of performance that is told, the deciding one first."""
        return (self.performance, *self.beside)

    @property
    def roles(self) -> dict[str, Role]:
        """What each of the three is."""
        return {self.performance: "performance", self.fairness: "fairness", self.distance: "distance"}


def main_measures_of(task: Task, performance: str | None = None, fairness: str | None = None) -> MainMeasures:
    """Return the measures that decide a study of this task; by default accuracy (or Pearson's r) and 1 - GAP."""
    usual = PERFORMANCE[task]
    chosen = check_performance(performance or usual[0], task)
    fair = check_fairness(fairness or "GAP", task)
    first = OWN_NAMES.get(chosen, chosen)
    named = FAIRNESS[task] if fair == "GAP" else OWN_NAMES.get(fair, fair)
    return MainMeasures(first, named, DISTANCE[task], (chosen, fair), tuple(one for one in usual if one != first))


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
    # What it is for a study that is decided by other measures than the usual ones, which are given by name.
    role: Role | None = None
    by: tuple[str, str] | None = None

    @property
    def name(self) -> str:
        """How verdicts name it."""
        return (self.alias or self.measure) + (f" ({' & '.join(self.attribute)})" if self.attribute else "")


def quantities_of(
    layout: Layout,
    attributes: Sequence[Attribute],
    measures: Sequence[str] | None = None,
    main: MainMeasures | None = None,
) -> tuple[Quantity, ...]:
    """Return what is reported: by default performance, fairness, the distance to the optimum and the usual gaps.

    With ``measures`` those, together with performance, fairness and distance, which verdicts and ranks stand on.
    """
    task = layout.task
    main = main or main_measures_of(task)
    always = (*main.performances, main.fairness, main.distance)
    wanted = dict.fromkeys((*always, *(GAPS[task] if measures is None else measures)))
    found: dict[tuple[str, Attribute], Quantity] = {}
    for name in wanted:
        for quantity in _of_main(name, main, task, attributes) or _of_measure(name, layout, attributes):
            found.setdefault((quantity.measure, quantity.attribute), quantity)
    return tuple(found.values())


def is_bounded(quantity: Quantity) -> bool:
    """Tell whether a quantity has bounds, as shares have: an effect in points means nothing to one in other units."""
    if quantity.role is not None or quantity.measure == BALANCED:
        return True
    return all(math.isfinite(end) for end in _measure(quantity.measure).bounds)


def asked_for(quantities: Sequence[Quantity], measures: Sequence[str] | None) -> tuple[str, ...]:
    """Return the full names of the measures that were asked for, in their order; nothing where none were."""
    named: dict[str, str] = {}
    for quantity in quantities:
        named |= {quantity.measure.casefold(): quantity.measure}
        named |= {} if quantity.alias is None else {quantity.alias.casefold(): quantity.measure}
    wanted = (named.get(name.casefold()) or get_measure(name).name for name in measures or ())
    return tuple(dict.fromkeys(wanted))


def _of_main(name: str, main: MainMeasures, task: str, attributes: Sequence[Attribute]) -> list[Quantity]:
    """Return what decides a study, where that is not what the registered measures are."""
    role = main.roles.get(name)
    usual = (PERFORMANCE[task][0], "GAP")
    if role is None or main.by == usual or (role == "fairness" and main.by[1] == "GAP"):
        return []
    if role == "performance" and main.by[0] in (*PERFORMANCE[task], usual[0]):
        return []
    over: Sequence[Attribute] = [()] if role == "performance" else attributes
    better: Better = "low" if role == "distance" else "high"
    alias = "DTO" if role == "distance" else None
    return [Quantity(name, alias, better, tuple(one), role=role, by=main.by) for one in over]


def _of_measure(name: str, layout: Layout, attributes: Sequence[Attribute]) -> list[Quantity]:
    if name == BALANCED:
        return [Quantity(BALANCED, None, "high", ())]
    measure = get_measure(name)
    if measure.needs not in NEEDS[layout.task]:
        known = [e.name for e in registry.entries("measure") if e.details["needs"] in NEEDS[layout.task]]
        raise BadInput(
            f"The measure {measure.name!r} needs {measure.needs}, and a trial keeps "
            + ("counts of classes" if layout.task == "class" else "sums of a regression"),
            available=", ".join([BALANCED, *known] if layout.task == "class" else known),
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
    if quantity.role is not None and quantity.by is not None:
        return _objective(quantity.role, *quantity.by, tally)
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


def _objective(role: Role, performance: str, fairness: str, tally: Any) -> Floats:
    """Return a study's own performance, fairness or distance; what needs scores is undefined here."""
    if role == "performance":
        return _performance(performance, tally.everyone)[..., 0]
    if isinstance(tally, Residuals):
        each = _performance("pearson" if fairness == "GAP" else performance, tally)
        fair = each.min(axis=-1) if fairness == "worst_group" else 1.0 - (each.max(axis=-1) - each.min(axis=-1))
    elif fairness == "worst_group" and PERFORMANCES[performance].needs_scores:
        fair = np.full(tally.cells.shape[:-3], np.nan)
    else:
        fair = class_fairness(fairness, ClassCounts.of(tally.cells), performance)  # type: ignore[arg-type]
    if role == "fairness":
        return np.asarray(fair, dtype=np.float64)
    return distance(_performance(performance, tally.everyone)[..., 0], np.asarray(fair, dtype=np.float64))


def _performance(name: str, tally: Any) -> Floats:
    """Return a performance by group, ``[..., group]``."""
    if isinstance(tally, Residuals):
        if name == "r2":
            return r_squared(tally.mean_squared_error, tally.variance_target)
        return np.asarray(_measure("pearson").by_class(tally), dtype=np.float64)
    if PERFORMANCES[name].needs_scores:
        return np.full(tally.cells.shape[:-2], np.nan)
    return class_performance(name, ClassCounts.of(tally.cells))  # type: ignore[arg-type]


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
