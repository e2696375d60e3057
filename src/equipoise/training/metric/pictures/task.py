"""A network on pictures trained by a metric loss: batches by class, triplets mined on the device, one embedding.

A step asks the CPU nothing: the numbers that miners draw by lie on the device from the beginning of an epoch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from equipoise.training.images.picture_model import PictureNetwork
from equipoise.training.images.tasks import Classification
from equipoise.training.material import Codes, Material, Settings
from equipoise.training.metric.embedding_model import EmbeddingModel, PictureEmbedder
from equipoise.training.metric.heads.fitting import looked_at
from equipoise.training.metric.heads.nearest import nearest
from equipoise.training.metric.heads.recipe import MetricRecipe
from equipoise.training.metric.objective import metric_callback, metric_context
from equipoise.training.preparing import Prepared

if TYPE_CHECKING:
    import torch


class Embedding(Classification):
    """One head without an activation, whose output is the embedding.

    What is read of a row is its embedding and, where treatments may want it, the features under it. The dev rows that
    are asked about are those of the cohort followed by all training rows, among which the nearest one is looked for.
    """

    def __init__(
        self, trial: Prepared, material: Material, features: int, metric: MetricRecipe, settings: Settings
    ) -> None:
        super().__init__(trial, material, features)
        self.metric, self.width = metric, metric.embedding_size
        # It is trained as the learner says, whatever a treatment has for networks that tell classes.
        self.recipe = None
        self.outputs = metric.embedding_size
        self.unit_length = metric.make_loss().unit_length
        self.callback = metric_callback(metric, [trial])
        self.known = metric_context(metric, [trial], settings.device)
        self.read_features = features if trial.treatments else 0
        self.keeps_training_rows = False
        assert material.train.target is not None
        self.labels = material.train.target[trial.rows]
        self.rows_asked = len(material.dev)

    def hidden(self, features: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        """Return the embedding, which is what is released."""
        return output

    def looks(self, epoch: int, last: int) -> bool:
        """Ask the dev rows about twenty times: the training rows are read each time too."""
        return epoch in looked_at(last)

    def classes(self, outputs: NDArray[np.float32]) -> Codes:
        """Return the class of the trial's nearest training row for the dev rows; the training rows have none here."""
        embedding = outputs[:, : self.outputs]
        own = embedding[self.rows_asked :][self.trial.rows]
        found = np.full(len(outputs), -1, dtype=np.int64)
        found[: self.rows_asked] = self.labels[nearest(embedding[: self.rows_asked], own)]
        return found

    def model_of(self, network: PictureNetwork) -> EmbeddingModel:
        """Return the model that a trained network is, which lacks its training rows yet."""
        return EmbeddingModel(PictureEmbedder(network))
