"""Trained networks as models: the perceptron and a user's own module, each with its values at the chosen epoch."""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_args

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts import Task
from equipoise.foundation import (
    BadInput,
    describe_error,
    listing,
    require,
)
from equipoise.networks import StackedMLP, StackedModule
from equipoise.training._dataset import Predicted, Settings
from equipoise.training._models import FittedModel, check_width, checked_settings
from equipoise.training._numerics import dtype_of
from equipoise.training._prediction import predictions_of
from equipoise.training._stack import PART, Network, Scale, Stack, layer

if TYPE_CHECKING:
    import torch

PRECISIONS = ("float32", "tf32", "float64")
# More of anything than a network has that was trained here.
MOST_LAYERS, MOST_UNITS = 1_000, 10_000_000
GIVE_MODULE = "equipoise.load_model(DIR, module=MyNet), with the factory (or a module) whose weights these are."


class NetworkModel(FittedModel):
    """What networks of all kinds share: how rows are read, and how outputs become predictions.

    ``width`` and ``outputs`` are the numbers of inputs and outputs. It predicts on the CPU.
    """

    def __init__(
        self, network: Network, width: int, number: int, task: str = "class", scale: Scale | None = None,
        precision: str = "float32",
    ) -> None:  # fmt: skip
        self.network, self.width, self.number, self.task = network, width, number, task
        self.scale, self.precision = scale or Scale(), precision

    def predict_inputs(self, inputs: NDArray[Any]) -> Predicted:
        """Return classes with scores, or numbers."""
        return predictions_of(self._forward(inputs)[0], self.task, self.scale)[0]

    def outputs(self, inputs: NDArray[Any]) -> NDArray[np.float32]:
        """Return the outputs of the network, ``[row, output]``."""
        values: NDArray[np.float32] = self._forward(inputs)[0][0].float().numpy()
        return values

    def representations(self, inputs: NDArray[Any]) -> NDArray[np.float32]:
        """Return the last hidden layer, ``[row, unit]``."""
        values: NDArray[np.float32] = layer(self._forward(inputs)[1])[0].float().numpy()
        return values

    def _forward(self, inputs: NDArray[Any]) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return outputs and last hidden layer, ``[1, row, ...]``, row for row as a training reads dev rows."""
        torch = require("torch", extra="train", purpose="A trained network")
        values = np.asarray(inputs)
        check_width(values, self.width)
        tensor = torch.as_tensor(values).to(dtype=dtype_of(Settings(precision=self.precision)))  # type: ignore[arg-type]
        step = max(PART // max(self.width, 256), 256)
        self.network.training(False)
        with torch.no_grad():
            # Without rows there is one empty part, which has the right shape.
            parts = [self.network(tensor[None, begin : begin + step]) for begin in range(0, max(len(tensor), 1), step)]
        hidden = None if parts[0][1] is None else torch.cat([part for _, part in parts], dim=1)
        return torch.cat([part for part, _ in parts], dim=1), hidden

    def base_settings(self) -> dict[str, Any]:
        """Return what all networks have, and what those of a kind have."""
        return {
            "task": self.task, "inputs": self.width, "outputs": self.number, "precision": self.precision,
            "mean": self.scale.mean, "spread": self.scale.spread, **self.kind_settings(),
        }  # fmt: skip

    @abstractmethod
    def kind_settings(self) -> dict[str, Any]:
        """Return the settings of this kind of network."""


class MlpModel(NetworkModel):
    """A trained perceptron."""

    kind: ClassVar[str] = "mlp"
    network: StackedMLP

    def kind_settings(self) -> dict[str, Any]:
        """Return the activation and the units of each hidden layer."""
        hidden = [int(weight.shape[2]) for weight in self.network.weights[:-1]]
        return {"activation": self.network.activation, "hidden": hidden}

    def transform(self, inputs: NDArray[Any]) -> NDArray[np.float32]:
        """Return the last hidden layer; without hidden layers the inputs stand for one in training, and not here."""
        if len(self.network.weights) == 1:
            raise BadInput("The perceptron has no hidden layer", help="train it with layers = 1 or more.")
        return super().transform(inputs)

    def base_tensors(self) -> dict[str, NDArray[Any]]:
        """Return weights ``[in, out]`` and biases ``[out]`` of each layer."""
        pairs = zip(self.network.weights, self.network.biases, strict=True)
        arrays: dict[str, NDArray[Any]] = {}
        for index, (weight, bias) in enumerate(pairs):
            arrays[f"weight.{index}"], arrays[f"bias.{index}"] = array_of(weight[0]), array_of(bias[0, 0])
        return arrays

    @classmethod
    def of_values(cls, stack: Stack, index: int, values: Sequence[torch.Tensor]) -> Self:
        """Return the perceptron of the trial at a place of a stack, by its values at the chosen epoch."""
        number = len(values) // 2
        lone = [value.detach().cpu()[None] for value in values]
        assert isinstance(stack.network, StackedMLP)
        network = StackedMLP(lone[:number], lone[number:], stack.network.activation)
        width, outputs = int(lone[0].shape[1]), int(lone[number - 1].shape[2])
        return cls(network, width, outputs, *_ways(stack))

    @classmethod
    def restore_base(cls, settings: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], module: Any) -> Self:
        """Make a perceptron again; layers that do not fit each other are refused."""
        common = _common(settings)
        perceptron = checked_settings(settings, {"activation": str, "hidden": list}, "the perceptron")
        if perceptron["activation"] not in ("tanh", "relu"):
            raise BadInput(
                f"The activation of the saved perceptron is {perceptron['activation']!r}", available="tanh, relu"
            )
        units = [checked_whole(size, "a hidden layer", MOST_UNITS) for size in perceptron["hidden"][:MOST_LAYERS]]
        sizes = [common["inputs"], *units, common["outputs"]]
        shapes: dict[str, tuple[int, ...]] = {}
        for index, (before, after) in enumerate(pairwise(sizes)):
            shapes |= {f"weight.{index}": (before, after), f"bias.{index}": (after,)}
        network_tensors = checked_tensors(tensors, shapes, common["precision"])
        number = len(sizes) - 1
        weights = [network_tensors[f"weight.{depth}"][None] for depth in range(number)]
        # As in training: rounding depends on how numbers lie in memory.
        weights[-1] = weights[-1].mT.contiguous().mT
        network = StackedMLP(
            weights, [network_tensors[f"bias.{depth}"][None, None] for depth in range(number)], perceptron["activation"]
        )
        return cls(network, sizes[0], sizes[-1], *_read_ways(common))


class ModuleModel(NetworkModel):
    """A trained module of the user's own; only its weights are kept, and the module is given again to read them."""

    kind: ClassVar[str] = "module"
    network: StackedModule
    factory: str = ""
    arguments: Mapping[str, Any] | None = None
    needs_module = True

    def kind_settings(self) -> dict[str, Any]:
        """Return what the factory is called, and its further arguments where JSON can write them (else None)."""
        return {"factory": self.factory, "arguments": self.arguments}

    def base_tensors(self) -> dict[str, NDArray[Any]]:
        """Return parameters and buffers by the names that the module has for them."""
        named = zip(self.network.names, self.network.values, strict=True)
        return {f"module.{name}": array_of(value[0]) for name, value in named}

    @classmethod
    def of_module(
        cls, stack: Stack, values: Sequence[torch.Tensor], module: Any, factory: str, arguments: Mapping[str, Any]
    ) -> Self:
        """Return the module of a trial of a stack: a fresh one of its kind, with the values at the chosen epoch."""
        dtype = dtype_of(stack.settings)
        network = StackedModule([module], dtype=dtype, device="cpu")
        network.set_values([value.detach().cpu()[None] for value in values])
        network.training(False)
        with stack.torch.no_grad():
            output, _ = network(stack.inputs[:1].cpu()[None])
        model = cls(network, int(stack.inputs.shape[1]), int(output.shape[2]), *_ways(stack))
        model.factory, model.arguments = factory, as_json(arguments)
        return model

    @classmethod
    def restore_base(cls, settings: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], module: Any) -> Self:
        """Make the module again by its factory, and give it the weights."""
        common = _common(settings)
        factory, arguments = str(settings.get("factory")), settings.get("arguments")
        built = module_of(module, (common["inputs"], common["outputs"]), factory, arguments)
        network = StackedModule([built], dtype=dtype_of(Settings(precision=common["precision"])), device="cpu")
        shapes = {
            f"module.{name}": tuple(value.shape[1:]) for name, value in zip(network.names, network.values, strict=True)
        }
        network_tensors = checked_tensors(tensors, shapes, None)
        kinds = [value.dtype for value in network.values]
        network.set_values(
            [network_tensors[f"module.{name}"].to(kind)[None] for name, kind in zip(network.names, kinds, strict=True)]
        )
        model = cls(network, common["inputs"], common["outputs"], *_read_ways(common))
        model.factory, model.arguments = factory, arguments if isinstance(arguments, Mapping) else None
        return model


def module_of(module: Any, arguments_given: tuple[int, ...], factory: str, arguments: Any) -> torch.nn.Module:
    """Return the network of a saved model of the user's own: a module as it is, or what a factory makes of ``given``.

    ``factory`` is what the factory of the training was called, and ``arguments`` are its further ones.
    """
    library = require("torch", extra="train", purpose="A trained network")
    if module is None:
        raise BadInput(
            f"The model is a module of {factory}, of which a file holds the weights and not the code", help=GIVE_MODULE
        )
    network = module
    if not isinstance(module, library.nn.Module):
        if not isinstance(arguments, Mapping):
            raise BadInput(
                f"The arguments of {factory} could not be written down", help="give a module that was made with them."
            )
        try:
            network = module(*arguments_given, **arguments)
        except Exception as error:  # the user's code may raise anything
            raise BadInput(
                f"The factory failed with {listing(arguments_given)} and {dict(arguments)!r} ({describe_error(error)})",
                help=GIVE_MODULE,
            ) from error
    if not isinstance(network, library.nn.Module):
        raise BadInput(
            f"The factory returned {type(network).__name__}", available="a torch.nn.Module", help=GIVE_MODULE
        )
    built: torch.nn.Module = network
    return built


def as_json(arguments: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return arguments where JSON says all of them, None otherwise."""
    try:
        written = json.loads(json.dumps(arguments, allow_nan=False))
    except (TypeError, ValueError):
        return None
    return arguments if written == dict(arguments) else None


def _ways(stack: Stack) -> tuple[str, Scale, str]:
    """Return the task, the scale of targets and the precision of a stack."""
    return stack.task, stack.scale, stack.settings.precision


def _read_ways(common: Mapping[str, Any]) -> tuple[str, Scale, str]:
    return common["task"], Scale(float(common["mean"]), float(common["spread"])), common["precision"]


def _common(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Check the settings that all networks have."""
    kinds: dict[str, Any] = {
        "task": str, "inputs": int, "outputs": int, "precision": str, "mean": (int, float), "spread": (int, float),
    }  # fmt: skip
    network_settings = checked_settings(settings, kinds, "the network")
    for name in ("inputs", "outputs"):
        checked_whole(network_settings[name], name, MOST_UNITS)
    if network_settings["task"] not in get_args(Task) or network_settings["precision"] not in PRECISIONS:
        raise BadInput(
            f"The saved network has the task {network_settings['task']!r} and the precision "
            f"{network_settings['precision']!r}",
            available=f"{listing(get_args(Task))}; {', '.join(PRECISIONS)}",
        )
    if not (
        math.isfinite(network_settings["mean"])
        and math.isfinite(network_settings["spread"])
        and network_settings["spread"] > 0
    ):
        raise BadInput(
            f"The scale of the saved network is {network_settings['mean']!r}, {network_settings['spread']!r}"
        )
    return network_settings


def checked_whole(value: Any, role: str, most: int) -> int:
    """Return a whole number of a saved network; one below 1 or above ``most`` is refused."""
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise BadInput(f"The saved network has {value!r} as {role}", available=f"a whole number from 1 to {most:,}")
    return value


def checked_tensors(
    tensors: Mapping[str, NDArray[Any]], shapes: Mapping[str, tuple[int, ...]], precision: str | None
) -> dict[str, torch.Tensor]:
    """Return tensors of exactly these names and shapes; anything more, less or other is refused."""
    torch = require("torch", extra="train", purpose="A trained network")
    absent, strange = sorted(set(shapes) - set(tensors)), sorted(set(tensors) - set(shapes))
    if absent or strange:
        wrong = f"lack {absent[0]!r}" if absent else f"have {strange[0]!r}, which the network does not have"
        raise BadInput(
            f"The saved weights {wrong}",
            available="the weights of this network",
            help="give load_model(DIR, module=...) the network that was trained, or save the model again.",
        )
    for name, shape in shapes.items():
        has = tensors[name]
        if has.shape != shape or has.dtype.kind not in "fiub":
            raise BadInput(
                f"The saved weights {name!r} have the shape {has.shape} ({has.dtype})", available=f"the shape {shape}"
            )
        if has.dtype.kind == "f" and not np.isfinite(has).all():
            raise BadInput(f"The saved weights {name!r} are not all finite numbers")
    dtype = None if precision is None else dtype_of(Settings(precision=precision))  # type: ignore[arg-type]
    return {name: torch.from_numpy(np.array(tensors[name])).to(dtype=dtype) for name in shapes}


def array_of(value: torch.Tensor) -> NDArray[Any]:
    """Return a copy of a tensor that a file can take."""
    values: NDArray[Any] = np.array(value.detach().cpu().numpy(), order="C")
    return values
