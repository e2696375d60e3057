"""The door to training: outcomes in order, failures that stay with their job, early stopping, what is never seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

from equipoise import BadInput
from equipoise.training import (
    COLLAPSED,
    UNDEFINED,
    Afterwards,
    Choice,
    Job,
    Parameter,
    Predicted,
    Progress,
    Scores,
    Settings,
    Table,
    TrainingCallback,
    Treatment,
    learner_of,
    prepare_job,
    scores_of,
    stack_size,
    train,
)
from equipoise.training import _stack_backend as stacked
from equipoise.training import _trainer as trainer
from equipoise.training._learner import size_for
from helpers.cases.training import Learns, Rival, jobs_of, planted

torch = pytest.importorskip("torch")

SMALL = Learns("mlp", {"width": 8, "layers": 1, "batch_size": 64, "epochs": 6, "learning_rate": 2e-2})


class Half(Treatment):
    """Trains on half of the rows."""

    def choose(self, rows: Any, generator: Any) -> Any:
        return np.sort(generator.permutation(len(rows.cell))[: len(rows.cell) // 2])


class Double(Treatment):
    """Weighs rows of the first class twice."""

    def weigh(self, rows: Any) -> Any:
        return 1.0 + (rows.cell == 0)


class Picky(Treatment):
    """Fails for odd seeds, when the whole stack is made."""

    @classmethod
    def during(cls, trials: Any, context: Any) -> TrainingCallback:
        if any(seed % 2 for seed in context.seeds):
            raise BadInput("The cell (class 1, group 1) is empty")
        return TrainingCallback()


class Zeros(Treatment):
    """Says class 0 of everybody, after training."""

    parameters: ClassVar[Table] = {"fails": Choice("whether it fails", False)}

    def after(self, found: Any) -> Afterwards:
        if self.values["fails"]:
            raise RuntimeError("no")
        assert found.test.target is None
        assert found.train.inputs.shape == (len(found.train), 8)
        zeros = [Predicted(np.zeros(len(rows), dtype=np.int64)) for rows in (found.dev, found.test)]
        return Afterwards(*zeros, notes=(f"{len(found.train)} rows",))


def test_a_planted_signal_is_learnt_and_predictions_are_those_of_the_best_epoch() -> None:
    dataset = planted()
    (ended,) = train(dataset, SMALL, jobs_of(dataset, [0]))
    assert ended.failure is None
    assert ended.seconds > 0
    found = scores_of(ended.dev.values[None], dataset.dev, 2, 2, "class")  # type: ignore[union-attr]
    best = ended.history[ended.best_epoch - 1]
    assert (found.performance[0], found.fairness[0]) == (best.performance, best.fairness)
    assert best.performance > 0.8
    distances = [np.hypot(1 - one.performance, 1 - one.fairness) for one in ended.history]
    assert ended.best_epoch == 1 + int(np.argmin(distances))
    assert ended.dev.scores.shape == (120, 2)  # type: ignore[union-attr]
    assert np.allclose(ended.test.scores.sum(axis=1), 1)  # type: ignore[union-attr]
    assert (ended.test.scores.argmax(axis=1) == ended.test.values).all()  # type: ignore[union-attr]


def test_selection_by_performance_takes_the_most_accurate_epoch() -> None:
    dataset = planted()
    (ended,) = train(dataset, SMALL, jobs_of(dataset, [0]), Settings(selection="performance"))
    assert ended.best_epoch == 1 + int(np.argmax([one.performance for one in ended.history]))


def test_the_last_epoch_is_kept_without_stopping_where_the_selection_is_last() -> None:
    dataset = planted()
    steep = replace(SMALL, settings={**SMALL.settings, "epochs": 12, "patience": 1, "learning_rate": 0.5})
    ended = train(dataset, steep, jobs_of(dataset, range(4)), Settings(selection="last"))
    assert [(len(one.history), one.best_epoch) for one in ended] == [(12, 12)] * 4
    for one in ended:
        found = scores_of(one.dev.values[None], dataset.dev, 2, 2, "class")  # type: ignore[union-attr]
        assert (found.performance[0], found.fairness[0]) == (one.history[-1].performance, one.history[-1].fairness)
    # The others do stop here, and keep another epoch.
    chosen = train(dataset, steep, jobs_of(dataset, range(4)), Settings(selection="performance"))
    assert any(one.best_epoch < len(one.history) < 12 for one in chosen)


def test_a_trial_that_diverges_has_no_last_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = planted()
    plain, looks = stacked.StackedNetworks.read, []

    def read(self: Any, trials: Any) -> Any:
        reading = plain(self, trials)
        looks.append(0)
        return replace(reading, losses=[np.nan], finite=[False]) if len(looks) > 3 else reading

    monkeypatch.setattr(stacked.StackedNetworks, "read", read)
    (ended,) = train(dataset, SMALL, jobs_of(dataset, [0]), Settings(selection="last"))
    assert ended.failure is not None
    assert "no longer finite after epoch 4" in ended.failure
    assert (len(ended.history), ended.best_epoch, ended.dev, ended.test) == (3, 0, None, None)


def test_every_trial_stops_on_its_own_and_ends_as_it_would_alone() -> None:
    dataset = planted()
    patient = replace(SMALL, settings={**SMALL.settings, "epochs": 25, "patience": 2})
    jobs = jobs_of(dataset, range(8), [Rival()])
    settings = Settings(precision="float64")
    together = train(dataset, patient, jobs, settings, stack=8)
    lengths = [len(one.history) for one in together]
    assert len(set(lengths)) > 2
    for ended in together:
        waited = len(ended.history) - ended.best_epoch
        assert waited == 2 or (len(ended.history) == 25 and waited < 2)
        assert [one.number for one in ended.history] == list(range(1, len(ended.history) + 1))
    for ended, alone in zip(together, train(dataset, patient, jobs, settings, stack=1), strict=True):
        assert (len(ended.history), ended.best_epoch) == (len(alone.history), alone.best_epoch)
        assert np.allclose(ended.test.scores, alone.test.scores, atol=1e-6)  # type: ignore[union-attr]


def test_a_regression_is_learnt_in_its_own_units() -> None:
    dataset = planted(task="regression")
    (ended,) = train(dataset, Learns("mlp", {"epochs": 20}), jobs_of(dataset, [0]))
    assert ended.failure is None
    assert ended.history[ended.best_epoch - 1].performance > 0.9
    assert 40 < ended.test.values.mean() < 65  # type: ignore[union-attr]
    assert ended.test.scores is None  # type: ignore[union-attr]


def test_the_learners_begin_with_the_papers_recipes() -> None:
    mlp = learner_of("mlp")
    plain = {"layers": 2, "width": 300, "activation": "tanh", "learning_rate": 3e-3, "weight_decay": 0.0,
             "batch_size": 1024, "epochs": 100, "patience": 5}  # fmt: skip
    assert mlp.with_defaults({}) == plain
    changed = {"layers": 1, "width": 200, "learning_rate": 7e-4, "weight_decay": 1e-3, "batch_size": 64}
    assert mlp.with_defaults({}, "regression") == {**plain, **changed}
    assert mlp.with_defaults({"width": 5}, "regression")["width"] == 5
    with pytest.raises(BadInput, match="did you mean 'width'"):
        mlp.with_defaults({"widht": 3})


def test_one_failing_job_stops_no_other() -> None:
    dataset = planted()
    jobs = [
        *jobs_of(dataset, [0, 1, 2, 3, 4], [Picky()]),
        replace(jobs_of(dataset, [5])[0], rows=np.array([], dtype=np.int64)),
        replace(jobs_of(dataset, [6])[0], rows=np.array([9_999])),
        jobs_of(dataset, [7], learner={"width": -1})[0],
        jobs_of(dataset, [8])[0],
    ]
    ended = train(dataset, SMALL, jobs)
    failures = [one.failure for one in ended]
    assert [failure is None for failure in failures] == [True, False, True, False, True, False, False, False, True]
    assert failures[1].startswith("The cell (class 1, group 1) is empty")  # type: ignore[union-attr]
    assert "no training rows" in failures[5]  # type: ignore[operator]
    assert "numbered 9999" in failures[6]  # type: ignore[operator]
    assert "width is -1" in failures[7]  # type: ignore[operator]
    assert all(one.dev is None for one in ended if one.failure)


def test_a_trial_that_diverges_fails_alone_and_says_so() -> None:
    dataset = planted(task="regression")
    jobs = [*jobs_of(dataset, [0], learner={"learning_rate": 1e30}), *jobs_of(dataset, [1])]
    wild, calm = train(dataset, Learns("mlp", {"width": 8, "epochs": 5}), jobs)
    assert "The loss was no longer a finite number in epoch 1, step 2 of 4" in (wild.failure or "")
    assert (wild.dev, wild.test, wild.notes) == (None, None, ())
    assert calm.failure is None
    assert len(calm.history) == 5


def test_treatments_before_training_compose_in_order() -> None:
    dataset = planted()
    first = prepare_job(jobs_of(dataset, [0], [Double(), Half(), Double()])[0], dataset, {})
    again = prepare_job(jobs_of(dataset, [0], [Double(), Half(), Double()])[0], dataset, {})
    assert len(first.rows) == 120
    assert np.array_equal(first.rows, again.rows)
    expected = np.where(dataset.train.cell[first.rows] == 0, 4.0, 1.0)  # type: ignore[index]
    assert np.array_equal(first.weights, expected)  # type: ignore[arg-type]
    other = prepare_job(jobs_of(dataset, [1], [Half()])[0], dataset, {})
    assert not np.array_equal(first.rows, other.rows)
    assert other.weights is None


def test_treatments_after_training_replace_the_predictions_and_fail_by_themselves() -> None:
    dataset = planted()
    jobs = [jobs_of(dataset, [0], [Half(), Zeros()])[0], jobs_of(dataset, [1], [Half(), Zeros(fails=True)])[0]]
    told, broken = train(dataset, SMALL, jobs)
    assert not told.test.values.any()  # type: ignore[union-attr]
    assert told.notes == ("120 rows", COLLAPSED)
    assert broken.failure == "RuntimeError: no"
    (two,) = train(dataset, SMALL, jobs_of(dataset, [0], [Zeros(), Zeros()]))
    assert "Two treatments act after training" in (two.failure or "")


class Counted(Treatment):
    """Counts how many trials train together."""

    sizes: ClassVar[list[int]] = []
    parameters: ClassVar[Table] = {
        "kind": Choice("a choice", "a", ("a", "b")),
        "number": Parameter("a whole number", 1, 1, 1, 9, integer=True),
        "strength": Parameter("a number", 1.0, 0.0, 0.1, 9.0),
    }

    @classmethod
    def during(cls, trials: Any, context: Any) -> TrainingCallback:
        cls.sizes.append(len(trials))
        return TrainingCallback()


def test_jobs_train_together_where_only_seeds_and_real_numbers_differ() -> None:
    dataset = planted()
    Counted.sizes.clear()
    rows = np.arange(200)
    jobs = [
        *(Job(rows, seed, treatments=(Counted(strength=1.0 + seed),)) for seed in range(3)),
        Job(rows, 0, learner={"learning_rate": 1e-3}, treatments=(Counted(),)),
        Job(rows, 0, learner={"width": 9}, treatments=(Counted(),)),
        Job(rows, 0, treatments=(Counted(kind="b"),)),
        Job(rows, 0, treatments=(Counted(number=2),)),
        Job(rows[:100], 0, treatments=(Counted(),)),
    ]
    ended = train(dataset, replace(SMALL, settings={**SMALL.settings, "epochs": 1}), jobs)
    assert all(one.failure is None for one in ended)
    assert Counted.sizes == [4, 1, 1, 1, 1]
    Counted.sizes.clear()
    train(dataset, replace(SMALL, settings={**SMALL.settings, "epochs": 1}), jobs[:4], stack=3)
    assert Counted.sizes == [2, 2]
    Counted.sizes.clear()
    many = jobs_of(dataset, range(40), [Counted()])
    assert stack_size(SMALL, dataset, many) == 32
    train(dataset, replace(SMALL, settings={**SMALL.settings, "epochs": 1}), many, stack=40)
    assert Counted.sizes == [40]  # more than would be chosen


def test_stacks_are_large_where_steps_are_small_and_small_where_they_are_large() -> None:
    dataset = planted(features=100)
    jobs = jobs_of(dataset, [0])
    sizes = [
        stack_size(Learns("mlp", {"width": width, "batch_size": batch}), dataset, jobs)
        for width, batch in ((64, 128), (64, 1024), (300, 1024))
    ]
    assert sizes == [32, 8, 2]
    assert size_for(1024, 600, 100, Settings(device="cuda")) == 128
    assert stack_size(Learns("scikit_learn"), dataset, jobs) == 1


def test_progress_is_told_after_every_epoch() -> None:
    dataset = planted()
    told: list[Progress] = []
    train(dataset, SMALL, jobs_of(dataset, [0, 1]), progress=told.append)
    assert [one.epoch for one in told] == list(range(1, len(told) + 1))
    assert {(one.trials, one.epochs) for one in told} == {(2, 6)}


class Curious(Treatment):
    """Looks for test labels wherever it can."""

    found: ClassVar[list[Any]] = []

    def after(self, found: Any) -> None:
        type(self).found += [found.test.target, found.test.cell, found.test.group]


def test_test_labels_and_groups_never_reach_a_training() -> None:
    dataset = planted()
    assert dataset.test.target is None
    Curious.found.clear()
    (ended,) = train(dataset, SMALL, jobs_of(dataset, [0], [Curious()]))
    assert Curious.found == [None, None, None]
    assert ended.failure is None
    assert ended.test is not None


def test_undefined_fairness_on_dev_rows_is_noted_and_performance_selects() -> None:
    dataset = planted()
    alone = replace(dataset.dev, group=np.zeros(len(dataset.dev), dtype=np.int64))
    (ended,) = train(replace(dataset, dev=alone), SMALL, jobs_of(dataset, [0]))
    assert "Fairness on the dev rows is not defined" in ended.notes[0]
    assert ended.best_epoch == 1 + int(np.argmax([one.performance for one in ended.history]))
    assert sum("Fairness" in note for note in ended.notes) == 1
    (blind,) = train(replace(dataset, dev=replace(alone, target=None)), SMALL, jobs_of(dataset, [0]))
    assert "No dev row" in (blind.failure or "")


def test_an_unknown_learner_is_refused_with_the_nearest() -> None:
    dataset = planted()
    with pytest.raises(BadInput, match="did you mean 'mlp'"):
        train(dataset, Learns("mpl"), jobs_of(dataset, [0]))


def test_an_epoch_of_undefined_fairness_gives_way_to_a_defined_one(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = planted(task="regression")

    def scored(values: Any, *given: Any, **more: Any) -> Scores:
        found = scores_of(values, *given, **more)
        count.append(0)
        first = len(count) == 1
        # The first epoch performs best, and its fairness cannot be told.
        return Scores(found.performance * 0 + 1, found.fairness * np.nan) if first else replace(found, collapsed=None)

    count: list[int] = []
    monkeypatch.setattr(trainer, "scores_of", scored)
    (ended,) = train(dataset, Learns("mlp", {"epochs": 3, "width": 8}), jobs_of(dataset, [0]))
    assert np.isnan(ended.history[0].fairness)
    assert ended.best_epoch > 1
    assert UNDEFINED["regression"] not in ended.notes


def test_weights_of_rows_reach_a_treatment_after_training() -> None:
    dataset = planted()
    Weighed.found.clear()
    train(dataset, SMALL, [*jobs_of(dataset, [0], [Double(), Weighed()]), *jobs_of(dataset, [0], [Weighed()])])
    assert np.array_equal(Weighed.found[0], 1.0 + (dataset.train.cell == 0))
    assert Weighed.found[1] is None


class Weighed(Treatment):
    """Looks at the weights."""

    found: ClassVar[list[Any]] = []

    def after(self, found: Any) -> None:
        type(self).found.append(found.weights)
