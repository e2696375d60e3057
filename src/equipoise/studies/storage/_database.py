"""The database of a store: its tables, where it lies, how it is opened, and its errors in words."""

from __future__ import annotations

import itertools
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, unquote

from equipoise.foundation import (
    BadInput,
    redacted_argument,
    remember_secrets,
    require,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, MetaData, Table


# The layout that this program reads and writes. A change of the tables raises it and adds a step to migrations.py.
VERSION = 2
# From this one on a store can be read as it is: later layouts have more columns, which may be empty.
READABLE = 1


def sql() -> ModuleType:
    """Return SQLAlchemy, or say how to install it."""
    return require("sqlalchemy", extra="train", purpose="The store of a study")


@dataclass(frozen=True, eq=False)
class Tables:
    """One field a table."""

    metadata: MetaData
    meta: Table
    cohorts: Table
    environments: Table
    trials: Table
    details: Table
    places: Table
    readouts: Table
    artefacts: Table


@cache
def tables() -> Tables:
    """Return the tables of the present version."""
    sa = sql()
    metadata = sa.MetaData()
    column, text, integer, double, blob = sa.Column, sa.Text, sa.Integer, sa.Double, sa.LargeBinary

    def of_trial(**options: Any) -> Any:
        return column("trial", integer, sa.ForeignKey("trials.id"), **options)

    meta = sa.Table("meta", metadata, column("name", text, primary_key=True), column("value", text, nullable=False))
    # What the places of a readout mean, and a hash of the truth that predictions were counted against.
    cohorts = sa.Table(
        "cohorts", metadata,
        column("cohort", text, primary_key=True),
        column("digest", text, nullable=False),
        column("names", text, nullable=False),
        column("checksum", text),
    )  # fmt: skip
    environments = sa.Table(
        "environments", metadata,
        column("environment", text, primary_key=True),
        column("described", text, nullable=False),
    )  # fmt: skip
    # Narrow on purpose: this is what leasing and counting walk through. What is long stands in details.
    trials = sa.Table(
        "trials", metadata,
        column("id", integer, primary_key=True),
        column("key", text, nullable=False, unique=True),
        column("state", text, nullable=False),
        column("owner", text),
        column("until", double),
        column("tries", integer, nullable=False),
        column("seconds", double, nullable=False),
        column("ended", double),
        column("environment", text),
    )  # fmt: skip
    sa.Index("trials_by_owner", trials.c.owner)
    details = sa.Table(
        "details", metadata,
        of_trial(primary_key=True, autoincrement=False),
        column("cohort", text, nullable=False),
        column("described", text, nullable=False),
        column("best_epoch", integer, nullable=False),
        column("notes", text, nullable=False),
        column("failure", text),
        column("history", blob),
        # Of what is known of a trial that ended; see damage.py.
        column("checksum", text),
    )  # fmt: skip
    places = sa.Table(
        "places", metadata,
        column("plan", text, primary_key=True),
        of_trial(primary_key=True, autoincrement=False),
        column("stack", integer, nullable=False),
        column("place", integer, nullable=False),
        column("cell", text, nullable=False),
    )  # fmt: skip
    sa.Index("places_by_stack", places.c.plan, places.c.stack, places.c.place)
    # Status counts cell by cell along this one, without looking at the table itself.
    sa.Index("places_by_cell", places.c.plan, places.c.cell, places.c.place, places.c.trial)
    readouts = sa.Table(
        "readouts", metadata,
        of_trial(primary_key=True, autoincrement=False),
        column("split", text, primary_key=True),
        column("kind", text, nullable=False),
        column("shape", text, nullable=False),
        column("counts", blob, nullable=False),
        column("checksum", text),
    )  # fmt: skip
    artefacts = sa.Table(
        "artefacts", metadata,
        of_trial(primary_key=True, autoincrement=False),
        column("name", text, primary_key=True),
        column("size", integer, nullable=False),
        column("file", text),
        column("digest", text),
        column("content", blob),
    )  # fmt: skip
    return Tables(metadata, meta, cohorts, environments, trials, details, places, readouts, artefacts)


def present(connection: Connection, column: Any) -> Any:
    """Return a column to be selected, or NULL where a store of an older layout, opened to be read, lacks it."""
    names_present = {
        column_description["name"] for column_description in sql().inspect(connection).get_columns(column.table.name)
    }
    return column if column.name in names_present else sql().null().label(column.name)


def insert_new(connection: Connection, table: Table) -> Any:
    """Return an INSERT that leaves a row alone that is there already, in the words of the database."""
    dialect = require(f"sqlalchemy.dialects.{connection.dialect.name}", extra="train", purpose="The store of a study")
    return dialect.insert(table).on_conflict_do_nothing()


MOUNTS = Path("/proc/self/mountinfo")

# Kinds of file systems that several machines may write to at once, or that pass locks on to another machine.
NETWORK = frozenset(
    {
        "nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "9p", "afs", "coda", "ceph", "glusterfs", "lustre", "gpfs",
        "beegfs", "beegfs_nodev", "pvfs2", "orangefs", "gfs", "gfs2", "ocfs2", "davfs", "wekafs", "pnfs", "panfs",
        "acfs", "drvfs",
    }
)  # fmt: skip
# The same through a program of the user; other kinds of "fuse." (an encrypted folder, say) are local.
NETWORK_FUSE = re.compile(
    r"fuse\.(sshfs|s3fs|s3backer|rclone|gcsfuse|blobfuse2?|glusterfs|ceph(-fuse)?|davfs2?|curlftpfs|smbnetfs|mfs|moosefs"
    r"|seaweedfs|juicefs|goofys|hdfs|lustre|beegfs|gvfsd-fuse|osxfs|grpcfuse|mount-s3|weed)"
)


def kind_of(path: Path, mounts: Path | None = None) -> str | None:
    """Return the kind of the file system that holds a path (or will hold it), None where it is unknown."""
    try:
        lines = (mounts or MOUNTS).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    resolved, kind, depth = path.absolute().resolve(), None, -1
    for line in lines:
        before, separator, after = line.partition(" - ")
        fields = before.split(" ")
        if not separator or len(fields) < 5:
            continue
        point = Path(_plain(fields[4]))
        # Of two mounts on one point the later one hides the earlier.
        if len(point.parts) >= depth and resolved.is_relative_to(point):
            kind, depth = after.split(" ")[0], len(point.parts)
    return kind


def _plain(field: str) -> str:
    r"""Undo the kernel's spelling of blanks and the like: ``\040``."""
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), field)


def is_network(kind: str | None) -> bool:
    """Tell whether a kind of file system is shared over a network."""
    return kind is not None and (kind in NETWORK or NETWORK_FUSE.fullmatch(kind) is not None)


def refuse_network(path: Path) -> None:
    """Refuse a store where the locks of SQLite do not hold."""
    kind = kind_of(path)
    if is_network(kind):
        raise BadInput(
            f"The store {str(path)!r} would be on a network file system ({kind}), "
            "where two machines could write over each other",
            available="a path on a local disk, or a PostgreSQL URL",
            help="use --store with a local path or postgresql://user@host/database; "
            "or run with --to DIR on each machine and merge the folders on one machine.",
        )


NOTHING = "the write was discarded, and what was recorded before is safe"
LOCKED = (
    "The store {where!r} was held by another program for too long; " + NOTHING,
    "check which other program has it open, and run again.",
)
DAMAGED = (
    "The store {where!r} is damaged",
    "restore a copy of it; what is still readable is saved by: sqlite3 STORE .recover | sqlite3 NEW.",
)
# What SQLite or PostgreSQL says (in small letters), and what it means for the store and its owner.
MEANINGS = (
    ("disk is full", "The disk of the store {where!r} is full; " + NOTHING, "free some space and run again."),
    (
        "readonly database",
        "The store {where!r} cannot be written to; " + NOTHING,
        "copy it to a folder that you may write to; a report can read it where it is.",
    ),
    ("locked", *LOCKED),
    ("lock timeout", *LOCKED),
    (
        "idle-in-transaction timeout",
        "Other programs wrote to the store {where!r}, because this one was suspended during a write; " + NOTHING,
        "run again.",
    ),
    (
        "not a database",
        "The file {where!r} is not a store",
        "name the store of a study, or a file that does not exist yet.",
    ),
    ("malformed", *DAMAGED),
    ("no such table", *DAMAGED),
    ("no such column", *DAMAGED),
    (
        "disk i/o error",
        "The disk of the store {where!r} failed to read or write; " + NOTHING,
        "check whether the disk is full or failing, and run again.",
    ),
    ("unable to open", "The store {where!r} cannot be opened", "check whether its folder and file can be read."),
)


# How long a database that was there may be away (it is restarted), and the pauses between attempts, in seconds.
OUTAGE, FIRST_PAUSE, LONGEST_PAUSE = 60.0, 0.1, 2.0
# What PostgreSQL says when it stops, has crashed, or is about to be there again; and when a connection failed.
AWAY, CONNECTION = ("57P01", "57P02", "57P03"), "08"

T = TypeVar("T")


class Unreachable(BadInput):
    """The database does not answer: it is stopped or restarted, or the way to it is cut."""


def through_outage(once: Callable[[bool], T], seconds: float | None = None) -> T:
    """Do something with a database, again and again while it is away, for a minute (``seconds``) at most.

    ``once`` is told whether it is tried again: the attempt before may have been carried out entirely, and only the
    answer lost.
    """
    until = time.monotonic() + (OUTAGE if seconds is None else seconds)
    pause, again = FIRST_PAUSE, False
    while True:
        try:
            return once(again)
        except Unreachable:
            if time.monotonic() + pause > until:
                raise
        time.sleep(pause)
        pause, again = min(2 * pause, LONGEST_PAUSE), True


def _is_away(error: Any) -> bool:
    """Tell whether the server is gone, by the code that it gave; where nobody was there to give one, it is None."""
    errors = sql().exc
    if not isinstance(error, errors.DBAPIError):
        return False
    # psycopg and psycopg2 name it differently; SQLite has none, and no server either.
    codes = [getattr(error.orig, name) for name in ("sqlstate", "pgcode") if hasattr(error.orig, name)]
    if not codes:
        return False
    if codes[0] is None:
        return isinstance(error, errors.OperationalError | errors.InterfaceError)
    return codes[0] in AWAY or str(codes[0]).startswith(CONNECTION)


@contextmanager
def database_errors(where: str) -> Iterator[None]:
    """Turn an error of the database into one that says what happened and how to fix it."""
    errors = sql().exc
    try:
        yield
    except UnicodeDecodeError as error:  # SQLite says what is wrong in the damaged letters themselves
        raise BadInput(DAMAGED[0].format(where=where), help=DAMAGED[1]) from error
    except (errors.DBAPIError, sqlite3.Error) as error:
        words = str(getattr(error, "orig", error)).strip()
        for sign, given, hint in MEANINGS:
            if sign in words.lower():
                raise BadInput(given.format(where=where), help=hint) from error
        if _is_away(error) or isinstance(error, errors.OperationalError | errors.InterfaceError):
            first = words.partition("\n")[0]
            kind = Unreachable if _is_away(error) else BadInput
            raise kind(f"The store {where!r} did not answer ({first})", help="see whether it is there.") from error
        raise


# How long a writer waits for another one before it gives up.
PATIENCE = 60.0
WRITES = "equipoise_writes"
# The turn to write in a PostgreSQL database, by the number that all writers ask for ("equipois").
TURN = 0x65717569706F6973
# What a path must not be taken for: a URL has one of these before "://".
DATABASES = ("sqlite", "postgresql")
QUERY = re.compile(r"[A-Za-z_]+=[^&]*(&[A-Za-z_]+=[^&]*)*")


@dataclass(frozen=True)
class StoreLocation:
    """Where a store is: a file of SQLite (``path``), or another database (``url``)."""

    name: str
    path: Path | None = None
    url: str | None = field(default=None, repr=False)  # it may hold a password
    read_only: bool = False

    @property
    def is_new(self) -> bool:
        """Whether there is no file yet, or an empty one."""
        return self.path is not None and (not self.path.exists() or not self.path.stat().st_size)


def store_location(where: str | Path, *, create: bool = True, read_only: bool = False) -> StoreLocation:
    """Tell a path from a URL, and refuse what cannot hold a store before anything is opened."""
    text = str(where)
    kind, separator, rest = text.partition("://")
    if separator and kind.partition("+")[0] not in DATABASES:
        raise _no_store(redacted_argument(text))
    if separator and not kind.startswith("sqlite"):
        remember_secrets([text])
        driver = "postgresql+psycopg" if kind == "postgresql" else kind
        return StoreLocation(redacted_argument(text), url=f"{driver}://{_with_escaped_user(rest)}", read_only=read_only)
    path = Path(rest.removeprefix("/") if separator else text).expanduser()
    _check_path(path, create=create and not read_only, read_only=read_only)
    refuse_network(path)
    return StoreLocation(str(path), path=path, read_only=read_only)


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
        raise BadInput(f"Store not found: {str(path)!r}", help="run the study first, or name its store.")
    if not path.parent.is_dir():
        raise BadInput(
            f"The folder {str(path.parent)!r} of the store {path.name!r} does not exist", help="create it first."
        )
    if not read_only and not all(os.access(existing, os.W_OK) for existing in (path.parent, path) if existing.exists()):
        raise BadInput(
            f"The store {str(path)!r} cannot be written to",
            help="copy it to a folder that you may write to; a report can read it where it is.",
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


def opened(location: StoreLocation) -> Engine:
    """Return the engine of a place. Nothing is connected yet."""
    sa = sql()
    if location.path is None:
        return _opened_postgres(location)
    engine: Engine = sa.create_engine("sqlite://", creator=lambda: _connected(location), poolclass=sa.pool.QueuePool)
    sa.event.listen(engine, "connect", _read_only_settings if location.read_only else _settings)
    sa.event.listen(engine, "begin", _begin)
    return engine


def _opened_postgres(location: StoreLocation) -> Engine:
    sa = sql()
    if str(location.url).startswith("postgresql+psycopg:"):
        require("psycopg", extra="postgres", purpose="A PostgreSQL store")
    engine: Engine | None = None
    with suppress(sa.exc.ArgumentError, ValueError):  # what they say quotes parts of the URL
        engine = sa.create_engine(location.url, isolation_level="READ COMMITTED", pool_pre_ping=True)
    if engine is None:
        raise _no_store(location.name)
    sa.event.listen(engine, "begin", _begin_postgres)
    return engine


def _open_mode(location: StoreLocation) -> str:
    if not location.read_only:
        return "mode=rwc"
    assert location.path is not None
    ahead = location.path.with_name(location.path.name + "-wal")
    written_ahead = ahead.exists() and ahead.stat().st_size
    # Readers of a file that is written ahead leave marks beside it; in a folder of which that cannot be done nobody
    # writes either, and the file is read as it stands.
    return "mode=ro" if written_ahead or os.access(location.path.parent, os.W_OK) else "mode=ro&immutable=1"


def _connected(location: StoreLocation) -> sqlite3.Connection:
    """Connect to a file by its URI, in which a path may have any letters; transactions begin where we say so."""
    assert location.path is not None
    connection = sqlite3.connect(
        f"file:{quote(str(location.path.absolute()))}?{_open_mode(location)}",
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
def writing(engine: Engine, location: StoreLocation) -> Iterator[Connection]:
    """Open a transaction that writes; it happens entirely or, where anything goes wrong, not at all."""
    if location.read_only:
        raise BadInput(f"The store {location.name!r} was opened read-only", help="open it without read_only.")
    with (
        database_errors(location.name),
        engine.connect().execution_options(**{WRITES: True}) as connection,
        connection.begin(),
    ):
        yield connection


@contextmanager
def reading(engine: Engine, location: StoreLocation) -> Iterator[Connection]:
    """Open a transaction that reads one moment of the store."""
    with database_errors(location.name), engine.connect() as connection, connection.begin():
        yield connection


def looked_at(location: StoreLocation, statement: str) -> list[Any]:
    """Ask a file of SQLite without leaving a trace in it: it may be another program's, or of a newer version."""
    with database_errors(location.name), closing(_connected(replace(location, read_only=True))) as connection:
        return connection.execute(statement).fetchall()


def backup(location: StoreLocation, suffix: str) -> Path:
    """Copy a file of SQLite as it is at this moment, beside it; an earlier copy is never replaced."""
    assert location.path is not None
    names = (f"{location.path.name}.{suffix}.backup{'' if number == 1 else number}" for number in itertools.count(1))
    target = next(path for name in names if not (path := location.path.with_name(name)).exists())
    part = target.with_name(target.name + ".part")
    try:
        with (
            database_errors(location.name),
            closing(_connected(replace(location, read_only=True))) as source,
            closing(sqlite3.connect(part)) as copy,
        ):
            source.backup(copy)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
    return target
