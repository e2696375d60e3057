"""Where a store lies and how its database is opened. What is a database's own stands here and nowhere else.

SQLite writes ahead (WAL) and waits for the disk at every commit, so that neither a kill nor a power cut loses a trial.
Its locks do not hold on a network file system, where two machines could write over each other: that is refused.

Writers of both databases take turns, so that what one reads stays true until it has written; readers see one moment.
"""

from __future__ import annotations

import itertools
import os
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from equipoise.foundation.errors import BadInput
from equipoise.foundation.imports import require
from equipoise.foundation.redaction import redacted_argument, remember_secrets
from equipoise.studies.storage.file_systems import refuse_network
from equipoise.studies.storage.tables import sql
from equipoise.studies.storage.troubles import told

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

# How long a writer waits for another one before it gives up.
PATIENCE = 60.0
WRITES = "equipoise_writes"
# The turn to write in a PostgreSQL database, by the number that all writers ask for ("equipois").
TURN = 0x65717569706F6973
# What a path must not be taken for: a URL has one of these before "://".
DATABASES = ("sqlite", "postgresql")
QUERY = re.compile(r"[A-Za-z_]+=[^&]*(&[A-Za-z_]+=[^&]*)*")


@dataclass(frozen=True)
class Place:
    """Where a store is: a file of SQLite (``path``), or another database (``url``)."""

    shown: str
    path: Path | None = None
    url: str | None = field(default=None, repr=False)  # it may hold a password
    read_only: bool = False

    @property
    def is_new(self) -> bool:
        """Whether there is no file yet, or an empty one."""
        return self.path is not None and (not self.path.exists() or not self.path.stat().st_size)


def place_of(where: str | Path, *, create: bool = True, read_only: bool = False) -> Place:
    """Tell a path from a URL, and refuse what cannot hold a store before anything is opened."""
    text = str(where)
    kind, separator, rest = text.partition("://")
    if separator and kind.partition("+")[0] not in DATABASES:
        raise _no_store(redacted_argument(text))
    if separator and not kind.startswith("sqlite"):
        remember_secrets([text])
        driver = "postgresql+psycopg" if kind == "postgresql" else kind
        return Place(redacted_argument(text), url=f"{driver}://{_with_escaped_user(rest)}", read_only=read_only)
    path = Path(rest.removeprefix("/") if separator else text).expanduser()
    _check_path(path, create=create and not read_only, read_only=read_only)
    refuse_network(path)
    return Place(str(path), path=path, read_only=read_only)


def _no_store(shown: str) -> BadInput:
    return BadInput(
        f"{shown!r} is not a store that can be opened", available="a file's path, or postgresql://user@host/database"
    )


def _check_path(path: Path, *, create: bool, read_only: bool) -> None:
    if path.is_dir():
        raise BadInput(f"The store {str(path)!r} is a folder", help=f"name a file: {str(path / 'study.db')!r}.")
    if path.exists() and not path.is_file():
        raise BadInput(f"The store {str(path)!r} is not a file", help="name an ordinary file.")
    if not path.exists() and not create:
        raise BadInput(f"There is no store {str(path)!r}", help="run the study first, or name its store.")
    if not path.parent.is_dir():
        raise BadInput(
            f"The folder {str(path.parent)!r} of the store {path.name!r} does not exist", help="create it first."
        )
    if not read_only and not all(os.access(one, os.W_OK) for one in (path.parent, path) if one.exists()):
        raise BadInput(
            f"The store {str(path)!r} cannot be written to",
            help="copy it to a folder that is yours; a report reads it where it is.",
        )


def _with_escaped_user(rest: str) -> str:
    """Escape a password that has an @ of its own, so that no part of it is taken for the host."""
    before, mark, query = rest.partition("?")
    if not QUERY.fullmatch(query) or "@" not in before:
        before, mark, query = rest, "", ""
    user, at, host = before.rpartition("@")
    if "@" not in user:
        return rest
    name, colon, password = user.partition(":")
    return f"{quote(unquote(name), safe='')}{colon}{quote(unquote(password), safe='')}{at}{host}{mark}{query}"


def opened(place: Place) -> Engine:
    """Return the engine of a place. Nothing is connected yet."""
    sa = sql()
    if place.path is None:
        return _opened_postgres(place)
    engine: Engine = sa.create_engine("sqlite://", creator=lambda: _connected(place), poolclass=sa.pool.QueuePool)
    sa.event.listen(engine, "connect", _read_only_settings if place.read_only else _settings)
    sa.event.listen(engine, "begin", _begin)
    return engine


def _opened_postgres(place: Place) -> Engine:
    sa = sql()
    if str(place.url).startswith("postgresql+psycopg:"):
        require("psycopg", extra="postgres", purpose="A PostgreSQL store")
    engine: Engine | None = None
    with suppress(sa.exc.ArgumentError, ValueError):  # what they say quotes parts of the URL
        engine = sa.create_engine(place.url, isolation_level="READ COMMITTED", pool_pre_ping=True)
    if engine is None:
        raise _no_store(place.shown)
    sa.event.listen(engine, "begin", _begin_postgres)
    return engine


def _how(place: Place) -> str:
    if not place.read_only:
        return "mode=rwc"
    assert place.path is not None
    ahead = place.path.with_name(place.path.name + "-wal")
    written_ahead = ahead.exists() and ahead.stat().st_size
    # Readers of a file that is written ahead leave marks beside it; in a folder of which that cannot be done nobody
    # writes either, and the file is read as it stands.
    return "mode=ro" if written_ahead or os.access(place.path.parent, os.W_OK) else "mode=ro&immutable=1"


def _connected(place: Place) -> sqlite3.Connection:
    """Connect to a file by its URI, in which a path may have any letters; transactions begin where we say so."""
    assert place.path is not None
    connection = sqlite3.connect(
        f"file:{quote(str(place.path.absolute()))}?{_how(place)}",
        uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False,
    )  # fmt: skip
    # A damaged letter does not keep the others from being read; checksums notice it.
    connection.text_factory = _text
    return connection


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _settings(connection: Any, _: Any) -> None:
    """Set what every connection of a writer has; a database that cannot write ahead is refused."""
    mode = _write_ahead(connection)
    if mode != "wal":
        raise BadInput(
            f"The disk of the store cannot write ahead (SQLite's journal mode is {mode!r})",
            help="use a local disk, or a PostgreSQL store by URL.",
        )
    for setting in ("synchronous = FULL", "foreign_keys = ON", "cache_size = -16000"):
        connection.execute(f"PRAGMA {setting}")


def _write_ahead(connection: sqlite3.Connection) -> str:
    """Switch to writing ahead; where others open a new store at the same moment, SQLite itself would not wait."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return str(connection.execute("PRAGMA journal_mode = WAL").fetchone()[0])
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _read_only_settings(connection: Any, _: Any) -> None:
    connection.execute("PRAGMA query_only = ON")


def _begin(connection: Connection) -> None:
    """Begin: a writer takes its turn at once, so that what it reads stays true until it has written."""
    writes = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _begin_postgres(connection: Connection) -> None:
    """Do the same in PostgreSQL: without turns, two who make or plan a store at once would fail or wait in a circle.

    Whoever has the turn and is not heard of (a machine that lost its power) loses it before the others lose patience.
    """
    if connection.get_execution_options().get(WRITES, False):
        patience = int(1_000 * PATIENCE)
        connection.exec_driver_sql(
            f"SET LOCAL lock_timeout = {patience}; SET LOCAL idle_in_transaction_session_timeout = {patience // 2}; "
            f"SELECT pg_advisory_xact_lock({TURN})"
        )
    else:
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


@contextmanager
def writing(engine: Engine, place: Place) -> Iterator[Connection]:
    """Open a transaction that writes; it happens entirely or, where anything goes wrong, not at all."""
    if place.read_only:
        raise BadInput(f"The store {place.shown!r} was opened to be read", help="open it without read_only.")
    with told(place.shown), engine.connect().execution_options(**{WRITES: True}) as connection, connection.begin():
        yield connection


@contextmanager
def reading(engine: Engine, place: Place) -> Iterator[Connection]:
    """Open a transaction that reads one moment of the store."""
    with told(place.shown), engine.connect() as connection, connection.begin():
        yield connection


def looked_at(place: Place, statement: str) -> list[Any]:
    """Ask a file of SQLite without leaving a trace in it: it may be another program's, or of a newer version."""
    with told(place.shown), closing(_connected(replace(place, read_only=True))) as connection:
        return connection.execute(statement).fetchall()


def backup(place: Place, suffix: str) -> Path:
    """Copy a file of SQLite as it is at this moment, beside it; an earlier copy is never replaced."""
    assert place.path is not None
    names = (f"{place.path.name}.{suffix}.backup{'' if number == 1 else number}" for number in itertools.count(1))
    target = next(path for name in names if not (path := place.path.with_name(name)).exists())
    part = target.with_name(target.name + ".part")
    try:
        with (
            told(place.shown),
            closing(_connected(replace(place, read_only=True))) as source,
            closing(sqlite3.connect(part)) as copy,
        ):
            source.backup(copy)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
    return target
