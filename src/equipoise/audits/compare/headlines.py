"""What a comparison may say first: a pure function of its records, before any of it is a sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from equipoise.audits.compare.correcting import mirrored
from equipoise.audits.compare.result import ChangeRecord, CompareResult, FloorRecord

# Shares of two groups that are all there are add up to 1, but for rounding.
EXACT = 1e-9


@dataclass(frozen=True)
class CompareHeadline:
    """Whether the change goes beyond a rerun, and which groups are shown to be among the most changed.

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
        """Tell whether every score is the same, so that nobody changed most."""
        return math.isnan(self.cut)

    @property
    def tested(self) -> int:
        """How many groups were tested."""
        return len(self.claims) + len(self.unconfirmed)

    @property
    def findings(self) -> int:
        """How many tests are confirmed: the two groups of a binary attribute are one, seen from either side."""
        tested = [*self.claims, *self.unconfirmed]
        twins = {
            attribute
            for attribute in mirrored(tested)
            if abs(sum(record.difference for record in tested if record.attribute == attribute)) < EXACT
        }
        return len({(claim.attribute, None if claim.attribute in twins else claim.group) for claim in self.claims})


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
