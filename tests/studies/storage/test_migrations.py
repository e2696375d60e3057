"""Stores of earlier versions are carried forward from a backup and read; newer ones are refused untouched."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.foundation import BadInput
from helpers.cases.store import Predicting, planned

pytest.importorskip("sqlalchemy")

from equipoise.studies.storage import _store as migrations
from equipoise.studies.storage import open_store
from equipoise.studies.storage._database import VERSION, tables

STORES = Path(__file__).parent / "stores"
FROZEN = sorted(STORES.glob("version-*.store"))
DONE = Predicting()


def copied(version: int, folder: Path) -> Path:
    """Copy a frozen store to where it may be changed."""
    return Path(shutil.copy(STORES / f"version-{version}.store", folder / "study.db"))


def layout(path: Path) -> dict[str, set[tuple[Any, ...]]]:
    """Return the columns of every table, in whatever order: name, type, required, part of the key."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            name: {(row[1], row[2], row[3], row[5]) for row in connection.execute(f"PRAGMA table_info({name})")}
            for name in names
        }


def indices(path: Path) -> set[str]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
        return {name for (name,) in found}


def test_a_store_of_every_version_is_frozen() -> None:
    assert [path.stem for path in FROZEN] == [f"version-{number}" for number in range(VERSION + 1)]


@pytest.mark.parametrize("version", range(VERSION + 1))
def test_a_frozen_store_says_what_it_said(version: int, tmp_path: Path) -> None:
    """The frozen stores hold the first five trials of six: four done, one failed, one waiting."""
    with open_store(copied(version, tmp_path)) as store:
        plan = planned(6, stack=2)
        assert [(kept.trial, kept.stack, kept.cell) for kept in store.trials()] == plan
        assert [kept.state for kept in store.trials()] == ["done"] * 4 + ["failed", "waiting"]
        assert [kept.tries for kept in store.trials()] == [1, 1, 1, 1, 1, 0]
        assert store.trials()[4].failure == "the cell (b, Female) is empty"
        read = store.readouts("test")
        assert read.names == DONE.truth.names
        for place in range(4):
            kept, given = store.trials()[place], DONE(plan[place][0])
            assert repr(kept.history) == repr(given.history)
            assert store.environments()[kept.environment] == given.environment
            predicted = store.predictions(kept.key, "test")
            np.testing.assert_array_equal(predicted.values, given.predictions["test"].values)
            table = np.zeros((4, 3, 3))
            rows = DONE.truth.of("test")
            for group, true, guess in zip(rows.group, rows.target, predicted.values, strict=True):
                if true >= 0:
                    table[group, true, guess] += 1
            np.testing.assert_array_equal(read.counts[place], table)


@pytest.mark.parametrize("version", range(VERSION + 1))
def test_a_store_that_was_carried_forward_goes_on(version: int, tmp_path: Path) -> None:
    path = copied(version, tmp_path)
    with open_store(path) as store:
        leased = store.lease("worker", 60)
        assert store.record("worker", [DONE(one) for one in leased], DONE.truth).new == (planned(6)[5][0].key,)
    with open_store(tmp_path / "new.db"):
        pass
    assert layout(path) == layout(tmp_path / "new.db")
    assert indices(path) == indices(tmp_path / "new.db")
    assert set(layout(path)) == set(tables().metadata.tables)


def test_a_copy_of_the_older_store_is_kept_and_never_replaced(tmp_path: Path) -> None:
    path = copied(0, tmp_path)
    (tmp_path / "study.db.version-0.backup").write_text("an earlier copy")
    before = layout(path)
    with open_store(path):
        pass
    assert (tmp_path / "study.db.version-0.backup").read_text() == "an earlier copy"
    assert layout(tmp_path / "study.db.version-0.backup2") == before
    assert layout(path) != before
    with open_store(path):
        pass
    assert not (tmp_path / "study.db.version-0.backup3").exists()
    assert not list(tmp_path.glob("*.part"))


def test_an_older_store_is_not_migrated_by_a_reader(tmp_path: Path) -> None:
    path = copied(0, tmp_path)
    with pytest.raises(BadInput, match=f"version 0, and this program reads version {VERSION}"):
        open_store(path, read_only=True)
    assert path.read_bytes() == (STORES / "version-0.store").read_bytes()


def test_a_store_without_checksums_is_read_as_it_is(tmp_path: Path) -> None:
    path = copied(1, tmp_path)
    with open_store(path, read_only=True) as store:
        assert store.status().done == 4
        assert [trial.damaged for trial in store.trials()] == [False] * 6
        assert store.readouts("test").damaged == ()
        assert len(store.readouts("test").keys) == 4
    assert path.read_bytes() == (STORES / "version-1.store").read_bytes()


def test_a_newer_store_is_refused_with_both_versions_and_untouched(tmp_path: Path) -> None:
    path = copied(VERSION, tmp_path)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE meta SET value = '99' WHERE name = 'schema'")
    before = path.read_bytes()
    with pytest.raises(BadInput, match="version 99, which is newer than this program") as refused:
        open_store(path)
    assert f"version {VERSION} and older" in str(refused.value)
    assert path.read_bytes() == before
    assert not list(tmp_path.glob("*.backup*"))


def test_a_version_that_nothing_reads_any_more_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "MIGRATIONS", {5: migrations.MIGRATIONS[0]})
    with pytest.raises(BadInput, match="version 0, which is no longer supported"):
        open_store(copied(0, tmp_path))


def test_a_step_that_fails_leaves_the_store_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = copied(0, tmp_path)
    before = layout(path)

    def full(connection: Any) -> None:
        migrations._from_0(connection)
        connection.exec_driver_sql("PRAGMA max_page_count = 1")
        connection.exec_driver_sql("CREATE TABLE more AS SELECT * FROM artefacts, details")

    monkeypatch.setattr(migrations, "MIGRATIONS", {**migrations.MIGRATIONS, 0: full})
    with pytest.raises(BadInput, match="could not be migrated from version 0") as refused:
        open_store(path)
    assert "it is unchanged; a copy of it is" in str(refused.value)
    assert layout(path) == before
    monkeypatch.undo()
    with open_store(path) as store:
        assert store.status().done == 4


def test_two_that_open_an_older_store_at_once_migrate_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second found version 0 before the first had carried it forward."""
    path = copied(0, tmp_path)
    backup = migrations.backup

    def meanwhile(*given: Any) -> Path:
        monkeypatch.setattr(migrations, "backup", backup)
        with open_store(path):
            pass
        return backup(*given)

    monkeypatch.setattr(migrations, "backup", meanwhile)
    with open_store(path) as store:
        assert store.status().done == 4
