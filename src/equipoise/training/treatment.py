"""What a treatment may do, and when: before, during or after training. Each does what it overrides and nothing else.

A treatment is one file in ``treatments``: a subclass of ``Treatment`` under ``@treatment(name, stage=..., paper=...)``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from equipoise.measures.objectives import Fairness, Performance
from equipoise.training.material import Codes, Predicted, Rows, Selection, Settings
from equipoise.training.parameters import Table, completed

if TYPE_CHECKING:
    import torch

    from equipoise.training.images.teaching import NetworkContext, Teaching
    from equipoise.training.metric.heads.acting import DuringMetric, MetricContext, MetricEnded

# The array of a trial that says by how much each constraint of its treatment is missed in the end: positive is unmet.
CONSTRAINTS = "constraints"


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The training rows of one trial, as a treatment before training sees them: cells are (class, group)."""

    target: NDArray[Any]
    cell: Codes
    group: Codes
    classes: tuple[str, ...]
    groups: tuple[str, ...]

    @property
    def counts(self) -> Codes:
        """How many rows each cell has, ``[class, group]``."""
        shape = (len(self.classes), len(self.groups))
        return np.bincount(self.cell * shape[1] + self.group, minlength=shape[0] * shape[1]).reshape(shape)


@dataclass(frozen=True, eq=False)
class StackContext:
    """What trials that train together have in common, as a treatment during training sees it.

    ``target`` (class codes or numbers), ``cell`` (class codes or quarters) and ``group`` are ``[trial, row]``;
    ``width`` is that of the last hidden layer, 0 where the network shows none.
    """

    seeds: tuple[int, ...]
    width: int
    classes: tuple[str, ...]
    groups: tuple[str, ...]
    target: torch.Tensor
    cell: torch.Tensor
    group: torch.Tensor
    batch_size: int
    settings: Settings


@dataclass(frozen=True, eq=False)
class Batch:
    """One batch of every trial: all tensors begin with ``[trial, row]``; places are positions in the context's rows.

    ``hidden`` is the last hidden layer, ``output`` what the network says (logits, or one number), ``loss`` the plain
    loss of each row and ``weight`` its weight. Where the network shows no hidden layer, ``hidden`` is None: a treatment
    that declares ``reads_hidden`` never meets that.
    """

    places: torch.Tensor
    target: torch.Tensor
    cell: torch.Tensor
    group: torch.Tensor
    weight: torch.Tensor
    hidden: Any
    output: torch.Tensor
    loss: torch.Tensor


class DuringTraining:
    """The part of a treatment that acts while trials train together. Everything is per trial; nothing mixes trials."""

    # Whether ``batches`` wants the plain loss of every training row.
    needs_row_losses: bool = False

    def batches(self, epoch: int, row_losses: torch.Tensor | None) -> torch.Tensor | None:
        """Return the batches of an epoch, ``[trial, batch, row]`` as places; None leaves the order to the trainer."""
        return None

    def before_step(self, batch: Batch) -> None:
        """Learn from a batch (its hidden layer detached) before the network does, as discriminators do."""

    def penalty(self, batch: Batch) -> torch.Tensor | None:
        """Return what is added to the mean loss of each trial, ``[trial]``."""
        return None

    def keep(self, trials: torch.Tensor) -> None:
        """Go on with these trials only (positions): the others have stopped."""


@dataclass(frozen=True, eq=False)
class Representations:
    """The last hidden layer of a trained network (the inputs, where there is none), for a treatment after training."""

    train: Rows
    dev: Rows
    test: Rows
    classes: tuple[str, ...]
    groups: tuple[str, ...]
    task: str
    seed: int
    selection: Selection
    # What treatments before training let each training row weigh; None where every row weighs the same.
    weights: NDArray[np.float64] | None = None
    # What dev rows are asked for; None: accuracy, or Pearson's r of a regression.
    performance: Performance | None = None
    fairness: Fairness = "GAP"


@dataclass(frozen=True, eq=False)
class Afterwards:
    """What a treatment after training says of dev and test rows, with notes on how it got there.

    ``kept`` are further arrays that are stored with the trial, by name, such as by how much constraints were missed.
    """

    dev: Predicted
    test: Predicted
    notes: tuple[str, ...] = ()
    kept: Mapping[str, NDArray[Any]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Outputs:
    """What a trained network says of dev and test rows before it is read: ``[row, output]``, logits as a rule.

    ``test_group`` is None unless the treatment needs groups at prediction; ``counts`` are the training rows of each
    ``[class, group]``, from which priors are made.
    """

    dev: NDArray[np.float32]
    test: NDArray[np.float32]
    dev_target: Codes
    dev_group: Codes
    test_group: Codes | None
    counts: Codes
    classes: tuple[str, ...]
    groups: tuple[str, ...]


class Treatment:
    """A debiasing method with its hyper-parameters, which are given by name and checked against ``parameters``.

    ``version`` is raised when the same numbers come to mean another training.
    """

    version: ClassVar[int] = 1
    parameters: ClassVar[Table] = {}
    # Hyper-parameters under which a treatment does everything but what it is about, and what that is called: a study
    # runs it beside the treatment, as an arm of its own.
    control: ClassVar[Mapping[str, Any]] = {}
    control_name: ClassVar[str] = ""
    # Where these depend on a hyper-parameter, ``__init__`` sets them: they are asked of a treatment that was made.
    needs_group_at_prediction: bool = False
    transductive: bool = False
    # The network itself learns in the first of so many epochs; in the others a part does that the treatment adds.
    network_every: ClassVar[int] = 1
    # Whether what acts during training reads the hidden layer: a network that shows none is then refused.
    reads_hidden: ClassVar[bool] = False

    def __init__(self, **values: Any) -> None:
        self.values = completed(self.parameters, values, f"the treatment {type(self).__name__}")

    def choose(self, rows: TrainingRows, generator: np.random.Generator) -> Codes | None:
        """Before training: return which rows to train on, as positions (None: all of them)."""
        return None

    def weigh(self, rows: TrainingRows) -> NDArray[np.float64] | None:
        """Before training: return a weight for each row (None: 1)."""
        return None

    @classmethod
    def during(cls, trials: Sequence[Any], context: StackContext) -> DuringTraining | None:
        """During training: return what acts on trials that train together, one treatment of this kind a trial."""
        return None

    @classmethod
    def metric(cls, trials: Sequence[Any], context: MetricContext) -> DuringMetric | None:
        """During metric learning: return what acts on heads that train together, one treatment of this kind a head."""
        return None

    def metric_kept(self, ended: MetricEnded) -> dict[str, NDArray[Any]]:
        """After metric learning: return further arrays that are kept of the trial, by name."""
        return {}

    def taught(self, context: NetworkContext) -> Teaching | None:
        """During training of one network by itself: return how it is taught (None: as the control is)."""
        return None

    def read(self, outputs: Outputs) -> Afterwards | None:
        """After training: return predictions made from what the network says (None: the class with most)."""
        return None

    def after(self, found: Representations) -> Afterwards | None:
        """After training: return other predictions, made from the representations."""
        return None
