"""SPC-n (paper 000, appendix A.1), as the base code draws it: with replacement, of classes and within them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput, registered, stream
from equipoise.training import Codes, Parameter, Table
from equipoise.training.metric import ByClass, Sampler, steps_of


@registered("sampler", "samples_per_class", alias="SPC", paper="000")
class SamplesPerClass(Sampler):
    """batch / n draws, each of any class and then n of its rows, all with replacement.

    A class may come twice in a batch, and a row may be its own positive: of a class with one row it always is.
    """

    parameters: ClassVar[Table] = {
        "per_class": Parameter("rows of a class that is drawn, n", 2, least=1, low=2, high=8, integer=True),
    }

    def batches(
        self, labels: NDArray[Any], batch_size: int, seed: int, epoch: int, weights: NDArray[np.float64] | None = None
    ) -> Codes:
        """Return the places of every batch, ``[step, sample]``; the rows of a draw are neighbours."""
        number = int(self.values["per_class"])
        classes = ByClass(labels)
        if len(classes.sizes) < 2:
            raise BadInput(
                f"The training rows have {len(classes.sizes)} class(es)", available="two or more",
                help="metric learning needs rows of another class: check the target column.",
            )  # fmt: skip
        steps = steps_of(len(labels), batch_size, number, "samples_per_class")
        generator = stream(seed, "samples per class", epoch)
        if weights is not None:
            return classes.sample(weights, (steps, batch_size // number), number, generator).reshape(steps, batch_size)
        chosen_classes = generator.integers(len(classes.sizes), size=(steps, batch_size // number, 1))
        within = generator.integers(classes.sizes[chosen_classes], size=(*chosen_classes.shape[:2], number))
        chosen: Codes = classes.positions[classes.begins[chosen_classes] + within].reshape(steps, batch_size)
        return chosen
