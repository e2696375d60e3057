"""What a database says when something is wrong, told in words that help."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from equipoise.foundation.errors import BadInput
from equipoise.studies.storage.tables import sql

NOTHING = "nothing of what was being written is kept, and what was recorded before is safe"
HELD = (
    "The store {where!r} was held by another program for too long; " + NOTHING,
    "see what else has it open, and run again.",
)
DAMAGED = (
    "The store {where!r} is damaged",
    "go back to a copy of it; what can still be read is saved by: sqlite3 STORE .recover | sqlite3 NEW.",
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
    ("malformed", *DAMAGED),
    ("no such table", *DAMAGED),
    ("no such column", *DAMAGED),
    (
        "disk i/o error",
        "The disk of the store {where!r} failed to read or write; " + NOTHING,
        "see whether the disk is full or failing, and run again.",
    ),
    ("unable to open", "The store {where!r} cannot be opened", "see whether its folder and file may be read."),
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
def told(where: str) -> Iterator[None]:
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
