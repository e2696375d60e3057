"""What a treatment does while networks train: one contract for every learner and backend.

Tensors begin ``[trial, row]``; a lone network is a stack of one, of which they are a view. Nothing mixes trials. Inside
a step shapes are static and nothing waits for the device: a step may be recorded once and replayed.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput, listing
from equipoise.training._dataset import Settings

if TYPE_CHECKING:
    import torch

    from equipoise.training.metric._mining import UniformNumbers
    from equipoise.training.metric._objective import MetricRecipe

# The network with its outputs, as ``moved`` and ``Leaves`` name it; the parts of callbacks have names of their own.
NETWORK = "network"
# The name of the last hidden layer, as ``TrainingContext.layer`` takes it.
LAST = "last"
# The phase of a callback that does the same in every epoch.
EVERY_EPOCH = "all"


@dataclass(frozen=True)
class OwnRecipe:
    """An optimiser of a treatment's own ("sgd" or "adam"), at a constant rate; ``longer`` multiplies the epochs."""

    optimiser: str
    learning_rate: float
    weight_decay: float
    longer: float = 1.0

    def epochs(self, number: int) -> int:
        """Return the epochs in place of the learner's."""
        return max(round(self.longer * number), 1)


@dataclass(frozen=True, eq=False)
class Part:
    """What is trained beside the network, by the same backward pass: tensors ``[trial, ...]``, or a layer.

    ``rate`` and ``decay`` (one number, or one per trial) are those of Adam; a part without a rate moves as the network
    does. ``layer`` is what ``TrainingContext.linear`` made; called with ``[trial, row, input]`` it returns
    ``[trial, row, output]``. Its ``tensors`` are those of one network where only one is trained.
    """

    tensors: Sequence[torch.Tensor]
    rate: float | Sequence[float] | None = None
    decay: float | Sequence[float] = 0.0
    layer: Any = None

    def __call__(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return what the layer makes of its inputs."""
        tensor: torch.Tensor = self.layer(inputs)
        return tensor


@dataclass(frozen=True, eq=False)
class TrainingContext:
    """What networks that train together have in common, as a callback sees it.

    Parameters
    ----------
    seeds : tuple of int
        One per trial.
    width : int
        Of the last hidden layer or, in metric learning, of the embedding; 0 where the network shows none.
    classes, groups : tuple of str
        Their names; groups are crossed where there are several columns.
    target, cell, group : tensor of shape (n_trials, n_rows)
        Class codes (or numbers), class codes (or quarters of a regression), and group codes of the training rows.
    batch_size : int
        Rows per step.
    settings : Settings
        Precision, device and rounding.
    linear : callable
        ``linear(name, inputs, outputs)`` returns a ``Part`` with a linear layer for each trial, whose first values
        depend on the trial's seed.
    layer : callable
        ``layer(name)`` returns the shape of what a layer of the network gives for one row, and puts it into every batch
        from then on (``Batch.layer(name)``). ``LAST`` is the last hidden layer; a name that the network has not is
        refused with those that it has.
    features : int
        The width of what is under the layer that gives the outputs (or the embedding).
    epochs : int
        How long the networks train, at most.
    labels : tuple of str
        Where rows have several labels, their names: ``target`` is then ``[trial, row, label]``, and the only class is
        that of all rows.
    metric : MetricRecipe, optional
        In metric learning, how the embedding is trained: it makes another loss and miner of their kind.
    draws : UniformNumbers, optional
        In metric learning, the random numbers that miners draw by.
    attributes, values : tuples
        The group columns, not crossed, and the values of each.
    codes : tensor of shape (n_attributes, n_trials, n_rows), optional
        The value of each training row in each attribute, -1 where it is unknown.
    """

    seeds: tuple[int, ...]
    width: int
    classes: tuple[str, ...]
    groups: tuple[str, ...]
    target: torch.Tensor
    cell: torch.Tensor
    group: torch.Tensor
    batch_size: int
    settings: Settings
    linear: Callable[[str, int, int], Part]
    layer: Callable[[str], tuple[int, ...]]
    features: int = 0
    epochs: int = 0
    labels: tuple[str, ...] = ()
    metric: MetricRecipe | None = None
    draws: UniformNumbers | None = None
    attributes: tuple[str, ...] = ()
    values: tuple[tuple[str, ...], ...] = ()
    codes: torch.Tensor | None = None

    def numbers(self, values: Sequence[float]) -> torch.Tensor:
        """Return one number per trial, such as strengths, in the precision and on the device of the training."""
        import torch

        dtype = torch.float64 if self.settings.precision == "float64" else torch.float32
        return torch.tensor(list(values), dtype=dtype, device=self.group.device)


@dataclass(frozen=True, eq=False)
class Batch:
    """One batch of every trial; ``positions`` are positions in the trial's training rows.

    ``hidden`` is the last hidden layer, ``output`` what the network says (logits, or one number), ``loss`` the loss of
    each row and ``weight`` its weight (None where all weigh the same). Where the network shows no hidden layer,
    ``hidden`` is None: a treatment that requires one never meets that. In metric learning ``hidden`` and ``output`` are
    the embedding, and ``loss`` is None: anchors of pairs and triplets have one (``RowLosses``), and a row has none; nor
    has it a weight, by which it was drawn. ``features`` is what is under the layer that gives the outputs (or the
    embedding): inputs of a stack, what a backbone gives a single network. ``step`` numbers the batches of an epoch from
    0; a recorded step has it on the device. ``repeat`` numbers the steps on one batch from 0.
    """

    positions: torch.Tensor
    target: torch.Tensor
    cell: torch.Tensor
    group: torch.Tensor
    weight: Any
    hidden: Any
    output: torch.Tensor
    loss: Any
    features: Any = None
    step: Any = 0
    layers: Mapping[str, torch.Tensor] = field(default_factory=dict)
    repeat: int = 0

    def layer(self, name: str) -> Any:
        """Return what a layer gave, ``[trial, row, ...]``: the last hidden one, or one asked for before."""
        return self.hidden if name == LAST else self.layers[name]

    def mean(self, losses: torch.Tensor) -> torch.Tensor:
        """Return the weighted mean over rows of losses ``[trial, row]``."""
        return losses.mean(1) if self.weight is None else (losses * self.weight).mean(1)

    def detached(self) -> Batch:
        """Return the same without a way back to the network."""
        parts = {name: getattr(self, name) for name in ("hidden", "output", "loss", "features")}
        detached_parts: dict[str, Any] = {name: None if part is None else part.detach() for name, part in parts.items()}
        return Batch(
            self.positions,
            self.target,
            self.cell,
            self.group,
            self.weight,
            **detached_parts,
            step=self.step,
            layers={name: layer.detach() for name, layer in self.layers.items()},
            repeat=self.repeat,
        )

    def row_losses(self) -> RowLosses:
        """Return the losses of the rows with their cells and groups."""
        return RowLosses(self.loss, self.cell, self.group, self.weight)


@dataclass(frozen=True, eq=False)
class RowLosses:
    """The losses of a batch, ``[trial, row]``, and the cell, group and weight of the row that each belongs to.

    In metric learning they are those of anchors. ``mask`` tells which there are (None: all), as not every anchor is
    one of a triplet.
    """

    values: torch.Tensor
    cell: torch.Tensor
    group: torch.Tensor
    weight: Any = None
    mask: Any = None

    @property
    def weighed(self) -> torch.Tensor:
        """The losses times the weights of their rows."""
        weighed: torch.Tensor = self.values if self.weight is None else self.values * self.weight
        return weighed


class Leaves:
    """The parameters that a step may move, by part, as gradients see them: ``[trial, ...]``.

    The tensors of the parts in ``lone`` are those of one network, without the dimension of trials: it is added as a
    view.
    """

    def __init__(self, tensors: Mapping[str, Sequence[torch.Tensor]], lone: Container[str] = ()) -> None:
        self._tensors = {name: [tensor for tensor in many if tensor.requires_grad] for name, many in tensors.items()}
        self._lone = lone

    def all(self, names: Iterable[str]) -> list[torch.Tensor]:
        """Return the parameters of some parts."""
        return [tensor for name in names for tensor in self._tensors[name]]

    def gradients(self, loss: torch.Tensor, *names: str, again: bool = False) -> list[list[Any]]:
        """Return the gradients of losses ``[trial]`` in some parts, a list for each; None where a loss has none.

        ``again`` keeps the graph for another loss.
        """
        import torch

        leaf_gradients = torch.autograd.grad(loss.sum(), self.all(names), retain_graph=again, allow_unused=True)
        gradients = iter(leaf_gradients)
        return [[self._view(name, next(gradients)) for _ in self._tensors[name]] for name in names]

    def _view(self, name: str, gradient: Any) -> Any:
        return gradient[None] if gradient is not None and name in self._lone else gradient

    def set(self, name: str, gradients: Sequence[Any]) -> None:
        """Leave gradients where the optimiser of a part looks for them."""
        for leaf, gradient in zip(self._tensors[name], gradients, strict=True):
            leaf.grad = gradient[0] if gradient is not None and name in self._lone else gradient


class Optimiser(Protocol):
    """What moves parameters by the gradients that a step left in them."""

    def step(self) -> Any:
        """Move them once."""


class TrainingCallback:
    """The part of a treatment that acts while networks train. Override what it does, and nothing else.

    Of ``batches``, ``row_loss``, ``batch_loss``, ``combined_loss``, ``phase``, ``repeats`` and ``gradients`` a training
    has one owner each: treatments that claim the same one cannot be composed.
    """

    # Whether ``batches`` wants the loss of every training row.
    needs_row_losses: bool = False
    # How many steps are taken on each batch.
    repeats: int = 1
    # The names of its tensors that begin with the trial: only the rows of trials that go on are kept of them.
    per_trial: tuple[str, ...] = ()

    def parts(self) -> Mapping[str, Part]:
        """Return what is trained beside the network, by name."""
        return {}

    def begin(self, epoch: int) -> None:
        """Prepare an epoch (they count from 1), before its batches: tensors that steps read change in place."""

    def phase(self, epoch: int) -> str:
        """Name what happens in an epoch (they count from 1): each name is one kind of step."""
        return EVERY_EPOCH

    def eligible(self, epoch: int) -> bool:
        """Tell whether dev rows may choose an epoch: not one in which the treatment does not act yet."""
        return True

    def moved(self, phase: str) -> tuple[str, ...] | None:
        """Name the parts that move in a phase, ``NETWORK`` among them; None: all of them."""
        return None

    def batches(self, epoch: int, row_losses: torch.Tensor | None) -> torch.Tensor | None:
        """Return the batches of an epoch, ``[trial, batch, row]`` as places; None leaves the order to the trainer."""
        return None

    def before_step(self, batch: Batch) -> None:
        """Learn from a batch (its hidden layer detached) before the network does, as discriminators do."""

    def row_loss(self, output: torch.Tensor, target: torch.Tensor, group: torch.Tensor) -> torch.Tensor | None:
        """Return the loss of each row, ``[trial, row]``; None leaves it to the learner."""
        return None

    def batch_loss(self, batch: Batch) -> torch.Tensor | None:
        """Return the loss of each trial, ``[trial]``, where rows have none of their own; None leaves it to rows."""
        return None

    def anchor_losses(self, batch: Batch) -> RowLosses | None:
        """Return the losses of which ``batch_loss`` is made, for a treatment that combines them otherwise."""
        return None

    def combined_loss(self, losses: RowLosses) -> torch.Tensor | None:
        """Return the loss of each trial, ``[trial]``, made of those of rows or anchors otherwise than as their mean."""
        return None

    def penalty(self, batch: Batch) -> torch.Tensor | None:
        """Return what is added to the mean loss of each trial, ``[trial]``."""
        return None

    def objective(self, phase: str, batch: Batch, loss: torch.Tensor) -> torch.Tensor:
        """Return what each trial makes smaller in a phase, ``[trial]``; ``loss`` is the mean loss with penalties."""
        return loss

    def gradients(self, phase: str, batch: Batch, loss: torch.Tensor, leaves: Leaves) -> bool:
        """Leave gradients of its own in ``leaves`` and return True; False leaves it to the trainer."""
        return False

    def select_trials(self, trials: torch.Tensor) -> None:
        """Go on with these trials only (positions): the others have stopped. Layers of parts follow by themselves."""
        for name in self.per_trial:
            setattr(self, name, getattr(self, name)[trials])

    def state(self) -> dict[str, torch.Tensor]:
        """Return the tensors that change from step to step besides those of parts, for checkpoints."""
        return {}

    def restore(self, state: Mapping[str, torch.Tensor]) -> None:
        """Put back what ``state`` returned, in place."""
        for name, value in self.state().items():
            value.detach().copy_(state[name])

    def stored_arrays(self, trial: int, features: Mapping[str, NDArray[np.float32]]) -> dict[str, NDArray[Any]]:
        """Return what is kept of a trial of metric learning, by name, for reports and not to be released.

        ``features`` are what the embedding is made of, by split: of dev rows, and never of test rows.
        """
        return {}


def overridden(kind: type, base: type, method: str) -> bool:
    """Tell whether a class has a method of its own in place of the base's."""
    method_of_kind, plain = getattr(kind, method), getattr(base, method)
    return getattr(method_of_kind, "__func__", method_of_kind) is not getattr(plain, "__func__", plain)


@dataclass(frozen=True, eq=False)
class CallbackList(Sequence[TrainingCallback]):
    """The callbacks of a training as one: in order, with one owner for what only one can decide."""

    callbacks: tuple[TrainingCallback, ...] = ()
    parts: Mapping[str, Part] = field(init=False)
    # Which callbacks act at a moment: found once, because steps are short.
    _acting: Mapping[str, tuple[TrainingCallback, ...]] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_acting", {method: tuple(self._overriding(method)) for method in STEP_HOOKS})
        for method, decision in CLAIMS.items():
            check_one_decides((type(deciding).__name__ for deciding in self._overriding(method)), decision)
        parts: dict[str, Part] = {}
        for index, callback in enumerate(self.callbacks):
            for name, part in callback.parts().items():
                parts[name if name not in parts and name != NETWORK else f"{name} {index}"] = part
        object.__setattr__(self, "parts", parts)

    def _overriding(self, method: str) -> list[TrainingCallback]:
        """Return the callbacks that have a method of their own."""
        return [callback for callback in self.callbacks if overridden(type(callback), TrainingCallback, method)]

    def __len__(self) -> int:
        return len(self.callbacks)

    def __getitem__(self, index: Any) -> Any:
        return self.callbacks[index]

    @property
    def repeats(self) -> int:
        """How many steps are taken on each batch."""
        return max((callback.repeats for callback in self.callbacks), default=1)

    def begin(self, epoch: int) -> None:
        """Prepare an epoch."""
        for callback in self.callbacks:
            callback.begin(epoch)

    def eligible(self, epoch: int) -> bool:
        """Tell whether dev rows may choose an epoch."""
        return all(callback.eligible(epoch) for callback in self.callbacks)

    def phase(self, epoch: int) -> str:
        """Return what happens in an epoch."""
        return next((callback.phase(epoch) for callback in self._overriding("phase")), EVERY_EPOCH)

    def moved(self, phase: str) -> tuple[str, ...]:
        """Name the parts that move in a phase."""
        named = [moved for callback in self.callbacks if (moved := callback.moved(phase)) is not None]
        if not named:
            return (NETWORK, *self.parts)
        # A part of a callback that says nothing of phases moves in all of them.
        silent = [name for callback in self.callbacks if callback.moved(phase) is None for name in callback.parts()]
        return (*named[0], *silent)

    def batches(self, epoch: int, row_losses: Callable[[], torch.Tensor]) -> torch.Tensor | None:
        """Return the batches that a treatment makes, if one does; ``row_losses`` is called where they are wanted."""
        offers = (
            callback.batches(epoch, row_losses() if callback.needs_row_losses else None) for callback in self.callbacks
        )
        return next((batches for batches in offers if batches is not None), None)

    def row_loss(self, output: torch.Tensor, target: torch.Tensor, group: torch.Tensor) -> torch.Tensor | None:
        """Return the loss of each row where a treatment has one of its own."""
        offers = (callback.row_loss(output, target, group) for callback in self.callbacks)
        return next((losses for losses in offers if losses is not None), None)

    @property
    def by_batch(self) -> bool:
        """Whether the loss is one of batches, and rows have none."""
        return bool(self._acting["batch_loss"])

    def total(self, phase: str, batch: Batch) -> torch.Tensor:
        """Let callbacks learn from a batch; return what each trial makes smaller, ``[trial]``."""
        loss = self._loss(batch)
        learners = self._acting["before_step"]
        view = batch.detached() if learners else batch
        for callback in self.callbacks:
            if callback in learners:
                callback.before_step(view)
            penalty = callback.penalty(batch)
            loss = loss if penalty is None else loss + penalty
        for callback in self._acting["objective"]:
            loss = callback.objective(phase, batch, loss)
        return loss

    def _loss(self, batch: Batch) -> torch.Tensor:
        """Return the loss of each trial before penalties."""
        if self._acting["combined_loss"]:
            anchors = (callback.anchor_losses(batch) for callback in self.callbacks)
            losses = next((rows for rows in anchors if rows is not None), None) or batch.row_losses()
            offers = (callback.combined_loss(losses) for callback in self.callbacks)
        else:
            offers = (callback.batch_loss(batch) for callback in self.callbacks)
        loss = next((total for total in offers if total is not None), None)
        return batch.mean(batch.loss) if loss is None else loss

    def backward(self, phase: str, batch: Batch, leaves: Leaves) -> torch.Tensor:
        """Leave the gradients of a batch in the parameters that move; return what each trial makes smaller."""
        loss = self.total(phase, batch)
        if not any(callback.gradients(phase, batch, loss, leaves) for callback in self._acting["gradients"]):
            # What the other parts would get is not even computed.
            summed: Any = loss.sum()
            summed.backward(inputs=leaves.all(self.moved(phase)))
        return loss.detach()

    def descend(
        self, phase: str, batch: Batch, leaves: Leaves, optimisers: Mapping[str, Optimiser]
    ) -> torch.Tensor:  # fmt: skip
        """Take a step with a batch: move what moves in a phase; return what each trial made smaller by it."""
        loss = self.backward(phase, batch, leaves)
        for name in self.moved(phase):
            optimisers[name].step()
        return loss

    def state(self) -> dict[str, torch.Tensor]:
        """Return what callbacks remember."""
        return {
            f"{index}.{name}": value
            for index, callback in enumerate(self.callbacks)
            for name, value in callback.state().items()
        }

    def restore(self, state: Mapping[str, torch.Tensor]) -> None:
        """Put back what callbacks remembered."""
        for index, callback in enumerate(self.callbacks):
            start = f"{index}."
            callback.restore(
                {name.removeprefix(start): value for name, value in state.items() if name.startswith(start)}
            )


STEP_HOOKS = ("batch_loss", "combined_loss", "before_step", "objective", "gradients")
CLAIMS = {
    "batches": "batches",
    "row_loss": "loss of a row",
    "batch_loss": "loss of a batch",
    "combined_loss": "way losses of rows become that of a batch",
    "phase": "phases of training",
    "repeats": "steps on each batch",
    "gradients": "gradients",
}


def callbacks_of(
    treatments: Sequence[Sequence[Any]],
    context: Callable[[], TrainingContext],
    learner: Callable[[TrainingContext], TrainingCallback] | None = None,
) -> CallbackList:
    """Make what acts during training: the learner's own callback, then one for each kind of treatment, for all trials.

    ``treatments`` are those of each trial, in order; the context is made only where something acts.
    """
    from equipoise.training._preparation import overrides

    acting = bool(overrides(treatments[0], "during"))
    if not acting and learner is None:
        return CallbackList()
    training_context = context()
    learner_callbacks = [] if learner is None else [learner(training_context)]
    callbacks = (
        (type(of_one_kind[0]).during(of_one_kind, training_context) for of_one_kind in zip(*treatments, strict=True))
        if acting
        else ()
    )
    return CallbackList((*learner_callbacks, *(callback for callback in callbacks if callback is not None)))


def check_one_decides(names: Iterable[str], decision: str) -> None:
    """Refuse two treatments that decide the same."""
    names = list(names)
    if len(names) > 1:
        raise BadInput(
            f"Two treatments of a trial both decide the {decision} ({listing(names)})",
            available="one at most",
            help="use one of them.",
        )


def recipe_of_treatments(treatments: Sequence[Any]) -> OwnRecipe | None:
    """Return the optimiser and length of training that a treatment has of its own; two are refused."""
    recipes = {
        type(treatment).__name__: recipe for treatment in treatments if (recipe := treatment.recipe()) is not None
    }
    check_one_decides(recipes, "optimiser")
    return next(iter(recipes.values()), None)


def outputs_of(treatments: Sequence[Any], classes: int, groups: int) -> int:
    """Return how many outputs a network of classes has: one for each class, or what a treatment asks for."""
    counts_by_treatment = {
        type(treatment).__name__: output_count
        for treatment in treatments
        if (output_count := treatment.outputs(classes, groups)) is not None
    }
    check_one_decides(counts_by_treatment, "outputs")
    return next(iter(counts_by_treatment.values()), classes)
