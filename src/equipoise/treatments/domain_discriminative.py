"""Domain-discriminative training (paper 004, S-DD1 to S-DD4; Wang et al. 2020): an output for each class in each group.

The network knows the group, and how it is read decides what is made of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from equipoise.foundation.registry import treatment
from equipoise.foundation.text import fitting, plural
from equipoise.training.images.teaching import NetworkContext, Teaching
from equipoise.training.material import Codes
from equipoise.training.parameters import Readout, Table
from equipoise.training.treatment import CONSTRAINTS, Afterwards, Outputs, Treatment
from equipoise.treatments.rba import ROUNDS, Balance, balanced, replayed
from equipoise.treatments.reading import Floats, arranged, groups_of_test, predicted, prior_shift, softmax

if TYPE_CHECKING:
    import torch

RBA, RBA_DEV = "rba", "rba_dev"
READOUTS = ("sum", "max_prior_shift", "sum_prior_shift", RBA, RBA_DEV)
# Higher logits would be infinite as numbers; no network that learns comes near.
HIGHEST = 700.0


@treatment("domain_discriminative", alias="S-DD", stage="in", paper="004", extra="train")
class DomainDiscriminative(Treatment):
    """One softmax over all classes in all groups, p(y, g); ``readout`` says how a class is read from it.

    ``sum`` takes the class with the largest sum_g p(y, g), the two with prior shift the largest sum or maximum over the
    groups of p(y, g) / (the cell's share of the training rows), and ``rba`` balances what is said of all test rows
    together, from their groups. ``rba_dev`` finds the multipliers on dev rows instead. A cell without training rows has
    no prior, and does not count where there is a prior shift.
    """

    parameters: ClassVar[Table] = {"readout": Readout("how a class is predicted from the outputs", "sum", READOUTS)}

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.needs_group_at_prediction = self.values["readout"] in (RBA, RBA_DEV)
        self.transductive = self.values["readout"] == RBA

    def taught(self, context: NetworkContext) -> JointClasses:
        """Return how the network is taught."""
        return JointClasses(context)

    def read(self, outputs: Outputs) -> Afterwards:
        """Return predictions by the readout."""
        dev, test = (arranged(one, outputs) for one in (outputs.dev, outputs.test))
        readout = self.values["readout"]
        if readout in (RBA, RBA_DEV):
            return _read_in_balance(dev, test, outputs, readout)
        weights = np.ones((1, 1)) if readout == "sum" else prior_shift(outputs.counts)
        joint = [softmax(one, (1, 2)) * weights for one in (dev, test)]
        scores = [one.max(axis=1) if readout == "max_prior_shift" else one.sum(axis=1) for one in joint]
        return Afterwards(predicted(scores[0]), predicted(scores[1]))


class JointClasses(Teaching):
    """The head has an output for each class in each group; those of a group stand side by side."""

    @property
    def outputs(self) -> int:
        """Classes times groups."""
        return len(self.context.classes) * len(self.context.groups)

    def row_loss(self, output: torch.Tensor, target: torch.Tensor, group: torch.Tensor) -> torch.Tensor:
        """Return the cross-entropy of the class in its group."""
        return super().row_loss(output, group * len(self.context.classes) + target, group)


def _read_in_balance(dev: Floats, test: Floats, said: Outputs, readout: str) -> Afterwards:
    """Balance the sums over groups of exp(logit), which the authors do not normalise."""
    groups = len(said.groups)
    test_group = groups_of_test(said, readout)
    dev, test = (np.exp(np.minimum(one, HIGHEST)).sum(axis=1) for one in (dev, test))
    own = balanced(dev, said.dev_group, groups, _as_balanced(said))
    if readout == RBA_DEV:
        found = replayed(test, test_group, groups, own.multipliers)
        kept = {CONSTRAINTS: own.residuals}
        return Afterwards(predicted(own.scores), predicted(found), _notes(own, dev, "dev"), kept)
    whole = balanced(test, test_group, groups)
    kept = {CONSTRAINTS: whole.residuals}
    return Afterwards(predicted(own.scores), predicted(whole.scores), _notes(whole, test, "test"), kept)


def _as_balanced(said: Outputs) -> Floats:
    """Weigh dev rows so that every class has the groups in equal parts, as rows that shall be said to be of it.

    Without that the multipliers would make up for the bias of the dev rows, and not for that of the network.
    """
    shape = (len(said.classes), len(said.groups))
    known = (said.dev_target >= 0) & (said.dev_group >= 0)
    cells: Codes = np.where(known, said.dev_target * shape[1] + said.dev_group, 0).astype(np.int64)
    counts = np.bincount(cells[known], minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
    present = np.maximum((counts > 0).sum(axis=1, keepdims=True), 1)
    each = np.divide(counts.sum(axis=1, keepdims=True) / present, counts, out=np.zeros(shape), where=counts > 0)
    return np.where(known, each.reshape(-1)[cells], 0.0)


def _notes(found: Balance, before: Floats, rows: str) -> tuple[str, ...]:
    """Say whether the rows came into balance, and whether that cost whole classes."""
    ended = (
        f"after {len(found.multipliers)} rounds the {rows} rows met every constraint."
        if found.met
        else f"the {rows} rows did not meet every constraint within {ROUNDS} rounds."
    )
    lost = len(set(before.argmax(axis=1).tolist()) - set(found.scores.argmax(axis=1).tolist()))
    if not lost:
        return (f"RBA: {ended}",)
    classes, named = plural(lost, "class", "classes"), fitting(lost, "is", "are")
    return (f"RBA: {ended}", f"RBA: {classes} that the network names of {rows} rows {named} named of none any more.")
