"""Partial attribute de-correlation (paper 000, section 4): an embedding held apart from one that tells the groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.imports import require
from equipoise.foundation.registry import treatment
from equipoise.foundation.reproducibility import stream
from equipoise.training.callback import Batch, Part, TrainingCallback, TrainingContext
from equipoise.training.compatibility import Need
from equipoise.training.metric.heads.ending import MetricEnded
from equipoise.training.metric.leakage import leakage_of
from equipoise.training.parameters import Choice, Parameter, Table
from equipoise.training.treatment import Treatment
from equipoise.treatments.sensitive_head import SensitiveHead

if TYPE_CHECKING:
    import torch

MEAN, SUM = "mean", "sum"


@treatment("parade", alias="PARADE", stage="in", paper="000", extra="train")
class Parade(Treatment):
    """The head minimises L_targ + alpha L_SA - rho c, c how well xi meets it from a head that learns the groups.

    Several attributes have a sensitive head, a loss and an xi each, which share alpha and rho: the terms add up.
    Rows whose value is unknown have no part in the terms of that attribute. A cell without rows is no matter.
    """

    requires: ClassVar[frozenset[Need]] = frozenset({Need.PAIR_LOSS})
    parameters: ClassVar[Table] = {
        "alpha": Parameter("weight of the sensitive heads' losses, alpha_SA", 0.3, least=0, low=0.1, high=0.9,
                           scale="linear"),
        "rho": Parameter("weight of the de-correlation", 1500.0, least=0, low=1.0, high=3000.0),
        "scaling": Choice("what the correlation is over the dimensions: their mean (the base code) or their sum (the "
                          "paper's text, D times as strong)", MEAN, (MEAN, SUM)),
        "shuffled": Choice("whether groups are permuted at random among the training rows: a control", False),
        "separation_rate": Parameter("learning rate of xi", 1e-5, least=1e-12, low=1e-6, high=1e-2),
    }  # fmt: skip

    @classmethod
    def during(cls, trials: Sequence[Parade], context: TrainingContext) -> Separated:
        """Return the trials' sensitive heads."""
        return Separated(context, trials)

    @classmethod
    def is_control(cls, values: Mapping[str, Any]) -> bool:
        """Tell whether a setting is a control: no sensitive loss, no de-correlation, or permuted groups."""
        made = cls(**values).values
        return bool(made["shuffled"] or not made["alpha"] or not made["rho"])

    def metric_kept(self, ended: MetricEnded) -> dict[str, NDArray[Any]]:
        """Return how well each attribute can be read from the embedding, from what stands under it, and by chance."""
        return leakage_of(ended)


class Separated(TrainingCallback):
    """What PARADE adds to the loss of each head: the sum over attributes of alpha L_SA - rho c."""

    def __init__(self, context: TrainingContext, trials: Sequence[Parade]) -> None:
        assert context.metric is not None
        over = [1 if trial.values["scaling"] == SUM else context.metric.embedding_size for trial in trials]
        self.alphas = context.numbers([trial.values["alpha"] for trial in trials])
        self.rhos = context.numbers([trial.values["rho"] / number for trial, number in zip(trials, over, strict=True)])
        self.rates = [trial.values["separation_rate"] for trial in trials]
        shuffled = [trial.values["shuffled"] for trial in trials]
        self.heads = [
            SensitiveHead(context, place, told(context, place, shuffled)) for place in range(len(context.attributes))
        ]

    def parts(self) -> Mapping[str, Part]:
        """Return what is trained beside the target heads."""
        return {name: part for head in self.heads for name, part in head.parts(self.rates).items()}

    def penalty(self, batch: Batch) -> torch.Tensor:
        """Return what is added to the loss of each head, ``[trial]``."""
        total: torch.Tensor = self.alphas.new_zeros(len(self.alphas))
        for head in self.heads:
            own, met = head.terms(batch)
            total = total + self.alphas * own - self.rhos * met
        return total

    def kept(self, trial: int, features: Mapping[str, NDArray[np.float32]]) -> dict[str, NDArray[Any]]:
        """Return ``sensitive.<place of the attribute>``: the dev rows as each sensitive head embeds them now.

        It is for the maps of a report. An embedding that is not finite in float16 is not kept.
        """
        found = {place: head.of_trial(trial, features["dev"]) for place, head in enumerate(self.heads)}
        return {f"sensitive.{place}": points for place, points in found.items() if np.isfinite(points).all()}


def told(context: TrainingContext, place: int, shuffled: Sequence[bool]) -> torch.Tensor:
    """Return an attribute's codes ``[trial, row]``; those of a shuffled trial are permuted over its known rows."""
    assert context.codes is not None
    codes = context.codes[place]
    if not any(shuffled):
        return codes
    library = require("torch", extra="train", purpose="PARADE")
    mixed = codes.cpu().numpy().copy()
    for trial, (seed, dealt) in enumerate(zip(context.seeds, shuffled, strict=True)):
        known = np.flatnonzero(mixed[trial] >= 0)
        if dealt:
            generator = stream(seed, "shuffled attribute", context.attributes[place])
            mixed[trial, known] = generator.permutation(mixed[trial, known])
    made: torch.Tensor = library.from_numpy(mixed).to(codes.device)
    return made
