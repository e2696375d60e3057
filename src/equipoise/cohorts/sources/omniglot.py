"""Omniglot: hand-written characters of fifty alphabets, drawn by twenty people each."""

from __future__ import annotations

import os
from typing import Literal, get_args

import numpy as np

from equipoise.cohorts._array_files import read_array
from equipoise.cohorts._cohort import Cohort
from equipoise.cohorts._loading import (
    Source,
    find_file,
)
from equipoise.cohorts.pictures._arrays import checked_labels
from equipoise.cohorts.sources._feature_files import IMAGE
from equipoise.cohorts.sources._known_files import describe_copies
from equipoise.cohorts.sources._voting import halved
from equipoise.foundation import (
    BadInput,
    cohort,
    stream,
    unknown_name,
)

FILE = "omniglot_28x28.npz"
KNOWN_CHECKSUMS = {FILE: "439db90d18bb98f2bdc2e19195ed656811a6cbe87967e3bdbff329146d8e78e2"}
ROWS, SIDE = 32_460, 28
SOURCE = Source(
    cohort="omniglot", files=(FILE,),
    instructions=f"Keep Omniglot's characters as {FILE}: docs/guide/cohorts.md says what is in it.",
)  # fmt: skip
Part = Literal["all", "background", "evaluation"]

DATASHEET = """\
32,460 drawings of 1,623 characters of 50 alphabets, each by 20 people, 28 x 28 pixels of ink (255) or none (0). The
class is the character. A seed puts half of each character's drawings into train and half into test; part="background"
is the 30 alphabets that the authors keep to learn from, part="evaluation" the other 20.
Source: Lake, Salakhutdinov and Tenenbaum 2015 (Science). Licence: MIT, as its own repository states.
{copies}Groups: alphabet, which follows from the class, so gaps inside a class are undefined. drawer numbers the people
who drew it, 1 to 20.
Contested: drawings were made online by paid people, most of whom cannot read the alphabet they copied. A gap between
alphabets is as much one of how many characters look alike as of anything that was done to them.
"""


@cohort("omniglot", paper="Lake et al. 2015", licence="MIT")
def omniglot(path: str | os.PathLike[str] | None = None, *, part: Part = "all", seed: int = 0) -> Cohort:
    """Omniglot: hand-written characters of fifty alphabets (Lake et al. 2015). Local copies only."""
    if part not in get_args(Part):
        raise unknown_name("part", str(part), get_args(Part), "Omniglot")
    file = find_file(SOURCE, path)
    if file.name != FILE:
        raise BadInput(f"{file.name} is not a readable file of Omniglot", available=f"{FILE}, or a folder with it")
    names = np.array([str(name) for name in read_array(file, "alphabet_names").tolist()], dtype=object)
    alphabet = checked_labels(read_array(file, "alphabet"), len(names), FILE)
    packed, character, drawer = (read_array(file, name) for name in ("packed", "character", "drawer"))
    held_out = read_array(file, "alphabet_is_evaluation")
    fits = packed.shape == (len(alphabet), SIDE * SIDE // 8) and packed.dtype == np.uint8
    if not fits or held_out.shape != names.shape or not len(character) == len(drawer) == len(alphabet):
        raise BadInput(f"The parts of {FILE} do not match", help="download the file again.")
    chosen = np.ones(len(alphabet), dtype=bool) if part == "all" else held_out[alphabet] == (part == "evaluation")
    if not chosen.any():
        raise BadInput(f"{FILE} has no alphabet of the part {part!r}", help='part = "all".')
    alphabet, character = alphabet[chosen], character[chosen].astype(np.int64)
    ink = np.unpackbits(packed[chosen], axis=1).reshape(-1, SIDE, SIDE, 1)
    ink *= 255
    classes = np.array([f"{names[a]} {c:02d}" for a, c in zip(alphabet.tolist(), character.tolist(), strict=True)])
    codes = np.unique(classes, return_inverse=True)[1]
    return Cohort(
        name="omniglot",
        columns={
            IMAGE: ink,
            "class": classes.astype(object),
            "alphabet": names[alphabet],
            "drawer": drawer[chosen].astype(np.int64),
            "split": halved(codes, stream(seed, "halves of each character")),
        },
        target="class",
        groups=("alphabet",),
        features=(IMAGE,),
        split="split",
        datasheet=DATASHEET.format(copies=describe_copies([file], KNOWN_CHECKSUMS, has_all_rows=len(chosen) == ROWS)),
        pictures=IMAGE,
    )
