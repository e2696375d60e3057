"""Why a search found nothing, a direction is not confirmed, or no gap is shown: codes with their sentences."""

from __future__ import annotations

from equipoise.results import ReasonCode


class DiscoveryReason(ReasonCode):
    """The reasons of a search and of each of its directions."""

    NOT_SEARCHED = "not_searched", "no search was run"
    CONSTANT_CLASSIFIER = (
        "constant_classifier", "the classifier gives every picture the same probability: there is nothing to find"
    )  # fmt: skip
    NO_DIRECTION = "no_direction", "no direction was given"
    NOT_MEASURED = "not_measured", "it could not be measured"
    KNOWN_ALREADY = "known_already", "it is made of the target and the known attributes alone"
    KNOWN_OR_EARLIER = (
        "known_or_earlier", "it is made of the target, the known attributes and the directions before it alone"
    )  # fmt: skip
    NO_REACTION = "no_reaction", "the classifier gives the same probability at every step"
    TOO_SMALL = (
        "too_small",
        "the probability changes by {change:.3f} in total (lower bound {low:.3f}); at least {least:g} is required",
    )
    NOTHING_TO_COMPARE = "nothing_to_compare", "no other direction is left to compare it with"
    AS_LARGE_BY_CHANCE = "as_large_by_chance", "{compared} (rank {rank:,} of {of:,})"
    NOT_STEADY = (
        "not_steady",
        "the probability rises for some latents and falls for others ({share:.1%} of the change is shared; at least "
        "{least:.0%} is required)",
    )


class AgreementReason(ReasonCode):
    """Why raters' agreement is undefined."""

    ONE_RATER = "one_rater", "one rater cannot agree with another"
    ONE_NAME = "one_name", "every name is the same, so agreement cannot be separated from habit"
    NO_SHARED_DIRECTION = "no_shared_direction", "no two raters named the same direction"


class GapReason(ReasonCode):
    """Why a direction's gap on real rows is not shown."""

    UNDEFINED = "undefined", "a rate has no rows"
    TOO_FEW_PEOPLE = "too_few_people", "too few people ({why})"
    NOT_SIGNIFICANT = "not_significant", "the gap is not significant with so few rows (p = {p:.2g})"
    AS_LARGE_BY_CHANCE = (
        "as_large_by_chance", "random directions split these rows with as large a gap (rank {rank} of {of:,})"
    )  # fmt: skip
