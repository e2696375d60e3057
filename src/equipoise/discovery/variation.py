"""How much a prediction varies along a traversal, and how far a normal is from others (paper 002, equations 2 to 4).

With p_1 ... p_N the predictions along a traversal of one latent:

    variation     TV     = mean over i of |p_{i+1} - p_i|
    its loss      L_V    = -log(1e-10 + mean over latents and steps of |p_{i+1} - p_i|)
    orthogonality L_perp = mean over other normals v of cos(w, v)^2        (variant "signed": the sum of cos(w, v))

Arrays of numpy and tensors of torch are both taken. A mask tells which points of a traversal count, and a step counts
when both of its ends do; the others are steps of 0.
"""

from __future__ import annotations

from typing import Any

from equipoise.foundation.errors import BadInput

TINY = 1e-10
VARIANTS = ("squared", "signed")


def steps_of(probabilities: Any) -> Any:
    """Return |p_{i+1} - p_i| as ``[..., N - 1, n]`` of probabilities ``[..., N, n]``."""
    return abs(probabilities[..., 1:, :] - probabilities[..., :-1, :])


def counted(inside: Any) -> Any:
    """Return which steps count ``[..., N - 1, n]``: those with both ends inside ``[..., N, n]``."""
    return inside[..., 1:, :] & inside[..., :-1, :]


def total_variation(probabilities: Any, inside: Any = None) -> Any:
    """Return the mean step of each latent, ``[..., n]``; a step that does not count is one of 0.

    It is not left out of the mean: otherwise a plane far out, of which few steps count, could have the largest.
    """
    steps = steps_of(probabilities)
    return (steps if inside is None else steps * counted(inside)).mean(-2)


def variation_loss(probabilities: Any, inside: Any = None) -> Any:
    """Return L_V of probabilities ``[..., N, n]``, as ``[...]``."""
    mean = total_variation(probabilities, inside).mean(-1) + TINY
    if hasattr(mean, "log"):
        return -mean.log()
    import numpy as np

    return -np.log(mean)


def orthogonality(normals: Any, others: Any, variant: str = "squared") -> Any:
    """Return L_perp of normals ``[..., d]`` to unit normals ``[k, d]``, as ``[...]``; 0 without others."""
    if variant not in VARIANTS:
        raise BadInput(f"Unknown orthogonality {variant!r}", available=" or ".join(VARIANTS))
    length = (normals * normals).sum(-1) ** 0.5
    if not len(others):
        return 0.0 * length
    cosines = (normals @ others.T) / length[..., None]
    return (cosines**2).mean(-1) if variant == "squared" else cosines.sum(-1)
