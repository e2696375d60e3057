"""Why a number is undefined, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.errors import listing
from equipoise.measures.measure import Measure, get_measure


def why_rate_undefined(measure: Measure, group: str, name: str | None) -> str:
    """A rate is undefined when nobody is in its denominator."""
    of_class = "" if name is None else f" ({name!r})"
    return f"there are no {measure.denominator}{of_class} in {group!r}"


def why_value_undefined(measure: Measure, tally: Any, group: str) -> str:
    """A value is undefined for want of contrast, or because scores are no probabilities."""
    if measure.needs == "scores":
        if not tally.scale.probabilities and measure.name != "auc":
            return f"the scores run from {tally.scale.low:g} to {tally.scale.high:g}: they are not probabilities"
        return f"{group!r} has nobody of the class, or nobody of another"
    return f"the target or the prediction is constant in {group!r}, or it has no weight"


def why_gap_undefined(measure: Measure, tally: Any, class_place: int | None) -> str:
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
            of_class = "" if name is None else f" ({name!r})"
            return f"there are no {of.denominator}{of_class} in {listing(map(repr, lacking))}"
    if class_place is None:
        return "no class is defined in all groups" if measure.needs == "counts" else "everyone has the same value"
    if measure.needs == "predictions":
        return f"nobody is predicted {name!r}, or everybody is"
    return f"the class {name!r} is never true, or never predicted"


def left_out_classes(
    measure: Measure, classes: Sequence[str], defined: NDArray[np.bool_], *, strict: bool = False
) -> str | None:
    """Say which classes a mean over classes could not take."""
    if defined.all():
        return None
    lost = [repr(name) for name, known in zip(classes, defined, strict=True) if not known]
    if len(lost) == len(classes):
        return f"{measure.title} is defined for no class in all groups"
    if strict:
        return f"undefined in a group for {listing(lost)}, and a strict mean needs every class"
    return (
        f"mean over {len(classes) - len(lost)} of {len(classes)} classes; undefined in a group and left out: "
        f"{listing(lost)}"
    )
