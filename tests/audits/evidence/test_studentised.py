"""The usual test of evidence: by permutation and by t, with an interval at the level that decides, and equivalence."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from equipoise.audits.evidence import EvidenceRecord, EvidenceResult, parse_margins
from equipoise.stats import deciding_level, permutation_test

Judge = Callable[..., EvidenceResult]


def only(result: EvidenceResult, technique: str, metric: str = "DP") -> EvidenceRecord:
    [record] = result.find(technique=technique, metric=metric)
    return record


def normal(seed: int, size: int, mean: float = 0.0, spread: float = 1.0) -> list[float]:
    return [float(value) for value in np.random.default_rng(seed).normal(mean, spread, size)]


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(2, 6))
def test_every_arrangement_is_gone_through_where_they_are_few(seed: int, n: int, m: int) -> None:
    generator = np.random.default_rng(seed)
    x, y = generator.normal(0.5, 2.0, n), generator.normal(0.0, 1.0, m)
    pooled = np.concatenate([x, y])
    sizes = []
    for chosen in itertools.combinations(range(n + m), n):
        rest = np.delete(pooled, chosen)
        sizes.append(abs(stats.ttest_ind(pooled[list(chosen)], rest, equal_var=False).statistic))
    observed = abs(stats.ttest_ind(x, y, equal_var=False).statistic)
    found = permutation_test([x], [y])
    assert found.p[0] == pytest.approx(np.mean(np.array(sizes) >= observed * (1 - 1e-9)))
    assert (found.draws[0], bool(found.exact[0])) == (math.comb(n + m, n), True)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 8))
def test_every_change_of_sign_is_gone_through(seed: int, n: int) -> None:
    difference = np.random.default_rng(seed).normal(0.5, 1.0, n)
    sums = [abs(sum(s * d for s, d in zip(signs, difference, strict=True)))
            for signs in itertools.product((1, -1), repeat=n)]  # fmt: skip
    assert permutation_test([difference]).p[0] == pytest.approx(np.mean(np.array(sums) >= abs(difference.sum()) - 1e-9))


def test_many_arrangements_are_drawn_and_agree_with_all_of_them() -> None:
    # 9 against 9 has 48,620 arrangements, too many to go through at once; the sum of nine says it all.
    x, y = np.array(normal(1, 9, 1.0)), np.array(normal(2, 9))
    pooled = np.concatenate([x, y])
    sums = np.array([pooled[list(chosen)].sum() for chosen in itertools.combinations(range(18), 9)])
    exact = np.mean(np.abs(sums - pooled.sum() / 2) >= abs(x.sum() - pooled.sum() / 2) - 1e-9)
    found = permutation_test([x], [y], tests=2_000)  # so many tests that 20 extreme draws are waited for
    assert not found.exact[0]
    assert found.p[0] == pytest.approx(exact, rel=4 / math.sqrt(20))
    assert found.draws[0] < 800_000


def test_samples_of_the_same_sizes_get_the_same_p_in_any_company() -> None:
    x, y = [normal(seed, 16, 0.4) for seed in range(6)], [normal(100 + seed, 16) for seed in range(6)]
    together, apart = permutation_test(x, y), [permutation_test([a], [b], tests=6) for a, b in zip(x, y, strict=True)]
    assert together.p.tolist() == [float(one.p[0]) for one in apart]
    assert permutation_test(x, y, seed=1).p.tolist() != together.p.tolist()


def test_no_floor_decides_one_finding_among_many_tests(judge: Judge) -> None:
    # One real effect among 120 tests of nothing: its p has to be below 0.05 / 120, and by Holm too.
    table = {f"t{place}": {"DP": normal(place, 16)} for place in range(120)}
    table["base"] = {"DP": normal(999, 16)}
    table["real"] = {"DP": normal(1_000, 16, 8.0)}
    for correction in ("bh", "holm"):
        record = only(judge(table, correction=correction), "real")
        assert record.verdict == "higher"
        assert record.draws == 20 * 121 / 0.05
        assert record.limited_by_draws is False


def test_a_cap_on_the_work_is_told(monkeypatch: pytest.MonkeyPatch, judge: Judge) -> None:
    monkeypatch.setattr("equipoise.stats._two_samples.WORK", 1_000)
    table = {"base": {"DP": normal(0, 16)}, **{f"t{place}": {"DP": normal(place, 16, 9.0)} for place in (1, 2, 3)}}
    record = only(judge(table), "t1")
    assert record.limited_by_draws is True
    assert "p is limited by" in str(record.reason)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(4, 9), st.integers(4, 9), st.floats(-3, 3), st.sampled_from(["bh", "holm"]))
def test_a_verdict_holds_by_its_test_and_by_its_interval(
    seed: int, n: int, m: int, effect: float, correction: str
) -> None:
    from equipoise import evidence

    generator = np.random.default_rng(seed)
    samples = {"base": generator.normal(0, 1, m), "a": generator.normal(effect, 2, n), "b": generator.normal(0, 1, n)}
    rows = [(name, "DP", run, float(value)) for name, values in samples.items() for run, value in enumerate(values)]
    columns: dict[str, Any] = dict(zip(("technique", "metric", "run", "value"), zip(*rows, strict=True), strict=True))
    result = evidence({name: list(values) for name, values in columns.items()}, baseline="base", correction=correction)
    p = [record.p or math.nan for record in result.records if record.verdict]
    alpha = deciding_level(p, correction)
    for record in result.records[1:]:
        assert record.level == pytest.approx(1 - alpha)
        low, high = stats.ttest_ind(samples[record.technique], samples["base"], equal_var=False).confidence_interval(
            1 - alpha
        )
        assert (record.low, record.high) == (pytest.approx(low), pytest.approx(high))
        apart = low > 0 or high < 0
        assert (record.verdict in ("lower", "higher")) == ((record.p_adjusted or 0) <= 0.05)
        if record.verdict in ("lower", "higher"):
            assert apart
            assert (record.verdict == "higher") == (low > 0)


def test_pairs_have_students_interval(judge: Judge) -> None:
    base, moved = (
        normal(3, 8),
        [value + shift for value, shift in zip(normal(3, 8), normal(4, 8, 1.0, 0.3), strict=True)],
    )
    record = only(judge({"base": {"DP": base}, "t": {"DP": moved}}, pair="seed"), "t")
    wanted = stats.ttest_rel(moved, base).confidence_interval(0.95)
    assert (record.low, record.high) == (pytest.approx(wanted.low), pytest.approx(wanted.high))
    assert record.level == pytest.approx(0.95)
    assert (record.test, record.verdict) == ("sign-flip", "higher")


def test_a_side_chosen_from_the_runs_has_twice_the_error_rate(judge: Judge) -> None:
    table = {"base": {"DP": normal(5, 6)}, "t": {"DP": normal(6, 6, 1.0)}}
    two, one = (only(judge(table, alternative=side), "t") for side in ("two-sided", "observed"))
    assert (two.error_rate, one.error_rate) == (0.05, 0.10)
    assert one.p == pytest.approx((two.p or 0) / 2)
    assert (two.level, one.level) == (pytest.approx(0.95), pytest.approx(0.90))


def test_a_difference_may_be_significant_and_within_its_margin(judge: Judge) -> None:
    base = [0.300, 0.301, 0.302, 0.299, 0.298, 0.300, 0.301, 0.299]
    table = {
        "base": {"DP": base},
        "small": {"DP": [value + 0.005 for value in base]},
        "same": {"DP": base[::-1]},
        "far": {"DP": [value + 0.1 for value in base]},
        "wild": {"DP": [value + 0.1 * (-1) ** index for index, value in enumerate(base)]},
    }
    result = judge(table, margin=0.02)
    told = {name: (only(result, name).verdict, only(result, name).equivalent) for name in table if name != "base"}
    assert told == {
        "small": ("higher", True), "same": ("none", True), "far": ("higher", False), "wild": ("none", False),
    }  # fmt: skip
    small = only(result, "small")
    x, y = np.array(table["small"]["DP"]), np.array(base)
    error = math.sqrt(x.var(ddof=1) / 8 + y.var(ddof=1) / 8)
    gap = x.mean() - y.mean()
    by_hand = max(stats.t.sf((gap + 0.02) / error, 14), stats.t.sf((0.02 - gap) / error, 14))
    assert (small.margin, small.equivalence_p) == (0.02, pytest.approx(by_hand))
    assert any("Equivalence is confirmed in 2 of 4 comparisons with a margin" in sentence for sentence in result.words)
    assert any("1 of them significant nevertheless" in sentence for sentence in result.words)
    assert any("fixed before results" in note for note in result.notes)
    options: Any = result.provenance["options"]
    assert options["margin"] == {"DP": 0.02}


def test_without_a_margin_nothing_is_said_of_equivalence(judge: Judge) -> None:
    result = judge({"base": {"DP": normal(1, 6)}, "t": {"DP": normal(2, 6)}})
    record = only(result, "t")
    assert (record.margin, record.equivalence_p, record.equivalent) == (None, None, None)
    assert not any("margin" in sentence for sentence in (*result.words, *result.notes))


def test_metrics_may_have_margins_of_their_own(judge: Judge) -> None:
    table = {name: {"DP": normal(index, 6), "DI": normal(9 + index, 6)} for index, name in enumerate(("base", "t"))}
    result = judge(table, margin={"DI": 5.0})
    assert only(result, "t").margin is None
    assert (only(result, "t", "DI").margin, only(result, "t", "DI").equivalent) == (5.0, True)


def test_margins_are_read_as_they_are_typed() -> None:
    assert parse_margins([]) is None
    assert parse_margins(["0.02"]) == 0.02
    assert parse_margins(["DP=0.02", "a=b=1e-3"]) == {"DP": 0.02, "a=b": 0.001}
