"""Hyperplanes of a latent space: an attribute is a plane, and its normal is the way along which the attribute changes.

The plane is {z : z.w + o = 0}. The nearest point of it to z is z - (z.w + o) w / |w|^2; a traversal goes from there
along w / |w| in steps alpha. The same functions serve numpy arrays and torch tensors, one plane and a stack of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.foundation.errors import BadInput

Floats = NDArray[np.float64]
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
