"""Trained networks in one file, with how they were trained."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from equipoise.foundation.errors import BadInput, listing, told
from equipoise.foundation.files import TensorFile
from equipoise.foundation.imports import require

if TYPE_CHECKING:
    import torch

ENTRY = "equipoise.generative"
SHAPES_ALONE = "meta"
Made = TypeVar("Made")


def write_networks(
    path: str | os.PathLike[str], kind: TensorFile, said: Mapping[str, Any], networks: Mapping[str, torch.nn.Module]
) -> None:
    """Write networks by name."""
    kind.write(path, said, {f"{name}.{key}": value for name, network in networks.items()
                            for key, value in network.state_dict().items()})  # fmt: skip


def read_networks(
    path: str | os.PathLike[str], kind: TensorFile, build: Callable[[dict[str, Any], str], Made],
    networks_of: Callable[[Made], Mapping[str, torch.nn.Module]], device: str,
) -> Made:  # fmt: skip
    """Build networks from what a file says, and fill them; one that is torn or of something else is refused.

    ``build`` is asked twice: first on the device "meta", where weights have a shape and take no room. So a file never
    makes more room be taken than it holds weights for, whatever its header says.
    """
    library = require("torch", extra="train", purpose=f"Reading a {kind.what}")
    where = Path(path)
    said, tensors = kind.read(where)
    try:
        with library.device(SHAPES_ALONE):
            wanted = _weights(networks_of(build(said, SHAPES_ALONE)))
    except BadInput:
        raise
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RuntimeError) as error:
        raise BadInput(
            f"{where.name} does not say how it was trained ({told(error)})", available=kind.schema
        ) from error
    faults = _faults(wanted, tensors)
    if faults:
        raise BadInput(f"The weights of {where.name} do not fit: {listing(faults, 6)}", help="train or copy it again.")
    made = build(said, device)
    for name, network in networks_of(made).items():
        network.load_state_dict({key: tensors[f"{name}.{key}"] for key in network.state_dict()})
    return made


def counted(value: object, name: str) -> int:
    """Return a number of things that a file says; what does not count from 1 is no such number."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} is {value!r}")
    return value


def _weights(networks: Mapping[str, torch.nn.Module]) -> dict[str, torch.Tensor]:
    return {f"{name}.{key}": value for name, one in networks.items() for key, value in one.state_dict().items()}


def _faults(wanted: Mapping[str, torch.Tensor], tensors: Mapping[str, torch.Tensor]) -> list[str]:
    """Say which weights of a file are not those that networks have."""
    shared = [key for key in wanted if key in tensors]
    alike = [key for key in shared if _alike(tensors[key].dtype, wanted[key].dtype)]
    return [
        *(f"{key} is not in the file" for key in wanted if key not in tensors),
        *(f"{key} is not in the networks" for key in tensors if key not in wanted),
        *(f"{key} has the shape {list(tensors[key].shape)} and not {list(wanted[key].shape)}"
          for key in shared if tensors[key].shape != wanted[key].shape),
        *(f"{key} is {tensors[key].dtype} and not {wanted[key].dtype}" for key in shared if key not in alike),
        *(f"{key} is not finite" for key in alike if not bool(tensors[key].isfinite().all())),
    ]  # fmt: skip


def _alike(found: torch.dtype, wanted: torch.dtype) -> bool:
    """Tell whether numbers become the wanted ones without becoming others; of one byte they are too coarse."""
    return bool(found == wanted or (found.is_floating_point and wanted.is_floating_point and found.itemsize > 1))
