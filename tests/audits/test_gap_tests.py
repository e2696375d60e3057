"""Gaps over all groups, ratios and equivalence in whole audits: who is compared, and what tests and intervals say."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import equipoise
from equipoise.audits._multiple_testing import hypotheses
from equipoise.audits.outcomes._attributes import planned_tests
from equipoise.cli import app
from equipoise.results import Record
from equipoise.stats import (
    interval_excludes,
    ratio_interval,
)


def predictions(sizes: list[int], rates: list[float], seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).random(sum(sizes)) < np.repeat(rates, sizes)).astype(int)


def audited(sizes: list[int], rates: list[float], seed: int = 0, **options: object) -> equipoise.AuditResult:
    group = np.repeat([f"g{place}" for place in range(len(sizes))], sizes)
    prediction = predictions(sizes, rates, seed)
    return equipoise.audit(prediction=prediction, sensitive_features={"g": group}, favourable=1, **options)


def gap_of(result: equipoise.AuditResult, measure: str = "demographic_parity") -> Record:
    (gap,) = [r for r in result.records if r.kind == "gap" and r.measure == measure and r.scope == "favourable"]
    return gap


@pytest.mark.once
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 6), st.floats(0.01, 0.5), st.floats(0, 0.3))
def test_tests_and_intervals_are_one_decision(seed: int, groups: int, base: float, step: float) -> None:
    sizes = np.random.default_rng(seed).integers(31, 400, groups).tolist()
    rates = [min(base + step * (place % 2), 0.95) for place in range(groups)]
    assume(predictions(sizes, rates, seed).any())  # a class that nobody has is refused
    result = audited(sizes, rates, seed)
    levels = {record.level for record in result.records if record.kind in ("contrast", "gap", "ratio") and record.level}
    assert len(levels) == 1
    for record in result.records:
        if record.kind == "contrast" and record.p_adjusted is not None:
            assert record.finding == (record.p_adjusted <= 0.05 and interval_excludes(record.low, record.high))
            if record.interval == "score":
                assert record.finding == (record.p_adjusted <= 0.05)
        if record.kind == "gap" and record.finding is not None:
            assert not record.finding or (record.low is not None and record.low > 0)
            assert record.p_adjusted is not None
            assert record.finding <= (record.p_adjusted <= 0.05)


def test_a_group_too_small_for_a_measure_is_left_out_and_listed_and_keeps_its_contrast() -> None:
    result = audited([900, 900, 150, 40, 10], [0.55, 0.35, 0.45, 0.45, 0.45])
    gap = gap_of(result)
    assert gap.left_out == ("g4",)
    assert gap.finding
    assert gap.pair == ("g1", "g0")
    assert result.words[0].startswith("The model predicts '1' two thirds as often for g1 as for the rest (g)")
    assert [r.status for r in result.records if r.kind == "contrast" and r.group == "g4"] == ["too small"]
    alone = gap_of(audited([900, 20, 10], [0.5, 0.4, 0.3]))
    assert alone.p is None
    assert str(alone.reason) == "fewer than two groups have at least 30 people"


def test_no_floor_of_permutations_decides() -> None:
    gap = gap_of(audited([2000, 2000, 2000], [0.5, 0.5, 0.2]))
    assert gap.p is not None
    assert gap.draws is not None
    assert gap.p < 0.05 / (20 * 5)
    assert not gap.limited_by_draws


def test_equal_weights_and_a_thousand_of_each_change_nothing() -> None:
    plain = audited([200, 150, 90], [0.3, 0.4, 0.2])
    for weight in (1.0, 7.0, 1000.0):
        other = audited([200, 150, 90], [0.3, 0.4, 0.2], weight=np.full(440, weight))
        for first, second in zip(plain.records, other.records, strict=True):
            assert (first.p is None, first.finding) == (second.p is None, second.finding)
            assert first.p is None or second.p == pytest.approx(first.p, rel=1e-9)
            assert (first.low is None) == (second.low is None)
            if first.low is not None:
                assert second.low == pytest.approx(first.low, abs=1e-9)


def test_ratios_have_score_intervals_against_the_largest_group_and_the_highest_rate() -> None:
    generator = np.random.default_rng(1)
    group = np.repeat(["a", "b", "c"], [500, 300, 100])
    prediction = (generator.random(900) < np.repeat([0.3, 0.5, 0.2], [500, 300, 100])).astype(int)
    result = equipoise.audit(prediction=prediction, sensitive_features={"g": group}, favourable=1)
    ratios = {(r.group, r.against): r for r in result.records if r.kind == "ratio to group" and r.scope == "favourable"}
    assert set(ratios) == {("b", "a"), ("c", "a"), ("a", "b"), ("c", "b")}
    x = {name: prediction[group == name].sum() for name in "abc"}
    n = {name: (group == name).sum() for name in "abc"}
    for (one, other), tests in {("c", "a"): 2, ("c", "b"): 6}.items():
        low, high = ratio_interval(x[one], n[one], x[other], n[other], 1 - 0.05 / tests)
        assert (ratios[one, other].low, ratios[one, other].high) == pytest.approx((float(low), float(high)))
        assert ratios[one, other].level == pytest.approx(1 - 0.05 / tests)
    for rule in result.four_fifths:
        assert rule.significant == (rule.high is not None and rule.high < 0.8)
        assert rule.basis == ("highest rate" if rule.against == "b" else "largest group")


def test_a_reference_that_nobody_of_is_selected_has_no_upper_end() -> None:
    group = np.repeat(["a", "b", "c"], [400, 100, 100])
    prediction = np.zeros(600, dtype=int)
    prediction[400:405] = 1
    result = equipoise.audit(prediction=prediction, sensitive_features={"g": group}, favourable=1)
    ratios = {(r.group, r.against): r for r in result.records if r.kind == "ratio to group" and r.scope == "favourable"}
    assert ratios["b", "a"].high == np.inf
    assert ratios["b", "a"].low > 1
    assert ratios["c", "a"].low is None  # nobody is selected on either side
    assert ratios["c", "a"].status == "undefined"
    assert '"high": null' in result.to_json()


def test_four_fifths_is_not_said_to_be_broken_of_equal_groups() -> None:
    said = [
        rule.significant
        for seed in range(10)
        for rule in audited([50] * 20, [0.5] * 20, seed).four_fifths
    ]  # fmt: skip
    assert sum(map(bool, said)) == 0


def test_rare_outcomes_have_exact_contrasts() -> None:
    result = audited([1000, 40], [0.01, 0.03])
    (contrast,) = [r for r in result.records if r.kind == "contrast"]
    assert contrast.interval == "exact"
    assert contrast.low is not None
    assert contrast.high is not None
    assert contrast.low < contrast.value < contrast.high


def test_equivalence_needs_every_pair_and_every_group() -> None:
    within = audited([4000, 4000, 4000], [0.3, 0.3, 0.3], equivalence_margin=0.05)
    assert gap_of(within).equivalent
    assert any("Shown to be within 5.0 points" in words for words in within.words)
    assert within.provenance["options"]["equivalence_margin"] == 0.05  # type: ignore[index]
    apart = audited([4000, 4000, 4000], [0.3, 0.3, 0.34], equivalence_margin=0.05)
    assert gap_of(apart).equivalent is False
    assert gap_of(apart).finding
    small = audited([4000, 4000, 20], [0.3, 0.3, 0.3], equivalence_margin=0.05)
    assert gap_of(small).equivalent is None
    both = audited([60_000, 60_000], [0.30, 0.32], equivalence_margin=0.05)
    assert gap_of(both).finding
    assert gap_of(both).equivalent
    assert gap_of(audited([100, 100], [0.3, 0.3])).equivalent is None


@pytest.mark.parametrize("margin", [0, 1, -0.1, 5, float("nan"), "0.05"])
def test_a_margin_that_is_no_share_is_refused(margin: object) -> None:
    with pytest.raises(equipoise.BadInput, match="equivalence margin"):
        audited([100, 100], [0.3, 0.3], equivalence_margin=margin)


def test_the_command_line_takes_a_margin(tmp_path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("p,g\n" + "1,a\n0,a\n" * 2000 + "1,b\n0,b\n" * 2000)
    said = CliRunner().invoke(
        app, ["audit", str(file), "--prediction", "p", "--group", "g", "--favourable", "1",
              "--equivalence-margin", "0.05", "--json", str(tmp_path / "out.json"), "--quiet"],
    )  # fmt: skip
    assert said.exit_code == 0, said.output
    assert '"equivalent": true' in (tmp_path / "out.json").read_text()
    bad = CliRunner().invoke(
        app, ["audit", str(file), "--prediction", "p", "--group", "g", "--equivalence-margin", "5"]
    )
    assert bad.exit_code == 2 or isinstance(bad.exception, equipoise.BadInput)


def test_the_number_of_planned_tests_is_at_least_that_of_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    rows = 400
    seen: list[int] = []

    def counted(*given: Any) -> int:
        seen.append(planned_tests(*given))
        return seen[-1]

    monkeypatch.setattr(sys.modules["equipoise.audits.outcomes._audit"], "planned_tests", counted)
    result = equipoise.audit(
        target=generator.integers(0, 2, rows), prediction=generator.integers(0, 2, rows), favourable=1,
        sensitive_features={"g": generator.choice(["a", "b", "c"], rows), "h": generator.choice(["x", "y"], rows)},
    )  # fmt: skip
    tested = [record for record in result.records if record.p is not None]
    assert len(set(hypotheses(tested))) <= seen[0] <= 2 * len(set(hypotheses(tested)))
