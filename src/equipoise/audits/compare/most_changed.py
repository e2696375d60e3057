"""The most changed: the people with the lowest scores, against everyone, attribute by attribute.

People with one score are tied, and ties are never cut at random: ``whole`` takes all of them or none, whichever comes
nearer to the share asked for; ``fractional`` counts each of them by the same fraction, so that the share is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from equipoise.audits.compare.rows import Attribute
from equipoise.foundation.errors import BadInput
from equipoise.stats import Units, compare_with_null, shares_of_groups
from equipoise.tallies.arrays import Floats

TIES = ("whole", "fractional")
LEAST_UNITS = 2


@dataclass(frozen=True, eq=False)
class Cut:
    """Who is among the most changed: a weight from 0 to 1 for every row with a score."""

    weights: Floats
    share: float
    ties: str
    cutoff: float
    tied: int

    @property
    def changed(self) -> float:
        """How many people that is."""
        return float(self.weights.sum())

    @property
    def reached(self) -> float:
        """The share of people that it is."""
        return self.changed / len(self.weights)

    @property
    def tells_apart(self) -> bool:
        """Whether there is anybody who is not among them."""
        return bool((self.weights < 1).any() and (self.weights > 0).any() and np.ptp(self.weights) > 0)


def lowest(scores: Floats, share: float, ties: str) -> Cut:
    """Cut off the people with the lowest scores."""
    if not 0 < share < 1:
        raise BadInput(f"The share is {share!r}", available="a number between 0 and 1, such as 0.1")
    if ties not in TIES:
        raise BadInput(f"ties is {ties!r}", available=", ".join(TIES))
    values, class_of, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    whole, part = cut_prefix(np.cumsum(sizes).astype(np.float64), share, ties)
    weight = np.zeros(len(values))
    weight[:whole] = 1.0
    if part:
        weight[whole] = part
    last = whole if part else whole - 1
    return Cut(weight[class_of.reshape(-1)], share, ties, float(values[last]), int(sizes[last]))


def cut_prefix(running: Floats, share: float, ties: str) -> tuple[int, float]:
    """Return how many classes of tied people come in whole, and how much of the next one.

    ``running`` is the running number of people over the classes, from the lowest score up.
    """
    wanted = share * running[-1]
    place = int(np.searchsorted(running, wanted * (1 - 1e-12)))
    below = float(running[place - 1]) if place else 0.0
    if ties == "fractional":
        part = (wanted - below) / (float(running[place]) - below)
        return (place + 1, 0.0) if part > 1 - 1e-9 else (place, part)
    takes_in = place == 0 or running[place] - wanted <= wanted - below
    return (place + 1 if takes_in else place), 0.0


@dataclass(frozen=True)
class Composition:
    """The shares of an attribute's groups among the most changed and among everyone, and what chance makes of that."""

    people: Floats
    changed: Floats
    share_changed: Floats
    share_population: Floats
    share_changed_units: Floats
    share_population_units: Floats
    p: Floats
    half: Floats


def composition(
    attribute: Attribute, cut: Cut, units: Units, *, draws: int, generator: np.random.Generator
) -> Composition:
    """Hold the groups of one attribute against everyone; chance deals groups out to units, not to people."""
    number = len(attribute.groups)
    table = units.table(attribute.codes, number)
    people = table.sum(axis=0)
    changed = np.bincount(attribute.codes, weights=cut.weights, minlength=number).astype(np.float64, copy=False)
    once, fractions = table / units.sizes[:, None], units.means(cut.weights)
    told = draws if cut.tells_apart and units.number >= LEAST_UNITS else 0
    shares = shares_of_groups(units, cut.weights, attribute.codes, number, told, generator)
    tested = compare_with_null(shares.observed, shares.null)
    return Composition(
        people=people,
        changed=changed,
        share_changed=changed / changed.sum(),
        share_population=people / people.sum(),
        share_changed_units=fractions @ once / fractions.sum(),
        share_population_units=once.mean(axis=0),
        p=tested.p,
        half=tested.half,
    )


def effect(share: float, population: float) -> tuple[float, float]:
    """Return the lift (how many times the share in the population) and Cohen's h = 2 asin(√p1) - 2 asin(√p2)."""
    lift = share / population if population > 0 else math.nan
    return lift, 2 * math.asin(math.sqrt(min(share, 1.0))) - 2 * math.asin(math.sqrt(min(population, 1.0)))
