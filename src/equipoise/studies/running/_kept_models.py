"""Weights of small networks as an array that the store keeps with a trial, so that a model needs no second training."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput
from equipoise.training import FittedModel, learner_of

# The array of a trial that holds its model, the learners whose models are kept, and the bytes that one may have.
MODEL = "model.weights"
LEARNERS = ("mlp", "image_network", "metric_learner")
MOST_BYTES = 4 * 1024**2
SETTINGS = "settings"


def packed_model(model: FittedModel | None) -> tuple[dict[str, NDArray[Any]], str | None]:
    """Return the array that keeps a model, or a note why it is not kept."""
    from safetensors.numpy import save

    if model is None or model.kind not in LEARNERS or model.needs_module:
        return {}, None
    described = json.dumps({"kind": model.kind, "settings": model.settings()}, allow_nan=False)
    tensors = {f"tensor.{name}": np.array(tensor, order="C") for name, tensor in model.tensors().items()}
    content = save({**tensors, SETTINGS: np.frombuffer(described.encode(), dtype=np.uint8)})
    if len(content) > MOST_BYTES:
        return {}, f"The model has {len(content):,} bytes and was not kept: up to {MOST_BYTES:,} are."
    return {MODEL: np.frombuffer(content, dtype=np.uint8)}, None


def model_of(array: NDArray[Any]) -> FittedModel:
    """Make a model again from the array that keeps it; a damaged one is refused."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays: Mapping[str, NDArray[Any]] = load(array.astype(np.uint8).tobytes())
        description = json.loads(arrays[SETTINGS].tobytes())
        kind = learner_of(description["kind"]).model if description["kind"] in LEARNERS else None
        settings = description["settings"]
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise BadInput(f"The model that the store keeps is damaged ({error})") from error
    if kind is None or not isinstance(settings, dict):
        raise BadInput("The model that the store keeps is of another kind")
    tensors = {
        name.removeprefix("tensor."): array_of_tensor for name, array_of_tensor in arrays.items() if name != SETTINGS
    }
    return kind.restore(settings, tensors)
