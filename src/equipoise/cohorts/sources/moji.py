"""Moji: happy or sad tweets and the dialect that they are written in, in DeepMoji's features (paper 001)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts._array_files import read_array
from equipoise.cohorts._cohort import Cohort
from equipoise.cohorts._loading import Source, find_file
from equipoise.cohorts.sources._split_files import SPLITS
from equipoise.foundation import BadInput, cohort

# The first word of a file's name is the sentiment and the second the dialect.
CELLS = (("pos_pos", "happy", "AAE"), ("pos_neg", "happy", "SAE"), ("neg_pos", "sad", "AAE"), ("neg_neg", "sad", "SAE"))
STEREOTYPED = ("pos_pos", "neg_neg")
SOURCE = Source(
    cohort="moji", files=("train/pos_pos.npy",),
    instructions="Make the folders train, dev and test, each with pos_pos.npy, pos_neg.npy, neg_pos.npy and "
    "neg_neg.npy, with fairlib's script for Moji.",
)  # fmt: skip

DATASHEET = """\
Tweets as 2,304 features of DeepMoji. The class is happy or sad, by the emoji that the author used; the group is the
dialect, African-American (AAE) or Standard American English (SAE), by a model of the words and of where the tweet was
written. Most of the training rows are stereotyped, happy in AAE or sad in SAE; the published dev and test files hold as
many of each of the four.
{counts}Source: Blodgett et al. 2016 (tweets), Felbo et al. 2017 (features), in the layout that Han et al. 2022 used.
Licence: not stated.
Contested: dialect is a model's guess at a tweet and says nothing of its author's race. Balance and stereotyping are
made by choosing rows, so no share here is that of a population. The texts are not in the files: what the features hold
cannot be looked at.
"""


@cohort("moji", paper="Blodgett et al. 2016", licence="not stated")
def moji(path: str | os.PathLike[str] | None = None, *, rows: int = 100_000, stereotyping: float = 0.8) -> Cohort:
    """Moji: happy or sad tweets in two dialects, as features of DeepMoji. Local copies only.

    ``rows`` are the training rows, ``stereotyping`` the share of them that is happy in AAE or sad in SAE.
    """
    _check(rows, stereotyping)
    file = find_file(SOURCE, path)
    if file.parent.name != "train" or file.name != "pos_pos.npy":
        raise BadInput(f"{file.name} is not the folder of Moji", available=SOURCE.files[0], help=SOURCE.instructions)
    folder = file.parents[1]
    arrays = {(split, name): _read(folder / split / f"{name}.npy") for split in SPLITS for name, *_ in CELLS}
    widths = {array.shape[1] for array in arrays.values()}
    if len(widths) > 1:
        raise BadInput(f"The files of Moji have {sorted(widths)} columns", available="as many in each; 2,304 published")
    taken = {
        (split, name): array[: _share(rows, stereotyping, name, folder, array)] if split == "train" else array
        for (split, name), array in arrays.items()
    }
    lengths = [len(array) for array in taken.values()]
    points = np.empty((sum(lengths), *widths), dtype=np.float32)
    first = 0
    for array in taken.values():
        points[first : first + len(array)] = array
        first += len(array)
    if not np.isfinite(points).all():
        raise BadInput("Some numbers of the files of Moji are not finite", help="make the files again.")
    said = {name: (sentiment, dialect) for name, sentiment, dialect in CELLS}
    split_rows = {split: sum(len(array) for (part, _), array in taken.items() if part == split) for split in SPLITS}
    return Cohort(
        name="moji",
        columns={
            "features": points,
            "sentiment": _repeated([said[name][0] for _, name in taken], lengths),
            "dialect": _repeated([said[name][1] for _, name in taken], lengths),
            "split": _repeated([split for split, _ in taken], lengths),
        },
        target="sentiment",
        groups=("dialect",),
        features=("features",),
        split="split",
        datasheet=DATASHEET.format(
            counts=f"Here {split_rows['train']:,} rows are to train on, a share of {stereotyping:g} of them "
            f"stereotyped; {split_rows['dev']:,} are to select and {split_rows['test']:,} to test on.\n"
        ),
    )


def _share(rows: int, stereotyping: float, name: str, folder: Path, array: NDArray[Any]) -> int:
    """Return how many rows a file gives to train, the first ones: half of the stereotyped, or half of the others."""
    share = stereotyping if name in STEREOTYPED else 1 - stereotyping
    number = int(rows * share / 2 + 1e-9)
    if number > len(array):
        most = int(2 * len(array) / share + 1e-9)
        raise BadInput(
            f"train/{name}.npy in {str(folder)!r} has {len(array):,} rows, and {number:,} are asked of it",
            help=f"rows = {most} takes all of this file with stereotyping = {stereotyping:g}.",
        )
    return number


def _read(file: Path) -> NDArray[Any]:
    if not file.is_file():
        raise BadInput(f"The folder of Moji lacks {file.parent.name}/{file.name}", help=SOURCE.instructions)
    array = read_array(file, "")
    if array.ndim != 2 or not array.size or array.dtype.kind != "f":
        raise BadInput(
            f"{file.parent.name}/{file.name} is {array.dtype} of the shape {array.shape}",
            available="floats, one row per tweet",
            help=SOURCE.instructions,
        )
    return array


def _repeated(values: list[str], lengths: list[int]) -> NDArray[Any]:
    return np.repeat(np.array(values, dtype=object), lengths)


def _check(rows: object, stereotyping: object) -> None:
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 8:
        raise BadInput(f"rows is {rows!r}", available="a whole number of training rows, 8 or more; 100000")
    number = not isinstance(stereotyping, bool) and isinstance(stereotyping, int | float)
    if not number or not 0 < float(str(stereotyping)) < 1:
        raise BadInput(
            f"stereotyping is {stereotyping!r}", available="a share above 0 and below 1; 0.8, and 0.5 for balance"
        )
