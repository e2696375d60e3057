"""Stores for tests: every contract holds for SQLite and for a real PostgreSQL, which is skipped where there is none."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from helpers.cases.store import Clock
from helpers.postgres import Server, programs, serving, user
from helpers.required import missing

Opening = Callable[..., Any]
Placing = Callable[[], str]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """One server for all tests of this process."""
    folder, name = programs(), user()
    if folder is None:
        missing("postgres", "PostgreSQL", "apt-get install postgresql")
    if name is None:
        missing("postgres", "A user that PostgreSQL can run as", "useradd --system postgres")
    if importlib.util.find_spec("psycopg") is None:
        missing("postgres", "psycopg", "pip install 'equipoise[postgres]'")
    with serving(folder, name) as server:
        yield server


@pytest.fixture
def clock() -> Clock:
    return Clock()


# What the store does with PostgreSQL is the same with torch as without.
@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.once)])
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Placing]:
    """A function that returns where another store can be made: a path, or the URL of an empty database."""
    pytest.importorskip("sqlalchemy")
    numbers = itertools.count()
    if request.param == "sqlite":
        yield lambda: str(tmp_path / f"{next(numbers)}.db")
        return
    server: Server = request.getfixturevalue("postgres")
    with ExitStack() as lent:
        yield lambda: lent.enter_context(server.database())


@pytest.fixture
def opening(new_place: Placing, tmp_path: Path, clock: Clock) -> Iterator[Opening]:
    """A function that opens the same store again, as another process would."""
    from equipoise.studies.storage import open_store

    where = new_place()
    opened: list[Any] = []

    def again(**how: Any) -> Any:
        opened.append(open_store(where, **{"clock": clock, "artefacts": tmp_path / "artefacts", **how}))
        return opened[-1]

    yield again
    for store in opened:
        store.close()


@pytest.fixture
def store(opening: Opening) -> Any:
    return opening()
