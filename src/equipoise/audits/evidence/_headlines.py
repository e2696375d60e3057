"""What repeated runs may say first: a pure function of the records, before any of it is a sentence."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from scipy import stats

from equipoise.audits.evidence._result import EvidenceRecord
from equipoise.results import Verdict

POWER = 0.8
# How much of a t-test's efficiency rank tests keep on normal values (3 / pi).
RANKS = 3 / math.pi


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
    made = []
    for technique, own in by_technique.items():
        effects = [Effect(record, means.get((str(record.baseline), record.metric), math.nan)) for record in own]

        def those(
            verdict: str, *, of_performance: bool, among: Sequence[Effect] = tuple(effects)
        ) -> tuple[Effect, ...]:
            return tuple(
                effect for effect in among
                if effect.record.verdict == verdict and (effect.record.metric in performance) == of_performance
            )  # fmt: skip

        made.append(
            TechniqueHeadline(
                technique=technique,
                baseline=str(own[0].baseline),
                lower=those(Verdict.LOWER, of_performance=False),
                higher=those(Verdict.HIGHER, of_performance=False),
                performance_lower=those(Verdict.LOWER, of_performance=True),
                performance_higher=those(Verdict.HIGHER, of_performance=True),
                unshown=tuple(record for record in own if record.verdict == Verdict.NONE),
                undecided=tuple(record for record in own if record.verdict == Verdict.UNDECIDED),
            )
        )
    return tuple(sorted(made, key=lambda headline: (not headline.confirmed, -_largest(headline))))


def _largest(headline: TechniqueHeadline) -> float:
    """Return the largest confirmed effect on a metric that is no performance, in standard deviations."""
    sizes = [abs(effect.record.d or 0.0) for effect in (*headline.lower, *headline.higher)]
    return max((size for size in sizes if not math.isnan(size)), default=0.0)


def detectable_effect(runs: int, baseline_runs: int, threshold: float = 0.05, *, ranks: bool = False) -> float:
    """Return about how many standard deviations a difference must be to be found 8 times in 10, or so by ranks."""
    z = float(stats.norm.isf(threshold / 2) + stats.norm.ppf(POWER))
    return z * math.sqrt((1 / runs + 1 / baseline_runs) / (RANKS if ranks else 1.0))
