"""A user's network, many times: one module called with the values of each trial, by ``torch.func``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from equipoise.foundation import (
    BadInput,
    require,
    unknown_name,
)

if TYPE_CHECKING:
    import torch

RANDOM = ("Dropout", "RReLU")


class StackedModule:
    """R modules of one structure. ``vmap`` serves them all at once; a lone one is called as it is.

    The module returns logits ``[row, class]``, or (logits, hidden). Where it returns logits alone, the hidden layer is
    what enters the linear layer that made them; where no linear layer did, it is None. Parameters that the module has
    frozen (``requires_grad`` is False) stay as they are.
    """

    def __init__(self, modules: Sequence[torch.nn.Module], *, dtype: Any, device: str) -> None:
        self._torch = require("torch", extra="train", purpose="A network")
        stacked = [module.to(device=device, dtype=dtype) for module in modules]
        self.module = stacked[0]
        self._names = [name for name, parameter in self.module.named_parameters() if parameter.requires_grad]
        if not self._names:
            raise BadInput(
                "The network has no parameters to train",
                available="a module with parameters, of which at least one has requires_grad",
            )
        frozen = [name for name, parameter in self.module.named_parameters() if not parameter.requires_grad]
        self._fixed = [*frozen, *(name for name, _ in self.module.named_buffers())]
        gathered = [{**dict(parameter.named_parameters()), **dict(parameter.named_buffers())} for parameter in stacked]
        self._values: dict[str, torch.Tensor] = {}
        self.set_values(
            [
                self._torch.stack([parameter[name].detach() for parameter in gathered])
                for name in (*self._names, *self._fixed)
            ]
        )
        # What the layers that are shown gave in the last call, by name.
        self.layer_outputs: dict[str, torch.Tensor] = {}
        self._layers: list[str] = []
        self._recorded: dict[str, Any] = {}
        # A plain list that a hook fills: what entered each linear layer, and what left it.
        self._passed: list[tuple[Any, Any]] = []
        for part in self.module.modules():
            if isinstance(part, self._torch.nn.Linear):
                part.register_forward_hook(lambda _part, entered, left: self._passed.append((entered[0], left)))

    @property
    def parameters(self) -> list[torch.Tensor]:
        """The leaves ``[R, ...]``, in the module's order: what is trained."""
        return [self._values[name] for name in self._names]

    @property
    def names(self) -> tuple[str, ...]:
        """The module's names of ``values``, in the same order."""
        return tuple(self._values)

    @property
    def values(self) -> list[torch.Tensor]:
        """Parameters and buffers, without gradients."""
        return [value.detach() for value in self._values.values()]

    def set_values(self, values: Sequence[torch.Tensor]) -> None:
        """Go on with other values, ``[trial, ...]``."""
        for name, value in zip((*self._names, *self._fixed), values, strict=True):
            self._values[name] = value.detach().requires_grad_(name in self._names)

    def record_layer(self, layer: str) -> None:
        """Let calls show a layer by its name in the module; another name is refused."""
        module = layer_named(self.module, layer, "the network")
        if layer not in self._layers:
            self._layers.append(layer)
            module.register_forward_hook(lambda _part, _entered, left: self._recorded.update({layer: left}))

    def training(self, on: bool) -> None:
        """Switch the module between training and predicting."""
        self.module.train(on)

    def __call__(self, inputs: torch.Tensor) -> tuple[torch.Tensor, Any]:
        """Return logits and hidden layer of every trial."""
        if len(inputs) == 1:
            alone = {name: value[0] for name, value in self._values.items()}
            logits, hidden, layers = self._called(alone, inputs[0])
            self.layer_outputs = {name: layer[None] for name, layer in layers.items()}
            return logits[None], None if hidden is None else hidden[None]
        logits, hidden, self.layer_outputs = self._torch.func.vmap(self._called)(self._values, inputs)
        return logits, hidden

    def _called(
        self, values: Mapping[str, torch.Tensor], inputs: torch.Tensor
    ) -> tuple[Any, Any, dict[str, torch.Tensor]]:
        self._passed.clear()
        output = self._torch.func.functional_call(self.module, dict(values), (inputs,))
        if isinstance(output, tuple) and len(output) == 2:
            return output[0], output[1].flatten(1), dict(self._recorded)
        if not hasattr(output, "shape"):
            raise BadInput(
                f"The module returned {type(output).__name__}", available="logits [row, class], or (logits, hidden)"
            )
        hidden = next((entered for entered, left in reversed(self._passed) if left is output), None)
        return output, hidden, dict(self._recorded)


def layer_named(module: torch.nn.Module, name: str, owner: str) -> torch.nn.Module:
    """Return a layer by its name; a name that is not there is refused with those that are, whole blocks first."""
    layers: dict[str, torch.nn.Module] = {
        layer_name: layer for layer_name, layer in module.named_modules() if layer_name
    }
    if name not in layers:
        raise unknown_name("layer", name, sorted(layers, key=lambda known: known.count(".")), owner)
    return layers[name]


def trains_alone(module: torch.nn.Module) -> bool:
    """Tell whether a module draws random numbers or keeps running statistics: then trials are trained one by one."""
    random = any(type(part).__name__.startswith(RANDOM) for part in module.modules())
    return random or any(True for _ in module.buffers())


def uses_random_numbers(module: torch.nn.Module) -> bool:
    """Tell whether a module draws random numbers while it trains."""
    return any(type(part).__name__.startswith(RANDOM) for part in module.modules())
