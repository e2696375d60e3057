"""Rates per group and class, from one table, with the differences no paper has named and the worst and best group.

Letters as in paper 004, appendix A.1; each class against the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from equipoise.foundation.arrays import ratio
from equipoise.measures.measure import Better, Floats, Measure, largest_difference, measure
from equipoise.measures.tallying import Needs
from equipoise.tallies.counts import Confusion


@dataclass(frozen=True)
class Rate:
    """One row of the table: numerator / denominator, and whom it is taken over, in words."""

    name: str
    alias: str | None
    better: Better
    formula: str
    over: str
    parts: Callable[[Confusion], tuple[Floats, Floats]]
    needs: Needs = "counts"
    classwise: bool = True
    paper: str = "004"


RATES = (
    Rate(
        "selection_rate", "PPR", "none", "PPR = (TP + FP) / (P + N)", "people",
        lambda c: (c.predicted, c.people), needs="predictions",
    ),
    Rate("base_rate", None, "none", "P / (P + N)", "people", lambda c: (c.positives, c.people)),
    Rate(
        "true_positive_rate", "TPR", "high", "TPR (recall) = TP / P", "people truly of the class",
        lambda c: (c.true_positives, c.positives),
    ),
    Rate(
        "false_positive_rate", "FPR", "low", "FPR = FP / N", "people truly of another class",
        lambda c: (c.false_positives, c.negatives),
    ),
    Rate(
        "true_negative_rate", "TNR", "high", "TNR = TN / N", "people truly of another class",
        lambda c: (c.true_negatives, c.negatives),
    ),
    Rate(
        "false_negative_rate", "FNR", "low", "FNR = FN / P", "people truly of the class",
        lambda c: (c.false_negatives, c.positives),
    ),
    Rate(
        "positive_predictive_value", "PPV", "high", "PPV (precision) = TP / (TP + FP)", "people predicted of the class",
        lambda c: (c.true_positives, c.predicted), paper="field",
    ),
    Rate(
        "false_discovery_rate", "FDR", "low", "FDR = FP / (TP + FP)", "people predicted of the class",
        lambda c: (c.false_positives, c.predicted), paper="field",
    ),
    Rate(
        "false_omission_rate", "FOR", "low", "FOR = FN / (TN + FN)", "people predicted of another class",
        lambda c: (c.false_negatives, c.true_negatives + c.false_negatives), paper="field",
    ),
    Rate(
        "negative_predictive_value", "NPV", "high", "NPV = TN / (TN + FN)", "people predicted of another class",
        lambda c: (c.true_negatives, c.true_negatives + c.false_negatives), paper="field",
    ),
    Rate(
        "f1", "F1", "high", "F1 = 2 TP / (2 TP + FP + FN)", "people truly or by prediction of the class",
        lambda c: (2 * c.true_positives, c.positives + c.predicted), paper="000",
    ),
    Rate(
        "accuracy", None, "high", "correct / (P + N); for single-label rows also the micro mean of precision, recall "
        "and F1", "people", lambda c: (c.correct[..., 0], c.people[..., 0]), classwise=False, paper="001",
    ),
)  # fmt: skip


def _register(rate: Rate) -> Measure:
    def parts(table: Confusion) -> tuple[Floats, Floats]:
        return rate.parts(table)

    parts.__doc__ = rate.formula
    parts.__module__ = __name__
    return measure(
        rate.name,
        alias=rate.alias,
        kind="rate",
        better=rate.better,
        needs=rate.needs,
        paper=rate.paper,
        classwise=rate.classwise,
        denominator=rate.over,
    )(parts)


BY_NAME = {rate.name: _register(rate) for rate in RATES}

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
