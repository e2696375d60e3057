"""One network in training: everything one step reads and writes stays where it is, so that the step can be recorded.

Orders, crops and rates of an epoch are written into fixed tensors when it begins; a step finds its place by a counter
on the device. Nothing in it depends on which other runs share the machine.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput, require
from equipoise.networks import EFFICIENTNET, layer_named
from equipoise.training._callback import (
    LAST,
    NETWORK,
    Batch,
    Leaves,
    OwnRecipe,
    Part,
    TrainingContext,
    callbacks_of,
)
from equipoise.training._dataset import EncodedDataset, Rows, Settings
from equipoise.training._losses import cross_entropy, label_loss, weights_of_trials
from equipoise.training._numerics import casting_of, dtype_of, is_jittered, jittered, layout_of
from equipoise.training._preparation import PreparedJob
from equipoise.training._recording import WARM_UP, Recorder
from equipoise.training._seeding import copies_of, device_keys, fix_seeds, seed_of
from equipoise.training._stack import context_of
from equipoise.training.images._backbones import (
    FirstLook,
    backbone,
    fill,
    first_look,
    is_deterministic,
    network_name,
)
from equipoise.training.images._optimisation import Descent, load, low_weights, optimiser_of, rates, state_of
from equipoise.training.images._pictures import (
    USUAL_SCALING,
    Crop,
    PictureInputs,
    PictureReader,
    Pictures,
    Scaling,
    View,
    check_pictures,
    full_precision,
)
from equipoise.training.images._tasks import HEAD, Classification, MakeTask

if TYPE_CHECKING:
    import torch
    from torch.utils.hooks import RemovableHandle

# The values of network and head, by part and name.
Weights = dict[str, dict[str, "torch.Tensor"]]
# How the names of what is remembered begin, in checkpoints.
OPTIMISER, CALLBACKS = "optimiser", "callbacks"
# What is noted where the steps of an own network are not recorded.
PLAIN = (
    "The steps of the network could not be recorded as a CUDA graph and were taken one by one, which is slower: {why}."
)
OUTSIDE = "it draws from Python's or numpy's generator"
# How parts of callbacks are called that are tensors and no layer.
SIDE_PART = "beside"


@dataclass(frozen=True)
class ImageRecipe:
    """How a network is trained: the learner's hyper-parameters, or the treatment's own where it has some."""

    network: Any
    epochs: int
    batch_size: int
    learning_rate: float
    schedule: str
    descent: Descent
    # The rate of what is under the head; None: the same.
    backbone_rate: float | None = None
    warm_up: float = 0.0


class Run:
    """One trial's network, its optimisers and the tensors of the epoch it is in.

    ``task`` says what the network is trained for; by default it tells classes.
    """

    def __init__(
        self, trial: PreparedJob, dataset: EncodedDataset, pictures: Pictures, settings: Settings, pieces: int = 1,
        task: MakeTask | None = None,
    ) -> None:  # fmt: skip
        self.torch = require("torch", extra="train", purpose="Training on pictures")
        self.trial, self.dataset, self.pictures, self.settings = trial, dataset, pictures, settings
        # A batch that does not fit is taken in so many pieces, whose gradients are added up.
        self.pieces = pieces
        self.view = View.of(trial.values, pictures.height, pictures.width)
        scaling = Scaling.of(pictures, trial.rows, dtype_of(settings), scaling_of(trial.values))
        self.inputs = PictureInputs(self.view, scaling, settings)
        name, channels = trial.values["network"], dataset.train.inputs.shape[3]
        network, features = backbone(trial.values, name, channels, self.view.sides[0], trial.seed)
        network = self._placed(network)
        # Of a network that nobody knows; None where its name says all.
        self.look: FirstLook | None = None
        if not is_deterministic(name):
            self.look = first_look(network, self._first_pictures(), self._features, network_name(name))
            features = self.look.features
        assert features is not None
        self.features = features
        self.task = (task or Classification)(trial, dataset, self.features)
        head = self.torch.nn.Linear(self.features, self.task.outputs)
        fill(trial.values, network, head)
        self.parts = {NETWORK: network, HEAD: self._placed(head)}
        self.reader = PictureReader(
            self.inputs,
            network,
            self.parts[HEAD],
            unit_length=self.task.unit_length,
            user_network=self.look is not None,
        )
        self.recipe = recipe_of(trial.values, self.task.recipe)
        self.rows = self._there(trial.rows)
        self.batch_size = min(self.recipe.batch_size, len(trial.rows))
        self.steps = len(trial.rows) // self.batch_size
        self._place_tensors()
        # What the layers gave that callbacks asked for, by name; hooks fill it.
        self._layer_outputs: dict[str, torch.Tensor] = {}
        self._hooks: list[RemovableHandle] = []
        self.callbacks = callbacks_of([trial.treatments], self._context, self.task.callback)
        self.task.callbacks = self.callbacks
        rates = {NETWORK: self.rate if self.recipe.backbone_rate is None else self.backbone_rate, HEAD: self.rate}
        # A network may have nothing that learns; then only what stands on it does.
        self.optimisers = {name: optimiser_of(part.parameters(), self.recipe.descent, rates[name])
                           for name, part in self.parts.items() if any(True for _ in part.parameters())}  # fmt: skip
        # What each part of a callback is called among the parts of the run.
        self._names: dict[str, str] = {}
        for name, part in self.callbacks.parts.items():
            self._add(name, part)

    def _add(self, name: str, part: Part) -> None:
        """Put a part of a callback where optimisers and checkpoints look for it."""
        lone = isinstance(part.layer, LoneLinear)
        number_beside = sum(name.startswith(SIDE_PART) for name in self._names.values())
        part_name = self._names[name] = name if lone else f"{SIDE_PART} {number_beside}"
        self.parts[part_name] = part.layer.module if lone else held_values(part.tensors)
        descent, rate = self.recipe.descent, self.rate
        if part.rate is not None:
            descent = Descent("adam", 0.0, only(part.decay))
            rate = self.torch.full_like(self.rate, only(part.rate))
        self.optimisers[part_name] = optimiser_of(self.parts[part_name].parameters(), descent, rate)

    def _placed(self, part: torch.nn.Module) -> torch.nn.Module:
        moved: Any = part.to(device=self.settings.device, dtype=dtype_of(self.settings)).train()
        placed: torch.nn.Module = moved.to(memory_format=layout_of(self.settings))
        return placed

    def _there(self, values: Any) -> torch.Tensor:
        tensor: torch.Tensor = self.torch.from_numpy(np.ascontiguousarray(values)).to(self.settings.device)
        return tensor

    def _place_tensors(self) -> None:
        """Make the tensors that steps read and write."""
        trial, train, torch = self.trial, self.dataset.train, self.torch
        assert train.target is not None
        assert train.group is not None
        samples = train.ids[trial.rows]
        self.ids, self.copies = self._there(samples), self._there(copies_of(samples))
        self.target, self.group = self._there(train.target[trial.rows]), self._there(train.group[trial.rows])
        self.cell = self.target
        if self.dataset.task == "multilabel":
            assert train.cell is not None
            self.cell = self._there(train.cell[trial.rows])
        label_weights = weights_of_trials([trial], self.dataset)
        self.label_weights = None if label_weights is None else self._there(label_weights).to(dtype_of(self.settings))
        weights = np.ones(len(trial.rows)) if trial.weights is None else trial.weights
        self.weight = self._there(weights / weights.mean()).to(dtype_of(self.settings))
        self.positions = torch.zeros((self.steps, self.batch_size), dtype=torch.int64, device=self.settings.device)
        self.crop = Crop.plain(self.ids)
        self.box = self.view.middle(self.ids)
        self.rates, self.backbone_rates = torch.zeros((2, self.steps), device=self.settings.device)
        self.rate, self.backbone_rate = (torch.zeros((), device=self.settings.device) for _ in range(2))
        self.counter = torch.zeros(1, dtype=torch.int64, device=self.settings.device)
        self.losses = torch.zeros(self.steps, device=self.settings.device)

    def _context(self) -> TrainingContext:
        """Return what callbacks see: a lone network is a stack of one."""

        def linear(name: str, inputs: int, outputs: int) -> Part:
            module = self._placed(self.torch.nn.Linear(inputs, outputs))
            return Part(list(module.parameters()), layer=LoneLinear(module, casting_of(self.settings)))

        def shape_of(name: str) -> tuple[int, ...]:
            return (self.task.width,) if name == LAST else self._record_layers(name)

        return context_of(
            [self.trial],
            self.dataset,
            self.settings,
            (self.target[None], self.cell[None], self.group[None]),
            width=self.task.width,
            batch_size=self.batch_size,
            linear=linear,
            layer=shape_of,
            features=self.features,
            epochs=self.recipe.epochs,
            **self.task.is_known,
        )

    def _record_layers(self, name: str) -> tuple[int, ...]:
        """Put what a layer of the network gives into every batch; return its shape for one row."""
        self._hooks.append(record_layer(self.parts[NETWORK], name, self._layer_outputs))
        self.read(self.dataset.train.inputs[:1])
        return tuple(self._layer_outputs.pop(name).shape[1:])

    def begin(self, epoch: int) -> None:
        """Write the order, the crops and the rates of an epoch (they count from 1)."""
        self.callbacks.begin(epoch)
        batches = self.callbacks.batches(epoch, self._all_row_losses)
        if batches is None:
            keys = device_keys(self.trial.seed, epoch, self.ids, self.copies, "order")
            # What does not fill a batch waits for another epoch's order.
            places = keys.argsort()[: self.steps * self.batch_size]
        else:
            places = batches[0].reshape(-1)
        if is_jittered(self.settings.rounding):
            job = self.trial.job
            places = self._there(jittered(places.cpu().numpy(), self.batch_size, job.seed, job.repeat, epoch))
        self.positions.copy_(places.view_as(self.positions))
        if self.view.augmentation is not False:
            self.crop.take(self.view.crop(self.trial.seed, epoch, self.ids, self.copies))
        if self.view.draws_boxes:
            self.box.take(self.view.box(self.trial.seed, epoch, self.ids, self.copies))
        self.rates.copy_(self._rates(self.recipe.learning_rate, epoch))
        if self.recipe.backbone_rate is not None:
            self.backbone_rates.copy_(self._rates(self.recipe.backbone_rate, epoch))
        self.counter.zero_()

    def _rates(self, peak: float, epoch: int) -> torch.Tensor:
        recipe, done = self.recipe, (epoch - 1) * self.steps
        step_rates = rates(recipe.schedule, peak, done, self.steps, self.steps * recipe.epochs, recipe.warm_up)
        return self._there(step_rates)

    def seed_draws(self, epoch: int) -> None:
        """Fix what the network itself draws in an epoch, so that a training that goes on from a checkpoint meets it."""
        if self.draws:
            fix_seeds(seed_of(self.trial.seed, "draws of a network", epoch))

    @property
    def draws(self) -> bool:
        """Whether the network draws random numbers while it trains."""
        return self.look is not None and self.look.uses_random_numbers

    def _all_row_losses(self) -> torch.Tensor:
        """Return the loss of every training row as the network is now, ``[1, row]``, without augmentation."""
        with self.torch.no_grad():
            outputs = self.read(self.dataset.train.inputs[self.trial.rows]).to(self.target.device)
            return self._row_losses(outputs[None], self.target[None], self.group[None])

    def step(self, phase: str) -> None:
        """Move the network by one batch, as many times as a treatment takes each."""
        places = self.positions.index_select(0, self.counter)[0]
        self.rate.copy_(self.rates.index_select(0, self.counter)[0])
        if self.recipe.backbone_rate is not None:
            self.backbone_rate.copy_(self.backbone_rates.index_select(0, self.counter)[0])
        loss = [self._moved_by(phase, places, repeat) for repeat in range(self.callbacks.repeats)][-1]
        self.losses.index_copy_(0, self.counter, loss.reshape(1).to(self.losses.dtype))
        self.counter.add_(1)

    def _moved_by(self, phase: str, positions: torch.Tensor, repeat: int) -> torch.Tensor:
        """Take one step; return its loss."""
        for part in self.parts.values():
            part.zero_grad(set_to_none=True)
        with self._low():
            loss = (self._gradients if self.pieces == 1 else self._in_pieces)(phase, positions, repeat)
        for name in self.moved(phase):
            if name in self.optimisers:
                self.optimisers[name].step()
        return loss

    def moved(self, phase: str) -> list[str]:
        """Name the parts that move in a phase."""
        named = [self._names.get(name, name) for name in self.callbacks.moved(phase)]
        return [part for name in named for part in ((NETWORK, HEAD) if name == NETWORK else (name,))]

    def _low(self) -> AbstractContextManager[None]:
        return low_weights(self.parts.values()) if self.settings.precision == "bfloat16" else nullcontext()

    def _gradients(self, phase: str, positions: torch.Tensor, repeat: int) -> torch.Tensor:
        """Leave the gradient of a batch in the parameters that move; return the loss."""
        return self.callbacks.backward(phase, self._batch(phase, positions, repeat), self._leaves())

    def _leaves(self) -> Leaves:
        part_leaves = {name: list(self.parts[part].parameters()) for name, part in self._names.items()}
        network = [leaf for name in (NETWORK, HEAD) for leaf in self.parts[name].parameters()]
        lone = {name for name, part in self._names.items() if not part.startswith(SIDE_PART)}
        return Leaves({NETWORK: network, **part_leaves}, lone | {NETWORK})

    def _batch(self, phase: str, positions: torch.Tensor, repeat: int) -> Batch:
        cut = self.pictures.crops(self.rows.index_select(0, positions), self.crop.of(positions))
        if self.view.resizes:
            cut = self.view.resized(cut, self.box.of(positions), dtype_of(self.settings))
        pictures = self.scaled_inputs(cut)
        target, cell, group, weight = (
            tensor.index_select(0, positions)[None] for tensor in (self.target, self.cell, self.group, self.weight)
        )
        # Where the network rests, no gradient goes back through it; batch statistics are those of training.
        with nullcontext() if NETWORK in self.callbacks.moved(phase) else self.torch.no_grad():
            features, output = (tensor[None] for tensor in self.features_and_outputs(pictures))
            losses = None if self.callbacks.by_batch else self._row_losses(output, target, group)
        hidden = self.task.hidden(features, output)
        layers = {name: layer[None] for name, layer in self._layer_outputs.items()}
        # A metric learner draws rows by their weights: they are not weighed a second time.
        weights = None if "metric" in self.task.is_known else weight
        return Batch(
            positions[None], target, cell, group, weights, hidden, output, losses, features, self.counter, layers,
            repeat,
        )  # fmt: skip

    def _row_losses(self, output: torch.Tensor, target: torch.Tensor, group: torch.Tensor) -> torch.Tensor:
        losses = self.callbacks.row_loss(output, target, group)
        if losses is None and self.dataset.task == "multilabel":
            return label_loss(output, target, self.label_weights)
        return cross_entropy(output, target) if losses is None else losses

    def features_and_outputs(self, pictures: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return features and outputs of pictures, in full precision."""
        return self.reader.features_and_outputs(pictures)

    def _features(self, network: Any, pictures: torch.Tensor) -> Any:
        """Return what a network makes of pictures, in the precision of the training."""
        with casting_of(self.settings)():
            return network(pictures)

    def _first_pictures(self) -> torch.Tensor:
        """Return two training pictures as a network sees them: a normalisation takes no single one while it trains."""
        return self.inputs.network_inputs(self.dataset.train.inputs[self.trial.rows[[0, -1]]])

    def scaled_inputs(self, pictures: torch.Tensor) -> torch.Tensor:
        """Return pictures as the network takes them."""
        return self.inputs.scaled(pictures)

    def read(self, inputs: NDArray[np.uint8]) -> torch.Tensor:
        """Return what is read of pictures, ``[row, output]``, with the batch statistics of training held fixed."""
        for part in self.parts.values():
            part.eval()
        with self.reader.mode():
            # They stay on the device until all are there: nobody waits between two parts.
            outputs = [self.task.read(*part).float() for part in self.reader.parts(inputs)]
        for part in self.parts.values():
            part.train()
        joined: torch.Tensor = self.torch.cat(outputs) if outputs else self.torch.zeros((0, self.task.numbers))
        return joined

    def _in_pieces(self, phase: str, positions: torch.Tensor, repeat: int) -> torch.Tensor:
        """Add up the gradients of the pieces of a batch, each by its share of the rows."""
        moving = [parameter for name in self.moved(phase) for parameter in self.parts[name].parameters()]
        summed: list[Any] = [None] * len(moving)
        total: torch.Tensor = self.torch.zeros((), device=self.settings.device)
        for piece in positions.tensor_split(self.pieces):
            for part in self.parts.values():
                part.zero_grad(set_to_none=True)
            share = len(piece) / len(positions)
            total = total + share * self._gradients(phase, piece, repeat)
            for at, parameter in enumerate(moving):
                if parameter.grad is not None:
                    added = share * parameter.grad
                    summed[at] = added if summed[at] is None else summed[at] + added
        for parameter, gradient in zip(moving, summed, strict=True):
            parameter.grad = gradient
        return total

    def tensors(self) -> dict[str, torch.Tensor]:
        """Return all that steps move, where it lies."""
        return {"counter": self.counter, "losses": self.losses, **self.state()}

    def state(self) -> dict[str, torch.Tensor]:
        """Return what the training has learnt and remembers, for checkpoints."""
        values: dict[str, torch.Tensor] = {}
        for name, part in self.parts.items():
            values |= {f"{name}.{key}": value for key, value in part.state_dict().items()}
            moments = state_of(self.optimisers[name]) if name in self.optimisers else {}
            values |= {f"{OPTIMISER}.{name}.{key}": value for key, value in moments.items()}
        return values | {f"{CALLBACKS}.{key}": value for key, value in self.callbacks.state().items()}

    def load(self, state: Mapping[str, torch.Tensor]) -> None:
        """Go on from what ``state`` returned."""

        def own(start: str) -> dict[str, torch.Tensor]:
            return {key.removeprefix(start): value for key, value in state.items() if key.startswith(start)}

        for name, part in self.parts.items():
            # In place: recorded steps and optimisers read the parameters where they are.
            part.load_state_dict({key: state[f"{name}.{key}"] for key in part.state_dict()})
            if name in self.optimisers:
                load(self.optimisers[name], own(f"{OPTIMISER}.{name}."))
        self.callbacks.restore(own(f"{CALLBACKS}."))

    def weights(self) -> Weights:
        """Return copies of what network and head have learnt and counted, by part and name."""
        parts = {part: self.parts[part].state_dict() for part in (NETWORK, HEAD)}
        return {part: {name: value.clone() for name, value in state.items()} for part, state in parts.items()}

    def reader_of(self, weights: Weights) -> PictureReader:
        """Return what reads pictures on the CPU with other weights; the training is over, and shows no layers more."""
        for hook in self._hooks:
            hook.remove()
        modules = {part: copy.deepcopy(self.parts[part]).cpu().eval() for part in weights}
        for part, values in weights.items():
            modules[part].load_state_dict(values)
        inputs = PictureInputs(self.view, self.inputs.scaling.on_cpu(), replace(self.settings, device="cpu"))
        reader = self.reader
        return PictureReader(
            inputs, modules[NETWORK], modules[HEAD], unit_length=reader.unit_length, user_network=reader.user_network
        )

    def phase(self, epoch: int) -> str:
        """Name the kind of step of an epoch."""
        return self.callbacks.phase(epoch)


class Steps:
    """The steps of one run: ``take(phase)`` is one of them; ``wait`` returns when all of them are done."""

    def __init__(self, run: Run, *, record: bool = True) -> None:
        self.run = run
        look = run.look
        record &= look is None or not look.uses_other_generators
        self._recorder = Recorder(run.settings.device, run.tensors, record=record, tolerant=look is not None)

    @property
    def note(self) -> str | None:
        """Why steps are plain ones on a card, where they are."""
        look, why = self.run.look, self._recorder.refusal
        if look is not None and look.uses_other_generators:
            why = OUTSIDE
        return PLAIN.format(why=why) if why and self._recorder.on_card else None

    def begin(self, epoch: int) -> None:
        """Prepare an epoch; its kind of step is recorded if it has not been."""
        run, phase = self.run, self.run.phase(epoch)
        with self._recorder.streamed():
            run.begin(epoch)
        self._recorder.record(phase, lambda: run.step(phase), min(WARM_UP, run.steps))
        run.seed_draws(epoch)

    def take(self, phase: str) -> None:
        """Take one step."""
        self._recorder.take(phase, lambda: self.run.step(phase))

    def again(self, phase: str) -> None:
        """Take the first step of the epoch once more, with the network as it is now."""
        with self._recorder.streamed():
            self.run.counter.zero_()
        self.take(phase)

    def wait(self) -> None:
        """Return when every step is done."""
        self._recorder.wait()


class LoneLinear:
    """A linear layer of one network, as callbacks see it: with the dimension of trials."""

    def __init__(self, module: torch.nn.Module, casting: Callable[[], AbstractContextManager[object]]) -> None:
        self.module, self._casting = module, casting

    def __call__(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return ``[1, row, output]``, in full precision."""
        with self._casting():
            outputs = self.module(inputs[0])
        return full_precision(outputs)[None]


def scaling_of(values: Mapping[str, Any]) -> str:
    """Return how the pixels of a trial become numbers: what its network expects, where nothing else is asked for."""
    name = str(values.get("scaling", USUAL_SCALING))
    if name != USUAL_SCALING:
        return name
    return "unit" if values["network"] == EFFICIENTNET else "training"


def record_layer(network: torch.nn.Module, name: str, layers: dict[str, torch.Tensor]) -> RemovableHandle:
    """Let a network write into ``layers`` what a layer gives, at every call until the handle is removed."""

    def keep(_part: Any, _entered: Any, left: Any) -> None:
        if not hasattr(left, "element_size"):
            raise BadInput(
                f"The layer {name!r} of the network gives {type(left).__name__}",
                available="a layer that gives one tensor, [row, ...]",
            )
        layers[name] = full_precision(left)

    handle: RemovableHandle = layer_named(network, name, "the network").register_forward_hook(keep)
    return handle


def held_values(tensors: Sequence[torch.Tensor]) -> torch.nn.Module:
    """Return a module whose parameters are these very tensors, which others go on reading."""
    import torch

    module = torch.nn.Module()
    for index, tensor in enumerate(tensors):
        # What torch takes for a parameter without making another tensor of it.
        tensor._is_param = True
        module.register_parameter(f"value{index}", tensor)  # type: ignore[arg-type, unused-ignore]
    return module


def only(values: float | Sequence[float]) -> float:
    """Return the number of the only trial."""
    return float(values) if isinstance(values, int | float) else float(values[0])


def recipe_of(values: dict[str, Any], treatment_recipe: OwnRecipe | None) -> ImageRecipe:
    """Return how a network is trained; a treatment's own optimiser has its own rate and goes on for longer.

    Where what is under the head has a rate of its own, it keeps its ratio to the learner's.
    """
    epochs, rate = int(values["epochs"]), values["learning_rate"]
    under = values.get("backbone_learning_rate")
    shared = {"network": values["network"], "batch_size": int(values["batch_size"])}
    if treatment_recipe is not None:
        return ImageRecipe(
            **shared, epochs=treatment_recipe.epochs(epochs), learning_rate=treatment_recipe.learning_rate,
            schedule="constant",
            descent=Descent(treatment_recipe.optimiser, values["momentum"], treatment_recipe.weight_decay),
            backbone_rate=None if under is None else treatment_recipe.learning_rate * under / rate,
        )  # fmt: skip
    return ImageRecipe(
        **shared, epochs=epochs, learning_rate=rate, schedule=values["schedule"],
        descent=Descent(values.get("optimiser", "sgd"), values["momentum"], values["weight_decay"]),
        backbone_rate=under, warm_up=float(values.get("warm_up", 0.0)),
    )  # fmt: skip


def logits_of(run: Run, rows: Rows, source: str) -> NDArray[np.float32]:
    """Return the outputs of every row, ``[row, output]``; the network is as it is, its batch statistics fixed."""
    check_pictures(rows.inputs, source)
    if rows.inputs.shape[1:] != run.dataset.train.inputs.shape[1:]:
        raise BadInput(
            f"The pictures of {source} have the shape {rows.inputs.shape[1:]}, and those of the training rows "
            f"{run.dataset.train.inputs.shape[1:]}",
            available="one size and number of channels for all",
        )
    read: NDArray[np.float32] = run.read(rows.inputs).cpu().numpy()
    return read
