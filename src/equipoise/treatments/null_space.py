"""The space that is left when directions are taken away, one after another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from equipoise.training.model import Transformation, checked_array, fitted_part

Floats = NDArray[np.float64]

# A direction shorter than this, against the longest, is what rounding left of one that is gone.
GONE = 1e-8


class NullSpace:
    """The intersection of the null spaces of all directions so far; ``basis [direction, column]`` spans what is gone.

    With B orthonormal the projection is I - B'B: the same as projecting onto the null space of the sum of the row-space
    projections (Ravfogel et al. 2020, after Ben-Israel 2015).
    """

    def __init__(self, columns: int) -> None:
        self.basis: Floats = np.zeros((0, columns))

    def new(self, directions: Floats) -> Floats:
        """Return an orthonormal basis of what directions have outside of what is gone already."""
        longest = np.linalg.norm(directions, axis=1).max(initial=0.0)
        rest = self.left(self.left(directions))  # twice: once leaves rounding behind
        _, lengths, found = np.linalg.svd(rest, full_matrices=False)
        return np.asarray(found[lengths > GONE * longest])

    def without(self, directions: Floats) -> NullSpace:
        """Return the space that is left when these directions (orthonormal, from ``new``) are gone too."""
        made = NullSpace(self.basis.shape[1])
        made.basis = np.vstack([self.basis, directions])
        return made

    def left(self, rows: Floats) -> Floats:
        """Return rows projected onto the space: what they are without the directions that are gone."""
        return rows - (rows @ self.basis.T) @ self.basis

    @property
    def projection(self) -> Floats:
        """The projection as a matrix ``[column, column]``."""
        return np.eye(self.basis.shape[1]) - self.basis.T @ self.basis


@fitted_part
class NullSpaceProjection(Transformation):
    """Rows without some directions, ``basis [direction, column]``, which are orthonormal."""

    kind: ClassVar[str] = "null_space"

    def __init__(self, basis: Floats, notes: tuple[str, ...] = ()) -> None:
        self.basis, self.notes = basis, notes

    def __call__(self, inputs: NDArray[Any]) -> Floats:
        """Return the rows that are left."""
        rows = inputs.astype(np.float64)
        return np.asarray(rows - (rows @ self.basis.T) @ self.basis)

    def state(self) -> dict[str, Any]:
        """Return the directions."""
        return {"basis": self.basis}

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> NullSpaceProjection:
        """Make it again."""
        return cls(checked_array(state, "basis", (None, None), "the directions of a projection"))
