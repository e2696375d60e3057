"""Verdicts of a study: one test over seeds and people, one correction over the report, and how far they reach."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from equipoise.reports import page
from equipoise.stats import LimitedBy, banerjee_p, benjamini_hochberg, people_variance
from equipoise.studies import StudyResult
from equipoise.studies.analysis import RERUNS, SEEDS, TEST, Undecided, resample_people
from equipoise.studies.findings import (
    ClaimKind,
    StudyRecord,
    measure_study,
    result_of,
)
from helpers.cases.study import ARMS, interpolation, study

CONDITION = [interpolation(0)]


def judged_of(result: StudyResult) -> list[StudyRecord]:
    return [record for record in result.records if record.verdict is not None]


def test_one_correction_goes_over_every_comparison_of_the_report() -> None:
    judged = judged_of(result_of(study(seeds=6, repeats=1, people=800)))
    assert len({record.attribute for record in judged}) > 2, "everyone and both attributes, in one family"
    expected = benjamini_hochberg([math.nan if record.p is None else record.p for record in judged])
    assert [record.p_adjusted for record in judged] == pytest.approx(expected.tolist(), nan_ok=True)
    for record in judged:
        assert (record.p or 0) >= max(record.p_runs or 0, record.p_people or 0) * (1 - 1e-9), "never more significant"
        if record.verdict in ("lower", "higher"):
            assert (record.p_adjusted or 0) <= 0.05


def test_p_is_the_test_of_paired_seeds_and_of_people_who_all_seeds_share() -> None:
    """The slow way: seed by seed from the trials' own numbers, and people drawn for every seed of the study."""
    data = study(arms=ARMS[:2], conditions=CONDITION, seeds=5, repeats=2, people=700)
    found = measure_study(data)
    result = result_of(data)
    draws = resample_people(data, found.cells, found.quantities)
    treated, base = found.cells[1], found.cells[0]
    for index, quantity in enumerate(found.quantities):
        [record] = result.find(treatment="reweighting", measure=quantity.measure, attribute=quantity.attribute)
        sides = [
            [found.values[TEST][cell.indices[cell.seeds == seed], index].mean() for seed in range(5)]
            for cell in (treated, base)
        ]
        differences = np.array(sides[0]) - np.array(sides[1])
        people = float(draws.variance_of_change(1, 0, 5)[index])
        expected = banerjee_p(differences.mean(), [differences.var(ddof=1) / 5, people], [4.0, math.inf])
        assert record.change == pytest.approx(differences.mean())
        assert record.p == pytest.approx(float(expected), rel=1e-6)
        assert record.p_runs == pytest.approx(float(stats.ttest_rel(*sides).pvalue), rel=1e-6)
        assert record.pairs == 5
        assert record.p_rank == pytest.approx(float(stats.wilcoxon(differences).pvalue), rel=1e-6)


@settings(max_examples=15, deadline=None)
@given(st.integers(3, 12), st.integers(0, 10_000), st.sampled_from([200, 600, 2_000]))
def test_a_verdict_stands_exactly_where_its_interval_leaves_out_0(seeds: int, seed: int, people: int) -> None:
    judged = judged_of(result_of(study(conditions=CONDITION, seeds=seeds, repeats=1, people=people, seed=seed)))
    tested = [record for record in judged if record.p is not None and not math.isnan(record.p)]
    assert tested
    assert len({record.level for record in tested}) == 1
    for record in tested:
        assert record.change_low is not None
        assert record.change_high is not None
        outside = record.change_low > 0 or record.change_high < 0
        assert outside == (record.verdict in ("lower", "higher"))
        if outside:
            assert record.verdict == ("higher" if record.change_low > 0 else "lower")


def test_people_of_single_seeds_are_taken_out_as_by_drawing_every_seed() -> None:
    """Accuracy is a mean over people, so its variance over people can be computed person by person."""
    data = study(arms=ARMS[:2], conditions=CONDITION, seeds=6, repeats=1, people=2_000)
    found = measure_study(data)
    assert data.predictions is not None
    assert data.rows is not None
    right = [data.predictions(cell.indices.tolist()) == data.rows.target for cell in found.cells]
    effects = right[1].astype(float) - right[0].astype(float)  # [seed, person]
    of_mean = (
        sum(
            effects.mean(axis=0)[data.rows.group == group].var() * (data.rows.group == group).sum()
            for group in np.unique(data.rows.group)
        )
        / len(data.rows) ** 2
    )
    of_single = np.mean([
        sum(effect[data.rows.group == group].var() * (data.rows.group == group).sum()
            for group in np.unique(data.rows.group)) / len(data.rows) ** 2
        for effect in effects
    ])  # fmt: skip
    expected = float(people_variance(of_mean, of_single, 6))
    place = found.quantity_index("accuracy")
    drawn = [
        float(resample_people(data, found.cells, found.quantities, seed=seed).variance_of_change(1, 0, 6)[place])
        for seed in range(8)
    ]
    assert np.mean(drawn) == pytest.approx(expected, rel=0.12)
    assert expected < of_mean


def test_seeds_are_paired_from_three_on_and_few_are_marked() -> None:
    for seeds, few in ((3, True), (4, True), (5, False)):
        judged = judged_of(result_of(study(conditions=CONDITION, seeds=seeds, repeats=2, people=600)))
        assert {record.test for record in judged} == {"paired seeds"}
        assert {record.unit for record in judged} == {SEEDS}
        assert {record.few_seeds for record in judged} == {few}
        assert all("paired" in record.scope and "other people" in record.scope for record in judged)
        assert any("few seeds" in str(record.reason) for record in judged) == few


def test_two_shared_seeds_decide_nothing() -> None:
    judged = judged_of(result_of(study(conditions=CONDITION, seeds=2, repeats=3, people=600)))
    assert {(record.verdict, record.undecided) for record in judged} == {("undecided", Undecided.TOO_FEW)}
    assert all(record.p is None or math.isnan(record.p) for record in judged)


def test_sides_without_a_seed_in_common_are_compared_by_their_own_spreads() -> None:
    data = study(arms=ARMS[:2], conditions=CONDITION, seeds=6, repeats=1, people=600)
    moved = tuple(
        replace(trial, seed=trial.seed + 100) if trial.treatment == "untreated" else trial for trial in data.trials
    )
    result = result_of(replace(data, trials=moved))
    found = measure_study(data)
    place = found.quantity_index("accuracy")
    sides = [found.values[TEST][cell.indices, place] for cell in (found.cells[1], found.cells[0])]
    [record] = result.find(treatment="reweighting", measure="accuracy")
    assert record.test == "unpaired seeds"
    assert "without pairing" in record.scope
    assert (record.p_runs or 0) >= stats.ttest_ind(*sides, equal_var=False).pvalue
    slow = banerjee_p(
        sides[0].mean() - sides[1].mean(), [side.var(ddof=1) / 6 for side in sides], [5.0, 5.0]
    )  # fmt: skip
    assert record.p_runs == pytest.approx(float(slow), rel=1e-6)


def test_one_seed_is_judged_by_its_identical_runs_and_the_scope_says_so() -> None:
    judged = judged_of(result_of(study(conditions=CONDITION, seeds=1, repeats=4, people=600)))
    assert {record.unit for record in judged} == {RERUNS}
    assert {record.test for record in judged} == {"identical runs"}
    assert all("identical runs of one seed (4 of them)" in record.scope for record in judged)
    assert all("nothing about other seeds" in record.scope for record in judged)


def test_an_undecided_verdict_names_what_limits_it_for_the_effect_of_the_plan() -> None:
    wide = [replace(arm, seeds=0.06) for arm in ARMS]
    by_seeds = judged_of(result_of(study(arms=wide, conditions=CONDITION, seeds=5, repeats=1, people=3_000)))
    limited = [record for record in by_seeds if record.undecided is Undecided.POWER]
    assert any(record.limited_by is LimitedBy.SEEDS for record in limited)
    for record in limited:
        assert record.verdict == "undecided"
        assert record.smallest_effect == 0.02
        assert (record.power or 1.0) < 0.8
        assert "limited by" in str(record.reason)
        if record.limited_by is LimitedBy.SEEDS:
            assert record.runs_needed is None or record.runs_needed > 5
    alike = [replace(ARMS[0], name=name, seeds=0.001, reruns=0.0) for name in ("untreated", "same")]
    by_people = judged_of(result_of(study(arms=alike, conditions=CONDITION, seeds=8, repeats=1, people=60)))
    assert any(record.limited_by is LimitedBy.PEOPLE for record in by_people)
    assert any("more seeds cannot detect" in str(record.reason) for record in by_people)


def test_a_larger_relevant_effect_decides_more() -> None:
    data = study(conditions=CONDITION, seeds=6, repeats=1, people=1_500)
    small, large = (judged_of(result_of(data, smallest_effect=effect)) for effect in (0.005, 0.2))
    assert sum(record.verdict == "undecided" for record in small) > sum(r.verdict == "undecided" for r in large)
    assert [one.p for one in small] == [other.p for other in large], "it moves no test"
    assert any(record.verdict == "none" and (record.power or 0) >= 0.8 for record in large)


def test_a_difference_that_other_people_could_turn_round_is_not_shown() -> None:
    # Hardly any spread between runs, and few people: every rerun says the same, other people need not.
    arms = [replace(arm, seeds=0.001, reruns=0.0) for arm in ARMS[:2]]
    data = study(arms=arms, conditions=CONDITION, seeds=10, repeats=1, people=400)
    with_people, without = result_of(data), result_of(data, people=False)
    turned = [
        (record, other)
        for record, other in zip(with_people.records, without.records, strict=True)
        if other.verdict in ("lower", "higher") and record.verdict in ("none", "undecided")
    ]
    assert turned
    assert any("other people could give the opposite" in str(one.reason) for one, _ in turned)
    assert all("nothing about other people" in r.scope for r in without.records if r.verdict is not None)


@pytest.mark.parametrize("fairness", [None, "worst_group"])
def test_what_was_not_tested_over_people_is_undecided_and_nobody_wins_by_it(fairness: str | None) -> None:
    data = study(arms=ARMS[:2], conditions=CONDITION, seeds=10, repeats=1, people=600)
    treated = np.array([trial.treatment != "untreated" for trial in data.trials])
    noise = np.random.default_rng(0).normal(0, 0.001, len(treated))

    def aucs(split: str, attribute: tuple[str, ...], performance: str) -> np.ndarray:
        assert performance == "auc"
        groups = len(data.layout.folding(attribute)[1])
        return np.repeat((0.6 + 0.3 * treated + noise)[:, None], 1 + groups, axis=1)

    result = result_of(replace(data, aucs=aucs), performance="auc", fairness=fairness)
    made_of_scores = ("auc", result.distance, *([result.fairness] if fairness else []))
    judged = [one for one in judged_of(result) if one.measure in made_of_scores]
    assert judged
    for one in judged:
        assert (one.verdict, one.people_untested) == ("undecided", True)
        assert one.undecided is Undecided.PEOPLE_UNTESTED
        assert str(one.reason).startswith("not tested over people")
        assert np.isnan([one.p, one.p_adjusted, one.change_low, one.change_high, one.prob_best]).all()  # type: ignore[arg-type]
        assert (one.p_runs or 0) < 0.01
    told = [one for one in judged_of(result) if one.measure == "accuracy"]
    assert not any(one.people_untested for one in told)
    assert not any(claim.kind in (ClaimKind.NEAREST, ClaimKind.AMONG) for claim in result.claims)
    assert "draws of seeds and people" not in str(result)
    assert any(note.startswith("Not tested over people, and so inconclusive: ") for note in result.notes)
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
    judged = judged_of(result)
    assert all("2 runs of another environment are not compared" in str(record.reason) for record in judged)
    assert {flip.runs for flip in result.flips} == {2}, "identical runs are those of one environment"
    assert any("2 environments" in note for note in result.notes)


def test_equivalence_is_a_field_of_its_own() -> None:
    arms = [replace(ARMS[0], name=name, seeds=0.002, reruns=0.0) for name in ("untreated", "same")]
    data = study(arms=arms, conditions=CONDITION, seeds=10, repeats=1, people=4_000)
    result = result_of(data, equivalence_margin=0.05)
    [record] = result.find(treatment="same", measure="accuracy")
    assert record.equivalent is True
    assert record.margin == 0.05
    assert record.equivalence_p is not None
    assert record.equivalence_p <= (record.p_equivalence_adjusted or 0) <= 0.05
    family = [one.equivalence_p for one in judged_of(result)]
    adjusted = benjamini_hochberg([math.nan if p is None else p for p in family])
    assert [one.p_equivalence_adjusted for one in judged_of(result)] == pytest.approx(adjusted.tolist(), nan_ok=True)
    [other] = result_of(data).find(treatment="same", measure="accuracy")
    assert (other.equivalent, other.margin, other.equivalence_p) == (None, None, None)
    assert other.p == record.p, "a margin changes no other test"


def test_a_change_may_be_significant_and_within_the_margin() -> None:
    data = study(arms=[ARMS[0], replace(ARMS[1], seeds=0.001)], conditions=CONDITION, seeds=12, repeats=1, people=4_000)
    result = result_of(data, equivalence_margin=0.3)
    both = [one for one in judged_of(result) if one.verdict in ("lower", "higher") and one.equivalent]
    assert both
