"""An investigation in plain sentences: what was found or why nothing was, and what each direction does."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from equipoise.discovery.investigation import Investigation, Shown, Strip
from equipoise.discovery.judging import rank_words
from equipoise.foundation.text import fitting
from equipoise.reports.formats import plural, safe_name
from equipoise.results import SearchVerdict

CAUTIONS = (
    "A direction is not an attribute until people agree on what they see. Have it named blindly, by several people "
    "(equipoise discover --naming), before you call it anything.",
    "The generator can only show what it has learnt: a bias about something that it never draws is not found here.",
    "“Nothing found” is not proof of no bias. It says that this search, in this generator, met none that is as large "
    "and as steady as was asked for.",
    "What moves the probability of generated pictures need not cause errors on real ones. Label held-out real data by "
    "the direction, and audit those.",
)


def headline(investigation: Investigation) -> str:
    """Return the answer in one sentence."""
    known = len(investigation.known)
    if investigation.verdict is None:
        return (
            f"No search was asked for; below is how much the probability changes along {plural(known, 'attribute')} "
            f"that {fitting(known, 'has', 'have')} a name."
        )
    if investigation.verdict != SearchVerdict.FOUND:
        return f"Nothing found: {investigation.reason or 'no direction stands'}."
    found = [one for one in investigation.directions if one.judged.verdict == SearchVerdict.FOUND]
    return (
        f"Found {plural(len(found), 'direction')}, of {len(investigation.directions)} looked for, along which the "
        "classifier's probability changes."
    )


def sentences(investigation: Investigation) -> list[str]:
    """Return what else is to be said at once: the directions that stand, and those that do not."""
    told = []
    for one in investigation.directions:
        who = safe_name(one.judged.name)
        if one.judged.verdict == SearchVerdict.FOUND:
            ends = ends_of(one.strips)
            goes = "" if ends is None else f" the probability goes from {ends[0]:.2f} to {ends[1]:.2f} on average;"
            told.append(f"{who}:{goes} {times_of(one)}")
        else:
            told.append(f"{who} does not stand: {one.judged.reason or 'no reason is known'}.")
    return told


def direction_words(investigation: Investigation, shown: Shown) -> list[str]:
    """Return what one direction does, in sentences."""
    judged, told = shown.judged, []
    ends = ends_of(shown.strips)
    if ends is not None:
        told.append(
            f"Along this direction the probability goes from {ends[0]:.2f} to {ends[1]:.2f} on average, over the "
            f"{plural(len(shown.strips), 'latent')} shown."
        )
    if judged.way == judged.way:
        told.append(
            f"On {investigation.judging.latents} fresh latents it goes a way of {judged.way:.3f} "
            f"({judged.way_low:.3f} to {judged.way_high:.3f}), ups and downs added up; "
            f"{times_of(shown)}"
        )
    if judged.steadiness == judged.steadiness:
        steady = judged.steadiness >= investigation.judging.least_steadiness
        told.append(
            f"Steady: {judged.steadiness:.0%} of the change is left where it is averaged over latents first, so "
            f"{'they agree where the probability rises' if steady else 'it rises for some where it falls for others'}."
        )
    told.append(
        "It stands."
        if judged.verdict == SearchVerdict.FOUND
        else f"It does not stand: {judged.reason or 'unknown why'}."
    )
    return told


def times_of(shown: Shown) -> str:
    """Say how many times as much a direction changes the probability as a random one."""
    judged = shown.judged
    if not judged.chance > 0:
        return "no random direction is there to compare it with."
    times = judged.variation / judged.chance
    told = f"its total variation is {times:.1f} times that of the median random direction"
    rank = judged.rank_among_random
    return f"{told}." if rank is None else f"{told} ({rank_words(rank, judged.random_directions)})."


def ends_of(strips: Sequence[Strip]) -> tuple[float, float] | None:
    """Return the mean probability at both ends of the strips; None without strips, or where one is undefined."""
    if not strips:
        return None
    low, high = (float(np.mean([one.probabilities[place] for one in strips])) for place in (0, -1))
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None
