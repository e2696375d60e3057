"""Hyperplanes of a latent space: an attribute is a plane, and its normal is the way along which it changes.

They are kept in files: normals and offsets as safetensors, names and what is said of them as JSON beside it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from safetensors import SafetensorError
from safetensors.numpy import load, save

from equipoise.foundation import (
    BadInput,
    Floats,
    describe_error,
    write_file,
)

# Of a unit vector less than this is left by rounding alone.
NOTHING = 1e-9


@dataclass(frozen=True, eq=False)
class Hyperplane:
    """A named plane; its normal is kept at unit length, and the offset is scaled with it."""

    name: str
    normal: Floats
    offset: float = 0.0

    def __post_init__(self) -> None:
        normal = np.array(self.normal, dtype=np.float64)
        _check(self.name, normal, self.offset)
        # Divided twice, for the square of a very small or large number is not one.
        normal = normal / np.abs(normal).max()
        length = float(np.linalg.norm(normal))
        scale = float(np.abs(np.asarray(self.normal, dtype=np.float64)).max()) * length
        normal = normal / length
        normal.flags.writeable = False
        object.__setattr__(self, "normal", normal)
        object.__setattr__(self, "offset", float(self.offset) / scale)

    @property
    def size(self) -> int:
        """Return the number of dimensions of the latent space."""
        return len(self.normal)

    def distance(self, latents: Any) -> Any:
        """Return the signed distance of latents ``[n, d]`` to the plane, z.w + o."""
        return latents @ self._like(latents) + self.offset

    def project(self, latents: Any) -> Any:
        """Return the nearest points of the plane to latents ``[n, d]``."""
        return projected(latents, self._like(latents), self.offset)

    def traverse(self, latents: Any, alphas: Any) -> Any:
        """Return latents ``[alpha, n, d]``: from the plane, so far along the normal."""
        return traversed(latents, self._like(latents), self.offset, alphas)

    def cosine(self, other: Hyperplane) -> float:
        """Return the cosine between two normals: 1 and -1 are the same attribute, 0 is another."""
        if other.size != self.size:
            raise BadInput(
                f"{self.name!r} is a plane in {self.size} dimensions and {other.name!r} in {other.size}",
                available="planes of one latent space",
            )
        return float(np.clip(self.normal @ other.normal, -1.0, 1.0))

    def moved_through(self, point: ArrayLike) -> Hyperplane:
        """Return the plane with the same normal that goes through a point."""
        return Hyperplane(self.name, self.normal, -float(self.normal @ np.asarray(point, dtype=np.float64)))

    def _like(self, latents: Any) -> Any:
        """Return the normal as an array or a tensor of the latents' kind."""
        if latents.shape[-1] != self.size:
            raise BadInput(
                f"The latents have {latents.shape[-1]} dimensions and the plane {self.name!r} has {self.size}",
                available=f"latents of the shape [n, {self.size}]",
            )
        if isinstance(latents, np.ndarray):
            return self.normal
        return latents.new_tensor(self.normal.tolist())


def _check(name: str, normal: Floats, offset: float) -> None:
    if normal.ndim != 1 or not len(normal):
        raise BadInput(
            f"The normal of {name!r} has the shape {list(normal.shape)}",
            available="one vector, with one number per dimension of the latent space",
        )
    if not np.isfinite(normal).all() or not np.isfinite(offset):
        raise BadInput(f"The plane {name!r} has numbers that are not finite", available="finite numbers")
    if not normal.any():
        raise BadInput(f"The normal of {name!r} is 0 everywhere", available="a vector that is not 0")


def projected(latents: Any, normals: Any, offsets: Any) -> Any:
    """Return the nearest points of planes ``[..., d]`` to latents ``[n, d]``, as ``[..., n, d]``."""
    normals = normals[..., None, :]
    above = (latents * normals).sum(-1) + (offsets if np.ndim(offsets) == 0 else offsets[..., None])
    return latents - (above / (normals * normals).sum(-1))[..., None] * normals


def traversed(latents: Any, normals: Any, offsets: Any, alphas: Any) -> Any:
    """Return traversals ``[..., alpha, n, d]`` of latents ``[n, d]`` along planes ``[..., d]``."""
    unit = normals / ((normals * normals).sum(-1) ** 0.5)[..., None]
    if isinstance(latents, np.ndarray):
        alphas = np.asarray(alphas, dtype=np.float64)
    else:
        alphas = latents.new_tensor([float(alpha) for alpha in alphas])
    return projected(latents, normals, offsets)[..., None, :, :] + alphas[:, None, None] * unit[..., None, None, :]


def basis_of(planes: Sequence[Hyperplane], size: int) -> Floats:
    """Return an orthonormal basis ``[k, d]`` of what the normals of planes span."""
    if not planes:
        return np.zeros((0, size))
    _, values, rows = np.linalg.svd(np.stack([_sized(plane, size).normal for plane in planes]), full_matrices=False)
    return np.asarray(rows[values > 1e-9 * values[0]], dtype=np.float64)


def without(plane: Hyperplane, others: Sequence[Hyperplane], point: ArrayLike) -> Hyperplane | None:
    """Return a plane less its part along the normals of others; None where nothing of it is left.

    It lies as far from the point (the middle of a prior) as the plane did.
    """
    rows = basis_of(others, plane.size)
    normal = plane.normal
    for _ in range(2):  # the second time takes away what rounding left
        normal = normal - (normal @ rows.T) @ rows
    if np.linalg.norm(normal) < NOTHING:
        return None
    left = Hyperplane(plane.name, normal)
    middle = np.asarray(point, dtype=np.float64)
    distance = float(plane.normal @ middle) + plane.offset
    return Hyperplane(plane.name, left.normal, distance - float(left.normal @ middle))


def _sized(plane: Hyperplane, size: int) -> Hyperplane:
    if plane.size != size:
        raise BadInput(
            f"The plane {plane.name!r} has {plane.size} dimensions and the latent space {size}",
            available="planes of the generator's latent space",
        )
    return plane


SCHEMA = "equipoise.directions/1"
ENDING = ".safetensors"


def save_directions(
    path: str | os.PathLike[str], planes: Sequence[Hyperplane], description: Mapping[str, object] | None = None
) -> Path:
    """Write planes of one latent space to ``path`` (.safetensors) and their description to a .json beside it."""
    target = _checked_path(path)
    if not planes or len({plane.size for plane in planes}) > 1:
        raise BadInput(f"{len(planes)} planes were given to save", available="planes of one latent space")
    names = [plane.name for plane in planes]
    if len(set(names)) < len(names):
        raise BadInput(f"Two directions have one name ({', '.join(names)})", available="a different name for each")
    content = {"schema": SCHEMA, "latent_size": planes[0].size, "names": names, "said": dict(description or {})}
    try:
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    except (TypeError, ValueError) as error:
        raise BadInput(
            f"The description of the directions is not JSON ({error})", available="plain finite values"
        ) from error
    normals = np.stack([plane.normal for plane in planes])
    offsets = np.array([plane.offset for plane in planes], dtype=np.float64)
    write_file(target, save({"normals": normals, "offsets": offsets}))
    write_file(target.with_suffix(".json"), text)
    return target


def load_directions(path: str | os.PathLike[str]) -> tuple[tuple[Hyperplane, ...], dict[str, object]]:
    """Read planes and what is said of them; files that are torn, or do not belong together, are refused."""
    target = _checked_path(path)
    description_file = target.with_suffix(".json")
    for file in (target, description_file):
        if not file.is_file():
            raise BadInput(f"There is no file {str(file)!r}", available="both files that save_directions wrote")
    try:
        tensors = load(target.read_bytes())
        content = json.loads(description_file.read_text(encoding="utf-8"))
    except (SafetensorError, ValueError, KeyError, RecursionError) as error:  # KeyError: numbers numpy has not
        raise BadInput(
            f"{target.name} or {description_file.name} is not whole ({describe_error(error)})",
            available="what save_directions wrote",
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
