"""SmallNORB: toys photographed from many sides under six lamps, from the published matrices (paper 002)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts._cohort import Cohort
from equipoise.cohorts._factors import (
    Factor,
    FactorCodes,
    chosen_rows,
    factor_columns,
)
from equipoise.cohorts._loading import (
    Source,
    find_file,
)
from equipoise.cohorts.pictures._arrays import checked_labels
from equipoise.cohorts.pictures._norb_files import (
    number_of_rows,
    read_matrix,
)
from equipoise.cohorts.sources._feature_files import IMAGE
from equipoise.foundation import BadInput, cohort, stream

PARTS = {"train": "smallnorb-5x46789x9x18x6x2x96x96-training", "test": "smallnorb-5x01235x9x18x6x2x96x96-testing"}
ENDINGS = (".mat", ".mat.gz")
SIDE, SMALL = 96, 64
SOURCE = Source(
    cohort="smallnorb",
    files=tuple(f"{PARTS['train']}-dat{ending}" for ending in ENDINGS),
    instructions="Get the six files of SmallNORB (LeCun, Huang and Bottou 2004): dat, cat and info of both parts.",
)
FACTORS = (
    Factor("category", ("animal", "human", "airplane", "truck", "car")),
    Factor("elevation", tuple(range(30, 75, 5))),
    Factor("azimuth", tuple((2 * np.pi * np.arange(18) / 18).tolist()), circular=True),
    Factor("lighting", tuple(range(6))),
)
INSTANCES = 10

DATASHEET = """\
{rows:,} of 48,600 photographs of 50 toys of five kinds (ten of each), {side} x {side} pixels of grey, the left picture
of each pair: 9 elevations, 18 azimuths, 6 lightings. The class is the category. Train and test are the published parts:
no toy is in both.
Source: LeCun, Huang and Bottou 2004 (CVPR). Licence: for research, as its authors say; not checked here.
Groups: which half of its values a factor is in. The halves are the only binarisation of a factor.
Contested: a toy's front is where its owner says it is, so an azimuth means something within a category at most.
"""


@cohort("smallnorb", paper="002", licence="for research")
def smallnorb(
    path: str | os.PathLike[str] | None = None, *, rows: int | None = None, seed: int = 0, small: bool = True
) -> Cohort:
    """SmallNORB: toys photographed from many sides (LeCun et al. 2004). Local copies only."""
    file = find_file(SOURCE, path)
    if file.name not in SOURCE.files:
        raise BadInput(
            f"{file.name} is not a file of SmallNORB", available=f"a folder with {SOURCE.files[0]} and others"
        )
    numbers = {part: number_of_rows(_file(file.parent, part, "dat")) for part in PARTS}
    chosen = chosen_rows(rows, sum(numbers.values()), stream(seed, "smallnorb"), "SmallNORB")
    first = numbers["train"]
    parts = {"train": chosen[chosen < first], "test": chosen[chosen >= first] - first}
    read = [_part(file.parent, part, numbers[part], part_rows, small) for part, part_rows in parts.items()]
    codes = {name: np.concatenate([part_arrays[1][name] for part_arrays in read]) for name in read[0][1]}
    instances = codes.pop("instance")
    return Cohort(
        name="smallnorb",
        columns={
            IMAGE: np.concatenate([part_arrays[0] for part_arrays in read]),
            **factor_columns(codes, FACTORS),
            "instance": instances,
            "split": np.repeat(np.array(list(parts), dtype=object), [len(part_rows) for part_rows in parts.values()]),
        },
        target="category",
        groups=tuple(factor.half for factor in FACTORS if factor.name != "category"),
        features=(IMAGE,),
        split="split",
        datasheet=DATASHEET.format(rows=len(chosen), side=SMALL if small else SIDE),
        pictures=IMAGE,
    )


def _file(folder: Path, part: str, kind: str) -> Path:
    for ending in ENDINGS:
        if (folder / f"{PARTS[part]}-{kind}{ending}").is_file():
            return folder / f"{PARTS[part]}-{kind}{ending}"
    raise BadInput(f"There is no file {PARTS[part]}-{kind}.mat beside the others", help=SOURCE.instructions)


def _part(
    folder: Path, part: str, number: int, rows: FactorCodes, small: bool
) -> tuple[NDArray[np.uint8], dict[str, FactorCodes]]:
    """Return the pictures of some rows of a part, and the codes of their factors and of the toy."""
    files = {kind: _file(folder, part, kind) for kind in ("dat", "cat", "info")}
    kinds, info = read_matrix(files["cat"]), read_matrix(files["info"])
    if kinds.shape != (number,) or info.shape != (number, 4):
        raise BadInput(
            f"The files of SmallNORB's {part} part do not match: {number:,} pictures, cat of the shape "
            f"{kinds.shape}, info of the shape {info.shape}",
            help="get the files again.",
        )
    pictures = read_matrix(files["dat"], rows, first_of=0)
    if pictures.shape[1:] != (SIDE, SIDE) or pictures.dtype != np.uint8:
        raise BadInput(f"{files['dat'].name} holds {pictures.dtype} of the shape {pictures.shape}",
                       available=f"pairs of uint8 pictures of {SIDE} x {SIDE}")  # fmt: skip
    # info: toy, elevation, azimuth (in steps of 2, 0 to 34) and lighting.
    azimuth = _steps(info[rows, 2], files["info"].name)
    columns = dict(
        zip((factor.name for factor in FACTORS), (kinds[rows], info[rows, 1], azimuth, info[rows, 3]), strict=True)
    )
    codes = {factor.name: checked_labels(columns[factor.name], len(factor.values), part) for factor in FACTORS}
    codes["instance"] = checked_labels(info[rows, 0], INSTANCES, files["info"].name)
    return (smaller(pictures) if small else pictures)[..., None], codes


def _steps(azimuth: NDArray[Any], name: str) -> NDArray[Any]:
    if (azimuth % 2).any():
        raise BadInput(f"{name} has odd azimuths", available="0, 2, ... 34", help="download the file again.")
    return azimuth // 2


def smaller(pictures: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return pictures of 96 x 96 pixels as 64 x 64: means of the area a new pixel covers, halves rounded up.

    Two new pixels cover three old ones: the first and half of the middle one, the other half and the last.
    """
    parts = pictures.reshape(len(pictures), SMALL // 2, 3, SMALL // 2, 3).astype(np.uint16)
    weights = np.array([[2, 1, 0], [0, 1, 2]], dtype=np.uint16)
    sums = np.einsum("nibjd,ab,cd->niajc", parts, weights, weights, optimize=True)
    values: NDArray[np.uint8] = ((2 * sums + 9) // 18).reshape(len(pictures), SMALL, SMALL).astype(np.uint8)
    return values
