"""Runs that can be watched step by step: what passes through a network, its loss, its gradients and what it keeps.

A stepper is a plain torch loop (``ModuleStepper``) or a trial of perceptrons (``StackStepper``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, Protocol

from equipoise.foundation import require
from equipoise.training._dataset import EncodedDataset
from equipoise.training._prediction import codes_of
from equipoise.training._stack import Arranged, Network, Stack

if TYPE_CHECKING:
    import torch

Kind = Literal["input", "activation", "loss", "gradient", "parameter", "none"]
# The part whose name is left out of the names of its layers.
MAIN = "network"
# Dev rows, at most, whose predictions are compared.
ROWS = 2_000


@dataclass(frozen=True, eq=False)
class ObservedTensor:
    """One tensor of a step."""

    kind: Kind
    name: str
    value: torch.Tensor


class Stepper(Protocol):
    """One run of a training that goes on step by step."""

    def step(self, watched: bool) -> list[ObservedTensor]:
        """Take one whole step; where it is watched, return what was seen in the order in which it was computed."""

    def values(self) -> list[tuple[str, torch.Tensor]]:
        """Return what the run has learnt: parameters and running statistics, ``layer.name`` each."""

    def predictions(self) -> torch.Tensor | None:
        """Return the classes that the run gives some fixed rows, or None. Nothing of the run may change by it."""


class ModuleStepper:
    """A plain torch loop: ``step`` takes one whole step with the modules in ``parts`` and returns the loss.

    Activations are read by hooks, so that a compiled or recorded step shows none. A gradient is read after the step: it
    must not have been cleared by then.
    """

    def __init__(
        self,
        parts: Mapping[str, torch.nn.Module],
        step: Callable[[], Any],
        predictions: Callable[[], torch.Tensor] | None = None,
    ) -> None:
        self._torch = require("torch", extra="train", purpose="Watching a training")
        self.parts, self._step, self._predictions = dict(parts), step, predictions

    def step(self, watched: bool) -> list[ObservedTensor]:
        """Take one step."""
        if not watched:
            self._step()
            return []
        observations: list[ObservedTensor] = []
        with self._hooks(observations):
            loss = self._step()
        if loss is not None:
            observations.append(ObservedTensor("loss", "loss", self._torch.as_tensor(loss).detach()))
        parameters = [
            (name, parameter) for part, name, parameter in self._named() if getattr(parameter, "grad", None) is not None
        ]
        return [
            *observations,
            *(ObservedTensor("gradient", name, parameter.grad) for name, parameter in reversed(parameters)),
        ]

    def values(self) -> list[tuple[str, torch.Tensor]]:
        """Return parameters and running statistics."""
        return [(name, parameter.detach()) for _, name, parameter in self._named()]

    def predictions(self) -> torch.Tensor | None:
        """Return the classes of the fixed rows, if there are some."""
        return None if self._predictions is None else self._predictions()

    def _named(self) -> Iterator[tuple[str, str, Any]]:
        for part, module in self.parts.items():
            for name, value in (*module.named_parameters(), *module.named_buffers()):
                yield part, _joined(part, name), value

    @contextmanager
    def _hooks(self, observations: list[ObservedTensor]) -> Iterator[None]:
        """Note what enters the first part, and what leaves every layer, in order."""
        calls: dict[str, int] = {}

        def entered(part: str, inputs: tuple[Any, ...]) -> None:
            if not observations:
                observations.extend(
                    ObservedTensor("input", f"{part} input", tensor.detach().clone()) for tensor in _tensors(inputs)
                )

        def left(name: str, output: Any) -> None:
            calls[name] = calls.get(name, 0) + 1
            again = f" (call {calls[name]})" if calls[name] > 1 else ""
            # A copy: the next layer may work in place.
            observations.extend(
                ObservedTensor("activation", name + again, tensor.detach().clone()) for tensor in _tensors(output)
            )

        handles = []
        for part, module in self.parts.items():
            handles.append(module.register_forward_pre_hook(lambda _, given, part=part: entered(part, given)))
            for name, layer in module.named_modules():
                # What leaves a sequence is what left its last layer.
                if not isinstance(layer, self._torch.nn.Sequential):
                    layer_name = _joined(part, name)
                    handles.append(
                        layer.register_forward_hook(lambda _, __, output, name=layer_name: left(name, output))
                    )
        try:
            yield
        finally:
            for hook in handles:
                hook.remove()


def _joined(part: str, name: str) -> str:
    """Name a layer or a value; those of the network itself by their own name."""
    return ".".join(text for text in ("" if part == MAIN else part, name) if text) or part


def _tensors(value: Any) -> list[Any]:
    """Return the tensors among what enters or leaves a layer."""
    if isinstance(value, tuple | list):
        return [tensor for part in value for tensor in _tensors(part)]
    if isinstance(value, dict):
        return [tensor for part in value.values() for tensor in _tensors(part)]
    return [value] if hasattr(value, "detach") else []


class StackStepper:
    """A stack that goes on through its epochs, one batch a step. Of its layers it shows the last hidden one.

    ``Stack`` keeps no gradient after a step, so hooks on its leaves note them.
    """

    def __init__(self, stack: Stack, dataset: EncodedDataset) -> None:
        self.stack = stack
        self.observed: list[ObservedTensor] = []
        self.watched = False
        network: Any = _ObservedNetwork(stack.network, self)
        stack.network = network
        self._names = _names(len(stack.network.parameters) // 2)
        leaves: list[Any] = stack.network.parameters
        for name, leaf in zip(self._names, leaves, strict=True):
            leaf.register_post_accumulate_grad_hook(lambda one, name=name: self.note("gradient", name, one.grad))
        self._batches = self._endless()
        self._dev = None if dataset.task == "regression" else stack.tensor(dataset.dev.inputs[:ROWS])

    def step(self, watched: bool) -> list[ObservedTensor]:
        """Take one step."""
        self.observed, self.watched = [], watched
        rows, phase, number = next(self._batches)
        self.stack.network.training(True)
        loss = self.stack.step(rows, phase, number)
        self.watched = False
        if not watched:
            return []
        # One node of the graph computes all gradients, from the output back.
        gradients = {observation.name: observation for observation in self.observed if observation.kind == "gradient"}
        other_observations = [observation for observation in self.observed if observation.kind != "gradient"]
        backwards = [gradients[name] for name in _backwards(self._names) if name in gradients]
        return [*other_observations, ObservedTensor("loss", "loss", loss), *backwards]

    def values(self) -> list[tuple[str, torch.Tensor]]:
        """Return the weights and biases."""
        return list(zip(self._names, self.stack.network.values, strict=True))

    def predictions(self) -> torch.Tensor | None:
        """Return the classes of the first dev rows."""
        if self._dev is None:
            return None
        task = self.stack.task
        parts = [codes_of(output, task).reshape(-1) for _, output, _ in self.stack.read(None, self._dev)]
        return self.stack.torch.cat(parts) if parts else None

    def note(self, kind: str, name: str, value: torch.Tensor) -> None:
        """Keep a copy of what is seen in a watched step."""
        if self.watched:
            self.observed.append(ObservedTensor(kind, name, value.detach().clone()))  # type: ignore[arg-type]

    def _endless(self) -> Iterator[tuple[Arranged, str, int]]:
        """Yield batches with the phase of their epoch and their number in it."""
        for epoch in count(1):
            arranged, phase = self.stack.arranged(epoch), self.stack.callbacks.phase(epoch)
            for number, begin in enumerate(range(0, arranged.positions.shape[1], arranged.size)):
                yield arranged.batch(slice(begin, begin + arranged.size)), phase, number


class _ObservedNetwork:
    """Networks that show what passes through them."""

    def __init__(self, network: Network, stepper: StackStepper) -> None:
        self._network, self._stepper = network, stepper

    def __getattr__(self, name: str) -> Any:
        """Return what the networks themselves have."""
        return getattr(self._network, name)

    def __call__(self, inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return output and last hidden layer."""
        output, hidden = self._network(inputs)
        self._stepper.note("input", "the batch", inputs)
        if hidden is not inputs:
            self._stepper.note("activation", "last hidden layer", hidden)
        self._stepper.note("activation", "output", output)
        return output, hidden


def _backwards(names: Sequence[str]) -> list[str]:
    """Return names layer by layer from the last to the first, each layer's weight before its bias."""
    half = len(names) // 2
    return [name for index in reversed(range(half)) for name in (names[index], names[half + index])]


def _names(layers: int) -> list[str]:
    """Name the weights, then the biases, as ``StackedMLP`` keeps them."""
    called = [*(f"hidden{number}" for number in range(1, layers)), "output"]
    return [*(f"{name}.weight" for name in called), *(f"{name}.bias" for name in called)]
