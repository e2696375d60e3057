"""A table small enough to be judged by hand, and every way in which runs can be too few or too equal."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from scipy import stats

from equipoise.audits.evidence import EvidenceReason, EvidenceRecord, EvidenceResult, evidence
from equipoise.results import record_as_json

Judge = Callable[..., EvidenceResult]

# base: mean 0.14, deviations -4 -2 0 2 4 (x 0.01): sum of squares 40, variance 10, STDEV sqrt(10) x 0.01 = 0.0316.
BASE = [0.10, 0.12, 0.14, 0.16, 0.18]
TABLE = {
    "base": {"DP": BASE},
    # The same spread around 0.05, and no run reaches any of base: U = 0.
    "apart": {"DP": [0.01, 0.03, 0.05, 0.07, 0.09]},
    # base moved up by 0.01: its runs beat 1, 2, 3, 4 and 5 runs of base, so U = 15 of 25.
    "moved": {"DP": [0.11, 0.13, 0.15, 0.17, 0.19]},
    # Three runs, all below base.
    "few": {"DP": [0.01, 0.02, 0.06]},
}


def only(result: EvidenceResult, technique: str, metric: str = "DP") -> EvidenceRecord:
    [record] = result.find(technique=technique, metric=metric)
    return record


def test_what_runs_are_by_themselves(judge: Judge) -> None:
    base = only(judge(TABLE), "base")
    assert (base.runs, base.baseline, base.baseline_runs, base.verdict, base.p) == (5, None, None, None, None)
    assert base.mean == pytest.approx(0.14)
    assert base.stdev == pytest.approx(math.sqrt(10) / 100)
    assert (base.min, base.max) == (0.10, 0.18)
    assert base.maxdiff == pytest.approx(0.08)


def test_runs_that_never_meet(judge: Judge) -> None:
    apart = only(judge(TABLE, correction="none"), "apart")
    # One of the C(10, 5) = 252 arrangements is as extreme on each side.
    assert apart.p == pytest.approx(2 / 252)
    # (0.05 - 0.14) / 0.0316
    assert apart.d == pytest.approx(-9 / math.sqrt(10))
    assert (apart.band, apart.overlap, apart.prob_single_run_misleads, apart.verdict) == ("huge", False, 0.0, "lower")
    # Divided by their means, deviations from the median are 0.8 0.4 0 0.4 0.8 (mean 0.48) and 2/7 1/7 0 1/7 2/7 (6/35).
    # Between: 2 x 5 x ((0.48 - 6/35) / 2)². Within: 0.448 + 0.448 x (5/14)². W = 8 x between / within, F(1, 8).
    between, within = 10 * ((0.48 - 6 / 35) / 2) ** 2, 0.448 * (1 + (5 / 14) ** 2)
    assert apart.levene_p == pytest.approx(stats.f.sf(8 * between / within, 1, 8))


def test_runs_that_mix(judge: Judge) -> None:
    moved = only(judge(TABLE, correction="none"), "moved")
    assert moved.overlap is True
    # Its mean is higher, and 10 of the 25 couples of runs point the other way.
    assert moved.prob_single_run_misleads == pytest.approx(10 / 25)
    # 87 of the 252 arrangements have U of at most 10.
    assert moved.p == pytest.approx(2 * 87 / 252)
    assert moved.d == pytest.approx(1 / math.sqrt(10))
    assert (moved.band, moved.verdict) == ("small", "none")
    assert "does not prove that there is none" in str(moved.reason)


def test_three_tests_are_corrected_together(judge: Judge) -> None:
    result = judge(TABLE, test="mann-whitney")
    # few: 2 / C(8, 3) = 2 / 56. In rising order: 2/252, 2/56, 174/252.
    assert only(result, "few").p == pytest.approx(2 / 56)
    assert only(result, "apart").p_adjusted == pytest.approx(3 * 2 / 252)
    assert only(result, "few").p_adjusted == pytest.approx(3 / 2 * 2 / 56)
    assert only(result, "moved").p_adjusted == pytest.approx(174 / 252)
    verdicts = {record.technique: record.verdict for record in result.records}
    # 3/2 x 2/56 = 0.0536 is above 0.05, though 2/56 itself is not: a larger difference could have been shown.
    assert verdicts == {"base": None, "apart": "lower", "few": "none", "moved": "none"}
    assert only(judge(TABLE, correction="none", test="mann-whitney"), "few").verdict == "lower"


def test_holm_can_make_runs_too_few_that_are_enough_without(judge: Judge) -> None:
    result = judge(TABLE, correction="holm", test="mann-whitney")
    assert only(result, "apart").verdict == "lower"  # 3 x 2/252
    # In the best case both others come first and the factor of few is 1, so it could have been decided.
    assert only(result, "few").verdict == "none"
    # Two tests of three against three: the first to pass needs 2 x 1/20.
    table = {"base": {"DP": [4, 5, 6]}, "a": {"DP": [1, 2, 3]}, "b": {"DP": [1, 2, 3]}}
    two = only(judge(table, correction="holm", alternative="observed", test="mann-whitney"), "a")
    assert two.verdict == "undecided"
    assert "0.1 after the correction (Holm), above 0.05" in str(two.reason)
    assert only(judge(table, correction="bh", alternative="observed"), "a").verdict == "lower"


def test_the_papers_test_is_one_sided_in_the_observed_direction(judge: Judge) -> None:
    result = judge(TABLE, alternative="observed", correction="none", test="mann-whitney")
    assert only(result, "apart").p == pytest.approx(1 / 252)
    assert only(result, "moved").p == pytest.approx(87 / 252)
    assert any("the error rate of one test is 10%, not 5%" in note for note in result.notes)
    assert {record.error_rate for record in result.records if record.verdict} == {0.1}


def test_three_against_three_is_undecided_and_says_how_many_would_do(judge: Judge) -> None:
    table = {"base": {"DP": [0.5, 0.6, 0.7]}, "t": {"DP": [0.1, 0.2, 0.3]}}
    record = only(judge(table), "t")
    assert (record.p, record.verdict) == (pytest.approx(0.1), "undecided")
    assert str(record.reason).startswith(
        "inconclusive with 3 runs against 3: the smallest p that is possible with so few is 0.1, above 0.05; "
        "4 runs of each could decide"
    )
    assert only(judge(table, threshold=0.1), "t").verdict == "lower"


def test_a_threshold_that_is_just_reached_is_reached(judge: Judge) -> None:
    table = {"base": {"DP": [0.5, 0.6, 0.7]}, "t": {"DP": [0.1, 0.2, 0.3]}}
    assert only(judge(table, alternative="observed"), "t").verdict == "lower"


def test_one_run_has_no_spread_and_decides_nothing(judge: Judge) -> None:
    record = only(judge({"base": {"DP": [0.5, 0.6, 0.7]}, "t": {"DP": [0.1]}}), "t")
    assert record.verdict == "undecided"
    assert all(math.isnan(value) for value in (record.stdev, record.d or 0.0, record.levene_p or 0.0))
    assert record.band is None
    assert "one run of 't' has no spread, so STDEV, d and Levene's test are undefined" in str(record.reason)
    both = only(judge({"base": {"DP": [0.5]}, "t": {"DP": [0.1]}}), "t")
    assert both.verdict == "undecided"
    assert math.isnan(both.p or 0.0)
    assert "the test needs two runs on each side" in str(both.reason)
    assert only(judge({"base": {"DP": [0.5]}, "t": {"DP": [0.1]}}, test="mann-whitney"), "t").p == 1


def test_unequal_numbers_of_runs_are_told(judge: Judge) -> None:
    record = only(judge({"base": {"DP": BASE}, "t": {"DP": [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07]}}), "t")
    assert (record.runs, record.baseline_runs, record.verdict) == (7, 5, "lower")
    assert "7 runs against 5" in str(record.reason)


def test_a_constant_baseline_is_told(judge: Judge) -> None:
    # With 0.1 three times a sum divided by three is not 0.1: the mean and the STDEV must not show that rounding.
    record = only(judge({"base": {"DP": [0.1] * 6}, "t": {"DP": [0.2, 0.3, 0.4, 0.5, 0.6, 0.7]}}), "t")
    assert record.verdict == "higher"
    assert record.d == pytest.approx((0.45 - 0.1) / math.sqrt(0.035 / 2))
    assert record.levene_p is not None
    assert not math.isnan(record.levene_p)
    assert "all 6 runs of 'base' gave the same value" in str(record.reason)
    base = only(judge({"base": {"DP": [0.1] * 3}, "t": {"DP": [0.2] * 3}}), "base")
    assert (base.mean, base.stdev, base.maxdiff) == (0.1, 0.0, 0.0)


def test_two_constants_that_differ_have_no_effect_size(judge: Judge) -> None:
    record = only(judge({"base": {"DP": [0.1] * 6}, "t": {"DP": [0.2] * 6}}), "t")
    assert record.verdict == "higher"
    assert math.isnan(record.d or 0.0)
    assert math.isnan(record.levene_p or 0.0)
    assert record.band is None
    assert "with no spread on either side d is undefined, the runs are one run repeated" in str(record.reason)


def test_two_constants_that_agree_show_no_difference(judge: Judge) -> None:
    record = only(judge({"base": {"DP": [0.1] * 6}, "t": {"DP": [0.1] * 6}}), "t")
    assert (record.verdict, record.p, record.d, record.band, record.overlap) == ("none", 1.0, 0.0, "negligible", True)
    assert math.isnan(record.prob_single_run_misleads or 0.0)
    assert "the means are equal, so one run of each cannot point the other way" in str(record.reason)


@pytest.mark.parametrize(
    "values", [[-0.3, 0.1, 0.2, 0.0, 0.0, 0.0], [0.0] * 6, [-1.0, 1.0, -0.5, 0.6, 0.2, -0.2]], ids=str
)
def test_a_mean_near_zero_has_no_relative_spread(judge: Judge, values: list[float]) -> None:
    record = only(judge({"base": {"DP": values}, "t": {"DP": [5, 6, 7, 8, 9, 10]}}), "t")
    assert record.verdict == "higher"
    assert math.isnan(record.levene_p or 0.0)
    assert "the mean of 'base' is 0 or too near to it" in str(record.reason)


def test_values_of_one_sign_always_have_a_relative_spread(judge: Judge) -> None:
    record = only(judge({"base": {"DP": [0, 0, 0, 0, 0, 1]}, "t": {"DP": [-5, -6, -7, -8, -9, -10]}}), "t")
    assert record.levene_p is not None
    assert not math.isnan(record.levene_p)


def test_means_and_ranks_that_disagree_decide_nothing(judge: Judge) -> None:
    # Nine runs are below all of base, but one lifts the mean above it.
    base = [1 + place / 10 for place in range(10)]
    table = {"base": {"DP": base}, "t": {"DP": [*(place / 10 for place in range(9)), 100.0]}}
    record = only(judge(table, test="mann-whitney"), "t")
    assert (record.p or 1) < 0.05
    assert record.verdict == "undecided"
    assert "but the means point the other way" in str(record.reason)
    assert (record.prob_single_run_misleads or 0) > 0.5


def test_a_value_that_is_missing_is_dropped_and_told(judge: Judge) -> None:
    result = judge({"base": {"DP": BASE}, "t": {"DP": [None, 0.01, math.nan, 0.02, 0.03]}})
    assert only(result, "t").runs == 3
    assert "2 of 10 rows were dropped: they have no value." in result.notes


def test_a_technique_whose_every_value_is_missing_is_undecided(judge: Judge) -> None:
    result = judge({"base": {"DP": BASE, "DI": [None] * 5}, "t": {"DP": [None] * 5, "DI": BASE}})
    for metric, who in (("DP", "t"), ("DI", "base")):
        record = only(result, "t", metric)
        assert record.verdict == "undecided"
        assert str(record.reason).startswith(f"no run of {who!r} has a value")
        assert record.overlap is None


def test_pairs_are_tested_by_their_differences(judge: Judge) -> None:
    # Every seed moves down by 0.01 to 0.06, far less than seeds differ: only pairs can show it.
    base = [0.1, 0.5, 0.9, 0.3, 0.7, 0.2]
    moved = [value - 0.01 * (index + 1) for index, value in enumerate(base)]
    table = {"base": {"DP": base}, "t": {"DP": moved}}
    assert only(judge(table), "t").verdict == "none"
    record = only(judge(table, pair="seed"), "t")
    # All six differences have one sign: 2 of the 2^6 ways.
    assert (record.test, record.p, record.verdict) == ("sign-flip", pytest.approx(2 / 64), "lower")
    ranks = only(judge(table, pair="seed", test="wilcoxon"), "t")
    assert (ranks.test, ranks.p, ranks.verdict) == ("wilcoxon", pytest.approx(2 / 64), "lower")
    assert "6 pairs" in str(record.reason)
    assert "paired by seed" in record.scope


def test_five_pairs_cannot_decide(judge: Judge) -> None:
    table = {"base": {"DP": [0.5, 0.6, 0.7, 0.8, 0.9]}, "t": {"DP": [0.1, 0.2, 0.3, 0.41, 0.52]}}
    reason = str(only(judge(table, pair="seed"), "t").reason)
    assert "inconclusive with 5 pairs: the smallest p that is possible with so few is 0.062" in reason
    assert "6 pairs could decide" in reason


def test_runs_without_a_partner_are_told(judge: Judge) -> None:
    table: dict[str, Any] = {"base": {"DP": [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1]}, "t": {"DP": [0.1] * 6}}
    reason = str(only(judge(table, pair="seed"), "t").reason)
    assert "1 run without a partner of the same seed is not tested" in reason


def test_brunner_munzel_judges_too(judge: Judge) -> None:
    record = only(judge(TABLE, test="brunner-munzel", correction="none"), "moved")
    assert record.test == "brunner-munzel"
    assert record.p == pytest.approx(stats.brunnermunzel(TABLE["moved"]["DP"], BASE).pvalue)
    apart = only(judge(TABLE, test="brunner-munzel", correction="none"), "apart")
    assert (apart.p, apart.verdict) == (pytest.approx(2 / 252), "lower")
    one = only(judge({"base": {"DP": [1.0] * 99}, "t": {"DP": [2.0]}}, test="brunner-munzel"), "t")
    assert (one.verdict, math.isnan(one.p or 0.0)) == ("undecided", True)


def test_pairs_that_never_move_show_no_difference(judge: Judge) -> None:
    table = {"base": {"DP": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]}, "t": {"DP": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]}}
    record = only(judge(table, pair="seed"), "t")
    assert (record.p, record.verdict) == (1.0, "none")


def test_runs_that_share_no_seed_cannot_be_paired(runs: Callable[..., dict[str, list[Any]]]) -> None:
    rows = runs({"base": {"DP": BASE}, "t": {"DP": BASE}})
    rows["seed"] = list(range(10))
    names = {name: name for name in ("technique", "metric", "run", "value")}
    [_, record] = evidence(rows, **names, baseline="base", pair="seed").records
    assert record.verdict == "undecided"
    assert str(record.reason).startswith("no run of 't' has a partner of the same seed")


def test_where_no_number_of_runs_is_known_to_do_none_is_named(judge: Judge) -> None:
    # With Holm over two tests of one run each, twice a p of 1 is cut at 1: how many runs would do is not said.
    table = {"base": {"DP": [0.5]}, "a": {"DP": [0.1]}, "b": {"DP": [0.2]}}
    reason = str(only(judge(table, correction="holm", test="mann-whitney"), "a").reason)
    assert "above 0.05" in reason
    assert "could decide" not in reason
    # No number up to 64 reaches a threshold this small.
    assert "could decide" not in str(only(judge(table, threshold=1e-60, test="mann-whitney"), "a").reason)


def test_runs_that_all_lie_equally_far_from_their_median_have_no_levene(judge: Judge) -> None:
    record = only(judge({"base": {"DP": [1, 1, 3, 3]}, "t": {"DP": [5, 5, 7, 7]}}), "t")
    assert math.isnan(record.levene_p or 0.0)
    assert "within each side all runs lie equally far from the median" in str(record.reason)


def test_equal_means_with_ranks_that_differ_decide_nothing(judge: Judge) -> None:
    # Eleven runs just above base and one far below it: both means are 0.
    table = {"base": {"DP": [0.0] * 12}, "t": {"DP": [1.0] * 11 + [-11.0]}}
    record = only(judge(table, test="mann-whitney"), "t")
    assert (record.p or 1) < 0.05
    assert record.verdict == "undecided"
    assert "but the means are equal" in str(record.reason)
    # One-sided, the ranks say which side is tested where the means do not.
    observed = only(judge(table, alternative="observed", test="mann-whitney"), "t")
    assert observed.p == pytest.approx((record.p or 1) / 2, rel=0.05)
    # A test of means finds nothing where they are equal.
    assert (only(judge(table), "t").p, only(judge(table), "t").verdict) == (1.0, "none")


def test_equal_means_have_a_one_sided_p_of_about_one_half_not_of_one(judge: Judge) -> None:
    table = {"base": {"DP": [1.0, 2.0, 3.0, 4.0, 5.0]}, "t": {"DP": [1.1, 1.9, 3.0, 4.1, 4.9]}}
    p = only(judge(table, alternative="observed", test="mann-whitney"), "t").p
    oracle = stats.mannwhitneyu(table["t"]["DP"], table["base"]["DP"], alternative="greater").pvalue
    assert p == pytest.approx(oracle, abs=0.05)
    assert 0.45 < (p or 1) < 0.65


THREE = {"base": {"DP": [0.5, 0.6, 0.7]}, "t": {"DP": [0.1, 0.2, 0.3]}}


@pytest.mark.parametrize(
    ("table", "options", "codes"),
    [
        ({"base": {"DP": BASE}, "t": {"DP": TABLE["apart"]["DP"]}}, {}, {EvidenceReason.SIGNIFICANT}),
        ({"base": {"DP": BASE}, "t": {"DP": TABLE["moved"]["DP"]}}, {}, {EvidenceReason.NOT_SIGNIFICANT}),
        (THREE, {}, {EvidenceReason.FEW_RUNS, EvidenceReason.MORE_RUNS_COULD_DECIDE}),
        ({"base": {"DP": BASE}, "t": {"DP": [1.0]}}, {}, {EvidenceReason.ONE_RUN, EvidenceReason.NO_SPREAD_OF_ONE_RUN}),
        ({"base": {"DP": BASE}, "t": {"DP": [2.0] * 5}}, {}, {EvidenceReason.SAME_VALUE}),
        ({"base": {"DP": [1.0] * 5}, "t": {"DP": [2.0] * 5}}, {"test": "mann-whitney"}, {
            EvidenceReason.SIGNIFICANT, EvidenceReason.SAME_VALUE, EvidenceReason.COPIES_WITHOUT_D}),
        ({"base": {"DP": BASE}, "t": {"DP": [None] * 5}}, {}, {EvidenceReason.NO_RUNS}),
        ({"base": {"DP": BASE}, "t": {"DP": BASE[:4]}}, {"pair": "seed"}, {
            EvidenceReason.FEW_RUNS, EvidenceReason.UNPAIRED_RUNS}),
    ],
)  # fmt: skip
def test_a_program_reads_the_reason_by_its_codes(
    judge: Judge, table: dict[str, Any], options: dict[str, Any], codes: set[EvidenceReason]
) -> None:
    record = only(judge(table, **options), "t")
    assert record.reason is not None
    assert {code for code in codes if not record.reason.has(code)} == set()
    assert record_as_json(record)["reason_code"] == record.reason.code.value
