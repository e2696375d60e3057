"""Looks: every time that the verdicts of a study were read, with how much data; and margins fixed before the first.

A study that is extended after its verdicts were read gets another chance to show something by luck. The store therefore
remembers each look by what was there to be read (a digest of the trials that were done): the same data read twice is
one look. Both are rows of ``meta``, which every layout of a store has, so that older stores keep them too.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.foundation.errors import BadInput
from equipoise.studies.storage.opening import opened, place_of, writing
from equipoise.studies.storage.planning import FORM
from equipoise.studies.storage.tables import insert_new, sql, tables
from equipoise.studies.trial import canonical

if TYPE_CHECKING:
    from sqlalchemy import Connection

LOOK, MARGIN = "look at ", "equivalence margin of "


@dataclass(frozen=True)
class Look:
    """One reading of verdicts: the data by a digest, when (seconds since 1970), how many seeds and trials."""

    digest: str
    at: float
    seeds: int
    trials: int


def digest_of(keys: Iterable[str]) -> str:
    """Name what there is to be read by the keys of the trials that are done."""
    return hashlib.sha256(canonical(sorted(keys)).encode()).hexdigest()[:16]


def looks(connection: Connection, name: str) -> tuple[Look, ...]:
    """Return the looks at a study, the earliest first."""
    found = []
    for digest, value in _rows(connection, LOOK + name):
        with suppress(ValueError, KeyError, TypeError):  # what is damaged was a look nobody can tell apart
            told = json.loads(value)
            found.append(Look(digest, float(told["at"]), int(told["seeds"]), int(told["trials"])))
    return tuple(sorted(found, key=lambda look: look.at))


def margins(connection: Connection, name: str) -> dict[float, int]:
    """Return the margins of equivalence that were given for a study, and after how many looks each was."""
    found: dict[float, int] = {}
    for margin, value in _rows(connection, MARGIN + name):
        with suppress(ValueError, KeyError, TypeError):
            found[float(margin)] = int(json.loads(value)["looks"])
    return found


def remember_margin(connection: Connection, name: str, margin: float) -> None:
    """Write down a margin, with how many looks there were before; what is written already stays."""
    value = json.dumps({"at": time.time(), "looks": len(looks(connection, name))})
    _insert(connection, f"{MARGIN}{name}{FORM}{margin!r}", value)


def remember_look(where: str | Path, name: str, look: Look) -> bool:
    """Write down a look, unless the same data was looked at before; tell whether the store could be written to.

    The layout of the store stays as it is: reading an older one carries nothing forward.
    """
    try:
        place = place_of(where, create=False)
        engine = opened(place)
        try:
            with writing(engine, place) as connection:
                told = {"at": look.at, "seeds": look.seeds, "trials": look.trials}
                _insert(connection, f"{LOOK}{name}{FORM}{look.digest}", json.dumps(told))
        finally:
            engine.dispose()
    except (BadInput, OSError, sql().exc.SQLAlchemyError):
        return False
    return True


def _insert(connection: Connection, name: str, value: str) -> None:
    connection.execute(insert_new(connection, tables().meta), [{"name": name, "value": value}])


def _rows(connection: Connection, start: str) -> list[tuple[str, str]]:
    """Return what comes after the mark in the names of rows that start so, and their values."""
    meta = tables().meta
    chosen = sql().select(meta.c.name, meta.c.value).where(meta.c.name.startswith(start + FORM, autoescape=True))
    return [(str(name)[len(start + FORM) :], str(value)) for name, value in connection.execute(chosen)]
