"""The paper's rule against scipy, and the findings of paper 004 as counts of loops over a study."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from scipy import stats

import equipoise
from equipoise.studies.findings import result_of
from equipoise.studies.findings.identical._paper import (
    TABLE_4,
    most_do,
    paper_claims,
    read_reproduction,
    reproduction_from,
    reproduction_of,
)
from equipoise.studies.findings.identical._runs import compared
from helpers.cases.study import TECHNIQUES, curves, demo, picture_data, pictures

ROOT = Path(__file__).parents[4]
SCHEMA = json.loads((ROOT / "docs" / "schemas" / "reproduction-1.json").read_text(encoding="utf-8"))


def runs_of(treatment: str, measure: str) -> list[float]:
    [record] = [r for r in pictures().identical_runs if (r.treatment, r.measure) == (treatment, measure)]
    return list(record.values)


def test_every_experiment_is_that_of_scipy_by_the_papers_rule() -> None:
    experiments = pictures().experiments
    assert len(experiments) == 9 * 7
    for experiment in experiments:
        own, base = runs_of(experiment.treatment, experiment.measure), runs_of("untreated", experiment.measure)
        side = "less" if statistics.fmean(own) < statistics.fmean(base) else "greater"
        p = stats.mannwhitneyu(own, base, alternative=side).pvalue
        assert experiment.p == pytest.approx(p, rel=0.02, abs=1e-4)
        if abs(p - 0.05) > 0.002:
            assert experiment.verdict == ({"less": "lower", "greater": "higher"}[side] if p <= 0.05 else "none")
        pooled = ((np.var(own, ddof=1) + np.var(base, ddof=1)) / 2) ** 0.5
        assert experiment.d == pytest.approx((statistics.fmean(own) - statistics.fmean(base)) / pooled)
        relative = [np.array(side) / np.mean(side) for side in (own, base)]
        assert experiment.levene_p == pytest.approx(stats.levene(*relative).pvalue, rel=1e-6)
        assert experiment.overlap == (min(own) <= max(base) and min(base) <= max(own))
        assert experiment.one_run_lower == (statistics.fmean(own) > statistics.fmean(base) and min(own) < max(base))


def test_costs_are_a_wider_bias_a_lower_and_a_wider_performance() -> None:
    for experiment in pictures().experiments:
        lower = experiment.performance_verdict == "lower"
        accuracy = [np.array(runs_of(name, "accuracy")) for name in (experiment.treatment, "untreated")]
        if lower:
            assert accuracy[0].mean() < accuracy[1].mean()
        expected = [("performance lower", lower),
                    ("performance variance higher", experiment.performance_variance_change == "higher"),
                    ("metric variance higher", experiment.variance_change == "higher")]  # fmt: skip
        assert list(experiment.costs) == [name for name, there in expected if there]
        if experiment.performance_variance_change == "higher":
            relative = [own / own.mean() for own in accuracy]
            assert stats.levene(*relative).pvalue <= 0.05
            assert relative[0].std() > relative[1].std()


def test_techniques_are_compared_without_a_performance_too() -> None:
    table = {"base": {"DI": [0.4, 0.41, 0.42, 0.4]}, "own": {"DI": [0.2, 0.21, 0.22, float("nan")]}}
    [(cell, found)] = compared(table, {"own": "base"}, "accuracy").items()
    assert cell == ("own", "DI")
    assert (found.record.verdict, found.record.runs, found.performance) == ("lower", 3, None)
    assert compared({"base": {"DI": [float("nan")]}}, {}, "accuracy") == {}


def test_the_findings_are_counts_over_the_study() -> None:
    result = pictures()
    claims = {claim.finding: claim for claim in paper_claims(result)}
    most = max(r.maxdiff for r in result.identical_runs if r.better == "low")
    assert claims["1"].numbers["maxdiff"] == pytest.approx(most)
    assert claims["1"].holds == "holds"
    assert f"{100 * most:.1f} points" in claims["1"].here
    assert claims["1, classes"].numbers["class_maxdiff"] == max(r.class_maxdiff or 0 for r in result.identical_runs)
    assert claims["1, the 20 % rule"].numbers == {
        "techniques": sum(sides.class_ is None for sides in result.both_sides), "of": 10,
        "classes": sum(sides.class_ is not None for sides in result.both_sides),
    }  # fmt: skip
    assert claims["2"].numbers["overlap"] == sum(bool(experiment.overlap) for experiment in result.experiments)
    assert claims["2"].numbers["one_run_lower"] == sum(experiment.one_run_lower for experiment in result.experiments)
    raising = {experiment.treatment for experiment in result.experiments if experiment.verdict == "higher"}
    assert claims["3"].numbers["raising"] == len(raising) > 0
    assert claims["3"].holds == "in part"
    lower = [experiment for experiment in result.experiments if experiment.verdict == "lower"]
    costly = [one for one in lower if one.costs]
    numbers = claims["4"].numbers
    assert (numbers["reductions"], numbers["at_a_cost"]) == (len(lower), len(costly))
    assert numbers["metric_variance_higher"] == sum("metric variance higher" in one.costs for one in lower)
    biases = {r.measure for r in result.identical_runs if r.better == "low"}
    own = [r for r in result.records if r.measure in biases and r.verdict == "lower"]
    assert (numbers["reductions_corrected"], numbers["at_a_cost_corrected"]) == (
        len(own), sum(bool(r.costs) for r in own),
    )  # fmt: skip
    assert f"{len(costly)} of {len(lower)} reductions carry a cost" in claims["4"].here
    free = [
        cell.treatment
        for cell in result.cells[1:]
        if all(o.verdict == "lower" and not o.costs for o in result.experiments if o.treatment == cell.treatment)
    ]
    assert claims["4, without a cost"].numbers["techniques"] == len(free)
    assert all(name in claims["4, without a cost"].here for name in free)


@pytest.mark.parametrize(
    ("number", "of", "holds"),
    [(0, 0, "cannot be told"), (0, 5, "does not hold"), (2, 4, "in part"), (3, 4, "holds"), (1, 3, "in part")],
)
def test_most_is_more_than_half(number: int, of: int, holds: str) -> None:
    assert most_do(number, of) == holds


def test_the_json_of_a_study_says_the_same_as_the_study() -> None:
    content = json.loads(pictures().to_json())
    claims = paper_claims(content)
    assert [(claim.finding, claim.holds, claim.here) for claim in claims] == [
        (claim.finding, claim.holds, claim.here) for claim in paper_claims(pictures())
    ]


def test_conditions_are_named_and_what_was_not_run_cannot_be_told() -> None:
    claims = {claim.finding: claim for claim in paper_claims(demo())}
    assert claims["1, classes"].holds == "cannot be told"
    assert " under JB alpha " in claims["1"].here
    alone = {c.finding: c for c in paper_claims(result_of(picture_data(images=60, runs=2, techniques=TECHNIQUES[:1])))}
    assert {alone[name].holds for name in ("2", "3", "4", "4, without a cost")} == {"cannot be told"}
    with pytest.raises(equipoise.BadInput, match="no identical runs"):
        paper_claims(curves())


def test_a_reproduction_keeps_to_its_schema_and_reads_back(tmp_path: Path) -> None:
    made = reproduction_of(pictures(), ["equipoise", "reproduce", "004"])
    content = json.loads(made.to_json(tmp_path / "made.json"))
    Draft202012Validator.check_schema(SCHEMA)
    assert [error.message for error in Draft202012Validator(SCHEMA).iter_errors(content)] == []
    assert read_reproduction(tmp_path / "made.json").as_json() == content
    assert len(made.words) == len(made.records)
    assert "S-GR" in {technique.technique for technique in made.techniques}
    assert made.tables()[0].rows[0][0] == "1"
    assert made.records[0].here in str(made)


def test_table_4_stands_beside_the_runs_of_the_same_technique() -> None:
    made = reproduction_of(pictures())
    assert [technique.technique for technique in made.techniques] == list(TABLE_4)
    for technique in made.techniques:
        [record] = [r for r in pictures().identical_runs if (r.treatment, r.alias) == (technique.treatment, "DI")]
        assert (technique.maxdiff, technique.stdev, technique.class_maxdiff, technique.runs) == (
            record.maxdiff, record.stdev, record.class_maxdiff, 16,
        )  # fmt: skip
    widest = max(made.techniques, key=lambda one: one.paper_maxdiff)
    assert (widest.technique, widest.paper_maxdiff, widest.paper_class_maxdiff) == ("S-GR", 0.118, 0.501)
    part = reproduction_of(result_of(picture_data(images=60, runs=2, techniques=TECHNIQUES[:2])))
    assert [technique.technique for technique in part.techniques if technique.maxdiff is not None] == ["S-Base", "S-RS"]


def test_runs_that_are_copies_are_noted() -> None:
    content = json.loads(pictures().to_json())
    for row in content["identical_runs"]:
        if row["treatment"] == "oversampling":
            row["maxdiff"] = 0
    notes = " ".join(reproduction_of(content).notes)
    assert "Identical runs of oversampling were the same" in notes
    assert "were the same" not in " ".join(reproduction_of(pictures()).notes)


def test_what_is_undefined_is_no_copy_and_cannot_be_told() -> None:
    content = json.loads(pictures().to_json())
    for row in content["identical_runs"]:
        row["maxdiff"] = None
    made = reproduction_of(content)
    assert "were the same" not in " ".join(made.notes)
    assert {record.finding: record.holds for record in made.records if record.finding in ("1", "1, classes")} == {
        "1": "cannot be told", "1, classes": "cannot be told",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "is not JSON"), ("[1]", "is 'list', not equipoise.study/2"),
        ('{"schema": "equipoise.audit/1"}', "'equipoise.audit/1', not equipoise.study/2"),
        ('{"schema": "equipoise.study/1", "identical_runs": [{"better": "low"}]}', "not the whole result of a study"),
        ('{"schema": "equipoise.study/1"}', "no identical runs"),
    ],
)  # fmt: skip
def test_a_file_that_is_something_else_is_refused(tmp_path: Path, content: str, told: str) -> None:
    file = tmp_path / "study.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(equipoise.BadInput, match=told):
        reproduction_from(file)


def test_a_reproduction_that_is_damaged_or_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(equipoise.BadInput, match="could not be read"):
        read_reproduction(tmp_path / "none.json")
    content: dict[str, Any] = {"schema": "equipoise.reproduction/1", "records": [{"finding": "1"}]}
    (tmp_path / "part.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(equipoise.BadInput, match="not a whole reproduction"):
        read_reproduction(tmp_path / "part.json")
