"""A comparison in plain words: who the most changed are, whose predictions moved, and what none of that can tell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from equipoise.audits.compare.headlines import CompareHeadline, headline_of_result
from equipoise.audits.compare.result import (
    ChangeRecord,
    CompareResult,
    Description,
    OutcomeRecord,
    ProjectionRecord,
)
from equipoise.foundation.text import fitting, plural
from equipoise.results import Status

MOST_GROUPS = 3


def percent(value: float) -> str:
    """Write a share: whole per cent, with a decimal where that says more."""
    return f"{100 * value:.0f} %" if abs(100 * value - round(100 * value)) < 0.05 else f"{100 * value:.1f} %"


def chance(p: float | None) -> str:
    """Write a corrected p-value."""
    if p is None or math.isnan(p):
        return "not tested"
    return "corrected p < 0.001" if p < 0.001 else f"corrected p {p:.3f}"


def called(record: ChangeRecord | OutcomeRecord) -> str:
    """Name a group; a number alone is no name."""
    group = str(record.group)
    return f"{record.attribute} {group}" if group[:1].isdigit() and group.replace(".", "").isdigit() else group


def say(result: CompareResult, undescribed: str | None) -> Iterator[str]:
    """Yield the main sentences; what is confirmed comes first, and where nothing is, that."""
    made = headline_of_result(result)
    yield say_headline(made)
    yield from _overall(result)
    yield from _of_floor(result)
    for attribute in result.attributes:
        yield from _of_attribute(result, attribute)
    yield from _of_descriptions(result, undescribed)
    yield from _of_outcomes(result)
    yield from _of_projections(result.projections)


def say_headline(made: CompareHeadline) -> str:
    """Say in a sentence or two who is shown to be among the most changed, and whether a rerun could explain it."""
    if made.nobody:
        return "Nobody changed more than the others: every score is the same."
    most, noise = f"the {percent(made.cut)} most changed", _noise(made)
    if not made.tested:
        return f"{noise}Who is among {most} was not tested; the shares are shown as they are."
    if not made.claims:
        ends = [edge for record in made.unconfirmed for edge in (record.low, record.high) if edge is not None]
        reach = f" (differences of up to {100 * max(map(abs, ends)):.1f} points cannot be ruled out)" if ends else ""
        return f"{noise}No group is shown to be more or less common among {most} than in the population{reach}."
    first = made.claims[0]
    group = called(first) if called(first) != str(first.group) else f"{first.group} ({first.attribute})"
    told = (
        f"{percent(first.share_changed)} of {most} are {group}, against {percent(first.share_population)} of the "
        f"population{_difference(first)}."
    )
    return noise + (told if made.beyond is False else f"The change did not touch everybody alike: {told}")


def _noise(made: CompareHeadline) -> str:
    """Say first whether the change goes beyond what an identical rerun changes; nothing where there is no rerun."""
    if made.floor is None:
        return ""
    scores = f"mean score {made.floor.mean:.3f}; of an identical rerun {made.floor.floor_mean:.3f}"
    if made.beyond is None:
        return f"Whether the change goes beyond an identical rerun was not tested ({scores}). "
    if not made.beyond:
        return (
            f"The change is not shown to go beyond what an identical rerun changes ({scores}): who is among the most "
            "changed may be that noise. "
        )
    return f"The change goes beyond what an identical rerun changes ({scores}). "


def _difference(record: ChangeRecord) -> str:
    interval = "" if record.low is None or record.high is None else (
        f", 95 % interval {100 * record.low:+.1f} to {100 * record.high:+.1f}"
    )  # fmt: skip
    rerun = record.share_changed_rerun
    noise = "" if rerun is None or math.isnan(rerun) else f"; a rerun alone would make it {percent(rerun)}"
    return f" ({100 * record.difference:+.1f} points{interval}; {chance(record.p_adjusted)}){noise}"


def _overall(result: CompareResult) -> Iterator[str]:
    one, everyone = result.similarity, result.records[0]
    cka = "" if math.isnan(one.cka) else f"; CKA {one.cka:.3f}"
    yield (
        f"The mean PNKA is {one.pnka:.3f} (1: everybody kept their place among the others{cka}); half of the people "
        f"score between {everyone.q25:.3f} and {everyone.q75:.3f}."
    )
    if math.isnan(one.share_reached):
        yield "Every score is the same: nobody changed more than the others, and nobody is the most changed."
        return
    yield (
        f"The {percent(one.share_reached)} most changed ({one.changed:,.0f} of {one.rows - one.undefined:,}) score "
        f"{one.cutoff:.3f} or less."
    )


def _of_attribute(result: CompareResult, attribute: str) -> Iterator[str]:
    reached = result.similarity.share_reached
    own = [record for record in result.find(attribute=attribute) if not math.isnan(record.difference)]
    tested = [record for record in own if record.finding is not None]
    if not tested:
        return
    findings = sorted((record for record in tested if record.finding), key=lambda record: -abs(record.difference))
    for record in _told(findings, len(tested)):
        yield (
            f"{attribute}: the {percent(reached)} most changed are {percent(record.share_changed)} {called(record)}; "
            f"the population is {percent(record.share_population)} {called(record)}{_difference(record)}."
        )
    if not findings:
        least = min(record.p_adjusted for record in tested if record.p_adjusted is not None)
        yield (
            f"{attribute}: no group is shown to be more or less common among the most changed than in the population "
            f"(smallest {chance(least)})."
        )


def _told(findings: Sequence[ChangeRecord], groups: int) -> Sequence[ChangeRecord]:
    """Of two groups one says it all: the one that is more common among the most changed."""
    if groups == 2:
        return [record for record in findings if record.difference > 0][:1] or findings[:1]
    return findings[:MOST_GROUPS]


def _of_descriptions(result: CompareResult, undescribed: str | None) -> Iterator[str]:
    if math.isnan(result.similarity.share_reached):
        return
    holds = [one for one in result.descriptions if one.finding and one.lift > 1]
    yield from (_described(one) for one in holds)
    if holds:
        return
    if undescribed is not None:
        yield f"Who the most changed are taken together could not be described: {undescribed}."
    elif any(one.finding is not None for one in result.descriptions):
        yield "No description of the most changed holds for people it was not made from."


def _described(one: Description) -> str:
    return (
        f"Taken together: where {one.words}, {percent(one.changed_within)} are among the most changed, "
        f"{one.lift:.1f} times as often as everyone; they are {percent(one.covered)} of the most changed and "
        f"{percent(one.share_population)} of the population (people the rule was not made from; "
        f"{chance(one.p_adjusted)})."
    )


def _of_outcomes(result: CompareResult) -> Iterator[str]:
    if not result.outcomes:
        return
    everyone = result.outcomes[0]
    if everyone.mean_shift is None:
        yield f"Predictions changed for {percent(everyone.share_moved)} of people."
    else:
        yield (
            f"Predictions moved by {everyone.mean_absolute_shift:.3g} on average, "
            f"{everyone.mean_shift:+.3g} counted with their sign."
        )
    for attribute in result.attributes:
        own = [record for record in result.outcomes if record.attribute == attribute and record.finding is not None]
        findings = sorted((record for record in own if record.finding), key=lambda record: -abs(record.difference))
        if len(own) == 2 and findings:
            findings = [record for record in findings if record.difference > 0][:1] or findings[:1]
        yield from (_moved(record, everyone) for record in findings[:MOST_GROUPS])
        if own and not findings:
            yield f"{attribute}: no group's predictions are shown to have moved more than everyone's."
    link = result.link
    if link is None or math.isnan(link.auc):
        return
    interval = "" if link.low is None or link.high is None else f" ({link.low:.2f} to {link.high:.2f})"
    if link.finding is None:
        verdict = "which could not be tested"
    elif not link.finding:
        verdict = "which is not significant after correction"
    else:
        verdict = (
            "so a low score goes with a moved prediction" if link.auc > 0.5 else "so a low score goes with a kept one"
        )
    yield (
        f"Of two people, one whose prediction changed and one whose did not, the first has the lower score "
        f"{100 * link.auc:.0f} times in 100{interval}, {verdict} (rank correlation {link.rank_correlation:+.2f}; "
        f"{chance(link.p_adjusted)})."
    )


def _moved(record: OutcomeRecord, everyone: OutcomeRecord) -> str:
    if record.mean_absolute_shift is not None and everyone.mean_absolute_shift is not None:
        return (
            f"{record.attribute}: the predictions of {called(record)} moved by {record.mean_absolute_shift:.3g} on "
            f"average ({record.mean_shift:+.3g} with their sign), against {everyone.mean_absolute_shift:.3g} for "
            f"everyone ({chance(record.p_adjusted)})."
        )
    moves = [f"{move.people:,} from {move.before} to {move.after}" for move in record.moves if move.people is not None]
    how = f": {', '.join(moves[:MOST_GROUPS])}" if moves else ""
    return (
        f"{record.attribute}: predictions changed for {percent(record.share_moved)} of {called(record)}, against "
        f"{percent(everyone.share_moved)} of everyone ({chance(record.p_adjusted)}){how}."
    )


def _of_floor(result: CompareResult) -> Iterator[str]:
    if not result.floor:
        return
    everyone, *groups = result.floor
    over = [f"{one.attribute} {one.group}" for one in groups if one.finding and one.excess > 0]
    tested = [one for one in groups if one.finding is not None]
    verdict = {True: "shown to be beyond it", False: "not shown to be beyond it", None: "not tested against it"}
    beyond = headline_of_result(result).beyond
    told = (
        f"An identical rerun scores {everyone.floor_mean:.3f} on average against the first run (the noise floor); the "
        f"change scores {everyone.mean:.3f}, {verdict[beyond]}."
    )
    if over:
        told += f" Beyond the floor: {len(over)} of {plural(len(tested), 'group')} ({', '.join(over[:6])})."
    elif tested:
        told += " No group is shown to be changed beyond the floor."
    yield told


def _of_projections(projections: Sequence[ProjectionRecord]) -> Iterator[str]:
    for one in projections:
        if one.attribute is not None:
            continue
        if one.separation_before is not None and one.separation_after is not None:
            apart = [
                "undefined" if math.isnan(value) else f"{value:.2f}"
                for value in (one.separation_before, one.separation_after)
            ]
            yield (
                f"Along {one.direction} the two groups are {apart[0]} standard deviations apart before and {apart[1]} "
                "after."
            )
        if one.status == Status.OK:
            yield (
                f"On the direction {one.direction}: the mean projection is {one.mean_before:.3g} before and "
                f"{one.mean_after:.3g} after; the median of omega is {_number(one.median_omega)}, of its bounded form "
                f"{_number(one.median_bounded)}."
            )
        else:
            yield f"Projections on {one.direction} are undefined: {one.reason}."


def _number(value: float) -> str:
    return "undefined" if math.isnan(value) else f"{value:+.2f}"


def notes_of(result: CompareResult, others: Iterable[str], *, draws: int, clusters: bool) -> Iterator[str]:
    """Yield what a reader must know to read the numbers."""
    one = result.similarity
    unit = "clusters" if clusters else "distinct profiles (rows that are equal before and after)"
    if draws:
        yield (
            f"Tests deal groups out to {one.units:,} {unit}, not to {one.rows:,} people: copies are no independent "
            f"people. Permutation tests with {plural(draws, 'draw')}; p-values are corrected for every test of this "
            "report (Benjamini-Hochberg); an interval leaves out 0 where its test, uncorrected, is at most 0.05."
        )
    if abs(one.share_reached - one.share) > 0.0005:
        yield (
            f"{percent(one.share)} was asked for. {plural(one.tied, 'person has', 'people share')} the score at the "
            f"cut, and ties are taken in or left out whole, so it is {percent(one.share_reached)}; --ties fractional "
            "counts each by a fraction."
        )
    if one.undefined:
        whose = fitting(one.undefined, "the point lies", "their points lie")
        yield f"{plural(one.undefined, 'person has', 'people have')} no score: {whose} at the mean of a space."
    hidden = sum(record.status == Status.TOO_SMALL for record in result.records)
    if hidden:
        why = next(record.reason for record in result.records if record.status == Status.TOO_SMALL)
        yield f"{plural(hidden, 'group is', 'groups are')} hidden: {why}."
    if result.outcomes and result.link is not None and result.link.reason is not None:
        yield f"Scores and predictions: {result.link.reason}."
    if result.floor:
        yield "One rerun is one draw of the noise: intervals of the floor speak of other people, not of other reruns."
    if result.projections:
        yield (
            "omega = (p' - p) / |p| explodes where p is near 0; the bounded form (p' - p) / (|p'| + |p|) lies between "
            "-1 and 1. Both compare lengths: a space that is merely larger has larger projections."
        )
    yield from others
    yield (
        "A score says how much a person's place among the others changed, not whether that did them good. A different "
        "share among the most changed is not by itself unfair: a treatment may be meant for them."
    )
