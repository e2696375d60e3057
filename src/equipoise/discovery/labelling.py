"""A direction becomes a group column: on which side of its plane real pictures lie.

Nobody was asked: the column is what a machine reads off a picture, and it is wrong for some of them. It is for
measuring a classifier, and never for saying what somebody is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts.cohort import Cohort
from equipoise.cohorts.factors import LOWER, UPPER
from equipoise.discovery.hyperplane import Floats, Hyperplane
from equipoise.discovery.reading import Encoder, Reader, pictures_of, read_distances, reader_of
from equipoise.foundation.errors import BadInput, unknown_name
from equipoise.tallies.labels import label_of

Halves = Literal["median", "plane", "outer thirds"]
HALVES: tuple[Halves, ...] = ("median", "plane", "outer thirds")
MIDDLE = "middle"
TRAIN = "train"
# The words of the sides -1, 0 and 1.
SIDES = np.array([LOWER, MIDDLE, UPPER], dtype=object)
WORDS = {
    "median": "the median of the training rows",
    "plane": "the plane itself",
    "outer thirds": "the thirds of the training rows",
}


def labelled(
    cohort: Cohort,
    plane: Hyperplane,
    *,
    encoder: Encoder | None = None,
    probe: Reader | None = None,
    halves: Halves = "median",
    name: str | None = None,
) -> Cohort:
    """Return a cohort with a new group column, "lower" or "upper": the side of the plane that a picture lies on.

    The sides part at the median of the training rows (so that no held-out row has a say), at the "plane" itself, or
    with "outer thirds" at the thirds of the training rows, what lies between them being "middle". ``name`` is the
    column's; by default the plane's.
    """
    reader = reader_of(encoder, probe)
    values = read_distances(pictures_of(cohort), [plane], reader)
    return with_sides(cohort, plane, sides(values, training_rows(cohort), halves)[:, 0], reader.how, halves, name)


def with_sides(
    cohort: Cohort, plane: Hyperplane, found: NDArray[np.int64], how: str, halves: Halves, name: str | None = None
) -> Cohort:
    """Return a cohort with the sides -1, 0 and 1 as a group column, and a datasheet that says how they were made."""
    check_sides(found, halves)
    column = plane.name if name is None else name
    if column in cohort.columns:
        raise BadInput(
            f"The cohort {cohort.name!r} has a column {column!r} already", help="give the new one another name=."
        )
    said = (
        f"{column}: a prediction, not self-reported, and wrong for some: the side of the plane {plane.name!r} of a "
        f"generator's latent space that a picture is on, as estimated by {how}, split at {WORDS[halves]}.\n"
    )
    return replace(
        cohort,
        columns={**cohort.columns, column: SIDES[found + 1]},
        groups=(*cohort.groups, column),
        datasheet=cohort.datasheet + said,
    )


def training_rows(cohort: Cohort) -> NDArray[np.bool_]:
    """Return which rows the cohort says are trained on."""
    if cohort.split is None:
        return np.zeros(len(cohort), dtype=np.bool_)
    return np.array([label_of(value) == TRAIN for value in cohort[cohort.split].tolist()], dtype=np.bool_)


def sides(values: Floats, train: NDArray[np.bool_], halves: Halves) -> NDArray[np.int64]:
    """Return the side, -1, 0 or 1, of distances ``[row, plane]``; every plane has a cut of its own."""
    if halves not in HALVES:
        raise unknown_name("way to split rows", str(halves), HALVES, "labelled")
    if halves != "plane" and not train.any():
        raise BadInput(
            f"The rows are to be split at {WORDS[halves]}, and there are none",
            available=f"a split column with rows that say {TRAIN!r}",
            help='halves="plane" splits them at the plane itself.',
        )
    if halves == "plane":
        low = high = np.zeros(values.shape[1])
    else:
        shares = (0.5, 0.5) if halves == "median" else (1 / 3, 2 / 3)
        low, high = np.quantile(values[train], shares, axis=0)
    found: NDArray[np.int64] = np.where(values >= high, 1, np.where(values < low, -1, 0))
    return found


def check_sides(found: NDArray[np.int64], halves: Halves) -> None:
    """Refuse a column that tells nobody apart."""
    if not ((found == 1).any() and (found == -1).any()):
        raise BadInput(
            f"All rows are on one side of {WORDS[halves]}",
            available="rows on both sides",
            help='halves="median" splits them into two halves if their distances differ.',
        )
