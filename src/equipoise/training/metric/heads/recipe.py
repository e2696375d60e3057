"""How an embedding is trained by a metric loss: loss and miner by name, batches, and the rates of every trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from equipoise.foundation import BadInput, registry
from equipoise.training.metric.loss import MetricLoss
from equipoise.training.metric.miner import Miner
from equipoise.training.metric.presets import make_loss, make_miner, make_sampler
from equipoise.training.metric.sampler import Sampler
from equipoise.training.preparing import Prepared
from equipoise.training.stack_parts import Recipe

# The word for the miner that the first preset of a loss has, or for none where the loss needs none.
USUAL = "usual"
SAMPLER = "samples_per_class"


@dataclass(frozen=True)
class MetricRecipe:
    """Rates and decays are one a trial; the rest is the same for all that train together."""

    loss: str
    miner: str | None
    embedding_size: int
    epochs: int
    batch_size: int
    per_class: int
    rates: tuple[float, ...]
    decays: tuple[float, ...]
    loss_values: Mapping[str, Any] = field(default_factory=dict)
    miner_values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def steps(self) -> Recipe:
        """How the heads of these trials are moved, for a stack: no trial stops early."""
        return Recipe(self.epochs, self.batch_size, None, self.rates, self.decays)

    def make_loss(self) -> MetricLoss:
        """Return the loss."""
        return make_loss(self.loss, **self.loss_values)

    def make_miner(self) -> Miner | None:
        """Return the miner; None where the loss needs none."""
        return make_miner(self.miner, self.make_loss(), **self.miner_values)

    def make_sampler(self) -> Sampler:
        """Return what makes up batches."""
        return make_sampler(SAMPLER, per_class=self.per_class)


def recipe_of(trials: Sequence[Prepared]) -> MetricRecipe:
    """Return how trials that train together are trained, from their hyper-parameters."""
    values = trials[0].values
    return MetricRecipe(
        loss=values["loss"],
        miner=miner_of(values["loss"], values["miner"]),
        embedding_size=int(values["embedding_size"]),
        epochs=int(values["epochs"]),
        batch_size=int(values["batch_size"]),
        per_class=int(values["per_class"]),
        rates=tuple(float(trial.values["learning_rate"]) for trial in trials),
        decays=tuple(float(trial.values["weight_decay"]) for trial in trials),
        loss_values=dict(values["loss_values"] or {}),
        miner_values=dict(values["miner_values"] or {}),
    )


def miner_of(loss: str, miner: str | None) -> str | None:
    """Return the name of a miner: the one that was named, or the usual one of the loss."""
    if miner != USUAL:
        return miner
    kind: Any = registry.get("metric_loss", loss).thing
    if kind.needs == "nothing":
        return None
    presets: list[Any] = [entry.thing for entry in registry.entries("metric_preset")]
    # By name the first that has the loss: with distances where there are several.
    for preset in presets:
        if preset.loss == loss:
            found: str | None = preset.miner
            return found
    raise BadInput(f"No preset says which miner the loss {loss!r} usually has", help="name a miner.")


def check_recipe(values: Mapping[str, Any]) -> None:
    """Refuse a loss, a miner and values of theirs that do not go together."""
    for name in ("loss_values", "miner_values"):
        if not isinstance(values[name] or {}, Mapping):
            raise BadInput(f"{name} is {values[name]!r}", available='names and numbers, such as {"margin": 0.1}')
    loss = make_loss(values["loss"], **(values["loss_values"] or {}))
    make_miner(miner_of(values["loss"], values["miner"]), loss, **(values["miner_values"] or {}))
