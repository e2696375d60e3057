"""Weights from a local safetensors file, fitted into a network: nothing is downloaded, nothing is unpickled.

A file may use this package's names or those that weights of ResNets are mostly published under (``layer1.0.bn1``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.foundation import BadInput, listing, require

if TYPE_CHECKING:
    import torch

# How others name the parts of a ResNet, and how they are named here.
NAMES = (
    (re.compile(r"^conv1\."), "stem.conv."),
    (re.compile(r"^bn1\."), "stem.norm."),
    (re.compile(r"^layer(\d)\."), r"stage\1."),
    (re.compile(r"\.bn(\d)\."), r".norm\1."),
    (re.compile(r"\.downsample\."), ".past."),
)
# A head belongs to the classes it was trained for: without a head to fill it is left out, and said.
HEADS = ("fc.", "head.", "classifier.")
# A count of batches that no prediction uses: a file may lack it.
COUNT = "num_batches_tracked"


def load_weights(
    network: torch.nn.Module, path: str | os.PathLike[str], head: torch.nn.Linear | None = None
) -> tuple[str, ...]:
    """Fill a network (without a head) from a file; return what of the file was left out, which is a head's weights.

    Every weight of the network must be in the file, with its shape, and everything else in the file must be known:
    otherwise all that does not fit is named and the network stays as it was. ``head`` is filled from the file's head
    where it has one, which must then fit too.
    """
    saved = _read(Path(path))
    expected = network.state_dict()
    renamed = {name if name in expected else _renamed(name): value for name, value in saved.items()}
    left = [name for name in renamed if name not in expected]
    faults = [
        *(f"{name} is not in the file" for name in expected if name not in renamed and not name.endswith(COUNT)),
        *(f"{name} is not in the network" for name in left if not name.startswith(HEADS)),
        *(
            f"{name} has the shape {_shape(renamed[name])} and not {_shape(expected[name])}"
            for name in expected
            if name in renamed and renamed[name].shape != expected[name].shape
        ),
        *(
            f"{name} holds numbers that are not finite"
            for name in expected
            if name in renamed and _broken(renamed[name])
        ),
    ]
    if faults:
        raise BadInput(
            f"The weights of {Path(path).name} do not fit the network: {listing(faults, 6)}",
            available="every weight of the network in its shape; only a head may be extra",
            help="build the network that the file was written for (name, channels, large).",
        )
    of_head = {} if head is None else _of_head({name: renamed[name] for name in left}, head, Path(path).name)
    # What has fewer bits is widened, what has more is rounded: each value becomes one of the network's own kind.
    network.load_state_dict({name: renamed[name] for name in expected if name in renamed}, strict=False)
    if head is not None and of_head:
        head.load_state_dict({name: renamed[head_name] for name, head_name in of_head.items()})
    return tuple(name for name in left if name not in of_head.values())


def _of_head(left: Mapping[str, Any], head: torch.nn.Linear, file: str) -> dict[str, str]:
    """Return the names in the file of the weight and bias of its head, none where it has none; another is refused."""
    if not left:
        return {}
    renamed: dict[str, str] = {}
    for name, value in head.state_dict().items():
        fitting = [
            candidate
            for candidate in left
            if candidate.rpartition(".")[2] == name and left[candidate].shape == value.shape
        ]
        if len(fitting) == 1 and not _broken(left[fitting[0]]):
            renamed[name] = fitting[0]
    if len(renamed) < len(head.state_dict()) or len(left) > len(renamed):
        shapes = listing([f"{name} {_shape(value)}" for name, value in left.items()], 4)
        raise BadInput(
            f"The head of {file} ({shapes}) is not one of {head.out_features:,} outputs on {head.in_features:,} "
            "features",
            available="a head of this shape, or none in the file",
            help="fresh_head = true leaves it out and starts a new one.",
        )
    return renamed


def _read(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        raise BadInput(f"There is no file {str(path)!r}", available="a .safetensors file on this machine")
    library = require("safetensors", extra="train", purpose="Reading weights")
    files = require("safetensors.torch", extra="train", purpose="Reading weights")
    try:
        tensors: Mapping[str, Any] = files.load_file(path)
    except library.SafetensorError as error:
        raise BadInput(
            f"{path.name} is not a whole .safetensors file ({error})",
            available="what safetensors.torch.save_file writes",
            help="weights kept as a pickle (.pt, .pth) are not read here: save them again as safetensors.",
        ) from error
    return tensors


def _renamed(name: str) -> str:
    for pattern, replacement in NAMES:
        name = pattern.sub(replacement, name)
    return name


def _shape(value: Any) -> list[int]:
    return list(value.shape)


def _broken(value: Any) -> bool:
    return bool(value.is_floating_point() and not value.isfinite().all())
