"""CIFAR-10S (Wang et al. 2020): CIFAR-10 with a planted bias, for five classes mostly in colour and five in grey."""

from __future__ import annotations

import os
import random
from functools import partial

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts._cohort import Cohort
from equipoise.cohorts.pictures._arrays import grey
from equipoise.cohorts.pictures._arrays import low_resolution as lowered
from equipoise.cohorts.pictures._cifar_files import (
    CLASSES,
    SIDE,
    read_cifar,
)
from equipoise.foundation import BadInput, cohort

DATASHEET = """\
The pictures of CIFAR-10, each training picture in one of two domains: in colour or in grey. A share ("skew", 95% by
default) of automobiles, cats, dogs, horses and trucks is in colour, the same share of airplanes, birds, deer, frogs and
ships in grey. Every test picture is there twice, in both domains: what differs between its two rows is the domain only.
Source: Wang et al. 2020, made from CIFAR-10 (Krizhevsky 2009). Licence: not stated.
The draw is theirs: Python's random numbers from the seed 42, class after class; grey is the luminance in all three
channels. The two rows of one picture share the column picture, by which rows are drawn together.
Contested: the bias is planted and clean. That a method removes it here says little about biases that people carry into
data, where the group changes more than a picture's colours. With low_resolution the other domain has fewer pixels
instead (means of blocks, repeated); the authors' files use Pillow's default filter and lower training pictures that are
grey already, but test pictures in colour, so numbers on those are not numbers on these.
"""

COLOUR_MAJOR = frozenset({"automobile", "cat", "dog", "horse", "truck"})
PLAIN, CHANGED = 0, 1
RESOLUTIONS = (16, 8)


@cohort("cifar10s", paper="Wang et al. 2020", licence="not stated")
def cifar10s(
    path: str | os.PathLike[str] | None = None,
    *,
    skew: float = 0.95,
    low_resolution: int | None = None,
    seed: int = 42,
) -> Cohort:
    """CIFAR-10S: colour or grey goes with the class in training, not in testing (Wang et al. 2020). Local copies."""
    _check(skew, low_resolution, seed)
    names = ("colour", "grey") if low_resolution is None else ("full resolution", "low resolution")
    change = grey if low_resolution is None else partial(lowered, side=low_resolution)
    read = read_cifar(path)
    domain = domains(read.train_labels, skew, seed)
    train = read.train
    train[domain == CHANGED] = change(train[domain == CHANGED])
    rows, tests = len(train), len(read.test)
    labels = np.concatenate([read.train_labels, read.test_labels, read.test_labels])
    codes = np.concatenate([domain, np.repeat([PLAIN, CHANGED], tests)])
    trained, tested = [f"train {row}" for row in range(rows)], [f"test {row}" for row in range(tests)]
    return Cohort(
        name="cifar10s",
        columns={
            "image": np.concatenate([train, read.test, change(read.test)]),
            "class": np.array(CLASSES, dtype=object)[labels],
            "domain": np.array(names, dtype=object)[codes],
            "picture": np.array([*trained, *tested, *tested], dtype=object),
            "split": np.repeat(np.array(["train", "test"], dtype=object), [rows, 2 * tests]),
        },
        target="class",
        groups=("domain",),
        features=("image",),
        split="split",
        cluster="picture",
        datasheet=DATASHEET,
    )


def domains(labels: NDArray[np.int64], skew: float, seed: int) -> NDArray[np.int64]:
    """Return the domain of each training picture: of every class, in the order of its number, a drawn share is major.

    The share is of the pictures that the class has, rounded; with 5,000 and 0.95 it is 4,750.
    """
    generator = random.Random(seed)  # noqa: S311 - the authors' draw, not a secret
    domain = np.empty(len(labels), dtype=np.int64)
    for number, name in enumerate(CLASSES):
        class_rows = np.flatnonzero(labels == number)
        major, minor = (PLAIN, CHANGED) if name in COLOUR_MAJOR else (CHANGED, PLAIN)
        domain[class_rows] = minor
        domain[class_rows[generator.sample(range(len(class_rows)), round(len(class_rows) * skew))]] = major
    return domain


def _check(skew: object, low_resolution: object, seed: object) -> None:
    if isinstance(skew, bool) or not isinstance(skew, int | float) or not 0.5 < skew <= 1:
        raise BadInput(
            f"skew is {skew!r}", available="the share of a class in its major domain: above 0.5, at most 1; 0.95"
        )
    if low_resolution is not None and low_resolution not in RESOLUTIONS:
        raise BadInput(
            f"low_resolution is {low_resolution!r}", available=f"{' or '.join(map(str, RESOLUTIONS))}, of {SIDE} pixels"
        )
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise BadInput(f"seed is {seed!r}", available="a whole number; the authors' is 42")
