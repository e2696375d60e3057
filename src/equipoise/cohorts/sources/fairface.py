"""FairFace: faces by age band, with race and gender as annotators saw them (paper 000)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts._array_files import read_array
from equipoise.cohorts._cohort import Cohort
from equipoise.cohorts._loading import (
    Source,
    find_file,
)
from equipoise.cohorts.pictures._arrays import (
    checked_labels,
    read_singly,
)
from equipoise.cohorts.sources._feature_files import IMAGE
from equipoise.cohorts.sources._known_files import describe_copies
from equipoise.foundation import BadInput, cohort

TRAIN, TEST = "fairface_train_64.npz", "fairface_val_64.npz"
KNOWN_CHECKSUMS = {
    TRAIN: "6873c9c112a961aa7caa794944e0e48e13088abc68c638235dab7aa6bf2f9066",
    TEST: "1cdfb9b0533eae6e1a781cd4422c773a78e615e1da336f4b1833b91d7e559cec",
}
ROWS, SIDE = 30_000, 64
SIDES = (64, 32, 16)
SOURCE = Source(
    cohort="fairface",
    files=(TRAIN,),
    instructions=(
        f"Keep pictures and labels of FairFace as {TRAIN} and {TEST}: docs/guide/cohorts.md says what is in it."
    ),
)
PARTS = ("age", "race", "gender")

DATASHEET = """\
30,000 faces of 64 x 64 pixels (of FairFace's 97,698), 25,000 to train on and 5,000 of its validation set to test on.
The class is the age band (nine), the groups are race (seven) and gender (two).
Source: Karkkainen and Joo 2021 (WACV). Licence: CC BY 4.0, as the data set's own repository states.
{copies}Contested: age, race and gender are what annotators saw in a face, and none is what the person would say: race
is no property of a face, seven boxes leave out and lump together, and gender is one of two. Who is told apart well
depends on who the annotators are. As Dullerud et al. (2022) say of their labels of skin tone, these are for the
analysis of fairness alone, never for deciding who somebody is. The races were balanced on purpose: shares are
those of no population.
"""


@cohort("fairface", paper="Karkkainen and Joo 2021", licence="CC BY 4.0")
def fairface(path: str | os.PathLike[str] | None = None, side: int = SIDE) -> Cohort:
    """FairFace: faces by age band, race and gender as annotators saw them (Karkkainen and Joo 2021). Local copies.

    A ``side`` of 32 or 16 makes the pictures smaller, for a network that shall train on a CPU.
    """
    if side not in SIDES:
        raise BadInput(f"side is {side!r}", available=", ".join(map(str, SIDES)))
    train_file = find_file(SOURCE, path)
    if train_file.name != TRAIN:
        raise BadInput(
            f"{train_file.name} is not a readable file of FairFace", available=f"{TRAIN}, or a folder with it"
        )
    files = [train_file, train_file.with_name(TEST)]
    if not files[1].is_file():
        raise BadInput(f"There is no file {TEST!r} beside {TRAIN}", help="copy it there.")
    parts = [{name: _labels(file, name) for name in PARTS} for file in files]
    numbers = [len(part["age"]) for part in parts]
    for file, part, number in zip(files, parts, numbers, strict=True):
        if any(len(part[name]) != number for name in PARTS):
            raise BadInput(f"{file.name} has different numbers of labels", available="an age, a race and a gender each")
    pictures = np.empty((sum(numbers), SIDE, SIDE, 3), dtype=np.uint8)
    read_singly(files[0], pictures[: numbers[0]])
    read_singly(files[1], pictures[numbers[0] :])
    copies = describe_copies(files, KNOWN_CHECKSUMS, has_all_rows=sum(numbers) == ROWS)
    return Cohort(
        name="fairface",
        columns={
            IMAGE: _smaller(pictures, side),
            **{name: np.concatenate([part[name] for part in parts]) for name in PARTS},
            "split": np.repeat(np.array(["train", "test"], dtype=object), numbers),
        },
        target="age",
        groups=("race", "gender"),
        features=(IMAGE,),
        split="split",
        datasheet=DATASHEET.format(copies=copies),
    )


def _smaller(pictures: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """Return pictures of fewer pixels, each the mean of a square of them."""
    if side == SIDE:
        return pictures
    block = SIDE // side
    sums = pictures.reshape(len(pictures), side, block, side, block, 3).sum(axis=(2, 4), dtype=np.uint16)
    values: NDArray[np.uint8] = ((sums + block**2 // 2) // block**2).astype(np.uint8)
    return values


def _labels(path: Path, name: str) -> NDArray[Any]:
    """Return the labels of each face in words; an age band keeps the words of the source."""
    names = np.array(
        [str(label).replace("_", " ") for label in read_array(path, f"{name}_names").tolist()], dtype=object
    )
    values: NDArray[Any] = names[checked_labels(read_array(path, name), len(names), path.name)]
    return values
