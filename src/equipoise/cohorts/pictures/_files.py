"""Picture files of one's own, and cohorts of them: PNG, JPEG, WebP or BMP, one size, three channels.

A cohort is a table with a column of file names, or folders whose names say what is in them. A damaged file is named.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts._cohort import Cohort
from equipoise.cohorts.pictures._arrays import Pictures
from equipoise.foundation import (
    BadInput,
    listing,
    plural,
    require,
    unknown_name,
)
from equipoise.tallies import label_of

OnDamaged = Literal["stop", "skip"]
FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP", ".bmp": "BMP"}
# A small hostile file may say that it unpacks to a huge picture.
MOST_PIXELS = 50_000_000
MOST_NAMED = 10

Size = tuple[int, int]


@dataclass(frozen=True, eq=False)
class ReadPictures:
    """Pictures ``[row, height, width, 3]``, the places of their files among those asked for, and what was left out."""

    pictures: Pictures
    indices: NDArray[np.int64]
    damaged: tuple[str, ...] = ()


def read_pictures(
    folder: Path, names: Sequence[str], *, resize: int | Size | None = None, on_damaged: OnDamaged = "stop"
) -> ReadPictures:
    """Read files of a folder by their names in it, turned upright and without transparency.

    All must be of one size, or ``resize`` gives them one: a side, or (width, height), by Lanczos' filter. A file that
    cannot be read stops everything, or with ``on_damaged="skip"`` is left out with a warning that names it.
    """
    if on_damaged not in get_args(OnDamaged):
        raise unknown_name("on_damaged", str(on_damaged), get_args(OnDamaged), "a reader of pictures")
    new_size = _size(resize)
    images: list[Pictures] = []
    places: list[int] = []
    damaged: list[str] = []
    sizes: Counter[Size] = Counter()
    examples: dict[Size, str] = {}
    for index, name in enumerate(names):
        try:
            picture = _read(_inside(folder, name), name, new_size)
        except _Damaged as error:
            if on_damaged == "stop":
                raise BadInput(
                    f"The picture {name!r} cannot be read ({error})",
                    help='fix or remove it, or leave such pictures out: on_damaged="skip".',
                ) from error
            damaged.append(name)
            continue
        size = (picture.shape[1], picture.shape[0])
        sizes[size] += 1
        examples.setdefault(size, name)
        if len(sizes) == 1:  # else all that is still wanted is the sizes
            images.append(picture)
            places.append(index)
    if len(sizes) > 1:
        raise _of_different_sizes(sizes, examples)
    if not images:
        raise BadInput(f"No picture of {str(folder)!r} can be read", available=f"files such as {listing(FORMATS)}")
    if damaged:
        warnings.warn(_left_out(damaged, len(names)), stacklevel=3)
    return ReadPictures(np.stack(images), np.array(places, dtype=np.int64), tuple(damaged))


class _Damaged(Exception):
    """A file that is not there or is no whole picture."""


def _inside(folder: Path, name: str) -> Path:
    """Return a file's path; a name that leads out of the folder is refused, whoever wrote the table."""
    path = Path(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name:
        raise BadInput(
            f"The picture {name!r} lies outside {str(folder)!r}", available="names of files inside the folder"
        )
    return folder / path


def _read(path: Path, name: str, size: Size | None) -> Pictures:
    images: Any = require("PIL.Image", extra="vision", purpose="Reading pictures")
    turning: Any = require("PIL.ImageOps", extra="vision", purpose="Reading pictures")
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        raise BadInput(f"The picture {name!r} has an unknown format", available=listing(FORMATS))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about its metadata, or about a size that is checked here
            with images.open(path, formats=(kind,)) as opened:
                width, height = opened.size
                if width * height > MOST_PIXELS:
                    raise _Damaged(f"it says that it has {width:,} x {height:,} pixels; {MOST_PIXELS:,} is the most")
                upright = turning.exif_transpose(opened).convert("RGB")
                resized = upright if size is None else upright.resize(size, images.Resampling.LANCZOS)
                return np.array(resized)
    except _Damaged:
        raise
    except Exception as error:  # whatever a decoder stumbles over, the file is damaged
        raise _Damaged((str(error).splitlines() or [type(error).__name__])[0]) from error


def _size(resize: Any) -> Size | None:
    if resize is None:
        return None
    sides = (resize, resize) if isinstance(resize, int) else tuple(resize) if isinstance(resize, Sequence) else ()
    valid = all(isinstance(side, int) and not isinstance(side, bool) and side > 0 for side in sides)
    if len(sides) != 2 or not valid or sides[0] * sides[1] > MOST_PIXELS:
        raise BadInput(f"resize is {resize!r}", available="a side such as 32, or a width and a height such as (48, 32)")
    return sides[0], sides[1]


def _of_different_sizes(sizes: Counter[Size], examples: dict[Size, str]) -> BadInput:
    counts = [
        f"{width} x {height} ({plural(number, 'picture')}, such as {examples[width, height]!r})"
        for (width, height), number in sizes.most_common()
    ]
    usual = sizes.most_common(1)[0][0]
    return BadInput(
        f"The pictures have {len(sizes):,} different sizes: {listing(counts, 5)}",
        available="pictures of one size",
        help=f"resize={usual} gives all of them one size.",
    )


def _left_out(damaged: Sequence[str], requested: int) -> str:
    return (
        f"{len(damaged):,} of {plural(requested, 'picture')} cannot be read and are left out: "
        f"{listing(map(repr, damaged), MOST_NAMED)}."
    )


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
    readable = cohort.take(read.indices)
    return replace(readable, columns={**readable.columns, IMAGE: read.pictures}, features=(IMAGE,))


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
    odd = next((index for index, part in enumerate(parts) if len(part) != len(levels) + 1), None)
    if odd is not None or not files:
        where = f"in folders other than {'/'.join(levels)}"
        raise BadInput(
            f"No picture lies in {str(root)!r}"
            if odd is None
            else f"The picture {'/'.join(parts[odd])!r} lies {where}",
            available=f"{'/'.join(f'<{level}>' for level in levels)}/<file>, a file being {listing(FORMATS)}",
            help="name what each folder level means with levels=.",
        )
    columns = {level: _objects([part[index] for part in parts]) for index, level in enumerate(levels)}
    columns[FILE] = _objects(["/".join(part) for part in parts])
    cohort = Cohort(name=name or root.name, columns=columns, target=target, groups=tuple(groups), **roles)
    return with_pictures(cohort, FILE, root, resize=resize, on_damaged=on_damaged)


def _objects(values: Sequence[str]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
