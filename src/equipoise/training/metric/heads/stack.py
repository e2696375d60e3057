"""Heads on frozen features that train together, as a stack whose callback is a metric loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from equipoise.training.material import Material, Settings
from equipoise.training.metric.heads.head import LinearHeads
from equipoise.training.metric.heads.recipe import MetricRecipe
from equipoise.training.metric.objective import metric_callback, metric_context
from equipoise.training.precision import dtype_of
from equipoise.training.preparing import Prepared
from equipoise.training.stacking import Stack

if TYPE_CHECKING:
    import torch


def head_stack(
    trials: Sequence[Prepared],
    material: Material,
    recipe: MetricRecipe,
    settings: Settings,
    inputs: torch.Tensor | None = None,
) -> Stack:
    """Build the heads of trials, ready to train."""
    heads = LinearHeads(
        [trial.seed for trial in trials], material.train.inputs.shape[1] if inputs is None else inputs.shape[1],
        recipe.embedding_size, unit_length=recipe.make_loss().unit_length,
        dtype=dtype_of(settings), device=settings.device,
    )  # fmt: skip
    return Stack(
        heads, trials, material, recipe.steps, settings,
        learner=metric_callback(recipe, trials), known=metric_context(recipe, trials, settings.device), inputs=inputs,
    )  # fmt: skip
