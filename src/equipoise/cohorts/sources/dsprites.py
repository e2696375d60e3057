"""dSprites: the published file of drawn shapes, read without its pickled part (paper 002)."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from equipoise.cohorts._array_files import (
    read_array,
    read_rows,
)
from equipoise.cohorts._cohort import Cohort
from equipoise.cohorts._factors import (
    Factor,
    chosen_rows,
    factor_columns,
)
from equipoise.cohorts._loading import (
    Source,
    find_file,
)
from equipoise.cohorts.pictures._arrays import checked_labels
from equipoise.cohorts.pictures._sprites import SPRITE_FACTORS as DRAWN
from equipoise.cohorts.pictures._sprites import SPRITE_SIDE
from equipoise.cohorts.sources._feature_files import IMAGE
from equipoise.cohorts.sources._voting import halved
from equipoise.foundation import BadInput, cohort, stream

FILE = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"
SOURCE = Source(
    cohort="dsprites", files=(FILE,), instructions=f"Get {FILE} from the repository deepmind/dsprites-dataset."
)
ROWS = 10_000
# As the file has them: the fortieth orientation is a full turn, so that it looks like the first.
FACTORS: tuple[Factor, ...] = tuple(
    replace(factor, values=tuple(np.linspace(0.0, 2 * np.pi, 40).tolist())) if factor.circular else factor
    for factor in DRAWN
)

DATASHEET = """\
{rows:,} of {there:,} pictures of dSprites, 64 x 64 pixels of ink (255) or none (0): 3 shapes x 6 scales x 40
orientations x 32 x 32 positions. The class is the shape. A seed draws the rows and puts half of each shape into train.
Source: Matthey, Higgins, Hassabis and Lerchner 2017. Licence: Apache 2.0 to our knowledge.
Groups: which half of its values a factor is in. The halves are the only binarisation of a factor.
Contested: nobody is in these pictures. The last orientation is a full turn and looks like the first; turns of a square
by a quarter and of an ellipse by a half look the same. The file's description is a pickle, and is never read.
"""


@cohort("dsprites", paper="002", licence="Apache 2.0")
def dsprites(path: str | os.PathLike[str] | None = None, *, rows: int | None = ROWS, seed: int = 0) -> Cohort:
    """dSprites: drawn shapes with five known factors of variation (Matthey et al. 2017). Local copies only."""
    file = find_file(SOURCE, path)
    classes = read_array(file, "latents_classes")
    # The first factor of the file is the colour, and there is one.
    if classes.ndim != 2 or classes.shape[1] != 1 + len(FACTORS) or not len(classes):
        raise BadInput(
            f"latents_classes of {file.name} have the shape {classes.shape}",
            available="[picture, 6]: colour, shape, scale, orientation, x, y",
            help="download the file again.",
        )
    chosen = chosen_rows(rows, len(classes), stream(seed, "dsprites"), file.name)
    codes = {
        factor.name: checked_labels(classes[chosen, 1 + index], len(factor.values), file.name)
        for index, factor in enumerate(FACTORS)
    }
    pictures = read_rows(file, "imgs", chosen)
    if pictures.shape[1:] != (SPRITE_SIDE, SPRITE_SIDE) or pictures.dtype != np.uint8 or pictures.max() > 1:
        raise BadInput(
            f"imgs of {file.name} are {pictures.dtype} of the shape {pictures.shape}",
            available=f"uint8 [picture, {SPRITE_SIDE}, {SPRITE_SIDE}] of 0 and 1",
            help="download the file again.",
        )
    pictures *= 255
    return Cohort(
        name="dsprites",
        columns={
            IMAGE: pictures[..., None],
            **factor_columns(codes, FACTORS),
            "split": halved(codes["shape"], stream(seed, "halves of each shape")),
        },
        target="shape",
        groups=tuple(factor.half for factor in FACTORS if factor.name != "shape"),
        features=(IMAGE,),
        split="split",
        datasheet=DATASHEET.format(rows=len(chosen), there=len(classes)),
        pictures=IMAGE,
    )
