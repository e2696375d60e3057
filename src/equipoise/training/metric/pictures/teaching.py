"""How a network on pictures is taught by a metric loss: batches by class, triplets mined on the device, one embedding.

A step asks the CPU nothing: the numbers that miners draw by lie on the device from the beginning of an epoch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from equipoise.training.images.teaching import HEAD, NETWORK, NetworkContext, OwnRate, OwnRecipe, PictureBatch, Teaching
from equipoise.training.material import Codes, Material, Settings
from equipoise.training.metric.drawing import uniforms_of_epoch
from equipoise.training.metric.heads.acting import MetricBatch
from equipoise.training.metric.heads.fitting import looked_at
from equipoise.training.metric.heads.nearest import nearest
from equipoise.training.metric.heads.objective import Objective
from equipoise.training.metric.heads.recipe import MetricRecipe
from equipoise.training.preparing import Prepared

if TYPE_CHECKING:
    import torch

    from equipoise.training.images.teaching import Parts

BESIDE = "beside"


class MetricTeaching(Teaching):
    """One head without an activation, the objective of metric learning, and what learns beside them at its own rates.

    Outputs are the embedding and, where treatments may want to read them, the features under it. The dev rows it is
    asked about are those of the cohort followed by all training rows, among which the nearest one is looked for.
    """

    def __init__(
        self, trial: Prepared, context: NetworkContext, material: Material, recipe: MetricRecipe, settings: Settings
    ) -> None:
        super().__init__(context)
        self.trial, self.metric, self.settings = trial, recipe, settings
        self.recipe = OwnRecipe("adam", recipe.rates[0], recipe.decays[0])
        assert material.train.target is not None
        self.target, self.rows_asked = material.train.target, len(material.dev)
        self.labels = material.train.target[trial.rows]
        self.objective = Objective(recipe, [trial], material, settings, context.features)
        self.sampler = recipe.make_sampler()
        self.with_features = bool(trial.treatments)
        self.epoch = 1
        self._numbers: dict[str | None, torch.Tensor] = {}

    @property
    def outputs(self) -> int:
        """How many numbers are read of a picture."""
        return self.metric.embedding_size + (self.context.features if self.with_features else 0)

    def parts(self) -> Parts:
        """Build the head, and hold what learns beside it where optimisers and checkpoints find it."""
        made: Parts = {HEAD: self.torch.nn.Linear(self.context.features, self.metric.embedding_size)}
        for place, one in enumerate(self.objective.learnt):
            made[f"{BESIDE} {place}"] = held(one.tensors)
        return made

    def moved(self, phase: str) -> tuple[str, ...]:
        """Everything moves in every step."""
        return (NETWORK, HEAD, *self.own_rates())

    def own_rates(self) -> Mapping[str, OwnRate]:
        """What learns beside the head has rates of its own."""
        return {
            f"{BESIDE} {place}": OwnRate(_first(one.rate), _first(one.decay))
            for place, one in enumerate(self.objective.learnt)
        }

    def places(self, epoch: int) -> Codes:
        """Return the batches of an epoch, and renew the numbers that its triplets are drawn by, where they lie."""
        self.epoch = epoch
        found = self.sampler.batches(self.labels, self.metric.batch_size, self.trial.seed, epoch)
        for name, numbers in self._numbers.items():
            numbers.copy_(self._drawn(name))
        return found

    def _drawn(self, name: str | None) -> torch.Tensor:
        steps = len(self.labels) // self.metric.batch_size
        return uniforms_of_epoch([self.trial.seed], self.epoch, steps, self.metric.batch_size, name=name)

    def numbers(self, name: str | None, step: torch.Tensor, rows: int) -> torch.Tensor:
        """Return the numbers of a step, ``[1, 2, row]``; those of a name are there from its first use on."""
        if name not in self._numbers:
            self._numbers[name] = self._drawn(name).to(self.settings.device)
        return self._numbers[name].index_select(0, step)[0][..., :rows]

    def looks(self, epoch: int, last: int) -> bool:
        """Ask the dev rows about twenty times: the training rows are read each time too."""
        return epoch in looked_at(last)

    def classes(self, outputs: NDArray[np.float32]) -> Codes:
        """Return the class of the trial's nearest training row for the dev rows; the training rows have none here."""
        embedding = outputs[:, : self.metric.embedding_size]
        own = embedding[self.rows_asked :][self.trial.rows]
        found = np.full(len(outputs), -1, dtype=np.int64)
        found[: self.rows_asked] = self.labels[nearest(embedding[: self.rows_asked], own)]
        return found

    def said(self, parts: Parts, pictures: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return features, and what is read of pictures."""
        features, embedding = self._embedded(parts, pictures)
        return features, self.torch.cat([embedding, features], dim=1) if self.with_features else embedding

    def _embedded(self, parts: Parts, pictures: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        features, embedding = super().said(parts, pictures)
        if self.objective.loss.unit_length:
            embedding = self.torch.nn.functional.normalize(embedding, dim=-1)
        return features, embedding

    def gradients(self, phase: str, parts: Parts, batch: PictureBatch) -> torch.Tensor:
        """Leave the gradient of a batch in all that moves; return the loss."""
        features, embedding = self._embedded(parts, batch.pictures)
        step, places = batch.step, batch.places
        assert step is not None
        assert places is not None
        rows = len(places)
        total = self.objective(
            MetricBatch(
                features=features[None],
                embedding=embedding[None],
                labels=batch.target[None],
                places=places[None],
                numbers=self.numbers(None, step, rows),
                more=lambda name: self.numbers(name, step, rows),
            )
        )
        loss = total.sum()
        self.torch.autograd.backward(loss)
        return loss.detach()


def _first(values: float | Sequence[float]) -> float:
    """Return the number of the only trial."""
    return float(values) if isinstance(values, int | float) else float(values[0])


def held(tensors: Sequence[torch.Tensor]) -> torch.nn.Module:
    """Return a module whose parameters are these very tensors, which others go on reading."""
    import torch

    module = torch.nn.Module()
    for place, tensor in enumerate(tensors):
        # What torch takes for a parameter without making another tensor of it.
        tensor._is_param = True
        module.register_parameter(f"value{place}", tensor)  # type: ignore[arg-type, unused-ignore]
    return module
