"""Labeled Faces in the Wild: well-known people by name, race (a model's guess) and gender (paper 000)."""

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
from equipoise.cohorts.sources._feature_files import FEATURES, IMAGE, Pixels, checked_pixels
from equipoise.cohorts.sources._known_files import describe_copies
from equipoise.cohorts.sources._voting import halved, voted
from equipoise.foundation import BadInput, cohort, stream

LABELS, THUMBS, EMBEDDING = "lfw_labels.npz", "lfw_deepfunneled_64.npz", "lfw_dlib128_f16.npz"
KNOWN_CHECKSUMS = {
    LABELS: "a1ef75ddb504ce3ea5f890c97713a1ac874c7e47ecf887df1f39111cb44237c6",
    THUMBS: "4772b806088e10e8429e28305131de0ff3cea4d9df1439ad30f72fecaeffaf77",
    EMBEDDING: "1967fa7c22a5ced37627478ff653c3c9638f1e371f22fb7e9978ad4a760efbb6",
}
ROWS, SIDE = 13_233, 64
SOURCE = Source(
    cohort="lfw",
    files=(LABELS,),
    instructions=f"Keep what is known of the pictures as {LABELS}: docs/guide/cohorts.md says what is in it.",
)
GENDERS = {0: "woman", 1: "man"}

DATASHEET = """\
13,233 pictures of 5,749 well-known people (4,069 have one picture), by name. There is no official split of this kind:
a seed puts half of each person's pictures into train and half into test, the only picture of a person into train.
Source: Huang et al. 2007; deep funneled, Huang et al. 2012. Licence of the pictures: not stated; they are offered for
research on face verification. People in them were not asked.
{inputs}race is a model's guess (DeepFace), one vote a picture, the mode of a person's pictures; where votes are equal
the more certain label wins. It stands in for the classifier scores of Kumar et al. that Dullerud et al. (2022) use.
It is no person's own statement: half of the people with several pictures (831 of 1,680) get more than one guess.
gender was checked by hand (Afifi and Abdelhamed 2019) as one of two, from appearance; 8 pictures have none.
Contested: race and gender are read off faces by a model and by strangers, errors and all, and such models err more for
some groups than for others: a gap between these groups mixes the gap of the system that is judged with that of the one
that guessed. Dullerud et al. warn that their race labels are not necessarily correct and leave out other races; here
too they are for the analysis of fairness alone, never for deciding who somebody is. 10,264 pictures are of men.
"""


@cohort("lfw", paper="Huang et al. 2007", licence="not stated (research on face verification)")
def lfw(
    path: str | os.PathLike[str] | None = None, *, pixels: Pixels | bool = "features", seed: int = 0, least: int = 1
) -> Cohort:
    """Labeled Faces in the Wild: faces by person, with guessed race and checked gender (Huang et al. 2007). Local.

    ``least`` keeps the people who have so many pictures at least.
    """
    kind = checked_pixels(pixels)
    labels_file = find_file(SOURCE, path)
    if labels_file.name != LABELS:
        raise BadInput(f"{labels_file.name} is not a readable file of LFW", available=f"{LABELS}, or a folder with it")
    names = [str(name) for name in read_array(labels_file, "identity_names").tolist()]
    person = checked_labels(read_array(labels_file, "identity"), len(names), LABELS)
    race = voted(
        person, _column(labels_file, "pred_race", person).astype(np.int64),
        _column(labels_file, "pred_race_prob", person),
        [str(name) for name in read_array(labels_file, "pred_race_names").tolist()],
    )  # fmt: skip
    gender = [GENDERS.get(code) for code in _column(labels_file, "gender_male", person).tolist()]
    inputs, input_text, file = _inputs(labels_file, len(person), kind)
    input_text += describe_copies([labels_file, file], KNOWN_CHECKSUMS, has_all_rows=len(person) == ROWS)
    people = np.array(names, dtype=object)[person]
    chosen = _rows_of_frequent_people(person, least)
    if len(chosen) < len(person):
        input_text += f"Kept: the {len(np.unique(person[chosen])):,} people with {least:,} pictures or more.\n"
    all_pictures = Cohort(
        name="lfw",
        columns={
            **inputs,
            "identity": people,
            "race": np.array([race[index] for index in person.tolist()], dtype=object),
            "gender": np.array(gender, dtype=object),
            "image number": _column(labels_file, "image_num", person).astype(np.int64),
            "split": halved(person, stream(seed, "halves of each person")),
        },
        target="identity",
        groups=("race", "gender"),
        features=tuple(inputs),
        split="split",
        datasheet=DATASHEET.format(inputs=input_text),
    )
    return all_pictures.take(chosen)


def _rows_of_frequent_people(person: NDArray[np.int64], least: int) -> NDArray[np.int64]:
    """Return the pictures of people who have so many at least."""
    most = int(np.bincount(person).max())
    if isinstance(least, bool) or not isinstance(least, int) or not 1 <= least <= most:
        raise BadInput(f"least is {least!r}", available=f"a whole number of pictures per person, 1 to {most:,}")
    return np.flatnonzero(np.bincount(person)[person] >= least)


def _column(path: Path, name: str, person: NDArray[np.int64]) -> NDArray[Any]:
    values = read_array(path, name)
    if values.shape != person.shape:
        raise BadInput(
            f"{name} of {path.name} has the shape {values.shape}: it is of another version",
            available=f"a value for each of {len(person):,} pictures",
            help="download the file again.",
        )
    return values


def _inputs(labels_file: Path, rows: int, pixels: str) -> tuple[dict[str, NDArray[Any]], str, Path]:
    if pixels == "pictures":
        pictures = np.empty((rows, SIDE, SIDE, 3), dtype=np.uint8)
        file = labels_file.with_name(THUMBS)
        read_singly(file, pictures)
        return {IMAGE: pictures}, f"Pictures: the middle of the face, {SIDE} x {SIDE}, WebP with losses.\n", file
    file = labels_file.with_name(EMBEDDING)
    if not file.is_file():
        raise BadInput(f"There is no file {file.name!r} beside {LABELS}", help='copy it, or pixels = "pictures".')
    points = read_array(file, "embedding")
    if points.ndim != 2 or len(points) != rows or points.dtype.kind != "f" or not np.isfinite(points).all():
        raise BadInput(
            f"The embedding of {file.name} is {points.dtype} of the shape {points.shape}, or not all finite",
            available=f"a row of finite numbers for each of {rows:,} pictures",
            help="download the file again.",
        )
    input_text = (
        "Features: dlib's face recognition, 128 numbers per face, trained to distinguish people on other faces.\n"
    )
    return {FEATURES: points.astype(np.float32)}, input_text, file
