"""The multilayer perceptron of paper 001 (section 4.1 and appendix): tanh, Adam, stopped early on the dev rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

from equipoise.cohorts import Task
from equipoise.foundation import learner
from equipoise.networks import stacked_mlp
from equipoise.training._callback import outputs_of, recipe_of_treatments
from equipoise.training._compatibility import NETWORK_OFFERS, Need
from equipoise.training._dataset import EncodedDataset, Outcome, Settings
from equipoise.training._learner import Learner, Report, flat_width, size_for
from equipoise.training._losses import FOR_LABELS
from equipoise.training._models import FittedModel
from equipoise.training._network_models import MlpModel
from equipoise.training._numerics import dtype_of, product_precision
from equipoise.training._parameters import Choice, Parameter, Table
from equipoise.training._preparation import PreparedJob
from equipoise.training._seeding import fix_seeds
from equipoise.training._stack import Recipe, Stack
from equipoise.training._stack_backend import StackedNetworks, fit_stack
from equipoise.training.diverging._steppers import StackStepper, Stepper

RECIPE: Table = {
    "learning_rate": Parameter("the step size of Adam", 3e-3, 1e-12, 1e-4, 1e-1),
    "weight_decay": Parameter("the weight of half the squared parameters in the loss", 0.0, 0.0, 1e-6, 1e-1),
    "batch_size": Parameter("the most rows per step: batches are of equal size", 1024, 1, 32, 4096, integer=True),
    "epochs": Parameter("passes through the training rows, at most", 100, 1, 10, 200, integer=True),
    "patience": Parameter("epochs without a better one until training stops", 5, 1, 3, 20, integer=True),
}
PRECISIONS = ("float32", "tf32", "float64")
REGRESSION: Mapping[str, Any] = {"learning_rate": 7e-4, "weight_decay": 1e-3, "batch_size": 64}


@learner("mlp", paper="001", extra="train")
class MultilayerPerceptron(Learner):
    """The paper's perceptron: two hidden layers of 300 (one of 200 for a regression), tanh, Adam, early stopping."""

    parameters: ClassVar[Table] = {
        "layers": Parameter("hidden layers", 2, 0, 1, 4, "linear", integer=True, most=64),
        "width": Parameter("units of a hidden layer", 300, 1, 16, 1024, integer=True),
        "activation": Choice("what follows each hidden layer", "tanh", ("tanh", "relu")),
        **RECIPE,
    }
    for_regression: ClassVar[Mapping[str, Any]] = {**REGRESSION, "layers": 1, "width": 200}
    tasks: ClassVar[tuple[Task, ...]] = ("class", "regression", "multilabel")
    for_labels: ClassVar[Table] = FOR_LABELS
    offers: ClassVar[frozenset[Need]] = NETWORK_OFFERS | {Need.FLAT_INPUTS}
    precisions: ClassVar[tuple[str, ...]] = PRECISIONS
    model: ClassVar[type[FittedModel]] = MlpModel

    def stack_size(self, dataset: EncodedDataset, jobs: Sequence[PreparedJob], settings: Settings) -> int:
        """32 where a step is small, 2 where its arithmetic is the limit."""
        values = jobs[0].values
        units = int(values["width"]) * int(values["layers"])
        return size_for(int(values["batch_size"]), units, flat_width(dataset, "mlp"), settings)

    def train(
        self, dataset: EncodedDataset, stack: Sequence[PreparedJob], settings: Settings, report: Report
    ) -> list[Outcome]:
        """Train the stack to its end."""
        kind = partial(StackedNetworks, model_of=MlpModel.of_values)
        return fit_stack(lambda: built(dataset, stack, settings), dataset, settings, report, kind)

    @contextmanager
    def watched(self, dataset: EncodedDataset, settings: Settings) -> Iterator[Callable[[PreparedJob], Stepper]]:
        """Yield what builds a trial that goes on step by step."""
        with product_precision(settings):
            yield lambda trial: StackStepper(built(dataset, [trial], settings), dataset)


def built(dataset: EncodedDataset, stack: Sequence[PreparedJob], settings: Settings) -> Stack:
    """Build the perceptrons of a stack, every seed fixed before."""
    values = stack[0].values
    sizes = [flat_width(dataset, "mlp"), *[int(values["width"])] * int(values["layers"]), outputs_for(stack, dataset)]
    fix_seeds(stack[0].seed)
    network = stacked_mlp(
        sizes, [trial.seed for trial in stack], activation=values["activation"],
        dtype=dtype_of(settings), device=settings.device,
    )  # fmt: skip
    return Stack(network, stack, dataset, recipe_of(stack), settings)


def outputs_for(stack: Sequence[PreparedJob], dataset: EncodedDataset) -> int:
    """Return how many outputs the networks of a stack have."""
    if dataset.task != "class":
        return dataset.outputs
    return outputs_of(stack[0].treatments, len(dataset.classes), len(dataset.groups))


def recipe_of(stack: Sequence[PreparedJob]) -> Recipe:
    """Return how a stack is trained: by the hyper-parameters of its trials, or by a treatment's own optimiser.

    Where the network learns in some epochs only, a better one is waited for as many times as long.
    """
    values = stack[0].values
    recipes = [recipe_of_treatments(trial.treatments) for trial in stack]
    epochs = int(values["epochs"])
    return Recipe(
        epochs=epochs if recipes[0] is None else recipes[0].epochs(epochs),
        batch_size=int(values["batch_size"]),
        patience=int(values["patience"])
        * max((treatment.network_every for treatment in stack[0].treatments), default=1),
        rates=tuple(
            float(trial.values["learning_rate"]) if recipe is None else recipe.learning_rate
            for trial, recipe in zip(stack, recipes, strict=True)
        ),
        decays=tuple(
            float(trial.values["weight_decay"]) if recipe is None else recipe.weight_decay
            for trial, recipe in zip(stack, recipes, strict=True)
        ),
    )
