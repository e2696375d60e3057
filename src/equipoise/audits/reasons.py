"""Why a number is undefined: from what was counted to the reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.audits._reasons import AuditReason
from equipoise.measures.measure import Measure, get_measure
from equipoise.results import Reason, because


def why_rate_undefined(measure: Measure, group: str, name: str | None) -> Reason:
    """A rate is undefined when nobody is in its denominator."""
    return _no_denominator(measure, name, [group])


def _no_denominator(measure: Measure, name: str | None, groups: Sequence[str]) -> Reason:
    if name is None:
        return because(AuditReason.NO_DENOMINATOR, of=measure.denominator, groups=tuple(groups))
    return because(AuditReason.NO_DENOMINATOR_OF_CLASS, of=measure.denominator, name=name, groups=tuple(groups))


def why_value_undefined(measure: Measure, tally: Any, group: str) -> Reason:
    """A value is undefined for want of contrast, or because scores are no probabilities."""
    if measure.needs == "scores":
        if not tally.scale.probabilities and measure.name != "auc":
            return because(AuditReason.NOT_PROBABILITIES, low=tally.scale.low, high=tally.scale.high)
        return because(AuditReason.ONE_CLASS_ONLY, group=group)
    return because(AuditReason.CONSTANT, group=group)


def why_gap_undefined(measure: Measure, tally: Any, class_place: int | None) -> Reason:
    """A gap is undefined when a group's rate is; the groups are named."""
    name = None if class_place is None else tally.classes[class_place]
    compared = [measure.of] if measure.name != "equalized_odds" else ["true_positive_rate", "false_positive_rate"]
    for of in (get_measure(rate) for rate in compared if rate is not None):
        if of.classwise != (class_place is not None):
            continue
        values = of.by_class(tally)
        column = values if class_place is None else values[:, class_place]
        lacking = [group for group, value in zip(tally.groups, column, strict=True) if np.isnan(value)]
        if lacking and measure.needs in ("scores", "residuals"):
            return why_value_undefined(of, tally, lacking[0])
        if lacking:
            return _no_denominator(of, name, lacking)
    if class_place is None:
        return because(AuditReason.NO_COMMON_CLASS if measure.needs == "counts" else AuditReason.ALL_EQUAL)
    never = AuditReason.NOT_PREDICTED if measure.needs == "predictions" else AuditReason.NOT_TRUE_OR_NOT_PREDICTED
    return because(never, name=name)


def left_out_classes(
    measure: Measure, classes: Sequence[str], defined: NDArray[np.bool_], *, strict: bool = False
) -> Reason | None:
    """Say which classes a mean over classes could not take."""
    if defined.all():
        return None
    lost = tuple(name for name, known in zip(classes, defined, strict=True) if not known)
    if len(lost) == len(classes):
        return because(AuditReason.NO_COMMON_CLASS_OF, measure=measure.title)
    if strict:
        return because(AuditReason.STRICT_MEAN, names=lost)
    return because(AuditReason.CLASSES_LEFT_OUT, kept=len(classes) - len(lost), total=len(classes), names=lost)
