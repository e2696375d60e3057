"""What ``evidence`` returns: a record for each technique and metric, plain words, and the runs they rest on.

Also what is read from the records: the table that a paper shows, what may be said first (headlines), and gates over
runs such as ``share(DI > 0.2) > 0.05``, which is broken when more than 5% of a technique's runs have DI over 0.2.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from scipy import stats

from equipoise.audits.evidence._classes import Straddle
from equipoise.audits.evidence._comparison import SpreadRule
from equipoise.audits.evidence._verdict import VarianceChange
from equipoise.foundation import (
    BadInput,
    plural,
    unknown_name,
)
from equipoise.results import (
    COMPARISONS,
    FLIPPED_SIGNS,
    Breach,
    Finding,
    Gate,
    GatedResult,
    NarratedResult,
    Reason,
    Records,
    Table,
    Verdict,
    direction_of,
    matching,
    parse_gate,
)
from equipoise.stats import EffectBand

SCHEMA = "equipoise.evidence/1"
NUMBERS = (
    "mean", "stdev", "maxdiff", "min", "max", "spread", "relative_spread", "difference", "low", "high", "level", "p",
    "p_adjusted", "error_rate", "d", "spread_p", "levene_p", "prob_single_run_misleads", "margin", "equivalence_p",
    "equivalence_p_adjusted",
)  # fmt: skip
HEADINGS = (
    "technique", "metric", "runs", "mean", "stdev", "MaxDiff", "baseline", "p, corrected", "d", "verdict", "costs",
)  # fmt: skip
POWER = 0.8
# How much of a t-test's efficiency rank tests keep on normal values (3 / pi).
RANKS = 3 / math.pi


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
    band: EffectBand | None = None
    levene_p: float | None = None
    overlap: bool | None = None
    prob_single_run_misleads: float | None = None
    verdict: Verdict | None = None
    reason: Reason | None = None
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
class EvidenceResult(NarratedResult, GatedResult):
    """Evidence over runs. ``print(result)`` says it in words; ``records`` and ``to_json`` hold every number."""

    kind: ClassVar[str] = "evidence"
    record_type: ClassVar[type] = EvidenceRecord
    numbers: ClassVar[tuple[str, ...]] = NUMBERS
    joined: ClassVar[Mapping[str, str]] = {"costs": "; "}

    records: tuple[EvidenceRecord, ...]
    notes: tuple[str, ...]
    performance: tuple[str, ...] = ()
    straddling: tuple[Straddle, ...] = ()
    runs: tuple[RunValues, ...] = ()
    variances: tuple[VarianceChange, ...] = ()

    def __str__(self) -> str:
        scope = [f"Scope: {self.records[0].scope}."] if self.records else []
        return "\n".join([*self.words, *scope, *(["Notes:", *self.notes] if self.notes else [])])

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
        for index, record in enumerate(self.records):
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
                    index=index,
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


def evidence_table(records: Iterable[EvidenceRecord]) -> Table:
    """Return the table; a baseline is compared with nothing."""
    rows = tuple(
        (
            r.technique, r.metric, r.runs, r.mean, r.stdev, r.maxdiff, r.baseline, r.p_adjusted, r.d, r.verdict,
            "; ".join(r.costs) or None,
        )
        for r in records
    )  # fmt: skip
    return Table("evidence", "Techniques over repeated runs", HEADINGS, rows)


@dataclass(frozen=True)
class Effect:
    """A technique's change of a metric, with the mean of its baseline."""

    record: EvidenceRecord
    baseline: float


@dataclass(frozen=True)
class TechniqueHeadline:
    """What is confirmed of one technique: metrics that fell and rose, and what that did to the performance.

    ``unshown`` and ``undecided`` are the metrics without a confirmed change.
    """

    technique: str
    baseline: str
    lower: tuple[Effect, ...]
    higher: tuple[Effect, ...]
    performance_lower: tuple[Effect, ...]
    performance_higher: tuple[Effect, ...]
    unshown: tuple[EvidenceRecord, ...]
    undecided: tuple[EvidenceRecord, ...]

    @property
    def confirmed(self) -> bool:
        """Tell whether any change is confirmed."""
        return bool(self.lower or self.higher or self.performance_lower or self.performance_higher)


def technique_headlines(
    records: Sequence[EvidenceRecord], performance: Collection[str]
) -> tuple[TechniqueHeadline, ...]:
    """Return what may be said of each technique; those with a confirmed change first, the largest effect leading."""
    means = {(record.technique, record.metric): record.mean for record in records}
    by_technique: dict[str, list[EvidenceRecord]] = {}
    for record in records:
        if record.verdict is not None:
            by_technique.setdefault(record.technique, []).append(record)
    headlines = []
    for technique, technique_records in by_technique.items():
        effects = [
            Effect(record, means.get((str(record.baseline), record.metric), math.nan)) for record in technique_records
        ]

        def those(
            verdict: str, *, of_performance: bool, among: Sequence[Effect] = tuple(effects)
        ) -> tuple[Effect, ...]:
            return tuple(
                effect for effect in among
                if effect.record.verdict == verdict and (effect.record.metric in performance) == of_performance
            )  # fmt: skip

        headlines.append(
            TechniqueHeadline(
                technique=technique,
                baseline=str(technique_records[0].baseline),
                lower=those(Verdict.LOWER, of_performance=False),
                higher=those(Verdict.HIGHER, of_performance=False),
                performance_lower=those(Verdict.LOWER, of_performance=True),
                performance_higher=those(Verdict.HIGHER, of_performance=True),
                unshown=tuple(record for record in technique_records if record.verdict == Verdict.NONE),
                undecided=tuple(record for record in technique_records if record.verdict == Verdict.UNDECIDED),
            )
        )
    return tuple(sorted(headlines, key=lambda headline: (not headline.confirmed, -_largest(headline))))


def _largest(headline: TechniqueHeadline) -> float:
    """Return the largest confirmed effect on a metric that is no performance, in standard deviations."""
    sizes = [abs(effect.record.d or 0.0) for effect in (*headline.lower, *headline.higher)]
    return max((size for size in sizes if not math.isnan(size)), default=0.0)


def detectable_effect(runs: int, baseline_runs: int, threshold: float = 0.05, *, ranks: bool = False) -> float:
    """Return about how many standard deviations a difference must be to be found 8 times in 10, or so by ranks."""
    z = float(stats.norm.isf(threshold / 2) + stats.norm.ppf(POWER))
    return z * math.sqrt((1 / runs + 1 / baseline_runs) / (RANKS if ranks else 1.0))


def check_run_gates(texts: Iterable[str]) -> list[Gate]:
    """Read gates before any work is done."""
    gates = [parse_gate(text) for text in texts]
    for gate in gates:
        if gate.share is None:
            raise BadInput(
                f"The gate {gate.text!r} is about one number, and every run has its own",
                help=f'write: --fail-if "share({gate.text}) > 0.05"',
            )
        if gate.field != "value" or gate.attribute is not None:
            raise BadInput(
                f"The gate {gate.text!r} asks more than runs have", available="share(METRIC > NUMBER) > SHARE"
            )
    return gates


def run_breaches(result: EvidenceResult, gates: Sequence[Gate]) -> Iterator[Breach]:
    """Yield every broken gate: each holds for every technique that is not a baseline."""
    baselines = {record.technique for record in result.records if record.verdict is None}
    for gate in gates:
        _check_metric(gate, result)
        for series in result.runs:
            if series.metric != gate.name or series.technique in baselines:
                continue
            broken = sum(gate.broken(value) for value in series.values)
            share = broken / len(series.values)
            assert gate.share is not None
            assert gate.share_sign is not None
            if COMPARISONS[gate.share_sign](share, gate.share):
                runs = f"{series.technique}: {broken} of {len(series.values)} runs"
                yield Breach(gate.text, f"{runs} have {gate.name} {gate.sign} {gate.limit:g}")


def _check_metric(gate: Gate, result: EvidenceResult) -> None:
    """Refuse a metric that has no runs, and a gate that stops when runs are good."""
    metrics = list(dict.fromkeys(series.metric for series in result.runs))
    if gate.name not in metrics:
        raise unknown_name("metric", gate.name, metrics, "the runs")
    worse = "<" if gate.name in result.performance else ">"
    if not gate.sign.startswith(worse):
        meant = gate.text.replace(gate.sign, FLIPPED_SIGNS[gate.sign], 1)
        raise BadInput(
            f"The gate {gate.text!r} stops when runs are good on {gate.name!r}",
            available="> for a bias, < for a metric named with --performance",
            help=f'write: --fail-if "{meant}"',
        )
