"""The four-fifths rule: each group's selection rate against the highest-rate group's and against the reference's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from equipoise.audits.result import FourFifths
from equipoise.foundation.results import Record

RULE = 0.8
# A group below this share of the rows is flagged: the rule was never meant for it.
SMALL_SHARE = 0.02
DRAWS = 20_000


def four_fifths(
    records: Sequence[Record], total: float, generator: np.random.Generator, unit: float = 1.0
) -> Iterator[FourFifths]:
    """Yield the rule for every group, with the probability that it is broken given how few were seen.

    ``total`` is the weight of all rows, and ``unit`` how many independent people a weight of 1 stands for.

    A rate with x of n has the Jeffreys posterior Beta(x + 1/2, n - x + 1/2); the probability is the share of draws
    with a ratio under 0.8.
    """
    rates = {
        (r.attribute, r.split, r.group): r
        for r in records
        if r.measure == "selection_rate" and r.kind == "rate" and r.scope == "favourable" and r.control is None
    }
    highest_rate: dict[tuple[tuple[str, ...], str | None], float] = {}
    for (attribute, split, group), rate in rates.items():
        if rate.defined and group != "(missing)":
            highest_rate[attribute, split] = max(rate.value, highest_rate.get((attribute, split), rate.value))
    for record in records:
        if record.kind != "ratio to group" or record.scope != "favourable" or record.control is not None:
            continue
        own = rates[record.attribute, record.split, record.group]
        other = rates[record.attribute, record.split, record.against]
        highest = other.value >= highest_rate[record.attribute, record.split]
        share = (own.denominator or 0.0) / total if total else 0.0
        yield FourFifths(
            attribute=record.attribute,
            group=str(record.group),
            against=str(record.against),
            basis="highest rate" if highest else "reference",
            split=record.split,
            ratio=record.value,
            probability_broken=_probability(own, other, unit, generator),
            share=share,
            small=share < SMALL_SHARE,
        )


def _probability(own: Record, other: Record, unit: float, generator: np.random.Generator) -> float:
    draws = []
    for record in (own, other):
        if record.numerator is None or record.denominator is None:
            return float("nan")
        x, n = unit * record.numerator, unit * record.denominator
        draws.append(generator.beta(x + 0.5, max(n - x, 0.0) + 0.5, DRAWS))
    return float((draws[0] < RULE * draws[1]).mean())
