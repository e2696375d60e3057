"""Domain-independent training (paper 004, S-DI1 and S-DI2; Wang et al. 2020): one network, a classifier a group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from equipoise.foundation.errors import listing
from equipoise.foundation.registry import treatment
from equipoise.training.images.teaching import NetworkContext, Teaching
from equipoise.training.material import Codes
from equipoise.training.parameters import Readout, Table
from equipoise.training.treatment import Afterwards, Outputs, Treatment
from equipoise.treatments.reading import Floats, arranged, groups_of_test, predicted, softmax

if TYPE_CHECKING:
    import torch

KNOWN, SUM = "known_domain", "sum"


@treatment("domain_independent", alias="S-DI", stage="in", paper="004", extra="train")
class DomainIndependent(Treatment):
    """A softmax over the classes for every group; a row trains that of its own group alone.

    ``readout`` says how a class is read: by the softmax of the row's own group, which must be known (``known_domain``),
    or by the sum of the logits over the groups. A cell without training rows is no matter; its group's classifier has
    then learnt not to name the class.
    """

    parameters: ClassVar[Table] = {
        "readout": Readout("how a class is predicted from the outputs", SUM, (KNOWN, SUM)),
    }

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.needs_group_at_prediction = self.values["readout"] == KNOWN

    def taught(self, context: NetworkContext) -> OneSoftmaxEach:
        """Return how the network is taught."""
        return OneSoftmaxEach(context)

    def read(self, outputs: Outputs) -> Afterwards:
        """Return predictions by the readout."""
        dev, test = (arranged(one, outputs) for one in (outputs.dev, outputs.test))
        if self.values["readout"] == SUM:
            return Afterwards(predicted(_of_all(dev)), predicted(_of_all(test)))
        groups = groups_of_test(outputs, KNOWN)
        said = [predicted(_of_own(one, group)) for one, group in ((dev, outputs.dev_group), (test, groups))]
        return Afterwards(said[0], said[1], (*_unknown(groups), *_unseen(outputs)))


class OneSoftmaxEach(Teaching):
    """The head has an output for each class in each group; those of a group stand side by side."""

    @property
    def outputs(self) -> int:
        """Classes times groups."""
        return len(self.context.classes) * len(self.context.groups)

    def row_loss(self, output: torch.Tensor, target: torch.Tensor, group: torch.Tensor) -> torch.Tensor:
        """Return minus the log of the true class's probability among the classes of the row's own group."""
        classes = len(self.context.classes)
        logs = output.reshape(-1, len(self.context.groups), classes).log_softmax(2)
        loss: torch.Tensor = self.torch.nn.functional.nll_loss(
            logs.flatten(1), group * classes + target, reduction="none"
        )
        return loss


def _of_all(logits: Floats) -> Floats:
    """Return the softmax of the mean logits, in which classes stand as in their sum."""
    return softmax(logits.mean(axis=1), 1)


def _of_own(logits: Floats, group: Codes) -> Floats:
    """Return the softmax of each row's own group; of all groups together where it has none."""
    own = softmax(logits, 2)[np.arange(len(logits)), np.maximum(group, 0)]
    return np.where((group >= 0)[:, None], own, _of_all(logits))


def _unknown(group: Codes) -> Iterator[str]:
    unknown = int((group < 0).sum())
    if unknown:
        yield f"{unknown:,} test rows have no group that was trained: they use the sum over the groups."


def _unseen(outputs: Outputs) -> Iterator[str]:
    empty = np.argwhere(outputs.counts == 0).tolist()
    if empty:
        names = listing(f"{outputs.classes[c]} / {outputs.groups[g]}" for c, g in empty)
        yield f"There are no training rows of {names} (class / group): in that group the class is never predicted."
