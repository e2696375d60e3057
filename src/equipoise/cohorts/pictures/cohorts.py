"""Cohorts of picture files: a table with a column of file names, or folders whose names say what is in them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts.cohort import Cohort
from equipoise.cohorts.pictures.files import FORMATS, OnDamaged, Size, read_pictures
from equipoise.foundation.errors import BadInput, listing, unknown_name
from equipoise.tallies.labels import label_of

IMAGE, FILE = "image", "file"


def with_pictures(
    cohort: Cohort,
    column: str,
    folder: str | os.PathLike[str],
    *,
    resize: int | Size | None = None,
    on_damaged: OnDamaged = "stop",
) -> Cohort:
    """Return a cohort with a column ``image`` of pictures, read from the files that a column names, as its one feature.

    Names are those of files in ``folder``. Rows whose picture is damaged are left out if ``on_damaged`` is "skip".
    """
    if column not in cohort.columns:
        raise unknown_name("column", column, cohort.columns, f"the cohort {cohort.name!r}")
    if IMAGE in cohort.columns:
        raise BadInput(f"The cohort {cohort.name!r} has a column {IMAGE!r} already", help="rename that column.")
    names = [label_of(value) for value in cohort[column].tolist()]
    if None in names:
        raise BadInput(
            f"Row {names.index(None):,} of the column {column!r} (counted from 0) names no file",
            help="leave such rows out.",
        )
    read = read_pictures(Path(folder), [str(name) for name in names], resize=resize, on_damaged=on_damaged)
    kept = cohort.take(read.places)
    return replace(kept, columns={**kept.columns, IMAGE: read.pictures}, features=(IMAGE,))


def cohort_of_folder(
    folder: str | os.PathLike[str],
    *,
    levels: Sequence[str] = ("class",),
    target: str = "class",
    groups: Sequence[str],
    name: str | None = None,
    resize: int | Size | None = None,
    on_damaged: OnDamaged = "stop",
    **roles: Any,
) -> Cohort:
    """Return the pictures of nested folders; ``levels`` says what the folders are named by, from the outside in.

    With ``levels=("split", "class", "sex")`` the file ``train/nurse/woman/7.png`` has the split train, the class nurse
    and the sex woman. Further ``roles`` are those of a Cohort, such as ``split="split"``.
    """
    root = Path(folder)
    if not root.is_dir():
        raise BadInput(f"There is no folder {str(root)!r}", help="check the path.")
    if not levels or len(set(levels)) < len(levels) or {IMAGE, FILE} & set(levels):
        raise BadInput(f"levels is {list(levels)!r}", available=f"different names, none of them {IMAGE} or {FILE}")
    files = sorted(path for path in root.rglob("*") if path.suffix.lower() in FORMATS and path.is_file())
    parts = [path.relative_to(root).parts for path in files]
    odd = next((place for place, part in enumerate(parts) if len(part) != len(levels) + 1), None)
    if odd is not None or not files:
        where = f"in folders other than {'/'.join(levels)}"
        raise BadInput(
            f"No picture lies in {str(root)!r}"
            if odd is None
            else f"The picture {'/'.join(parts[odd])!r} lies {where}",
            available=f"{'/'.join(f'<{level}>' for level in levels)}/<file>, a file being {listing(FORMATS)}",
            help="name what each folder level means with levels=.",
        )
    columns = {level: _objects([part[place] for part in parts]) for place, level in enumerate(levels)}
    columns[FILE] = _objects(["/".join(part) for part in parts])
    made = Cohort(name=name or root.name, columns=columns, target=target, groups=tuple(groups), **roles)
    return with_pictures(made, FILE, root, resize=resize, on_damaged=on_damaged)


def _objects(values: Sequence[str]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
