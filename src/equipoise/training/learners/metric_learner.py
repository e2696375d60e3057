"""An embedding trained by a metric loss (paper 000): a head on frozen features, or a network on pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from equipoise.foundation import BadInput, learner, listing
from equipoise.networks import NETWORKS
from equipoise.training._compatibility import Need
from equipoise.training._dataset import EncodedDataset, Outcome, Settings
from equipoise.training._learner import Report, size_for
from equipoise.training._models import FittedModel
from equipoise.training._parameters import Choice, FreeParameter, OneOf, Parameter, Table, without_defaults
from equipoise.training._preparation import PreparedJob
from equipoise.training._seeding import fix_seeds
from equipoise.training._stack_backend import fit_stack
from equipoise.training.images._backbones import (
    AUGMENTATION,
    NO_BACKBONE,
    OPTIONS,
    BackboneLearner,
    NetworkName,
    check_options,
)
from equipoise.training.images._optimisation import SCHEDULES
from equipoise.training.images._pictures import check_pictures
from equipoise.training.images._side_by_side import side_by_side_of
from equipoise.training.metric._downstream import DOWNSTREAM, TRAINED, DownstreamLearner
from equipoise.training.metric._heads import head_stack
from equipoise.training.metric._models import EmbeddingModel
from equipoise.training.metric._objective import USUAL, check_recipe, recipe_of
from equipoise.training.metric._training import StackedEmbeddings, fit_networks, picture_values

# Hyper-parameters of backbones that were not always there.
LATER: Table = {
    "optimiser": Choice("how head and backbone move", "adam", ("adam", "sgd")),
    "momentum": Parameter("momentum of the steps of sgd", 0.9, 0.0, 0.5, 0.99, "linear", most=1.0),
    "schedule": Choice("schedule of the step size", "constant", SCHEDULES),
    **OPTIONS,
}


@learner("metric_learner", paper="000", extra="train")
class MetricLearning(DownstreamLearner, BackboneLearner):
    """An embedding by a metric loss: a linear head on frozen features, many together, or a network on pictures."""

    parameters: ClassVar[Table] = {
        "loss": OneOf("the loss", "margin", (), "metric_loss"),
        "miner": OneOf("what picks triplets; usual: the one of the loss's first preset", USUAL, (USUAL,), "miner"),
        "loss_values": FreeParameter("values of the loss", 'names and numbers, such as {"margin": 0.1}'),
        "miner_values": FreeParameter("values of the miner", 'names and numbers, such as {"floor": 0.4}'),
        "backbone": NetworkName(
            "what gives the head features; none: the inputs", NO_BACKBONE, (NO_BACKBONE, *NETWORKS)
        ),
        "frozen_norm": Choice("whether the normalisation of a backbone neither learns nor counts", False),
        "augmentation": AUGMENTATION,
        "embedding_size": Parameter("dimensions of the embedding", 128, 1, 16, 512, integer=True),
        "epochs": Parameter("passes through as many rows as there are training rows", 150, 1, 10, 200, integer=True),
        "batch_size": Parameter("rows per step", 128, 4, 32, 512, integer=True),
        "per_class": Parameter("rows of each class in a batch", 2, 1, 2, 8, integer=True),
        "learning_rate": Parameter("the largest step size", 3e-4, 1e-12, 1e-5, 1e-1),
        "weight_decay": Parameter("the weight of half the squared parameters in the loss", 4e-4, 0.0, 1e-6, 1e-2),
        "downstream": DOWNSTREAM,
        "trainings": TRAINED,
        **LATER,
    }  # fmt: skip
    network_option: ClassVar[str] = "backbone"
    later: ClassVar[Table] = LATER
    offers: ClassVar[frozenset[Need]] = frozenset({
        Need.ROWS, Need.ROW_WEIGHTS, Need.STEPS, Need.GROUP_LOSSES, Need.HIDDEN, Need.PAIR_LOSS, Need.FLAT_INPUTS,
        Need.EMBEDDING,
    })  # fmt: skip
    precisions: ClassVar[tuple[str, ...]] = ("float32", "tf32", "float64")
    model: ClassVar[type[FittedModel]] = EmbeddingModel

    @classmethod
    def with_defaults(cls, values: Mapping[str, Any], task: str = "class") -> dict[str, Any]:
        """Return all hyper-parameters; what does not go together is refused."""
        if task != "class":
            raise BadInput("The learner metric_learner learns from classes", available="a cohort with classes")
        completed_values = super().with_defaults(values, task)
        check_recipe(completed_values)
        if completed_values["frozen_norm"] and completed_values["backbone"] == NO_BACKBONE:
            raise BadInput(
                "frozen_norm = true was given, and no backbone: a head on features has no normalisation",
                available="frozen_norm = true with a backbone",
                help=f"leave it out, or choose backbone = {listing(repr(name) for name in NETWORKS)}.",
            )
        if completed_values["backbone"] != NO_BACKBONE:
            check_options(completed_values, cls.network_option)
        elif later_options := without_defaults({name: completed_values[name] for name in LATER}, LATER):
            name, value = next(iter(later_options.items()))
            raise BadInput(
                f"{name} = {value!r} was given, and no backbone: a head on features is trained by Adam at one rate",
                available=f"{name} with a backbone",
                help=f"leave it out, or choose backbone = {listing(repr(name) for name in NETWORKS)}.",
            )
        return completed_values

    def stack_size(self, dataset: EncodedDataset, jobs: Sequence[PreparedJob], settings: Settings) -> int:
        """Many heads where a step is small, few where its arithmetic is the limit; as many networks as fill a card."""
        values = jobs[0].values
        if values["backbone"] != NO_BACKBONE:
            return side_by_side_of(picture_values(jobs[0]), settings)
        return size_for(int(values["batch_size"]), int(values["embedding_size"]), _width(dataset), settings)

    def train(
        self, dataset: EncodedDataset, stack: Sequence[PreparedJob], settings: Settings, report: Report
    ) -> list[Outcome]:
        """Train the stack to its end."""
        if stack[0].values["backbone"] != NO_BACKBONE:
            _check_pictures(dataset)
            return fit_networks(dataset, stack, settings, report, version=self.version, named=self.named)
        _width(dataset)
        fix_seeds(stack[0].seed)
        recipe = recipe_of(stack)
        return fit_stack(
            lambda: head_stack(stack, dataset, recipe, settings), dataset, settings, report, StackedEmbeddings
        )


def _width(dataset: EncodedDataset) -> int:
    """Return how many features a row has; pictures need a backbone."""
    shape = dataset.train.inputs.shape
    if len(shape) != 2:
        raise BadInput(
            f"The learner metric_learner was given pictures ({' x '.join(map(str, shape[1:]))}) and no backbone",
            available="rows of numbers, or a backbone",
            help=f"backbone = {listing(repr(name) for name in NETWORKS)} takes pictures.",
        )
    return int(shape[1])


def _check_pictures(dataset: EncodedDataset) -> None:
    if dataset.train.inputs.ndim == 2:
        raise BadInput(
            "The learner metric_learner was given rows of numbers and a backbone for pictures",
            available="pictures, or no backbone",
            help='backbone = "none" trains a head on features.',
        )
    check_pictures(dataset.train.inputs, "the training rows")
