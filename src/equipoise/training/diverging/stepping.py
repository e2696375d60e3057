"""Runs that can be watched step by step: what passes through a network, its loss, its gradients and what it keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from equipoise.foundation.imports import require

if TYPE_CHECKING:
    import torch

Kind = Literal["input", "activation", "loss", "gradient", "parameter", "none"]
# The part whose name is left out of the names of its layers.
MAIN = "network"


@dataclass(frozen=True, eq=False)
class Seen:
    """One tensor of a step."""

    kind: Kind
    name: str
    value: torch.Tensor


class Stepper(Protocol):
    """One run of a training that goes on step by step."""

    def step(self, watched: bool) -> list[Seen]:
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

    def step(self, watched: bool) -> list[Seen]:
        """Take one step."""
        if not watched:
            self._step()
            return []
        seen: list[Seen] = []
        with self._hooks(seen):
            loss = self._step()
        if loss is not None:
            seen.append(Seen("loss", "loss", self._torch.as_tensor(loss).detach()))
        parameters = [(name, one) for part, name, one in self._named() if getattr(one, "grad", None) is not None]
        return [*seen, *(Seen("gradient", name, one.grad) for name, one in reversed(parameters))]

    def values(self) -> list[tuple[str, torch.Tensor]]:
        """Return parameters and running statistics."""
        return [(name, one.detach()) for _, name, one in self._named()]

    def predictions(self) -> torch.Tensor | None:
        """Return the classes of the fixed rows, if there are some."""
        return None if self._predictions is None else self._predictions()

    def _named(self) -> Iterator[tuple[str, str, Any]]:
        for part, module in self.parts.items():
            for name, value in (*module.named_parameters(), *module.named_buffers()):
                yield part, _joined(part, name), value

    @contextmanager
    def _hooks(self, seen: list[Seen]) -> Iterator[None]:
        """Note what enters the first part, and what leaves every layer, in order."""
        calls: dict[str, int] = {}

        def entered(part: str, given: tuple[Any, ...]) -> None:
            if not seen:
                seen.extend(Seen("input", f"{part} input", one.detach().clone()) for one in _tensors(given))

        def left(name: str, output: Any) -> None:
            calls[name] = calls.get(name, 0) + 1
            again = f" (call {calls[name]})" if calls[name] > 1 else ""
            # A copy: the next layer may work in place.
            seen.extend(Seen("activation", name + again, one.detach().clone()) for one in _tensors(output))

        held = []
        for part, module in self.parts.items():
            held.append(module.register_forward_pre_hook(lambda _, given, part=part: entered(part, given)))
            for name, layer in module.named_modules():
                # What leaves a sequence is what left its last layer.
                if not isinstance(layer, self._torch.nn.Sequential):
                    told = _joined(part, name)
                    held.append(layer.register_forward_hook(lambda _, __, output, name=told: left(name, output)))
        try:
            yield
        finally:
            for hook in held:
                hook.remove()


def _joined(part: str, name: str) -> str:
    """Name a layer or a value; those of the network itself by their own name."""
    return ".".join(text for text in ("" if part == MAIN else part, name) if text) or part


def _tensors(given: Any) -> list[Any]:
    """Return the tensors among what enters or leaves a layer."""
    if isinstance(given, tuple | list):
        return [one for part in given for one in _tensors(part)]
    if isinstance(given, dict):
        return [one for part in given.values() for one in _tensors(part)]
    return [given] if hasattr(given, "detach") else []
