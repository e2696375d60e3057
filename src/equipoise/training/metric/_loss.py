"""What a loss of metric learning is, what it learns besides the network, and the means that losses share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput, require, stream
from equipoise.training._parameters import Table, completed
from equipoise.training.metric._mining import Mined, full, taken

if TYPE_CHECKING:
    import torch

Learnt = Mapping[str, "torch.Tensor"]
# Added to a squared distance before its root, whose slope at 0 is infinite: an image drawn twice is its own positive.
SMALL = 1e-8


class MetricLoss:
    """Something an embedding is trained by, registered under its name; one subclass a file in ``losses``.

    It is called with embeddings ``[..., sample, dimension]``, labels ``[..., sample]`` (codes from 0 on), what a miner
    found, and the tensors that ``start`` made. It returns one number a head, ``[...]``: heads do not mix, so that the
    gradient of their sum is that of each. A batch that has nothing to learn from has the loss 0 and the gradient 0.
    """

    parameters: ClassVar[Table] = {}
    # What must be mined: "triplets", "pairs" of an anchor and a positive, or nothing.
    needs: ClassVar[Literal["triplets", "pairs", "nothing"]] = "nothing"
    # Whether embeddings must come with length 1.
    unit_length: ClassVar[bool] = True
    # The learning rate of what ``start`` makes; it is not decayed. None where nothing is made.
    rate: ClassVar[float | None] = None

    def __init__(self, **values: Any) -> None:
        self.values = completed(self.parameters, values, f"the loss {type(self).__name__}")

    def start(
        self, seeds: int | Sequence[int], classes: int, width: int, *, dtype: str = "float32", device: str = "cpu"
    ) -> dict[str, torch.Tensor]:
        """Return what is learnt besides the network, by name: leaves ``[class, ...]``, or ``[head, class, ...]``.

        ``width`` is the dimension of the embedding. Several seeds make a stack; its heads have equally many classes.
        """
        return {}

    def __call__(
        self, embeddings: torch.Tensor, labels: torch.Tensor, mined: Mined | None = None, learnt: Learnt | None = None
    ) -> torch.Tensor:
        """Return the loss of each head."""
        losses, mask = self.anchor_losses(embeddings, labels, mined, learnt)
        return losses.mean(-1) if mask is None else mean_where(losses, mask)

    def anchor_losses(
        self, embeddings: torch.Tensor, labels: torch.Tensor, mined: Mined | None = None, learnt: Learnt | None = None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return the losses whose mean is that of the head, ``[..., anchor]``, and which there are (None: all).

        Anchors are those that were mined, or every sample where nothing is.
        """
        raise BadInput(
            f"The loss {type(self).__name__} is one of whole batches: no anchor has a loss of its own",
            available="a loss of anchors, such as triplet, margin or multi_similarity",
        )


def leaf(
    make: Callable[[int], NDArray[np.float64]], seeds: int | Sequence[int], dtype: str, device: str
) -> torch.Tensor:
    """Return a trainable tensor from what ``make`` gives for a seed, stacked where there are several."""
    library = require("torch", extra="train", purpose="Metric learning")
    values = make(seeds) if isinstance(seeds, int) else np.stack([make(seed) for seed in seeds])
    tensor: torch.Tensor = library.tensor(values, dtype=getattr(library, dtype), device=device).requires_grad_()
    return tensor


def own_stream(seed: int, loss: str) -> np.random.Generator:
    """Return the generator of a loss's starting values, one of the named streams of a trial."""
    return stream(seed, "metric loss", loss)


def enough_classes(classes: int, loss: str) -> None:
    """Refuse fewer than two classes where a loss tells classes from each other."""
    if classes < 2:
        raise BadInput(f"The loss {loss} was given {classes} class(es)", available="two or more")


def given(mined: Mined | None, loss: str) -> Mined:
    """Return what was mined; a loss that needs it says so where nothing was."""
    if mined is None:
        raise BadInput(f"The loss {loss} was given no triplets", help="call a miner first and pass its triplets.")
    return mined


def negatives_of(mined: Mined, loss: str) -> torch.Tensor:
    """Return the mined negatives; pairs have none."""
    if mined.negatives is None:
        raise BadInput(
            f"The loss {loss} was given pairs without a negative",
            available="triplets",
            help="choose a miner of triplets: distance_weighted, semi_hard, soft_hard or random.",
        )
    return mined.negatives


def triplet_squares(
    embeddings: torch.Tensor, mined: Mined | None, loss: str
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return d(a,p)^2 and d(a,n)^2 of mined triplets with their gradient, and which triplets are there."""
    triplets = given(mined, loss)
    rows = full(embeddings)
    anchors, positives, negatives = (
        taken(rows, places) for places in (triplets.anchors, triplets.positives, negatives_of(triplets, loss))
    )
    return (anchors - positives).square().sum(-1), (anchors - negatives).square().sum(-1), triplets.there


def mean_where(values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the mean over the last dimension of what is there, 0 where nothing is."""
    return (values * mask).sum(-1) / mask.sum(-1).clamp_min(1)


def log_one_plus(exponents: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return log(1 + sum exp(exponents)) over what is there of the last dimension: 0 where nothing is."""
    library = require("torch", extra="train", purpose="Metric learning")
    total = exponents.masked_fill(~mask, -library.inf).logsumexp(-1)
    tensor: torch.Tensor = library.logaddexp(total, library.zeros_like(total))
    return tensor
