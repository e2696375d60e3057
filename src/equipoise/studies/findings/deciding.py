"""How many seeds a study needs: before any difference can be confirmed, and to detect a change of a given size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import special

from equipoise.evidence.tests import Side, smallest_p, smallest_paired_p
from equipoise.evidence.verdict import within
from equipoise.studies.findings.units import FEWEST_PAIRS

SIDE: Side = "two-sided"
POWER = 0.8
# A change of fairness that is worth detecting: 2 points.
WORTH_DETECTING = 0.02
# Numbers of seeds that are tried.
MOST_TRIED, MOST_SEEDS = 64, 1_000


def smallest_of_seeds(seeds: int) -> float:
    """Return the smallest two-sided p that so many seeds on each side can have; they are paired from ten on."""
    return smallest_paired_p(seeds, SIDE) if seeds >= FEWEST_PAIRS else smallest_p(seeds, seeds, SIDE)


def level_of(comparisons: int, threshold: float = 0.05) -> float:
    """Return the p at which one comparison of so many is confirmed when no other is (Benjamini-Hochberg)."""
    return threshold / max(comparisons, 1)


def together_at(p: float, comparisons: int, threshold: float = 0.05) -> int | None:
    """Return how many of so many comparisons must have this p for all of them to be confirmed; None where p is above.

    Benjamini-Hochberg confirms r findings of p each among m tests where p <= r threshold / m.
    """
    if not within(p, threshold):
        return None
    return min(comparisons, math.ceil(p * comparisons / threshold * (1 - 1e-12)))


def least_seeds(comparisons: int, threshold: float = 0.05) -> int | None:
    """Return the number of seeds from which on one of so many comparisons can be confirmed after correction.

    Every larger number is enough too: fewer than ten seeds are not paired, and nine may reach a p that ten pairs do
    not. None where no number up to 64 is enough.
    """
    return _enough(level_of(comparisons, threshold))


def _enough(level: float) -> int | None:
    """Return the number of seeds from which on a rank test can reach a level."""
    short = [number for number in range(1, MOST_TRIED + 1) if not within(smallest_of_seeds(number), level)]
    return None if short[-1] == MOST_TRIED else short[-1] + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedsNeeded:
    """How many seeds of each treatment would detect a change with a power of 0.8 at the level that decides.

    ``seeds`` is the median over the comparisons, ``most`` that of the treatment whose runs spread most. Both are None
    where no number of seeds would do; with ``limited_by_people`` because the test rows are too few.
    """

    change: float
    measure: str
    comparisons: int
    seeds: int | None
    most: int | None = None
    most_of: str | None = None
    limited_by_people: bool = False


def seeds_to_detect(
    change: float, spread: float, baseline_spread: float, people: float = 0.0, *, level: float, power: float = POWER
) -> int | None:
    """Return how many seeds on each side detect a change of this size; None where no number up to 1,000 does.

    Parameters
    ----------
    change : float
        The change to detect.
    spread, baseline_spread : float
        Standard deviations over seeds of the two sides.
    people : float
        Standard deviation of the change over test people, which no number of seeds lowers; 0 where it is not asked.
    level : float
        The two-sided p at which a change is confirmed, after correction.
    power : float
        How likely it shall be that the change is confirmed.

    Notes
    -----
    The change that is observed is normal about the true one, with the variance of n seeds and that of people. It must
    exceed both the critical value of Student's t over seeds and that of z over people, and n must be enough for a rank
    test to reach the level. Seeds that move both sides alike, and are paired, need fewer.
    """
    people = 0.0 if math.isnan(people) else people
    if math.isnan(spread) or math.isnan(baseline_spread):
        return None
    z = -float(special.ndtri(level / 2))
    enough = _enough(level)
    if enough is None:
        return None
    for number in range(enough, MOST_SEEDS + 1):
        error = math.sqrt((spread**2 + baseline_spread**2) / number)
        critical = max(-float(special.stdtrit(2 * number - 2, level / 2)) * error, z * people)
        total = math.hypot(error, people)
        if total == 0 or float(special.ndtr((change - critical) / total)) >= power:
            return number
    return None


def seeds_needed(
    spreads: Sequence[tuple[str, float, float, float]],
    *,
    comparisons: int,
    measure: str,
    change: float = WORTH_DETECTING,
    threshold: float = 0.05,
) -> SeedsNeeded | None:
    """Say how many seeds would detect a change, from the observed spreads; None where there are none.

    ``spreads`` are, for each comparison, the treatment's name, its standard deviation over seeds, the baseline's, and
    that of their difference over test people (0 or NaN where people were not drawn again).
    """
    known = [own for own in spreads if not (math.isnan(own[1]) or math.isnan(own[2]))]
    if not known:
        return None
    level = level_of(comparisons, threshold)
    found = [(seeds_to_detect(change, *own[1:], level=level), own[0]) for own in known]
    # What no number of seeds detects comes last.
    order = sorted(found, key=lambda one: math.inf if one[0] is None else one[0])
    middle, (most, most_of) = order[(len(order) - 1) // 2][0], order[-1]
    if middle is None:
        # Without the test people's part, would seeds do?
        alone = [seeds_to_detect(change, own[1], own[2], level=level) for own in known]
        by_people = sum(one is not None for one in alone) > len(alone) / 2
        return SeedsNeeded(
            change=change, measure=measure, comparisons=comparisons, seeds=None, limited_by_people=by_people
        )
    return SeedsNeeded(
        change=change, measure=measure, comparisons=comparisons, seeds=middle, most=most, most_of=most_of
    )
