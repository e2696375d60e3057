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
    from equipoise.training.metric._loss import SMALLEST_SQUARE as SMALLEST_SQUARE
    from equipoise.training.metric._loss import LossTensors as LossTensors
    from equipoise.training.metric._loss import MetricLoss as MetricLoss
    from equipoise.training.metric._loss import check_class_count as check_class_count
    from equipoise.training.metric._loss import check_mined as check_mined
    from equipoise.training.metric._loss import log1p_sum_exp as log1p_sum_exp
    from equipoise.training.metric._loss import loss_generator as loss_generator
    from equipoise.training.metric._loss import masked_mean as masked_mean
    from equipoise.training.metric._loss import trainable_tensor as trainable_tensor
    from equipoise.training.metric._loss import triplet_squares as triplet_squares
    from equipoise.training.metric._metric_learner import MetricLearner as MetricLearner
    from equipoise.training.metric._mining import MinedTriplets as MinedTriplets
    from equipoise.training.metric._mining import Miner as Miner
    from equipoise.training.metric._mining import UniformNumbers as UniformNumbers
    from equipoise.training.metric._mining import all_positions as all_positions
    from equipoise.training.metric._mining import full_precision as full_precision
    from equipoise.training.metric._mining import integer_weights as integer_weights
    from equipoise.training.metric._mining import pairs_of as pairs_of
    from equipoise.training.metric._mining import sample_columns as sample_columns
    from equipoise.training.metric._mining import squared_distances as squared_distances
    from equipoise.training.metric._mining import take_entries as take_entries
    from equipoise.training.metric._mining import take_rows as take_rows
    from equipoise.training.metric._mining import uniforms_for as uniforms_for
    from equipoise.training.metric._mining import uniforms_of_epoch as uniforms_of_epoch
    from equipoise.training.metric._models import EmbeddingModel as EmbeddingModel
    from equipoise.training.metric._objective import MetricObjective as MetricObjective
    from equipoise.training.metric._objective import MetricRecipe as MetricRecipe
    from equipoise.training.metric._objective import recipe_of as recipe_of
    from equipoise.training.metric._presets import Preset as Preset
    from equipoise.training.metric._presets import get_preset as get_preset
    from equipoise.training.metric._presets import make_loss as make_loss
    from equipoise.training.metric._presets import make_miner as make_miner
    from equipoise.training.metric._presets import make_sampler as make_sampler
    from equipoise.training.metric._sampler import ByClass as ByClass
    from equipoise.training.metric._sampler import Sampler as Sampler
    from equipoise.training.metric._sampler import steps_of as steps_of
    from equipoise.training.metric._training import EmbeddingTask as EmbeddingTask
    from equipoise.training.metric._training import MetricEnded as MetricEnded
    from equipoise.training.metric._training import picture_values as picture_values

_MODULES = {
    "_heads": ("head_stack", "nearest"),
    "_loss": (
        "SMALLEST_SQUARE", "LossTensors", "MetricLoss", "check_class_count", "check_mined", "log1p_sum_exp",
        "loss_generator", "masked_mean", "trainable_tensor", "triplet_squares",
    ),
    "_metric_learner": ("MetricLearner",),
    "_mining": (
        "MinedTriplets", "Miner", "UniformNumbers", "all_positions", "full_precision", "integer_weights", "pairs_of",
        "sample_columns", "squared_distances", "take_entries", "take_rows", "uniforms_for", "uniforms_of_epoch",
    ),
    "_models": ("EmbeddingModel",),
    "_objective": ("MetricObjective", "MetricRecipe", "recipe_of"),
    "_presets": ("Preset", "get_preset", "make_loss", "make_miner", "make_sampler"),
    "_sampler": ("ByClass", "Sampler", "steps_of"),
    "_training": ("EmbeddingTask", "MetricEnded", "picture_values"),
}  # fmt: skip
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
