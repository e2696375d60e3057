"""Margins of equivalence: how far a difference may go and still be irrelevant, for all metrics or one by one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from equipoise.audits.evidence._runs import Runs
from equipoise.foundation.errors import BadInput, unknown_name

ALLOWED = "a number above 0 in the unit of the metric, such as 0.02"
HOW = "write: --margin 0.02, or --margin DP=0.02 for one metric (margin=)."


def margins_of(rows: Runs, given: float | Mapping[str, float] | None) -> dict[str, float]:
    """Return the margin of each metric that has one."""
    if given is None:
        return {}
    metrics = rows.names("metric")
    margins = dict(given) if isinstance(given, Mapping) else dict.fromkeys(metrics, given)
    for metric, margin in margins.items():
        if metric not in metrics:
            raise unknown_name("metric", str(metric), metrics, f"{rows.name}, to have a margin")
        if isinstance(margin, bool) or not isinstance(margin, int | float) or not 0 < margin < math.inf:
            raise BadInput(f"The margin of {metric!r} is {margin!r}", available=ALLOWED, help=HOW)
    return {metric: float(margin) for metric, margin in margins.items()}


def margins_given(texts: Sequence[str]) -> float | dict[str, float] | None:
    """Read margins as they are typed: one number for all metrics, or METRIC=NUMBER as often as there are metrics."""
    found: dict[str, float] = {}
    for text in texts:
        metric, sign, number = text.rpartition("=")
        try:
            found[metric] = float(number)
        except ValueError:
            raise BadInput(f"The margin {text!r} is no number", available=ALLOWED, help=HOW) from None
        if not sign and len(texts) > 1:
            raise BadInput(
                f"The margin {text!r} is for all metrics, and others are given beside it",
                available="one number, or a number for each of some metrics",
                help=HOW,
            )
    return found.get("", found or None)
