"""Batches of pairs (Sohn 2016): as many classes as fit, each once, with two rows each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput, registered, stream
from equipoise.training import Codes
from equipoise.training.metric import ByClass, Sampler, steps_of

PAIR = 2


@registered("sampler", "n_pair", paper="000")
class NPairBatches(Sampler):
    """batch / 2 distinct classes, and two distinct rows of each; classes with one row are left out."""

    def batches(
        self, labels: NDArray[Any], batch_size: int, seed: int, epoch: int, weights: NDArray[np.float64] | None = None
    ) -> Codes:
        """Return the places of every batch, ``[step, sample]``; the rows of a pair are neighbours."""
        if weights is not None:
            raise BadInput(
                "The sampler n_pair was given weights of rows, and draws two rows of each class without them",
                available="no weights",
                help="use the sampler samples_per_class.",
            )
        classes = ByClass(labels)
        steps = steps_of(len(labels), batch_size, PAIR, "n_pair")
        able = np.flatnonzero(classes.sizes >= PAIR)
        if len(able) < batch_size // PAIR:
            fitting = PAIR * len(able)
            raise BadInput(
                f"{len(able):,} of {len(classes.sizes):,} classes have two training rows, and a batch of "
                f"{batch_size:,} takes {batch_size // PAIR:,} classes",
                available=f"a batch of at most {fitting:,}" if len(able) > 1 else "two classes with two rows at least",
                help=f"a batch size of {fitting:,} would fit; the sampler samples_per_class repeats classes."
                if len(able) > 1
                else "the sampler samples_per_class repeats rows.",
            )
        generator = stream(seed, "n pairs", epoch)
        chosen_classes = able[np.argsort(generator.random((steps, len(able))), axis=1)[:, : batch_size // PAIR]]
        sizes = classes.sizes[chosen_classes]
        first = generator.integers(sizes)
        # A step of 1 to size - 1 onwards, and round: every other row alike.
        second = (first + generator.integers(1, sizes)) % sizes
        pairs = np.stack([first, second], axis=-1) + classes.begins[chosen_classes][..., None]
        chosen: Codes = classes.positions[pairs].reshape(steps, batch_size)
        return chosen
