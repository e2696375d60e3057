"""Damage that a database does not notice: no number changes silently, nothing ends in a traceback, a run mends it."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sqlalchemy")

from equipoise.foundation import (
    BadInput,
    EquipoiseError,
)
from equipoise.studies import Study
from equipoise.studies.findings import write_table
from equipoise.studies.storage import open_store
from helpers.cases.plan import PLAN, by_the_mean, cohort, threshold, write_plan
from helpers.cases.store import Predicting, planned
from helpers.running import Program

Change = Callable[[Any], Any]


def study() -> Study:
    return Study(cohort(), train=[threshold, by_the_mean], version=1, group="sex", seeds=4, name="own")


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of eight trials, in one file."""
    path = tmp_path_factory.mktemp("ready") / "own.db"
    study().run(path)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    return path


@pytest.fixture
def copied(ready: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(ready, tmp_path / "own.db"))


def change(path: Path, table: str, column: str, how: Change, where: str = "trial = 3") -> None:
    """Change one value behind the store's back."""
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        (row, value) = connection.execute(f"SELECT rowid, {column} FROM {table} WHERE {where} LIMIT 1").fetchone()
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (how(value), row))


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :]


def cut(content: Any) -> Any:
    return content[: len(content) // 2]


def records(path: Path) -> Any:
    content = json.loads(study().result(path).to_json())
    return content["records"]


TEST_COUNTS = "trial = 3 AND split = 'test'"
DEV_COUNTS = "trial = 3 AND split = 'dev'"
NOTICED: dict[str, tuple[str, str, Change, str]] = {
    "a bit of the counts": ("readouts", "counts", flipped, TEST_COUNTS),
    "a bit of the dev counts": ("readouts", "counts", flipped, DEV_COUNTS),
    "counts cut short": ("readouts", "counts", cut, TEST_COUNTS),
    "counts of no length": ("readouts", "counts", lambda _: b"", TEST_COUNTS),
    "counts that are a text": ("readouts", "counts", lambda _: "counts", TEST_COUNTS),
    "the shape of the counts": ("readouts", "shape", lambda _: "[4,", TEST_COUNTS),
    "the kind of the counts": ("readouts", "kind", lambda _: "<f8", TEST_COUNTS),
    "a history cut short": ("details", "history", lambda _: b"\x00" * 7, "trial = 3"),
    "notes that are no JSON": ("details", "notes", lambda _: '["a', "trial = 3"),
    "notes that are no text": ("details", "notes", lambda _: b"\xff\xfe", "trial = 3"),
    "a note that was none": ("details", "notes", lambda _: '["It is well."]', "trial = 3"),
    "the best epoch": ("details", "best_epoch", lambda _: 77, "trial = 3"),
    "the seconds": ("trials", "seconds", lambda _: 1e6, "id = 3"),
    "the seconds, no number": ("trials", "seconds", lambda _: "long", "id = 3"),
    "a bit of the predictions": ("artefacts", "content", flipped, "trial = 3 AND name = 'test'"),
    "predictions cut short": ("artefacts", "content", cut, "trial = 3 AND name = 'test'"),
    "predictions that are gone": ("artefacts", "content", lambda _: None, "trial = 3 AND name = 'test'"),
}


@pytest.mark.long
@pytest.mark.parametrize("what", NOTICED)
def test_a_damaged_trial_is_left_out_named_and_trained_again(what: str, ready: Path, copied: Path) -> None:
    change(copied, *NOTICED[what])
    result = study().result(copied)
    (damaged,) = [failure for failure in result.failures if failure.damaged]
    assert damaged.trials == 1
    assert "The store is damaged" in damaged.error
    assert any("1 trial is damaged in the store and left out" in note for note in result.notes)
    with pytest.warns(UserWarning, match="1 trials in .* are damaged .*trained again"):
        study().run(copied)
    again = study().result(copied)
    assert not again.failures
    assert json.loads(again.to_json())["records"] == records(ready)


@pytest.mark.parametrize("how", [lambda _: "{", lambda text: text.replace('"seed":', '"sed":'), cut])
def test_a_trial_that_the_store_no_longer_describes_is_told_and_described_anew(
    how: Change, ready: Path, copied: Path
) -> None:
    change(copied, "details", "described", how)
    with pytest.raises(BadInput, match=r"description of the trial \w+ in the store is damaged"):
        study().result(copied)
    with pytest.warns(UserWarning, match="its description"):
        study().run(copied)
    assert records(copied) == records(ready)


def test_a_trial_that_is_described_as_another_is_not_taken_for_it(ready: Path, copied: Path) -> None:
    change(copied, "details", "described", lambda text: text.replace('"seed":1', '"seed":0'))
    with pytest.raises(BadInput, match="description of the trial"):
        study().result(copied)
    with pytest.warns(UserWarning, match="its description"):
        study().run(copied)
    assert records(copied) == records(ready)


@pytest.mark.parametrize("how", [lambda _: "{", lambda text: text.replace("yes", "yse"), cut])
def test_damaged_names_of_classes_and_groups_are_those_of_the_cohort(how: Change, ready: Path, copied: Path) -> None:
    change(copied, "cohorts", "names", how, "true")
    assert records(copied) == records(ready)
    with open_store(copied, read_only=True, plan="own") as store, pytest.raises(BadInput, match="names of classes"):
        store.readouts("test")
    study().run(copied)
    with open_store(copied, read_only=True, plan="own") as store:
        assert store.readouts("test").names == study().labels.names


def test_a_damaged_environment_stops_nothing(ready: Path, copied: Path) -> None:
    change(copied, "environments", "described", cut, "true")
    assert records(copied) == records(ready)


def test_a_damaged_file_of_predictions_is_noticed_and_written_anew(
    ready: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("equipoise.studies.storage._artefacts.MOST_IN_DATABASE", 0)
    path = tmp_path / "own.db"
    study().run(path)
    file = sorted((tmp_path / "own.db.artefacts").rglob("*.test.*"))[0]
    file.write_bytes(flipped(file.read_bytes()))
    (damaged,) = study().result(path).failures
    assert damaged.damaged
    with pytest.warns(UserWarning, match="its predictions"):
        study().run(path)
    assert not study().result(path).failures
    assert records(path) == records(ready)


def test_an_export_leaves_a_damaged_trial_out_and_says_so(ready: Path, copied: Path, tmp_path: Path) -> None:
    rows = write_table(study(), ready, tmp_path / "whole.csv")
    change(copied, *NOTICED["a bit of the counts"])
    with pytest.warns(UserWarning, match="1 trials are damaged in the store and left out"):
        assert write_table(study(), copied, tmp_path / "rest.csv") == rows * 7 // 8


def test_counts_of_an_earlier_version_that_do_not_add_up_are_noticed(ready: Path, copied: Path) -> None:
    with contextlib.closing(sqlite3.connect(copied)) as connection, connection:
        for table in ("readouts", "details", "cohorts"):
            connection.execute(f"UPDATE {table} SET checksum = NULL")
    assert records(copied) == records(ready), "rows without a checksum are read"
    change(copied, *NOTICED["a bit of the counts"])
    (damaged,) = study().result(copied).failures
    assert damaged.damaged


def test_a_regression_of_an_earlier_version_whose_sums_are_cut_short_is_noticed(tmp_path: Path) -> None:
    from helpers.cases.store import truth

    predicting = Predicting(truth(task="regression"))
    path = tmp_path / "study.db"
    with open_store(path) as store:
        store.plan(planned(4))
        store.add([predicting(one) for one, _, _ in planned(4)], predicting.truth)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE readouts SET checksum = NULL")
    change(path, "readouts", "counts", cut, TEST_COUNTS)
    with open_store(path) as store:
        assert store.readouts("test").damaged == (planned(4)[2][0].key,)
        assert len(store.readouts("test").keys) == 3


def test_a_report_of_a_damaged_store_ends_with_1_and_says_so_in_json_and_page(
    equipoise: Program, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    plan = write_plan(tmp_path, PLAN.replace("repeats = 2", "repeats = 1"))
    assert equipoise("study", "run", plan, "--quiet").code == 0
    before, after, page = tmp_path / "before.json", tmp_path / "after.json", tmp_path / "page.html"
    assert equipoise("study", "report", plan, "--json", before, "--quiet").code == 0
    change(plan.with_suffix(".db"), *NOTICED["a bit of the counts"])
    ended = equipoise("study", "report", plan, "--json", after, "--html", page)
    assert ended.code == 1
    assert "1 trials are damaged in the store" in ended.err
    assert "The store is damaged" in ended.out.replace("\n", " ")
    said = json.loads(after.read_text(encoding="utf-8"))
    assert [failure["damaged"] for failure in said["failures"]] == [True]
    assert any("damaged in the store" in note for note in said["notes"])
    assert "damaged in the store" in page.read_text(encoding="utf-8")
    with pytest.warns(UserWarning, match="trained again"):
        assert equipoise("study", "run", plan, "--quiet").code == 0
    assert equipoise("study", "report", plan, "--json", after, "--quiet").code == 0
    assert json.loads(after.read_text())["records"] == json.loads(before.read_text())["records"]


@pytest.mark.long
@pytest.mark.once
def test_random_damage_to_the_file_never_ends_in_a_traceback(ready: Path, tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    whole = ready.read_bytes()
    right = records(ready)
    for number in range(100):
        damaged = bytearray(whole)
        kind = number % 4
        for _ in range(int(generator.integers(1, 30))):
            at = int(generator.integers(0, len(whole)))
            length = int(generator.integers(1, 200)) if kind == 1 else 1
            damaged[at : at + length] = generator.integers(0, 256, length, dtype=np.uint8).tobytes()[: len(whole) - at]
        if kind == 2:
            damaged = damaged[: int(generator.integers(100, len(whole)))]
        path = tmp_path / f"{number}.db"
        path.write_bytes(bytes(damaged))
        for read in (lambda path=path: study().status(path), lambda path=path: study().result(path)):
            with contextlib.suppress(EquipoiseError):
                read()
        try:
            result = study().result(path)
        except EquipoiseError:
            continue
        if not result.failures and result.cells == study().result(ready).cells:
            assert json.loads(result.to_json())["records"] == right
