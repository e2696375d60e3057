"""COIL-20: twenty objects on a turntable, photographed every five degrees (paper 002's factors on real pictures)."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from equipoise.cohorts._array_files import read_array
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
from equipoise.cohorts.pictures._arrays import (
    checked_labels,
    read_grey_strips,
)
from equipoise.cohorts.sources._feature_files import IMAGE
from equipoise.cohorts.sources._known_files import describe_copies
from equipoise.cohorts.sources._voting import halved
from equipoise.foundation import BadInput, cohort, stream

FILE = "coil20_64.npz"
KNOWN_CHECKSUMS = {FILE: "848d98a757a181773d8174c36f750f1088e710b099fd890a716c7db2b8eb99e2"}
OBJECTS, POSES, SIDE = 20, 72, 64
SOURCE = Source(
    cohort="coil20", files=(FILE,),
    instructions=f"Keep COIL-20's processed pictures as {FILE}: docs/guide/cohorts.md says what is in it.",
)  # fmt: skip
FACTORS = (
    # The data set has numbers for its objects and no names.
    Factor("object", tuple(f"object {number:02d}" for number in range(1, OBJECTS + 1))),
    Factor("pose", tuple((2 * np.pi * np.arange(POSES) / POSES).tolist()), circular=True),
)

DATASHEET = """\
{rows:,} of 1,440 photographs of 20 objects on a turntable, one every 5 degrees, 64 x 64 pixels of grey (the published
128 x 128, averaged 2 x 2). The class is the object. A seed puts half of each object's pictures into train.
Source: Nene, Nayar and Murase 1996 (CUCS-005-96). Licence: not stated in the copy; Columbia University offers it for
research, to our knowledge.
{copies}Groups: pose_half, which half of a turn the pose is in. The halves (object_half too: objects 1 to 10, or 11 to
20) are the only binarisation of a factor.
Contested: nobody is in these pictures. A pose counts from where an object was put down, so it means something within an
object at most, and round objects look the same in all. Train and test hold
neighbours that are 5 degrees apart, so what is right on test rows says nothing about another object or camera.
"""


@cohort("coil20", paper="Nene et al. 1996", licence="not stated (offered for research)")
def coil20(path: str | os.PathLike[str] | None = None, *, rows: int | None = None, seed: int = 0) -> Cohort:
    """COIL-20: objects on a turntable, photographed every five degrees (Nene et al. 1996). Local copies only."""
    file = find_file(SOURCE, path)
    if file.name != FILE:
        raise BadInput(f"{file.name} is not a readable file of COIL-20", available=f"{FILE}, or a folder with it")
    all_codes = _codes(file)
    number = len(all_codes["object"])
    chosen = chosen_rows(rows, number, stream(seed, "coil20"), "COIL-20")
    codes = {name: code[chosen] for name, code in all_codes.items()}
    return Cohort(
        name="coil20",
        columns={
            IMAGE: read_grey_strips(file, SIDE, number)[chosen],
            **factor_columns(codes, FACTORS),
            "split": halved(codes["object"], stream(seed, "halves of each object")),
        },
        target="object",
        groups=tuple(factor.half for factor in FACTORS if factor.name != "object"),
        features=(IMAGE,),
        split="split",
        datasheet=DATASHEET.format(
            rows=len(chosen), copies=describe_copies([file], KNOWN_CHECKSUMS, has_all_rows=number == OBJECTS * POSES)
        ),
        pictures=IMAGE,
    )


def _codes(path: Path) -> dict[str, FactorCodes]:
    """Read which object and pose each picture shows; none may be there twice."""
    codes = {
        factor.name: checked_labels(read_array(path, factor.name), len(factor.values), path.name) for factor in FACTORS
    }
    if len(codes["object"]) != len(codes["pose"]):
        raise BadInput(f"The parts of {path.name} do not match", help="download the file again.")
    cells, times = np.unique(codes["object"] * POSES + codes["pose"], return_counts=True)
    if (times > 1).any():
        item, pose = divmod(int(cells[times > 1][0]), POSES)
        raise BadInput(
            f"{path.name} has the pose {pose} of {FACTORS[0].values[item]} more than once",
            available="each pose of an object once",
            help="download the file again.",
        )
    return codes
