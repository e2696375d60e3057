"""The layout of a store: made new, carried forward from an older version after a backup, or refused when newer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import equipoise
from equipoise.foundation.errors import BadInput
from equipoise.studies.storage._database import (
    READABLE,
    VERSION,
    Place,
    backup,
    insert_new,
    looked_at,
    reading,
    sql,
    tables,
    writing,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine


SCHEMA_TABLE, SCHEMA = "meta", "schema"
TABLES_OF_SQLITE = "SELECT name FROM sqlite_master WHERE type = 'table'"
# With blanks where another program's table of this name has fewer columns.
ALL_OF_META = "SELECT *, '', '' FROM meta"


def settle_schema(engine: Engine, place: Place) -> None:
    """See that the tables are there, and of the version that this program reads and writes."""
    version = _version(engine, place)
    if version is None:
        _make(engine, place)
    elif version > VERSION:
        raise BadInput(
            f"The store {place.shown!r} has the layout of version {version}, which is newer than this program",
            available=f"version {VERSION} and older",
            help=f"update equipoise (this is {equipoise.__version__}); the store was not touched.",
        )
    elif version < VERSION and not (place.read_only and version >= READABLE):
        _migrate(engine, place, version)


def _version(engine: Engine, place: Place) -> int | None:
    """Return the version of a store, None where there is no store yet; another program's database is refused."""
    version = None
    if place.path is not None:
        found = set() if place.is_new else {name for (name,) in looked_at(place, TABLES_OF_SQLITE)}
        if SCHEMA_TABLE in found:
            version = _as_version([value for name, value, *_ in looked_at(place, ALL_OF_META) if name == SCHEMA])
    else:
        with reading(engine, place) as connection:
            found = set(sql().inspect(connection).get_table_names())
            found &= set(tables().metadata.tables)  # other programs may have tables in the same database
            if SCHEMA_TABLE in found:
                version = _version_within(connection)
    if found and version is None:
        raise BadInput(
            f"The database {place.shown!r} is not a store: it belongs to another program",
            help="name the store of a study, or a file that does not exist yet.",
        )
    return version


def _version_within(connection: Connection) -> int | None:
    found = connection.execute(sql().text("SELECT value FROM meta WHERE name = :name"), {"name": SCHEMA})
    return _as_version(found.scalars().all())


def _as_version(values: Sequence[object]) -> int | None:
    return int(str(values[0])) if len(values) == 1 and str(values[0]).isdecimal() else None


def _make(engine: Engine, place: Place) -> None:
    if place.read_only:
        raise BadInput(f"The store {place.shown!r} is empty", help="run the study first, or name its store.")
    made = tables()
    with writing(engine, place) as connection:
        made.metadata.create_all(connection)
        connection.execute(
            insert_new(connection, made.meta),
            [
                {"name": SCHEMA, "value": str(VERSION)},
                {"name": "made by", "value": f"equipoise {equipoise.__version__}"},
            ],
        )


def _migrate(engine: Engine, place: Place, version: int) -> None:
    steps = [MIGRATIONS.get(older) for older in range(version, VERSION)]
    if None in steps:
        raise BadInput(
            f"The store {place.shown!r} has the layout of version {version}, which is no longer supported",
            available=f"versions {min(MIGRATIONS)} to {VERSION}",
        )
    if place.read_only:
        raise BadInput(
            f"The store {place.shown!r} has the layout of version {version}, and this program reads version {VERSION}",
            help="open it once where it can be written: it is migrated, and a copy of the original is kept.",
        )
    kept: Path | None = backup(place, f"version-{version}") if place.path is not None else None
    try:
        with writing(engine, place) as connection:
            now = _version_within(connection)  # another process may have been faster
            for older in range(VERSION if now is None else now, VERSION):
                MIGRATIONS[older](connection)
                connection.execute(
                    sql().text("UPDATE meta SET value = :value WHERE name = :name"),
                    {"value": str(older + 1), "name": SCHEMA},
                )
    except BadInput as error:
        beside = f"; a copy of it is {str(kept)!r}" if kept else ""
        raise BadInput(
            f"The store {place.shown!r} could not be migrated from version {version} "
            f"({error.given.rstrip('.')}); it is unchanged{beside}",
            help=error.help,
        ) from error


def _from_0(connection: Connection) -> None:
    """Version 0 wrote the environment into every trial, and did not say how often a trial was begun."""
    text = sql().text
    connection.execute(
        text("CREATE TABLE environments (environment TEXT NOT NULL PRIMARY KEY, described TEXT NOT NULL)")
    )
    connection.execute(text("ALTER TABLE trials ADD COLUMN tries INTEGER NOT NULL DEFAULT 0"))
    found = connection.execute(text("SELECT DISTINCT environment FROM trials WHERE environment IS NOT NULL"))
    for (described,) in found.all():
        named = {"name": hashlib.sha256(described.encode()).hexdigest()[:16], "described": described}
        connection.execute(text("INSERT INTO environments VALUES (:name, :described)"), named)
        connection.execute(text("UPDATE trials SET environment = :name WHERE environment = :described"), named)
    connection.execute(text("UPDATE trials SET tries = 1 WHERE state <> 'waiting'"))


def _from_1(connection: Connection) -> None:
    """Version 1 had no checksums; rows of before stay without."""
    for table in ("cohorts", "details", "readouts"):
        connection.execute(sql().text(f"ALTER TABLE {table} ADD COLUMN checksum TEXT"))


# By the version that a step starts from.
MIGRATIONS: Mapping[int, Callable[[Connection], None]] = {0: _from_0, 1: _from_1}
