"""Domain-independent training (paper 004, S-DI1 and S-DI2; Wang et al. 2020): one network, a classifier a group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import listing, treatment
from equipoise.training import (
    Afterwards,
    Codes,
    Outputs,
    Predicted,
    Readout,
    Table,
    TrainingCallback,
    TrainingContext,
    cross_entropy,
    fitted_part,
)
from equipoise.treatments._readout import ByCell, Floats, OutputsByGroup, arranged, groups_of_test, predicted, softmax

if TYPE_CHECKING:
    import torch

KNOWN_DOMAIN, SUM = "known_domain", "sum"


@treatment("domain_independent", alias="S-DI", stage="in", paper="004", extra="train")
class DomainIndependent(OutputsByGroup):
    """A softmax over the classes for every group; a row trains that of its own group alone.

    ``readout`` says how a class is read: by the softmax of the row's own group, which must be known (``known_domain``),
    or by the sum of the logits over the groups. A cell without training rows is no matter; its group's classifier has
    then learnt not to name the class.

    A test row whose group no training row has is read by the sum. The scores of ``sum`` are the softmax of the mean
    logits. A batch that lacks a group leaves its classifier as it is.
    """

    parameters: ClassVar[Table] = {
        "readout": Readout("how a class is predicted from the outputs", SUM, (KNOWN_DOMAIN, SUM)),
    }

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.needs_group_at_prediction = self.values["readout"] == KNOWN_DOMAIN

    @classmethod
    def during(cls, trials: Sequence[DomainIndependent], context: TrainingContext) -> OneSoftmaxEach:
        """Return the loss of a class among those of its group."""
        return OneSoftmaxEach(len(context.classes))

    def read(self, outputs: Outputs) -> Afterwards:
        """Return predictions by the readout."""
        readout = ReadByGroup(self.values["readout"], len(outputs.groups), len(outputs.classes))
        if not readout.needs_group:
            return Afterwards(readout.predict(outputs.dev), readout.predict(outputs.test), postprocessor=readout)
        groups = groups_of_test(outputs, KNOWN_DOMAIN)
        dev, test = readout.predict(outputs.dev, outputs.dev_group), readout.predict(outputs.test, groups)
        return Afterwards(dev, test, (*_unknown(groups), *_unseen(outputs)), postprocessor=readout)


@fitted_part
class ReadByGroup(ByCell):
    """A softmax for every group, read by that of the row's own group or by the sum of the logits."""

    kind: ClassVar[str] = "domain_independent"
    readouts: ClassVar[tuple[str, ...]] = (KNOWN_DOMAIN, SUM)

    def __init__(self, readout: str, groups: int, classes: int) -> None:
        super().__init__(readout, groups, classes)
        self.needs_group = readout == KNOWN_DOMAIN

    def predict(self, values: NDArray[np.float32], group: Codes | None = None) -> Predicted:
        """Return classes and probabilities from outputs ``[row, output]``."""
        logits = arranged(values, self.groups, self.classes)
        if not self.needs_group:
            return predicted(_of_all(logits))
        assert group is not None
        return predicted(_of_own(logits, group))

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> ReadByGroup:
        """Make it again from its state."""
        return cls(*cls.numbers_of(state))


class OneSoftmaxEach(TrainingCallback):
    """Every group has a classifier of its own."""

    def __init__(self, classes: int) -> None:
        self.classes = classes

    def row_loss(self, output: torch.Tensor, target: torch.Tensor, group: torch.Tensor) -> torch.Tensor:
        """Return minus the log of the true class's probability among the classes of the row's own group."""
        by_group = output.reshape(*output.shape[:-1], -1, self.classes)
        group_index = group[..., None, None].expand(*group.shape, 1, self.classes)
        return cross_entropy(by_group.gather(2, group_index).squeeze(2), target)


def _of_all(logits: Floats) -> Floats:
    """Return the softmax of the mean logits, in which classes stand as in their sum."""
    return softmax(logits.mean(axis=1), 1)


def _of_own(logits: Floats, group: Codes) -> Floats:
    """Return the softmax of each row's own group; of all groups together where it has none."""
    probabilities = softmax(logits, 2)[np.arange(len(logits)), np.maximum(group, 0)]
    return np.where((group >= 0)[:, None], probabilities, _of_all(logits))


def _unknown(group: Codes) -> Iterator[str]:
    unknown = int((group < 0).sum())
    if unknown:
        yield f"{unknown:,} test rows have no group that was trained: they use the sum over the groups."


def _unseen(outputs: Outputs) -> Iterator[str]:
    empty = np.argwhere(outputs.counts == 0).tolist()
    if empty:
        names = listing(f"{outputs.classes[c]} / {outputs.groups[g]}" for c, g in empty)
        yield f"There are no training rows of {names} (class / group): in that group the class is never predicted."
