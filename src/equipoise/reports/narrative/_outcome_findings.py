"""What an audit may say first: a pure function of its records, before any of it is a sentence.

Only confirmed differences become claims: records whose corrected test and whose interval or bound agree
(``Record.finding``). What was tested without a finding, and what could not be tested, is kept beside them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from equipoise.results import Record, Status
from equipoise.stats import LEVEL, detectable_gap, people_needed

# Rates that are compared between groups, and the gap over all groups that belongs to each.
GAPS: Mapping[str, str] = {
    "demographic_parity": "selection_rate",
    "equalized_odds_true_positive": "true_positive_rate",
    "equalized_odds_false_positive": "false_positive_rate",
    "positive_predictive_value_difference": "positive_predictive_value",
    "accuracy_difference": "accuracy",
}
RATES = tuple(GAPS.values())
# Who is selected, and who of those that should be, comes first; then the other rates. Other values have own scales.
FIRST = ("selection_rate", "true_positive_rate")
OTHERS = ("auc", "mean_absolute_error", "mean_residual", "pearson")
# So many claims of one measure are told of an attribute, and so many in all.
MOST_OF_A_MEASURE = 2
MOST_CLAIMS = 3
# A difference of this size is asked about where nobody named another.
GAP_OF_INTEREST = 0.05


@dataclass(frozen=True)
class Claim:
    """A confirmed difference: its record (a contrast, or a gap over all groups), and the values of both sides."""

    record: Record
    own: float
    other: float

    @property
    def measure(self) -> str:
        """The rate or value that differs."""
        return GAPS.get(self.record.measure, self.record.measure)


@dataclass(frozen=True)
class Headline:
    """What may be said of one attribute in one split; claims are sorted, the largest difference first.

    ``compared`` tells whether there were two groups with a value at all, ``contrasts`` are all of them.
    """

    attribute: tuple[str, ...]
    split: str | None
    claims: tuple[Claim, ...] = ()
    unconfirmed: tuple[Record, ...] = ()
    untested: tuple[Record, ...] = ()
    compared: bool = True
    contrasts: tuple[Record, ...] = ()

    @property
    def tested(self) -> int:
        """How many contrasts were tested."""
        return len(self.unconfirmed) + sum(claim.record.kind == "contrast" for claim in self.claims)

    def without(self, claim: Claim) -> Headline:
        """Return the same without a claim that is told elsewhere."""
        return replace(self, claims=tuple(own for own in self.claims if own is not claim))

    def chosen(self) -> tuple[Claim, ...]:
        """Return the claims to put in words: few, and of each measure the largest difference either way."""
        told: list[Claim] = []
        for claim in self.claims:
            same = [own for own in told if (own.measure, _class(own.record)) == (claim.measure, _class(claim.record))]
            one_way = any((own.record.value < 0) == (claim.record.value < 0) for own in same)
            if len(told) < MOST_CLAIMS and len(same) < MOST_OF_A_MEASURE and not one_way:
                told.append(claim)
        return tuple(told)


@dataclass(frozen=True)
class Needed:
    """What it would take to show a difference in how often groups get a class, from the people who were counted."""

    class_: str | None
    gap: float
    people: float
    here: float
    detectable: float


def headlines(records: Sequence[Record]) -> tuple[Headline, ...]:
    """Return what may be said of each attribute and split."""
    kept: dict[tuple[tuple[str, ...], str | None], list[Record]] = {}
    for record in records:
        if record.attribute and record.control is None:
            kept.setdefault((record.attribute, record.split), []).append(record)
    return tuple(_headline(attribute, split, own) for (attribute, split), own in kept.items())


def lead_of(made: Iterable[Headline]) -> tuple[Headline, Claim] | None:
    """Return the largest confirmed difference of all attributes, with where it was found; None where there is none."""
    leads = [(headline, headline.claims[0]) for headline in made if headline.claims]
    return min(leads, key=lambda lead: _order(lead[1]), default=None)


def _headline(attribute: tuple[str, ...], split: str | None, records: Sequence[Record]) -> Headline:
    contrasts = [record for record in records if record.kind == "contrast"]
    values: dict[tuple[object, ...], float] = {
        (r.measure, r.class_, r.label, r.group): r.value
        for r in records
        if r.kind in ("rate", "value") and r.defined and r.variant != "micro"
    }
    claims = [_contrast_claim(record, values) for record in contrasts if record.finding]
    claims += _gap_claims(records, contrasts, claims, values)
    return Headline(
        attribute,
        split,
        claims=tuple(sorted(claims, key=_order)),
        unconfirmed=tuple(record for record in contrasts if record.finding is False),
        untested=tuple(record for record in contrasts if record.finding is None and record.status != Status.OK),
        compared=any(record.defined for record in records if record.kind in ("contrast", "gap", "ratio")),
        contrasts=tuple(contrasts),
    )


def _order(claim: Claim) -> tuple[int, float]:
    """Sort the first rates before the others and those before values of another scale, the largest difference first."""
    if claim.measure in RATES:
        return int(claim.measure not in FIRST), -abs(claim.record.value)
    place = OTHERS.index(claim.measure) if claim.measure in OTHERS else len(OTHERS)
    return 2 + place, -abs(claim.record.value)


def _class(record: Record) -> tuple[str | None, str | None]:
    return record.class_, record.label


def _contrast_claim(record: Record, values: Mapping[tuple[object, ...], float]) -> Claim:
    if record.numerator is not None and record.denominator:
        own = record.numerator / record.denominator
    elif record.measure in RATES:  # a mean over labels: which labels it is over differs from side to side
        own = math.nan
    else:
        own = values.get((record.measure, record.class_, record.label, record.group), math.nan)
    return Claim(record, own, own - record.value)


def _gap_claims(
    records: Sequence[Record], contrasts: Sequence[Record], claims: Sequence[Claim],
    values: Mapping[tuple[object, ...], float],
) -> list[Claim]:  # fmt: skip
    """Return confirmed gaps over all groups of rates in which no single contrast is confirmed."""
    shown = {(record.measure, *_class(record)) for record in contrasts}
    told = {(claim.measure, *_class(claim.record)) for claim in claims}
    made: dict[tuple[object, ...], Claim] = {}
    for record in records:
        if record.kind != "gap" or record.measure not in GAPS or not record.finding or record.pair is None:
            continue
        key = (GAPS[record.measure], *_class(record))
        if key in shown and key not in told:
            own, other = (values.get((*key, group), math.nan) for group in record.pair)
            made[key] = Claim(record, own, other)
    return list(made.values())


def needed_for(records: Sequence[Record], gap: float | None = None, level: float = 1.0 - LEVEL) -> Needed | None:
    """Return what would show a difference in selection rates, by the contrast that needs most people; None untested.

    People are counted as they are split over the groups here, by their effective number. The test is two-sided with a
    power of 80%, at the level that decides in the report.
    """
    wanted = GAP_OF_INTEREST if gap is None else gap
    rates: dict[tuple[object, ...], dict[str | None, Record]] = {}
    for r in records:
        if r.kind == "rate" and r.measure == "selection_rate" and r.control is None and r.scope != "overall":
            rates.setdefault((r.attribute, r.split, r.class_, r.label), {})[r.group] = r
    made = [
        found
        for record in records
        if record.kind == "contrast" and record.measure == "selection_rate" and record.control is None
        and record.finding is not None
        and (found := _needed(record, rates, wanted, 1.0 - level)) is not None
    ]  # fmt: skip
    return max(made, key=lambda found: found.people, default=None)


def _needed(
    record: Record, rates: Mapping[tuple[object, ...], Mapping[str | None, Record]], gap: float, alpha: float,
) -> Needed | None:  # fmt: skip
    sides = rates.get((record.attribute, record.split, record.class_, record.label), {})
    own = sides.get(record.group)
    others = [
        rate for group, rate in sides.items()
        if group != record.group and (group == record.against if record.against in sides else group != "(missing)")
    ]  # fmt: skip
    n1 = 0.0 if own is None else own.effective_n or 0.0
    n2 = sum(rate.effective_n or 0.0 for rate in others)
    if own is None or not n1 or not n2:
        return None
    base = sum(rate.value * (rate.effective_n or 0.0) for rate in (own, *others) if rate.defined) / (n1 + n2)
    people = people_needed(gap, base, n1 / (n1 + n2), level=alpha)
    if math.isnan(people):
        return None
    return Needed(record.label or record.class_, gap, people, n1 + n2, detectable_gap(base, n1, n2, level=alpha))
