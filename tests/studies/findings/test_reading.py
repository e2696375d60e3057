"""From a store to a result: counts are stacked in the order of the plan, and failures and the unfinished are told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sqlalchemy")

from equipoise.studies.findings import data_of, result_of
from equipoise.studies.storage._labels import readout
from equipoise.training import COLLAPSED
from helpers.cases.store import Predicting, trial, truth

SEEDS, REPEATS = 3, 2
TREATMENTS = ("untreated", "reweighting")


def filled(store: Any, task: Any = "class") -> Predicting:
    """Record a small study, of which one trial failed and one is left."""
    predicting = Predicting(truth(120, task=task))
    trials = [trial(seed, name, repeat=repeat) for name in TREATMENTS for seed in range(SEEDS)
              for repeat in range(REPEATS)]  # fmt: skip
    lost, left = trial(9, "reweighting"), trial(10, "reweighting")
    store.plan([(one, index, one.treatment) for index, one in enumerate([*trials, lost, left])])
    done = [
        replace(predicting(one, seed=7 * one.seed + one.repeat + 100 * index), seconds=1.0 + one.repeat)
        for index, one in enumerate(trials)
    ]
    failed = predicting(lost, state="failed", predictions={}, failure="the cell is\n  empty")
    store.add([*done, failed], predicting.truth)
    return predicting


def test_what_is_read_is_what_was_recorded(store: Any) -> None:
    predicting = filled(store)
    data = data_of(store, name="plan", truth=predicting.truth, favourable="class 1")
    assert len(data) == len(TREATMENTS) * SEEDS * REPEATS
    assert data.keys == tuple(one.key for one in data.trials)
    assert (data.layout.favourable, data.layout.attributes) == ("class 1", ("sex", "race"))
    assert data.predictions is not None
    said = data.predictions(range(len(data)))
    assert said is not None
    for index, one in enumerate(data.trials):
        for split in ("dev", "test"):
            expected = readout(store.predictions(one.key, split), predicting.truth, split)
            assert (data.tables[split][index] == expected).all()
        assert (said[index] == store.predictions(one.key, "test").values).all()
    assert [(failure.trial.seed, failure.error) for failure in data.failures] == [(9, "the cell is empty")]
    assert data.unfinished == 1
    assert any("12 of 12 trials noted: a note" in note for note in data.notes)
    assert data.environments == ({"torch": "2.13", "host": {"cores": 2}},)


def test_that_trials_have_collapsed_is_told_by_the_report_and_not_by_their_notes_too(store: Any) -> None:
    predicting, own = Predicting(truth(120)), trial(0, "untreated")
    store.plan([(own, 0, own.treatment)])
    store.add([replace(predicting(own), notes=("a note", COLLAPSED))], predicting.truth)
    data = data_of(store, name="plan", truth=predicting.truth)
    assert [note for note in data.notes if "trials noted" in note] == ["1 of 1 trials noted: a note"]


@pytest.mark.parametrize("task", ["class", "regression"])
def test_a_store_is_reported_with_and_without_the_truth(store: Any, task: Any) -> None:
    predicting = filled(store, task)
    whole = result_of(data_of(store, name="plan", truth=predicting.truth))
    bare = result_of(data_of(store, name="plan"))
    assert [r.mean for r in whole.records] == pytest.approx([r.mean for r in bare.records], nan_ok=True)
    assert {cell.seconds for cell in whole.cells} == {1.5}
    assert whole.failures[0].trials == 1
    assert any("1 trial of the plan is not done yet" in note for note in whole.notes)
    people = [record.spread_people for record in whole.records]
    assert np.isfinite(people).any()


def test_an_empty_store_says_what_to_do(store: Any, tmp_path: Path) -> None:
    from equipoise.foundation import BadInput

    store.plan([(trial(0), 0, "cell")])
    with pytest.raises(BadInput, match="No trial of the study 'plan' is done"):
        result_of(data_of(store, name="plan"))


def test_a_report_reads_no_epochs_and_trials_share_what_they_are_alike_in(store: Any) -> None:
    filled(store)
    bare, whole = store.trials(history=False), store.trials()
    assert [one.trial for one in bare] == [one.trial for one in whole]
    assert any(one.history for one in whole)
    assert not any(one.history for one in bare)
    assert len({id(one.trial.condition) for one in bare}) == 1
    assert len({id(one.trial.treatments) for one in bare}) == len(TREATMENTS)
    assert [one.key for one in bare] == [replace(one.trial, seed=one.trial.seed).key for one in bare]
