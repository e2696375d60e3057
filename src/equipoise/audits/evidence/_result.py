"""What ``evidence`` returns: a record for each technique and metric, plain words, and the runs they rest on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from equipoise.audits.evidence._classes import Straddle
from equipoise.audits.evidence._comparison import SpreadRule
from equipoise.audits.evidence._gates import check_run_gates, run_breaches
from equipoise.audits.evidence._tables import evidence_table
from equipoise.audits.evidence._variance import VarianceChange
from equipoise.foundation.text import plural
from equipoise.results import Breach, Finding, Gate, Records, Result, Table, Verdict, direction_of, matching
from equipoise.stats import Band

SCHEMA = "equipoise.evidence/1"
NUMBERS = (
    "mean", "stdev", "maxdiff", "min", "max", "spread", "relative_spread", "difference", "low", "high", "level", "p",
    "p_adjusted", "error_rate", "d", "spread_p", "levene_p", "prob_single_run_misleads", "margin", "equivalence_p",
    "equivalence_p_adjusted",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRecord:
    """One technique on one metric. What is undefined is NaN; what a baseline has no use for is None.

    ``low`` and ``high`` are the interval of ``difference`` at ``level``, which is the level that decides after the
    correction. ``draws`` is how many arrangements a permutation's p rests on, and ``limited_by_draws`` tells that more
    of them could have made it smaller. ``error_rate`` is how often one uncorrected test of this kind finds a difference
    where there is none. ``spread_p`` is Levene's p on the values, ``levene_p`` on values divided by their mean;
    ``spread_rule`` says which counts as a cost. ``equivalent`` tells whether the difference is shown to be within
    ``margin``; it may be, and be significant too.
    """

    technique: str
    baseline: str | None
    metric: str
    runs: int
    baseline_runs: int | None
    mean: float
    stdev: float
    maxdiff: float
    min: float
    max: float
    test: str | None = None
    alternative: str | None = None
    correction: str | None = None
    p: float | None = None
    p_adjusted: float | None = None
    d: float | None = None
    band: Band | None = None
    levene_p: float | None = None
    overlap: bool | None = None
    prob_single_run_misleads: float | None = None
    verdict: Verdict | None = None
    reason: str | None = None
    costs: tuple[str, ...] = ()
    scope: str = ""
    spread: float | None = None
    relative_spread: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    draws: int | None = None
    limited_by_draws: bool | None = None
    error_rate: float | None = None
    spread_p: float | None = None
    spread_rule: SpreadRule | None = None
    margin: float | None = None
    equivalence_p: float | None = None
    equivalence_p_adjusted: float | None = None
    equivalent: bool | None = None


@dataclass(frozen=True)
class RunValues:
    """The values behind a record, one a run."""

    technique: str
    metric: str
    runs: tuple[str, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, repr=False)
class EvidenceResult(Result):
    """Evidence over runs. ``print(result)`` says it in words; ``records`` and ``to_json`` hold every number."""

    kind: ClassVar[str] = "evidence"
    record_type: ClassVar[type] = EvidenceRecord
    numbers: ClassVar[tuple[str, ...]] = NUMBERS
    joined: ClassVar[Mapping[str, str]] = {"costs": "; "}

    records: tuple[EvidenceRecord, ...]
    words: tuple[str, ...]
    notes: tuple[str, ...]
    performance: tuple[str, ...] = ()
    straddling: tuple[Straddle, ...] = ()
    runs: tuple[RunValues, ...] = ()
    variances: tuple[VarianceChange, ...] = ()

    def __str__(self) -> str:
        parts = [*self.words]
        parts += ["Notes:", *self.notes] if self.notes else []
        return "\n".join(parts)

    def find(self, **fields: object) -> tuple[EvidenceRecord, ...]:
        """Return the records whose fields have these values, as in ``find(technique="S-GR", metric="BA")``."""
        return matching(self.records, fields)

    def tables(self) -> tuple[Table, ...]:
        """Return the table that a paper shows."""
        return (evidence_table(self.records),)

    @property
    def contrasts(self) -> Records[EvidenceRecord]:
        """The comparisons of a technique with its baseline."""
        return self.view("contrasts", (record for record in self.records if record.verdict is not None))

    def _statements(self) -> Iterator[Finding]:
        for place, record in enumerate(self.records):
            if record.verdict is not None:
                estimate = math.nan if record.difference is None else record.difference
                yield Finding(
                    kind="comparison", measure=record.metric, treatment=record.technique, baseline=record.baseline,
                    estimate=estimate, low=record.low, high=record.high, level=record.level, p=record.p,
                    p_adjusted=record.p_adjusted, n=record.runs, n_against=record.baseline_runs, reason=record.reason,
                    direction=direction_of(
                        estimate, significant=record.verdict.significant, equivalent=record.equivalent,
                        better="high" if record.metric in self.performance else "low",
                    ),
                    place=place,
                )  # fmt: skip

    @classmethod
    def read_gates(cls, texts: Iterable[str]) -> list[Gate]:
        """Read gates over runs such as ``share(DI > 0.2) > 0.05``."""
        return check_run_gates(texts)

    def _breaches(self, gates: Sequence[Gate], *, allow_undefined: bool) -> Iterable[Breach]:
        return run_breaches(self, gates)

    def _described(self) -> Sequence[str]:
        techniques = {record.technique for record in self.records}
        metrics = {record.metric for record in self.records}
        return [plural(len(techniques), "technique"), plural(len(metrics), "metric"), self._findings_described()]

    def _name_parts(self, record: EvidenceRecord) -> Sequence[str | None]:
        return record.technique, record.metric
