"""What a network's layer says of every row: an embedding, read by a hook that is removed again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput, plural, require
from equipoise.networks import layer_named

if TYPE_CHECKING:
    import torch

BATCH = "a tensor, or a tuple or mapping whose first entry is one"


def extract(
    module: torch.nn.Module, loader: Iterable[Any], layer: str | None = None, *, device: str | None = None
) -> NDArray[np.float32]:
    """Return one row a sample, in the loader's order: what a named layer (by default the module) puts out, flattened.

    A batch may be a tensor, or a tuple or mapping whose first entry is the input. The module is read in evaluation mode
    without gradients, on its own device unless another is named, and is left as it was: its mode, its device, and no
    hook on it.
    """
    torch = require("torch", extra="train", purpose="Reading a layer of a network")
    _check_module(module, torch)
    batches = _batches(loader, torch)
    part = module if layer is None else _layer(module, layer)
    outputs: list[Any] = []
    hook = part.register_forward_hook(lambda _module, _inputs, output: outputs.append(_tensor(output, layer)))
    was_training, device_before = module.training, _device_of(module)
    rows: list[NDArray[np.float32]] = []
    try:
        module.eval()
        if device is not None:
            _move(module, device)
        with torch.no_grad():
            for batch in batches:
                outputs.clear()
                inputs = _input_of(batch)
                _run(module, inputs)
                rows.append(_rows(outputs, len(inputs), layer))
    finally:
        hook.remove()
        module.train(was_training)
        if device is not None:
            module.to(device_before)
    if not rows:
        raise BadInput("The loader returned no batch", available="at least one batch of inputs")
    return np.concatenate(rows)


def _check_module(module: object, torch: Any) -> None:
    if not isinstance(module, torch.nn.Module):
        raise BadInput(
            f"The module is of type {type(module).__name__}",
            available="a torch.nn.Module, then a loader: extract(module, loader, layer)",
        )


def _batches(loader: object, torch: Any) -> Iterator[Any]:
    """Refuse what gives no batches; a data set or one tensor would be gone through row by row."""
    is_array = isinstance(loader, (torch.Tensor, np.ndarray))
    rows = isinstance(loader, torch.utils.data.Dataset) and not isinstance(loader, torch.utils.data.IterableDataset)
    if is_array or rows or isinstance(loader, (str, bytes, Mapping)) or not isinstance(loader, Iterable):
        raise BadInput(
            f"The loader is of type {type(loader).__name__}",
            available="what gives batches: a torch.utils.data.DataLoader, a list of tensors",
            help="put it into a list: [inputs]." if is_array else "wrap it: torch.utils.data.DataLoader(rows, 256).",
        )
    return iter(loader)


def _layer(module: torch.nn.Module, name: object) -> torch.nn.Module:
    if not isinstance(name, str):
        raise BadInput(f"The layer is of type {type(name).__name__}", available="a name of module.named_modules()")
    return layer_named(module, name, "the module")


def _device_of(module: torch.nn.Module) -> Any:
    first = next(module.parameters(), None)
    return "cpu" if first is None else first.device


def _move(module: torch.nn.Module, device: Any) -> None:
    try:
        module.to(device)
    except (RuntimeError, AssertionError, TypeError) as error:
        raise BadInput(
            f"The module cannot be moved to the device {device!r} ({_first_line(error)})",
            available="a device of this machine, such as cpu or cuda",
        ) from error


def _input_of(batch: Any) -> Any:
    entries = list(batch.values()) if isinstance(batch, Mapping) else batch
    if isinstance(entries, Sequence) and not isinstance(entries, str):
        if not entries:
            raise BadInput("A batch of the loader is empty", available=BATCH)
        batch = entries[0]
    if not hasattr(batch, "to"):
        raise BadInput(f"A batch of the loader is {type(batch).__name__}", available=BATCH)
    if batch.ndim == 0 or len(batch) == 0:
        raise BadInput(f"A batch of the loader has the shape {tuple(batch.shape)}", available="one row or more in each")
    return batch


def _run(module: torch.nn.Module, inputs: Any) -> None:
    """Run the module on a batch; what it cannot take is told with the batch's shape."""
    try:
        module(inputs.to(_device_of(module)))
    except BadInput:
        raise
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        raise BadInput(
            f"The module failed on a batch of shape {tuple(inputs.shape)} and type {inputs.dtype} "
            f"({_first_line(error)})",
            available="batches as the module was made for",
            help="look at one batch: next(iter(loader)); convert it to the module's type, such as inputs.float().",
        ) from error


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _tensor(output: Any, layer: str | None) -> Any:
    """Some layers (an LSTM) give a tuple: the first entry is what they say of the rows."""
    first = output[0] if isinstance(output, tuple) and output else output
    if not hasattr(first, "detach"):
        source = "The module" if layer is None else f"The layer {layer!r}"
        raise BadInput(f"{source} gives {type(output).__name__}", available="a tensor")
    return first.detach()


def _rows(outputs: Sequence[Any], number: int, layer: str | None) -> NDArray[np.float32]:
    source = "The module" if layer is None else f"The layer {layer!r}"
    if len(outputs) != 1:
        raise BadInput(
            f"{source} ran {len(outputs)} times for one batch",
            available="a layer that runs once per batch",
            help="name a layer that every row passes once.",
        )
    values = outputs[0]
    if values.ndim == 0 or len(values) != number:
        raise BadInput(
            f"{source} gave {tuple(values.shape)} for {plural(number, 'row')}", available="a first dimension of rows"
        )
    return np.asarray(values.reshape(number, -1).float().cpu().numpy())
