"""What repeated runs say first: confirmed changes with their costs, or that nothing is confirmed."""

from __future__ import annotations

from equipoise.audits.evidence import EvidenceRecord, detectable_effect, say_headline, technique_headlines
from equipoise.results import Verdict


def record(technique: str, metric: str, mean: float, verdict: Verdict | None, d: float = -2.0) -> EvidenceRecord:
    return EvidenceRecord(
        technique=technique, baseline=None if verdict is None else "untreated", metric=metric, runs=16,
        baseline_runs=None if verdict is None else 16, mean=mean, stdev=0.01, maxdiff=0.02, min=mean, max=mean, d=d,
        verdict=verdict, reason="undecided with 3 runs" if verdict == "undecided" else "",
    )  # fmt: skip


BASE = [record("untreated", "DP", 0.303, None), record("untreated", "accuracy", 0.899, None)]


def test_a_confirmed_effect_is_told_with_its_size_and_its_cost() -> None:
    records = [
        *BASE, record("adversarial", "DP", 0.29, "none"), record("adversarial", "accuracy", 0.899, "none"),
        record("reweighting", "DP", 0.269, "lower"), record("reweighting", "accuracy", 0.89, "lower"),
    ]  # fmt: skip
    made = technique_headlines(records, ("accuracy",))
    assert [headline.technique for headline in made] == ["reweighting", "adversarial"]
    assert say_headline(made) == (
        "reweighting lowered DP from 0.303 to 0.269, at a cost: it lowered accuracy from 0.899 to 0.89 (16 runs "
        "against 16 of untreated). adversarial had no significant effect on any mean."
    )


def test_a_technique_that_makes_a_metric_worse_and_one_that_helps_are_both_named() -> None:
    records = [*BASE, record("a", "DP", 0.2, "lower", -1.0), record("b", "DP", 0.4, "higher", 3.0)]
    told = say_headline(technique_headlines(records, ("accuracy",)))
    assert told.startswith("b raised DP from 0.303 to 0.4 (16 runs")
    assert "a lowered DP from 0.303 to 0.2" in told


def test_without_a_confirmed_effect_no_technique_is_named_as_better() -> None:
    told = say_headline(technique_headlines([*BASE, record("a", "DP", 0.2, "none")], ("accuracy",)))
    assert told.startswith("No technique is shown to change any metric. With 16 runs against 16 of untreated")
    assert f"less than about {detectable_effect(16, 16):.1f} standard deviations would probably be missed" in told
    few = say_headline(technique_headlines([*BASE, record("a", "DP", 0.2, "undecided")], ("accuracy",)))
    assert few == "No technique is shown to change any metric. a on DP is undecided with 3 runs."
