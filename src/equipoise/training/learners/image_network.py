"""A network trained on pictures: as in paper 004 (after Wang et al. 2020) by default, or pretrained, or one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from equipoise.cohorts import Task
from equipoise.foundation import BadInput, learner
from equipoise.networks import NETWORKS
from equipoise.training._compatibility import NETWORK_OFFERS, Need
from equipoise.training._dataset import EncodedDataset, Outcome, Rows, Settings
from equipoise.training._learner import Report
from equipoise.training._losses import FOR_LABELS
from equipoise.training._models import FittedModel
from equipoise.training._numerics import product_precision
from equipoise.training._parameters import Choice, Parameter, Table
from equipoise.training._prediction import codes_of
from equipoise.training._preparation import PreparedJob
from equipoise.training.diverging._steppers import ModuleStepper, Stepper
from equipoise.training.images._backbones import AUGMENTATION, OPTIONS, BackboneLearner, NetworkName, check_options
from equipoise.training.images._models import PictureModel
from equipoise.training.images._optimisation import SCHEDULES
from equipoise.training.images._pictures import Pictures, check_pictures
from equipoise.training.images._run import Run, logits_of
from equipoise.training.images._side_by_side import fit_pictures, side_by_side_of

if TYPE_CHECKING:
    import torch

# Hyper-parameters that were not always there.
LATER: Table = {
    "optimiser": Choice("how parameters move", "sgd", ("sgd", "adam")),
    "frozen_norm": Choice("whether batch normalisations neither learn nor count", False),
    **OPTIONS,
}


@learner("image_network", paper="004", extra="train")
class ImageNetwork(BackboneLearner):
    """A network on pictures (a ResNet, a pretrained one or your own), several runs side by side on one GPU."""

    parameters: ClassVar[Table] = {
        "network": NetworkName("the network", "resnet18", NETWORKS),
        "epochs": Parameter("passes through the training rows", 200, 1, 5, 200, integer=True),
        "batch_size": Parameter(
            "pictures per step; an incomplete batch waits for the next epoch", 128, 1, 32, 1024, integer=True
        ),
        "learning_rate": Parameter("the largest step size", 0.1, 1e-12, 1e-3, 1.0),
        "momentum": Parameter("momentum of the gradient steps", 0.9, 0.0, 0.5, 0.99, "linear", most=1.0),
        "weight_decay": Parameter("the weight of half the squared parameters in the loss", 5e-4, 0.0, 1e-6, 1e-2),
        "schedule": Choice("schedule of the step size", "steps", SCHEDULES),
        "augmentation": AUGMENTATION,
        **LATER,
    }
    network_option: ClassVar[str] = "network"
    later: ClassVar[Table] = LATER
    tasks: ClassVar[tuple[Task, ...]] = ("class", "multilabel")
    for_labels: ClassVar[Table] = FOR_LABELS
    offers: ClassVar[frozenset[Need]] = NETWORK_OFFERS
    takes_pictures: ClassVar[bool] = True
    precisions: ClassVar[tuple[str, ...]] = ("float32", "tf32", "bfloat16", "float64")
    model: ClassVar[type[FittedModel]] = PictureModel

    @classmethod
    def with_defaults(cls, values: Mapping[str, Any], task: str = "class") -> dict[str, Any]:
        """Return all hyper-parameters; what does not go together is refused."""
        completed_values = super().with_defaults(values, task)
        check_options(completed_values, cls.network_option)
        return completed_values

    def stack_size(self, dataset: EncodedDataset, jobs: Sequence[PreparedJob], settings: Settings) -> int:
        """As many as fill the device."""
        return side_by_side_of(jobs[0].values, settings)

    @contextmanager
    def watched(self, dataset: EncodedDataset, settings: Settings) -> Iterator[Callable[[PreparedJob], Stepper]]:
        """Yield what builds a trial that goes on step by step."""
        with product_precision(settings):
            pictures = Pictures(dataset.train.inputs, settings.device)
            yield lambda trial: picture_stepper(trial, dataset, pictures, settings)

    def train(
        self, dataset: EncodedDataset, stack: Sequence[PreparedJob], settings: Settings, report: Report
    ) -> list[Outcome]:
        """Train the stack to its end."""
        if dataset.task not in self.tasks:
            raise BadInput(
                "The learner image_network predicts classes or several labels",
                available="a cohort with classes, or with a column for each label",
            )
        check_pictures(dataset.train.inputs, "the training rows")
        return fit_pictures(
            dataset, stack, settings, report, version=self.version, names=lambda trial: self.described(trial.values)
        )


# Dev pictures, at most, whose outputs are compared.
ROWS_COMPARED = 1_000


def picture_stepper(
    trial: PreparedJob, dataset: EncodedDataset, pictures: Pictures, settings: Settings
) -> ModuleStepper:
    """Build a trial's network, every seed fixed before, as one that goes on step by step through its epochs.

    Its steps are eager, so that every layer can be looked into.
    """
    run = Run(trial, dataset, pictures, settings)
    dev = _first(dataset.dev)
    taken = 0

    def step() -> torch.Tensor:
        nonlocal taken
        epoch, step_index = divmod(taken, run.steps)
        if step_index == 0:
            run.begin(epoch + 1)
            run.seed_draws(epoch + 1)
        run.step(run.phase(epoch + 1))
        taken += 1
        loss: torch.Tensor = run.losses[step_index]
        return loss

    def predictions() -> torch.Tensor:
        return codes_of(run.torch.from_numpy(logits_of(run, dev, "the dev rows")), dataset.task)

    return ModuleStepper(run.parts, step, predictions if len(dev) else None)


def _first(rows: Rows) -> Rows:
    return replace(rows, inputs=rows.inputs[:ROWS_COMPARED], ids=rows.ids[:ROWS_COMPARED])
