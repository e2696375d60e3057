"""Largest differences of the rates whose gap no paper has named, and the worst and the best group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from equipoise.measures.measure import Floats, Measure, largest_difference, measure
from equipoise.measures.rates import BY_NAME
from equipoise.tallies.confusion import Confusion, ratio

DIFFERENCES = (
    "accuracy",
    "positive_predictive_value",
    "false_discovery_rate",
    "false_omission_rate",
    "f1",
    "base_rate",
)
EXTREMES = ("accuracy", "true_positive_rate", "f1")


def _group_axis(rate: Measure) -> int:
    return -2 if rate.classwise else -1


def _difference(rate: Measure) -> Measure:
    def difference(table: Confusion) -> Floats:
        return largest_difference(ratio(*rate.function(table)), axis=_group_axis(rate))

    difference.__doc__ = f"max_g {rate.title} - min_g {rate.title}."
    difference.__module__ = __name__
    return measure(
        f"{rate.name}_difference",
        kind="gap",
        better="low",
        needs=rate.needs,
        paper=rate.paper,
        classwise=rate.classwise,
        of=rate.name,
    )(difference)


def _extreme(rate: Measure, which: Literal["worst", "best"]) -> Measure:
    lowest = (which == "worst") == (rate.better == "high")

    def extreme(table: Confusion) -> Floats:
        values = ratio(*rate.function(table))
        pick: Callable[..., Floats] = values.min if lowest else values.max
        return pick(axis=_group_axis(rate))

    extreme.__doc__ = f"{'min' if lowest else 'max'}_g {rate.title}: the {which} group's."
    extreme.__module__ = __name__
    return measure(
        f"{which}_group_{rate.name}",
        kind="summary",
        better=rate.better,
        needs=rate.needs,
        paper="field",
        classwise=rate.classwise,
        of=rate.name,
    )(extreme)


for _name in DIFFERENCES:
    _difference(BY_NAME[_name])
for _name in EXTREMES:
    _extreme(BY_NAME[_name], "worst")
    _extreme(BY_NAME[_name], "best")
