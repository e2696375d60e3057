"""What a database says when something is wrong, told in words that help."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from equipoise.foundation.errors import BadInput
from equipoise.studies.storage.tables import sql

NOTHING = "nothing of what was being written is kept, and what was recorded before is safe"
HELD = (
    "The store {where!r} was held by another program for too long; " + NOTHING,
    "see what else has it open, and run again.",
)
# What SQLite or PostgreSQL says (in small letters), and what it means for the store and its owner.
MEANINGS = (
    ("disk is full", "The disk of the store {where!r} is full; " + NOTHING, "free some space and run again."),
    (
        "readonly database",
        "The store {where!r} cannot be written to; " + NOTHING,
        "copy it to a folder that is yours; a report reads it where it is.",
    ),
    ("locked", *HELD),
    ("lock timeout", *HELD),
    (
        "idle-in-transaction timeout",
        "Others were let write to the store {where!r}, because this program stood still while it wrote; " + NOTHING,
        "run again.",
    ),
    (
        "not a database",
        "The file {where!r} is not a store",
        "name the store of a study, or a file that does not exist yet.",
    ),
    (
        "malformed",
        "The store {where!r} is damaged",
        "go back to a copy of it; what can still be read is saved by: sqlite3 STORE .recover | sqlite3 NEW.",
    ),
    (
        "disk i/o error",
        "The disk of the store {where!r} failed to read or write; " + NOTHING,
        "see whether the disk is full or failing, and run again.",
    ),
    ("unable to open", "The store {where!r} cannot be opened", "see whether its folder and file may be read."),
)


@contextmanager
def told(where: str) -> Iterator[None]:
    """Turn an error of the database into one that says what happened and the way out."""
    errors = sql().exc
    try:
        yield
    except (errors.DBAPIError, sqlite3.Error) as error:
        words = str(getattr(error, "orig", error)).strip()
        for sign, given, way_out in MEANINGS:
            if sign in words.lower():
                raise BadInput(given.format(where=where), way_out=way_out) from error
        if isinstance(error, errors.OperationalError | errors.InterfaceError):
            first = words.partition("\n")[0]
            raise BadInput(
                f"The store {where!r} did not answer ({first})", way_out="see whether it is there."
            ) from error
        raise
