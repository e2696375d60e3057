"""Trial files: written whole, read without trust, merged once."""

from __future__ import annotations

import json
import os
import pickle
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load

from equipoise.foundation import BadInput
from equipoise.studies.plans import Recorded
from equipoise.studies.running._folder import (
    ENTRY,
    digest_of,
    files_of,
    merge,
    read_trial,
    trial_file,
    write_trial,
    written_keys,
)
from helpers.cases.store import Clock, Predicting, failed, planned, trial, truth

DONE = Predicting()
ROOT = Path(__file__).parents[3]


def same(one: Recorded, other: Recorded) -> None:
    for name in ("trial", "state", "best_epoch", "notes", "failure", "seconds", "environment"):
        assert getattr(one, name) == getattr(other, name)
    assert repr(one.history) == repr(other.history)
    assert one.predictions.keys() == other.predictions.keys()
    for split, predicted in one.predictions.items():
        np.testing.assert_array_equal(predicted.values, other.predictions[split].values)
        np.testing.assert_equal(predicted.scores, other.predictions[split].scores)


@pytest.mark.parametrize(
    "recorded",
    [
        DONE(trial()),
        DONE(trial(), scores=True),
        Predicting(truth(task="regression"))(trial()),
        failed(trial()),
        DONE(trial(), notes=("Ünïcode",), history=(), environment={}),
    ],
)
def test_what_is_written_is_read_back(recorded: Recorded, tmp_path: Path) -> None:
    path = write_trial(tmp_path / "new" / "folder", recorded)
    assert path == trial_file(path.parent, recorded.trial.key)
    assert written_keys(path.parent) == {recorded.trial.key}
    same(recorded, read_trial(path))


def test_a_trial_that_is_written_already_is_left_as_it_is(tmp_path: Path) -> None:
    path = write_trial(tmp_path, DONE(trial()))
    before = path.read_bytes()
    assert write_trial(tmp_path, DONE(trial(), seed=9)) == path
    assert path.read_bytes() == before


def test_files_that_are_still_being_written_are_not_seen(tmp_path: Path) -> None:
    (tmp_path / f".{trial().key}.safetensors.abc.part").write_bytes(b"half of a fi")
    (tmp_path / ".hidden.safetensors").write_bytes(b"")
    (tmp_path / "folder.safetensors").mkdir()
    assert files_of(tmp_path) == []
    assert written_keys(tmp_path / "nowhere") == set()


def test_a_full_disk_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BadInput, match="No space left on device"):
        write_trial(tmp_path, DONE(trial()))
    assert list(tmp_path.iterdir()) == []


def test_a_writer_that_is_killed_leaves_whole_files_only(tmp_path: Path) -> None:
    code = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests")!r})
from pathlib import Path
from helpers.cases.store import Predicting, trial
from equipoise.studies.running._folder import write_trial
for seed in range(100_000):
    print(write_trial(Path({str(tmp_path)!r}), Predicting()(trial(seed), scores=True)).stem, flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = [process.stdout.readline().strip() for _ in range(7)]
    process.send_signal(signal.SIGKILL)
    told += [line.strip() for line in process.stdout if line.endswith("\n")]
    process.stdout.close()
    process.wait()
    assert set(told) <= written_keys(tmp_path)
    for path in files_of(tmp_path):
        assert read_trial(path).trial.key == path.stem


def test_a_renamed_file_is_known_by_what_it_describes(tmp_path: Path) -> None:
    path = write_trial(tmp_path, DONE(trial(3)))
    renamed = path.rename(tmp_path / "copy of it.safetensors")
    assert read_trial(renamed).trial.key == trial(3).key


def tampered(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change what the header of a file says of its trial."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    said = json.loads(header["__metadata__"][ENTRY])
    change(said)
    if said["digest"].count("0") < 64:  # whoever changes a file on purpose can make the hash fit
        said["digest"] = digest_of(said, load(content))
    header["__metadata__"][ENTRY] = json.dumps(said)
    new = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(new)) + new + content[8 + length :])


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda said: said.update(format=2), "another version"),
        (lambda said: said.update(identity=0), "another version"),
        (lambda said: said.update(digest="sha256:" + "0" * 64), "not what was written"),
        (lambda said: said.pop("trial"), "it has no 'trial'"),
        (lambda said: said.update(trial=[]), "it has no trial"),
        (lambda said: said["trial"].pop("seed"), "how a trial ended"),
        (lambda said: said["trial"].update(seed="1; DROP TABLE trials"), "a number is not whole"),
        (lambda said: said["trial"].update(more=1), "how a trial ended"),
        (lambda said: said["trial"]["condition"].update(settings=3), "the settings of 'interpolation'"),
        (lambda said: said["trial"].update(cohort=7), "a name is not text"),
        (lambda said: said.update(state="waiting"), "its state is 'waiting'"),
        (lambda said: said.update(seconds=-1), "it took -1 seconds"),
        (lambda said: said.update(seconds=True), "it took True seconds"),
        (lambda said: said.update(best_epoch="2"), "its best epoch is '2'"),
        (lambda said: said.update(best_epoch=2**63), "its best epoch is 9223372036854775808"),
        (lambda said: said.update(notes=[1]), "its notes are not text"),
        (lambda said: said.update(environment=[]), "its environment is not a table"),
        (lambda said: said.update(failure=5), "its failure is not text"),
    ],
)
def test_a_file_that_says_what_cannot_be_is_refused(
    change: Callable[[dict[str, Any]], None], complaint: str, tmp_path: Path
) -> None:
    path = write_trial(tmp_path, DONE(trial()))
    tampered(path, change)
    with pytest.raises(BadInput, match=complaint):
        read_trial(path)


def test_numbers_that_changed_on_the_way_are_noticed(tmp_path: Path) -> None:
    path = write_trial(tmp_path, DONE(trial()))
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(BadInput, match="not what was written"):
        read_trial(path)


class Evil:
    """What a pickle could run."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("evil",)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"short",
        b"\x00" * 8,
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 2) + b"{}",
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 100_000) + b"[" * 100_000,
        struct.pack("<Q", 26) + b'{"__metadata__":{"a":"b"}}',
        pickle.dumps(Evil()),
        b"\x93NUMPY" + b"\x00" * 100,
    ],
)
def test_hostile_files_are_refused(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "hostile.safetensors"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"hostile\.safetensors"):
        read_trial(path)
    assert not (tmp_path / "evil").exists()


def test_deep_words_in_a_header_are_refused(tmp_path: Path) -> None:
    from safetensors.numpy import save

    path = tmp_path / "deep.safetensors"
    path.write_bytes(save({"history": np.zeros((0, 4))}, metadata={ENTRY: "[" * 200_000}))
    with pytest.raises(BadInput, match="not a whole trial file"):
        read_trial(path)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, 2_500), place=st.integers(0, 2_500), bit=st.integers(0, 7))
def test_a_torn_or_flipped_file_is_refused_or_means_the_same(cut: int, place: int, bit: int, tmp_path: Path) -> None:
    path = tmp_path / "whole" / f"{trial().key}.safetensors"
    if not path.exists():
        write_trial(path.parent, DONE(trial()))
    content = path.read_bytes()
    torn = tmp_path / "torn.safetensors"
    torn.write_bytes(content[: min(cut, len(content) - 1)])
    with pytest.raises(BadInput, match=r"torn\.safetensors"):
        read_trial(torn)
    flipped = bytearray(content)
    flipped[place % len(content)] ^= 1 << bit
    torn.write_bytes(flipped)
    try:
        read = read_trial(torn)
    except BadInput:
        return
    same(read, DONE(trial()))  # in a blank, say


def test_a_folder_is_merged_once_however_often(store: Any, tmp_path: Path, clock: Clock) -> None:
    plan, folder = planned(150), tmp_path / "out"
    for one, _, _ in plan[:148]:
        write_trial(folder, DONE(one))
    write_trial(folder, failed(plan[148][0]))
    store.plan(plan)
    seen: list[tuple[int, int]] = []
    first = merge(folder, store, DONE.truth, lambda read, whole: seen.append((read, whole)))
    assert seen == [(64, 149), (128, 149), (149, 149)]
    assert set(first.new) == {one.key for one, _, _ in plan[:149]}
    second = merge(folder, store, DONE.truth)
    assert (second.new, set(second.existing), second.refused) == ((), set(first.new), {})
    assert (store.status().done, store.status().failed, store.status().waiting) == (148, 1, 1)
    assert store.readouts("test").keys == tuple(one.key for one, _, _ in plan[:148])


def test_a_store_that_ran_the_trials_itself_says_the_same_as_one_that_merged_them(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    from equipoise.studies.storage import open_store

    plan = planned(6)
    with open_store(tmp_path / "home.db") as home, open_store(tmp_path / "merged.db") as merged:
        home.plan(plan)
        merged.plan(plan)
        while leased := home.lease("worker", 60):
            home.record("worker", [DONE(one) for one in leased], DONE.truth)
        for one, _, _ in plan:
            write_trial(tmp_path / "out", DONE(one))
        merge(tmp_path / "out", merged, DONE.truth)
        for split in ("dev", "test"):
            np.testing.assert_array_equal(home.readouts(split).counts, merged.readouts(split).counts)
        for mine, theirs in zip(home.trials(), merged.trials(), strict=True):
            assert repr(replace(mine, tries=0)) == repr(replace(theirs, tries=0))


def test_a_bad_file_stops_no_other(store: Any, tmp_path: Path) -> None:
    write_trial(tmp_path / "out", DONE(trial(1)))
    torn = write_trial(tmp_path / "out", DONE(trial(2)))
    torn.write_bytes(torn.read_bytes()[:-5])
    other = write_trial(tmp_path / "out", Predicting(truth(rows=7))(trial(3)))
    elsewhere = write_trial(tmp_path / "out", DONE(trial(4, cohort="sha256:" + "cd" * 32)))
    merged = merge(tmp_path / "out", store, DONE.truth)
    assert merged.new == (trial(1).key,)
    assert set(merged.refused) == {torn.name, other.name, elsewhere.name}
    assert "not a whole trial file" in merged.refused[torn.name]
    assert "(7,) for the dev rows" in merged.refused[other.name]
    assert "trained on another cohort" in merged.refused[elsewhere.name]


def test_a_folder_without_trial_files_is_refused(store: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="has no trial files"):
        merge(tmp_path / "empty", store, DONE.truth)
    with pytest.raises(BadInput, match="There is no folder"):
        merge(tmp_path / "nowhere", store, DONE.truth)


def test_a_number_that_is_none_in_a_header_stops_no_merge(store: Any, tmp_path: Path) -> None:
    """JSON as Python reads it has NaN, which no hash of plain values can hold."""
    write_trial(tmp_path / "out", DONE(trial(1)))
    strange = write_trial(tmp_path / "out", DONE(trial(2)))
    # Its hash is nonsense, and cannot be anything else.
    tampered(strange, lambda said: said.update(environment={"x": float("nan")}, digest="sha256:" + "0" * 64))
    merged = merge(tmp_path / "out", store, DONE.truth)
    assert merged.new == (trial(1).key,)
    assert "does not say how a trial ended" in merged.refused[strange.name]
