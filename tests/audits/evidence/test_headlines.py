"""What repeated runs say first: confirmed changes with their costs, or that nothing is confirmed."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.audits.evidence import (
    EvidenceReason,
    EvidenceRecord,
    EvidenceResult,
    detectable_effect,
    technique_headlines,
)
from equipoise.reports._document import plain
from equipoise.reports.narrative.evidence import answer_of, evidence_story
from equipoise.results import Verdict, because

FEW = because(EvidenceReason.ONE_RUN, runs="1 run against 3")


def record(technique: str, metric: str, mean: float, verdict: Verdict | None, d: float = -2.0) -> EvidenceRecord:
    return EvidenceRecord(
        technique=technique, baseline=None if verdict is None else "untreated", metric=metric, runs=16,
        baseline_runs=None if verdict is None else 16, mean=mean, stdev=0.01, maxdiff=0.02, min=mean, max=mean, d=d,
        verdict=verdict, reason=FEW if verdict == Verdict.UNDECIDED else None,
    )  # fmt: skip


BASE = [record("untreated", "DP", 0.303, None), record("untreated", "accuracy", 0.899, None)]


def said(records: Sequence[EvidenceRecord]) -> list[str]:
    result = EvidenceResult("", tuple(records), {}, (), performance=("accuracy",))
    return list(evidence_story(result).sentences())


def test_a_confirmed_effect_is_told_with_its_size_and_its_cost() -> None:
    records = [
        *BASE, record("adversarial", "DP", 0.29, "none"), record("adversarial", "accuracy", 0.899, "none"),
        record("reweighting", "DP", 0.269, "lower"), record("reweighting", "accuracy", 0.89, "lower"),
    ]  # fmt: skip
    made = technique_headlines(records, ("accuracy",))
    assert [headline.technique for headline in made] == ["reweighting", "adversarial"]
    first, *rest = said(records)
    assert first == (
        "reweighting lowered DP from 0.303 to 0.269, at a cost: it lowered accuracy from 0.899 to 0.89 (16 runs each, "
        "compared with untreated)."
    )
    assert rest == ["adversarial: No significant effect on any mean (DP, accuracy)."]


def test_a_technique_that_makes_a_metric_worse_and_one_that_helps_are_both_named() -> None:
    records = [*BASE, record("a", "DP", 0.2, "lower", -1.0), record("b", "DP", 0.4, "higher", 3.0)]
    first, second = said(records)
    assert first.startswith("b raised DP from 0.303 to 0.4 (16 runs")
    assert second.startswith("a lowered DP from 0.303 to 0.2")


def test_without_a_confirmed_effect_no_technique_is_named_as_better() -> None:
    [told, about] = said([*BASE, record("a", "DP", 0.2, "none")])
    assert told.startswith(
        "No technique is distinguishable from its baseline. With 16 runs each, compared with untreated, differences"
    )
    assert f"below about {detectable_effect(16, 16):.1f} standard deviations would probably be missed" in told
    assert about == "a: No significant effect on any mean (DP)."
    few = answer_of(technique_headlines([*BASE, record("a", "DP", 0.2, "undecided")], ("accuracy",)))
    assert plain(few) == f"No technique is distinguishable from its baseline. a on DP: {FEW}."
