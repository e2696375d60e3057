"""One label for all pictures of a person, from what a model said of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def voted(
    person: NDArray[np.int64], vote: NDArray[np.int64], certainty: NDArray[Any], names: Sequence[str]
) -> list[str | None]:
    """Return for each person the label that most pictures were given; None where no picture has one.

    Of labels with equally many votes the one with more certainty in sum wins, then the first. A label that is no
    place in ``names`` is no vote.
    """
    is_valid = (vote >= 0) & (vote < len(names))
    shape = (int(person.max()) + 1, len(names))
    votes, sums = np.zeros(shape), np.zeros(shape)
    np.add.at(votes, (person[is_valid], vote[is_valid]), 1.0)
    np.add.at(sums, (person[is_valid], vote[is_valid]), np.nan_to_num(certainty[is_valid].astype(np.float64)))
    # Certainties are shares of one: their sum over a person's pictures is below their number and one more.
    best = (votes + sums / (len(person) + 1)).argmax(axis=1)
    return [names[index] if any_vote else None
            for index, any_vote in zip(best.tolist(), (votes.sum(axis=1) > 0).tolist(), strict=True)]  # fmt: skip


def halved(classes: NDArray[np.int64], generator: np.random.Generator) -> NDArray[Any]:
    """Return train or test for each row: half of every class each, the odd row and a class's only row to train on."""
    order = generator.permutation(len(classes))
    order = order[np.argsort(classes[order], kind="stable")]
    _, starts, sizes = np.unique(classes[order], return_index=True, return_counts=True)
    rank = np.arange(len(order)) - np.repeat(starts, sizes)
    split = np.empty(len(classes), dtype=object)
    split[order] = np.where(rank < np.repeat((sizes + 1) // 2, sizes), "train", "test")
    return split
