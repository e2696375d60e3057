"""Ids: which row is whose. Each is there and occurs once, and two files match one to one or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts.array_files import NPY, array_names, ending_of, read_array
from equipoise.cohorts.own_ids import own_ids
from equipoise.cohorts.readers import ARRAYS, open_table
from equipoise.cohorts.tables import LazyTable
from equipoise.foundation.errors import BadInput, listing, unknown_name
from equipoise.foundation.text import fitting, plural
from equipoise.tallies.labels import label_of

Ids = tuple[str, ...]
# How a caller leaves out rows that cannot be used.
DROP = "of every file with --drop (drop=True)"


def read_ids(path: Path, wanted: str | None, rows: int) -> Ids | None:
    """Return the ids asked for; without being asked, those that the file plainly has."""
    if wanted is not None:
        return _read(path, wanted, rows)
    name = own_ids(path, rows)
    try:
        return None if name is None else _read(path, name, rows)
    except BadInput:  # nobody said that these are ids
        return None


def _read(path: Path, name: str, rows: int) -> Ids:
    if ending_of(path) == NPY:
        raise BadInput(
            f"{path.name} has no ids: a .npy file holds one array",
            help=f"save points and ids together, numpy.savez(file, z=points, {name}=ids), or keep all files in the "
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
        raise BadInput(
            f"The ids {name!r} of {path.name} have shape {shapes[name]}", available=f"one per row: ({rows},)"
        )
    return checked_ids(read_array(path, name).tolist(), path.name)


def checked_ids(values: Sequence[object], where: str) -> Ids:
    """Return ids as text; each must be there and occur once."""
    ids = [label_of(value) for value in values]
    missing = ids.count(None)
    if missing:
        raise BadInput(
            f"{plural(missing, 'id')} of {where} {fitting(missing, 'is', 'are')} missing, the first in row "
            f"{ids.index(None):,}",
            available="one id per row",
        )
    twice = [name for name, times in Counter(ids).items() if times > 1]
    if twice:
        raise BadInput(
            f"{plural(len(twice), 'id')} of {where} {fitting(len(twice), 'occurs', 'occur')} more than once: "
            f"{listing(twice, 5)}",
            available="ids that identify one row each",
        )
    return tuple(str(name) for name in ids)


def order_by_id(
    wanted: Sequence[str], given: Sequence[str], here: str, there: str, *, more: bool = False
) -> NDArray[np.int64]:
    """Return where each wanted id is among the given ones; they must match one to one, unless ``more`` may be given."""
    place = {name: row for row, name in enumerate(given)}
    lost = [name for name in wanted if name not in place]
    held = set(wanted)
    extra = [] if more else [name for name in given if name not in held]
    if lost or extra:
        sides = ((lost, here, there), (extra, there, here))
        parts = [
            f"{plural(len(ids), 'id')} of {a} {fitting(len(ids), 'is', 'are')} not in {b} ({listing(ids, 5)})"
            for ids, a, b in sides
            if ids
        ]
        raise BadInput(
            "; ".join(parts),
            available="the same ids in every file, each once",
            help=f"leave the others out {DROP}.",
        )
    return np.fromiter((place[name] for name in wanted), dtype=np.int64, count=len(wanted))
