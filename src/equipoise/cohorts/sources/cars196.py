"""Stanford Cars: 196 models of cars, by model, body, make and age (paper 000)."""

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
from equipoise.cohorts.sources._feature_files import (
    Pixels,
    checked_pixels,
    read_inputs,
    read_picture_rows,
    shown_pictures,
)
from equipoise.cohorts.sources._known_files import describe_copies
from equipoise.foundation import BadInput, cohort

FEATURES, THUMBS = "cars196_effnetlite0_u8.npz", "cars196_thumbs_48.npz"
KNOWN_CHECKSUMS = {
    FEATURES: "1e7531ad49d4e0aef9f021d86a24f9fbf35fed52ee536036292062ab0a6e6495",
    THUMBS: "d305916581c027c25f37f89d8bd0f3d2de520d9f967e46b9b51105c4c7152a6c",
}
ROWS, SIDE = 16_170, 48
AGAIN = "download the file again."
SOURCE = Source(
    cohort="cars196",
    files=(FEATURES,),
    instructions=f"Keep features of Stanford Cars as {FEATURES}: docs/guide/cohorts.md says what is in it.",
)
# The years fall into three lumps: 117 of 196 models are of 2012.
BANDS = ((2006, "1991 to 2006"), (2011, "2007 to 2011"), (9999, "2012 and later"))

DATASHEET = """\
16,170 of the 16,185 pictures of cars of 196 models, 8,137 to train on and 8,033 to test on: the official split, inside
each model. The class is the model with its year, 24 to 68 training pictures each.
Source: Krause, Stark, Deng and Fei-Fei 2013 (3dRR). Licence: not stated; the data set is offered for non-commercial
research. 15 files are missing in this copy.
Groups: body (ten types, of which Other is 14 models that name none), make (49) and year (to 2006, to 2011, 2012), all
three read off the name of the class.
{inputs}Contested: cars are no people. A group follows from the class: two groups never share a class, and gaps inside a
class are undefined. Some models differ in their year alone.
"""
EXTRACTED = """\
Features: 1,280 numbers per picture, the pooled last layer of EfficientNet-Lite0 trained on ImageNet (short side 256,
centre crop 224), a byte each times a scale.
"""


@cohort("cars196", paper="Krause et al. 2013", licence="not stated (non-commercial research)")
def cars196(path: str | os.PathLike[str] | None = None, *, pixels: Pixels | bool = "features") -> Cohort:
    """Stanford Cars: cars by model, body, make and year, as features or pictures (Krause et al. 2013). Local copies."""
    kind = checked_pixels(pixels)
    file = find_file(SOURCE, path)
    if file.name != FEATURES:
        raise BadInput(f"{file.name} is not a readable file of Stanford Cars", available=f"{FEATURES}, or a folder")
    rows = read_picture_rows(file)
    inputs = read_inputs(file, len(rows), kind, THUMBS, SIDE)
    files = [file, *([] if kind == "features" else [file.with_name(THUMBS)])]
    input_text = (
        EXTRACTED if kind == "features" else f"Pictures: {SIDE} x {SIDE}, the centre square, WebP with losses.\n"
    )
    return Cohort(
        name="cars196",
        columns={
            **inputs,
            "class": rows.each(rows.classes),
            "body": rows.each(_named(file, "class_body_type", "body_type_names", len(rows.classes))),
            "make": rows.each(_named(file, "class_make", "make_names", len(rows.classes))),
            "year": rows.each([_band(year) for year in _of_classes(file, "class_year", len(rows.classes)).tolist()]),
            "file": rows.files,
            "split": rows.split,
        },
        target="class",
        groups=("body", "make", "year"),
        features=tuple(inputs),
        split="split",
        datasheet=DATASHEET.format(
            inputs=input_text + describe_copies(files, KNOWN_CHECKSUMS, has_all_rows=len(rows) == ROWS)
        ),
        pictures=shown_pictures(file, len(rows), kind, THUMBS, SIDE),
    )


def _of_classes(path: Path, name: str, classes: int) -> NDArray[Any]:
    values = read_array(path, name)
    if values.shape != (classes,) or values.dtype.kind not in "iu":
        raise BadInput(
            f"{name} of {path.name} is {values.dtype} of the shape {values.shape}: it is of another version",
            available=f"a whole number for each of {classes:,} classes",
            help=AGAIN,
        )
    return values


def _named(path: Path, codes: str, names: str, classes: int) -> list[str]:
    numbers, texts = _of_classes(path, codes, classes), read_array(path, names)
    if numbers.min() < 0 or numbers.max() >= len(texts):
        raise BadInput(
            f"{codes} of {path.name} has the number {numbers.max()}, and there are {len(texts):,} {names}",
            help=AGAIN,
        )
    return [str(text) for text in texts[numbers.astype(np.int64)].tolist()]


def _band(year: int) -> str:
    return next(name for last, name in BANDS if year <= last)
