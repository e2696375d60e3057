"""Sprites: drawn shapes whose five factors of variation are known, with no file to get (paper 002)."""

from __future__ import annotations

from equipoise.cohorts._cohort import Cohort
from equipoise.cohorts._factors import (
    chosen_rows,
    codes_of_cells,
    factor_columns,
)
from equipoise.cohorts.pictures._sprites import (
    NUMBER_OF_SPRITES,
    SPRITE_FACTORS,
    draw_sprites,
)
from equipoise.cohorts.sources._feature_files import IMAGE
from equipoise.cohorts.sources._voting import halved
from equipoise.foundation import cohort, stream

ROWS = 10_000

DATASHEET = """\
{rows:,} of 737,280 drawn pictures, 64 x 64 pixels of ink (255) or none (0): 3 shapes x 6 scales x 40 orientations x
32 x 32 positions. The class is the shape. A seed draws the rows, none twice, and puts half of each shape into
train.
Source: drawn by this package, with the factors of dSprites (Matthey et al. 2017); no pixel is taken from there.
Licence: that of this package.
Groups: which half of its values a factor is in (scale_half, orientation_half, x_half, y_half, and shape_half: square or
not). The halves are the only binarisation of a factor.
Contested: nobody is in these pictures: what finds a bias here need not find one among people. Turns of a square by a
quarter and of an ellipse by a half look the same, so the half of the orientation can be seen in hearts alone.
"""


@cohort("sprites", paper="002", licence="that of this package", bundled=True)
def sprites(*, rows: int = ROWS, seed: int = 0) -> Cohort:
    """Sprites: drawn shapes with five known factors of variation, as in dSprites. No file is needed."""
    codes = codes_of_cells(chosen_rows(rows, NUMBER_OF_SPRITES, stream(seed, "sprites"), "sprites"), SPRITE_FACTORS)
    return Cohort(
        name="sprites",
        columns={
            IMAGE: draw_sprites(codes),
            **factor_columns(codes, SPRITE_FACTORS),
            "split": halved(codes["shape"], stream(seed, "halves of each shape")),
        },
        target="shape",
        groups=tuple(factor.half for factor in SPRITE_FACTORS if factor.name != "shape"),
        features=(IMAGE,),
        split="split",
        datasheet=DATASHEET.format(rows=len(codes["shape"])),
        pictures=IMAGE,
    )
