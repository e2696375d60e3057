"""Directions in files: normals and offsets as safetensors, names and what is said of them as JSON beside it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from equipoise.discovery.hyperplane import Hyperplane
from equipoise.foundation.errors import BadInput, told
from equipoise.foundation.files import write_whole

SCHEMA = "equipoise.directions/1"
ENDING = ".safetensors"


def save_directions(
    path: str | os.PathLike[str], planes: Sequence[Hyperplane], said: Mapping[str, object] | None = None
) -> Path:
    """Write planes of one latent space to ``path`` (.safetensors) and what is said of them to a .json beside it."""
    target = _checked_path(path)
    if not planes or len({plane.size for plane in planes}) > 1:
        raise BadInput(f"{len(planes)} planes were given to save", available="planes of one latent space")
    names = [plane.name for plane in planes]
    if len(set(names)) < len(names):
        raise BadInput(f"Two directions have one name ({', '.join(names)})", available="a different name for each")
    content = {"schema": SCHEMA, "latent_size": planes[0].size, "names": names, "said": dict(said or {})}
    try:
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    except (TypeError, ValueError) as error:
        raise BadInput(
            f"The description of the directions is not JSON ({error})", available="plain finite values"
        ) from error
    normals = np.stack([plane.normal for plane in planes])
    offsets = np.array([plane.offset for plane in planes], dtype=np.float64)
    write_whole(target, save({"normals": normals, "offsets": offsets}))
    write_whole(target.with_suffix(".json"), text)
    return target


def load_directions(path: str | os.PathLike[str]) -> tuple[tuple[Hyperplane, ...], dict[str, object]]:
    """Read planes and what is said of them; files that are torn, or do not belong together, are refused."""
    target = _checked_path(path)
    beside = target.with_suffix(".json")
    for file in (target, beside):
        if not file.is_file():
            raise BadInput(f"There is no file {str(file)!r}", available="both files that save_directions wrote")
    try:
        tensors = load(target.read_bytes())
        content = json.loads(beside.read_text(encoding="utf-8"))
    except (SafetensorError, ValueError, KeyError, RecursionError) as error:  # KeyError: numbers numpy has not
        raise BadInput(
            f"{target.name} or {beside.name} is not whole ({told(error)})", available="what save_directions wrote",
            help="directions kept as a pickle are not read here.",
        ) from error  # fmt: skip
    fault = _fault(tensors, content)
    if fault:
        raise BadInput(f"{target.name} does not hold directions of this version: {fault}", available=SCHEMA)
    planes = [
        Hyperplane(name, normal, float(offset))
        for name, normal, offset in zip(content["names"], tensors["normals"], tensors["offsets"], strict=True)
    ]
    return tuple(planes), dict(content["said"])


def _fault(tensors: Mapping[str, np.ndarray], content: object) -> str | None:
    """Say what of two files does not fit, or None."""
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        return "it has another schema"
    names, size = content.get("names"), content.get("latent_size")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names) or not names:
        return "the names are not a list of text"
    if len(set(names)) < len(names):
        return "two directions have one name"
    if not isinstance(content.get("said"), dict):
        return "their description is not a table"
    if set(tensors) != {"normals", "offsets"}:
        return f"it holds {', '.join(sorted(tensors)) or 'nothing'}"
    normals, offsets = tensors["normals"], tensors["offsets"]
    if normals.dtype.kind != "f" or offsets.dtype.kind != "f":
        return f"normals are {normals.dtype} and offsets {offsets.dtype}, and not floating-point numbers"
    if normals.shape != (len(names), size) or offsets.shape != (len(names),):
        return f"normals of {normals.shape} and offsets of {offsets.shape} for {len(names)} names of size {size}"
    if not (np.isfinite(normals).all() and np.isfinite(offsets).all()):
        return "it holds numbers that are not finite"
    return None


def _checked_path(path: str | os.PathLike[str]) -> Path:
    target = Path(path)
    if target.suffix != ENDING:
        raise BadInput(f"The file {target.name!r} has another ending", available=ENDING)
    return target
