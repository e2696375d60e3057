"""A trial that fails keeps where its error came from: in the store, in files, in states, in the JSON and the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from equipoise.cohorts import Cohort
from equipoise.studies import Study
from equipoise.studies.running import merge, run_in_store
from equipoise.studies.storage import open_store
from helpers.cases.plan import by_the_mean, cohort, write_plan
from helpers.running import Program

pytest.importorskip("sqlalchemy")

broken = {"now": True}


def helper_that_divides(number: int) -> float:
    hidden_value = "a value that nobody writes down"
    assert hidden_value
    return 1 / number


def sometimes(people: Cohort, seed: int) -> Any:
    if seed == 0 and broken["now"]:
        helper_that_divides(0)
    return by_the_mean(people, seed)


def study(**changes: Any) -> Study:
    how: dict[str, Any] = {"train": sometimes, "version": 1, "group": "sex", "seeds": 2, **changes}
    return Study(cohort(), **how)


@pytest.fixture(autouse=True)
def breaking() -> None:
    broken["now"] = True


def check_told(text: str | None) -> None:
    assert text is not None
    assert "in helper_that_divides" in text
    assert "return 1 / number" in text
    assert text.endswith("ZeroDivisionError: division by zero")


def test_a_failed_trial_of_an_own_function_says_in_which_line_it_failed(tmp_path: Path) -> None:
    result = study().run(tmp_path / "s.db")
    assert result is not None
    (failure,) = result.failures
    assert failure.error == "ZeroDivisionError: division by zero"
    check_told(failure.traceback)
    assert "number = 0" not in str(failure.traceback), "no values of variables"
    result.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "helper_that_divides" in page
    result.to_json(tmp_path / "r.json")
    (described,) = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["failures"]
    check_told(described["traceback"])
    assert described["error"] == described["reason"] == failure.error


def test_a_traceback_goes_when_the_trial_is_tried_again_and_comes_when_it_fails_again(tmp_path: Path) -> None:
    made = study()
    key = made.trials()[0].key
    for ends_well in (False, False, True):
        broken["now"] = not ends_well
        run_in_store(made, tmp_path / "s.db", retry_failed=True)
        with open_store(tmp_path / "s.db", plan=made.plan_key) as store:
            assert list(store.tracebacks([key])) == ([] if ends_well else [key])


def test_a_traceback_travels_in_a_file_and_gives_way_to_a_trial_that_is_done(tmp_path: Path) -> None:
    made = study()
    made.run(to=tmp_path / "failed")
    broken["now"] = False
    made.run(to=tmp_path / "done")
    with open_store(tmp_path / "s.db", plan=made.plan_key) as store:
        key = made.trials()[0].key
        merge(tmp_path / "failed", store, made.labels)
        check_told(store.tracebacks([key])[key])
        merge(tmp_path / "done", store, made.labels)
        assert store.tracebacks([key]) == {}


def test_what_the_function_returns_wrongly_needs_no_traceback(tmp_path: Path) -> None:
    def nothing(people: Cohort, seed: int) -> Any:
        return None

    made = study(train=nothing)
    assert [(one.failure is None, one.traceback) for one in made.work.outcomes(made.trials()[:1])] == [(False, None)]


PLAN = """
seeds = 1
group = "sex"
[cohort]
file = "people.csv"
target = "hired"
groups = ["sex"]
split = "split"
[learner]
name = "scikit_learn"
estimator = "sklearn.tree.DecisionTreeClassifier"
settings = { min_samples_leaf = -1 }
"""


def test_status_shows_where_trials_of_a_registered_learner_failed(equipoise: Program, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    plan = write_plan(tmp_path, PLAN)
    assert equipoise("study", "run", plan, "--quiet").code == 0
    plain = equipoise("study", "status", plan).out
    assert "failed 1 times" in plain
    assert "Traceback" not in plain
    told = equipoise("study", "status", plan, "--failures").out
    assert "Traceback (most recent call last)" in told
    assert "scikit_learn.py" in told
