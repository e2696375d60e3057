"""Makes the frozen stores beside this file. A released one is never made again: it is what people have on their disks.

Run it as: python tests/studies/storage/stores/freeze.py VERSION, from the root of the repository.
"""

from __future__ import annotations

import contextlib
import sqlite3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from equipoise.studies.storage import open_store
from equipoise.studies.storage._database import VERSION
from helpers.cases.store import Predicting, failed, planned

HERE = Path(__file__).parent


def present(path: Path) -> None:
    """Write a store of the present version: four trials done, one failed, one waiting."""
    done = Predicting()
    with open_store(path, clock=lambda: 1_000.0) as store:
        store.plan(planned(6, stack=2))
        for _ in range(2):
            store.record("worker", [done(one) for one in store.lease("worker", 60)], done.truth)
        first, _ = store.lease("worker", 60)
        store.record("worker", [failed(first)], done.truth)
        store.give_back("worker")
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        # The last trial was leased and given back above; in the frozen store nobody has begun it.
        connection.execute("UPDATE trials SET tries = 0 WHERE state = 'waiting'")


def main(version: int) -> None:
    path = HERE / f"version-{version}.store"
    if path.exists():
        raise SystemExit(f"{path.name} is frozen already")
    if version != VERSION:
        raise SystemExit(f"only version {VERSION} can be written")
    present(path)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        # One file without companions, as a copy to another machine is.
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("VACUUM")


if __name__ == "__main__":
    main(int(sys.argv[1]))
