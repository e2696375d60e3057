"""What goes into a store comes out of it: plans, leases, results, status, readouts and predictions."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.foundation import BadInput
from equipoise.studies.storage._labels import readout
from equipoise.training import Predicted
from helpers.cases.store import Clock, Predicting, failed, planned, trial, truth

DONE = Predicting()


def run(store: Any, owner: str = "worker", making: Predicting = DONE) -> int:
    """Lease and record until nothing is left; return how many trials were run."""
    number = 0
    while leased := store.lease(owner, 60):
        number += len(store.record(owner, [making(one) for one in leased], making.truth).new)
    return number


def test_planning_again_changes_nothing(store: Any) -> None:
    plan = planned(7)
    assert store.plan(plan) == 7
    assert store.plan(plan) == 0
    assert [(kept.trial, kept.stack, kept.cell) for kept in store.trials()] == plan
    assert {kept.state for kept in store.trials()} == {"waiting"}


def test_a_stored_trial_has_the_key_of_the_trial_that_was_planned(store: Any) -> None:
    plan = planned(3)
    store.plan(plan)
    for (given, _, _), kept in zip(plan, store.trials(), strict=True):
        assert kept.key == given.key == kept.trial.key


def test_a_plan_that_grows_keeps_what_is_done(store: Any) -> None:
    store.plan(planned(4))
    run(store)
    assert store.plan([*planned(4), (trial(99), 7, "cell 2")]) == 1
    assert (store.status().done, store.status().waiting) == (4, 1)
    assert [one.seed for one in store.lease("worker", 60)] == [99]


def test_a_trial_that_left_the_plan_is_kept_out_of_sight(store: Any) -> None:
    store.plan(planned(4))
    run(store)
    store.plan(planned(4)[:2])
    assert store.status().total == 2
    assert store.plan(planned(4)) == 0
    assert store.status().done == 4


def test_a_trial_twice_in_a_plan_is_refused(store: Any) -> None:
    with pytest.raises(BadInput, match="one trial twice: reweighting with seed 1"):
        store.plan([(trial(1), 0, "a"), (trial(2), 0, "a"), (trial(1), 1, "b")])
    assert store.status().total == 0


def test_plans_that_share_a_store_share_trials_and_nothing_else(opening: Any) -> None:
    first, second = opening(plan="first"), opening(plan="second")
    first.plan([(trial(1), 0, "a"), (trial(2), 0, "a")])
    second.plan([(trial(2), 5, "b"), (trial(3), 6, "b")])
    assert [one.seed for one in first.lease("one", 60)] == [1, 2]
    assert [one.seed for one in second.lease("two", 60)] == [3]
    assert second.lease("two", 60) == ()
    first.record("one", [DONE(trial(1)), DONE(trial(2))], DONE.truth)
    assert [(cell.cell, cell.done, cell.running) for cell in second.status().cells] == [("b", 1, 1)]
    assert second.readouts("test").keys == (trial(2).key,)


def test_a_stack_is_leased_whole_and_in_the_order_of_the_plan(store: Any) -> None:
    plan = [(trial(seed), stack, "a") for seed, stack in ((5, 1), (4, 0), (3, 1), (2, 0), (1, 1))]
    store.plan(plan)
    assert [one.seed for one in store.lease("one", 60)] == [4, 2]
    assert [one.seed for one in store.lease("two", 60)] == [5, 3, 1]
    assert store.lease("three", 60) == ()
    assert store.status().running == 5


def test_what_is_recorded_is_read_back(opening: Any) -> None:
    store = opening()
    store.plan(planned(5))
    run(store)
    for kept in opening(read_only=True).trials({"done"}):
        given = DONE(kept.trial)
        assert (kept.seconds, kept.best_epoch, kept.notes, kept.failure, kept.tries) == (1.5, 2, ("a note",), None, 1)
        assert repr(kept.history) == repr(given.history)  # an undefined fairness is not equal to itself
        assert store.environments()[kept.environment] == given.environment
        for split in ("dev", "test"):
            read = store.predictions(kept.key, split)
            np.testing.assert_array_equal(read.values, given.predictions[split].values)
            assert read.values.dtype == np.int64
            assert read.scores is None


def test_readouts_of_all_trials_are_stacked_in_the_order_of_the_plan(store: Any) -> None:
    store.plan(planned(7))
    run(store)
    for split in ("dev", "test"):
        read = store.readouts(split)
        assert read.names == DONE.truth.names
        assert read.keys == tuple(one.key for one, _, _ in planned(7))
        for counts, (one, _, _) in zip(read.counts, planned(7), strict=True):
            np.testing.assert_array_equal(counts, readout(DONE(one).predictions[split], DONE.truth, split))
    with pytest.raises(BadInput, match="no readouts of the split 'train'"):
        store.readouts("train")


def test_an_empty_plan_has_empty_answers(store: Any) -> None:
    assert store.lease("worker", 60) == ()
    assert store.trials() == ()
    assert store.status().total == 0
    assert store.readouts("dev").counts.shape[0] == 0


@pytest.mark.parametrize("classes", [2, 3, 300])
def test_scores_are_kept(store: Any, classes: int) -> None:
    making = Predicting(truth(classes=classes))
    given = making(trial(), scores=True)
    store.add([given], making.truth)
    read = store.predictions(trial().key, "test")
    np.testing.assert_allclose(read.scores, given.predictions["test"].scores, rtol=0, atol=3e-7)
    np.testing.assert_array_equal(read.values, given.predictions["test"].values)
    assert store.predictions_of([trial().key], "test", scores=False)[trial().key].scores is None


def test_scores_that_are_no_probabilities_are_kept_to_the_last_bit(store: Any) -> None:
    making = Predicting(truth(classes=2))
    given = making(trial())
    logits = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    predictions = {split: Predicted(prediction.values, logits) for split, prediction in given.predictions.items()}
    store.add([replace(given, predictions=predictions)], making.truth)
    np.testing.assert_array_equal(store.predictions(trial().key, "dev").scores, logits)


def test_a_regression_keeps_sums_and_numbers(store: Any) -> None:
    making = Predicting(truth(task="regression"))
    store.plan(planned(3))
    run(store, making=making)
    read, given = store.readouts("test"), making(trial(0)).predictions["test"]
    np.testing.assert_array_equal(read.counts[0], readout(given, making.truth, "test"))
    np.testing.assert_array_equal(store.predictions(trial(0).key, "test").values, given.values)


def test_numbers_that_are_not_finite_make_a_failed_trial(store: Any) -> None:
    making = Predicting(truth(task="regression"))
    given = making(trial())
    broken = {
        split: Predicted(np.full_like(prediction.values, np.nan)) for split, prediction in given.predictions.items()
    }
    store.plan(planned(1))
    store.lease("worker", 60)
    store.record("worker", [replace(given, predictions=broken)], making.truth)
    assert [kept.failure for kept in store.trials({"failed"})] == [
        "Some predicted numbers are not finite: the training did not converge."
    ]


def test_a_finished_trial_is_never_overwritten(store: Any) -> None:
    store.plan(planned(2))
    leased = store.lease("worker", 60)
    store.record("worker", [DONE(one) for one in leased], DONE.truth)
    written = store.record("worker", [DONE(one, seed=99, seconds=9.0) for one in leased], DONE.truth)
    assert written.new == ()
    assert set(written.refused.values()) == {"it is done already"}
    assert {kept.seconds for kept in store.trials()} == {1.5}


def test_what_was_never_leased_cannot_be_recorded(store: Any) -> None:
    store.plan(planned(1))
    written = store.record("worker", [DONE(trial(0)), DONE(trial(50))], DONE.truth)
    assert written.new == ()
    assert written.refused == {
        trial(0).key: "worker does not hold its lease",
        trial(50).key: "it is not in the store",
    }
    assert store.status().waiting == 1


def test_failed_trials_wait_again_when_they_are_forgotten(store: Any) -> None:
    store.plan(planned(3))
    leased = store.lease("worker", 60)
    store.record("worker", [DONE(leased[0]), failed(leased[1]), failed(leased[2])], DONE.truth)
    assert [kept.failure for kept in store.trials({"failed"})] == ["the cell (b, Female) is empty"] * 2
    assert store.lease("worker", 60) == ()
    assert store.forget_failed() == 2
    assert [kept.failure for kept in store.trials()] == [None] * 3
    assert store.lease("worker", 60) == leased[1:]


def test_status_counts_by_cell_with_seconds_and_lapsed_leases(store: Any, clock: Clock) -> None:
    store.plan(planned(12))
    first = store.lease("one", 60)
    store.record("one", [DONE(first[0]), failed(first[1]), DONE(first[2])], DONE.truth)
    store.lease("two", 10)
    store.lease("three", 60)
    clock.now += 20
    status = store.status()
    assert [(c.cell, c.waiting, c.running, c.done, c.failed, c.lapsed, c.seconds) for c in status.cells] == [
        ("cell 0", 0, 3, 2, 1, 3, 3.5),
        ("cell 1", 3, 3, 0, 0, 0, 0.0),
    ]
    assert (status.total, status.waiting, status.running, status.done, status.failed) == (12, 3, 6, 2, 1)
    assert (status.lapsed, status.seconds) == (3, 3.5)


def test_a_merged_trial_finishes_one_that_waits_or_runs(store: Any) -> None:
    store.plan(planned(4, stack=2))
    leased = store.lease("worker", 60)
    both = [DONE(leased[0], seconds=7.0), DONE(trial(1, "untreated"), seconds=7.0)]
    assert store.add(both, DONE.truth).new == tuple(one.trial.key for one in both)
    written = store.record("worker", [DONE(one) for one in leased], DONE.truth)
    assert written.new == (leased[1].key,)
    assert written.refused == {leased[0].key: "it is done already"}
    assert sorted(kept.seconds for kept in store.trials({"done"})) == [1.5, 7.0, 7.0]


def test_adding_twice_adds_once_and_a_failure_gives_way(store: Any) -> None:
    assert store.add([failed(trial())], DONE.truth).new == (trial().key,)
    assert store.add([failed(trial(), "again")], DONE.truth).existing == (trial().key,)
    assert store.add([DONE(trial()), DONE(trial(), seed=8)], DONE.truth).new == (trial().key,)
    assert store.add([DONE(trial(), seed=9), failed(trial())], DONE.truth).existing == (trial().key,)
    np.testing.assert_array_equal(store.predictions(trial().key, "dev").values, DONE(trial()).predictions["dev"].values)
    store.plan(planned(1))
    assert (store.status().done, store.trials()[0].failure) == (1, None)


def test_what_does_not_fit_the_truth_is_refused_before_anything_is_written(store: Any) -> None:
    store.plan(planned(2))
    leased = store.lease("worker", 60)
    other = Predicting(truth(rows=39))
    with pytest.raises(BadInput, match=r"shape \(39,\) for the dev rows, which are 40"):
        store.record("worker", [DONE(leased[0]), other(leased[1])], DONE.truth)
    wide = Predicting(truth(classes=9))
    with pytest.raises(BadInput, match="codes of the 3 classes, 0 to 2"):
        store.record("worker", [wide(one) for one in leased], DONE.truth)
    with pytest.raises(BadInput, match="no predictions for test"):
        store.record(
            "worker", [replace(DONE(leased[0]), predictions={"dev": Predicted(np.zeros(40, int))})], DONE.truth
        )
    with pytest.raises(BadInput, match="trained on another cohort"):
        store.record("worker", [DONE(leased[0])], truth(cohort="sha256:" + "cd" * 32))
    assert (store.status().running, store.status().done) == (2, 0)
    written = store.add([other(trial(7)), DONE(trial(8))], DONE.truth)
    assert written.new == (trial(8).key,)
    assert "shape (39,)" in written.refused[trial(7).key]


def test_another_truth_of_the_same_cohort_is_refused(store: Any) -> None:
    store.add([DONE(trial(1))], DONE.truth)
    changed = Predicting(truth(seed=1))
    with pytest.raises(BadInput, match="with other targets, groups or classes"):
        store.add([changed(trial(2))], changed.truth)
    store.plan([(trial(2), 0, "a")])
    assert store.status().waiting == 1


def test_trials_of_two_cohorts_are_not_read_as_one(store: Any) -> None:
    elsewhere = Predicting(truth(cohort="sha256:" + "cd" * 32))
    other = trial(2, cohort=elsewhere.truth.cohort)
    store.add([DONE(trial(1))], DONE.truth)
    store.add([elsewhere(other)], elsewhere.truth)
    store.plan([(trial(1), 0, "a"), (other, 0, "a")])
    with pytest.raises(BadInput, match="counted on 2 cohorts"):
        store.readouts("dev")


def test_predictions_that_are_not_there_are_named(store: Any) -> None:
    store.plan(planned(1))
    with pytest.raises(BadInput, match=f"no predictions on 'dev' of 1 trials, such as {trial(0).key}"):
        store.predictions(trial(0).key, "dev")
    with pytest.raises(BadInput, match="Unknown state asleep"):
        store.trials({"asleep"})


def test_large_predictions_go_to_files_that_are_checked(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("equipoise.studies.storage._artefacts.MOST_IN_DATABASE", 50)
    given = DONE(trial(), scores=True)
    store.add([given], DONE.truth)
    files = [path for path in (tmp_path / "artefacts").rglob("*") if path.is_file()]
    assert len(files) == 4
    read = store.predictions(trial().key, "test")
    np.testing.assert_array_equal(read.values, given.predictions["test"].values)
    np.testing.assert_array_equal(read.scores, given.predictions["test"].scores)
    damaged = next(path for path in files if ".test." in path.name and "scores" not in path.name)
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    with pytest.raises(BadInput, match="is not what was written there"):
        store.predictions(trial().key, "test")
    damaged.unlink()
    with pytest.raises(BadInput, match="cannot be read"):
        store.predictions(trial().key, "test")


def test_a_row_that_was_never_written_leaves_only_a_file_behind(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash between the file and the row: the file is there before the row, and the next try uses it."""
    monkeypatch.setattr("equipoise.studies.storage._artefacts.MOST_IN_DATABASE", 50)
    store.add([DONE(trial(1))], DONE.truth)
    changed = Predicting(truth(seed=1))
    with pytest.raises(BadInput, match="with other targets"):
        store.add([changed(trial(2))], changed.truth)
    assert len([path for path in (tmp_path / "artefacts").rglob("*") if path.is_file()]) == 4
    assert store.add([DONE(trial(2))], DONE.truth).new == (trial(2).key,)
    assert store.predictions(trial(2).key, "dev").values.shape == (40,)


def test_the_store_can_be_imported_without_the_extra() -> None:
    code = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("sqlalchemy", "torch"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocker())
from equipoise.studies.running import _folder as merging
from equipoise.studies.running import _folder as trial_files
from equipoise.studies.storage import _store as store
from equipoise.foundation import MissingExtra
try:
    store.open_store("study.db")
except MissingExtra as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install -c constraints.txt -e '.[train]'" in said.stdout


def test_forms_of_a_plan_are_found_by_key_by_name_and_by_the_trials_they_have(opening: Any) -> None:
    """A plan before and after a change; the names of others begin with its own."""
    from equipoise.studies.storage import plan_key

    few, many = [trial(seed) for seed in range(2)], [trial(seed) for seed in range(4)]
    for name, own in (("plan", many), ("plan", few), ("plan_b", many), ("plan#b", few[:1])):
        key = plan_key(name, [one.key for one in own])
        opening(plan=key).plan([(one, 0, "cell") for one in own])
        assert opening(plan=key).status().total == opening(plan=name).status().total == len(own)
    keys = [one.key for one in few[:1]]
    store = opening(plan=plan_key("plan", keys))
    assert not store.is_planned()
    assert store.read_within("plan", keys)
    assert store.status().total == 2, "the smallest that has them"
    assert not store.read_within("plan", [trial(9).key])
    assert store.done_under_name("plan") == ()
