"""A trained embedding as a model: what embeds rows, what treatments erase from it, and the training rows in it.

The class of a row is that of the nearest training row, so that the model has the embedding and the class of every row
that it was trained on. Of PARADE it has the embedding that is released, and no sensitive head.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput, listing, require
from equipoise.training._dataset import Codes, Predicted, Settings
from equipoise.training._models import (
    FittedModel,
    Transformation,
    check_width,
    checked_array,
    checked_settings,
    part_arrays,
    part_described,
    restored_parts,
)
from equipoise.training._network_models import MOST_UNITS, array_of, checked_tensors, checked_whole
from equipoise.training._numerics import dtype_of
from equipoise.training.images._models import PictureNetwork
from equipoise.training.metric._heads import embedded, nearest

PRECISIONS = ("float32", "tf32", "float64")
ERASERS, POINTS, LABELS, EMBEDDER = "erasers", "points", "labels", "embedder"
MODEL_ROLE = "the embedding"


class Embedder(ABC):
    """What turns inputs into an embedding, on the CPU."""

    kind: ClassVar[str]

    @abstractmethod
    def __call__(self, inputs: NDArray[Any]) -> NDArray[np.float32]:
        """Return the embedding of rows, ``[row, dimension]``, row for row as the training reads dev rows."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return everything but arrays."""

    @abstractmethod
    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name."""

    @classmethod
    @abstractmethod
    def restore(cls, settings: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], module: Any) -> Self:
        """Make it again; what does not fit together is refused."""


class HeadEmbedder(Embedder):
    """A linear head on features: weights ``[1, feature, dimension]``, a bias ``[1, 1, dimension]``."""

    kind = "head"

    def __init__(self, weight: Any, bias: Any, *, unit_length: bool, precision: str) -> None:
        self.weight, self.bias, self.unit_length, self.precision = weight, bias, unit_length, precision

    def __call__(self, inputs: NDArray[Any]) -> NDArray[np.float32]:
        """Return the embedding of features."""
        torch = require("torch", extra="train", purpose="A trained embedding")
        check_width(inputs, self.weight.shape[1])
        rows = torch.as_tensor(np.ascontiguousarray(inputs)).to(self.weight.dtype)
        with torch.no_grad():
            embedded_rows = embedded(rows, self.weight, self.bias, unit_length=self.unit_length)[0]
        points: NDArray[np.float32] = embedded_rows.float().numpy()
        return points

    def settings(self) -> dict[str, Any]:
        """Return sizes, precision, and whether rows have length 1."""
        return {
            "features": int(self.weight.shape[1]), "dimensions": int(self.weight.shape[2]),
            "unit_length": self.unit_length, "precision": self.precision,
        }  # fmt: skip

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return weights and bias."""
        return {"weight": array_of(self.weight[0]), "bias": array_of(self.bias[0, 0])}

    @classmethod
    def restore(cls, settings: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], module: Any) -> Self:
        """Make the head again."""
        _no_module(module)
        known_settings = checked_settings(settings, {"features": int, "dimensions": int, "precision": str}, MODEL_ROLE)
        features, dimensions = (
            checked_whole(known_settings[name], name, MOST_UNITS) for name in ("features", "dimensions")
        )
        if known_settings["precision"] not in PRECISIONS:
            raise BadInput(
                f"The precision of {MODEL_ROLE} is {known_settings['precision']!r}", available=listing(PRECISIONS)
            )
        weights = checked_tensors(
            tensors, {"weight": (features, dimensions), "bias": (dimensions,)}, known_settings["precision"]
        )
        unit_length = settings.get("unit_length") is True
        return cls(
            weights["weight"][None],
            weights["bias"][None, None],
            unit_length=unit_length,
            precision=known_settings["precision"],
        )


class PictureEmbedder(Embedder):
    """A network on pictures, whose outputs are the embedding."""

    kind = "pictures"

    def __init__(self, network: PictureNetwork) -> None:
        self.network = network

    def __call__(self, inputs: NDArray[Any]) -> NDArray[np.float32]:
        """Return the embedding of pictures."""
        return self.network.features_and_outputs(inputs)[1]

    def settings(self) -> dict[str, Any]:
        """Return how the network is built, and what it was trained on."""
        return self.network.settings()

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return weights, batch statistics and scaling."""
        return self.network.tensors()

    @classmethod
    def restore(cls, settings: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], module: Any) -> Self:
        """Make the network again."""
        return cls(PictureNetwork.restore(settings, tensors, module))


class LengthEmbedder(Embedder):
    """Features as they are, or scaled to length 1: nothing is trained."""

    kind = "features"

    def __init__(self, width: int, *, unit_length: bool) -> None:
        self.width, self.unit_length = width, unit_length

    def __call__(self, inputs: NDArray[Any]) -> NDArray[np.float32]:
        """Return the features; a row of zeros stays one."""
        check_width(inputs, self.width)
        points: NDArray[np.float32] = inputs.astype(np.float32, copy=False)
        if not self.unit_length:
            return points
        lengths = np.linalg.norm(points, axis=1, keepdims=True)
        lengths[lengths == 0] = 1
        scaled: NDArray[np.float32] = (points / lengths).astype(np.float32)
        return scaled

    def settings(self) -> dict[str, Any]:
        """Return the width, and whether rows have length 1."""
        return {"features": self.width, "unit_length": self.unit_length}

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return nothing: nothing is trained."""
        return {}

    @classmethod
    def restore(cls, settings: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], module: Any) -> Self:
        """Make it again."""
        _no_module(module)
        known_settings = checked_settings(settings, {"features": int}, MODEL_ROLE)
        checked_tensors(tensors, {}, None)
        return cls(
            checked_whole(known_settings["features"], "features", MOST_UNITS),
            unit_length=settings.get("unit_length") is True,
        )


EMBEDDERS: Mapping[str, type[Embedder]] = {one.kind: one for one in (HeadEmbedder, PictureEmbedder, LengthEmbedder)}


class EmbeddingModel(FittedModel):
    """An embedding that a metric loss trained.

    ``points`` are the training rows in the embedding as it is released, after ``erasers``, and ``labels`` their classes
    of ``classes``.
    """

    kind: ClassVar[str] = "metric_learner"
    embedders: ClassVar[tuple[type[Embedder], ...]] = (HeadEmbedder, PictureEmbedder)

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.erasers: tuple[Transformation, ...] = ()
        self.points: NDArray[np.float32] = np.zeros((0, 0), dtype=np.float32)
        self.labels: Codes = np.zeros(0, dtype=np.int64)
        self.class_count = 0

    def release(
        self, erasers: tuple[Transformation, ...], points: NDArray[np.float32], labels: Codes, classes: int
    ) -> None:
        """Take what the end of a training knows: erasers, and the training rows with their classes."""
        self.erasers, self.points, self.labels, self.class_count = erasers, points, labels, classes

    def predict_inputs(self, inputs: NDArray[Any]) -> Predicted:
        """Return the class of the nearest training row of each row."""
        return Predicted(self.labels[nearest(self.representations(inputs), self.points)])

    def representations(self, inputs: NDArray[Any]) -> NDArray[np.float32]:
        """Return the embedding as it is released."""
        points = self.embedder(inputs)
        for eraser in self.erasers:
            points = eraser(points).astype(np.float32)
        return points

    @property
    def needs_module(self) -> bool:
        """Whether a network of the user's own embeds."""
        return isinstance(self.embedder, PictureEmbedder) and self.embedder.network.module is not None

    def base_settings(self) -> dict[str, Any]:
        """Return what embeds, the erasers, and the number of classes."""
        return {
            EMBEDDER: {"kind": self.embedder.kind, **self.embedder.settings()}, "classes": self.class_count,
            ERASERS: [part_described(eraser) for eraser in self.erasers],
        }  # fmt: skip

    def base_tensors(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of what embeds and of the erasers, and the training rows."""
        arrays = {f"{EMBEDDER}.{name}": value for name, value in self.embedder.tensors().items()}
        for index, eraser in enumerate(self.erasers):
            arrays |= part_arrays(eraser, f"{ERASERS}.{index}.")
        return arrays | {POINTS: self.points, LABELS: self.labels}

    @classmethod
    def restore_base(cls, settings: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], module: Any) -> Self:
        """Make the embedding again."""
        description = settings.get(EMBEDDER)
        kinds = {embedder.kind: embedder for embedder in cls.embedders}
        kind = kinds.get(str(description.get("kind"))) if isinstance(description, Mapping) else None
        if kind is None:
            raise BadInput(
                f"{MODEL_ROLE[:1].upper()}{MODEL_ROLE[1:]} is described as {description!r:.60}",
                available=listing(kinds),
            )
        arrays = {
            name.removeprefix(f"{EMBEDDER}."): tensor
            for name, tensor in tensors.items()
            if name.startswith(f"{EMBEDDER}.")
        }
        model = cls(kind.restore(description, arrays, module))  # type: ignore[arg-type]
        classes = checked_whole(
            checked_settings(settings, {"classes": int}, MODEL_ROLE)["classes"], "classes", MOST_UNITS
        )
        points = checked_array(tensors, POINTS, [None, None], MODEL_ROLE, np.float32)
        labels = checked_array(tensors, LABELS, [len(points)], MODEL_ROLE, np.int64)
        if tensors[LABELS].dtype.kind not in "iu":
            raise BadInput(
                f"The array {LABELS!r} of {MODEL_ROLE} holds {tensors[LABELS].dtype}", available="whole numbers"
            )
        strange = [
            name
            for name in tensors
            if name not in (POINTS, LABELS) and not name.startswith((f"{EMBEDDER}.", f"{ERASERS}."))
        ]
        if strange:
            raise BadInput(f"The saved weights have {strange[0]!r}, which the embedding does not have")
        if not len(points) or not np.isfinite(points).all() or labels.min() < 0 or labels.max() >= classes:
            raise BadInput(f"The training rows of {MODEL_ROLE} are not all finite points of a known class")
        model.release(restored_parts(settings, tensors, ERASERS, Transformation), points, labels, classes)
        return model

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Be copied by what it is saved as: networks of this package are made of classes that cannot be pickled."""
        module = self.embedder.network.module if isinstance(self.embedder, PictureEmbedder) else None
        return type(self).restore, (self.settings(), self.tensors(), module)


class RawFeaturesModel(EmbeddingModel):
    """Features as an embedding: the control of a metric learner."""

    kind: ClassVar[str] = "raw_features"
    embedders: ClassVar[tuple[type[Embedder], ...]] = (LengthEmbedder,)


def head_model(values: list[Any], *, unit_length: bool, settings: Settings) -> EmbeddingModel:
    """Return the model of a trained head, of its weight ``[feature, dimension]`` and bias ``[1, dimension]``."""
    weight, bias = (value.detach().cpu().to(dtype_of(settings))[None] for value in values)
    return EmbeddingModel(HeadEmbedder(weight, bias, unit_length=unit_length, precision=settings.precision))


def _no_module(module: Any) -> None:
    if module is not None:
        raise BadInput("A module is given for an embedding of features", help="load_model(folder) is enough.")
