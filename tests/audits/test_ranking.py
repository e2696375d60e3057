"""An audit of a ranking: its numbers against a slow oracle, its tests where nothing differs, and bad input."""

from __future__ import annotations

import itertools
import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import equipoise
from equipoise import BadInput
from equipoise.audits.ranking import RankingResult, ranking
from equipoise.foundation import registry
from equipoise.results import Direction, Status
from equipoise.stats import (
    ClusterMeans,
    ComparisonSides,
    RowMeans,
)

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "ranking-1.json").read_text(encoding="utf-8"))


def slow_values(rows: list[dict[str, Any]], k: int) -> dict[tuple[str, str], float]:
    """Average over every order of tied rows, one by one: selection at k and exposure of each group."""
    queries = defaultdict(list)
    for row in rows:
        queries[row["query"]].append(row)
    of_group: dict[tuple[str, str], list[float]] = defaultdict(list)
    for query in queries.values():
        orders = [
            order for order in itertools.permutations(query)
            if all(first["score"] >= second["score"] for first, second in itertools.pairwise(order))
        ]  # fmt: skip
        sums: dict[tuple[str, str], float] = defaultdict(float)
        for order in orders:
            for rank, row in enumerate(order, start=1):
                sums["selection_at_k", row["group"]] += (rank <= k) / len(orders)
                sums["exposure", row["group"]] += 1 / math.log2(1 + rank) / len(orders)
        for group in {row["group"] for row in query}:
            people = sum(row["group"] == group for row in query)
            for measure in ("selection_at_k", "exposure"):
                of_group[measure, group].append(sums[measure, group] / people)
    return {key: sum(values) / len(values) for key, values in of_group.items()}


def columns_of(rows: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Turn rows into columns."""
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


ROWS = st.lists(
    st.fixed_dictionaries({
        "query": st.sampled_from(["q1", "q2", "q3"]),
        "group": st.sampled_from(["a", "b", "c"]),
        "score": st.integers(0, 3),
        "relevance": st.integers(0, 2),
    }),
    min_size=1,
    max_size=9,
).filter(lambda rows: max(sum(row["query"] == name for row in rows) for name in ("q1", "q2", "q3")) <= 6)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(rows=ROWS, k=st.integers(1, 4))
def test_values_agree_with_every_order_of_ties(rows: list[dict[str, Any]], k: int) -> None:
    """Ties share their ranks exactly."""
    table = columns_of(rows)
    result = ranking(table, score="score", query="query", top=k, sensitive_features="group", draws=0)
    expected = slow_values(rows, k)
    found = {
        (record.measure, str(record.group)): record.value for record in result.rates if "share" not in record.measure
    }
    assert set(found) == set(expected)
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, abs=1e-12), key


@settings(max_examples=30, deadline=None)
@given(rows=ROWS)
def test_merit_agrees_with_sums(rows: list[dict[str, Any]]) -> None:
    """Shares of exposure and merit, row by row, in one ranking."""
    rows = [{**row, "query": "q", "score": index} for index, row in enumerate(rows)]
    table = columns_of(rows)
    result = ranking(
        table, score="score", relevance="relevance", sensitive_features="group", draws=0, least_people=1, top=1
    )
    exposure = {place: 1 / math.log2(1 + len(rows) - place) for place in range(len(rows))}
    merit = sum(row["relevance"] for row in rows)
    for group in {row["group"] for row in rows}:
        own = [index for index, row in enumerate(rows) if row["group"] == group]
        share = sum(exposure[place] for place in own) / sum(exposure.values())
        [record] = result.find("exposure_share", group=group)
        assert record.value == pytest.approx(share)
        deserved = sum(rows[place]["relevance"] for place in own)
        [per_merit] = result.find("exposure_per_merit", group=group)
        [beyond] = result.find("exposure_beyond_merit", group=group, kind="value")
        if not merit:
            assert math.isnan(beyond.value)
            assert beyond.status == Status.UNDEFINED
            assert beyond.reason
            continue
        rate = sum(exposure.values()) / merit
        assert beyond.value == pytest.approx(
            sum(exposure[place] - rate * rows[place]["relevance"] for place in own) / len(own)
        )
        if deserved:
            assert per_merit.value == pytest.approx(share / (deserved / merit))
        else:
            assert math.isnan(per_merit.value)


def test_a_gap_is_the_largest_difference_and_a_ratio_the_smallest_share() -> None:
    """One ranking of three groups, by hand."""
    group = np.array(list("aabbcc"))
    result = ranking(score=[6, 5, 4, 3, 2, 1], sensitive_features={"g": group}, top=3, draws=0, least_people=1)
    [gap] = result.find("selection_at_k_difference")
    [ratio] = result.find("selection_at_k_ratio")
    assert (gap.value, gap.group, gap.against) == (1.0, "c", "a")
    assert ratio.value == 0.0
    assert {record.group: record.value for record in result.contrasts.find(measure="selection_at_k")} == {
        "a": pytest.approx(0.75), "b": pytest.approx(0.0), "c": pytest.approx(-0.75)
    }  # fmt: skip


def test_a_rank_is_a_score_turned_around() -> None:
    """The lowest rank comes first."""
    group = np.array(list("abab"))
    by_score = ranking(score=[4, 3, 2, 1], sensitive_features={"g": group}, top=1, draws=0)
    by_rank = ranking(rank=[1, 2, 3, 4], sensitive_features={"g": group}, top=1, draws=0)
    assert [record.value for record in by_score.rates] == [record.value for record in by_rank.rates]


def test_differences_are_taken_within_queries() -> None:
    """A group that is ranked in long queries only is not worse off for that."""
    table = {"query": ["q"] * 2 + ["r"] * 8, "score": list(range(10)), "g": list("ab") + list("aaaabbbb")}
    result = ranking(table, score="score", query="query", top=1, sensitive_features="g", draws=0, least_people=1)
    [contrast] = result.contrasts.find(measure="selection_at_k")
    # q: b is first, r: the last b is first; a is never.
    assert abs(contrast.value) == pytest.approx((1 + 0.25) / 2)


def example(shift: float = 0.0, *, rows: int = 600, queries: int = 0, seed: int = 0) -> dict[str, np.ndarray]:
    """Return people of three groups whose scores differ by a shift, in one ranking or in queries."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b", "c"], rows, p=[0.6, 0.3, 0.1])
    table = {"g": group, "score": rng.normal(size=rows) + shift * (group == "a")}
    table["relevance"] = rng.integers(0, 3, rows)
    if queries:
        table["query"] = rng.integers(0, queries, rows)
    return table


@pytest.mark.parametrize("queries", [0, 60])
def test_a_planted_difference_is_found_and_named(queries: int) -> None:
    """It is a finding with an interval that leaves out 0, a bound above 0, and a direction."""
    table = example(0.8, rows=1_500, queries=queries)
    result = ranking(
        table, score="score", query="query" if queries else None, relevance="relevance", sensitive_features="g",
        top=["10%"], equivalence_margin=0.4, gap_of_interest=0.05,
    )  # fmt: skip
    for measure in ("selection_at_k", "exposure"):
        [of_a] = result.contrasts.find(measure=measure, group="a")
        assert of_a.finding
        assert of_a.low is not None
        assert of_a.low > 0
    [gap] = result.find("exposure_difference")
    assert gap.finding
    assert gap.low is not None
    assert 0 < gap.low < gap.value
    assert gap.pair is not None
    assert gap.pair[1] == "a"
    better = {finding.group for finding in result.findings if finding.direction == Direction.BETTER}
    assert better == {"a"}
    assert result.power[0].detectable > 0
    assert any(record.equivalent for record in result.records)
    jsonschema.validate(json.loads(result.to_json()), SCHEMA)


def test_the_null_of_many_rows_has_the_moments_of_permutations() -> None:
    """Beyond 4,000 rows most sums have their normal limit: the spread of the statistics stays that of permutations."""
    rng = np.random.default_rng(5)
    numbers = np.stack([1 / np.log2(1 + np.arange(1.0, 6_001)), (np.arange(6_000) < 600).astype(float)], axis=1)
    codes = rng.permutation(np.repeat([0, 1, 2], [4_000, 1_700, 300]))
    means = RowMeans(numbers, codes, 3)
    sides = ComparisonSides.pairs(np.ones(3, dtype=bool))
    fast = means.null(sides, np.random.default_rng(1))(2_000)
    slow = np.stack([RowMeans(numbers, rng.permutation(codes), 3).differences(sides).statistic for _ in range(2_000)])
    assert fast.std(axis=0) == pytest.approx(slow.std(axis=0), rel=0.1)
    assert np.quantile(fast, 0.95, axis=0) == pytest.approx(np.quantile(slow, 0.95, axis=0), abs=0.25)


def test_a_changed_sign_gives_students_t() -> None:
    """The statistic of clusters is that of a one-sample t test."""
    rng = np.random.default_rng(2)
    sums = rng.normal(size=(12, 2, 1))
    means = ClusterMeans(sums, np.ones((12, 2)))
    sides = ComparisonSides.pairs(np.ones(2, dtype=bool))
    apart = sums[:, 0, 0] - sums[:, 1, 0]
    expected = apart.mean() / (apart.std(ddof=1) / math.sqrt(12))
    assert means.differences(sides).statistic[0, 0] == pytest.approx(expected)
    drawn = means.null(sides, np.random.default_rng(0))(2_000)[:, 0, 0]
    assert np.abs(drawn).max() >= 0
    assert drawn.std() == pytest.approx(math.sqrt(11 / 9), rel=0.1)


def test_small_groups_are_shown_and_not_tested() -> None:
    """Fewer people than the least are too small for a test; hidden ones have no number at all."""
    table = example(rows=200)
    table["g"][:5] = "d"
    shown = ranking(table, score="score", sensitive_features="g", top=20)
    [contrast] = shown.contrasts.find(measure="exposure", group="d")
    assert contrast.status == Status.TOO_SMALL
    assert contrast.p is None
    [gap] = shown.find("exposure_difference")
    assert "d" in gap.left_out
    hidden = ranking(table, score="score", sensitive_features="g", top=20, suppress_below=10)
    assert all(math.isnan(record.value) for record in hidden.rates if record.group == "d")
    assert not [record for record in hidden.contrasts if record.group == "d"]


def test_few_queries_are_approximate_and_very_few_are_not_tested() -> None:
    """From 5 queries on there is a test, and from 30 on it is not marked."""
    for queries, tested, approximate in ((3, False, False), (12, True, True), (40, True, False)):
        table = example(rows=800, queries=queries)
        result = ranking(table, score="score", query="query", sensitive_features="g", top=3)
        [record] = result.contrasts.find(measure="exposure", group="a")
        assert (record.p is not None) == tested
        assert record.approximate == approximate


def test_one_group_has_no_gap_and_says_so() -> None:
    """An undefined number is NaN with a reason."""
    result = ranking(score=[1, 2, 3], sensitive_features={"g": ["a", "a", "a"]}, top=1, draws=0)
    for record in result.gaps:
        assert math.isnan(record.value)
        assert record.status == Status.UNDEFINED
        assert record.reason


def test_everyone_in_the_top_cannot_be_told_apart() -> None:
    """A cut below the last row selects everybody: no test, no finding."""
    result = ranking(example(rows=100), score="score", sensitive_features="g", top=100, least_people=5)
    [gap] = result.find("selection_at_k_difference")
    assert gap.value == 0
    assert not gap.finding
    assert all(not record.finding for record in result.contrasts.find(measure="selection_at_k"))


def test_rows_without_a_place_are_counted_and_left_out() -> None:
    """Without a score or a query a row has no rank; without a group it keeps its rank, and is shown."""
    table = {"score": [3.0, None, 2.0, 1.0], "query": ["q", "q", None, "q"], "g": ["a", "b", "b", None]}
    result = ranking(table, score="score", query="query", sensitive_features="g", top=1, draws=0, least_people=1)
    dropped = {str(record.reason): record.value for record in result.records if record.status == Status.DROPPED}
    assert dropped == {"1 of 4 rows has no score": 1.0, "1 of 4 rows has no query": 1.0}
    assert {record.group for record in result.rates} == {"a", "(missing)"}
    assert not result.contrasts


def test_the_same_rows_in_another_order_are_the_same_result() -> None:
    """Neither numbers nor the fingerprint depend on the order of the rows."""
    table = example(0.3, rows=300, queries=20)
    order = np.random.default_rng(3).permutation(300)
    other = {name: values[order] for name, values in table.items()}
    first, second = (
        ranking(rows, score="score", query="query", sensitive_features="g", top=3, draws=0) for rows in (table, other)
    )
    assert first.provenance["fingerprint"] == second.provenance["fingerprint"]
    assert [r.value for r in first.records] == pytest.approx([r.value for r in second.records], nan_ok=True)


def test_the_kind_is_registered_and_at_the_top() -> None:
    """Python, the list and the command find it by its registration."""
    assert equipoise.ranking is ranking
    assert "ranking" in {entry.name for entry in registry.entries("audit")}
    with pytest.raises(AttributeError):
        _ = equipoise.no_such_kind


def test_gates() -> None:
    """A gate points in the worse direction of its measure, and holds for every cut."""
    result = ranking(example(0.8, rows=900), score="score", sensitive_features="g", top=[50, "10%"])
    assert not result.check("selection_at_k_ratio < 0.8")
    assert result.check("exposure_ratio < 0.01")
    assert len(result.check("selection_at_k_difference > 0.01").broken) == 2
    with pytest.raises(BadInput, match="stops when"):
        RankingResult.read_gates(["exposure_ratio > 0.8"])
    with pytest.raises(BadInput, match="not found"):
        RankingResult.read_gates(["exposure_rati < 0.8"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "Neither a score nor a rank"),
        ({"score": "score", "rank": "score"}, "Both a score and a rank"),
        ({"score": "scor"}, "did you mean --score score"),
        ({"score": "score", "query": "quer"}, "did you mean --query query"),
        ({"rank": "scor"}, "--rank"),
        ({"score": "score", "relevance": "relevanc"}, "did you mean --relevance relevance"),
        ({"score": "score", "top": 0}, "top is 0"),
        ({"score": "score", "top": "ten"}, "top is 'ten'"),
        ({"score": "score", "top": 1.5}, "top is 1.5"),
        ({"score": "score", "relevance": "negative"}, "below 0"),
        ({"score": "score", "relevance": "gaps"}, "no relevance"),
        ({"score": "infinite"}, "infinite"),
        ({"score": "empty"}, "No row has a score"),
        ({"score": "g"}, "g"),
        ({"score": "score", "draws": -1}, "draws"),
        ({"score": "score", "sensitive_features": None}, "No group"),
        ({"score": "score", "equivalence_margin": 2}, "equivalence margin"),
    ],
)
def test_bad_input_is_refused(arguments: dict[str, Any], message: str) -> None:
    """What was given, what is available, and help."""
    table = {
        "score": [3.0, 2.0, 1.0], "query": ["q", "q", "q"], "relevance": [1, 0, 1], "g": ["a", "b", "a"],
        "negative": [-1, 0, 1], "gaps": [1.0, None, 0.0], "infinite": [1.0, float("inf"), 0.0],
        "empty": [float("nan")] * 3,
    }  # fmt: skip
    with pytest.raises(BadInput, match=message):
        ranking(table, **{"sensitive_features": "g", **arguments})
