"""Running a study: every trial once, resumed where it was, with leases given back and an honest time left."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise
from equipoise import Study
from equipoise.foundation import BadInput
from equipoise.studies import read_plan
from equipoise.studies.running._environment import available_cores, environment, is_dead, machine, new_owner
from equipoise.studies.running._progress import Standing, duration, seconds_left, standing
from equipoise.studies.running._running import beating, enter, run_in_store, trained, work_through
from equipoise.studies.storage import CellStatus, Status
from equipoise.training import BIN_NAMES
from helpers.cases.plan import PLAN, by_the_mean, cohort, columns, threshold, write_people, write_plan

pytest.importorskip("sqlalchemy")
pytest.importorskip("torch")

from equipoise.studies.storage import Store, open_store


def predictions(store: Store) -> dict[str, list[Any]]:
    """Return everything the store keeps of what trials predicted."""
    return {
        trial.key: [
            values for split in ("dev", "test") for values in store.predictions(trial.key, split).values.tolist()
        ]
        for trial in store.trials()
    }


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_plan(tmp_path_factory.mktemp("plan"))


@pytest.fixture(scope="module")
def whole(plan: Path) -> dict[str, list[Any]]:
    """Return what a study predicts that nothing interrupts."""
    run_in_store(read_plan(plan).study(), plan.with_suffix(".db"))
    with open_store(plan.with_suffix(".db"), plan="plan") as store:
        return predictions(store)


def test_a_study_runs_to_its_end_and_a_second_run_trains_nothing(plan: Path, whole: Any, monkeypatch: Any) -> None:
    study = read_plan(plan).study()
    status = study.status(plan.with_suffix(".db"))
    assert (status.total, status.done, status.waiting, status.running) == (16, 16, 0, 0)
    assert len(whole) == 16
    monkeypatch.setattr(
        "equipoise.studies.running._work.Work.outcomes", lambda *given: pytest.fail("nothing is left to train")
    )
    run_in_store(study, plan.with_suffix(".db"))


@pytest.mark.parametrize("stacks", [0, 1, 3])
def test_an_interrupted_study_goes_on_and_ends_like_an_uninterrupted_one(
    plan: Path, whole: Any, tmp_path: Path, stacks: int, monkeypatch: Any
) -> None:
    study = read_plan(plan).study()
    made = study.work.outcomes
    began: list[int] = []

    def stops(trials: Any, progress: Any = None) -> Any:
        began.append(len(trials))
        if len(began) > stacks:
            raise KeyboardInterrupt
        return made(trials, progress)

    monkeypatch.setattr("equipoise.studies.running._work.Work.outcomes", lambda self, *given: stops(*given))
    with pytest.raises(KeyboardInterrupt):
        run_in_store(study, tmp_path / "s.db")
    monkeypatch.undo()
    with open_store(tmp_path / "s.db", plan="plan") as store:
        status = store.status()
        assert status.done == sum(began[:stacks])
        assert status.running == 0, "leases are given back"
        assert store.owners() == ()
    run_in_store(read_plan(plan).study(), tmp_path / "s.db")
    with open_store(tmp_path / "s.db", plan="plan") as store:
        assert predictions(store) == whole
        assert all(trial.tries <= 2 for trial in store.trials())


def test_two_workers_share_the_work_and_the_result_is_the_same(plan: Path, whole: Any, tmp_path: Path) -> None:
    told: list[Standing] = []
    run_in_store(read_plan(plan).study(), tmp_path / "s.db", workers=2, watcher=told.append)
    assert told[-1].done == 16
    with open_store(tmp_path / "s.db", plan="plan") as store:
        assert predictions(store) == whole
        assert {trial.tries for trial in store.trials()} == {1}


def test_a_stack_of_which_a_part_is_missing_trains_whole_when_rounding_is_deterministic(plan: Path, whole: Any) -> None:
    work = read_plan(plan).study().work
    stack = work.stacks[0]
    (found,) = trained(work, stack.trials[1:2])
    assert found.trial == stack.trials[1]
    both = [*found.predictions["dev"].values.tolist(), *found.predictions["test"].values.tolist()]
    assert both == whole[found.trial.key]


def test_a_dead_process_holds_nothing_back(plan: Path, tmp_path: Path) -> None:
    study = read_plan(plan).study()
    with open_store(tmp_path / "s.db", plan="plan") as store:
        enter(study, store)
        dead = f"{machine()}:{2**22 + 12345}:abcd"
        assert is_dead(dead)
        assert not is_dead(new_owner())
        assert not is_dead("elsewhere/1:1:abcd")
        assert not is_dead("nonsense")
        assert store.lease(dead, 3600)
    run_in_store(study, tmp_path / "s.db")  # an hour's wait, if the lease had to run out
    assert study.status(tmp_path / "s.db").done == 16


def test_a_lease_goes_on_while_its_trials_train(tmp_path: Path, plan: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("equipoise.studies.running._running.BEAT", 0.02)
    clock = {"now": 1000.0}
    study = read_plan(plan).study()
    with open_store(tmp_path / "s.db", plan="plan", clock=lambda: clock["now"]) as store:
        enter(study, store)
        leased = store.lease("one", 60)
        extended: list[int] = []
        monkeypatch.setattr(store, "extend", lambda *given: extended.append(type(store).extend(store, *given)))
        with beating(store, "one"):
            clock["now"] += 50
            seen = len(extended)
            while len(extended) < seen + 2:
                time.sleep(0.01)
            clock["now"] += 50  # a hundred seconds in all: the lease would be over
        assert set(extended) == {len(leased)}
        assert not {one.key for one in leased} & {one.key for one in store.lease("two", 60)}


def test_data_that_changed_under_their_name_are_refused_and_nothing_is_lost(tmp_path: Path) -> None:
    path = write_plan(tmp_path)
    run_in_store(read_plan(path).study(), tmp_path / "s.db")
    write_people(tmp_path / "people.csv", seed=1)
    with pytest.raises(BadInput, match=r"(?s)data of the cohort 'people'.*have changed.*--store NEW.db.*Nothing was"):
        run_in_store(read_plan(path).study(), tmp_path / "s.db")
    with open_store(tmp_path / "s.db", plan="plan") as store:
        assert store.status().done == 16
        assert len(store.trials()) == 16
    # Another split of the same data is another study, and no change of the data.
    write_people(tmp_path / "people.csv")
    path.write_text(PLAN.replace('split = "split"', "dev = 0.2\ntest = 0.2"), encoding="utf-8")
    with pytest.warns(UserWarning, match="0 of 16 stored trials fit this plan: data, features or splits"):
        run_in_store(read_plan(path).study(), tmp_path / "s.db")


def test_a_condition_that_cannot_be_drawn_fails_with_the_reason_and_stops_no_other(tmp_path: Path) -> None:
    data = columns()
    data["race"] = np.where((data["race"] == "y") & (data["hired"] == "yes"), "x", data["race"]).astype(object)
    people = equipoise.Cohort(
        "people", data, target="hired", groups=("race",), features=("a", "b"), favourable="yes", split="split"
    )
    study = Study(
        people, conditions=["as_given", {"name": "interpolation", "mode": "JB", "alpha": 1}],
        learner={"name": "mlp", "width": 4, "epochs": 1}, seeds=2,
    )  # fmt: skip
    check = study.check()
    assert not check.feasible
    assert [cell.name for _, asked in check.conditions for cell in asked.empty] == ["yes / y"]
    run_in_store(study, tmp_path / "s.db")
    with open_store(tmp_path / "s.db", plan="people") as store:
        found = {trial.trial.condition.name: (trial.state, trial.failure or "") for trial in store.trials()}
    assert found["as_given"] == ("done", "")
    state, reason = found["interpolation"]
    assert state == "failed"
    assert "no rows of yes / y" in reason


def test_failed_trials_are_trained_again_when_asked_for(tmp_path: Path) -> None:
    able = {"now": False}

    def sometimes(cohort: Any, seed: int) -> Any:
        if not able["now"]:
            raise RuntimeError("not yet")
        return by_the_mean(cohort, seed)

    def study() -> Study:
        return Study(cohort(), group="sex", train=sometimes, version=1, seeds=2)

    run_in_store(study(), tmp_path / "s.db")
    able["now"] = True
    run_in_store(study(), tmp_path / "s.db")
    assert study().status(tmp_path / "s.db").failed == 2
    run_in_store(study(), tmp_path / "s.db", retry_failed=True)
    assert study().status(tmp_path / "s.db").done == 2


def test_a_worker_waits_for_what_others_hold_and_stops_when_they_are_done(tmp_path: Path) -> None:
    study = Study(cohort(), group="sex", train=threshold, version=1, seeds=1)
    with open_store(tmp_path / "s.db", plan="people") as store:
        enter(study, store)
        leased = store.lease("elsewhere/1:1:a", 3600)
        told: list[Standing] = []

        def watcher(seen: Standing) -> None:
            told.append(seen)
            if len(told) == 2:
                store.record("elsewhere/1:1:a", trained(study.work, leased), study.labels)

        work_through(study.work, study.labels, store, "me", watcher=watcher)
        assert told[0].words == "waiting for 1 trials that another worker holds"
        assert told[-1].done == 1


# The time left.


def test_the_time_left_is_unknown_until_a_trial_is_done_and_then_measured_by_cell() -> None:
    begun = Status((CellStatus("a", waiting=4), CellStatus("b", waiting=4, running=2)))
    assert seconds_left(begun) == (None, 10)
    assert standing(begun).words == "time left: known once a trial is done"
    part = Status((CellStatus("a", waiting=2, done=2, seconds=2.0), CellStatus("b", waiting=4)))
    assert seconds_left(part) == (2 * 1.0 + 4 * 1.0, 4)
    assert standing(part).words == "about 6 s left"
    both = Status(
        (CellStatus("a", waiting=2, done=2, seconds=2.0), CellStatus("b", waiting=3, done=1, failed=1, seconds=20.0))
    )
    assert seconds_left(both, workers=2) == ((2 * 1.0 + 3 * 10.0) / 2, 0)
    assert standing(both).words == "32 s left"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "less than 1 s"), (59, "59 s"), (150, "2 min"), (3600, "1 h"), (7800, "2 h 10 min"), (3e5, "3.5 days")],
)
def test_durations_are_said_as_people_say_them(seconds: float, words: str) -> None:
    assert duration(seconds) == words


# Other learners and tasks.


def test_an_estimator_is_a_learner_and_refuses_what_acts_during_training(tmp_path: Path) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    given = {"group": "sex", "seeds": 1, "learner": linear_model.LogisticRegression(C=0.5)}
    study = Study(cohort(), treatments=["untreated", "reweighting", "inlp"], **given)
    assert study.learners[0].named.name == "scikit_learn"
    assert study.learners[0].named.settings["settings"]["C"] == 0.5
    run_in_store(study, tmp_path / "s.db")
    assert study.status(tmp_path / "s.db").done == 4  # INLP brings its control
    with pytest.raises(
        BadInput,
        match=r"(?s)'adversarial' does not fit the learner 'scikit_learn': it is not trained step by.*learner = 'mlp'",
    ):
        Study(cohort(), treatments=["adversarial"], **given)
    with pytest.raises(BadInput, match="The learner is 3"):
        Study(cohort(), group="sex", learner=3)


@pytest.mark.parametrize("quantiles", [4, 10])
def test_a_regression_is_studied_under_conditions_on_parts_of_its_target(quantiles: int, tmp_path: Path) -> None:
    data = {**columns(), "hired": columns()["a"] * 2 + columns()["b"]}
    people = equipoise.Cohort(
        "n", data, "hired", ("sex",), ("a", "b"), split="split", task="regression", quantiles=quantiles
    )
    study = Study(
        people, conditions=["as_given", {"name": "interpolation", "mode": "JB", "alpha": 1}], seeds=1,
        learner={"name": "mlp", "width": 4, "epochs": 2},
    )  # fmt: skip
    assert study.dataset.classes == BIN_NAMES[quantiles]
    run_in_store(study, tmp_path / "s.db")
    assert study.status(tmp_path / "s.db").done == 2
    counts = np.bincount(study.dataset.train.cell[study.work.draws[list(study.work.draws)[1]]])
    assert np.ptp(counts) <= 1
    quarters = Study(replace(people, quantiles=4), seeds=1, learner={"name": "mlp", "width": 4, "epochs": 2})
    assert (quarters.fingerprint == study.fingerprint) is (quantiles == 4)


def test_a_plan_says_into_how_many_parts_a_target_is_cut(tmp_path: Path) -> None:
    write_people(tmp_path / "people.csv")
    plan = tmp_path / "plan.toml"

    def planned(task: str, quantiles: int) -> equipoise.Cohort:
        roles = f'file = "people.csv"\ntarget = "a"\ngroups = "sex"\ntask = "{task}"\nquantiles = {quantiles}'
        plan.write_text(f"[cohort]\n{roles}\n", encoding="utf-8")
        return read_plan(plan).cohort()

    assert planned("regression", 10).quantiles == 10
    with pytest.raises(BadInput, match=r"(?s)plan.toml.*quantiles is 10, and the cohort is a class task"):
        planned("class", 10)
    with pytest.raises(BadInput, match=r"(?s)plan.toml.*quantiles is 5.*4 or 10"):
        planned("regression", 5)


def test_treatments_compose_in_order(tmp_path: Path) -> None:
    how = {"group": "sex", "seeds": 1, "learner": {"name": "mlp", "width": 4, "epochs": 1}}
    study = Study(cohort(), treatments=[["downsampling", "adversarial"], ["adversarial", "downsampling"]], **how)
    one, other = study.trials()
    assert one.treatment == "downsampling + adversarial"
    assert one.key != other.key
    run_in_store(study, tmp_path / "s.db")
    assert study.status(tmp_path / "s.db").done == 2


def test_a_network_that_cannot_travel_trains_here(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")

    def linear(features: int, classes: int) -> Any:
        return torch.nn.Linear(features, classes)

    linear.__qualname__ = "linear"  # as in a notebook: a name at the top of a module that other processes do not have
    study = Study(cohort(), group="sex", seeds=2, learner={"name": "module", "factory": linear, "epochs": 1})
    with pytest.warns(UserWarning, match=r"linear exists only in this process: move it to a module.* One worker"):
        run_in_store(study, tmp_path / "s.db", workers=2)
    assert study.status(tmp_path / "s.db").done == 2


def test_two_plans_of_one_name_stand_side_by_side_in_a_store(tmp_path: Path) -> None:
    store = tmp_path / "study.db"
    how: dict[str, Any] = {"version": 1, "group": "sex"}
    first = Study(cohort(), train=threshold, seeds=3, **how)
    second = Study(cohort(), train=by_the_mean, seeds=2, **how)
    first.run(store)
    assert second.status(store).done == 0, "trials of another plan are not counted"
    with pytest.raises(BadInput, match=r"'people' was not run in .* as it is now.* 0 of 3 stored trials fit"):
        second.result(store)
    with pytest.warns(UserWarning, match="The plan has changed: 0 of 3 stored trials fit this plan: treatment "):
        second.run(store)
    for study, number in ((first, 3), (second, 2)):
        assert study.status(store).done == number
        assert {cell.treatment for cell in study.result(store).cells} == {study.functions[0].name}


def test_a_report_of_a_changed_plan_that_is_not_done_says_which_trials_fit(tmp_path: Path) -> None:
    how: dict[str, Any] = {"version": 1, "group": "sex", "seeds": 2, "train": threshold}
    run_in_store(Study(cohort(), size=40, **how), tmp_path / "s.db")
    larger = Study(cohort(), size=48, **how)
    with open_store(tmp_path / "s.db", plan=larger.plan_key) as store:
        enter(larger, store)
        first = store.lease("me", 60)
        assert len(first) == 1
        store.record("me", trained(larger.work, first), larger.labels)
        store.give_back("me")
    notes = larger.result(tmp_path / "s.db").notes
    assert any("1 of 3 stored trials fit this plan: size 40 -> 48" in note for note in notes)


def test_a_plan_goes_on_while_another_of_its_name_is_run_in_the_same_store(tmp_path: Path) -> None:
    """The one used to take the other's place, which then asked for trials that the first plan does not have."""
    how: dict[str, Any] = {"version": 1, "group": "sex"}
    first = Study(cohort(), train=threshold, seeds=2, **how)
    second = Study(cohort(), train=by_the_mean, seeds=2, **how)
    with open_store(tmp_path / "s.db", plan=first.plan_key) as store:
        enter(first, store)
        run_in_store(second, tmp_path / "s.db")
        work_through(first.work, first.labels, store, new_owner())
        assert store.status().done == 2
    assert second.status(tmp_path / "s.db").done == 2


def test_a_store_that_knows_plans_by_their_name_alone_is_still_reported(tmp_path: Path) -> None:
    study = Study(cohort(), train=threshold, version=1, group="sex", seeds=2)
    with open_store(tmp_path / "s.db", plan=study.name) as store:  # as versions before 0.5 did
        enter(study, store)
        work_through(study.work, study.labels, store, new_owner())
    assert study.status(tmp_path / "s.db").done == 2
    assert len(study.result(tmp_path / "s.db").cells) == 1
    run_in_store(study, tmp_path / "s.db")
    with open_store(tmp_path / "s.db", plan=study.plan_key) as store:
        assert store.plan_name == study.name


def test_more_seeds_are_no_change_that_loses_trials(tmp_path: Path) -> None:
    how: dict[str, Any] = {"version": 1, "group": "sex"}
    run_in_store(Study(cohort(), train=threshold, seeds=2, **how), tmp_path / "s.db")
    more = Study(cohort(), train=threshold, seeds=4, **how)
    assert (more.status(tmp_path / "s.db").done, more.status(tmp_path / "s.db").waiting) == (2, 2)
    assert more.check(tmp_path / "s.db").change is None
    run_in_store(more, tmp_path / "s.db")
    assert more.status(tmp_path / "s.db").done == 4


def test_what_is_given_back_while_a_worker_looks_is_leased_again(tmp_path: Path, monkeypatch: Any) -> None:
    """Between an empty lease and the count of what is left, another worker may die."""
    study = Study(cohort(), train=threshold, version=1, group="sex", seeds=2)
    with open_store(tmp_path / "study.db", plan=study.name) as store:
        enter(study, store)
        lease, asked = store.lease, []

        def late(owner: str, seconds: float) -> Any:
            asked.append(owner)
            return lease(owner, seconds) if len(asked) > 1 else ()

        monkeypatch.setattr(store, "lease", late)
        monkeypatch.setattr("equipoise.studies.running._running.PAUSE", 0.01)
        work_through(study.work, study.labels, store, new_owner())
        assert store.status().done == 2


def test_a_trial_that_the_plan_does_not_have_is_refused_in_words() -> None:
    first = Study(cohort(), train=threshold, version=1, group="sex", seeds=1)
    second = Study(cohort(), train=threshold, version=2, group="sex", seeds=1)
    with pytest.raises(BadInput, match="a trial that this plan does not have"):
        trained(first.work, second.trials())


def test_runs_that_are_copies_of_one_run_decide_nothing(tmp_path: Path) -> None:
    study = Study(cohort(), train=[threshold, by_the_mean], version=1, group="sex", seeds=1, repeats=6)
    found = study.run(tmp_path / "study.db")
    assert found is not None
    compared = [record for record in found.records if record.verdict is not None]
    assert {record.verdict for record in compared} == {"undecided"}
    assert all("the same to the last digit" in str(record.reason) for record in compared)


def test_the_number_of_threads_does_not_depend_on_what_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert environment("cpu")["threads"] == 3
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert environment("cpu")["threads"] == available_cores()
