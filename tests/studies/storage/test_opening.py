"""Where a store cannot be, or cannot be written: each ends in words that help, and loses nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from equipoise.foundation import BadInput
from equipoise.studies.storage._database import is_network, kind_of
from helpers.cases.store import Predicting, planned, trial, truth

pytest.importorskip("sqlalchemy")

from equipoise.studies.storage import Store, open_store
from equipoise.studies.storage._database import store_location

DONE = Predicting()
MOUNTS = """\
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
22 21 0:5 / /proc rw - proc proc rw
40 21 0:40 / /data rw,relatime shared:9 master:2 - nfs4 server:/data rw,vers=4.2
41 40 8:2 / /data/me/scratch rw - xfs /dev/sdb1 rw
42 21 0:41 / /mnt/my\\040share rw - cifs //server/share rw
43 21 0:42 / /mnt/over rw - tmpfs tmpfs rw
44 21 0:43 / /mnt/over rw - fuse.sshfs me@server: rw
45 21 0:44 / /mnt/local rw - fuse.gocryptfs /secret rw
broken line
"""


@pytest.mark.parametrize(
    ("path", "kind", "network"),
    [
        ("/srv/study.db", "ext4", False),
        ("/data/you/study.db", "nfs4", True),
        ("/data/me/scratch/study.db", "xfs", False),
        ("/data/me/scratchy/study.db", "nfs4", True),
        ("/mnt/my share/deep/study.db", "cifs", True),
        ("/mnt/over/study.db", "fuse.sshfs", True),
        ("/mnt/local/study.db", "fuse.gocryptfs", False),
    ],
)
def test_the_kind_of_a_file_system_is_that_of_the_deepest_mount(
    path: str, kind: str, network: bool, tmp_path: Path
) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS)
    assert kind_of(Path(path), mounts) == kind
    assert is_network(kind) == network


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "lustre", "fuse.sshfs", "fuse.rclone"])
def test_network_file_systems_are_known(kind: str) -> None:
    assert is_network(kind)


def test_where_nothing_tells_of_mounts_nothing_is_refused(tmp_path: Path) -> None:
    assert kind_of(tmp_path, tmp_path / "nothing") is None
    assert not is_network(None)


def test_a_network_file_system_is_refused_with_help(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"40 1 0:40 / {tmp_path} rw,relatime - nfs4 server:/data rw\n")
    monkeypatch.setattr("equipoise.studies.storage._database.MOUNTS", mounts)
    with pytest.raises(BadInput, match=r"network file system \(nfs4\)") as refused:
        open_store(tmp_path / "study.db")
    for way in ("a local path", "postgresql://", "--to DIR"):
        assert way in refused.value.help
    assert not (tmp_path / "study.db").exists()


def test_sqlite_writes_ahead_and_waits_for_the_disk(tmp_path: Path) -> None:
    from equipoise.studies.storage._database import reading

    with open_store(tmp_path / "study.db") as store, reading(store._engine, store.location) as connection:
        pragmas = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 60_000}


def test_a_store_by_a_url_of_sqlite_is_that_file(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'study.db'}") as store:
        store.plan(planned(2))
    with open_store(tmp_path / "study.db") as store:
        assert store.status().waiting == 2


@pytest.mark.parametrize("name", ["a study?.db", "100%.db", "a#b.db", "ärger & co.db"])
def test_any_name_of_a_file_will_do(tmp_path: Path, name: str) -> None:
    with open_store(tmp_path / name) as store:
        store.plan(planned(2))
    assert (tmp_path / name).is_file()
    with open_store(tmp_path / name, read_only=True) as store:
        assert store.status().waiting == 2


def test_paths_that_cannot_hold_a_store(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is a folder"):
        open_store(tmp_path)
    with pytest.raises(BadInput, match="does not exist"):
        open_store(tmp_path / "nowhere" / "study.db")
    for how in ({"create": False}, {"read_only": True}):
        with pytest.raises(BadInput, match="Store not found"):
            open_store(tmp_path / "study.db", **how)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadInput, match="is not a file"):
        open_store(tmp_path / "pipe")
    with pytest.raises(BadInput, match=r"'mysql://me@host/study' is not a store"):
        open_store("mysql://me:secret@host/study")
    assert not (tmp_path / "study.db").exists()


def test_a_password_is_not_shown() -> None:
    place = store_location("postgresql://me:se:cr@et@host/study")
    assert place.name == "postgresql://me@host/study"
    assert place.url == "postgresql+psycopg://me:se%3Acr%40et@host/study", "no part of it is taken for the host"
    assert "cr@et" not in repr(place)
    assert store_location("postgresql://me:a%40b@host/s?application_name=x@y").url == (
        "postgresql+psycopg://me:a%40b@host/s?application_name=x@y"
    )


def test_an_empty_file_becomes_a_store_but_cannot_be_read_as_one(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    path.touch()
    with pytest.raises(BadInput, match="is empty"):
        open_store(path, read_only=True)
    with open_store(path) as store:
        assert store.status().total == 0


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("These are notes, and by no means a database. " * 200)
    before = path.read_bytes()
    with pytest.raises(BadInput, match="is not a store"):
        open_store(path)
    assert path.read_bytes() == before


def test_another_programs_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "photos.db"
    for table in ("photos (name TEXT)", "meta (camera TEXT)"):
        with contextlib.closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"CREATE TABLE {table}")
            connection.execute(f"INSERT INTO {table.partition(' ')[0]} VALUES ('schema')")
        before = path.read_bytes()
        for read_only in (True, False):
            with pytest.raises(BadInput, match="belongs to another program"):
                open_store(path, read_only=read_only)
        assert path.read_bytes() == before


def filled(path: Path, number: int = 9) -> None:
    with open_store(path) as store:
        store.plan(planned(number))
        while leased := store.lease("worker", 60):
            store.record("worker", [DONE(one) for one in leased], DONE.truth)


def everything(store: Store) -> None:
    """Read whatever a report reads."""
    store.trials()
    for split in ("dev", "test"):
        store.predictions_of(store.readouts(split).keys, split)


def test_a_damaged_store_is_told_of(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    filled(path, 60)
    content = bytearray(path.read_bytes())
    content[4_096 * 4 : 4_096 * 8] = b"\xff" * 4_096 * 4
    path.write_bytes(content)
    with pytest.raises(BadInput, match="is damaged") as refused, open_store(path) as store:
        everything(store)
    assert "a copy" in refused.value.help


def test_a_torn_store_is_told_of(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    filled(path, 60)
    path.write_bytes(path.read_bytes()[:9_000])
    with pytest.raises(BadInput, match="is damaged"), open_store(path) as store:
        everything(store)


def test_a_store_opened_to_be_read_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    filled(path)
    with open_store(path, read_only=True) as store:
        assert store.status().done == 9
        with pytest.raises(BadInput, match="opened read-only"):
            store.plan(planned(3))
        with pytest.raises(BadInput, match="opened read-only"):
            store.lease("worker", 60)


def test_a_store_that_may_not_be_written_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "study.db"
    filled(path)
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda file, how: how != os.W_OK and allowed(file, how))
    with pytest.raises(BadInput, match="cannot be written to"):
        open_store(path)
    with open_store(path, read_only=True) as store:  # by a person who may not leave marks beside it
        assert store.status().done == 9
    assert sorted(file.name for file in tmp_path.iterdir()) == ["study.db"]


def test_a_store_that_another_program_holds_is_waited_for_and_then_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "study.db"
    filled(path)
    monkeypatch.setattr("equipoise.studies.storage._database.PATIENCE", 0.05)
    with (
        open_store(path) as store,
        contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(BadInput, match="held by another program for too long"):
            store.lease("worker", 60)
        assert store.status().done == 9
        other.execute("ROLLBACK")
        assert store.lease("worker", 60) == ()


def fill(store: Store, safe: list[str]) -> None:
    """Record until the store refuses, noting what was recorded."""
    while leased := store.lease("worker", 60):
        safe += store.record("worker", [DONE(one, scores=True) for one in leased], DONE.truth).new


def record_until_full(store: Store) -> int:
    """Record until the disk is full; return how many trials are safe."""
    store.plan(planned(400, stack=10))
    safe: list[str] = []
    with pytest.raises(BadInput, match=r"disk of the store .* is full; the write was discarded"):
        fill(store, safe)
    assert {kept.key for kept in store.trials({"done"})} == set(safe)
    return len(safe)


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    """The limit on pages makes SQLite say what it says on a full disk, on any machine."""
    import sqlalchemy

    def limit(connection: Any, _: Any) -> None:
        connection.execute("PRAGMA max_page_count = 150")

    path = tmp_path / "study.db"
    with open_store(path) as store:
        sqlalchemy.event.listen(store._engine, "connect", limit)
        store._engine.dispose()
        safe = record_until_full(store)
    with open_store(path) as store:
        assert store.status().done == safe
        store.give_back("worker")
        leased = store.lease("worker", 60)
        assert len(store.record("worker", [DONE(one) for one in leased], DONE.truth).new) == 10


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own, where this machine lets a test have one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() or not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root may mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_is_really_full_loses_nothing(small_disk: Path) -> None:
    path = small_disk / "study.db"
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * 300_000)
    with open_store(path) as store:
        safe = record_until_full(store)
        assert store.status().done == safe
    with open_store(path, read_only=True) as store:
        assert store.status().done == safe
    filler.unlink()
    with open_store(path) as store:
        store.give_back("worker")
        leased = store.lease("worker", 60)
        assert len(store.record("worker", [DONE(one) for one in leased], DONE.truth).new) == 10
        assert store.status().done == safe + 10


def test_a_disk_that_is_read_only_is_read(small_disk: Path) -> None:
    path = small_disk / "study.db"
    filled(path)
    remount = ["mount", "-o", "remount,{}", str(small_disk)]
    subprocess.run([part.format("ro") for part in remount], check=True)
    try:
        with pytest.raises(BadInput, match="cannot be written to"):
            open_store(path)
        with open_store(path, read_only=True) as store:
            assert store.status().done == 9
            assert store.predictions(trial(0).key, "dev").values.shape == (40,)
    finally:
        subprocess.run([part.format("rw") for part in remount], check=True)


def test_large_predictions_without_a_folder_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from equipoise.studies.storage._artefacts import ArtefactStore

    monkeypatch.setattr("equipoise.studies.storage._artefacts.MOST_IN_DATABASE", 10)
    artefact_store = ArtefactStore.for_store(store_location("postgresql://me@host/study"), None)
    with pytest.raises(BadInput, match="need a folder") as refused:
        artefact_store.pack("key", "dev", truth().of("dev").group)
    assert "--artefacts" in refused.value.help
