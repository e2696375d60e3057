"""The loop of a metric learner by itself: epochs over batches, and the last good state where a loss breaks."""

from __future__ import annotations

from typing import Any, Protocol

from equipoise.foundation.errors import BadInput
from equipoise.foundation.imports import require
from equipoise.training.metric.estimator.embedder import Embedder
from equipoise.training.metric.heads.acting import MetricBatch
from equipoise.training.metric.heads.objective import Objective
from equipoise.training.metric.heads.recipe import MetricRecipe

STOPPED = "The loss was no longer a finite number in epoch {epoch}, step {step} of {steps}"


class Feed(Protocol):
    """What yields batches epoch by epoch."""

    def first(self) -> Any:
        """Return a few inputs, to see what a backbone makes of them."""

    def batches(self, epoch: int) -> Any:
        """Yield the batches of an epoch."""


def trained(
    embedder: Embedder, feed: Feed, objective: Objective, recipe: MetricRecipe
) -> tuple[list[float], str | None]:
    """Train for all epochs; return the mean loss of each, and in words where and why it ended before.

    Where a loss is not finite the values of the epoch before come back; in the first epoch there are none, and it is an
    error.
    """
    library = require("torch", extra="train", purpose="Metric learning")
    optimisers = [
        library.optim.Adam(embedder.parameters(), lr=recipe.rates[0], weight_decay=recipe.decays[0]),
        *(library.optim.Adam(list(one.tensors), lr=_only(one.rate), weight_decay=_only(one.decay))
          for one in objective.learnt),
    ]  # fmt: skip
    history: list[float] = []
    for epoch in range(1, recipe.epochs + 1):
        before = {name: value.clone() for name, value in embedder.state().items()}
        embedder.training(True)
        losses = [_step(embedder, fed, objective, optimisers) for fed in feed.batches(epoch)]
        if not losses:
            raise BadInput("The data loader returned no batch", available="at least one batch of (inputs, labels)")
        said = library.stack(losses).double().cpu().numpy()
        broken = [place for place, value in enumerate(said.tolist()) if value - value != 0]
        if broken:
            words = STOPPED.format(epoch=epoch, step=broken[0] + 1, steps=len(said))
            if epoch == 1:
                raise BadInput(words, help="a lower learning_rate may help, or inputs of a smaller scale.")
            with library.no_grad():
                embedder.restore(before)
            return history, f"{words}: training stopped, and the values of epoch {epoch - 1} were kept."
        history.append(float(said.mean()))
    return history, None


def _step(embedder: Embedder, fed: Any, objective: Objective, optimisers: list[Any]) -> Any:
    """Move everything by one batch; return the loss, still on the device."""
    for optimiser in optimisers:
        optimiser.zero_grad(set_to_none=True)
    features = embedder.features(fed.inputs)
    batch = MetricBatch(
        features=features[None],
        embedding=embedder.embedding(features)[None],
        labels=fed.labels[None],
        places=fed.places[None],
        numbers=fed.numbers(None),
        more=fed.numbers,
    )
    loss: Any = objective(batch).sum()
    loss.backward()
    for optimiser in optimisers:
        optimiser.step()
    return loss.detach()


def _only(values: Any) -> float:
    return float(values) if isinstance(values, int | float) else float(values[0])
