"""A user's own torch network, trained as the perceptron is: Adam, early stopping, every treatment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from equipoise.cohorts import Task
from equipoise.foundation import BadInput, learner, require
from equipoise.networks import StackedModule, trains_alone, uses_random_numbers
from equipoise.training._compatibility import NETWORK_OFFERS, Need
from equipoise.training._dataset import EncodedDataset, Outcome, Settings
from equipoise.training._learner import Learner, Report, flat_width, size_for
from equipoise.training._losses import FOR_LABELS
from equipoise.training._models import FittedModel
from equipoise.training._named_objects import (
    FILE_FORM,
    FORM,
    VERSION,
    build_network,
    display_name,
    factory_of,
    name_of,
    name_parts,
    plain_value,
    portable_name,
    source_hash,
)
from equipoise.training._network_models import ModuleModel
from equipoise.training._numerics import DRAWS, dtype_of, is_jittered
from equipoise.training._parameters import FreeParameter, Table
from equipoise.training._preparation import PreparedJob
from equipoise.training._seeding import fix_seeds
from equipoise.training._stack import Stack
from equipoise.training._stack_backend import StackedNetworks, fit_stack
from equipoise.training.learners.mlp import PRECISIONS, RECIPE, REGRESSION, outputs_for, recipe_of

if TYPE_CHECKING:
    import torch

FACTORY_FORMS = f"factory(features, classes) that returns a torch module, by {FORM} or {FILE_FORM}, or as an object"


@learner("module", paper="field", extra="train")
class Module(Learner):
    """A torch module of your own, made by factory(features, classes), that returns logits or (logits, hidden)."""

    parameters: ClassVar[Table] = {
        "factory": FreeParameter("what makes the network", FACTORY_FORMS, grid=True),
        "settings": FreeParameter(
            "further arguments of the factory", 'names and values, such as {"width": 32}', grid=True
        ),
        "version": VERSION,
        **RECIPE,
    }
    for_regression: ClassVar[Mapping[str, Any]] = REGRESSION
    tasks: ClassVar[tuple[Task, ...]] = ("class", "regression", "multilabel")
    for_labels: ClassVar[Table] = FOR_LABELS
    offers: ClassVar[frozenset[Need]] = NETWORK_OFFERS | {Need.FLAT_INPUTS}
    precisions: ClassVar[tuple[str, ...]] = PRECISIONS
    model: ClassVar[type[FittedModel]] = ModuleModel

    @classmethod
    def with_defaults(cls, values: Mapping[str, Any], task: str = "class") -> dict[str, Any]:
        """Return all hyper-parameters; a factory is needed."""
        completed_values = super().with_defaults(values, task)
        completed_values["settings"] = dict(completed_values["settings"] or {})
        if isinstance(completed_values["factory"], str):
            name_parts(completed_values["factory"], "factory")
        elif not callable(completed_values["factory"]):
            raise BadInput(
                f"The factory of the learner module is {completed_values['factory']!r}", available=FACTORY_FORMS
            )
        return completed_values

    @classmethod
    def described(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Name a factory that was given as an object; a lambda or a closure has no name of its own."""
        factory_given = values["factory"]
        factory = portable_name(factory_given) if isinstance(factory_given, str) else name_of(factory_given, "factory")
        return {**values, "factory": factory, "settings": plain_value(values["settings"], "setting of a factory")}

    @classmethod
    def verify(cls, values: Mapping[str, Any]) -> None:
        """Import a factory that is named."""
        _factory(values)

    @classmethod
    def source(cls, values: Mapping[str, Any]) -> str | None:
        """Return a hash of the factory's source."""
        return source_hash(_factory(values))

    def stack_size(self, dataset: EncodedDataset, jobs: Sequence[PreparedJob], settings: Settings) -> int:
        """One where the module draws or keeps something, or cannot be mapped over trials; else as it is large."""
        torch = require("torch", extra="train", purpose="The learner module")
        pair = [_made(jobs[0], dataset, seed) for seed in (0, 1)]
        if trains_alone(pair[0]):
            return 1
        network = StackedModule(pair, dtype=dtype_of(settings), device="cpu")
        rows = torch.zeros((2, 2, dataset.train.inputs.shape[1]), dtype=dtype_of(settings))
        try:
            network(rows)
        except Exception:  # noqa: BLE001 - what vmap cannot do, a lone module can
            return 1
        numbers = sum(parameter.numel() for parameter in pair[0].parameters())
        return size_for(int(jobs[0].values["batch_size"]), numbers // max(rows.shape[2], 1), rows.shape[2], settings)

    def train(
        self, dataset: EncodedDataset, stack: Sequence[PreparedJob], settings: Settings, report: Report
    ) -> list[Outcome]:
        """Train the stack to its end."""
        if len(stack) > 1 and trains_alone(_made(stack[0], dataset, 0)):
            raise BadInput("The network draws random numbers or keeps statistics", available="one trial at a time")

        def build() -> Stack:
            modules = [_made(trial, dataset, trial.seed) for trial in stack]
            network = StackedModule(modules, dtype=dtype_of(settings), device=settings.device)
            fix_seeds(stack[0].seed)
            return Stack(network, stack, dataset, recipe_of(stack), settings)

        def model_of(trained: Stack, index: int, values: Sequence[torch.Tensor]) -> ModuleModel:
            trial = stack[index]
            factory_given = trial.values["factory"]
            factory = factory_given if isinstance(factory_given, str) else display_name(factory_given)
            module = _made(trial, dataset, trial.seed)
            return ModuleModel.of_module(trained, values, module, factory, trial.values["settings"])

        ended = fit_stack(build, dataset, settings, report, partial(StackedNetworks, model_of=model_of))
        if is_jittered(settings.rounding) and uses_random_numbers(_made(stack[0], dataset, 0)):
            return [replace(outcome, notes=(*outcome.notes, DRAWS)) for outcome in ended]
        return ended


def _made(trial: PreparedJob, dataset: EncodedDataset, seed: int) -> torch.nn.Module:
    """Build a trial's network, every seed fixed before."""
    factory = _factory(trial.values)
    outputs = outputs_for([trial], dataset)
    fix_seeds(seed)
    return build_network(factory, (flat_width(dataset, "module"), outputs), trial.values["settings"], FACTORY_FORMS)


def _factory(values: Mapping[str, Any]) -> Any:
    return factory_of(values["factory"], "factory", FACTORY_FORMS)
