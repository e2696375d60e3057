"""Gradient reversal at a block of the network (paper 004, C-A and I-A; Wang et al. 2019, Ganin and Lempitsky 2015)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

from equipoise.foundation import BadInput, require, treatment
from equipoise.networks import gradient_reversal
from equipoise.training import (
    LAST,
    Batch,
    FreeParameter,
    Parameter,
    Part,
    Table,
    TrainingCallback,
    TrainingContext,
    Treatment,
    cross_entropy,
)
from equipoise.treatments._cells import in_common
from equipoise.treatments._discriminators import WIDTH

if TYPE_CHECKING:
    import torch

# Hidden layers of the adversary, the slope of a leaky ReLU below 0, and what is added to a variance, as torch has them.
HIDDEN, SLOPE, SMALL = 3, 0.01, 1e-5
PLAIN, REVERSED = "plain", "reversed"


@treatment("gradient_reversal", alias="C-A", stage="in", paper="004", origin="wang2019", extra="train")
class GradientReversal(Treatment):
    """The loss is CE + CE_adv of an adversary that tells the group from a layer, which its reversed gradient changes.

    The adversary has three hidden layers (linear, batch normalisation, leaky ReLU) and learns as the network does. What
    stands under the layer gets -strength times its gradient, but none in the first share of the epochs (``warm_up``),
    which dev rows do not choose from. Maps of a convolution are read number by number.
    A cell without rows is no matter.

    The authors freeze a pretrained backbone in their first phase; here it learns the class in it. In epochs of the
    warm-up patience is not counted, or the model could be an untreated one. ``strength`` is 1 for imSitu and 2 for COCO
    in the paper.
    """

    tasks: ClassVar[tuple[str, ...]] = ("class", "regression", "multilabel")
    parameters: ClassVar[Table] = {
        "layer": FreeParameter(
            "the layer that is read", 'last (the last hidden one), or a name such as "stage4"', LAST
        ),
        "strength": Parameter("factor of the reversed gradient, lambda", 1.0, least=0, low=1e-2, high=1e1),
        "warm_up": Parameter("share of the epochs in which nothing is reversed", 0.5, least=0, low=0.0, high=0.5,
                             scale="linear", most=0.95, shapes=True),
        "width": WIDTH,
    }  # fmt: skip

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        layer = self.values["layer"]
        if not isinstance(layer, str) or not layer:
            raise BadInput(f"layer is {layer!r}", available=self.parameters["layer"].allowed)

    @classmethod
    def during(cls, trials: Sequence[GradientReversal], context: TrainingContext) -> Adversary:
        """Return the trials' adversaries."""
        return Adversary(trials, context)


class Adversary(TrainingCallback):
    """Adversaries that guess the group from a layer, one a trial; batch statistics are those of the trial's batch."""

    per_trial = ("strengths",)

    def __init__(self, trials: Sequence[GradientReversal], context: TrainingContext) -> None:
        self._torch = require("torch", extra="train", purpose="Gradient reversal")
        self.strengths = context.numbers([trial.values["strength"] for trial in trials])[:, None, None]
        self.layer = in_common(trials, "layer")
        self.warm_up = int(in_common(trials, "warm_up") * context.epochs)
        width = int(in_common(trials, "width"))
        inputs = [prod(context.layer(self.layer)), *[width] * (HIDDEN - 1)]
        self.hidden = [context.linear(f"adversary {index}", size, width) for index, size in enumerate(inputs)]
        self.norms = [batch_norm(context, width) for _ in inputs]
        self.output = context.linear("adversary output", width, len(context.groups))

    def parts(self) -> Mapping[str, Part]:
        """Return the adversary, layer by layer."""
        hidden = {f"adversary {index}": part for index, part in enumerate(self.hidden)}
        norms = {f"adversary norm {index}": part for index, part in enumerate(self.norms)}
        return {**hidden, **norms, "adversary output": self.output}

    def phase(self, epoch: int) -> str:
        """Leave the network alone at first."""
        return REVERSED if self.eligible(epoch) else PLAIN

    def eligible(self, epoch: int) -> bool:
        """Only where the gradient is reversed is the network treated."""
        return epoch > self.warm_up

    def objective(self, phase: str, batch: Batch, loss: torch.Tensor) -> torch.Tensor:
        """Return the loss with that of the adversary."""
        read = batch.layer(self.layer).flatten(2)
        head_inputs = gradient_reversal()(read, self.strengths) if phase == REVERSED else read.detach()
        return loss + batch.mean(cross_entropy(self(head_inputs), batch.group))

    def __call__(self, values: torch.Tensor) -> torch.Tensor:
        """Return the guesses of the group, ``[trial, row, group]``."""
        for linear, norm in zip(self.hidden, self.norms, strict=True):
            values = self._torch.nn.functional.leaky_relu(norm(linear(values)), SLOPE)
        return self.output(values)


class BatchNorm:
    """Batch normalisation of each trial's rows by themselves, with a scale and a shift ``[trial, 1, width]``."""

    def __init__(self, parameters: Sequence[torch.Tensor]) -> None:
        self.parameters = list(parameters)

    def set_parameters(self, parameters: Sequence[torch.Tensor]) -> None:
        """Take other leaves, those of the trials that go on."""
        self.parameters = list(parameters)

    def __call__(self, values: torch.Tensor) -> torch.Tensor:
        """Return ``[trial, row, width]``: columns of each trial with mean 0 and variance 1, then scaled and shifted."""
        scale, shift = self.parameters
        centred = values - values.mean(1, keepdim=True)
        return centred * (centred.square().mean(1, keepdim=True) + SMALL).rsqrt() * scale + shift


def batch_norm(context: TrainingContext, width: int) -> Part:
    """Return batch normalisation for each trial, which begins with the scale 1 and the shift 0."""
    plain = context.numbers([1.0] * len(context.seeds))[:, None, None].expand(-1, 1, width)
    leaves = [plain.clone().requires_grad_(), (0 * plain).requires_grad_()]
    return Part(leaves, layer=BatchNorm(leaves))
