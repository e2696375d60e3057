"""What the audit of a direction on real rows comes to, and how it is said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from equipoise.audits import AuditResult
from equipoise.cohorts.factors import LOWER, UPPER
from equipoise.discovery.hyperplane import Floats
from equipoise.discovery.labelling import MIDDLE, Halves
from equipoise.foundation.text import plural
from equipoise.results import GapVerdict, Record, record_as_json

SCHEMA = "equipoise.direction-audit/2"
THRESHOLD = 0.05
# A cosine to the target from which on the gap may be the target's own.
CLOSE = 0.1


@dataclass(frozen=True, eq=False)
class DirectionAudit:
    """The gap between the two sides of a direction among held-out rows; NaN is undefined, and ``reason`` says why.

    ``gap`` is equalized odds, the larger of the gaps of true and of false positive rates (of the favourable class, or
    the mean over classes), and ``people`` its permutation test over rows. ``contrasts`` are upper less lower of either
    rate, with intervals. ``chance`` are the gaps of random directions, and ``rank_among_random`` is the place of this
    gap among them, 1 where none is as large.
    ``association`` is how differently often the two sides have a true label, ``cosines`` those to target and known
    attributes. ``audit`` has every other number. ``notes`` are told with it: how well target and known ones are known.
    """

    name: str
    verdict: GapVerdict
    reason: str | None
    gap: float
    people: float
    rank_among_random: int | None
    chance: Floats = field(repr=False)
    contrasts: tuple[Record, ...] = field(repr=False)
    association: Record = field(repr=False)
    cosines: dict[str, float]
    rows: dict[str, int]
    split: str
    halves: Halves
    how: str
    audit: AuditResult = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """What was found, in plain words."""
        return tuple(_words(self))

    def as_json(self) -> dict[str, Any]:
        """Return it as plain JSON values; undefined is null."""
        return {
            "schema": SCHEMA, "name": self.name, "verdict": self.verdict, "reason": self.reason, "gap": _told(self.gap),
            "people_p": _told(self.people), "rank_among_random": self.rank_among_random,
            "random_directions": len(self.chance), "chance": [_told(one) for one in self.chance.tolist()],
            "contrasts": [record_as_json(one) for one in self.contrasts],
            "association": record_as_json(self.association), "cosines": self.cosines, "rows": self.rows,
            "split": self.split, "halves": self.halves, "how": self.how, "words": list(self.words),
        }  # fmt: skip

    def __str__(self) -> str:
        return "\n".join(self.words)


def _words(found: DirectionAudit) -> Iterator[str]:
    lower, upper, middle = (found.rows[side] for side in (LOWER, UPPER, MIDDLE))
    yield (
        f"{found.name}: {plural(lower, 'row')} of the split {found.split!r} on its lower, {upper:,} on its upper side"
        + (f" ({middle:,} in the middle are left out)" if middle else "")
        + f", as {found.how} tells them apart."
    )
    for one in found.contrasts:
        rate = one.measure.replace("_", " ")
        between = "" if one.low is None or one.high is None else f" [{100 * one.low:.1f} to {100 * one.high:.1f}]"
        if one.defined:
            yield f"{rate} of {one.class_!r}: {100 * one.value:+.1f} points from lower to upper{between}."
        else:
            yield f"{rate} of {one.class_!r}: undefined ({one.reason})."
    if np.isfinite(found.gap):
        median = 100 * float(np.median(found.chance))
        place = f"rank {found.rank_among_random:,} of {len(found.chance) + 1:,}"
        chance = f"{len(found.chance):,} random directions have {median:.1f} in the median"
        yield f"The gap given the true label is {100 * found.gap:.1f} points; {chance} ({place})."
    yield "A gap is shown." if found.reason is None else f"No gap is shown: {found.reason}."
    tracked = found.association
    if tracked.defined:
        shown = tracked.p is not None and tracked.p <= THRESHOLD
        yield (
            f"The two sides differ by {100 * tracked.value:.1f} points in how often they have a true label"
            + (", more than by chance: it goes with the label, so rates given the label may differ by how hard the rows"
               " of a side are." if shown else ", no more than by chance.")
        )  # fmt: skip
    for name, cosine in found.cosines.items():
        if abs(cosine) > CLOSE:
            yield f"It has a cosine of {cosine:.2f} to {name!r}, which the random directions do not have."
    yield from found.notes


def _told(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
