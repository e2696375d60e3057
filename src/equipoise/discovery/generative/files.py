"""Trained networks in one file, with how they were trained."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from equipoise.foundation.errors import BadInput, listing
from equipoise.foundation.tensor_files import TensorFile

if TYPE_CHECKING:
    import torch

ENTRY = "equipoise.generative"
Made = TypeVar("Made")


def write_networks(
    path: str | os.PathLike[str], kind: TensorFile, said: Mapping[str, Any], networks: Mapping[str, torch.nn.Module]
) -> None:
    """Write networks by name."""
    kind.write(path, said, {f"{name}.{key}": value for name, network in networks.items()
                            for key, value in network.state_dict().items()})  # fmt: skip


def read_networks(
    path: str | os.PathLike[str], kind: TensorFile, build: Callable[[dict[str, Any]], Made],
    networks_of: Callable[[Made], Mapping[str, torch.nn.Module]],
) -> Made:  # fmt: skip
    """Build networks from what a file says, and fill them; one that is torn or of something else is refused."""
    where = Path(path)
    said, tensors = kind.read(where)
    try:
        made = build(said)
    except BadInput:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{where.name} does not say how it was trained ({error})", allowed=kind.schema) from error
    networks = networks_of(made)
    wanted = {f"{name}.{key}": value for name, one in networks.items() for key, value in one.state_dict().items()}
    faults = [
        *(f"{key} is not in the file" for key in wanted if key not in tensors),
        *(f"{key} is not in the networks" for key in tensors if key not in wanted),
        *(f"{key} has the shape {list(tensors[key].shape)} and not {list(wanted[key].shape)}"
          for key in wanted if key in tensors and tensors[key].shape != wanted[key].shape),
        *(f"{key} is not finite" for key, value in tensors.items() if not bool(value.isfinite().all())),
    ]  # fmt: skip
    if faults:
        raise BadInput(
            f"The weights of {where.name} do not fit: {listing(faults, 6)}", way_out="train or copy it again."
        )
    for name, network in networks.items():
        network.load_state_dict({key: tensors[f"{name}.{key}"] for key in network.state_dict()})
    return made
