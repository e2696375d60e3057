"""Trained networks in one file: safetensors with a JSON header that says how they were trained. Never a pickle."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from equipoise.foundation.errors import BadInput, listing
from equipoise.foundation.files import write_whole
from equipoise.foundation.imports import require

if TYPE_CHECKING:
    import torch

ENTRY = "equipoise.generative"
Made = TypeVar("Made")


def write_networks(
    path: str | os.PathLike[str], schema: str, said: Mapping[str, Any], networks: Mapping[str, torch.nn.Module]
) -> None:
    """Write networks by name: the old file or the new one is there, never half of either."""
    files = require("safetensors.torch", extra="train", purpose="Saving a generator")
    tensors = {
        f"{name}.{key}": value.detach().cpu().contiguous().clone()
        for name, network in networks.items()
        for key, value in network.state_dict().items()
    }
    header = {ENTRY: json.dumps({"schema": schema, **said}, allow_nan=False, sort_keys=True)}
    write_whole(Path(path), files.save(tensors, metadata=header))


def read_networks(
    path: str | os.PathLike[str], schema: str, build: Callable[[dict[str, Any]], Made],
    networks_of: Callable[[Made], Mapping[str, torch.nn.Module]],
) -> Made:  # fmt: skip
    """Build networks from what a file says, and fill them; one that is torn or of something else is refused."""
    where = Path(path)
    said, tensors = _read(where, schema)
    try:
        made = build(said)
    except BadInput:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{where.name} does not say how it was trained ({error})", allowed=schema) from error
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


def _read(where: Path, schema: str) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    library = require("safetensors", extra="train", purpose="Reading a generator")
    if not where.is_file():
        raise BadInput(f"There is no file {str(where)!r}", allowed="a .safetensors file that a save() here wrote")
    try:
        with library.safe_open(str(where), framework="pt") as file:
            said = json.loads((file.metadata() or {}).get(ENTRY, "null"))
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 - it is no mapping
    except (library.SafetensorError, OSError, ValueError) as error:
        raise BadInput(
            f"{where.name} is not a whole .safetensors file ({error})", allowed="what save() wrote"
        ) from error
    found = said.get("schema") if isinstance(said, dict) else None
    if found != schema:
        raise BadInput(f"{where.name} holds {found or 'something else'}", allowed=schema)
    return said, tensors
