"""A search finds the best settings with equal budgets, by seeds of its own, and goes on as if never interrupted."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import spearmanr

from helpers.cases.plan import cohort
from helpers.cases.search import BEST_RATE, BEST_STRENGTH, CONSTANT_FROM, RANGES, error, registered

pytest.importorskip("sqlalchemy")
pytest.importorskip("optuna", reason="needs equipoise[search]")

from equipoise.foundation import BadInput, MissingExtra
from equipoise.reports import charts_of, markdown
from equipoise.studies import Study, read_plan, run_study
from equipoise.studies._searching import finished, searched_in
from equipoise.studies.storage import open_store

SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "study-2.json"
SCRIPT = Path(__file__).parent / "killed_search.py"


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    with registered():
        yield


def study_of(search: dict[str, Any] | None = None, **changes: Any) -> Study:
    settings: dict[str, Any] = {
        "group": "sex", "learner": "bowl", "treatments": ["untreated", "tilted"], "seeds": 3, "name": "searching",
        "search": {"trials": 12, "generation": 6, **(search or {})},
    }  # fmt: skip
    return Study(cohort(1200), **{**settings, **changes})


def test_the_search_finds_what_is_known_to_be_best(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    study = study_of({"trials": 40, "generation": 10})
    chosen = run_study(study, store)
    units = {unit.searched.arm.name: unit for unit in finished(study, store).units}
    (rate,) = units["untreated"].best.values
    strength, _ = units["tilted"].best.values
    assert abs(math.log10(rate / BEST_RATE)) < 0.25
    assert abs(math.log10(strength / BEST_STRENGTH)) < 1.0
    for unit in units.values():
        assert unit.best.worth == min(one.worth for one in unit.tried), "what is chosen is the best on dev rows"
        assert unit.best.worth < unit.tried[0].worth, "and better than the defaults"
    values = {trial.treatment: trial.learner.settings["learning_rate"] for trial in chosen.trials()}
    assert values["untreated"] == rate
    assert {trial.treatments[0].settings.get("strength") for trial in chosen.trials()} == {None, strength}


def test_every_arm_has_the_same_budget_and_seeds_that_no_verdict_has(tmp_path: Path) -> None:
    store, study = tmp_path / "s.db", study_of({"seeds": 2, "generation": 5})
    chosen = run_study(study, store)
    found = finished(study, store)
    with open_store(store) as opened:
        searching = [
            trial for generation in range(1, 4) for rung in (1, 2)
            for trial in opened.done_under_name(f"searching search {generation} seed {rung}")
        ]  # fmt: skip
    numbers = Counter(trial.treatment for trial in searching)
    # 5 + 5 + 2 settings with the first seed, and half of each generation with the second.
    assert numbers == {"untreated": 12 + 3 + 3 + 1, "tilted": 12 + 3 + 3 + 1}
    assert study.search is not None
    assert study.search.trainings == 19
    assert {len(unit.tried) for unit in found.units} == {12}
    assert not {trial.seed for trial in searching} & {trial.seed for trial in chosen.trials()}
    for unit in found.units:
        assert len(unit.best.readings) == 2, "what is chosen was trained with every seed"
        assert sum(one.pruned for one in unit.tried) == 12 - 7
        for values, (low, high) in zip(unit.tried[0].values, map(RANGES.get, unit.searched.labels), strict=True):
            assert low <= values <= high


def test_a_collapsed_setting_is_never_chosen(tmp_path: Path) -> None:
    treatments = ["untreated", "tilted"]
    study = study_of({"ranges": {"strength": [CONSTANT_FROM / 2, 1000.0]}}, treatments=treatments)
    run_study(study, tmp_path / "s.db")
    unit = next(one for one in finished(study, tmp_path / "s.db").units if one.searched.arm.name == "tilted")
    assert any(one.collapsed for one in unit.tried)
    assert not unit.best.collapsed
    assert unit.best.values[0] <= CONSTANT_FROM


def test_a_budget_of_one_is_the_defaults(tmp_path: Path) -> None:
    chosen = run_study(study_of({"trials": 1}), tmp_path / "s.db")
    assert {trial.learner.settings["learning_rate"] for trial in chosen.trials()} == {0.05}
    assert {trial.treatments[0].settings.get("strength") for trial in chosen.trials()} == {None, 0.1}


CONDITIONS: tuple[Any, ...] = ("as_given", {"name": "interpolation", "mode": "CB", "alpha": 1})


@pytest.mark.parametrize("per_condition", [True, False])
def test_settings_are_searched_under_each_condition_or_under_the_first(tmp_path: Path, per_condition: bool) -> None:
    study = study_of({"trials": 3, "generation": 3, "per_condition": per_condition}, conditions=CONDITIONS)
    chosen = run_study(study, tmp_path / "s.db")
    units = finished(study, tmp_path / "s.db").units
    assert len(units) == (4 if per_condition else 2)
    by_condition = {
        name: {(t.treatment, t.learner.settings["learning_rate"]) for t in chosen.trials() if t.condition.name == name}
        for name in ("as_given", "interpolation")
    }
    assert (by_condition["as_given"] == by_condition["interpolation"]) is not per_condition
    # The conditions draw their own random numbers.
    rates = [{one.values for one in unit.tried[1:]} for unit in units if unit.searched.arm.name == "untreated"]
    assert len({frozenset(own) for own in rates}) == len(rates)


def state(store: Path, study: Study) -> Any:
    found = searched_in(study, store)
    with open_store(store) as opened:
        names = [f"{study.name} search {generation + 1}" for generation in range(4)]
        keys = [sorted(trial.key for trial in opened.done_under_name(name)) for name in names]
    return found.done, [[(one.values, one.worth, one.chosen) for one in unit.tried] for unit in found.units], keys


def test_the_same_plan_asks_for_the_same_settings(tmp_path: Path) -> None:
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    for store in (one, two):
        run_study(study_of(), store)
    assert state(one, study_of()) == state(two, study_of())


def test_a_search_that_was_killed_ends_like_one_that_nobody_killed(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole.db", tmp_path / "killed.db"
    study = study_of(learner="bowl", stack=2)
    run_study(study, whole)
    recorded = []
    # In the middle of the first generation of twelve trials, and of the second; stacks of two are recorded together.
    for number in (5, 13):
        process = subprocess.run(
            [sys.executable, str(SCRIPT), str(killed), str(number)],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            check=False,
        )
        assert process.returncode == -signal.SIGKILL
        recorded.append(_ended(killed))
    assert recorded == [4, 16]
    assert not searched_in(study, killed).done
    run_study(study, killed)
    assert state(killed, study) == state(whole, study)
    assert [trial.key for trial in study.searched(killed).trials()] == [
        trial.key for trial in study.searched(whole).trials()
    ]


@pytest.mark.long
def test_several_workers_search_as_one_does(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs equipoise[train]")
    mlp = {"name": "mlp", "layers": 1, "width": 4, "epochs": 3, "batch_size": 128}
    study = study_of({"trials": 4, "generation": 2}, learner=mlp, treatments=["untreated", "adversarial"], seeds=1,
                     rounding="deterministic")  # fmt: skip
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    run_study(study, one)
    run_study(study, two, workers=2)
    assert state(one, study) == state(two, study)
    stacks = [len(stack) for stack in study.searched(one).stacks()]
    assert stacks == [1, 1]


def _ended(store: Path) -> int:
    with open_store(store, create=False, read_only=True) as opened:
        return sum(len(opened.done_under_name(f"searching search {generation}")) for generation in (1, 2))


def test_status_and_check_count_the_search(tmp_path: Path) -> None:
    study, store = study_of(), tmp_path / "s.db"
    before = study.check()
    assert (before.search_trials, before.search_done, before.trials) == (24, 0, 6)
    assert any(
        "Before these a search trains 24 trials: 12 settings for each arm; 0 are done." in w for w in before.words
    )
    assert any("tilted searches strength 0.001 to 1000, learning_rate 0.0001 to 0.1." in w for w in before.words)
    result = study.run(store)
    assert result is not None
    assert {cell.runs for cell in result.cells} == {3}, "trials of the search are no part of the verdicts"
    status = study.status(store)
    assert (status.done, status.total) == (30, 30)
    assert [cell.cell for cell in status.cells][:2] == ["search: as given; untreated", "search: as given; tilted"]
    after = study.check(store)
    assert (after.search_done, after.done) == (24, 6)
    assert after.words[-1] == "Every trial is done."


def test_the_report_says_what_was_tried_and_chosen(tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    study, store = study_of(), tmp_path / "s.db"
    result = study.run(store)
    assert result is not None
    document = json.loads(json.dumps(result.as_json()))
    jsonschema.validate(document, json.loads(SCHEMA.read_text(encoding="utf-8")))
    search = document["search"]
    assert (search["trials"], search["generation"], search["seeds"], search["per_condition"]) == (12, 6, [10**6], True)
    units = {unit.searched.arm.name: unit for unit in finished(study, store).units}
    for arm, unit in units.items():
        settings = [one for one in search["settings"] if one["treatment"] == arm]
        assert [tuple(one["values"].values()) for one in settings] == [one.values for one in unit.tried]
        (chosen,) = (one for one in settings if one["chosen"])
        assert chosen["distance"] == min(one["distance"] for one in settings if not one["collapsed"])
        ranges = {one["name"]: one for one in search["ranges"] if one["treatment"] == arm}
        assert {name: one["chosen"] for name, one in ranges.items()} == chosen["values"]
        assert {name: (one["low"], one["high"]) for name, one in ranges.items()} == {
            name: RANGES[name] for name in chosen["values"]
        }
    # What one hyper-parameter does is its own rank correlation, counted here by hand; two share the importance.
    rate = next(one for one in search["ranges"] if one["treatment"] == "untreated")
    tried = units["untreated"].tried
    assert rate["correlation"] == pytest.approx(
        spearmanr([one.values[0] for one in tried], [one.mean("distance") for one in tried]).statistic
    )
    assert rate["importance"] is None
    shares = [one["importance"] for one in search["ranges"] if one["treatment"] == "tilted"]
    assert sum(shares) == pytest.approx(1)
    # Errors come from nothing but these numbers.
    (best,) = units["untreated"].best.values
    assert units["untreated"].best.mean("performance") == pytest.approx(
        1 - error({"learning_rate": best}, ()), abs=0.01
    )
    text = markdown(result)
    assert "Every treatment, the baseline too, had 12 settings under each condition, 6 at a time" in text
    assert "learning rate" in text
    assert "0.001 to 1000 (log)" in text
    assert "tried" in charts_of(result)
    plain = Study(cohort(1200), group="sex", learner="bowl", treatments=["untreated", "tilted"], seeds=3).run(
        tmp_path / "plain.db"
    )
    assert plain is not None
    assert "search" not in plain.as_json()


def test_what_needs_chosen_settings_is_refused_before_they_are(tmp_path: Path) -> None:
    study, store = study_of(), tmp_path / "s.db"
    with pytest.raises(BadInput, match=r"(?s)are searched.*equipoise study run PLAN searches"):
        study.trials()
    with pytest.raises(BadInput, match="are searched"):
        study.run(store, to=tmp_path / "folder")
    run_study(study_of(search={"trials": 6}), store)
    with pytest.raises(BadInput, match=r"(?s)is not done: 12 of its 24 trials are.*equipoise study run PLAN"):
        study.result(store)


def test_seeds_of_the_search_are_refused_for_verdicts() -> None:
    with pytest.raises(BadInput, match="counts its own from 1,000,000"):
        study_of(seeds=[0, 1_000_000])


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no budget": ({"trials": 0}, r"(?s)trials is 0.*whole number of at least 1"),
    "unknown key": ({"trails": 3}, r"(?s)'trails'.*trials"),
    "upside down": ({"ranges": {"strength": [10, 1]}}, r"(?s)range of strength is empty: it begins at 10.*\[1, 10\]"),
    "one value": ({"ranges": {"strength": [1, 1]}}, r"(?s)begins and ends at 1.*give strength = 1 to the treatment"),
    "no numbers": ({"ranges": {"strength": []}}, r"(?s)range of strength is \[\].*two numbers, the lower first"),
    "from nothing": ({"ranges": {"strength": [0, 1]}}, r"(?s)begins at 0, and it is searched on a logarithmic scale"),
    "not allowed": ({"ranges": {"strength": [-1, 1]}}, r"strength is -1"),
    "misspelt": ({"ranges": {"strenght": [1, 2]}}, r"(?s)'strenght'.*strength"),
    "other treatment": ({"ranges": {"tilt": {"strength": [1, 2]}}}, r"(?s)'tilt'.*tilted"),
    "misspelt inside": ({"ranges": {"tilted": {"stregth": [1, 2]}}}, r"(?s)'stregth'.*strength"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_search_that_cannot_be_is_refused(case: str) -> None:
    search, words = BAD[case]
    with pytest.raises(BadInput, match=words):
        study_of(search)


def test_what_is_in_a_grid_or_fixed_is_not_searched_too() -> None:
    with pytest.raises(BadInput, match=r"(?s)strength has several values in the plan.*\[search.ranges\] strength"):
        study_of(treatments=["untreated", {"name": "tilted", "strength": [1, 2]}])
    with pytest.raises(BadInput, match=r"(?s)strength has a value in the plan \(tilted\), and a range"):
        study_of({"ranges": {"strength": [1, 2]}}, treatments=["untreated", {"name": "tilted", "strength": 1}])
    with pytest.raises(BadInput, match="learning_rate has several values"):
        study_of(learner={"name": "bowl", "learning_rate": [0.1, 0.01]})
    fixed = study_of(treatments=["untreated", {"name": "tilted", "strength": 1}])
    assert [searched.labels for searched in fixed.searched_arms.values()] == [("learning_rate",)] * 2
    with pytest.raises(BadInput, match=r"(?s)has nothing to search, so budgets would not be equal"):
        study_of(learner={"name": "bowl", "learning_rate": 0.1})


def test_an_own_function_and_embeddings_have_no_search() -> None:
    with pytest.raises(BadInput, match="training function of your own"):
        Study(cohort(), group="sex", train=_own, version=1, search={"trials": 2})
    with pytest.raises(BadInput, match=r"(?s)'metric_learner' embeds rows"):
        study_of(learner="metric_learner")


def _own(people: Any, seed: int) -> Any:
    raise NotImplementedError


def test_without_optuna_a_search_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtra, match=r"(?s)A search of hyper-parameters needs 'optuna'.*\[search\]"):
        run_study(study_of(), tmp_path / "s.db")
    assert not (tmp_path / "s.db").exists()


def test_a_plan_says_where_its_search_is_wrong(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    text = '[cohort]\nname = "adult"\ndev = 0.2\n[search]\ntrials = 2\n[search.ranges]\nlearning_rate = [0.1, 0.01]\n'
    plan.write_text('group = "sex"\n' + text, encoding="utf-8")
    read = read_plan(plan)
    with pytest.raises(BadInput, match=r"plan.toml, line 8 \(search, ranges, learning_rate\)"):  # noqa: SIM117
        with read.located():
            read.study()
    plan.write_text('group = "sex"\n' + text.replace("trials = 2", "trials = 0"), encoding="utf-8")
    with pytest.raises(BadInput, match=r"line 6.*trials is 0"):
        read_plan(plan)


def test_a_study_that_adds_seeds_searches_once_before(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    study = study_of({"trials": 2, "generation": 2}, seeds="auto", stopping={"looks": [5, 10]})
    result = study.run(store)
    assert result is not None
    assert result.search is not None
    assert len(result.search.settings) == 4
    status = study.status(store)
    assert [cell.total for cell in status.cells] == [2, 2, 10, 10]
    assert {cell.seeds for cell in result.cells} <= {5, 10}
