"""A probe of a plan: what cannot be trained here is said, and is never a short time."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from equipoise import BadInput, Study
from equipoise.stats import LimitedBy
from equipoise.studies import check
from equipoise.studies._plan_power import (
    Spreads,
    SpreadSource,
    plan_power,
)
from equipoise.studies.storage import open_store
from helpers.cases.plan import cohort, columns, write_plan
from helpers.running import Program

torch = pytest.importorskip("torch", reason="needs equipoise[train]")

LEARNER = {"name": "mlp", "width": 4, "epochs": 50}


def test_a_probe_says_how_long_it_takes_at_most() -> None:
    found = check(Study(cohort(), group="sex", learner=LEARNER, seeds=2), probe=True)
    assert found.at_most is not None
    assert found.at_most > 0
    assert found.words[-1].startswith("Based on one epoch of each treatment, it takes at most ")


def test_a_probe_for_a_card_that_is_not_here_is_refused_and_a_check_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    made = Study(cohort(), group="sex", learner=LEARNER, device="cuda")
    assert check(made).at_most is None
    with pytest.raises(BadInput, match="torch finds no graphics card here"):
        check(made, probe=True)


def test_a_probe_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    from equipoise.training.learners.mlp import MultilayerPerceptron

    def broken(*_: Any) -> Any:
        raise RuntimeError("no luck today")

    monkeypatch.setattr(MultilayerPerceptron, "train", broken)
    with pytest.raises(BadInput, match=r"(?s)One epoch of untreated was tried and failed: .*no luck today.*help"):
        check(Study(cohort(), group="sex", learner=LEARNER), probe=True)


def test_a_check_says_which_treatment_must_fail_under_which_condition(equipoise: Program, tmp_path: Path) -> None:
    """At JB alpha 2 the largest cell gets no row, and downsampling needs one of every group in every class."""
    plan = write_plan(tmp_path, EMPTY)
    data = columns()
    rows = [
        row for index, row in enumerate(zip(*data.values(), strict=True))
        if (row[3], row[5]) == ("F", "no") or index % 16 < 4
    ]  # fmt: skip
    with open(plan.with_name("people.csv"), "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([list(data), *rows])
    ended = equipoise("study", "check", plan)
    assert ended.code == 1
    told = ended.out.replace("\n", " ")
    assert (
        "JB alpha 2: every trial of downsampling will fail. The treatment downsampling has no training rows of" in told
    )
    assert told.count("will fail") == 1
    plan.write_text(EMPTY.replace("[0, 1, 2]", "[0, 1]"), encoding="utf-8")
    assert equipoise("study", "check", plan).code == 0


EMPTY = """
seeds = 2
size = 40
group = "sex"
[cohort]
file = "people.csv"
target = "hired"
groups = ["sex"]
split = "split"
[[conditions]]
name = "interpolation"
mode = "JB"
alpha = [0, 1, 2]
[[treatments]]
name = "untreated"
[[treatments]]
name = "reweighting"
[[treatments]]
name = "downsampling"
"""


# Of 100 test rows, no number of seeds detects 2 points.
@pytest.mark.parametrize(("seeds", "effect", "warns"), [(2, 0.5, True), (60, 0.02, True), (60, 0.5, False)])
def test_check_says_whether_the_plan_can_decide_the_effect_it_names(seeds: int, effect: float, warns: bool) -> None:
    treatments = ["untreated", "reweighting"]
    made = Study(
        cohort(), group="sex", learner=LEARNER, treatments=treatments, seeds=seeds, smallest_effect=effect,
        measures=["accuracy"],
    )  # fmt: skip
    found = check(made)
    assert found.power is not None
    assert found.power.spreads.source is SpreadSource.ASSUMED
    assert found.power.effect == effect
    assert found.power.level == pytest.approx(0.05 / found.comparisons)
    told = [words for words in found.words if words.startswith("Warning")]
    assert found.can_decide is not warns
    assert bool(told) == warns
    assert any("assumed" in words for words in found.words)
    if seeds == 2:
        assert "no difference can be confirmed" in told[0]


def test_too_few_test_people_are_named_as_the_limit() -> None:
    found = check(Study(cohort(), group="sex", learner=LEARNER, treatments=["untreated", "reweighting"], seeds=20))
    assert found.power is not None
    assert found.power.limited_by in (LimitedBy.PEOPLE, LimitedBy.BOTH)
    assert found.power.seeds_needed is None
    assert any("test people" in words for words in found.words)


def test_check_advises_seeds_instead_of_repeats() -> None:
    made = Study(cohort(), group="sex", learner=LEARNER, treatments=["untreated", "reweighting"], seeds=5, repeats=4)
    told = [words for words in check(made).words if words.startswith("Advice")]
    assert len(told) == 1
    assert "repeats = 1, seeds = 20" in told[0]
    single = Study(cohort(), group="sex", learner=LEARNER, treatments=["untreated", "reweighting"], seeds=20)
    assert not any(words.startswith("Advice") for words in check(single).words)


def test_reruns_that_spread_as_much_as_seeds_are_worth_their_while() -> None:
    made = Study(cohort(), group="sex", learner=LEARNER, treatments=["untreated", "reweighting"], seeds=5, repeats=4)
    spreads = Spreads(SpreadSource.PILOT, 0.02, 0.001, seeds=0.01, reruns=0.02)
    found = plan_power(made, 6, spreads)
    assert found is not None
    assert found.advised is None
    little = plan_power(made, 6, replace(spreads, reruns=0.001))
    assert little is not None
    assert little.advised == (20, 1)
    assert "identical reruns add little" in little.words[-1]


def test_spreads_come_from_the_store_or_from_a_pilot(tmp_path: Path) -> None:
    made = Study(
        cohort(), group="sex", learner={**LEARNER, "epochs": 1}, treatments=["untreated", "reweighting"], seeds=4
    )
    result = made.run(tmp_path / "study.db")
    assert result is not None
    found = check(made, tmp_path / "study.db")
    assert found.power is not None
    assert found.power.spreads.source is SpreadSource.STORE
    [record] = result.find(treatment="reweighting", measure="fairness", attribute=("sex",))
    assert found.power.spreads.pair == pytest.approx(record.spread_pair)
    (tmp_path / "pilot.json").write_text(result.to_json(), encoding="utf-8")
    pilot = made.check(pilot=tmp_path / "pilot.json")
    assert pilot.power is not None
    assert pilot.power.spreads.source is SpreadSource.PILOT
    with open_store(str(tmp_path / "study.db"), create=False, plan=made.plan_key) as store:
        assert len(store.looks(made.name)) == 1, "a check reads no verdicts"


@pytest.mark.parametrize("content", ["{", "[]", '{"schema": "equipoise.audit/1"}'])
def test_a_pilot_that_is_something_else_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "pilot.json").write_text(content, encoding="utf-8")
    made = Study(cohort(), group="sex", learner=LEARNER, treatments=["untreated", "reweighting"])
    with pytest.raises(BadInput, match=r"(?s)The pilot .*equipoise study report PILOT.toml --json pilot.json"):
        made.check(pilot=tmp_path / "pilot.json")


def test_check_counts_the_comparisons_that_the_report_makes(tmp_path: Path) -> None:
    made = Study(
        cohort(), group="sex", learner={**LEARNER, "epochs": 1}, treatments=["untreated", "reweighting"], seeds=2
    )
    result = made.run(tmp_path / "study.db")
    assert result is not None
    judged = [record for record in result.records if record.verdict is not None]
    assert check(made).comparisons == len(judged)
    assert result.constant is not None
    assert result.constant.basis == "original training rows"


def test_a_plan_without_comparisons_is_not_warned_about_seeds() -> None:
    found = check(Study(cohort(), group="sex", learner=LEARNER, seeds=2))
    assert found.comparisons == 0
    assert not any(words.startswith("Warning") for words in found.words)


@pytest.mark.parametrize("fairness", ["GAP", "worst_group"])
def test_a_study_decided_by_the_auc_reports_the_auc_of_its_scores(tmp_path: Path, fairness: str) -> None:
    from sklearn.metrics import roc_auc_score

    made = Study(
        cohort(), group="sex", learner={**LEARNER, "epochs": 2}, treatments=["untreated", "reweighting"], seeds=2,
        performance="auc", fairness=fairness,
    )  # fmt: skip
    result = made.run(tmp_path / "study.db")
    assert result is not None
    assert result.performance[0] == "auc"
    with open_store(str(tmp_path / "study.db"), create=False, plan=made.plan_key) as store:
        keys = [trial.key for trial in made.trials() if trial.treatment == "untreated"]
        found = store.predictions_of(keys, "test")
    rows = made.labels.of("test")
    expected = [roc_auc_score(rows.target[rows.is_known], found[key].scores[rows.is_known, 1]) for key in keys]  # type: ignore[index]
    [record] = result.find(treatment="untreated", measure="auc")
    assert record.mean == pytest.approx(sum(expected) / len(expected))
    assert result.constant is not None
    assert result.constant.performance == 0.5
    assert result.cells[0].test_distance > 0
