"""A trial of perceptrons, watched step by step: inputs, hidden layer, output, loss, gradients and weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from equipoise.training.diverging.stepping import Seen
from equipoise.training.material import Material
from equipoise.training.reading import codes_of
from equipoise.training.stack_parts import Arranged, Network
from equipoise.training.stacking import Stack

if TYPE_CHECKING:
    import torch

# Dev rows, at most, whose predictions are compared.
ROWS = 2_000


class StackStepper:
    """A stack that goes on through its epochs, one batch a step. Of its layers it shows the last hidden one.

    ``Stack`` keeps no gradient after a step, so hooks on its leaves note them.
    """

    def __init__(self, stack: Stack, material: Material) -> None:
        self.stack = stack
        self.seen: list[Seen] = []
        self.watched = False
        stack.network = _Shown(stack.network, self)
        self._names = _names(len(stack.network.parameters) // 2)
        leaves: list[Any] = stack.network.parameters
        for name, leaf in zip(self._names, leaves, strict=True):
            leaf.register_post_accumulate_grad_hook(lambda one, name=name: self.note("gradient", name, one.grad))
        self._batches = self._endless()
        self._dev = None if material.task == "regression" else stack.tensor(material.dev.inputs[:ROWS])

    def step(self, watched: bool) -> list[Seen]:
        """Take one step."""
        self.seen, self.watched = [], watched
        rows, phase, number = next(self._batches)
        self.stack.network.training(True)
        loss = self.stack.step(rows, phase, number)
        self.watched = False
        if not watched:
            return []
        # One node of the graph computes all gradients, from the output back.
        gradients = {one.name: one for one in self.seen if one.kind == "gradient"}
        others = [one for one in self.seen if one.kind != "gradient"]
        backwards = [gradients[name] for name in _backwards(self._names) if name in gradients]
        return [*others, Seen("loss", "loss", loss), *backwards]

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
            self.seen.append(Seen(kind, name, value.detach().clone()))  # type: ignore[arg-type]

    def _endless(self) -> Iterator[tuple[Arranged, str, int]]:
        """Yield batches with the phase of their epoch and their number in it."""
        for epoch in count(1):
            arranged, phase = self.stack.arranged(epoch), self.stack.callbacks.phase(epoch)
            for number, begin in enumerate(range(0, arranged.places.shape[1], arranged.size)):
                yield arranged.batch(slice(begin, begin + arranged.size)), phase, number


class _Shown:
    """Networks that show what passes through them."""

    def __init__(self, network: Network, stepper: StackStepper) -> None:
        self._network, self._stepper = network, stepper

    @property
    def parameters(self) -> list[torch.Tensor]:
        """The leaves."""
        return self._network.parameters

    @property
    def values(self) -> list[torch.Tensor]:
        """All that is learnt."""
        return self._network.values

    def set_values(self, values: Sequence[torch.Tensor]) -> None:
        """Go on with other values."""
        self._network.set_values(values)

    @property
    def shown(self) -> dict[str, torch.Tensor]:
        """What layers gave that are shown by name."""
        return self._network.shown

    def show(self, layer: str) -> None:
        """Let calls show a layer."""
        self._network.show(layer)

    def training(self, on: bool) -> None:
        """Switch between training and predicting."""
        self._network.training(on)

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
    return [name for place in reversed(range(half)) for name in (names[place], names[half + place])]


def _names(layers: int) -> list[str]:
    """Name the weights, then the biases, as ``StackedMLP`` keeps them."""
    called = [*(f"hidden{number}" for number in range(1, layers)), "output"]
    return [*(f"{name}.weight" for name in called), *(f"{name}.bias" for name in called)]
