"""Adversarial training (paper 001, ADV; Elazar and Goldberg 2018): a hidden layer that a discriminator cannot read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from equipoise.foundation import treatment
from equipoise.training import Choice, Need, Parameter, Table, TrainingContext, Treatment
from equipoise.treatments._cells import in_common
from equipoise.treatments._discriminators import WIDTH, Discriminators


@treatment("adversarial", alias="ADV", stage="in", paper="001", origin="elazar2018", extra="train")
class Adversarial(Treatment):
    """The network minimises CE - strength CE_adv, against a discriminator that learns to tell the group.

    The discriminator reads the last hidden layer and is updated once a batch, before the network. A cell without rows
    is no matter: a group that training rows lack is one that the discriminator is never asked for.

    The discriminator has two hidden layers with ReLU and learns by Adam at 0.001. ``conditional_on_class`` tells it the
    class beside the hidden layer (the authors' gated discriminator, type "Inputs"). On pictures the hidden layer is
    what enters the last linear layer; in metric learning it is the embedding.
    """

    tasks: ClassVar[tuple[str, ...]] = ("class", "regression", "multilabel")
    requires: ClassVar[frozenset[Need]] = frozenset({Need.HIDDEN})
    parameters: ClassVar[Table] = {
        "strength": Parameter("weight of the discriminator's loss, lambda_adv", 1.0, least=0, low=1e-3, high=1e3),
        "width": WIDTH,
        "conditional_on_class": Choice("whether the discriminator sees the class", False),
    }

    @classmethod
    def during(cls, trials: Sequence[Adversarial], context: TrainingContext) -> Discriminators:
        """Return the trials' discriminators."""
        return Discriminators(
            context,
            [trial.values["strength"] for trial in trials],
            width=in_common(trials, "width"),
            conditional=in_common(trials, "conditional_on_class"),
        )
