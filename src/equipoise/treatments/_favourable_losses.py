"""What the penalties of FairALM share (Lokhande et al. 2020): the losses of groups in the favourable class."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

from equipoise.foundation import require, unknown_name
from equipoise.training import (
    Batch,
    FreeParameter,
    Need,
    Parameter,
    Table,
    TrainingCallback,
    TrainingContext,
    Treatment,
)
from equipoise.treatments._cells import in_common, sums_of_cells

if TYPE_CHECKING:
    import torch


class GapTreatment(Treatment):
    """A treatment that holds the losses of groups in the favourable class together, with a weight eta that grows."""

    tasks: ClassVar[tuple[str, ...]] = ("class",)
    not_for_labels: ClassVar[str] = (
        "it compares the losses of a favourable class, and rows with several labels have none"
    )
    requires: ClassVar[frozenset[Need]] = frozenset({Need.ROW_LOSSES})
    parameters: ClassVar[Table] = {
        "strength": Parameter("weight of the gap, eta", 20.0, least=0, low=0.1, high=100.0),
        "growth": Parameter("factor of eta at the start of every epoch", 1.01, least=1e-6, low=1.0, high=1.1,
                            scale="linear"),
        "favourable": FreeParameter(
            "the class in which groups are compared; none: the second of two, every one of more", "the name of a class"
        ),
    }  # fmt: skip


class PairLosses(TrainingCallback):
    """The losses of every pair of groups in each favourable class, and eta ``[trial]`` of the epoch."""

    per_trial: tuple[str, ...] = ("first", "growths", "eta")

    def __init__(self, trials: Sequence[Any], context: TrainingContext) -> None:
        torch = require("torch", extra="train", purpose="A penalty on gaps")
        self.first = context.numbers([trial.values["strength"] for trial in trials])
        self.growths = context.numbers([trial.values["growth"] for trial in trials])
        self.eta = self.first * self.growths
        self.shape = (len(context.classes), len(context.groups))
        chosen = favourable_classes(in_common(trials, "favourable"), context.classes)
        pairs = list(combinations(range(self.shape[1]), 2))
        self.number = max(len(chosen) * len(pairs), 1)
        device = context.group.device
        self.classes = torch.tensor(chosen, dtype=torch.long, device=device)
        # Both groups of each pair, ``[2, pair]``.
        self.pairs = torch.tensor(pairs, dtype=torch.long, device=device).reshape(-1, 2).T

    def begin(self, epoch: int) -> None:
        """Let eta grow: the first epoch has it once."""
        self.eta.copy_(self.first * self.growths**epoch)

    def losses(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Return L_s of both groups of each pair, ``[trial, class, 2, pair]``, and whether the batch has such rows.

        L_s is the mean loss of the batch's rows of the class and group; 0 where there are none.
        """
        cells = batch.cell * self.shape[1] + batch.group
        cell_sums = sums_of_cells(batch.loss, cells, self.shape[0] * self.shape[1])
        sums, counts = (values.reshape(-1, *self.shape)[:, self.classes][:, :, self.pairs] for values in cell_sums)
        return sums / counts.clamp(min=1), counts > 0

    def mean_over_pairs(self, terms: torch.Tensor) -> torch.Tensor:
        """Return the mean over classes and pairs, ``[trial]``, of terms ``[trial, class, pair]``."""
        return terms.sum((1, 2)) / self.number


def favourable_classes(name: object, classes: Sequence[str]) -> list[int]:
    """Return the codes of the classes in which groups are compared."""
    if name is None:
        return [1] if len(classes) == 2 else list(range(len(classes)))
    if str(name) not in classes:
        raise unknown_name("class", str(name), list(classes), "the target")
    return [list(classes).index(str(name))]
