"""Deep metric learning (paper 000): losses, miners and samplers, for one head or a stack of heads trained together.

Embeddings are ``[..., sample, dimension]`` and labels ``[..., sample]``: what stands before are heads, none of which
sees another. Shapes never depend on values, so nothing waits for a GPU to answer. ``MetricLearner`` trains an embedding
with ``fit`` and ``transform``, on arrays, pictures or a data loader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.training.metric._heads import head_stack as head_stack
    from equipoise.training.metric._heads import nearest as nearest
    from equipoise.training.metric._loss import MetricLoss as MetricLoss
    from equipoise.training.metric._loss import mean_where as mean_where
    from equipoise.training.metric._loss import triplet_squares as triplet_squares
    from equipoise.training.metric._metric_learner import MetricLearner as MetricLearner
    from equipoise.training.metric._mining import Draws as Draws
    from equipoise.training.metric._mining import Mined as Mined
    from equipoise.training.metric._mining import Miner as Miner
    from equipoise.training.metric._mining import pairs_of as pairs_of
    from equipoise.training.metric._mining import squared_distances as squared_distances
    from equipoise.training.metric._mining import uniforms_for as uniforms_for
    from equipoise.training.metric._mining import uniforms_of_epoch as uniforms_of_epoch
    from equipoise.training.metric._mining import whole_weights as whole_weights
    from equipoise.training.metric._models import EmbeddingModel as EmbeddingModel
    from equipoise.training.metric._objective import MetricObjective as MetricObjective
    from equipoise.training.metric._objective import MetricRecipe as MetricRecipe
    from equipoise.training.metric._objective import recipe_of as recipe_of
    from equipoise.training.metric._presets import Preset as Preset
    from equipoise.training.metric._presets import get_preset as get_preset
    from equipoise.training.metric._presets import make_loss as make_loss
    from equipoise.training.metric._presets import make_miner as make_miner
    from equipoise.training.metric._presets import make_sampler as make_sampler
    from equipoise.training.metric._sampler import Sampler as Sampler
    from equipoise.training.metric._training import EmbeddingTask as EmbeddingTask
    from equipoise.training.metric._training import MetricEnded as MetricEnded
    from equipoise.training.metric._training import picture_values as picture_values

_MODULES = {
    "_heads": ("head_stack", "nearest"),
    "_loss": ("MetricLoss", "mean_where", "triplet_squares"),
    "_metric_learner": ("MetricLearner",),
    "_mining": (
        "Draws", "Mined", "Miner", "pairs_of", "squared_distances", "uniforms_for", "uniforms_of_epoch",
        "whole_weights",
    ),
    "_models": ("EmbeddingModel",),
    "_objective": ("MetricObjective", "MetricRecipe", "recipe_of"),
    "_presets": ("Preset", "get_preset", "make_loss", "make_miner", "make_sampler"),
    "_sampler": ("Sampler",),
    "_training": ("EmbeddingTask", "MetricEnded", "picture_values"),
}  # fmt: skip
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
