"""What heads are trained by: the loss on what is mined, what the loss itself learns, and what treatments add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.imports import require
from equipoise.training.material import Material, Settings
from equipoise.training.metric.heads.acting import DuringMetric, Learnt, MetricBatch, MetricContext
from equipoise.training.metric.heads.recipe import MetricRecipe
from equipoise.training.precision import dtype_of
from equipoise.training.preparing import Prepared

if TYPE_CHECKING:
    import torch


class Objective:
    """Loss, miner and treatments of heads that train together; ``learnt`` is all that learns beside the heads."""

    def __init__(
        self, recipe: MetricRecipe, trials: Sequence[Prepared], material: Material, settings: Settings, features: int
    ) -> None:
        self.loss, self.miner = recipe.make_loss(), recipe.make_miner()
        seeds = [trial.seed for trial in trials]
        kind = str(dtype_of(settings)).removeprefix("torch.")
        self.values = self.loss.start(
            seeds, len(material.classes), recipe.embedding_size, dtype=kind, device=settings.device
        )
        self.during = _treatments(recipe, trials, material, settings, features)
        own = [] if self.loss.rate is None else [Learnt(list(self.values.values()), self.loss.rate)]
        self.learnt = [*own, *(one for treatment in self.during for one in treatment.parameters())]

    def __call__(self, batch: MetricBatch) -> torch.Tensor:
        """Return what each head makes smaller, ``[trial]``."""
        mined = None if self.miner is None else self.miner(batch.embedding, batch.labels, batch.numbers)
        total = self.loss(batch.embedding, batch.labels, mined, self.values)
        for treatment in self.during:
            penalty = treatment.penalty(batch)
            total = total if penalty is None else total + penalty
        return total

    def kept(self, trial: int, features: Mapping[str, NDArray[np.float32]]) -> dict[str, NDArray[Any]]:
        """Return what treatments keep of a trial, as they stand now."""
        return {name: array for one in self.during for name, array in one.kept(trial, features).items()}


def _treatments(
    recipe: MetricRecipe, trials: Sequence[Prepared], material: Material, settings: Settings, features: int
) -> list[DuringMetric]:
    """Make what acts during training: one for each kind of treatment, for all trials together."""
    if not trials[0].treatments:
        return []
    library = require("torch", extra="train", purpose="Metric learning")
    assert material.train.group is not None
    codes = material.attribute_codes(np.stack([material.train.group[trial.rows] for trial in trials]))
    context = MetricContext(
        seeds=tuple(trial.seed for trial in trials),
        features=features,
        recipe=recipe,
        settings=settings,
        attributes=material.attributes,
        values=material.attribute_values,
        codes=library.from_numpy(np.ascontiguousarray(codes)).to(settings.device),
    )
    kinds = zip(*(trial.treatments for trial in trials), strict=True)
    made = [type(same[0]).metric(same, context) for same in kinds]
    return [one for one in made if one is not None]
