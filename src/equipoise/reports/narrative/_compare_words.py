"""What a comparison says: who is confirmed to be among the most changed, and what is not known.

``headline_of`` decides what may be said first, from records alone; ``compare_story`` puts it in words.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from equipoise.audits.compare import (
    ChangeRecord,
    CompareResult,
    Description,
    FloorRecord,
    OutcomeLink,
    OutcomeRecord,
    mirrored,
)
from equipoise.foundation import (
    listing,
    plural,
    points,
)
from equipoise.reports import formats
from equipoise.reports._document import Name, Piece, Text
from equipoise.reports._formats import short_percent
from equipoise.reports.narrative._report import About, Story, by_reason, edges, group_name, inside
from equipoise.results import Status

MOST_GROUPS, MOST_NAMED = 3, 6
# Shares of two groups that are all there are add up to 1, but for rounding.
EXACT = 1e-9


@dataclass(frozen=True)
class CompareHeadline:
    """Whether the change is larger than that of a rerun, and which groups are confirmed among the most changed.

    ``claims`` are confirmed: groups that are more common among the most changed than in the population, the largest
    difference first, then those that are less common. ``beyond`` is None where no rerun was given or tested.
    """

    cut: float
    floor: FloorRecord | None
    beyond: bool | None
    claims: tuple[ChangeRecord, ...]
    unconfirmed: tuple[ChangeRecord, ...]

    @property
    def nobody(self) -> bool:
        """Whether every score is the same, so that nobody changed most."""
        return math.isnan(self.cut)

    @property
    def tested(self) -> int:
        """How many tests there are: the two groups of a binary attribute are one, seen from either side."""
        return self._tests((*self.claims, *self.unconfirmed))

    @property
    def findings(self) -> int:
        """How many tests are confirmed."""
        return self._tests(self.claims)

    def _tests(self, records: Sequence[ChangeRecord]) -> int:
        every = [*self.claims, *self.unconfirmed]
        twins = {
            attribute
            for attribute in mirrored(every)
            if abs(sum(record.difference for record in every if record.attribute == attribute)) < EXACT
        }
        return len({(record.attribute, None if record.attribute in twins else record.group) for record in records})


def headline_of(records: Sequence[ChangeRecord], cut: float, floor: Sequence[FloorRecord] = ()) -> CompareHeadline:
    """Return what may be said first of a comparison with this share of most changed people."""
    confirmed = [record for record in records if record.finding]
    return CompareHeadline(
        cut=cut,
        floor=floor[0] if floor and not math.isnan(floor[0].excess) else None,
        beyond=None if not floor or floor[0].finding is None else floor[0].finding and floor[0].excess > 0,
        claims=tuple(sorted(confirmed, key=lambda record: -record.difference)),
        unconfirmed=tuple(record for record in records if record.finding is False),
    )


def headline_of_result(result: CompareResult) -> CompareHeadline:
    """Return what may be said first of a comparison."""
    return headline_of(result.records, result.similarity.share_reached, result.floor)


def compare_story(result: CompareResult) -> Story:
    """Tell a comparison: what is confirmed comes first, and where nothing is, that.

    Who is among the most changed is inconclusive where a rerun may explain it.
    """
    headline = headline_of_result(result)
    noise = headline.beyond is False
    about = [About("", tuple(_beyond(headline, result)), tuple(_not_beyond(headline)))]
    rules = [rule for rule in result.descriptions if rule.finding is not None]
    described = tuple(_described(rule) for rule in rules if rule.finding and rule.lift > 1)
    none = ("No rule that describes the most changed is confirmed on people it was not learned from.",)
    about.append(About("", () if noise else described, described if noise else () if described or not rules else none))
    for attribute in result.attributes:
        shares = tuple(_shares(result, attribute, None if noise else next(iter(headline.claims), None)))
        moves, unknown = tuple(_moves(result, attribute)), tuple(_open(result, attribute))
        about.append(About(attribute, moves if noise else (*shares, *moves), (*shares, *unknown) if noise else unknown))
    about.append(_link(result.link))
    more = (*score_words(result), *outcome_words(result), *projection_words(result))
    return Story(answer_of(headline), tuple(about), has_findings=bool(headline.claims) and not noise, more=more)


def answer_of(headline: CompareHeadline) -> Text:
    """Say in a sentence or two who is confirmed to be among the most changed, and whether a rerun could explain it."""
    if headline.nobody:
        return "Nobody changed more than anybody else: every score is the same."
    most = f"the {short_percent(headline.cut)} most changed people"
    if headline.beyond is False:
        return (
            f"The change is not confirmed to be larger than that of an identical rerun ({_rerun_scores(headline)}); "
            f"who is among {most} may be noise."
        )
    if not headline.tested:
        return f"Who is among {most} was not tested: shares are shown as they are (--draws tests them)."
    if not headline.claims:
        ends = [edge for record in headline.unconfirmed for edge in (record.low, record.high) if edge is not None]
        reach = "" if not ends else (
            f" Differences of up to {points(max(map(abs, ends)))} cannot be ruled out; more people would narrow that."
        )  # fmt: skip
        return f"No group is significantly more or less common among {most} than in the population.{reach}"
    return _share(headline.claims[0], most, attribute=True)


def _rerun_scores(headline: CompareHeadline) -> str:
    assert headline.floor is not None
    return f"mean score {headline.floor.mean:.3f} against {headline.floor.floor_mean:.3f}"


def called(record: ChangeRecord | OutcomeRecord) -> tuple[Piece, ...]:
    """Name the group of a record."""
    return group_name(str(record.attribute), str(record.group))


def corrected_p(p: float | None) -> str:
    """Write a corrected p-value in a sentence."""
    return "not tested" if p is None or math.isnan(p) else f"corrected p {formats.p_value(p)}"


def _share(record: ChangeRecord, most: str, *, attribute: bool = False) -> Text:
    """Say a group's share among the most changed beside its share of everyone."""
    name = called(record)
    of: tuple[Piece, ...] = (" (", Name(str(record.attribute)), ")") if attribute and len(name) == 1 else ()
    return (
        f"Of {most}, {short_percent(record.share_changed)} are ", *name, *of,
        f", against {short_percent(record.share_population)} of the population{_difference(record)}.",
    )  # fmt: skip


def _difference(record: ChangeRecord) -> str:
    size = f"{formats.points(record.difference)} points"
    around = edges(record.low, record.high, 0.95, formats.points)
    numbers = f"{', '.join(filter(None, (size, around)))}; {corrected_p(record.p_adjusted)}"
    rerun = record.share_changed_rerun
    noise = "" if rerun is None or math.isnan(rerun) else f"; in a rerun alone {short_percent(rerun)}"
    return f" ({numbers}){noise}"


def _beyond(headline: CompareHeadline, result: CompareResult) -> Iterator[Text]:
    """Say that the change is larger than that of a rerun, and for which groups."""
    if headline.beyond:
        yield f"The change is larger than that of an identical rerun ({_rerun_scores(headline)})."
    larger = [record for record in result.floor[1:] if record.finding and record.excess > 0]
    tested = sum(record.finding is not None for record in result.floor[1:])
    if larger:
        names = listing([f"{record.attribute} {record.group}" for record in larger], MOST_NAMED)
        yield f"It is larger than that of a rerun in {len(larger)} of {plural(tested, 'group')}: {names}."


def _not_beyond(headline: CompareHeadline) -> Iterator[Text]:
    if headline.floor is not None and headline.beyond is None:
        scores = _rerun_scores(headline)
        yield f"Whether the change is larger than that of an identical rerun was not tested ({scores})."


def score_words(result: CompareResult) -> Iterator[Text]:
    similarity, overall = result.similarity, result.records[0]
    cka = "" if math.isnan(similarity.cka) else f"; CKA {similarity.cka:.3f}"
    yield (
        f"The mean score (PNKA) is {similarity.pnka:.3f}{cka}; half of the people score between {overall.q25:.3f} and "
        f"{overall.q75:.3f}. A score of 1 means that a person's similarities to all others stayed the same."
    )
    if not math.isnan(similarity.share_reached):
        yield (
            f"The {short_percent(similarity.share_reached)} most changed ({similarity.changed:,.0f} of "
            f"{similarity.rows - similarity.undefined:,} people) score {similarity.cutoff:.3f} or less."
        )


def _chosen(records: Sequence[Any]) -> list[Any]:
    """Return the confirmed ones, the largest difference first; of two groups one says it all."""
    tested = [record for record in records if record.finding is not None]
    confirmed = sorted((record for record in tested if record.finding), key=lambda record: -abs(record.difference))
    if len(tested) == 2 and confirmed:
        return [record for record in confirmed if record.difference > 0][:1] or confirmed[:1]
    return confirmed


def _shares(result: CompareResult, attribute: str, lead: ChangeRecord | None) -> Iterator[Text]:
    """Yield the groups that are confirmed to be more or less common."""
    rest = [record for record in _chosen(result.find(attribute=attribute)) if record is not lead]
    yield from (_share(record, "the most changed") for record in rest[:MOST_GROUPS])
    if len(rest) > MOST_GROUPS:
        more = plural(len(rest) - MOST_GROUPS, "more group is", "more groups are")
        yield f"{more} significantly more or less common among the most changed (see the table)."


def _open(result: CompareResult, attribute: str) -> Iterator[Text]:
    records = result.find(attribute=attribute)
    tested = [record for record in records if record.finding is not None]
    if tested and not any(record.finding for record in tested):
        least = min(record.p_adjusted for record in tested if record.p_adjusted is not None)
        yield (
            "No group is significantly more or less common among the most changed than in the population (smallest "
            f"{corrected_p(least)})."
        )
    hidden = [(record.reason, str(record.group)) for record in records if record.status == Status.TOO_SMALL]
    yield from by_reason(hidden, MOST_NAMED, "hidden")
    moved = [record for record in result.outcomes if record.attribute == attribute and record.finding is not None]
    if moved and not any(record.finding for record in moved):
        yield "No group's predictions changed significantly more or less than everyone's."


def _described(rule: Description) -> str:
    return (
        f"Where {rule.words}, {short_percent(rule.changed_within)} of people are among the most changed, "
        f"{rule.lift:.1f} times the share of everyone; they are {short_percent(rule.covered)} of the most changed and "
        f"{short_percent(rule.share_population)} of the population (on people the rule was not learned from; "
        f"{corrected_p(rule.p_adjusted)})."
    )


def outcome_words(result: CompareResult) -> Iterator[Text]:
    if not result.outcomes:
        return
    overall = result.outcomes[0]
    if overall.mean_shift is None:
        yield f"Predictions changed for {short_percent(overall.share_moved)} of people."
    else:
        yield (
            f"Predictions changed by {overall.mean_absolute_shift:.3g} on average, "
            f"{overall.mean_shift:+.3g} counted with their sign."
        )


def _moves(result: CompareResult, attribute: str) -> Iterator[Text]:
    """Yield the groups whose predictions are confirmed to have changed more or less than everyone's."""
    chosen = _chosen([record for record in result.outcomes if record.attribute == attribute])
    yield from (_moved(record, result.outcomes[0]) for record in chosen[:MOST_GROUPS])


def _moved(record: OutcomeRecord, overall: OutcomeRecord) -> Text:
    if record.mean_absolute_shift is not None and overall.mean_absolute_shift is not None:
        return (
            "The predictions of ", *called(record),
            f" changed by {record.mean_absolute_shift:.3g} on average ({record.mean_shift:+.3g} with their sign), "
            f"against {overall.mean_absolute_shift:.3g} for everyone ({corrected_p(record.p_adjusted)}).",
        )  # fmt: skip
    return (
        f"Predictions changed for {short_percent(record.share_moved)} of ", *called(record),
        f", against {short_percent(overall.share_moved)} of everyone ({corrected_p(record.p_adjusted)}).",
    )  # fmt: skip


def _link(link: OutcomeLink | None) -> About:
    """Say whether the score predicts whose prediction changed: as confirmed, or as open."""
    if link is None:
        return About("")
    if math.isnan(link.auc):
        return About("", open=(f"Whether the score predicts a changed prediction cannot be computed: {link.reason}.",))
    around = edges(link.low, link.high, 0.95, lambda edge: f"{edge:.2f}")
    rank = f"{link.rank_correlation:+.2f}".replace("-", "−")
    numbers = f"AUC {link.auc:.2f}{inside(around)}, rank correlation {rank}"
    if link.finding is None:
        return About("", open=(f"Whether the score predicts a changed prediction was not tested: {numbers}.",))
    if not link.finding:
        return About("", open=(f"The score does not significantly predict whose prediction changed: {numbers}.",))
    goes = "a changed prediction" if link.auc > 0.5 else "an unchanged prediction"
    return About("", (f"A low score predicts {goes}: {numbers} ({corrected_p(link.p_adjusted)}).",))


def projection_words(result: CompareResult) -> Iterator[Text]:
    """Say how far the two groups of a direction are apart before and after, and how everyone's projections changed."""
    for record in (record for record in result.projections if record.attribute is None):
        if record.separation_before is not None and record.separation_after is not None:
            before, after = (
                "undefined" if math.isnan(value) else f"{value:.2f}"
                for value in (record.separation_before, record.separation_after)
            )
            yield (
                "Along ", Name(record.direction), f" the two groups are {before} standard deviations apart before and "
                f"{after} after.",
            )  # fmt: skip
        if record.status == Status.OK:
            yield (
                "The mean projection on ", Name(record.direction),
                f" is {record.mean_before:.3g} before and {record.mean_after:.3g} after; the median relative change "
                f"(omega) is {_ratio(record.median_omega)}, in its bounded form {_ratio(record.median_bounded)}.",
            )  # fmt: skip
        else:
            yield ("Projections on ", Name(record.direction), f" are undefined: {record.reason}.")


def _ratio(value: float) -> str:
    return "undefined" if math.isnan(value) else f"{value:+.2f}"
