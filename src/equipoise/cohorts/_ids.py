"""Ids: which row is whose. Each is there and occurs once, and two files match one to one or not at all.

Taking rows in their order is right only where the files agree on it. An array that two files share, with another value
in every row, tells: by its name (``id``, ``pid``, ``person_id``), or because it holds the same values in another order.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts._array_files import (
    NPY,
    array_names,
    file_ending,
    read_array,
)
from equipoise.cohorts._readers import (
    ARRAY_ENDINGS,
    open_table,
)
from equipoise.cohorts._tables import LazyTable
from equipoise.foundation import (
    BadInput,
    fitting,
    listing,
    plural,
    unknown_name,
)
from equipoise.tallies import (
    Label,
    label_of,
)

Ids = tuple[str, ...]
# How a caller leaves out rows that cannot be used.
DROP = "of every file with --drop (drop=True)"


def read_ids(path: Path, column: str | None, rows: int) -> Ids | None:
    """Return the ids asked for; without being asked, those that the file plainly has."""
    if column is not None:
        return _read(path, column, rows)
    name = row_id_column(path, rows)
    try:
        return None if name is None else _read(path, name, rows)
    except BadInput:  # nobody said that these are ids
        return None


def _read(path: Path, name: str, rows: int) -> Ids:
    if file_ending(path) == NPY:
        raise BadInput(
            f"{path.name} has no ids: a .npy file holds one array",
            help=f"save points and ids together, numpy.savez(file, z=points, {name}=ids), or keep all files in the "
            "same order and leave --id (id=) out.",
        )
    if file_ending(path) not in ARRAY_ENDINGS:
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
    wanted_ids: Sequence[str], given_ids: Sequence[str], first_name: str, second_name: str, *, more: bool = False
) -> NDArray[np.int64]:
    """Return where each wanted id is among the given ones; they must match one to one, unless ``more`` may be given."""
    row_of_id = {name: row for row, name in enumerate(given_ids)}
    lost = [name for name in wanted_ids if name not in row_of_id]
    wanted_set = set(wanted_ids)
    extra = [] if more else [name for name in given_ids if name not in wanted_set]
    if lost or extra:
        sides = ((lost, first_name, second_name), (extra, second_name, first_name))
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
    return np.fromiter((row_of_id[name] for name in wanted_ids), dtype=np.int64, count=len(wanted_ids))


# The last word of a name that says which row is whose.
ID_WORDS = {
    "id", "ids", "pid", "pids", "uid", "uids", "uuid", "uuids", "guid", "guids", "identifier", "identifiers", "key",
    "keys", "index", "idx", "name", "names", "file", "files", "filename", "filenames", "path", "paths",
}  # fmt: skip
# personid, imgids: a word of three letters or more with id behind it.
JOINED = re.compile(r"[a-z]{3,}ids?")
# An array of another name is taken for ids where so many of its values are in both files.
MOSTLY = 0.5


def looks_like_id(name: str) -> bool:
    """Tell whether a name says that what it names tells rows apart: id, ids, pid, person_id, userId, filename."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)
    last = words[-1].lower() if words else ""
    return last in ID_WORDS or JOINED.fullmatch(last) is not None


def id_columns(path: Path | None, rows: int) -> list[str]:
    """Return what a file has beside its points, a value a row: every such array; of a table, what is called an id."""
    if path is None or file_ending(path) == NPY:
        return []
    if file_ending(path) in ARRAY_ENDINGS:
        return [name for name, shape in array_names(path).items() if shape == (rows,)]
    return [name for name in open_table(path).collect_schema() if looks_like_id(name)]


def read_id_column(path: Path, name: str) -> Any:
    """Return such a column."""
    if file_ending(path) in ARRAY_ENDINGS:
        return read_array(path, name)
    return LazyTable(open_table(path), path.name).in_memory([name]).column(name)


def shared_names(first: Iterable[str], second: Iterable[str]) -> list[tuple[str, str]]:
    """Return the names that two files share, each as it stands in the one and in the other: id and IDs are one."""
    second_by_name = {_folded(name): name for name in second}
    return [(name, second_by_name[_folded(name)]) for name in first if _folded(name) in second_by_name]


def _folded(name: str) -> str:
    return name.casefold().removesuffix("s")


def check_same_rows(first: Any, second: Any, names: tuple[str, str], files: tuple[str, str]) -> None:
    """Refuse rows that are about to be taken in their order although a column of both says that they differ."""
    told_apart = [_all_differ(side) for side in (first, second)]
    named = looks_like_id(names[0])
    if not (any(told_apart) if named else all(told_apart)):
        return
    first_labels, other = _labels(first), _labels(second)
    if first_labels is None or other is None or len(first_labels) != len(other) or first_labels == other:
        return
    if not named and not _same_people(first_labels, other):
        return
    differ = [a != b for a, b in zip(first_labels, other, strict=True)]
    row = differ.index(True)
    raise BadInput(
        f"{files[0]} and {files[1]} both have ids ({names[0]!r}), and {sum(differ):,} of {len(differ):,} rows differ "
        f"in them: row {row:,} is {first_labels[row]!r} in one and {other[row]!r} in the other",
        available="rows in the same order, or ids to match them by",
        help=_fix(names, set(first_labels) == set(other), files[1]),
    )


def _fix(names: tuple[str, str], match: bool, file: str) -> str:
    if names[0] != names[1]:
        return f"call {names[1]!r} of {file} {names[0]!r} too, and match the rows by it: --id {names[0]} (id=)."
    advice = f"match the rows by them: --id {names[0]} (id=), which every file must have, that of --rows too."
    return advice if match else f"keep the people who are in both, and {advice}"


def _all_differ(column: Any) -> bool:
    """Tell whether every row has a value of its own."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "iufUS":
        return len(np.unique(column)) == len(column)
    values = column.tolist() if isinstance(column, np.ndarray) else column.to_list()
    return not any(isinstance(value, (list, dict)) for value in values) and len(set(values)) == len(values)


def _labels(column: Any) -> list[Label] | None:
    """Return the values as text; None where they are fractions, which are nobody's ids."""
    if isinstance(column, np.ndarray) and column.dtype.kind == "f" and not (column == np.rint(column)).all():
        return None
    values = column.tolist() if isinstance(column, np.ndarray) else column.to_list()
    if any(isinstance(value, float) and value % 1 != 0 for value in values):
        return None
    return [label_of(value) for value in values]


def _same_people(labels: list[Label], other: list[Label]) -> bool:
    """Tell whether two columns mostly hold the same values; places in a ranking, 0 to N - 1 or 1 to N, are no ids."""
    first_people, second_people = set(labels), set(other)
    ranking = any(first_people == {str(position) for position in range(start, start + len(labels))} for start in (0, 1))
    return not ranking and len(first_people & second_people) >= MOSTLY * len(labels)


def row_id_column(path: Path, rows: int) -> str | None:
    """Return the first column that plainly is the rows' id; its values must still be looked at."""
    names = [name for name in id_columns(path, rows) if looks_like_id(name)]
    return min(names, key=lambda name: (name.casefold() not in ("id", "ids"), names.index(name)), default=None)
