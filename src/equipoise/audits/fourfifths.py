"""The four-fifths rule: each group's selection rate over the highest one, and over that of a group fixed beforehand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from equipoise.audits.result import FourFifths
from equipoise.results import Record
from equipoise.tallies.labels import MISSING

RULE = 0.8
# A group below this share of the rows is flagged: the rule was never meant for it.
SMALL_SHARE = 0.02
DRAWS = 20_000

Place = tuple[tuple[str, ...], str | None]


def four_fifths(
    records: Sequence[Record], total: float, generator: np.random.Generator, reference: Mapping[str, object]
) -> Iterator[FourFifths]:
    """Yield the rule for every group: the ratio with its interval, and the probability that it is broken.

    A ratio is significantly below four fifths where the upper end of its interval is. ``probability_broken`` is by
    draws of all groups at once: a rate with x of n effective people has the Jeffreys posterior Beta(x + 1/2, n - x +
    1/2), and a group is compared with the highest rate of its own draw, or with that of the fixed group.

    ``total`` is the weight of all rows; ``reference`` are the groups that were named, by attribute.
    """
    rates: dict[Place, dict[str, Record]] = {}
    for r in records:
        if r.measure == "selection_rate" and r.kind == "rate" and r.scope == "favourable" and r.control is None:
            rates.setdefault((r.attribute, r.split), {})[str(r.group)] = r
    drawn = {place: _drawn(own, generator) for place, own in rates.items()}
    for record in records:
        if record.kind != "ratio to group" or record.scope != "favourable" or record.control is not None:
            continue
        place = (record.attribute, record.split)
        group, against = str(record.group), str(record.against)
        own, other = rates[place][group], rates[place][against]
        highest = other.value >= max(r.value for name, r in rates[place].items() if r.defined and name != MISSING)
        named = len(record.attribute) == 1 and reference.get(record.attribute[0]) == against
        share = (own.denominator or 0.0) / total if total else 0.0
        yield FourFifths(
            attribute=record.attribute,
            group=group,
            against=against,
            basis="highest rate" if highest else "reference" if named else "largest group",
            split=record.split,
            ratio=record.value,
            probability_broken=_probability(drawn[place], group, None if highest else against),
            share=share,
            small=share < SMALL_SHARE,
            low=record.low,
            high=record.high,
            level=record.level,
            significant=None if record.high is None else record.high < RULE,
        )


def _drawn(rates: Mapping[str, Record], generator: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw the rates of all groups at once."""
    made = {}
    for group, rate in rates.items():
        if rate.defined and rate.effective_n is not None and group != MISSING:
            x, n = rate.value * rate.effective_n, rate.effective_n
            made[group] = generator.beta(x + 0.5, max(n - x, 0.0) + 0.5, DRAWS)
    return made


def _probability(drawn: Mapping[str, np.ndarray], group: str, against: str | None) -> float:
    """Return how often a group's rate is below four fifths of another's, or of the highest in the same draw."""
    if group not in drawn or (against is not None and against not in drawn):
        return float("nan")
    base = np.max(list(drawn.values()), axis=0) if against is None else drawn[against]
    return float((drawn[group] < RULE * base).mean())
