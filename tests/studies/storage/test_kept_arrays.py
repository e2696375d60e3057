"""Further arrays of trials: through the store, through trial files and merging, large ones in files of their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.foundation import BadInput
from equipoise.studies.running._folder import _without_scores, merge, read_trial, write_trial
from equipoise.studies.storage import _artefacts as artefacts
from equipoise.studies.storage import open_store
from helpers.cases.store import Predicting, failed, planned, trial, truth

DONE = Predicting()


def kept() -> dict[str, Any]:
    generator = np.random.default_rng(0)
    return {
        "embedding.test": generator.normal(size=(40, 6)).astype(np.float16),
        "downstream.svm.own.test": generator.integers(0, 300, 40),
        "leakage.embedding": np.array([0.5, np.nan]),
    }


def same(one: Any, other: Any) -> None:
    assert one.keys() == other.keys()
    for name, array in one.items():
        assert other[name].dtype == array.dtype
        np.testing.assert_array_equal(other[name], array)


def test_arrays_come_back_from_a_store_as_they_were(tmp_path: Path) -> None:
    with open_store(tmp_path / "trials.db", plan="p") as store:
        store.plan(planned(4))
        assert store.stored_array_names() == {}
        store.add([DONE(trial(0), arrays=kept()), DONE(trial(1)), failed(trial(0, "untreated"))], DONE.truth)
        assert store.stored_array_names() == dict.fromkeys(sorted(kept()), 1)
        keys = [trial(1).key, trial(0).key, trial(0, "untreated").key]
        found = {name: store.stored_arrays(keys, name) for name in kept()}
        assert all(list(one) == [trial(0).key] for one in found.values())
        same(kept(), {name: one[trial(0).key] for name, one in found.items()})
        assert store.stored_arrays(keys, "embedding.dev") == {}
        # Predictions are read as before.
        assert set(store.predictions_of(keys[:2], "test")) == set(keys[:2])


def test_large_arrays_lie_in_files_beside_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artefacts, "MOST_IN_DATABASE", 300)
    with open_store(tmp_path / "trials.db") as store:
        store.add([DONE(trial(0), arrays=kept())], DONE.truth)
        (file,) = (tmp_path / "trials.db.artefacts").rglob("*kept.embedding.test*")
        np.testing.assert_array_equal(
            store.stored_arrays([trial(0).key], "embedding.test")[trial(0).key], kept()["embedding.test"]
        )
        file.unlink()
        with pytest.raises(BadInput, match=r"What the trial \w+ kept \(embedding.test\)"):
            store.stored_arrays([trial(0).key], "embedding.test")


def test_arrays_travel_in_trial_files_and_are_merged(tmp_path: Path) -> None:
    recorded = DONE(trial(0), scores=True, arrays=kept())
    same(kept(), read_trial(write_trial(tmp_path / "files", recorded)).arrays)
    write_trial(tmp_path / "files", DONE(trial(1)))
    with open_store(tmp_path / "trials.db") as store:
        assert len(merge(tmp_path / "files", store, DONE.truth).new) == 2
        same(kept(), {name: store.stored_arrays([trial(0).key], name)[trial(0).key] for name in kept()})
    assert read_trial(tmp_path / "files" / f"{trial(1).key}.safetensors").arrays == {}


def test_a_file_without_scores_has_the_arrays_all_the_same(tmp_path: Path) -> None:
    shorter = _without_scores(DONE(trial(0), scores=True, arrays=kept()))
    assert shorter.predictions["test"].scores is None
    same(kept(), read_trial(write_trial(tmp_path, shorter)).arrays)


def test_an_array_that_was_changed_in_a_file_is_noticed(tmp_path: Path) -> None:
    path = write_trial(tmp_path, DONE(trial(0), arrays={"embedding.test": np.full((40, 6), 0.25, dtype=np.float16)}))
    whole = path.read_bytes()
    place = whole.index(np.full(4, 0.25, dtype=np.float16).tobytes())
    path.write_bytes(whole[:place] + b"\x01" + whole[place + 1 :])
    with pytest.raises(BadInput, match="is not what was written"):
        read_trial(path)


@pytest.mark.parametrize("name", ["", "../up", "a/b", "A", ".dev", "a..b", "a" * 101])
def test_a_name_that_is_no_plain_name_is_refused(tmp_path: Path, name: str) -> None:
    recorded = DONE(trial(0), arrays={name: np.zeros(3)})
    with pytest.raises(BadInput, match="An array of a trial is named"):
        write_trial(tmp_path, recorded)
    with open_store(tmp_path / "trials.db") as store:
        assert list(store.add([recorded], DONE.truth).refused) == [trial(0).key]


def test_arrays_of_anything_but_numbers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="holds <U1"):
        write_trial(tmp_path, DONE(trial(0), arrays={"names": np.array(["a"])}))


def test_a_trial_whose_numbers_are_not_finite_keeps_nothing(tmp_path: Path) -> None:
    numbers = Predicting(truth(task="regression"))
    one = numbers(trial(0), arrays=kept())
    broken = replace(one.predictions["test"], values=one.predictions["test"].values * np.nan)
    with open_store(tmp_path / "trials.db") as store:
        store.add([replace(one, predictions={**one.predictions, "test": broken})], numbers.truth)
        assert store.stored_arrays([trial(0).key], "embedding.test") == {}
