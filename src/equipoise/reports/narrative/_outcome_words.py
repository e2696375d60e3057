"""Sentences of an audit: confirmed differences with their numbers, what is inconclusive, and what is undefined."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from equipoise.foundation.errors import listing
from equipoise.foundation.text import number_of_people, percent, plural, points
from equipoise.reports._document import Name, Piece, Text
from equipoise.reports.formats import interval_name
from equipoise.reports.narrative._outcome_findings import Claim, Headline, Needed, headlines, lead_of, needed_for
from equipoise.reports.narrative._story import About, Story, capitalised
from equipoise.results import Record, Status

if TYPE_CHECKING:
    from equipoise.audits import FourFifths

MOST_REASONS = 3


# Of whom a rate speaks, what is said of them, and what the field calls it. {c} is the class.
SAID = {
    "selection_rate": ("", "are predicted {c}", None),
    "true_positive_rate": ("of people who are {c}, ", "are predicted so", "true positive rate"),
    "false_positive_rate": ("of people who are not {c}, ", "are predicted {c}", "false positive rate"),
    "positive_predictive_value": ("of people predicted {c}, ", "are truly so", "positive predictive value"),
    "accuracy": ("", "are predicted correctly", "accuracy"),
}
CALLED = {
    "auc": "AUC", "mean_absolute_error": "mean absolute error", "mean_residual": "mean residual",
    "pearson": "correlation of prediction and target",
}  # fmt: skip
# A ratio within 6 % of one of these is said in words.
TIMES = {
    1 / 4: "a quarter as often as", 1 / 3: "a third as often as", 1 / 2: "half as often as",
    2 / 3: "two thirds as often as", 2.0: "twice as often as", 3.0: "three times as often as",
    4.0: "four times as often as",
}  # fmt: skip
MOST_UNCONFIRMED = 2
MOST_SMALL = 3


def outcome_story(
    records: Sequence[Record], rules: Sequence[FourFifths] = (), gap: float | None = None, level: float = 0.95
) -> Story:
    """Tell an audit: the largest confirmed difference first, then attribute by attribute.

    Where nothing is confirmed the first sentence says so, and what would be needed at the ``level`` that decides.
    """
    made = headlines(records)
    lead = lead_of(made)
    about = []
    for headline in made:
        told = headline if lead is None or headline is not lead[0] else headline.without(lead[1])
        shown, unshown = _equivalent(headline)
        about.append(About(
            headline.attribute, headline.split, (*_claims(told), *_broken_rules(headline, rules), *shown),
            (*unshown, *_open(headline)),
        ))  # fmt: skip
    if lead is None:
        return Story(tuple(say_nothing_confirmed(made, needed_for(records, gap, level))), tuple(about))
    return Story((say_lead(*lead),), tuple(about))


def say_lead(headline: Headline, claim: Claim) -> Text:
    """Say the largest confirmed difference of an audit, with the attribute it is about."""
    about = " & ".join(headline.attribute) + ("" if headline.split is None else f", {headline.split}")
    return capitalised(say_claim(claim, f" ({about})"))


def say_nothing_confirmed(made: Sequence[Headline], needed: Needed | None) -> Iterator[str]:
    """Say first that no difference is confirmed, and what would be needed to confirm one."""
    tested = sum(headline.tested for headline in made)
    untested = [record for headline in made for record in headline.untested]
    if not tested and untested:
        yield f"No difference between groups could be tested: {untested[0].reason}."
    elif not any(headline.compared for headline in made):
        yield "There was nothing to compare: no attribute has two groups with a value."
    elif not tested:
        yield "No difference between groups was tested: the numbers are shown as they are."
    else:
        tests = f"in {plural(tested, 'comparison')} of groups" if tested > 1 else "in the one comparison of groups"
        power = "" if needed is None else f" {_needed(needed)}"
        yield f"No difference between groups is confirmed {tests}.{power}"
        yield "That does not show that the groups are treated alike."


def _needed(needed: Needed) -> str:
    what = f"in how often groups are predicted {needed.class_!r}"
    if needed.people > needed.here:
        return (
            f"To detect a difference of {points(needed.gap)} {what} (80% power), about "
            f"{_rounded(needed.people)} people would be needed, and {number_of_people(needed.here)} were compared."
        )
    return (
        f"With these {number_of_people(needed.here)} a difference of {points(needed.detectable)} or more {what} would "
        "probably have been detected (80% power)."
    )


def _rounded(number: float) -> str:
    """Write a number in two digits: a forecast is no exacter."""
    return f"{float(f'{number:.2g}'):,.0f}"


def _claims(headline: Headline) -> Iterator[Text]:
    told = headline.chosen()
    yield from (say_claim(claim) for claim in told)
    more = len(headline.claims) - len(told)
    if more:
        yield f"{plural(more, 'more difference is', 'more differences are')} confirmed (see the contrasts)."


def say_claim(claim: Claim, about: str = "") -> Text:
    """Say one confirmed difference with the values of both sides and its interval."""
    record = claim.record
    if claim.measure not in SAID:
        return _value_claim(claim, about)
    whom, what, called = SAID[claim.measure]
    name = repr(record.label or record.class_) if record.label or record.class_ else "a label"
    lower, higher = (record.pair or (record.group, record.against)) if record.kind == "gap" else (record.group, "")
    inside = ["" if called is None else called, points(abs(record.value))]
    if record.kind == "gap":
        inside[-1] = points(abs(claim.own - claim.other))
        inside.append("" if record.low is None else f"groups differ by at least {points(record.low)}")
        sides = f"less often than {higher}: {percent(claim.own)} against {percent(claim.other)}"
    else:
        inside.append(_edges(record, 100))
        if math.isnan(claim.own):
            way = "less often than" if record.value < 0 else "more often than"
            sides = f"{way} {record.against}, on average over the labels"
        else:
            sides = f"{_times(claim)} {record.against}: {percent(claim.own)} against {percent(claim.other)}"
    subject: tuple[Piece, ...] = (whom.format(c=name), Name(str(lower))) if whom else (Name(str(lower)),)
    return (*subject, f"{about} {what.format(c=name)} {sides}{_inside(inside)}.")


def _value_claim(claim: Claim, about: str) -> str:
    record = claim.record
    called = CALLED.get(claim.measure, claim.measure.replace("_", " "))
    way = "lower" if record.value < 0 else "higher"
    sides = "" if math.isnan(claim.own) else f": {claim.own:.4g} against {claim.other:.4g}"
    inside = _inside([f"a difference of {abs(record.value):.3g}", _edges(record)])
    return f"the {called} is {way} for {record.group}{about} than for {record.against}{sides}{inside}."


def _inside(parts: Iterable[str]) -> str:
    return f" ({', '.join(part for part in parts if part)})"


def _edges(record: Record, times: float = 1.0) -> str:
    if record.low is None or record.high is None:
        return ""
    low, high = sorted(times * abs(edge) for edge in (record.low, record.high))
    edges = f"{low:.1f} to {high:.1f}" if times > 1 else f"{low:.3g} to {high:.3g}"
    return f"{interval_name(record.level)} {edges}"


def _times(claim: Claim) -> str:
    """Say how many times as often, where that is near a round number; else only which way."""
    share = claim.own / claim.other if claim.other > 0 else math.inf
    for times, words in TIMES.items():
        if abs(share / times - 1) < 0.06:
            return words
    return "less often than" if claim.record.value < 0 else "more often than"


def _broken_rules(headline: Headline, rules: Sequence[FourFifths]) -> Iterator[Text]:
    """Say which group is furthest below four fifths of the highest rate, where selection rates are shown to differ."""
    shown = any(claim.measure == "selection_rate" for claim in headline.claims)
    broken = [
        rule for rule in rules
        if (rule.attribute, rule.split, rule.basis) == (headline.attribute, headline.split, "highest rate")
        and rule.significant and not rule.small
    ]  # fmt: skip
    if shown and broken:
        worst = min(broken, key=lambda rule: rule.ratio)
        yield (
            Name(worst.group), f" have an impact ratio of {worst.ratio:.2f} to {worst.against}, the group with the "
            "highest rate: significantly below the four-fifths rule (0.80).",
        )  # fmt: skip


def _equivalent(headline: Headline) -> tuple[list[str], list[str]]:
    """Say which differences are shown to be within the margin that was asked about, or that none is."""
    shown = [record for record in headline.contrasts if record.equivalent]
    asked = [record for record in headline.contrasts if record.margin is not None]
    if not asked:
        return [], []
    margin = points(asked[0].margin or 0.0)
    if not shown:
        return [], [f"no difference is shown to be within {margin}."]
    told = listing(dict.fromkeys(f"{_measure_name(r)} of {r.group} against {r.against}" for r in shown), 4)
    return [f"shown to be within {margin} ({len(shown)} of {len(asked)} differences): {told}."], []


def _open(headline: Headline) -> Iterator[str]:
    """Say what was tested without a finding, and whom too few people leave untested."""
    if headline.unconfirmed:
        nearest = sorted(headline.unconfirmed, key=lambda record: record.p_adjusted or 1.0)
        told = "; ".join(map(_unconfirmed, nearest[:MOST_UNCONFIRMED]))
        more = len(nearest) - MOST_UNCONFIRMED
        yield f"not significant after correction: {told}{f'; and {more:,} more' if more > 0 else ''}."
    small: dict[tuple[str, str], list[str]] = {}
    for record in headline.untested:
        small.setdefault((str(record.group), str(record.reason)), []).append(_measure_name(record))
    if small:
        told = "; ".join(
            f"{listing(dict.fromkeys(names), 3)} of {group} ({reason})"
            for (group, reason), names in list(small.items())[:MOST_SMALL]
        )
        more = len(small) - MOST_SMALL
        yield f"not enough data to test: {told}{f'; and {more:,} more' if more > 0 else ''}."


def _unconfirmed(record: Record) -> str:
    """Name a difference that was tested, with its interval: how large it may be either way."""
    who = f"{_measure_name(record)} of {record.group} against {record.against}"
    if record.low is None or record.high is None:
        return who
    if record.measure in SAID:
        low, high = (f"{100 * edge:+.1f}" for edge in (record.low, record.high))
        return f"{who} ({100 * record.value:+.1f} points, {interval_name(record.level)} {low} to {high})"
    return f"{who} ({record.value:+.3g}, {interval_name(record.level)} {record.low:+.3g} to {record.high:+.3g})"


def _measure_name(record: Record) -> str:
    """Name a measure in a list; where a label or one of several classes is meant, with it."""
    name = CALLED.get(record.measure, record.measure.replace("_", " "))
    of = record.label if record.label is not None else record.class_ if record.scope == "class" else None
    return name if of is None else f"{name} ({of})"


def say_untold(records: Iterable[Record]) -> Iterator[str]:
    """Yield what could not be told and why: a line for each group, then a line for each reason of a gap.

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
        if (record.split, record.label, reason) in for_all:
            gaps.setdefault((_where(replace(record, attribute=(), control=None)), reason), []).append(name)
            continue
        where = _where(record)
        if record.kind in ("rate", "value") and record.group is not None:
            groups.setdefault((where, record.group), {}).setdefault(reason, []).append(name)
        else:
            gaps.setdefault((where, reason), []).append(name)
    for (where, group), reasons in groups.items():
        told = [f"{reason} ({listing(dict.fromkeys(names), 4)})" for reason, names in reasons.items()]
        more = f"; and {len(told) - MOST_REASONS} more reasons" if len(told) > MOST_REASONS else ""
        yield f"{where}, {group}: {'; '.join(told[:MOST_REASONS])}{more}."
    for (where, reason), names in gaps.items():
        yield f"{where + ': ' if where else ''}{reason} ({listing(dict.fromkeys(names), 8)})."


def _where(record: Record) -> str:
    """Say what a record is about: attribute, split, label and control."""
    where = " & ".join(record.attribute) + (f" ({record.split})" if record.split is not None else "")
    where += f", label {record.label}" if record.label is not None else ""
    where += f" within {record.control}" if record.control is not None else ""
    return where.removeprefix(", ").strip()
