"""Many multilayer perceptrons of one shape as one: every parameter has the trial as its first dimension.

A layer of R networks is one batched product, ``[R, rows, in] @ [R, in, out]``: nothing mixes trials.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.foundation import BadInput, require, stream
from equipoise.networks.stacked_layers import stacked_layers

if TYPE_CHECKING:
    import torch


class StackedMLP:
    """R networks: hidden layers with an activation, then a linear output. ``parameters`` are leaves ``[R, ...]``."""

    def __init__(
        self, weights: Sequence[torch.Tensor], biases: Sequence[torch.Tensor], activation: str = "tanh"
    ) -> None:
        self.weights = list(weights)
        self.biases = list(biases)
        self.activation = activation

    @property
    def parameters(self) -> list[torch.Tensor]:
        """Weights ``[R, in, out]`` and biases ``[R, 1, out]``."""
        return [*self.weights, *self.biases]

    def set_parameters(self, parameters: Sequence[torch.Tensor]) -> None:
        """Take other leaves, such as those of the trials that go on."""
        number = len(self.weights)
        self.weights, self.biases = list(parameters[:number]), list(parameters[number:])

    @property
    def values(self) -> list[torch.Tensor]:
        """All that the networks have learnt: here the parameters."""
        return [one.detach() for one in self.parameters]

    def set_values(self, values: Sequence[torch.Tensor]) -> None:
        """Go on with other values, ``[trial, ...]``, as leaves."""
        self.set_parameters([one.detach().requires_grad_() for one in values])

    @property
    def shown(self) -> dict[str, torch.Tensor]:
        """No layer but the last hidden one is shown."""
        return {}

    def show(self, layer: str) -> None:
        """Refuse to show a layer by name: the layers of a stack are one operation."""
        raise BadInput(
            f"There is no layer {layer!r} in a perceptron",
            available="last, the last hidden layer",
            help='layer = "last".',
        )

    def training(self, on: bool) -> None:
        """Do the same when training and when predicting: there is nothing to switch."""

    def __call__(self, inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the output and the last hidden layer, both ``[R, row, ...]``, of inputs ``[R, row, feature]``."""
        if len(self.weights) == 1:  # no hidden layer: the inputs stand for it
            return self.biases[0].baddbmm(inputs, self.weights[0]), inputs
        output, hidden = stacked_layers()(inputs, self.activation, *self.weights, *self.biases)
        return output, hidden


def stacked_mlp(
    sizes: Sequence[int],
    seeds: Sequence[int],
    *,
    part: str = "network",
    activation: str = "tanh",
    dtype: Any = None,
    device: str = "cpu",
) -> StackedMLP:
    """Build networks of the layer sizes (inputs, hidden layers, outputs), one a seed.

    A network's first values depend on its seed and the name of its ``part`` alone, not on its neighbours, the precision
    or the device: uniform within 1/sqrt(inputs) of 0, as torch's own linear layers begin.
    """
    library = require("torch", extra="train", purpose="A network")
    dtype = library.float32 if dtype is None else dtype
    shapes = list(pairwise(sizes))
    rows = [width_in for width_in, _ in shapes] + [1] * len(shapes)
    drawn = [np.empty((len(seeds), row, width)) for row, (_, width) in zip(rows, shapes * 2, strict=True)]
    for place, seed in enumerate(seeds):
        generator = stream(seed, part)
        for layer, (width_in, _) in enumerate(shapes):
            bound = width_in**-0.5
            for values in (drawn[layer], drawn[len(shapes) + layer]):
                values[place] = generator.uniform(-bound, bound, values.shape[1:])
    made = [library.from_numpy(values).to(dtype).to(device) for values in drawn]
    # The output's weights lie in memory as they are read, [R, out, in].
    made[len(shapes) - 1] = made[len(shapes) - 1].mT.contiguous().mT
    leaves = [one.requires_grad_() for one in made]
    return StackedMLP(leaves[: len(shapes)], leaves[len(shapes) :], activation)
