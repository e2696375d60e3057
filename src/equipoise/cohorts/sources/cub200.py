"""CUB-200-2011: birds of two hundred species, by species and main colour (paper 000)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts._cohort import Cohort
from equipoise.cohorts._loading import (
    Source,
    find_file,
)
from equipoise.cohorts.pictures._arrays import SinglePictures
from equipoise.cohorts.pictures._files import read_pictures
from equipoise.cohorts.sources._cub_colours import read_class_colours
from equipoise.cohorts.sources._cub_folder import IMAGES, Level, read_colours, read_folder
from equipoise.cohorts.sources._feature_files import (
    IMAGE,
    PictureRows,
    Pixels,
    checked_pixels,
    read_inputs,
    read_picture_rows,
    shown_pictures,
)
from equipoise.cohorts.sources._known_files import describe_copies
from equipoise.foundation import BadInput, cohort

FEATURES, THUMBS = "cub200_effnetlite0_u8.npz", "cub200_thumbs_64.npz"
ATTRIBUTES = "cub200_class_attributes.npz"
KNOWN_CHECKSUMS = {
    FEATURES: "e8c7a2e2dd82cf37870e1e0d41f9385d94fb2465e4ee751643b2104bc96725d6",
    THUMBS: "838006c07eb3e41d226ccc85cab29da070cc0c2ee78f4f26c6fc9f68540a4a97",
    ATTRIBUTES: "19841901df1d329bf62f390831c6b0d63a4a7879ab611ac9026ef594aaa17701",
}
ROWS, SIDE = 11_788, 64
SOURCE = Source(
    cohort="cub200",
    files=(FEATURES, IMAGES, f"CUB_200_2011/{IMAGES}"),
    instructions="Get CUB_200_2011.tgz from Caltech's page of CUB-200-2011 and unpack it.",
)

DATASHEET = """\
11,788 pictures of birds of 200 species, 5,994 to train on and 5,794 to test on: the official split, inside each
species. The class is the species, 29 or 30 training pictures each.
Source: Wah, Branson, Welinder, Perona and Belongie 2011 (CNS-TR-2011-001). Licence: not stated; the data set is offered
for non-commercial research, and its pictures belong to the people who put them on the web.
Groups: colour is the mode of the primary-colour labels. {level} kind is the last word of the species' name (Sparrow).
{inputs}Contested: birds are no people. Colour stands here for a sensitive attribute because it can be seen and nobody
is harmed, so what is found says how a method behaves and not whom it harms. Where the colour is the species' own it
follows from the class: two colours never share a class, gaps inside a class are undefined, and an attribute that is a
function of the target cannot be taken out of an embedding without cost to the target. Annotators were paid lay people.
"""
BY_CLASS = """\
It is class-level: the colour
that most annotators gave the species, the first as published where two are equal (one species, 62.8 % brown and buff:
brown). Ten of fifteen colours occur, green and olive for two species each."""
BY_IMAGE = """\
It is image-level:
of a picture's colours the one that the annotator was most certain of, then the one that most pictures of the species
have, then the first as published; pictures without one have none."""
EXTRACTED = """\
Features: 1,280 numbers per picture, the pooled last layer of EfficientNet-Lite0 trained on ImageNet (short side 256,
centre crop 224), a byte each times a scale. ImageNet holds many birds, some of them perhaps these very pictures.
"""


@cohort("cub200", paper="Wah et al. 2011", licence="not stated (non-commercial research)")
def cub200(
    path: str | os.PathLike[str] | None = None,
    *,
    pixels: Pixels | bool = "features",
    resize: int | None = None,
    colour: Level | None = None,
) -> Cohort:
    """CUB-200-2011: birds by species and main colour, as features or pictures (Wah et al. 2011). Local copies only."""
    kind = checked_pixels(pixels)
    file = find_file(SOURCE, path)
    if file.name == FEATURES:
        return _of_arrays(file, kind, resize, colour)
    if file.name == IMAGES:
        return _of_folder(file.parent, kind, resize, colour)
    raise BadInput(
        f"{file.name} is not a readable file of CUB-200-2011",
        available=f"a folder that holds {FEATURES} and {ATTRIBUTES}, or {IMAGES} and what its authors put beside it",
        help=SOURCE.instructions,
    )


def _of_arrays(file: Path, pixels: str, resize: int | None, colour: str | None) -> Cohort:
    if colour not in (None, "class"):
        raise BadInput(
            f"colour is {colour!r}, and {file.name} comes with the colours of classes",
            available='"class"',
            help=f"image-level colours are in the authors' own files. {SOURCE.instructions}",
        )
    if resize not in (None, SIDE):
        raise BadInput(
            f"resize is {resize!r}, and the pictures of {THUMBS} are {SIDE} x {SIDE}",
            available=f"{SIDE}",
            help=f"leave it out, or read the authors' own files. {SOURCE.instructions}",
        )
    rows = read_picture_rows(file)
    colours = rows.each(read_class_colours(file.with_name(ATTRIBUTES), rows.classes))
    inputs = read_inputs(file, len(rows), pixels, THUMBS, SIDE)
    files = [file, file.with_name(ATTRIBUTES), *([] if pixels == "features" else [file.with_name(THUMBS)])]
    copies = describe_copies(files, KNOWN_CHECKSUMS, has_all_rows=len(rows) == ROWS)
    input_text = (
        EXTRACTED if pixels == "features" else f"Pictures: {SIDE} x {SIDE}, the centre square, WebP with losses.\n"
    )
    pictures = shown_pictures(file, len(rows), pixels, THUMBS, SIDE)
    return _cohort(rows, colours, inputs, BY_CLASS, input_text + copies, pictures)


def _of_folder(folder: Path, pixels: str, resize: int | None, colour: str | None) -> Cohort:
    if pixels == "features":
        raise BadInput(
            f"The folder {str(folder)!r} holds pictures and no features",
            available='pixels = "pictures"',
            help=f"ask for pictures, or keep features of your own as {FEATURES}: docs/guide/cohorts.md says how.",
        )
    level = colour or "image"
    rows = read_folder(folder)
    colours = np.array(read_colours(folder, rows, level), dtype=object)
    side = SIDE if resize is None else resize
    read = read_pictures(folder / "images", rows.files.tolist(), resize=side)
    input_text = f"Pictures: resized to {side} x {side}.\n"
    return _cohort(rows, colours, {IMAGE: read.pictures}, BY_IMAGE if level == "image" else BY_CLASS, input_text)


def _cohort(
    rows: PictureRows, colours: NDArray[Any], inputs: dict[str, NDArray[Any]], level: str, input_text: str,
    pictures: str | SinglePictures = IMAGE,
) -> Cohort:  # fmt: skip
    return Cohort(
        name="cub200",
        columns={
            **inputs,
            "class": rows.each(rows.classes),
            "colour": colours,
            "kind": rows.each([name.rsplit("_", 1)[-1].rsplit(".", 1)[-1] for name in rows.classes]),
            "file": rows.files,
            "split": rows.split,
        },
        target="class",
        groups=("colour", "kind"),
        features=tuple(inputs),
        split="split",
        datasheet=DATASHEET.format(level=level, inputs=input_text),
        pictures=pictures,
    )
