"""What ``compare`` returns: who changed, by how much, in whose favour, and whether that is significant."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from equipoise.audits._reasons import AuditReason
from equipoise.foundation import plural
from equipoise.results import (
    Finding,
    NarratedResult,
    Reason,
    ReasonCode,
    Records,
    Status,
    because,
    direction_of,
    matching,
)

SCHEMA = "equipoise.compare/1"
NUMBERS = (
    "mean", "q05", "q25", "median", "q75", "q95", "changed", "share_changed", "share_population", "difference", "low",
    "high", "level", "lift", "h", "share_changed_profiles", "share_population_profiles", "share_changed_rerun", "p",
    "p_adjusted",
)  # fmt: skip


# The confidence level of every interval; what is a finding is decided by the corrected p as well.
CONFIDENCE = 0.95


class CompareReason(ReasonCode):
    """Why a number of a comparison is undefined or not tested."""

    NOBODY_CHANGED_MORE = "nobody_changed_more", "every score is the same: nobody changed more than the others"
    NO_SCORES = "no_scores", "nobody in the group has a score"
    NO_TWO_SCORES = "no_two_scores", "nobody has both scores"
    NO_TWO_PREDICTIONS = "no_two_predictions", "nobody has both predictions"
    FEW_UNITS = "few_units", "fewer than {least} distinct units, or no spread: no interval and no test"
    FEW_MOVED_OR_STAYED = (
        "few_moved_or_stayed", "fewer than {least} distinct units moved, or stayed: no interval and no test"
    )  # fmt: skip
    ALL_MOVED = "all_moved", "every prediction moved"
    NONE_MOVED = "none_moved", "no prediction moved"
    NO_DIRECTION = (
        "no_direction", "no direction left {where}: the groups' means differ by no more than sampling noise"
    )  # fmt: skip
    FITS_NOBODY = "fits_nobody", "fits nobody held out"
    # Why no rule describes the most changed.
    NOBODY_TO_DESCRIBE = "nobody_to_describe", "nobody changed more than the others"
    FEW_UNITS_TO_DESCRIBE = (
        "few_units_to_describe",
        "{units:plural unit} {are} too few to find a description on one half and judge it by the other (at least "
        "{least})",
    )  # fmt: skip
    FEW_CHANGED_TO_DESCRIBE = (
        "few_changed_to_describe",
        "{units:plural distinct unit} {are} the most changed, too few to find a description (at least {least})",
    )  # fmt: skip
    NO_RULE = "no_rule", "no rule found on one half describes the most changed better than everyone"


def few_or_nobody(least: int, nobody: CompareReason) -> tuple[Status, Reason]:
    """Return why there is no number: the group is hidden, or where nothing is hidden, nobody is there."""
    if least > 1:
        return Status.TOO_SMALL, because(AuditReason.SUPPRESSED, least=least)
    return Status.UNDEFINED, because(nobody)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRecord:
    """One group of one attribute; the first record (without an attribute) is everyone. Undefined is NaN.

    ``mean`` to ``q95`` describe the scores of the group (low is much changed). ``share_changed`` is its share among
    the most changed, ``share_population`` among everyone with a score, ``difference`` the one minus the other with its
    interval, ``lift`` their ratio, ``h`` Cohen's h. Shares with ``_profiles`` count every distinct profile once.
    """

    attribute: str | None
    group: str | None
    people: int | None
    undefined: int | None
    profiles: int | None
    mean: float
    q05: float
    q25: float
    median: float
    q75: float
    q95: float
    changed: float | None = None
    share_changed: float = math.nan
    share_population: float = math.nan
    difference: float = math.nan
    low: float | None = None
    high: float | None = None
    interval: str | None = None
    level: float | None = None
    lift: float = math.nan
    h: float = math.nan
    share_changed_profiles: float = math.nan
    share_population_profiles: float = math.nan
    share_changed_rerun: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    finding: bool | None = None
    status: Status = Status.OK
    reason: Reason | None = None
    # More random draws could have made p smaller; None where p rests on none.
    limited_by_draws: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Similarity:
    """How alike the two spaces are over everyone, and where the most changed were cut off.

    ``share`` is what was asked for, ``share_reached`` what whole ties made of it. ``overlap`` is the mean share of a
    row's nearest ``neighbours`` that stayed its nearest.
    """

    measure: str
    kernel: str
    pnka: float
    cka: float
    rows: int
    undefined: int
    units: int
    unit: str
    share: float
    share_reached: float
    changed: float
    cutoff: float
    ties: str
    tied: int
    overlap: float = math.nan
    neighbours: int | None = None
    rerun_pnka: float | None = None
    rerun_cka: float | None = None
    rerun_overlap: float | None = None


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """How many of a group (everyone: null) have scores between the edges; a count that is hidden is null."""

    attribute: str | None
    group: str | None
    edges: tuple[float, ...]
    counts: tuple[int | None, ...]


@dataclass(frozen=True, kw_only=True)
class RingPart:
    """A group's part of an attribute's ring, from ``start`` to ``end`` of a full turn; ring 0 is the innermost."""

    whom: str
    ring: int
    attribute: str
    group: str
    share: float
    start: float
    end: float


@dataclass(frozen=True, kw_only=True)
class Description:
    """A rule found on one half of the profiles, and what is true of it on the other half.

    ``changed_within`` is the share of those it describes that are among the most changed, ``covered`` the share of
    the most changed that it describes, ``lift`` how many times as often as everyone they are among them.
    """

    words: str
    conditions: tuple[str, ...]
    people: int | None
    profiles: int | None
    share_population: float
    changed_within: float
    covered: float
    lift: float
    p: float | None = None
    p_adjusted: float | None = None
    finding: bool | None = None
    status: Status = Status.OK
    reason: Reason | None = None
    # More random draws could have made p smaller; None where p rests on none.
    limited_by_draws: bool | None = None


@dataclass(frozen=True, kw_only=True)
class ProjectionRecord:
    """A group's projections on a concept direction: means before and after, the paper's omega, and its bounded form.

    ``exploded`` is the share of people whose omega is beyond 10 on either side. ``separation_before`` and
    ``separation_after`` (of everyone, where the direction lies between two groups) are how far apart those groups are
    in each space, in standard deviations within groups.
    """

    direction: str
    attribute: str | None
    group: str | None
    people: int | None
    mean_before: float
    mean_after: float
    median_omega: float
    omega_undefined: int | None
    exploded: float
    median_bounded: float
    bounded_undefined: int | None
    separation_before: float | None = None
    separation_after: float | None = None
    status: Status = Status.OK
    reason: Reason | None = None


@dataclass(frozen=True, kw_only=True)
class OutcomeRecord:
    """Whose predictions moved. ``moves`` counts classes from and to; for numbers, mean shifts are given instead."""

    attribute: str | None
    group: str | None
    people: int | None
    moved: float | None
    share_moved: float
    difference: float = math.nan
    low: float | None = None
    high: float | None = None
    interval: str | None = None
    level: float | None = None
    mean_shift: float | None = None
    mean_absolute_shift: float | None = None
    moves: tuple[Move, ...] = ()
    p: float | None = None
    p_adjusted: float | None = None
    finding: bool | None = None
    status: Status = Status.OK
    reason: Reason | None = None
    # More random draws could have made p smaller; None where p rests on none.
    limited_by_draws: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Move:
    """How many people went from one predicted class to another."""

    before: str
    after: str
    people: int | None


@dataclass(frozen=True, kw_only=True)
class OutcomeLink:
    """Does the score foretell whose prediction moved?

    ``auc`` is the chance that of two people, one moved and one not, the moved one has the lower score.
    """

    NULL: ClassVar[float] = 0.5

    people: int
    moved: int
    auc: float
    low: float | None
    high: float | None
    rank_correlation: float
    level: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    finding: bool | None = None
    status: Status = Status.OK
    reason: Reason | None = None
    # More random draws could have made p smaller; None where p rests on none.
    limited_by_draws: bool | None = None


@dataclass(frozen=True, kw_only=True)
class FloorRecord:
    """The noise floor: scores between AFTER and an identical rerun of it, beside those between BEFORE and AFTER.

    ``excess`` is the mean of (floor - score): above 0 the change is larger than that of a rerun.
    """

    attribute: str | None
    group: str | None
    people: int | None
    mean: float
    floor_mean: float
    excess: float
    low: float | None
    high: float | None
    level: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    finding: bool | None = None
    status: Status = Status.OK
    reason: Reason | None = None


@dataclass(frozen=True, kw_only=True)
class RowRecord:
    """One person among the most changed. Only there when rows were asked for."""

    row: int
    id: str | None
    score: float
    groups: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class CompareResult(NarratedResult):
    """Whom a change touched. ``print(result)`` says it in words; ``records`` and ``to_json`` hold every number."""

    kind: ClassVar[str] = "compare"
    record_type: ClassVar[type] = ChangeRecord
    numbers: ClassVar[tuple[str, ...]] = NUMBERS

    records: tuple[ChangeRecord, ...]
    notes: tuple[str, ...]
    similarity: Similarity
    attributes: tuple[str, ...] = ()
    histograms: tuple[Histogram, ...] = ()
    rings: tuple[RingPart, ...] = ()
    descriptions: tuple[Description, ...] = ()
    projections: tuple[ProjectionRecord, ...] = ()
    outcomes: tuple[OutcomeRecord, ...] = ()
    link: OutcomeLink | None = None
    floor: tuple[FloorRecord, ...] = ()
    rows: tuple[RowRecord, ...] = field(default=(), repr=False)

    def find(self, **fields: object) -> tuple[ChangeRecord, ...]:
        """Return the records whose fields have these values, as in ``find(attribute="sex", group="Female")``."""
        return matching(self.records, fields)

    def _statements(self) -> Iterator[Finding]:
        for index, record in enumerate(self.records):
            if record.attribute is not None:
                yield _statement(record, record.difference, "contrast", "share_changed", "records", index)
        for position, moved in enumerate(self.outcomes):
            if moved.attribute is not None:
                yield _statement(moved, moved.difference, "contrast", "share_moved", "outcomes", position)
        for position, floor in enumerate(self.floor):
            yield _statement(floor, floor.excess, "comparison", "excess_over_rerun", "floor", position)

    @property
    def contrasts(self) -> Records[ChangeRecord]:
        """The groups of all attributes, each beside everyone."""
        return self.view("contrasts", (record for record in self.records if record.attribute is not None))

    def _described(self) -> Sequence[str]:
        compared = " x ".join(self.attributes) or "no groups"
        return [plural(self.similarity.rows, "row"), compared, self._findings_described()]

    def to_dict(self) -> dict[str, float]:
        """Return a flat name-to-number dictionary, as experiment trackers take it. Undefined numbers are left out."""
        similarities = {"pnka": self.similarity.pnka, "cka": self.similarity.cka}
        return {name: value for name, value in similarities.items() if not math.isnan(value)} | super().to_dict()

    def _name_parts(self, record: ChangeRecord) -> Sequence[str | None]:
        return record.attribute, record.group


def _statement(
    record: ChangeRecord | OutcomeRecord | FloorRecord,
    estimate: float,
    kind: str,
    measure: str,
    source: str,
    position: int,
) -> Finding:
    return Finding(
        kind=kind, measure=measure, attribute=() if record.attribute is None else (record.attribute,),
        group=record.group, estimate=estimate, low=record.low, high=record.high, level=record.level, p=record.p,
        p_adjusted=record.p_adjusted, n=record.people, status=record.status, reason=record.reason,
        direction=direction_of(estimate, significant=record.finding), source=source, index=position,
    )  # fmt: skip
