"""Diverse adversarial training (paper 001, DADV; Han et al. 2021): three discriminators, each another view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from equipoise.foundation import treatment
from equipoise.training import Choice, Need, Parameter, Table, TrainingContext, Treatment
from equipoise.treatments._cells import in_common
from equipoise.treatments._discriminators import WIDTH, Discriminators

DISCRIMINATORS = 3


@treatment("diverse_adversarial", alias="DADV", stage="in", paper="001", origin="han2021", extra="train")
class DiverseAdversarial(Treatment):
    """The network minimises CE - strength/3 sum_k CE_k against three discriminators whose hidden layers are orthogonal.

    Each discriminator minimises CE_k + diversity * (the sum over the others of the mean squared cosine between all
    pairs of rows of their last hidden layers). All three are updated at once; the authors' code updates one after
    another. A cell without rows is no matter, as for ADV.

    Norms are held fixed in the cosines. The authors' scripts fix ``diversity`` at 0.1.
    """

    tasks: ClassVar[tuple[str, ...]] = ("class", "regression", "multilabel")
    requires: ClassVar[frozenset[Need]] = frozenset({Need.HIDDEN})
    parameters: ClassVar[Table] = {
        "strength": Parameter("weight of the discriminators' mean loss, lambda_adv", 1.0, least=0, low=1e-3, high=1e3),
        "diversity": Parameter("weight of orthogonality, lambda_diverse", 100.0, least=0, low=1e-1, high=1e5),
        "width": WIDTH,
        "conditional_on_class": Choice("whether the discriminators see the class", False),
    }

    @classmethod
    def during(cls, trials: Sequence[DiverseAdversarial], context: TrainingContext) -> Discriminators:
        """Return the trials' discriminators."""
        return Discriminators(
            context,
            [trial.values["strength"] for trial in trials],
            copies=DISCRIMINATORS,
            diversities=[trial.values["diversity"] for trial in trials],
            width=in_common(trials, "width"),
            conditional=in_common(trials, "conditional_on_class"),
        )
