"""Distance-weighted mining (paper 000, Definition 6; Wu et al. 2017), as the base code of the paper computes it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

from equipoise.foundation import BadInput, registered, require
from equipoise.training import FreeParameter, Parameter, Table
from equipoise.training.metric import (
    MinedTriplets,
    Miner,
    all_positions,
    integer_weights,
    pairs_of,
    sample_columns,
    squared_distances,
)

if TYPE_CHECKING:
    import torch


@registered("miner", "distance_weighted", paper="000", extra="train")
class DistanceWeighted(Miner):
    """Each anchor: any positive, and a negative with log weight (2 - D) log d - (D - 3)/2 log(1 - d^2/4).

    That is 1 over the density of distances on the unit sphere, so that all distances are met alike. d is raised to the
    floor first. With a cut, negatives farther than it are left out, and an anchor that has no other is none. At d = 2
    the last logarithm is that of the smallest difference from 1, not of 0.
    """

    parameters: ClassVar[Table] = {
        "floor": Parameter("smaller distances count as this", 0.5, least=1e-6, low=0.1, high=1.0, most=2),
        "cut": FreeParameter("distance beyond which a negative is left out", "a number above 0, or None for no cut"),
    }

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        cut = self.values["cut"]
        number = isinstance(cut, int | float) and not isinstance(cut, bool)
        if cut is not None and not (number and 0 < cut < math.inf):
            raise BadInput(f"cut is {cut!r}", available="a number above 0, or None for no cut", help="1.4 is usual.")

    def __call__(self, embeddings: torch.Tensor, labels: torch.Tensor, uniforms: torch.Tensor) -> MinedTriplets:
        """Return a triplet for every anchor."""
        same_class, different_class = pairs_of(labels)
        squares = squared_distances(embeddings)
        if self.values["cut"] is not None:
            different_class &= squares <= self.values["cut"] ** 2
        weights = integer_weights(self.log_weights(squares, embeddings.shape[-1]), different_class)
        positives, with_positive = sample_columns(same_class.long(), uniforms[..., 0, :])
        negatives, with_negative = sample_columns(weights, uniforms[..., 1, :])
        return MinedTriplets(all_positions(labels), positives, negatives, with_positive & with_negative)

    def log_weights(self, squares: torch.Tensor, width: int) -> torch.Tensor:
        """Return the logarithms of weights, up to a constant, from squared distances."""
        library = require("torch", extra="train", purpose="Mining")
        squares = squares.clamp_min(self.values["floor"] ** 2)
        rest = (1 - squares / 4).clamp_min_(library.finfo(squares.dtype).eps / 2)
        # log d is half of log d^2.
        return squares.log_().mul_((2 - width) / 2).sub_(rest.log_(), alpha=(width - 3) / 2)
