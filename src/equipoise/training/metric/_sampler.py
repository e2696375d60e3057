"""What a sampler is: the batches of an epoch as an array of rows, the same for the same (seed, epoch)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput
from equipoise.training._dataset import Codes
from equipoise.training._parameters import Table, with_defaults


class Sampler:
    """Something that makes up batches, registered under its name; one subclass a file in ``samplers``."""

    parameters: ClassVar[Table] = {}

    def __init__(self, **values: Any) -> None:
        self.values = with_defaults(self.parameters, values, f"the sampler {type(self).__name__}")

    def batches(
        self, labels: NDArray[Any], batch_size: int, seed: int, epoch: int, weights: NDArray[np.float64] | None = None
    ) -> Codes:
        """Return the places in ``labels`` (one a training row) of every batch of an epoch, ``[step, sample]``.

        An epoch has as many batches as the rows fill whole. With ``weights`` rows are drawn in proportion to them.
        """
        raise NotImplementedError


class ByClass:
    """Training rows arranged by class: ``places[begins[c] : begins[c] + sizes[c]]`` are the rows of class c."""

    def __init__(self, labels: NDArray[Any]) -> None:
        _, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
        self.positions: Codes = np.argsort(codes, kind="stable")
        self.sizes: Codes = sizes.astype(np.int64)
        self.begins: Codes = np.cumsum(self.sizes) - self.sizes

    def sample(
        self, weights: NDArray[np.float64], draws: tuple[int, int], number: int, generator: np.random.Generator
    ) -> Codes:
        """Return rows ``[step, draw, row]``: of a class drawn by the weight of its rows, ``number`` rows by theirs."""
        heights = np.cumsum(weights[self.positions])
        ends = heights[self.begins + self.sizes - 1]
        starts = np.concatenate([[0.0], ends[:-1]])
        chosen = np.searchsorted(ends, generator.random((*draws, 1)) * ends[-1], side="right")
        chosen = np.minimum(chosen, len(ends) - 1)
        aims = starts[chosen] + generator.random((*draws, number)) * (ends[chosen] - starts[chosen])
        places = np.searchsorted(heights, aims, side="right")
        within = np.clip(places, self.begins[chosen], (self.begins + self.sizes - 1)[chosen])
        rows: Codes = self.positions[within]
        return rows


def steps_of(rows: int, batch_size: int, multiple: int, sampler: str) -> int:
    """Return how many batches the rows fill; a batch that cannot be made is refused with one that can."""
    fitting = min(batch_size, rows) // multiple * multiple
    if fitting < 2 * multiple:
        raise BadInput(
            f"The sampler {sampler} was given {rows:,} training rows and batches of {batch_size:,}",
            available=f"batches of {2 * multiple:,} at least (two classes), and as many rows",
            help="take more rows, or fewer samples per class.",
        )
    if batch_size % multiple:
        raise BadInput(
            f"The sampler {sampler} takes {multiple} rows per class, and the batch size is {batch_size:,}",
            available=f"a multiple of {multiple}",
            help=f"a batch size of {fitting:,} would fit.",
        )
    if rows < batch_size:
        raise BadInput(
            f"There are {rows:,} training rows, and the batch size is {batch_size:,}",
            available=f"a multiple of {multiple} of at most {rows:,}",
            help=f"a batch size of {fitting:,} would fit.",
        )
    return rows // batch_size
