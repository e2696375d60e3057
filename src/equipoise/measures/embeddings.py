"""Numbers about an embedding: each is a value per group, and comes with the gap that compares groups (paper 000).

Gaps are oriented: positive means that the minoritised groups are worse off, whether the value is better high or low.
That is the default call. ``variant="paper_sign"`` is the paper's sign, majoritised minus minoritised whatever is
better; the other variants are the paper's other rules (``best_minus_worst``, ``each_against_worst``, ``halves``).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from equipoise.measures.gap_rules import RULES, Mask, largest_and_others, sets_difference
from equipoise.measures.measure import Better, Floats, Kind, Measure, measure
from equipoise.tallies.embedded import Embedded

INFINITE = float("inf")

PAPER_SIGN = "paper_sign"
# Every way to compare groups, by the name that ``variant=`` takes; "paper" is the default, oriented.
GAP_VARIANTS = ("paper", PAPER_SIGN, *RULES)

NO_LARGEST = "no group is the largest, so it is not clear which is majoritised: name it with majoritised="


def embedding_measure(
    name: str,
    *,
    better: Better,
    bounds: tuple[float, float],
    undefined: str,
    kind: Kind = "value",
    alias: str | None = None,
    gap_alias: str | None = None,
    paper: str = "000",
    denominator: str = "",
) -> Callable[[Callable[[Embedded], object]], Measure]:
    """Register a number per group of an embedding; where one end is better, its gap ``<name>_gap`` too."""

    def decorate(function: Callable[[Embedded], object]) -> Measure:
        value = measure(
            name, kind=kind, better=better, needs="embedding", paper=paper, alias=alias, bounds=bounds,
            classwise=False, denominator=denominator, undefined=undefined,
        )(function)  # fmt: skip
        if better != "none":
            _gap(value, gap_alias)
        return value

    return decorate


def _gap(value: Measure, alias: str | None) -> Measure:
    def gap(embedded: Embedded) -> Floats:
        return compared(value.by_class(embedded), embedded, value.better)

    gap.__doc__ = f"{value.title}: how much worse off the minoritised groups are than the majoritised."
    gap.__module__ = value.function.__module__
    reach = value.bounds[1] - value.bounds[0]
    made = measure(
        f"{value.name}_gap", kind="gap", better="low", needs="embedding", paper=value.paper, alias=alias,
        bounds=(-reach, reach), classwise=False, of=value.name,
        undefined=f"a group has no value ({value.undefined}), or {NO_LARGEST}",
    )(gap)  # fmt: skip
    for variant in GAP_VARIANTS[1:]:
        made.variants[variant] = _by_variant(value, variant)
    return made


def _by_variant(value: Measure, variant: str) -> Callable[[Embedded], Floats]:
    def gap(embedded: Embedded) -> Floats:
        return compared(value.by_class(embedded), embedded, value.better, variant)

    return gap


def compared(values: Floats, embedded: Embedded, better: Better, variant: str = "paper") -> Floats:
    """Return the gap of values ``[..., group]`` by one of ``GAP_VARIANTS``."""
    oriented = values if better == "high" else -values
    if variant in RULES:
        return RULES[variant](oriented)
    return sets_difference(values if variant == PAPER_SIGN else oriented, *compared_sets(embedded))


def compared_sets(embedded: Embedded) -> tuple[Mask, Mask]:
    """Return the majoritised and the minoritised groups: those named, and else the largest against all others.

    Where only one of the two sets is named, the other one is everybody else.
    """
    named = [np.isin(embedded.groups, names) for names in (embedded.majoritised, embedded.minoritised)]
    if not any(mask.any() for mask in named):
        return largest_and_others(embedded.people)
    majoritised, minoritised = (mask if mask.any() else ~other for mask, other in zip(named, named[::-1], strict=True))
    return majoritised, minoritised


def rows_by_group(embedded: Embedded, values: Floats) -> tuple[Floats, Floats]:
    """Return the sum of each group's values, and of how many rows: rows whose value is NaN are left out."""
    counted = (embedded.codes >= 0) & ~np.isnan(values)
    codes, number = embedded.codes[counted], len(embedded.groups)
    sums = np.bincount(codes, weights=values[counted], minlength=number)
    return sums.astype(np.float64), np.bincount(codes, minlength=number).astype(np.float64)
