"""A trained network on pictures as a model: the network by its name, what it learnt and counted, and the scaling."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts import Task
from equipoise.foundation import BadInput, listing, require
from equipoise.networks import NETWORKS, WITH_LARGE, build
from equipoise.training._callback import NETWORK
from equipoise.training._dataset import Predicted, Settings
from equipoise.training._models import FittedModel, checked_settings
from equipoise.training._named_objects import display_name, portable_name
from equipoise.training._network_models import (
    MOST_UNITS,
    array_of,
    as_json,
    checked_tensors,
    checked_whole,
    module_of,
)
from equipoise.training._numerics import dtype_of, layout_of
from equipoise.training._prediction import plain_predictions
from equipoise.training._seeding import preserved_generators
from equipoise.training.images import _backbones as backbones
from equipoise.training.images._pictures import PictureInputs, PictureReader, Scaling, View
from equipoise.training.images._run import Run, Weights
from equipoise.training.images._tasks import HEAD

if TYPE_CHECKING:
    import torch

TASKS = ("class", "multilabel")
PRECISIONS = ("float32", "tf32", "bfloat16", "float64")
CHANNELS = (1, 3)
SCALING = "scaling"
MOST_PIXELS, MOST_SIDE = 100_000, 4_096
# How a network of the user's own is named.
USER_NETWORK = "module"
MODEL_ROLE = "the network on pictures"


class PictureNetwork:
    """A network on pictures with its head, on the CPU; ``described`` says how the network is built again."""

    def __init__(
        self, reader: PictureReader, size: tuple[int, int, int], described: Mapping[str, Any], task: Task = "class"
    ) -> None:
        self.reader, self.size, self.described, self.task = reader, size, described, task
        for part in (reader.network, reader.head):
            part.eval()

    @classmethod
    def of_run(cls, run: Run, weights: Weights) -> Self:
        """Return the network of a training that is over, with the weights of the chosen epoch."""
        height, width, channels = run.dataset.train.inputs.shape[1:]
        described = described_network(run.trial.values, run.view)
        return cls(run.reader_of(weights), (height, width, channels), described, run.dataset.task)

    @property
    def outputs(self) -> int:
        """How many outputs it has."""
        head: Any = self.reader.head
        return int(head.out_features)

    def check(self, pictures: NDArray[Any]) -> None:
        """Refuse what is no array of pictures of the size and the channels that the network was trained on."""
        if pictures.ndim != 4 or pictures.dtype != np.uint8 or pictures.shape[1:] != self.size:
            height, width, channels = self.size
            raise BadInput(
                f"The pictures are {pictures.dtype} of the shape {pictures.shape}",
                available=f"uint8 [row, {height}, {width}, {channels}], as the network was trained on",
                help="pictures in 0..1 become bytes by (255 * array).round().astype('u1'); others are to be resized.",
            )

    def features_and_outputs(self, pictures: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the features and the outputs of pictures, row for row as a training reads dev rows."""
        self.check(pictures)
        parts = [(features.float().numpy(), output.float().numpy()) for features, output in self.reader.parts(pictures)]
        if not parts:
            return np.zeros((0, self.features), dtype=np.float32), np.zeros((0, self.outputs), dtype=np.float32)
        features, outputs = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return features, outputs

    @property
    def module(self) -> torch.nn.Module | None:
        """The network where it is one of the user's own, which no name says how to build."""
        return self.reader.network if self.described["name"] == USER_NETWORK else None

    @property
    def features(self) -> int:
        """How many features stand under the head."""
        head: Any = self.reader.head
        return int(head.in_features)

    def settings(self) -> dict[str, Any]:
        """Return everything but arrays."""
        view = self.reader.inputs.view
        return {
            "task": self.task, "network": dict(self.described), "size": list(self.size), "features": self.features,
            "outputs": self.outputs, "precision": self.reader.inputs.settings.precision,
            "unit_length": self.reader.unit_length, "shown": {"size": view.size, "centre": view.centre},
        }  # fmt: skip

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return weights, batch statistics and scaling by name."""
        parts = {NETWORK: self.reader.network, HEAD: self.reader.head}
        all_tensors = {
            f"{part}.{name}": array_of(value)
            for part, module in parts.items()
            for name, value in module.state_dict().items()
        }
        scaling = self.reader.inputs.scaling
        return all_tensors | {
            f"{SCALING}.{name}": array_of(value.flatten().expand(self.size[2]))
            for name, value in (("mean", scaling.mean), ("scale", scaling.scale))
        }

    @classmethod
    def restore(cls, settings: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], module: Any) -> Self:
        """Make a network again; what does not fit together is refused."""
        library = require("torch", extra="train", purpose="A network on pictures")
        kinds = {
            "task": str, "network": Mapping, "size": list, "features": int, "outputs": int, "precision": str,
            "shown": Mapping,
        }  # fmt: skip
        known_settings = checked_settings(settings, kinds, MODEL_ROLE)
        is_custom = is_user_network(known_settings["network"])
        size, outputs = _size(known_settings["size"]), checked_whole(known_settings["outputs"], "outputs", MOST_UNITS)
        if known_settings["precision"] not in PRECISIONS:
            raise BadInput(
                f"The precision of {MODEL_ROLE} is {known_settings['precision']!r}", available=listing(PRECISIONS)
            )
        if known_settings["task"] not in TASKS:
            raise BadInput(f"The task of {MODEL_ROLE} is {known_settings['task']!r}", available=listing(TASKS))
        precision: Any = known_settings["precision"]
        numerics = Settings(precision=precision)
        with preserved_generators():
            network = _built(known_settings["network"], size[2], module)
        network = network.to(dtype=dtype_of(numerics))
        features = checked_whole(known_settings["features"], "features", MOST_UNITS)
        values = [(f"{NETWORK}.{name}", value) for name, value in network.state_dict().items()]
        shapes = {name: tuple(value.shape) for name, value in values}
        shapes |= {f"{HEAD}.weight": (outputs, features), f"{HEAD}.bias": (outputs,)}
        shapes |= {f"{SCALING}.{name}": (size[2],) for name in ("mean", "scale")}
        restored_tensors = checked_tensors(tensors, shapes, None)
        network.load_state_dict({name.removeprefix(f"{NETWORK}."): restored_tensors[name] for name, _ in values})
        # Only now is it known that the file has as many numbers.
        head = library.nn.Linear(features, outputs, device="meta")
        head.load_state_dict({name: restored_tensors[f"{HEAD}.{name}"] for name in ("weight", "bias")}, assign=True)
        mean, scale = (
            restored_tensors[f"{SCALING}.{name}"].to(dtype_of(numerics))[None, :, None, None]
            for name in ("mean", "scale")
        )
        if not (scale > 0).all():
            raise BadInput(f"The scaling of {MODEL_ROLE} is not above 0", help="save it again.")
        network, head = (_placed(part, numerics) for part in (network, head))
        inputs = PictureInputs(_view(known_settings["shown"], size), Scaling(mean, scale), numerics)
        reader = PictureReader(
            inputs, network, head, unit_length=settings.get("unit_length") is True, user_network=is_custom
        )
        return cls(reader, size, dict(known_settings["network"]), known_settings["task"])


class PictureModel(FittedModel):
    """A trained network on pictures that tells classes, or several labels a row."""

    kind: ClassVar[str] = "image_network"

    def __init__(self, network: PictureNetwork) -> None:
        self.network = network

    def predict_inputs(self, inputs: NDArray[Any]) -> Predicted:
        """Return classes, or labels, with scores."""
        return plain_predictions(self.outputs(inputs), self.network.task)

    def outputs(self, inputs: NDArray[Any]) -> NDArray[np.float32]:
        """Return the outputs of the head, ``[row, output]``."""
        return self.network.features_and_outputs(inputs)[1]

    def representations(self, inputs: NDArray[Any]) -> NDArray[np.float32]:
        """Return the features under the head, ``[row, feature]``."""
        return self.network.features_and_outputs(inputs)[0]

    @property
    def needs_module(self) -> bool:
        """Whether the network is one of the user's own."""
        return self.network.module is not None

    def base_settings(self) -> dict[str, Any]:
        """Return how the network is built, and what it was trained on."""
        return self.network.settings()

    def base_tensors(self) -> dict[str, NDArray[Any]]:
        """Return weights, batch statistics and scaling."""
        return self.network.tensors()

    @classmethod
    def restore_base(cls, settings: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], module: Any) -> Self:
        """Make the network again."""
        return cls(PictureNetwork.restore(settings, tensors, module))

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Be copied by what it is saved as: networks of this package are made of classes that cannot be pickled."""
        return type(self).restore, (self.settings(), self.tensors(), self.network.module)


def _size(size: list[Any]) -> tuple[int, int, int]:
    if len(size) != 3:
        raise BadInput(f"The size of the pictures is {size!r:.60}", available="height, width and channels")
    height, width = (checked_whole(side, "height or width", MOST_PIXELS) for side in size[:2])
    if size[2] not in CHANNELS:
        raise BadInput(f"The pictures have {size[2]!r:.60} channels", available=listing(CHANNELS))
    return height, width, int(size[2])


def _view(view_settings: Mapping[str, Any], size: tuple[int, int, int]) -> View:
    """Return how pictures are shown where nothing is drawn, by what was saved of it."""
    side, centre = view_settings.get("size"), view_settings.get("centre")
    if side != 0:
        checked_whole(side, "the pixels of a side that is shown", MOST_SIDE)
    if not isinstance(centre, int | float) or isinstance(centre, bool) or not 0 < centre <= 1:
        raise BadInput(f"The share of a picture that is shown is {centre!r:.60}", available="above 0, and 1 at most")
    return View(size[0], size[1], augmentation=False, size=int(side or 0), centre=float(centre))


def described_network(values: Mapping[str, Any], view: View) -> dict[str, Any]:
    """Return how the network of a trial is built again: its name, or what its factory is called and is given."""
    network, frozen = values["network"], bool(values.get("frozen_norm", False))
    if not backbones.is_user_network(network):
        large = view.sides[0] >= backbones.LARGE and network in WITH_LARGE
        return {"name": network, "large": large, "frozen_norm": frozen}
    arguments = as_json(values.get("settings") or {})
    factory = portable_name(network) if isinstance(network, str) else display_name(network)
    return {"name": USER_NETWORK, "factory": factory, "arguments": arguments}


def is_user_network(described: Mapping[str, Any]) -> bool:
    """Tell whether a saved network is one of the user's own, or one that draws while it trains."""
    name = described.get("name")
    return not (isinstance(name, str) and backbones.is_deterministic(name))


def _built(described: Mapping[str, Any], channels: int, module: Any) -> torch.nn.Module:
    """Return a network without head, by how it was described; its weights are still to be read."""
    name = described.get("name")
    if name == USER_NETWORK:
        factory = str(described.get("factory"))
        # A copy: a module that was given stays as it is.
        return copy.deepcopy(module_of(module, (channels,), factory, described.get("arguments")))
    if name not in NETWORKS:
        raise BadInput(f"The saved model has the network {name!r:.60}", available=listing((*NETWORKS, USER_NETWORK)))
    if module is not None:
        raise BadInput(f"A module is given for the network {name!r}", help="load_model(folder) is enough.")
    large, frozen = described.get("large") is True, described.get("frozen_norm") is True
    return build(str(name), channels, large=large, frozen_norm=frozen, pretrained=False)[0]


def _placed(part: Any, settings: Settings) -> Any:
    return part.to(dtype=dtype_of(settings)).to(memory_format=layout_of(settings)).requires_grad_(False)
