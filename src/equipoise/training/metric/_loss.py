"""What a loss of metric learning is, what it learns besides the network, and the means that losses share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput, require, stream
from equipoise.training._parameters import Table, with_defaults
from equipoise.training.metric._mining import MinedTriplets, full_precision, take_rows

if TYPE_CHECKING:
    import torch

LossTensors = Mapping[str, "torch.Tensor"]
# Added to a squared distance before its root, whose slope at 0 is infinite: an image drawn twice is its own positive.
SMALLEST_SQUARE = 1e-8


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
        self.values = with_defaults(self.parameters, values, f"the loss {type(self).__name__}")

    def start(
        self, seeds: int | Sequence[int], classes: int, width: int, *, dtype: str = "float32", device: str = "cpu"
    ) -> dict[str, torch.Tensor]:
        """Return what is learnt besides the network, by name: leaves ``[class, ...]``, or ``[head, class, ...]``.

        ``width`` is the dimension of the embedding. Several seeds make a stack; its heads have equally many classes.
        """
        return {}

    def __call__(
        self,
        embeddings: torch.Tensor,
        labels: torch.Tensor,
        mined: MinedTriplets | None = None,
        tensors: LossTensors | None = None,
    ) -> torch.Tensor:
        """Return the loss of each head."""
        losses, mask = self.anchor_losses(embeddings, labels, mined, tensors)
        return losses.mean(-1) if mask is None else masked_mean(losses, mask)

    def anchor_losses(
        self,
        embeddings: torch.Tensor,
        labels: torch.Tensor,
        mined: MinedTriplets | None = None,
        tensors: LossTensors | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return the losses whose mean is that of the head, ``[..., anchor]``, and which there are (None: all).

        Anchors are those that were mined, or every sample where nothing is.
        """
        raise BadInput(
            f"The loss {type(self).__name__} is one of whole batches: no anchor has a loss of its own",
            available="a loss of anchors, such as triplet, margin or multi_similarity",
        )


def trainable_tensor(
    make: Callable[[int], NDArray[np.float64]], seeds: int | Sequence[int], dtype: str, device: str
) -> torch.Tensor:
    """Return what a loss learns besides the network, with a gradient: one tensor, or those of several heads stacked.

    Parameters
    ----------
    make : callable
        Given a seed, the starting values of one head.
    seeds : int or sequence of int
        One seed, or that of each head.
    dtype : str
        The precision, such as "float32".
    device : str
        Where the tensor lives.

    Returns
    -------
    tensor of shape (...) of one seed, or (heads, ...) of several
    """
    library = require("torch", extra="train", purpose="Metric learning")
    values = make(seeds) if isinstance(seeds, int) else np.stack([make(seed) for seed in seeds])
    tensor: torch.Tensor = library.tensor(values, dtype=getattr(library, dtype), device=device).requires_grad_()
    return tensor


def loss_generator(seed: int, loss: str) -> np.random.Generator:
    """Return the generator of a loss's starting values, one of the named streams of a trial.

    Parameters
    ----------
    seed : int
        The seed of the trial.
    loss : str
        The registered name of the loss, which names the stream.

    Returns
    -------
    numpy.random.Generator
    """
    return stream(seed, "metric loss", loss)


def check_class_count(classes: int, loss: str) -> None:
    """Refuse fewer than two classes where a loss tells classes from each other.

    Parameters
    ----------
    classes : int
        How many classes there are.
    loss : str
        The name of the loss, for the message.

    Raises
    ------
    BadInput
        If there are fewer than two.
    """
    if classes < 2:
        raise BadInput(f"The loss {loss} was given {classes} class(es)", available="two or more")


def check_mined(mined: MinedTriplets | None, loss: str) -> MinedTriplets:
    """Return what was mined, and refuse None: the loss needs triplets or pairs.

    Parameters
    ----------
    mined : MinedTriplets or None
        What the loss was given.
    loss : str
        The name of the loss, for the message.

    Returns
    -------
    MinedTriplets
    """
    if mined is None:
        raise BadInput(f"The loss {loss} was given no triplets", help="call a miner first and pass its triplets.")
    return mined


def negatives_of(mined: MinedTriplets, loss: str) -> torch.Tensor:
    """Return the mined negatives; pairs have none."""
    if mined.negatives is None:
        raise BadInput(
            f"The loss {loss} was given pairs without a negative",
            available="triplets",
            help="choose a miner of triplets: distance_weighted, semi_hard, soft_hard or random.",
        )
    return mined.negatives


def triplet_squares(
    embeddings: torch.Tensor, mined: MinedTriplets | None, loss: str
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the squared distances of mined triplets, with their gradient.

    Parameters
    ----------
    embeddings : tensor of shape (..., samples, dimensions)
        The embedded batch.
    mined : MinedTriplets or None
        None is refused, and so are pairs without a negative.
    loss : str
        The name of the loss, for the message.

    Returns
    -------
    tuple of tensors of shape (..., triplets)
        d(a, p)^2, d(a, n)^2, and which triplets there are.
    """
    triplets = check_mined(mined, loss)
    rows = full_precision(embeddings)
    anchors, positives, negatives = (
        take_rows(rows, places) for places in (triplets.anchors, triplets.positives, negatives_of(triplets, loss))
    )
    return (anchors - positives).square().sum(-1), (anchors - negatives).square().sum(-1), triplets.mask


def masked_mean(values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the mean over the last dimension where a mask is True; 0 where it never is.

    Parameters
    ----------
    values : tensor of shape (..., n)
        What is averaged.
    mask : boolean tensor of shape (..., n)
        Which of them count.

    Returns
    -------
    tensor of shape (...)
    """
    return (values * mask).sum(-1) / mask.sum(-1).clamp_min(1)


def log1p_sum_exp(exponents: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return log(1 + sum exp(exponents)) over the last dimension where a mask is True; 0 where it never is.

    Parameters
    ----------
    exponents : tensor of shape (..., n)
        What is exponentiated.
    mask : boolean tensor of shape (..., n)
        Which of them count.

    Returns
    -------
    tensor of shape (...)
        Computed without overflow, however large the exponents are.
    """
    library = require("torch", extra="train", purpose="Metric learning")
    total = exponents.masked_fill(~mask, -library.inf).logsumexp(-1)
    tensor: torch.Tensor = library.logaddexp(total, library.zeros_like(total))
    return tensor
