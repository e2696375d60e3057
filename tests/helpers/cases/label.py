"""Small planted cohorts whose rows have several labels, as tables and as pictures, for tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise.cohorts import Cohort

LABELS = ("cat", "dog", "bird")


def label_columns(rows: int = 320, seed: int = 0) -> dict[str, Any]:
    """Four numbers that tell three labels, of which the last is rarer in one group, and splits in order."""
    generator = np.random.default_rng(seed)
    numbers = generator.normal(size=(rows, 4))
    group = generator.integers(0, 2, rows)
    noise = 0.4 * generator.normal(size=(rows, 3))
    cat, dog = numbers[:, 0] + noise[:, 0] > 0, numbers[:, 1] + numbers[:, 2] + noise[:, 1] > 1
    bird = numbers[:, 3] + 0.7 * group + noise[:, 2] > 1.2
    split = np.array(["train"] * (rows // 2) + ["dev"] * (rows // 4) + ["test"] * (rows - rows // 2 - rows // 4))
    return {
        **{f"x{place}": numbers[:, place] for place in range(4)},
        "cat": cat.astype(int), "dog": np.where(dog, "yes", "no"), "bird": bird,
        "sex": np.array(["f", "m"])[group], "split": split,
    }  # fmt: skip


def label_cohort(rows: int = 320, seed: int = 0, **changed: Any) -> Cohort:
    """A table with the labels cat, dog and bird; some columns may be others."""
    columns = {**label_columns(rows, seed), **changed}
    return Cohort.from_frame(
        columns, target=list(LABELS), groups="sex", split="split", task="multilabel", name="animals"
    )


def label_pictures(rows: int = 64, side: int = 12, seed: int = 0) -> Cohort:
    """Pictures in which a label darkens a channel."""
    generator = np.random.default_rng(seed)
    pictures = generator.integers(60, 255, (rows, side, side, 3)).astype(np.uint8)
    present = generator.integers(0, 2, (rows, 3))
    for label in range(3):
        pictures[present[:, label] == 1, :, :, label] //= 3
    columns = {
        "picture": pictures, **{name: present[:, index] for index, name in enumerate(LABELS)},
        "sex": np.array(["f", "m"])[generator.integers(0, 2, rows)],
        "split": np.array(["train"] * (rows // 2) + ["dev"] * (rows // 4) + ["test"] * (rows - rows // 2 - rows // 4)),
    }  # fmt: skip
    return Cohort(
        "animal pictures", columns, ", ".join(LABELS), ("sex",), ("picture",), split="split", task="multilabel",
        labels=LABELS,
    )  # fmt: skip
