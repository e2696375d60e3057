"""CUB-200-2011 as its authors lay it out: lists of pictures, classes and splits, attributes, a folder of pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts.sources._cub_colours import VERSION, colour_places, colours_of_classes, colours_of_pictures
from equipoise.cohorts.sources._feature_files import PictureRows
from equipoise.foundation import (
    BadInput,
    listing,
    unknown_name,
)

Level = Literal["image", "class"]
IMAGES = "images.txt"
AGAIN = "get CUB_200_2011.tgz again and unpack all of it."
MOST_CERTAIN = 4


def read_folder(folder: Path) -> PictureRows:
    """Read the lists; every picture must have a class and a split, by its number."""
    files = _listed(folder / IMAGES)
    names = _listed(folder / "classes.txt")
    places = {number: index for index, number in enumerate(names)}
    classes = _of_pictures(folder / "image_class_labels.txt", files)
    unknown = sorted(set(classes) - set(places))
    if unknown:
        raise BadInput(
            f"image_class_labels.txt has classes that classes.txt lacks: {listing(unknown)}",
            available=f"{len(names):,} classes",
            help=AGAIN,
        )
    trained = _of_pictures(folder / "train_test_split.txt", files)
    odd = sorted(set(trained) - {"0", "1"})
    if odd:
        raise BadInput(f"train_test_split.txt says {listing(map(repr, odd))}", available="1 (train) or 0", help=AGAIN)
    return PictureRows(
        labels=np.array([places[number] for number in classes], dtype=np.int64),
        test=np.array(trained) == "0",
        files=np.array(list(files.values()), dtype=object),
        classes=tuple(names.values()),
    )


def read_colours(folder: Path, rows: PictureRows, level: str) -> list[str | None]:
    """Return a colour for each picture: its own, or that of its class."""
    if level not in get_args(Level):
        raise unknown_name("colour", level, get_args(Level), "cub200")
    names = list(_listed(_attribute_names(folder)).values())
    if level == "image":
        places = colour_places(names, "attributes.txt")
        file = folder / "attributes" / "image_attribute_labels.txt"
        numbers = list(_listed(folder / IMAGES))
        return colours_of_pictures(_certainty(file, numbers, list(places)), rows.labels, list(places.values()))
    file = folder / "attributes" / "class_attribute_labels_continuous.txt"
    by_class = colours_of_classes(_table(file), names, len(rows.classes), file.name)
    return [by_class[label] for label in rows.labels.tolist()]


def _attribute_names(folder: Path) -> Path:
    """Return where the names are: the archive has them beside its folder, copies often inside it."""
    for parent in (folder / "attributes", folder, folder.parent):
        if (parent / "attributes.txt").is_file():
            return parent / "attributes.txt"
    return folder / "attributes" / "attributes.txt"


def _lines(path: Path) -> Iterator[str]:
    if not path.is_file():
        raise BadInput(f"There is no file {path.name!r} in {str(path.parent)!r}", help=AGAIN)
    try:
        with open(path, encoding="utf-8") as file:
            yield from file
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path.name} could not be read ({error})", help=AGAIN) from error


def _listed(path: Path) -> dict[str, str]:
    """Read lines of a number and a text."""
    by_number: dict[str, str] = {}
    for index, line in enumerate(_lines(path), start=1):
        parts = line.split(maxsplit=1)
        if not parts:
            continue
        if len(parts) != 2 or parts[0] in by_number:
            raise BadInput(
                f"Line {index:,} of {path.name} is {line.strip()[:80]!r}",
                available="a number that no other line has, and a text",
                help=AGAIN,
            )
        by_number[parts[0]] = parts[1].strip()
    if not by_number:
        raise BadInput(f"{path.name} is empty", help=AGAIN)
    return by_number


def _of_pictures(path: Path, files: dict[str, str]) -> list[str]:
    """Return what a list says of each picture, in the order of pictures."""
    by_number = _listed(path)
    absent = [number for number in files if number not in by_number]
    if absent or len(by_number) != len(files):
        raise BadInput(
            f"{path.name} has {len(by_number):,} pictures and {IMAGES} {len(files):,}"
            + (f"; it lacks the numbers {listing(absent)}" if absent else ""),
            available="the same pictures in both",
            help=AGAIN,
        )
    return [by_number[number] for number in files]


def _table(path: Path) -> NDArray[np.float64]:
    rows = [line.split() for line in _lines(path) if line.strip()]
    try:
        return np.array(rows, dtype=np.float64)
    except ValueError as error:
        raise BadInput(f"{path.name} is not a table of numbers ({error})", help=VERSION) from error


def _certainty(path: Path, numbers: Sequence[str], attributes: Sequence[int]) -> NDArray[np.int64]:
    """Return how certain the annotator was of each picture's colours; 0 where the bird has not got it.

    A line has the picture, the attribute, whether it is there, how certain that is (1 to 4) and the time it took. A few
    lines of the published file have fields too many behind these, so no more than the first four are read.
    """
    rows = {number: index for index, number in enumerate(numbers)}
    columns = {str(attribute + 1): column for column, attribute in enumerate(attributes)}
    certainties = np.zeros((len(rows), len(columns)), dtype=np.int64)
    label_count = 0
    for line in _lines(path):
        parts = line.split(maxsplit=4)
        if len(parts) < 4 or parts[1] not in columns:
            continue
        row, certain = rows.get(parts[0]), parts[3]
        if row is None or parts[2] not in ("0", "1") or not certain.isdigit() or not 0 < int(certain) <= MOST_CERTAIN:
            raise BadInput(
                f"{path.name} has a line {line.strip()[:80]!r}",
                available=f"a picture of {IMAGES}, an attribute, 0 or 1, and a certainty from 1 to {MOST_CERTAIN}",
                help=VERSION,
            )
        label_count += 1
        certainties[row, columns[parts[1]]] = int(certain) if parts[2] == "1" else 0
    if label_count != certainties.size:
        raise BadInput(
            f"{path.name} has {label_count:,} labels of primary colours",
            available=f"{certainties.size:,}: one of each colour a picture",
            help=VERSION,
        )
    return certainties
