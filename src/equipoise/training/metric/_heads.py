"""Linear heads on features, R of them as one, and the nearest training row in an embedding.

Weights are ``[R, feature, dimension]``, embeddings of length 1. ``head_stack`` makes heads ready to train: a stack
whose callback is a metric loss. The class of the nearest training row is what a metric learner says of a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.foundation import BadInput, require, stream
from equipoise.networks import StackedMLP
from equipoise.training._dataset import EncodedDataset, Settings
from equipoise.training._numerics import dtype_of
from equipoise.training._preparation import PreparedJob
from equipoise.training._stack import Stack
from equipoise.training.metric._objective import MetricRecipe, metric_callback, metric_context

if TYPE_CHECKING:
    import torch


class LinearHeads(StackedMLP):
    """Perceptrons without a hidden layer, whose output is the embedding.

    They have start values as ``torch.nn.Linear`` draws them, uniform within 1 / sqrt(features) of 0. Each head's come
    from its own stream of the seed, so that they do not depend on which heads stand beside it.
    """

    def __init__(
        self, seeds: Sequence[int], features: int, width: int, *, unit_length: bool, dtype: torch.dtype, device: str
    ) -> None:
        self.torch = require("torch", extra="train", purpose="Metric learning")
        self.unit_length = unit_length
        reach = features**-0.5
        initial = [stream(seed, "metric head").uniform(-reach, reach, (features + 1, width)) for seed in seeds]
        values = self.torch.tensor(np.stack(initial), dtype=dtype, device=device)
        weight, bias = (part.clone().requires_grad_() for part in (values[:, :-1], values[:, -1:]))
        super().__init__([weight], [bias])

    def record_layer(self, layer: str) -> None:
        """Refuse to show a layer by name: a head has one."""
        raise unknown_layer(layer)

    def __call__(self, inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the embeddings of features ``[trial, sample, feature]``, which are output and hidden layer in one."""
        embedding = super().__call__(inputs)[0]
        if self.unit_length:
            embedding = self.torch.nn.functional.normalize(embedding, dim=-1)
        return embedding, embedding


def unknown_layer(layer: str) -> BadInput:
    """Return the refusal to show a layer of a head by name."""
    return BadInput(
        f"There is no layer {layer!r} in a head on features", available="last, the embedding", help='layer = "last".'
    )


def embedded(
    features: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, *, unit_length: bool, at_once: int = 8192
) -> torch.Tensor:
    """Return the embeddings ``[trial, row, dimension]`` of the same rows ``[row, feature]`` by every head, in parts."""
    library = require("torch", extra="train", purpose="Metric learning")
    heads, width = weight.shape[0], weight.shape[2]
    # All heads side by side are one wide matrix.
    wide = weight.transpose(0, 1).reshape(weight.shape[1], heads * width)
    parts = [features[begin : begin + at_once] @ wide for begin in range(0, max(len(features), 1), at_once)]
    joined = library.cat(parts).view(len(features), heads, width).transpose(0, 1) + bias
    tensor: torch.Tensor = library.nn.functional.normalize(joined, dim=-1) if unit_length else joined
    return tensor


def head_stack(
    trials: Sequence[PreparedJob],
    dataset: EncodedDataset,
    recipe: MetricRecipe,
    settings: Settings,
    inputs: torch.Tensor | None = None,
) -> Stack:
    """Build the heads of trials, ready to train."""
    heads = LinearHeads(
        [trial.seed for trial in trials], dataset.train.inputs.shape[1] if inputs is None else inputs.shape[1],
        recipe.embedding_size, unit_length=recipe.make_loss().unit_length,
        dtype=dtype_of(settings), device=settings.device,
    )  # fmt: skip
    return Stack(
        heads, trials, dataset, recipe.steps, settings,
        learner=metric_callback(recipe, trials), context_values=metric_context(recipe, trials, settings.device),
        inputs=inputs,
    )  # fmt: skip


# Distances at once: they bound the memory that a search takes.
AT_ONCE = 2**24


def nearest(queries: Any, points: Any) -> Any:
    """Return for each query ``[row, dimension]`` the place of the nearest point; numpy and torch alike.

    |q - p|^2 is |p|^2 - 2 q.p up to what the query alone decides. Of points at one distance the first is taken.
    """
    half = (points * points).sum(-1) / 2
    step = max(AT_ONCE // max(len(points), 1), 1)
    nearest_rows = [
        (half - queries[begin : begin + step] @ points.T).argmin(axis=-1) for begin in range(0, len(queries), step)
    ]
    if not nearest_rows:
        return half[:0].argsort()
    return _joined(nearest_rows)


def _joined(parts: list[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    if hasattr(parts[0], "detach"):
        import torch

        return torch.cat(parts)
    import numpy as np

    return np.concatenate(parts)
