"""What an audit of outcomes may say, and how: the largest confirmed difference first, then what is not known.

Only confirmed differences become claims: records whose corrected test and whose interval or bound agree
(``Record.finding``). What was tested without a finding, and what could not be tested, is kept beside them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from equipoise.foundation import (
    listing,
    percent,
    plural,
    points,
)
from equipoise.reports import formats
from equipoise.reports._document import Name, Text
from equipoise.reports._records import name_of
from equipoise.reports.narrative._report import (
    NOT_SIGNIFICANT,
    About,
    Story,
    and_more,
    by_reason,
    compared_groups,
    edges,
    inside,
    title_of_attribute,
)
from equipoise.results import Record, Status
from equipoise.stats import LEVEL, detectable_gap, people_needed
from equipoise.tallies import is_missing

if TYPE_CHECKING:
    from equipoise.audits import FourFifths

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
    value: float
    other_value: float

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
        return replace(self, claims=tuple(other for other in self.claims if other is not claim))

    def chosen(self) -> tuple[Claim, ...]:
        """Return the claims to put in words: few, and of each measure the largest difference either way."""
        claims: list[Claim] = []
        for claim in self.claims:
            same = [
                other
                for other in claims
                if (other.measure, _class(other.record)) == (claim.measure, _class(claim.record))
            ]
            one_way = any((other.record.value < 0) == (claim.record.value < 0) for other in same)
            if len(claims) < MOST_CLAIMS and len(same) < MOST_OF_A_MEASURE and not one_way:
                claims.append(claim)
        return tuple(claims)


@dataclass(frozen=True)
class Needed:
    """What it would take to show a difference in how often groups get a class, from the people who were counted.

    ``effective`` tells whether the people here are an effective number: with weights or clusters fewer than rows.
    """

    class_: str | None
    gap: float
    people: float
    people_now: float
    detectable: float
    effective: bool = False


def headlines(records: Sequence[Record]) -> tuple[Headline, ...]:
    """Return what may be said of each attribute and split."""
    grouped: dict[tuple[tuple[str, ...], str | None], list[Record]] = {}
    for record in records:
        if record.attribute and record.control is None:
            grouped.setdefault((record.attribute, record.split), []).append(record)
    return tuple(_headline(attribute, split, records_of) for (attribute, split), records_of in grouped.items())


def lead_of(every: Iterable[Headline]) -> tuple[Headline, Claim] | None:
    """Return the largest confirmed difference of all attributes, with where it was found; None where there is none."""
    leads = [(headline, headline.claims[0]) for headline in every if headline.claims]
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
    """Sort the first rates before the others and those before values of another scale, the largest difference first.

    A difference is as large as it surely is: the end of its interval that is nearer to 0. By the estimate alone small
    groups, which vary most, would lead.
    """
    ends = [abs(end) for end in (claim.record.low, claim.record.high) if end is not None]
    size = min(ends, default=abs(claim.record.value))
    if claim.measure in RATES:
        return int(claim.measure not in FIRST), -size
    return 2 + (OTHERS.index(claim.measure) if claim.measure in OTHERS else len(OTHERS)), -size


def _class(record: Record) -> tuple[str | None, str | None]:
    return record.class_, record.label


def _contrast_claim(record: Record, values: Mapping[tuple[object, ...], float]) -> Claim:
    if record.numerator is not None and record.denominator:
        own_rate = record.numerator / record.denominator
    elif record.measure in RATES:  # a mean over labels: which labels it is over differs from side to side
        own_rate = math.nan
    else:
        own_rate = values.get((record.measure, record.class_, record.label, record.group), math.nan)
    return Claim(record, own_rate, own_rate - record.value)


def _gap_claims(
    records: Sequence[Record], contrasts: Sequence[Record], claims: Sequence[Claim],
    values: Mapping[tuple[object, ...], float],
) -> list[Claim]:  # fmt: skip
    """Return confirmed gaps over all groups of rates in which no single contrast is confirmed."""
    covered = {(record.measure, *_class(record)) for record in contrasts}
    claimed = {(claim.measure, *_class(claim.record)) for claim in claims}
    gap_claims: dict[tuple[object, ...], Claim] = {}
    for record in records:
        if record.kind != "gap" or record.measure not in GAPS or not record.finding or record.pair is None:
            continue
        key = (GAPS[record.measure], *_class(record))
        if key in covered and key not in claimed:
            rate, other_rate = (values.get((*key, group), math.nan) for group in record.pair)
            gap_claims[key] = Claim(record, rate, other_rate)
    return list(gap_claims.values())


def needed_for(records: Sequence[Record], gap: float | None = None, level: float = 1.0 - LEVEL) -> Needed | None:
    """Return what would show a difference in selection rates, by the contrast that needs most people; None untested.

    People are counted as they are split over the groups here, by their effective number. The test is two-sided with a
    power of 80%, at the level that decides in the report.
    """
    min_gap = GAP_OF_INTEREST if gap is None else gap
    rates: dict[tuple[object, ...], dict[str | None, Record]] = {}
    for r in records:
        if r.kind == "rate" and r.measure == "selection_rate" and r.control is None and r.scope != "overall":
            rates.setdefault((r.attribute, r.split, r.class_, r.label), {})[r.group] = r
    estimates = [
        estimate
        for record in records
        if record.kind == "contrast" and record.measure == "selection_rate" and record.control is None
        and record.finding is not None
        and (estimate := _needed(record, rates, min_gap, 1.0 - level)) is not None
    ]  # fmt: skip
    return max(estimates, key=lambda estimate: estimate.people, default=None)


def _needed(
    record: Record, rates: Mapping[tuple[object, ...], Mapping[str | None, Record]], gap: float, alpha: float,
) -> Needed | None:  # fmt: skip
    sides = rates.get((record.attribute, record.split, record.class_, record.label), {})
    side = sides.get(record.group)
    others = [
        rate for group, rate in sides.items()
        if group is not None and group != record.group
        and (group == record.against if record.against in sides else not is_missing(group))
    ]  # fmt: skip
    n1 = 0.0 if side is None else side.effective_n or 0.0
    n2 = sum(rate.effective_n or 0.0 for rate in others)
    if side is None or not n1 or not n2:
        return None
    base = sum(rate.value * (rate.effective_n or 0.0) for rate in (side, *others) if rate.defined) / (n1 + n2)
    people = people_needed(gap, base, n1 / (n1 + n2), level=alpha)
    if math.isnan(people):
        return None
    effective = not math.isclose(n1 + n2, sum(rate.denominator or 0.0 for rate in (side, *others)), rel_tol=1e-6)
    detectable = float(detectable_gap(base, n1, n2, level=alpha))
    return Needed(record.label or record.class_, gap, people, n1 + n2, detectable, effective)


# What the model does more or less often, and what the field calls that rate. {c} is the class. Groups are named after
# "for": their names may be anything ("Female", "3", "(missing)"), so none is made the subject of a verb.
RATE_PHRASES = {
    "selection_rate": ("The model predicts {c}", ""),
    "true_positive_rate": ("Where the truth is {c}, the model predicts it", "true positive rate"),
    "false_positive_rate": ("Where the truth is not {c}, the model wrongly predicts it", "false positive rate"),
    "positive_predictive_value": ("Where the model predicts {c}, it is right", "precision"),
    "accuracy": ("The model is right", "accuracy"),
}
# A ratio within 6% of one of these is said in words.
TIMES = {
    1 / 4: "a quarter as often", 1 / 3: "a third as often", 1 / 2: "half as often", 2 / 3: "two thirds as often",
    2.0: "twice as often", 3.0: "three times as often", 4.0: "four times as often",
}  # fmt: skip
MOST_UNCONFIRMED, MOST_SMALL, MOST_REASONS = 2, 4, 3


def outcome_story(
    records: Sequence[Record], rules: Sequence[FourFifths] = (), gap: float | None = None, level: float = 0.95
) -> Story:
    """Tell an audit: the largest confirmed difference first, then attribute by attribute.

    Where nothing is confirmed the first sentence says so, and what would be needed at the ``level`` that decides.
    """
    all_headlines = headlines(records)
    lead = lead_of(all_headlines)
    about = []
    for headline in all_headlines:
        remaining = headline if lead is None or headline is not lead[0] else headline.without(lead[1])
        equivalent, unshown = _equivalent(headline)
        confirmed = (*_claims(remaining), *_broken_rules(headline, rules), *equivalent)
        about.append(About(_title(headline), confirmed, (*unshown, *_open(headline))))
    if lead is not None:
        return Story(say_claim(lead[1], f" ({_title(lead[0])})"), tuple(about))
    sentence, context = _nothing_confirmed(all_headlines, needed_for(records, gap, level))
    return Story(sentence, tuple(about), context, has_findings=False)


def _title(headline: Headline) -> str:
    return title_of_attribute(headline.attribute, headline.split)


def _nothing_confirmed(all_headlines: Sequence[Headline], needed: Needed | None) -> tuple[str, str]:
    """Say that no difference is confirmed, what would be needed to confirm one, and what that does not show."""
    tested = sum(headline.tested for headline in all_headlines)
    untested = [record for headline in all_headlines for record in headline.untested]
    if not tested and untested:
        return f"No difference between groups could be tested: {untested[0].reason}.", ""
    if not any(headline.compared for headline in all_headlines):
        return "There was nothing to compare: no attribute has two groups with a value.", ""
    if not tested:
        return "No difference between groups was tested: the numbers are shown as they are.", ""
    power = "" if needed is None else f" {_power(needed)}"
    tests = plural(tested, "comparison")
    return (
        f"No difference between groups is confirmed in {tests}.{power}",
        "That does not show that the groups are treated alike.",
    )


def _power(needed: Needed) -> str:
    rate_words = f"in the selection rate of {needed.class_!r}"
    if needed.people > needed.people_now:
        # A forecast is no exacter than two digits.
        people = f"{float(f'{needed.people:.2g}'):,.0f}"
        compared_people = f"{needed.people_now:,.0f}"
        compared = (
            f"those compared count as {compared_people} (their effective number, with these weights or clusters)"
            if needed.effective
            else f"{compared_people} were compared"
        )
        return (
            f"Detecting a difference of {points(needed.gap)} {rate_words} would take about {people} people "
            f"(80% power); {compared}."
        )
    detectable = points(needed.detectable)
    return f"A difference of {detectable} or more {rate_words} would probably have been detected (80% power)."


def _claims(headline: Headline) -> Iterator[Text]:
    chosen = headline.chosen()
    yield from (say_claim(claim) for claim in chosen)
    more = len(headline.claims) - len(chosen)
    if more:
        yield f"{plural(more, 'more difference is', 'more differences are')} confirmed (see the contrasts)."


def say_claim(claim: Claim, about: str = "") -> Text:
    """Say one confirmed difference with the values of both sides and its interval."""
    record = claim.record
    if claim.measure not in RATE_PHRASES or (math.isnan(claim.value) and record.kind != "gap"):
        return _value_claim(claim, about)
    template, called = RATE_PHRASES[claim.measure]
    lower, other = record.pair if record.kind == "gap" and record.pair else (record.group, record.against)
    if record.kind == "gap":
        often, size = ("less often", "than"), claim.value - claim.other_value
        around = "" if record.low is None else f"groups differ by at least {points(record.low)}"
    else:
        often, size = _times(claim), record.value
        around = _around(record, _points)
    words = template.format(c=repr(record.label or record.class_))
    rates = f"{percent(claim.value)} against {percent(claim.other_value)}"
    compared = compared_groups(record.attribute, lower, other, often[1], about)
    return (f"{words} {often[0]} ", *compared, f": {rates}{inside(called, points(abs(size)), around)}.")


def _value_claim(claim: Claim, about: str) -> Text:
    """Say a difference of a value, or of a rate that is a mean over labels."""
    record = claim.record
    way = "lower" if record.value < 0 else "higher"
    if claim.measure in RATE_PHRASES:
        around = _around(record, _points)
        sides = f" on average over the labels{inside(points(abs(record.value)), around)}"
    else:
        size, around = f"a difference of {abs(record.value):.3g}", _around(record, lambda edge: f"{edge:.3g}")
        sides = f": {claim.value:.4g} against {claim.other_value:.4g}{inside(size, around)}"
        if math.isnan(claim.value):
            sides = f": {size}{inside(around)}"
    name = name_of(claim.measure)
    compared = compared_groups(record.attribute, record.group, record.against, "than", about)
    return (f"The {name} is {way} ", *compared, f"{sides}.")


def _points(share: float) -> str:
    return f"{100 * share:.1f}"


def _around(record: Record, write: Callable[[float], str]) -> str:
    """Name the interval of a size: of a confirmed difference both ends have its sign, which the sentence says."""
    if record.low is None or record.high is None:
        return ""
    low, high = sorted((abs(record.low), abs(record.high)))
    return edges(low, high, record.level, write)


def _times(claim: Claim) -> tuple[str, str]:
    """Say how many times as often, where that is near a round number, else only which way; and as or than."""
    share = claim.value / claim.other_value if claim.other_value > 0 else math.inf
    for times, words in TIMES.items():
        if abs(share / times - 1) < 0.06:
            return words, "as"
    return "less often" if claim.record.value < 0 else "more often", "than"


def _broken_rules(headline: Headline, rules: Sequence[FourFifths]) -> Iterator[Text]:
    """Say which group is furthest below four fifths of the highest rate, where selection rates are shown to differ."""
    is_confirmed = any(claim.measure == "selection_rate" for claim in headline.claims)
    broken = [
        rule for rule in rules
        if (rule.attribute, rule.split, rule.basis) == (headline.attribute, headline.split, "highest rate")
        and rule.significant and not rule.small
    ]  # fmt: skip
    if is_confirmed and broken:
        worst = min(broken, key=lambda rule: rule.ratio)
        yield (
            "The selection rate of ", Name(worst.group), f" is {worst.ratio:.2f} times that of {worst.against}, the "
            "highest: significantly below four fifths (0.80).",
        )  # fmt: skip


def _equivalent(headline: Headline) -> tuple[list[str], list[str]]:
    """Say which differences are shown to be within the margin that was asked about, or that none is."""
    equivalent = [record for record in headline.contrasts if record.equivalent]
    tested = [record for record in headline.contrasts if record.margin is not None]
    if not tested:
        return [], []
    margin = points(tested[0].margin or 0.0)
    if not equivalent:
        return [], [f"No difference is shown to be within {margin}."]
    names = listing(dict.fromkeys(f"{_measure_name(r)} of {r.group} against {r.against}" for r in equivalent), 4)
    return [f"Shown to be within {margin} ({len(equivalent)} of {len(tested)} differences): {names}."], []


def _open(headline: Headline) -> Iterator[str]:
    """Say what was tested without a finding, and whom too few people leave untested."""
    nearest = sorted(headline.unconfirmed, key=lambda record: record.p_adjusted or 1.0)
    if nearest:
        yield f"{NOT_SIGNIFICANT}: {and_more([*map(_unconfirmed, nearest)], MOST_UNCONFIRMED)}."
    yield from by_reason(
        ((record.reason, f"{_measure_name(record)} of {record.group}") for record in headline.untested), MOST_SMALL
    )


def _unconfirmed(record: Record) -> str:
    """Name a difference that was tested, with its interval: how large it may be either way."""
    contrast = f"{_measure_name(record)} of {record.group} against {record.against}"
    rate = record.measure in RATE_PHRASES
    around = edges(record.low, record.high, record.level, formats.points if rate else formats.signed_fine)
    size = f"{formats.points(record.value)} points" if rate else formats.signed_fine(record.value)
    return contrast + inside(size, around) if around else contrast


def _measure_name(record: Record) -> str:
    """Name a measure in a list; where a label or one of several classes is meant, with it."""
    of = record.label if record.label is not None else record.class_ if record.scope == "class" else None
    return name_of(record.measure) + ("" if of is None else f" ({of})")


def unknown_sentences(records: Iterable[Record]) -> Iterator[str]:
    """Yield what could not be computed and why: a line for each group, then a line for each reason of a gap.

    A reason that holds for everyone (scores that are no probabilities, say) is said once, not group by group.
    """
    untold = [
        record
        for record in records
        if record.status in (Status.UNDEFINED, Status.TOO_SMALL) and record.reason
        and record.kind != "contrast"  # said with the contrasts
    ]  # fmt: skip
    for_all = {(record.split, record.label, str(record.reason)) for record in untold if not record.attribute}
    groups: dict[tuple[str, str], dict[str, list[str]]] = {}
    gaps: dict[tuple[str, str], list[str]] = {}
    for record in untold:
        reason, name = str(record.reason), record.alias or record.measure
        everyones = (record.split, record.label, reason) in for_all
        where = _subject_words(replace(record, attribute=(), control=None) if everyones else record)
        if record.kind in ("rate", "value") and record.group is not None and not everyones:
            groups.setdefault((where, record.group), {}).setdefault(reason, []).append(name)
        else:
            gaps.setdefault((where, reason), []).append(name)
    for (where, group), reasons in groups.items():
        reasons_words = [f"{reason} ({listing(dict.fromkeys(names), 4)})" for reason, names in reasons.items()]
        yield f"{where}, {group}: {and_more(reasons_words, MOST_REASONS)}."
    for (where, reason), names in gaps.items():
        yield f"{where + ': ' if where else ''}{reason} ({listing(dict.fromkeys(names), 8)})."


def _subject_words(record: Record) -> str:
    """Say what a record is about: attribute, split, label and control."""
    where = " & ".join(record.attribute) + (f" ({record.split})" if record.split is not None else "")
    where += f", label {record.label}" if record.label is not None else ""
    where += f" within {record.control}" if record.control is not None else ""
    return where.removeprefix(", ").strip()
