"""Ids: which row is whose. Each is there and occurs once, and two files match one to one or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts.array_files import ARRAYS, NPY, array_names, ending_of, read_array
from equipoise.cohorts.readers import open_table
from equipoise.cohorts.tables import LazyTable
from equipoise.foundation.errors import BadInput, listing, unknown_name
from equipoise.tallies.labels import label_of

Ids = tuple[str, ...]
# Arrays and columns of these names are taken for the ids of the rows, if nobody says otherwise.
ID_NAMES = ("id", "ids")


def read_ids(path: Path, wanted: str | None, rows: int) -> tuple[str | None, Ids | None]:
    """Return the ids asked for; without being asked, those that the file plainly has, and what they are called."""
    names = _names(path, rows)
    if wanted is not None:
        return wanted, _read(path, wanted, rows)
    for name in ID_NAMES:
        if name in names:
            try:
                return name, _read(path, name, rows)
            except BadInput:  # nobody said that these are ids
                return None, None
    return None, None


def _names(path: Path, rows: int) -> list[str]:
    if ending_of(path) == NPY:
        return []
    if ending_of(path) in ARRAYS:
        return [name for name, shape in array_names(path).items() if shape == (rows,)]
    return list(open_table(path).collect_schema())


def _read(path: Path, name: str, rows: int) -> Ids:
    if ending_of(path) == NPY:
        raise BadInput(
            f"{path.name} has no ids: a .npy file holds one array",
            way_out=f"save points and ids together, numpy.savez(file, z=points, {name}=ids), or keep all files in the "
            "same order and leave --id (id=) out.",
        )
    if ending_of(path) not in ARRAYS:
        table = LazyTable(open_table(path), path.name)
        table.check_columns([name])
        return checked_ids(table.in_memory([name]).column(name).tolist(), path.name)
    shapes = array_names(path)
    if name not in shapes:
        raise unknown_name("array", name, shapes, path.name)
    if shapes[name] != (rows,):
        raise BadInput(f"The ids {name!r} of {path.name} have shape {shapes[name]}", allowed=f"one a row: ({rows},)")
    return checked_ids(read_array(path, name).tolist(), path.name)


def checked_ids(values: Sequence[object], where: str) -> Ids:
    """Return ids as text; each must be there and occur once."""
    ids = [label_of(value) for value in values]
    if None in ids:
        raise BadInput(
            f"{ids.count(None):,} ids of {where} are missing, the first in row {ids.index(None):,}",
            allowed="an id for every row",
        )
    twice = [name for name, times in Counter(ids).items() if times > 1]
    if twice:
        raise BadInput(
            f"{len(twice):,} ids of {where} occur more than once: {listing(twice, 5)}",
            allowed="ids that name one row each",
        )
    return tuple(str(name) for name in ids)


def order_by_id(wanted: Sequence[str], given: Sequence[str], here: str, there: str) -> NDArray[np.int64]:
    """Return where each wanted id is among the given ones; they must match one to one."""
    place = {name: row for row, name in enumerate(given)}
    lost = [name for name in wanted if name not in place]
    held = set(wanted)
    extra = [name for name in given if name not in held]
    if lost or extra:
        sides = ((lost, here, there), (extra, there, here))
        parts = [f"{len(ids):,} ids of {a} are not in {b} ({listing(ids, 5)})" for ids, a, b in sides if ids]
        raise BadInput("; ".join(parts), allowed="the same ids in every file, each once", way_out="drop the others.")
    return np.fromiter((place[name] for name in wanted), dtype=np.int64, count=len(wanted))


def check_same_ids(first: Ids, second: Ids, here: str, there: str) -> None:
    """Refuse rows that are about to be taken in their order although their ids say that they differ."""
    differ = [a != b for a, b in zip(first, second, strict=True)]
    if any(differ):
        row = differ.index(True)
        raise BadInput(
            f"{here} and {there} both have ids, and {sum(differ):,} of {len(differ):,} rows differ in them: "
            f"row {row:,} is {first[row]!r} in one and {second[row]!r} in the other",
            way_out="match the rows by their ids: --id NAME (id=).",
        )
