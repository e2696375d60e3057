"""Domain-discriminative training (paper 004, S-DD1 to S-DD4; Wang et al. 2020): an output for each class in each group.

The network knows the group, and how it is read decides what is made of it.

Reducing bias amplification (S-DD4; Zhao et al. 2017) lowers scores until predictions are in balance. Of the rows that
are said to be of class y, each group g shall have the share r = 1/G, give or take a margin m. With n_yg rows of group g
said to be of class y, two constraints hold a group d in its bounds:

    sum_g n_yg c_g <= 0    with    c_g = (r - m) - [g = d]    and    c_g = [g = d] - (r + m)

With two groups those of the first speak for both. Each has a multiplier, 0 at first; a round adds 3 times the sum to it
(never below 0), and lowers the score of the class that a row is said to be of by the sum of multiplier times c_g.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import (
    fitting,
    plural,
    treatment,
)
from equipoise.training import (
    CONSTRAINTS,
    Afterwards,
    Codes,
    Outputs,
    Predicted,
    Readout,
    Table,
    TrainingCallback,
    TrainingContext,
    checked_array,
    cross_entropy,
    fitted_part,
)
from equipoise.treatments._readout import (
    ByCell,
    Floats,
    OutputsByGroup,
    arranged,
    groups_of_test,
    predicted,
    prior_shift,
    softmax,
)

if TYPE_CHECKING:
    import torch

RBA, RBA_DEV = "rba", "rba_dev"
READOUTS = ("sum", "max_prior_shift", "sum_prior_shift", RBA, RBA_DEV)
# Higher logits would be infinite as numbers; no network that learns comes near.
HIGHEST = 700.0
TOGETHER = (
    'The readout "rba" balances all test rows together, so that what it predicts of a row depends on the other rows: '
    'there is no model to save. readout = "rba_dev" finds the balance on dev rows, and can be saved.'
)


@treatment("domain_discriminative", alias="S-DD", stage="in", paper="004", extra="train")
class DomainDiscriminative(OutputsByGroup):
    """One softmax over all classes in all groups, p(y, g); ``readout`` says how a class is read from it.

    ``sum`` takes the class with the largest sum_g p(y, g), the two with prior shift the largest sum or maximum over the
    groups of p(y, g) / (the cell's share of the training rows), and ``rba`` balances what is said of all test rows
    together, from their groups. ``rba_dev`` finds the multipliers on dev rows instead. A cell without training rows has
    no prior, and does not count where there is a prior shift.

    The bounds of ``rba`` ask for 1/G of the rows, which is right where every group has as many rows of each class. Dev
    rows have not, so in ``rba_dev`` each weighs n_y / (G n_yg), and the rounds found there are played on each test row
    by itself. The step does not know how large scores are, so a class may be named of no row any more.
    """

    parameters: ClassVar[Table] = {"readout": Readout("how a class is predicted from the outputs", "sum", READOUTS)}

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.needs_group_at_prediction = self.values["readout"] in (RBA, RBA_DEV)
        self.transductive = self.values["readout"] == RBA

    @classmethod
    def during(cls, trials: Sequence[DomainDiscriminative], context: TrainingContext) -> JointClasses:
        """Return the loss of a class in its group."""
        return JointClasses(len(context.classes))

    def read(self, outputs: Outputs) -> Afterwards:
        """Return predictions by the readout."""
        readout, sizes = self.values["readout"], (len(outputs.groups), len(outputs.classes))
        if readout in (RBA, RBA_DEV):
            dev, test = (arranged(scores, *sizes) for scores in (outputs.dev, outputs.test))
            return _read_in_balance(dev, test, outputs, readout)
        shift = None if readout == "sum" else prior_shift(outputs.counts)
        postprocessor = ReadJointly(readout, *sizes, shift)
        return Afterwards(
            postprocessor.predict(outputs.dev), postprocessor.predict(outputs.test), postprocessor=postprocessor
        )


@fitted_part
class ReadJointly(ByCell):
    """One softmax over all classes in all groups, summed or the largest taken, with or without a prior shift."""

    kind: ClassVar[str] = "domain_discriminative"
    readouts: ClassVar[tuple[str, ...]] = ("sum", "max_prior_shift", "sum_prior_shift")

    def __init__(self, readout: str, groups: int, classes: int, shift: Floats | None = None) -> None:
        super().__init__(readout, groups, classes)
        self.shift = np.ones((1, 1)) if shift is None else shift

    def predict(self, values: NDArray[np.float32], group: Codes | None = None) -> Predicted:
        """Return classes and shares from outputs ``[row, output]``."""
        joint = softmax(arranged(values, self.groups, self.classes), (1, 2)) * self.shift
        return predicted(joint.max(axis=1) if self.readout == "max_prior_shift" else joint.sum(axis=1))

    def state(self) -> dict[str, Any]:
        """Return the readout, its numbers and the prior shift."""
        return {**super().state(), "shift": self.shift}

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> ReadJointly:
        """Make it again from its state."""
        readout, groups, classes = cls.numbers_of(state)
        shape = (1, 1) if readout == "sum" else (groups, classes)
        return cls(readout, groups, classes, checked_array(state, "shift", shape, "the prior shift"))


@fitted_part
class ReadInBalance(ByCell):
    """The scores of each row lowered as those of the dev rows were, round by round, until they were in balance."""

    kind: ClassVar[str] = "domain_discriminative.rba_dev"
    readouts: ClassVar[tuple[str, ...]] = (RBA_DEV,)
    needs_group = True

    def __init__(self, readout: str, groups: int, classes: int, multipliers: Floats) -> None:
        super().__init__(readout, groups, classes)
        self.multipliers = multipliers

    def predict(self, values: NDArray[np.float32], group: Codes | None = None) -> Predicted:
        """Return classes and shares from outputs ``[row, output]`` and the group of each row."""
        assert group is not None
        scores = _unnormalised(arranged(values, self.groups, self.classes))
        return predicted(replayed(scores, group, self.groups, self.multipliers))

    def state(self) -> dict[str, Any]:
        """Return the numbers and the multipliers of every round."""
        return {**super().state(), "multipliers": self.multipliers}

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> ReadInBalance:
        """Make it again from its state."""
        readout, groups, classes = cls.numbers_of(state)
        shape = (None, classes, constraint_count(groups))
        return cls(readout, groups, classes, checked_array(state, "multipliers", shape, "the balance"))


class JointClasses(TrainingCallback):
    """Every class in every group is a class of its own."""

    def __init__(self, classes: int) -> None:
        self.classes = classes

    def row_loss(self, output: torch.Tensor, target: torch.Tensor, group: torch.Tensor) -> torch.Tensor:
        """Return the cross-entropy of the class in its group."""
        return cross_entropy(output, group * self.classes + target)


def _read_in_balance(dev: Floats, test: Floats, outputs: Outputs, readout: str) -> Afterwards:
    """Balance the sums over groups of exp(logit), which the authors do not normalise."""
    groups = len(outputs.groups)
    test_group = groups_of_test(outputs, readout)
    dev, test = (_unnormalised(scores) for scores in (dev, test))
    balance = balanced(dev, outputs.dev_group, groups, _as_balanced(outputs))
    if readout == RBA_DEV:
        test_scores = replayed(test, test_group, groups, balance.multipliers)
        curves = {CONSTRAINTS: balance.residuals}
        postprocessor = ReadInBalance(readout, groups, len(outputs.classes), balance.multipliers)
        return Afterwards(
            predicted(balance.scores), predicted(test_scores), _notes(balance, dev, "dev"), curves, postprocessor
        )
    test_balance = balanced(test, test_group, groups)
    curves = {CONSTRAINTS: test_balance.residuals}
    return Afterwards(
        predicted(balance.scores),
        predicted(test_balance.scores),
        _notes(test_balance, test, "test"),
        curves,
        no_model=TOGETHER,
    )


def _unnormalised(logits: Floats) -> Floats:
    """Return the sum over groups of exp(logit), ``[row, class]``."""
    return np.asarray(np.exp(np.minimum(logits, HIGHEST)).sum(axis=1))


def _as_balanced(outputs: Outputs) -> Floats:
    """Weigh dev rows so that every class has the groups in equal parts, as rows that shall be said to be of it.

    Without that the multipliers would make up for the bias of the dev rows, and not for that of the network.
    """
    shape = (len(outputs.classes), len(outputs.groups))
    is_known = (outputs.dev_target >= 0) & (outputs.dev_group >= 0)
    cells: Codes = np.where(is_known, outputs.dev_target * shape[1] + outputs.dev_group, 0).astype(np.int64)
    counts = np.bincount(cells[is_known], minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
    present = np.maximum((counts > 0).sum(axis=1, keepdims=True), 1)
    cell_weights = np.divide(counts.sum(axis=1, keepdims=True) / present, counts, out=np.zeros(shape), where=counts > 0)
    return np.where(is_known, cell_weights.reshape(-1)[cells], 0.0)


def _notes(balance: Balance, before: Floats, rows: str) -> tuple[str, ...]:
    """Say whether the rows came into balance, and whether that cost whole classes."""
    ended = (
        f"after {len(balance.multipliers)} rounds the {rows} rows met every constraint."
        if balance.met
        else f"the {rows} rows did not meet every constraint within {ROUNDS} rounds."
    )
    lost = len(set(before.argmax(axis=1).tolist()) - set(balance.scores.argmax(axis=1).tolist()))
    if not lost:
        return (f"RBA: {ended}",)
    classes, named = plural(lost, "class", "classes"), fitting(lost, "is", "are")
    return (f"RBA: {ended}", f"RBA: {classes} that the network names of {rows} rows {named} named of none any more.")


# The authors' numbers.
MARGIN, STEP, ROUNDS = 0.05, 3.0, 100
# Sums of fractions that are 0 but for rounding violate nothing.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Balance:
    """Scores that were lowered, and how: the multipliers ``[round, class, constraint]`` of every round.

    ``residuals`` ``[class, constraint]`` say how far beyond its bound a share is in the end: the sum of a constraint
    over the rows that are said to be of the class. Positive is unmet; a class that no row is said to be of has 0.
    """

    scores: Floats
    multipliers: Floats
    residuals: Floats

    @property
    def met(self) -> bool:
        """Whether every constraint holds in the end."""
        return not bool((self.residuals > 0).any())


def constraints(groups: int) -> Floats:
    """Return c, ``[constraint, group]``: two for each group, for the first only where there are two."""
    share = 1.0 / groups
    identity = np.eye(groups)[: 1 if groups <= 2 else groups]
    return np.concatenate([share - MARGIN - identity, identity - share - MARGIN])


def constraint_count(groups: int) -> int:
    """Return how many constraints there are for so many groups."""
    return 2 if groups <= 2 else 2 * groups


def balanced(scores: Floats, group: Codes, groups: int, weights: Floats | None = None) -> Balance:
    """Find multipliers on rows whose groups are known, and lower the scores ``[row, class]`` by them, round by round.

    A row of no group (-1) counts nowhere and stays as it is. ``weights`` say how many rows each stands for.
    """
    bounds = constraints(groups)
    counted = (group >= 0) * (1.0 if weights is None else weights)
    now = scores.copy()
    multipliers = np.zeros((scores.shape[1], len(bounds)))
    path: list[Floats] = []
    while True:
        predicted_class = now.argmax(axis=1)
        places = predicted_class * groups + np.maximum(group, 0)
        numbers = np.bincount(places, counted, minlength=scores.shape[1] * groups).reshape(-1, groups)
        excess = numbers @ bounds.T
        if len(path) == ROUNDS or not (excess > ROUNDING).any():
            named = numbers.sum(axis=1, keepdims=True)
            beyond = np.where(np.abs(excess) <= ROUNDING, 0.0, excess)
            residuals = np.divide(beyond, named, out=np.zeros_like(beyond), where=named > 0)
            return Balance(now, _stacked(path, multipliers), residuals)
        multipliers = np.maximum(multipliers + STEP * excess, 0.0)
        path.append(multipliers)
        _lower(now, scores, predicted_class, group, multipliers @ bounds)


def replayed(scores: Floats, group: Codes, groups: int, path: Floats) -> Floats:
    """Lower the scores of other rows, each by itself, as the rounds of a balance that was found lower them."""
    now, bounds = scores.copy(), constraints(groups)
    for multipliers in path:
        _lower(now, scores, now.argmax(axis=1), group, multipliers @ bounds)
    return now


def _lower(now: Floats, scores: Floats, predicted_class: Codes, group: Codes, by: Floats) -> None:
    """Set the score of the class that each row is said to be of: its first score, lowered by ``[class, group]``."""
    rows = np.flatnonzero(group >= 0)
    now[rows, predicted_class[rows]] = scores[rows, predicted_class[rows]] - by[predicted_class[rows], group[rows]]


def _stacked(path: list[Floats], like: Floats) -> Floats:
    return np.array(path).reshape(-1, *like.shape)
