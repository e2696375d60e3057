"""Evidence over repeated training runs: does a technique differ from its baseline, by how much, and at what cost?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.audits._group_result import AuditKind, register
from equipoise.audits._options import EVIDENCE_OPTIONS
from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.audits.evidence._classes import RULE as RULE
    from equipoise.audits.evidence._classes import Straddle as Straddle
    from equipoise.audits.evidence._classes import worst_first as worst_first
    from equipoise.audits.evidence._comparison import RANK_TESTS as RANK_TESTS
    from equipoise.audits.evidence._comparison import WILCOXON as WILCOXON
    from equipoise.audits.evidence._comparison import Comparison as Comparison
    from equipoise.audits.evidence._comparison import Plan as Plan
    from equipoise.audits.evidence._comparison import Series as Series
    from equipoise.audits.evidence._comparison import compare as compare
    from equipoise.audits.evidence._evidence import evidence as evidence
    from equipoise.audits.evidence._evidence import parse_margins as parse_margins
    from equipoise.audits.evidence._result import NUMBERS as NUMBERS
    from equipoise.audits.evidence._result import SCHEMA as SCHEMA
    from equipoise.audits.evidence._result import Effect as Effect
    from equipoise.audits.evidence._result import EvidenceRecord as EvidenceRecord
    from equipoise.audits.evidence._result import EvidenceResult as EvidenceResult
    from equipoise.audits.evidence._result import RunValues as RunValues
    from equipoise.audits.evidence._result import TechniqueHeadline as TechniqueHeadline
    from equipoise.audits.evidence._result import check_run_gates as check_run_gates
    from equipoise.audits.evidence._result import detectable_effect as detectable_effect
    from equipoise.audits.evidence._result import run_breaches as run_breaches
    from equipoise.audits.evidence._result import technique_headlines as technique_headlines
    from equipoise.audits.evidence._verdict import METRIC_VARIANCE as METRIC_VARIANCE
    from equipoise.audits.evidence._verdict import PERFORMANCE_LOWER as PERFORMANCE_LOWER
    from equipoise.audits.evidence._verdict import PERFORMANCE_VARIANCE as PERFORMANCE_VARIANCE
    from equipoise.audits.evidence._verdict import EvidenceReason as EvidenceReason
    from equipoise.audits.evidence._verdict import SpreadChange as SpreadChange
    from equipoise.audits.evidence._verdict import VarianceChange as VarianceChange
    from equipoise.audits.evidence._verdict import asides as asides
    from equipoise.audits.evidence._verdict import costs_of as costs_of
    from equipoise.audits.evidence._verdict import variance_changes as variance_changes
    from equipoise.audits.evidence._verdict import within as within

_MODULES = {
    "_classes": ("RULE", "Straddle", "worst_first"),
    "_comparison": ("Comparison", "Plan", "RANK_TESTS", "Series", "WILCOXON", "compare"),
    "_evidence": ("evidence", "parse_margins"),
    "_result": (
        "Effect",
        "EvidenceRecord",
        "EvidenceResult",
        "NUMBERS",
        "RunValues",
        "SCHEMA",
        "TechniqueHeadline",
        "check_run_gates",
        "detectable_effect",
        "run_breaches",
        "technique_headlines",
    ),
    "_verdict": (
        "EvidenceReason",
        "METRIC_VARIANCE",
        "PERFORMANCE_LOWER",
        "PERFORMANCE_VARIANCE",
        "SpreadChange",
        "VarianceChange",
        "asides",
        "costs_of",
        "variance_changes",
        "within",
    ),
}
__all__, __getattr__, __dir__ = door(__name__, _MODULES)


register(
    AuditKind(
        name="evidence",
        summary="Judge repeated training runs: tests, effect sizes, costs, and what a single run would have shown.",
        function="equipoise.audits.evidence._evidence:evidence",
        result="equipoise.audits.evidence._result:EvidenceResult",
        options=EVIDENCE_OPTIONS,
        data="Results of runs in long form: CSV, Parquet or Arrow.",
        examples=(
            "evidence runs.csv --baseline untreated",
            'evidence runs.csv --baseline untreated --pair seed --test sign-flip --fail-if "share(DP > 0.2) > 0.05"',
        ),
        converted={"margin": "equipoise.audits.evidence:parse_margins"},
        doing="Testing",
        paper="004",
    )
)
