"""Verdicts of a study: units, pairs, people, environments, one correction over the report, and how far they reach."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.reports.study_page import page
from equipoise.stats import benjamini_hochberg
from equipoise.studies.findings.claims import ClaimKind
from equipoise.studies.findings.judging import attainable
from equipoise.studies.findings.reporting import result_of
from equipoise.studies.findings.units import RERUNS, SEEDS
from study_cases import ARMS, interpolation, study

CONDITION = [interpolation(0)]
FLOORS = (0.002, 0.02857142857142857, 0.1)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(FLOORS), st.floats(0, 1)), min_size=1, max_size=12), st.integers(0, 3))
def test_what_is_within_reach_is_the_correction_with_that_test_at_its_smallest(
    drawn: list[tuple[float, float]], undefined: int
) -> None:
    smallest = np.array([floor for floor, _ in drawn] + [0.1] * undefined)
    p = np.array([floor + (1 - floor) * up for floor, up in drawn] + [np.nan] * undefined)
    found = attainable(p, smallest)
    for place in range(len(drawn)):
        moved = p.copy()
        moved[place] = smallest[place]
        assert found[place] == pytest.approx(benjamini_hochberg(moved)[place], rel=1e-9)
    assert np.isnan(found[len(drawn) :]).all()


def test_one_correction_goes_over_every_comparison_of_the_report() -> None:
    result = result_of(study(seeds=6, repeats=1, people=800))
    judged = [record for record in result.records if record.verdict is not None]
    assert len({record.attribute for record in judged}) > 2, "everyone and both attributes, in one family"
    expected = benjamini_hochberg([float(record.p or 0) for record in judged])
    assert [record.p_adjusted for record in judged] == pytest.approx(expected.tolist())
    for record in judged:
        assert record.p == max(record.p_runs or 0, record.p_people or 0)
        if record.verdict in ("lower", "higher"):
            assert (record.p_adjusted or 0) <= 0.05


def test_seeds_are_paired_from_ten_on_and_the_scope_says_how() -> None:
    few = result_of(study(conditions=CONDITION, seeds=6, repeats=2, people=600))
    many = result_of(study(conditions=CONDITION, seeds=10, repeats=1, people=600))
    for result, test, how in ((few, "mann-whitney", "compared without pairing"), (many, "wilcoxon", "paired")):
        judged = [record for record in result.records if record.verdict is not None]
        assert {record.test for record in judged} == {test}
        assert {record.unit for record in judged} == {SEEDS}
        assert all(how in record.scope and "other people" in record.scope for record in judged)


def test_one_seed_is_judged_by_its_identical_runs_and_the_scope_says_so() -> None:
    result = result_of(study(conditions=CONDITION, seeds=1, repeats=4, people=600))
    judged = [record for record in result.records if record.verdict is not None]
    assert {record.unit for record in judged} == {RERUNS}
    assert all("identical runs of one seed (4 of them)" in record.scope for record in judged)
    assert all("nothing about other seeds" in record.scope for record in judged)


def test_runs_that_were_too_few_for_the_correction_are_undecided_with_the_way_out() -> None:
    result = result_of(study(seeds=1, repeats=4, people=1_500))
    reasons = [r.reason or "" for r in result.records if r.verdict == "undecided"]
    assert any("after the correction over this report" in reason and "could decide" in reason for reason in reasons)
    assert "lower" not in {r.verdict for r in result.records if (r.p_adjusted or 0) > 0.05}


def test_a_difference_that_other_people_could_turn_round_is_not_shown() -> None:
    # Hardly any spread between runs, and few people: every rerun says the same, other people need not.
    arms = [replace(arm, seeds=0.001, reruns=0.0) for arm in ARMS[:2]]
    data = study(arms=arms, conditions=CONDITION, seeds=10, repeats=1, people=400)
    with_people, without = result_of(data), result_of(data, people=False)
    turned = [
        (one, other)
        for one, other in zip(with_people.records, without.records, strict=True)
        if other.verdict in ("lower", "higher") and one.verdict == "none"
    ]
    assert turned
    assert any("other people could give the opposite" in (one.reason or "") for one, _ in turned)
    assert all((one.p_people or 0) > (other.p_adjusted or 0) for one, other in turned)
    assert all("nothing about other people" in r.scope for r in without.records if r.verdict is not None)


@pytest.mark.parametrize("fairness", [None, "worst_group"])
def test_what_was_not_tested_over_people_is_undecided_and_nobody_wins_by_it(fairness: str | None) -> None:
    data = study(arms=ARMS[:2], conditions=CONDITION, seeds=10, repeats=1, people=600)
    treated = np.array([trial.treatment != "untreated" for trial in data.trials])
    noise = np.random.default_rng(0).normal(0, 0.001, len(treated))

    def aucs(split: str, attribute: tuple[str, ...]) -> np.ndarray:
        groups = len(data.layout.folding(attribute)[1])
        return np.repeat((0.6 + 0.3 * treated + noise)[:, None], 1 + groups, axis=1)

    result = result_of(replace(data, aucs=aucs), performance="auc", fairness=fairness)
    made_of_scores = ("auc", result.distance, *([result.fairness] if fairness else []))
    judged = [one for one in result.records if one.verdict is not None and one.measure in made_of_scores]
    assert judged
    for one in judged:
        assert (one.verdict, one.people_untested) == ("undecided", True)
        assert (one.reason or "").startswith("not tested over people")
        assert np.isnan([one.p, one.p_adjusted, one.change_low, one.change_high, one.prob_best]).all()  # type: ignore[arg-type]
        assert (one.p_runs or 0) < 0.01
    told = [one for one in result.records if one.verdict is not None and one.measure == "accuracy"]
    assert not any(one.people_untested for one in told)
    assert not any(claim.kind in (ClaimKind.NEAREST, ClaimKind.AMONG) for claim in result.claims)
    assert "draws of seeds and people" not in str(result)
    assert any(note.startswith("Not tested over people, so undecided: ") for note in result.notes)
    assert page(result)


def test_a_study_of_nothing_finds_nothing_more_often_than_it_should() -> None:
    same = [replace(ARMS[0], name=name) for name in ("untreated", "first", "second")]
    found = 0
    for seed in range(12):
        result = result_of(study(arms=same, conditions=CONDITION, seeds=6, repeats=1, people=500, seed=seed))
        found += any(record.verdict in ("lower", "higher") for record in result.records)
    assert found <= 2


def test_a_comparison_never_mixes_two_environments() -> None:
    def where(seed: int, repeat: int) -> int:
        return int(repeat == 2)

    data = study(conditions=CONDITION, seeds=1, repeats=3, people=600, environments=where)
    result = result_of(data)
    judged = [record for record in result.records if record.verdict is not None]
    assert all("2 runs of another environment are not compared" in (record.reason or "") for record in judged)
    assert {flip.runs for flip in result.flips} == {2}, "identical runs are those of one environment"
    assert any("2 environments" in note for note in result.notes)
