"""Stores for tests: SQLite always, PostgreSQL where EQUIPOISE_POSTGRES names an empty database for tests by URL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from store_cases import Clock

Opening = Callable[..., Any]
URL = os.environ.get("EQUIPOISE_POSTGRES")
DATABASES = ["sqlite", *(["postgresql"] if URL or "postgres" in os.environ.get("EQUIPOISE_REQUIRE", "") else [])]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=DATABASES)
def opening(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Opening]:
    """A function that opens the same store again, as another process would."""
    pytest.importorskip("sqlalchemy")
    from equipoise.studies.storage.store import open_store

    where: str | Path = tmp_path / "study.db"
    if request.param == "postgresql":
        assert URL is not None, "EQUIPOISE_POSTGRES names no database for tests"
        where = URL
        _emptied(URL)
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


def _emptied(url: str) -> None:
    import sqlalchemy

    from equipoise.studies.storage.opening import opened, place_of
    from equipoise.studies.storage.tables import tables

    engine = opened(place_of(url))
    tables().metadata.drop_all(engine)
    assert not sqlalchemy.inspect(engine).get_table_names()
    engine.dispose()
