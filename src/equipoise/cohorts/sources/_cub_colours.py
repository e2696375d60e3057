"""The main colour of a bird: the mode of the primary-colour labels, of its class or of the picture itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts._array_files import read_array
from equipoise.foundation import BadInput, listing

PREFIX = "has_primary_color::"
ATTRIBUTES, COLOURS = 312, 15
VERSION = "pass the attributes of CUB-200-2011, in the order and number in which they are published."


def colour_places(names: Sequence[str], file: str) -> dict[int, str]:
    """Return which attributes are primary colours, by place; a list of another version is refused."""
    colours = {index: name.removeprefix(PREFIX) for index, name in enumerate(names) if name.startswith(PREFIX)}
    if len(names) != ATTRIBUTES or len(colours) != COLOURS:
        raise BadInput(
            f"{file} names {len(names):,} attributes, {len(colours):,} of them primary colours: "
            "it is of another version",
            available=f"{ATTRIBUTES} attributes, {COLOURS} of them named {PREFIX}...",
            help=VERSION,
        )
    return colours


def colours_of_classes(shares: NDArray[Any], names: Sequence[str], classes: int, file: str) -> list[str | None]:
    """Return each class's commonest colour, from the share of annotators; of equal ones the first as published.

    A class without any colour has none.
    """
    if shares.shape != (classes, len(names)):
        raise BadInput(
            f"{file} is a table of the shape {shares.shape}: it is of another version",
            available=f"{classes:,} classes by {len(names):,} attributes",
            help=VERSION,
        )
    places = colour_places(names, file)
    table = shares[:, list(places)].astype(np.float64)
    if not (np.isfinite(table) & (table >= 0)).all():
        raise BadInput(f"{file} has shares that are missing or negative", help=VERSION)
    return _named(table, list(places.values()))


def colours_of_pictures(
    certainty: NDArray[np.int64], labels: NDArray[np.int64], colours: Sequence[str]
) -> list[str | None]:
    """Return each picture's main colour, from how certain the annotator was of each (0: the bird has not got it).

    Of several the most certain; then the one that most pictures of the class have; then the first as published.
    """
    present = certainty > 0
    common = np.zeros((int(labels.max()) + 1, len(colours)), dtype=np.int64)
    np.add.at(common, labels, present)
    score = np.where(present, certainty * (len(labels) + 1) + common[labels], 0)
    return _named(score, colours)


def _named(score: NDArray[Any], colours: Sequence[str]) -> list[str | None]:
    best = score.argmax(axis=1)  # the first of equal ones
    has_score = score.max(axis=1) > 0
    return [colours[index] if sure else None for index, sure in zip(best.tolist(), has_score.tolist(), strict=True)]


def read_class_colours(path: Path, classes: Sequence[str]) -> list[str | None]:
    """Read the colours of classes from ``.npz``: attributes, attribute_names and class_names."""
    if not path.is_file():
        raise BadInput(f"There is no file {path.name!r} beside the other", help="copy it there: it has the colours.")
    class_names = [str(name) for name in read_array(path, "class_names").tolist()]
    if class_names != list(classes):
        odd = [name for name in classes if name not in class_names] or [
            name for name in class_names if name not in classes
        ]
        difference = listing(odd) if odd else "the same in another order"
        raise BadInput(
            f"{path.name} has {len(class_names):,} classes and the pictures {len(classes):,}; "
            f"they differ in {difference}",
            available="the classes of the pictures, in the same order",
            help=VERSION,
        )
    names = [str(name) for name in read_array(path, "attribute_names").tolist()]
    return colours_of_classes(read_array(path, "attributes"), names, len(classes), path.name)
