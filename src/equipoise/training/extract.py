"""What a network's layer says of every row: an embedding, read by a hook that is removed again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.errors import BadInput, unknown_name
from equipoise.foundation.imports import require

if TYPE_CHECKING:
    import torch


def extract(
    module: torch.nn.Module, loader: Iterable[Any], layer: str | None = None, *, device: str | None = None
) -> NDArray[np.float32]:
    """Return one row a sample, in the loader's order: what a named layer (by default the module) puts out, flattened.

    A batch may be a tensor, or a tuple or mapping whose first entry is the input. The module is read in evaluation mode
    without gradients, on its own device unless another is named, and is left as it was: its mode, its device, and no
    hook on it.
    """
    torch = require("torch", extra="train", purpose="Reading a layer of a network")
    part = module if layer is None else _layer(module, layer)
    taken: list[Any] = []
    hook = part.register_forward_hook(lambda _module, _inputs, output: taken.append(_tensor(output, layer)))
    was_training, place = module.training, _device_of(module)
    rows: list[NDArray[np.float32]] = []
    try:
        module.eval()
        if device is not None:
            module.to(device)
        with torch.no_grad():
            for batch in loader:
                taken.clear()
                inputs = _input_of(batch)
                module(inputs.to(_device_of(module)))
                rows.append(_rows(taken, len(inputs), layer))
    finally:
        hook.remove()
        module.train(was_training)
        if device is not None:
            module.to(place)
    if not rows:
        raise BadInput("The loader gave no batch", allowed="at least one batch of inputs")
    return np.concatenate(rows)


def _layer(module: torch.nn.Module, name: str) -> torch.nn.Module:
    layers = dict(module.named_modules())
    if name not in layers or not name:
        raise unknown_name("layer", name, [known for known in layers if known], "the module")
    found: torch.nn.Module = layers[name]
    return found


def _device_of(module: torch.nn.Module) -> Any:
    first = next(module.parameters(), None)
    return "cpu" if first is None else first.device


def _input_of(batch: Any) -> Any:
    if isinstance(batch, Mapping):
        batch = next(iter(batch.values()))
    elif isinstance(batch, Sequence):
        batch = batch[0]
    if not hasattr(batch, "to"):
        raise BadInput(
            f"A batch of the loader is {type(batch).__name__}",
            allowed="a tensor, or a tuple or mapping whose first entry is one",
        )
    return batch


def _tensor(output: Any, layer: str | None) -> Any:
    """Some layers (an LSTM) give a tuple: the first entry is what they say of the rows."""
    first = output[0] if isinstance(output, tuple) else output
    if not hasattr(first, "detach"):
        raise BadInput(f"The layer {layer or 'itself'!r} gives {type(output).__name__}", allowed="a tensor")
    return first.detach()


def _rows(taken: Sequence[Any], number: int, layer: str | None) -> NDArray[np.float32]:
    if len(taken) != 1:
        raise BadInput(
            f"The layer {layer!r} ran {len(taken)} times for one batch",
            allowed="a layer that runs once a batch",
            way_out="name a layer that every row passes once.",
        )
    values = taken[0]
    if values.ndim == 0 or len(values) != number:
        raise BadInput(
            f"The layer {layer!r} gave {tuple(values.shape)} for {number} rows", allowed="a first dimension of rows"
        )
    return np.asarray(values.reshape(number, -1).float().cpu().numpy())
