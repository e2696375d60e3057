"""What a network on pictures is trained for: to tell classes here; ``metric.pictures`` has embeddings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.training._callback import (
    CallbackList,
    OwnRecipe,
    TrainingCallback,
    TrainingContext,
    outputs_of,
    recipe_of_treatments,
)
from equipoise.training._dataset import Codes, EncodedDataset
from equipoise.training._preparation import PreparedJob, overrides

if TYPE_CHECKING:
    import torch

    from equipoise.training._models import FittedModel
    from equipoise.training.images._models import PictureNetwork

# The part that turns features into outputs.
HEAD = "head"


class Classification:
    """A head with an output for each class (or what a treatment asks for), the cross-entropy, and logits to read.

    Of several labels: an output for each, and the mean of their binary cross-entropies.
    """

    # What a callback sees beside what every training has, and the callback of the learner's own.
    is_known: Mapping[str, Any] = {}
    callback: Callable[[TrainingContext], TrainingCallback] | None = None
    # Whether outputs are scaled to length 1.
    unit_length: bool = False
    # What acts while the network trains; the run sets it.
    callbacks: CallbackList = CallbackList()

    def __init__(self, trial: PreparedJob, dataset: EncodedDataset, features: int) -> None:
        self.trial, self.dataset = trial, dataset
        # The width of the hidden layer that treatments read.
        self.width = features
        self.recipe: OwnRecipe | None = recipe_of_treatments(trial.treatments)
        several = dataset.task == "multilabel"
        self.outputs = (
            dataset.outputs if several
            else outputs_of(trial.treatments, len(dataset.classes), len(dataset.groups))
        )  # fmt: skip
        # How many features are read with the outputs, for a treatment after training.
        self.read_features = features if overrides(trial.treatments, "after") else 0
        # Whether the training rows are read in the best epoch, as a treatment after training learns from them.
        self.keeps_training_rows = self.read_features > 0

    @property
    def numbers(self) -> int:
        """How many numbers are read of a row."""
        return self.outputs + self.read_features

    def hidden(self, features: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        """Return the layer that treatments read."""
        return features

    def read(self, features: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        """Return what is kept of rows that are read: the outputs and, where treatments want them, the features."""
        import torch

        return torch.cat([output, features], dim=1) if self.read_features else output

    def looks(self, epoch: int, last: int) -> bool:
        """Tell whether the dev rows are read after an epoch."""
        return True

    def classes(self, outputs: NDArray[np.float32]) -> Codes | None:
        """Return the class of each dev row from its outputs, where these are an embedding; None where they are logits.

        What is kept of a trial are then the outputs themselves, as ``outputs.dev`` and ``outputs.test``.
        """
        return None

    def model_of(self, network: PictureNetwork) -> FittedModel:
        """Return the model that a trained network is."""
        from equipoise.training.images._models import PictureModel

        return PictureModel(network)


MakeTask = Callable[[PreparedJob, EncodedDataset, int], Classification]
