"""Batches for the tests of metric learning."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from equipoise.training.metric import uniforms_for

# Labels of a batch: classes with one sample, one class alone and no class twice are among them.
LABELS = st.lists(st.integers(0, 4), min_size=2, max_size=14)
SEEDS = st.integers(0, 2**20)
CLASSES = 5


def points_of(seed: int, samples: int, width: int = 6, *heads: int, unit: bool = True) -> Any:
    """Return embeddings in float64, spread so that near and far pairs occur."""
    import torch

    generator = np.random.default_rng(seed)
    points = generator.standard_normal((*heads, samples, width)) + 1.5 * generator.standard_normal((*heads, 1, width))
    if unit:
        points /= np.linalg.norm(points, axis=-1, keepdims=True)
    return torch.from_numpy(points)


def numbers_of(labels: Any, seed: int) -> Any:
    """Return the uniform numbers of a step."""
    import torch

    return uniforms_for(labels, torch.Generator(labels.device).manual_seed(seed))


def listed(mined: Any) -> list[tuple[int, int, int | None]]:
    """Return the triplets that are there, of one head."""
    negatives = [None] * len(mined.anchors) if mined.negatives is None else mined.negatives.tolist()
    rows = zip(mined.anchors.tolist(), mined.positives.tolist(), negatives, mined.mask.tolist(), strict=True)
    return [(a, p, n) for a, p, n, there in rows if there]
