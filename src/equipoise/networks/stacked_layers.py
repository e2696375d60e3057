"""The layers of stacked perceptrons with their gradient written out: the same numbers as autograd's, in less time.

Three things are gained over a chain of torch's own operations. On a CPU the gradient of the few weights of an output is
taken as a product of transposes, six times faster than the usual order of factors; tanh(x) = 2 sigmoid(2x) - 1 is four
times faster than torch's tanh (and as exact as the sums that enter it). And one node of the graph replaces a dozen.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from equipoise.foundation import require


@cache
def stacked_layers() -> Any:
    """Return the function (inputs, activation, weights..., biases...) -> (output, last hidden layer)."""
    torch = require("torch", extra="train", purpose="A network")
    tanh_backward, relu_backward = torch.ops.aten.tanh_backward, torch.ops.aten.threshold_backward

    def activated(bias: Any, hidden: Any, weight: Any, activation: str) -> Any:
        if activation == "relu":
            return bias.baddbmm(hidden, weight).relu_()
        if bias.is_cuda:
            return bias.baddbmm(hidden, weight).tanh_()
        return bias.baddbmm(hidden, weight, beta=2, alpha=2).sigmoid_().mul_(2).sub_(1)

    class StackedLayers(torch.autograd.Function):  # type: ignore[misc, name-defined]
        """Hidden layers and a linear output of R networks; nothing mixes trials."""

        @staticmethod
        def forward(ctx: Any, inputs: Any, activation: str, *parameters: Any) -> Any:
            number = len(parameters) // 2
            weights, biases = parameters[:number], parameters[number:]
            layers = [inputs]
            for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
                layers.append(activated(bias, layers[-1], weight, activation))
            ctx.activation, ctx.number = activation, number
            ctx.save_for_backward(*layers, *weights)
            ctx.set_materialize_grads(False)
            return biases[-1].baddbmm(layers[-1], weights[-1]), layers[-1]

        @staticmethod
        @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
        def backward(ctx: Any, by_output: Any, by_hidden: Any) -> Any:
            layers, weights = ctx.saved_tensors[: ctx.number], ctx.saved_tensors[ctx.number :]
            wanted = ctx.needs_input_grad[2]
            by_weight, by_bias = [None] * ctx.number, [None] * ctx.number
            down = by_hidden
            if by_output is not None:
                if wanted:
                    by_weight[-1] = by_output.mT.bmm(layers[-1]).mT
                    by_bias[-1] = by_output.sum(1, keepdim=True)
                down = by_output.bmm(weights[-1].mT)
                down = down if by_hidden is None else down.add_(by_hidden)
            for place in reversed(range(ctx.number - 1)):
                hidden = layers[place + 1]
                down = relu_backward(down, hidden, 0) if ctx.activation == "relu" else tanh_backward(down, hidden)
                if wanted:
                    by_weight[place] = layers[place].mT.bmm(down)
                    by_bias[place] = down.sum(1, keepdim=True)
                if place or ctx.needs_input_grad[0]:
                    down = down.bmm(weights[place].mT)
            return (down if ctx.needs_input_grad[0] else None, None, *by_weight, *by_bias)

    return StackedLayers.apply
