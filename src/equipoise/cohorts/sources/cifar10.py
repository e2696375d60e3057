"""CIFAR-10: small pictures of ten kinds of things, as they are."""

from __future__ import annotations

import os

import numpy as np

from equipoise.cohorts._cohort import Cohort
from equipoise.cohorts.pictures._cifar_files import (
    CLASSES,
    read_cifar,
)
from equipoise.foundation import cohort

DATASHEET = """\
60,000 pictures of 32 x 32 pixels in ten classes, 50,000 of them to train on; a copy may hold fewer.
Source: Krizhevsky 2009, as the binary version, or as strips of lossless WebP. Licence: not stated.
Contested: CIFAR-10 has no groups. The column kind (animal or vehicle) follows from the class, so no class is in both
groups: gaps within a class are undefined, and conditions that need both are refused; cifar10s has groups that cross the
classes. The pictures were collected from the web by search words of an image collection that has since been withdrawn
for its offensive labels. Some test pictures stand nearly the same among the training pictures.
"""

ANIMALS = frozenset({"bird", "cat", "deer", "dog", "frog", "horse"})


@cohort("cifar10", paper="Krizhevsky 2009", licence="not stated")
def cifar10(path: str | os.PathLike[str] | None = None) -> Cohort:
    """CIFAR-10: pictures of 32 x 32 pixels in ten classes (Krizhevsky 2009). Local copies only."""
    read = read_cifar(path)
    labels = np.concatenate([read.train_labels, read.test_labels])
    parts = (("train", len(read.train_labels)), ("test", len(read.test_labels)))
    kinds = np.array(["animal" if name in ANIMALS else "vehicle" for name in CLASSES], dtype=object)
    return Cohort(
        name="cifar10",
        columns={
            "image": np.concatenate([read.train, read.test]),
            "class": np.array(CLASSES, dtype=object)[labels],
            "kind": kinds[labels],
            "picture": np.array([f"{split} {row}" for split, rows in parts for row in range(rows)], dtype=object),
            "split": np.repeat(np.array([split for split, _ in parts], dtype=object), [rows for _, rows in parts]),
        },
        target="class",
        groups=("kind",),
        features=("image",),
        split="split",
        datasheet=DATASHEET,
    )
