"""Evidence as a whole: against a slow oracle, in any order, under any names, from any source, with costs, by class."""

from __future__ import annotations

import doctest
import inspect
import itertools
import json
import math
import random
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from scipy import stats

import equipoise
from equipoise.audits.evidence import NUMBERS, EvidenceRecord, EvidenceResult, evidence
from equipoise.results import field_names

Judge = Callable[..., EvidenceResult]
SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "schemas" / "evidence-1.json").read_text(encoding="utf-8"))
NAMES = {"technique": "technique", "metric": "metric", "run": "run", "value": "value"}

# These names are a promise: a program that reads one of them must not break.
FIELDS = (
    "technique", "baseline", "metric", "runs", "baseline_runs", "mean", "stdev", "maxdiff", "min", "max", "test",
    "alternative", "correction", "p", "p_adjusted", "d", "band", "levene_p", "overlap", "prob_single_run_misleads",
    "verdict", "reason", "costs", "scope", "spread", "relative_spread", "difference", "low", "high", "level", "draws",
    "limited_by_draws", "error_rate", "spread_p", "spread_rule", "margin", "equivalence_p", "equivalence_p_adjusted",
    "equivalent",
)  # fmt: skip

VALUES = st.lists(st.integers(1, 400).map(lambda value: value / 400), min_size=1, max_size=11)
TABLES = st.dictionaries(st.sampled_from(["base", "a", "b"]), VALUES, min_size=2).filter(lambda table: "base" in table)


def columns(table: dict[str, list[float]], metric: str = "DP") -> dict[str, list[Any]]:
    rows = [(name, metric, run, value) for name, values in table.items() for run, value in enumerate(values)]
    return dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True))


def test_columns_of_the_usual_names_need_not_be_named() -> None:
    rows = columns({"base": [0.1, 0.2, 0.3], "t": [0.3, 0.4, 0.5]})
    assert evidence(rows, baseline="base").records == evidence(rows, **NAMES, baseline="base").records
    renamed = {**rows, "score": rows["value"]}
    del renamed["value"]
    assert evidence(renamed, value="score", baseline="base").records == evidence(rows, baseline="base").records


def test_the_words_name_the_comparison_in_which_one_run_misleads_most_often() -> None:
    # By hand: base is 1 to 8. Of its 64 couples with a run of "lower", 7 point up; with a run of "same", 27 do.
    base = [1.0, 2, 3, 4, 5, 6, 7, 8]
    lower = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 1.5, 6.5]
    same = [0.5, 1.5, 3.5, 4.5, 5.5, 6.5, 7.5, 1.7]
    result = evidence(columns({"base": base, "lower": lower, "same": same}), baseline="base")
    found = {record.technique: record for record in result.records if record.verdict is not None}
    above = {name: sum(a > b for a in own for b in base) / 64 for name, own in (("lower", lower), ("same", same))}
    assert (
        {name: record.prob_single_run_misleads for name, record in found.items()}
        == above
        == {"lower": 7 / 64, "same": 27 / 64}
    )
    assert {name: record.verdict for name, record in found.items()} == {"lower": "lower", "same": "none"}
    lead = "What a single run would have shown: One run of each would have pointed the wrong way in"
    assert [sentence for sentence in result.words if "the wrong way" in sentence] == [
        f"{lead} {100 * above['lower']:.1f}% of pairs for lower on DP.",
        f"{lead} {100 * above['same']:.1f}% of pairs for same on DP (a difference that is not significant).",
    ]
    alone = evidence(columns({"base": base, "lower": lower}), baseline="base")
    assert any(sentence.endswith("in 10.9% of pairs for lower on DP.") for sentence in alone.words)


def numbers(record: EvidenceRecord) -> list[object]:
    """What must not change when rows are shuffled or things renamed; NaN is written out, as it equals nothing."""
    values = [getattr(record, name) for name in (*NUMBERS, "runs", "band", "overlap", "verdict", "costs")]
    return ["NaN" if isinstance(value, float) and math.isnan(value) else value for value in values]


def same(wanted: float, found: float | None) -> bool:
    assert found is not None
    return (math.isnan(wanted) and math.isnan(found)) or math.isclose(wanted, found, rel_tol=1e-9, abs_tol=1e-12)


def every_arrangement(x: list[float], y: list[float]) -> float:
    """The larger of Welch's p and the share of arrangements whose |t| is as large, one arrangement at a time."""
    pooled = [*x, *y]

    def size(first: list[float], second: list[float]) -> float:
        v = statistics.variance(first) / len(first) + statistics.variance(second) / len(second)
        gap = abs(statistics.fmean(first) - statistics.fmean(second))
        return math.inf if v < 1e-20 and gap > 1e-9 else 0.0 if v < 1e-20 else gap / math.sqrt(v)

    observed, extreme, number = size(x, y), 0, 0
    for chosen in itertools.combinations(range(len(pooled)), len(x)):
        rest = [value for index, value in enumerate(pooled) if index not in chosen]
        other = size([pooled[place] for place in chosen], rest)
        extreme += other >= observed * (1 - 1e-9) - 1e-9
        number += 1
    v, w = statistics.variance(x) / len(x), statistics.variance(y) / len(y)
    degrees = (v + w) ** 2 / (v**2 / (len(x) - 1) + w**2 / (len(y) - 1)) if v + w > 1e-20 else 1.0
    welch = 0.0 if math.isinf(observed) else float(2 * stats.t.sf(observed, degrees))
    return max(extreme / number, welch)


def slow(x: list[float], y: list[float]) -> dict[str, float]:
    """Everything about technique x and baseline y, the slow and obvious way."""
    mean, other = statistics.fmean(x), statistics.fmean(y)
    couples = [(a > b) - (a < b) for a in x for b in y]
    against = [1.0 if sign * (mean - other) < 0 else 0.5 if sign == 0 else 0.0 for sign in couples]
    spread = math.nan
    if min(len(x), len(y)) > 1:
        spread = math.sqrt((statistics.variance(x) + statistics.variance(y)) / 2)
    return {
        "mean": mean,
        "stdev": statistics.stdev(x) if len(x) > 1 else math.nan,
        "maxdiff": max(x) - min(x),
        "d": (mean - other) / spread if spread else (0.0 if mean == other else math.nan),
        "misleads": math.nan if mean == other else statistics.fmean(against),
        "overlap": not (max(x) < min(y) or max(y) < min(x)),
    }


@settings(deadline=None)
@given(TABLES)
def test_evidence_agrees_with_a_slow_loop(table: dict[str, list[float]]) -> None:
    result = evidence(columns(table), **NAMES, baseline="base", correction="none")
    assert len(result.records) == len(table)
    for record in result.records:
        if record.verdict is None:
            assert record.technique == "base"
            continue
        x, y = table[record.technique], table["base"]
        wanted = slow(x, y)
        for name in ("mean", "stdev", "maxdiff", "d"):
            assert same(wanted[name], getattr(record, name)), (name, wanted[name], record)
        assert record.overlap == wanted["overlap"]
        if not math.isclose(statistics.fmean(x), statistics.fmean(y)):
            assert same(wanted["misleads"], record.prob_single_run_misleads)
        ways = math.comb(len(x) + len(y), len(x))
        if min(len(x), len(y)) < 2:
            assert math.isnan(record.p or 0.0)
        elif ways <= 500:
            assert same(every_arrangement(x, y), record.p)
            assert record.draws == ways
        ranked = evidence(
            columns({"base": y, "t": x}), **NAMES, baseline="base", correction="none", test="mann-whitney"
        )
        if len({*x, *y}) == len(x) + len(y):
            assert same(float(stats.mannwhitneyu(x, y).pvalue), ranked.records[1].p)
        if min(len(x), len(y)) >= 3 and not math.isnan(record.spread_p or 0.0):
            assert same(float(stats.levene(x, y, center="median").pvalue), record.spread_p)
        if min(len(x), len(y)) >= 3 and not math.isnan(record.levene_p or 0.0):
            relative = [[value / statistics.fmean(side) for value in side] for side in (x, y)]
            assert same(float(stats.levene(*relative, center="median").pvalue), record.levene_p)
        assert (record.verdict == "undecided") or ways >= (40 if len(x) == len(y) else 20)


@settings(deadline=None)
@given(TABLES, st.randoms(use_true_random=False))
def test_the_order_of_rows_and_the_names_of_runs_change_nothing(
    table: dict[str, list[float]], shuffler: random.Random
) -> None:
    rows = columns(table)
    order = list(range(len(rows["run"])))
    shuffler.shuffle(order)
    mixed = {name: [values[place] for place in order] for name, values in rows.items()}
    mixed["run"] = [f"run {1000 - run}" for run in mixed["run"]]
    first, second = (evidence(given, **NAMES, baseline="base") for given in (rows, mixed))
    assert [numbers(record) for record in first.records] == [numbers(record) for record in second.records]
    assert first.words == second.words
    again = {name: [values[place] for place in order] for name, values in rows.items()}
    assert evidence(again, **NAMES, baseline="base").provenance["fingerprint"] == first.provenance["fingerprint"]


@settings(deadline=None)
@given(TABLES)
def test_renaming_techniques_and_metrics_changes_nothing_else(table: dict[str, list[float]]) -> None:
    renamed = {{"base": "zz", "a": "m", "b": "A"}[name]: values for name, values in table.items()}
    first = evidence(columns(table), **NAMES, baseline="base")
    second = evidence(columns(renamed, "[red]other"), **NAMES, baseline="zz")
    by_name = {record.technique: numbers(record) for record in second.records}
    for record in first.records:
        assert by_name[{"base": "zz", "a": "m", "b": "A"}[record.technique]] == numbers(record)


def test_every_source_gives_the_same_records(tmp_path: Path) -> None:
    rows = columns({"base": [0.1, 0.25, 0.3, 0.4], "a": [0.2, 0.1, 0.05, 0.15], "b": [1, 2, 3, 4]})
    frame = pd.DataFrame(rows)
    frame.to_csv(tmp_path / "runs.csv", index=False)
    frame.to_parquet(tmp_path / "runs.parquet")
    files = [tmp_path / "runs.csv", str(tmp_path / "runs.parquet")]
    sources: list[Any] = [frame, pl.DataFrame(rows), pl.LazyFrame(rows), *files]
    wanted = evidence(rows, **NAMES, baseline="base")
    for source in sources:
        found = evidence(source, **NAMES, baseline="base")
        assert [numbers(record) for record in found.records] == [numbers(record) for record in wanted.records]
        assert found.provenance["fingerprint"] == wanted.provenance["fingerprint"]
    arrays = evidence(**rows, baseline="base")
    assert [numbers(record) for record in arrays.records] == [numbers(record) for record in wanted.records]


def test_the_function_is_at_the_front_door_however_often_it_is_asked_for() -> None:
    rows = columns({"base": [1, 2, 3], "a": [4, 5, 6]})
    for _ in range(2):
        assert isinstance(equipoise.evidence(rows, **NAMES, baseline="base"), EvidenceResult)


GOOD = [0.80, 0.81, 0.82, 0.83, 0.84, 0.85]
COSTLY = {
    "base": {"DP": [0.30, 0.31, 0.32, 0.33, 0.34, 0.35], "accuracy": GOOD},
    # DP falls, but so does accuracy, and DP spreads far more around its mean.
    "costly": {"DP": [0.01, 0.02, 0.03, 0.17, 0.18, 0.20], "accuracy": [value - 0.5 for value in GOOD]},
    # DP falls at no price.
    "free": {"DP": [0.200, 0.207, 0.213, 0.220, 0.227, 0.233], "accuracy": [value + 0.001 for value in GOOD]},
    # DP stays, and accuracy becomes a lottery.
    "lottery": {"DP": [0.305, 0.312, 0.318, 0.332, 0.338, 0.345], "accuracy": [0.2, 0.25, 0.3, 0.9, 0.95, 0.99]},
}


def test_costs_are_told_beside_the_verdict(judge: Judge) -> None:
    result = judge(COSTLY, performance="accuracy", correction="none")
    found = {record.technique: record for record in result.records if record.metric == "DP"}
    assert (found["free"].verdict, found["free"].costs) == ("lower", ())
    assert found["costly"].verdict == "lower"
    # Accuracy is moved as it is: its spread relative to its mean grows, and the spread itself does not.
    assert found["costly"].costs == ("performance lower", "metric variance higher")
    relative = judge(COSTLY, performance="accuracy", correction="none", spread="relative")
    [paper] = relative.find(technique="costly", metric="DP")
    assert paper.costs == ("performance lower", "performance variance higher", "metric variance higher")
    assert (paper.spread_rule, found["costly"].spread_rule) == ("relative", "absolute")
    assert "costs: accuracy is lower (0.325 against 0.825)" in str(found["costly"].reason)
    assert (found["lottery"].verdict, found["lottery"].costs) == ("none", ("performance variance higher",))
    assert all(record.costs == () for record in result.records if record.metric == "accuracy")
    assert any("at a cost: it lowered accuracy from 0.825 to 0.325" in words for words in result.words)


def test_halving_a_bias_at_the_same_spread_is_no_cost(judge: Judge) -> None:
    base = [0.30, 0.31, 0.32, 0.33, 0.34, 0.35]
    table = {"base": {"DP": base}, "t": {"DP": [value - 0.27 for value in base]}}
    [record] = judge(table).find(technique="t")
    assert (record.verdict, record.costs, record.spread_p) == ("lower", (), pytest.approx(1.0))
    assert record.spread == pytest.approx(0.015)
    assert record.relative_spread == pytest.approx(0.015 / 0.055)
    [paper] = judge(table, spread="relative").find(technique="t")
    assert paper.costs == ("metric variance higher",)
    [change] = judge(table).variances
    assert (change.change, change.absolute_change, change.counted[2]) == ("higher", "none", "none")


def test_the_direction_of_a_relative_variance_is_that_of_values_divided_by_their_mean(judge: Judge) -> None:
    # The technique's STDEV is a tenth of the baseline's, but its mean is a hundredth: relative to it, it spreads more.
    base = [10.0, 10.1, 10.2, 10.3, 10.4, 10.5]
    table = {"base": {"DP": base}, "t": {"DP": [(value - 10.24) / 10 + 0.1 for value in base]}}
    [record] = judge(table, correction="none", spread="relative").find(technique="t")
    assert record.costs == ("metric variance higher",)
    [record] = judge(table, correction="none").find(technique="t")
    assert record.costs == ()


def test_an_undecided_or_absent_performance_is_told(judge: Judge) -> None:
    table = {
        "base": {"DP": GOOD, "accuracy": [0.8, 0.9]},
        "t": {"DP": GOOD, "accuracy": [0.1, 0.2]},
        "u": {"DP": GOOD},
    }
    result = judge(table, performance=["accuracy"])
    assert "whether accuracy is lower is inconclusive" in str(result.find(technique="t", metric="DP")[0].reason)
    assert "u has no runs on accuracy: what it costs there is unknown." in result.notes


def test_each_technique_can_have_a_baseline_of_its_own() -> None:
    rows = columns({"S-Base": [0.1] * 4, "S-A": [0.2, 0.3, 0.4, 0.5], "C-Base": [0.9] * 4, "C-A": [0.2, 0.3, 0.4, 0.5]})
    rows["of"] = [None if name.endswith("Base") else f"{name[0]}-Base" for name in rows["technique"]]
    result = evidence(rows, **NAMES, baseline_column="of", correction="none")
    assert [(record.technique, record.baseline, record.verdict) for record in result.records] == [
        ("C-Base", None, None), ("C-A", "C-Base", "lower"), ("S-Base", None, None), ("S-A", "S-Base", "higher"),
    ]  # fmt: skip
    rows["of"] = [f"{name[0]}-Base" for name in rows["technique"]]
    own = evidence(rows, **NAMES, baseline_column="of", correction="none")
    assert [numbers(record) for record in own.records] == [numbers(record) for record in result.records]


def test_a_baseline_may_itself_be_held_against_another() -> None:
    rows = columns({"old": [1, 2, 3, 4], "new": [5, 6, 7, 8], "next": [9, 10, 11, 12]})
    rows["of"] = [{"old": None, "new": "old", "next": "new"}[name] for name in rows["technique"]]
    records = evidence(rows, **NAMES, baseline_column="of").records
    assert [(r.technique, r.verdict) for r in records] == [("old", None), ("new", "higher"), ("next", "higher")]


def by_class(values: dict[str, dict[str, list[float]]], metric: str = "DI") -> dict[str, list[Any]]:
    rows = [
        (technique, metric, run, value, name)
        for technique, classes in values.items()
        for name, runs in classes.items()
        for run, value in enumerate(runs)
    ]
    return dict(zip((*NAMES, "class"), map(list, zip(*rows, strict=True)), strict=True))


FLIPS = {
    "base": {"cat": [0.0, 1.0, 0.0, 0.0], "dog": [0.1, 0.1, 0.1, 0.2], "eel": [0.3, 0.3, 0.3, 0.4]},
    "t": {"cat": [0.1, 0.1, 0.1, 0.1], "dog": [0.19, 0.21, 0.2, 0.15], "eel": [0.5, 0.5, 0.5, 0.5]},
}


def test_classes_that_straddle_the_rule_are_flagged() -> None:
    result = evidence(by_class(FLIPS), **NAMES, baseline="base", by="class")
    assert [(s.technique, s.by, s.runs, s.within, s.broken, s.complete) for s in result.straddling] == [
        ("base", "cat", 4, 3, 1, True), ("t", "dog", 4, 3, 1, False),
    ]  # fmt: skip
    assert "base on DI, class cat: 1 of 4 runs break the 20% rule; 0% in one run, 100% in another." in result.words
    assert "t on DI, class dog: 1 of 4 runs break the 20% rule (lowest run 15.0%, highest 21.0%)." in result.words
    assert any("1 is at 0% in one run and at 100% in another" in sentence for sentence in result.words)


def test_by_class_the_record_is_of_the_mean_over_classes() -> None:
    result = evidence(by_class(FLIPS), **NAMES, baseline="base", by="class")
    [base] = result.find(technique="base")
    assert (base.runs, base.mean) == (4, pytest.approx((0.4 + 1.4 + 0.4 + 0.6) / 3 / 4))


def test_a_class_that_a_run_lacks_is_left_out_of_every_mean_and_named() -> None:
    rows = by_class(FLIPS)
    rows["value"][rows["class"].index("eel")] = None
    result = evidence(rows, **NAMES, baseline="base", by="class")
    [t] = result.find(technique="t")
    assert t.mean == pytest.approx((0.1 + (0.19 + 0.21 + 0.2 + 0.15) / 4) / 2)
    assert any("a mean over classes without eel: not every run has a value there" in note for note in result.notes)


def test_rows_without_a_class_are_the_run_itself() -> None:
    rows = by_class(FLIPS)
    for technique in ("base", "t"):
        for run in range(4):
            for name, value in (("DI", 0.5), ("accuracy", 0.9)):
                for column, cell in zip((*NAMES, "class"), (technique, name, run, value, None), strict=True):
                    rows[column].append(cell)
    result = evidence(rows, **NAMES, baseline="base", by="class", performance="accuracy")
    assert {record.mean for record in result.records if record.metric == "DI"} == {0.5}
    assert len(result.straddling) == 2


def test_the_rule_is_not_applied_to_values_that_are_no_shares() -> None:
    rows = by_class({name: {cls: [100 * v for v in vs] for cls, vs in each.items()} for name, each in FLIPS.items()})
    result = evidence(rows, **NAMES, baseline="base", by="class")
    assert result.straddling == ()
    assert any("The 20% rule is not applied to DI: its values range from 0 to 100" in note for note in result.notes)


def test_a_metric_without_a_common_class_is_undecided() -> None:
    rows = by_class({"base": {"cat": [0.1, 0.2]}, "t": {"dog": [0.1, 0.2]}})
    [record] = evidence(rows, **NAMES, baseline="base", by="class").find(technique="t")
    assert (record.verdict, record.runs) == ("undecided", 0)


OPTIONS: list[dict[str, Any]] = [
    {}, {"performance": "accuracy"}, {"alternative": "observed", "correction": "none"}, {"pair": "seed"},
    {"test": "brunner-munzel", "correction": "holm"},
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_json_keeps_to_its_schema(judge: Judge, options: dict[str, Any], tmp_path: Path) -> None:
    table = {**COSTLY, "one": {"DP": [0.1]}, "same": {"DP": [0.1] * 6}, "none": {"DP": [None, None]}}
    result = judge(table, **options)
    written = json.loads(result.to_json(tmp_path / "evidence.json"))
    Draft202012Validator.check_schema(SCHEMA)
    Draft202012Validator(SCHEMA).validate(written)
    assert written["schema"] == "equipoise.evidence/1"
    names = [tuple(name for name in record if name != "reason_code") for record in written["records"]]
    assert names == [FIELDS] * len(result.records)
    assert json.loads((tmp_path / "evidence.json").read_text(encoding="utf-8")) == written


def test_json_by_class_keeps_to_its_schema() -> None:
    written = json.loads(evidence(by_class(FLIPS), **NAMES, baseline="base", by="class").to_json())
    Draft202012Validator(SCHEMA).validate(written)
    assert len(written["straddling"]) == 2


def test_the_record_has_the_promised_fields() -> None:
    assert field_names(EvidenceRecord) == FIELDS


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_records_become_a_frame(judge: Judge, backend: str) -> None:
    frame: Any = judge(COSTLY, performance="accuracy", correction="none").to_frame(backend)
    assert len(frame) == 8
    if backend == "pandas":
        assert list(frame.columns) == list(FIELDS)
        assert frame["p"].dtype == float
        assert "performance lower; metric variance higher" in set(frame["costs"])


def test_numbers_go_to_a_tracker_without_the_undefined_ones(judge: Judge) -> None:
    flat = judge({"base": {"DP": [0.1, 0.2]}, "a/b": {"DP": [0.3]}}).to_dict()
    assert flat["a_b/DP/mean"] == 0.3
    assert "a_b/DP/stdev" not in flat
    assert all(isinstance(value, float) and math.isfinite(value) for value in flat.values())


def test_the_result_says_itself_in_words(judge: Judge) -> None:
    text = str(judge(COSTLY, performance="accuracy", correction="none"))
    assert "lowered DP from" in text
    assert "Without correction, 6 tests without any effect would give about 0.3 significant results." in text
    assert "identical runs of one seed on one test set say nothing about other seeds or other people" in text


def test_the_function_has_a_signature_and_an_example_that_runs() -> None:
    assert "equipoise.evidence" not in sys.modules
    assert list(inspect.signature(equipoise.evidence).parameters)[:5] == ["runs", "technique", "metric", "run", "value"]
    [example] = doctest.DocTestFinder(recurse=False).find(equipoise.evidence, "evidence", globs={})
    assert doctest.DocTestRunner().run(example) == (0, 7)
