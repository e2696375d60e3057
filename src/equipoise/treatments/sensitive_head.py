"""The sensitive half of PARADE: a head that learns to tell one attribute, and what separates the target head from it.

Stacked: every trial has its own, and nothing mixes trials. None of it is needed to embed a row, and none is released;
a trial of a study keeps the dev rows as it embeds them, for maps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput, require
from equipoise.networks.mlp import stacked_mlp
from equipoise.networks.separation import separation
from equipoise.training.callback import Batch, Part, TrainingContext
from equipoise.training.fixing import seed_of
from equipoise.training.metric.loss import mean_where
from equipoise.training.precision import dtype_of

if TYPE_CHECKING:
    import torch


class SensitiveHead:
    """Linear(features, D) with the loss and miner of the target head, whose classes are the values of one attribute."""

    def __init__(self, context: TrainingContext, place: int, codes: torch.Tensor) -> None:
        self.attribute, values = context.attributes[place], context.values[place]
        if len(values) < 2:
            raise BadInput(
                f"The sensitive attribute {self.attribute!r} has {len(values)} value(s) among the training rows",
                available="two or more: PARADE learns to distinguish them",
                help="leave it out of the groups.",
            )
        self.torch = require("torch", extra="train", purpose="PARADE")
        assert context.metric is not None
        assert context.draws is not None
        self.recipe, self.draws, self.codes = context.metric, context.draws, codes
        # Only where a value is unknown must heads be looked at one by one.
        self.whole = bool((codes >= 0).all())
        self.loss, self.miner = context.metric.make_loss(), context.metric.make_miner()
        width, dtype, device = context.metric.embedding_size, dtype_of(context.settings), context.settings.device
        # Streams of its own: a group shall not begin where the class of the same number does.
        seeds = [seed_of(seed, "sensitive", self.attribute) for seed in context.seeds]
        self.head = stacked_mlp((context.features, width), seeds, part="sensitive head", dtype=dtype, device=device)
        self.learnt = self.loss.start(seeds, len(values), width, dtype=str(dtype).split(".")[-1], device=device)
        self.separation = separation(width, seeds, dtype=dtype, device=device)

    def parts(self, separation_rates: Sequence[float]) -> dict[str, Part]:
        """Return what is trained: the head as the target head is, xi at its own rates, and what the loss learns."""
        parts = {
            "head": Part(self.head.parameters, self.recipe.rates, self.recipe.decays),
            "separation": Part(self.separation.parameters, tuple(separation_rates)),
        }
        if self.learnt:
            assert self.loss.rate is not None
            parts["loss"] = Part(list(self.learnt.values()), self.loss.rate)
        return {f"sensitive {name} {self.attribute}": part for name, part in parts.items()}

    def terms(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Return L_SA and c of each trial, both ``[trial]``; c is summed over the dimensions, a mean over rows."""
        codes = self.codes.gather(1, batch.places)
        points = self.embedded(batch.features)
        numbers = self.draws(f"sensitive {self.attribute}", batch.step, codes.shape[1])
        own = self._loss(points, codes, numbers)
        return own, mean_where(self.separation(batch.output.to(points.dtype), points), codes >= 0)

    def embedded(self, features: torch.Tensor) -> torch.Tensor:
        """Return the sensitive embedding of features ``[trial, row, feature]``, of length 1 where the loss wants it."""
        rows = self.head(features.to(self.head.weights[0].dtype))[0]
        if not self.loss.unit_length:
            return rows
        points: torch.Tensor = self.torch.nn.functional.normalize(rows, dim=-1)
        return points

    def of_trial(self, trial: int, rows: NDArray[np.float32]) -> NDArray[np.float16]:
        """Return rows ``[row, feature]`` as the head of one trial embeds them now."""
        with self.torch.no_grad():
            weight, bias = (one[trial] for one in self.head.parameters)
            found = self.torch.as_tensor(rows).to(weight) @ weight + bias
            if self.loss.unit_length:
                found = self.torch.nn.functional.normalize(found, dim=-1)
            with np.errstate(over="ignore"):  # what float16 cannot hold is infinite, and the caller looks
                made: NDArray[np.float16] = found.double().cpu().numpy().astype(np.float16)
        return made

    def _loss(self, points: torch.Tensor, codes: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        if self.whole:
            mined = None if self.miner is None else self.miner(points, codes, numbers)
            return self.loss(points, codes, mined, self.learnt)
        each = [self._of_known(trial, points, codes, numbers) for trial in range(len(codes))]
        found: torch.Tensor = self.torch.stack(each)
        return found

    def _of_known(self, trial: int, points: torch.Tensor, codes: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        """Return the loss of one trial, of the rows alone whose value is known; 0 where there are none."""
        known = (codes[trial] >= 0).nonzero().squeeze(-1)
        rows, told = points[trial][known], codes[trial][known]
        if not len(known):
            return rows.sum()
        mined = None if self.miner is None else self.miner(rows, told, numbers[trial][:, known])
        return self.loss(rows, told, mined, {name: one[trial] for name, one in self.learnt.items()})
