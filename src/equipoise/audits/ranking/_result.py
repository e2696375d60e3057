"""What an audit of a ranking returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from equipoise.audits._contrasts import Power
from equipoise.audits._engine import GroupStatistic
from equipoise.audits._group_result import GroupResult
from equipoise.audits._reasons import AuditReason
from equipoise.foundation import plural, unknown_name
from equipoise.results import Better, Interval, Record, Table

SCHEMA = "equipoise.ranking/1"

# Selection is told of each k; its label is set where k is known.
SELECTION = GroupStatistic(
    name="selection_at_k", kind="rate", better="high", gap="selection_at_k_difference", ratio="selection_at_k_ratio",
    bounds=(0.0, 1.0), undefined=AuditReason.NO_ROWS,
)  # fmt: skip
EXPOSURE = GroupStatistic(
    name="exposure", kind="value", better="high", gap="exposure_difference", ratio="exposure_ratio", bounds=(0.0, 1.0),
    undefined=AuditReason.NO_ROWS,
)  # fmt: skip
BEYOND_MERIT = GroupStatistic(
    name="exposure_beyond_merit", kind="value", better="high", gap="exposure_beyond_merit_difference",
    bounds=(-1.0, 1.0), undefined=AuditReason.NOTHING_RELEVANT_FOR_GROUP,
)  # fmt: skip
STATISTICS = (SELECTION, EXPOSURE, BEYOND_MERIT)


@dataclass(frozen=True)
class RankingMeasure:
    """A measure of a ranking, as gates and statements know it."""

    name: str
    kind: str
    better: Better


def _measures() -> dict[str, RankingMeasure]:
    measures = []
    for statistic in STATISTICS:
        measures += [
            RankingMeasure(statistic.name, statistic.kind, statistic.better),
            RankingMeasure(statistic.gap, "gap", "low"),
        ]
        measures += [] if statistic.ratio is None else [RankingMeasure(statistic.ratio, "ratio", "high")]
    measures += [RankingMeasure(name, "value", "none") for name in ("people_share", "exposure_share", "merit_share")]
    measures.append(RankingMeasure("exposure_per_merit", "value", "high"))
    measures.append(RankingMeasure("exposure_per_merit_ratio", "ratio", "high"))
    return {measure.name: measure for measure in measures}


MEASURES = _measures()


@dataclass(frozen=True, repr=False)
class RankingResult(GroupResult):
    """An audit of a ranking: selection at top k and exposure of each group, compared and tested.

    ``rows`` were ranked in ``queries`` rankings (1 without a query column); ``tops`` are the cuts, as they are told.
    """

    kind: ClassVar[str] = "ranking"

    rows: int
    queries: int
    tops: tuple[str, ...]
    notes: tuple[str, ...]
    power: tuple[Power, ...] = ()

    @classmethod
    def measure_of(cls, name: str) -> RankingMeasure:
        """Return a measure of rankings by its name."""
        if name not in MEASURES:
            raise unknown_name("measure", name, MEASURES, "an audit of a ranking")
        return MEASURES[name]

    def _described(self) -> Sequence[str]:
        attributes = dict.fromkeys(name for record in self.records for name in record.attribute)
        rankings = [] if self.queries == 1 else [plural(self.queries, "query", "queries")]
        return [plural(self.rows, "row"), *rankings, " x ".join(attributes), self._findings_described()]

    def tables(self) -> tuple[Table, ...]:
        """Return the tables that a paper shows: values of groups, contrasts, and gaps."""
        values = [
            (_about(r), r.group, _measure(r), r.value, Interval(r.low, r.high), r.denominator) for r in self.rates
        ]
        contrasts = [
            (_about(r), r.group, r.against, _measure(r), r.value, Interval(r.low, r.high), r.p_adjusted, r.finding)
            for r in self.contrasts
        ]
        gaps = [
            (_about(r), _measure(r), r.value, r.low, r.p_adjusted, r.finding, r.group, r.against) for r in self.gaps
        ]
        return (
            Table("rates", "Selection and exposure of groups",
                  ("attribute", "group", "measure", "value", "95% interval", "rows"), tuple(values)),
            Table("contrasts", "Differences between groups, intervals corrected for the number of tests",
                  ("attribute", "group", "compared with", "measure", "difference", "interval", "p corrected",
                   "confirmed"), tuple(contrasts)),
            Table("gaps", "Largest differences and smallest ratios",
                  ("attribute", "measure", "value", "at least", "p corrected", "confirmed", "lowest", "highest"),
                  tuple(gaps)),
        )  # fmt: skip


def _about(record: Record) -> str:
    return " & ".join(record.attribute)


def _measure(record: Record) -> str:
    return record.measure if record.label is None else f"{record.measure} ({record.label})"
