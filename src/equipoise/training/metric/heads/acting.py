"""What a treatment sees of metric learning, and what it may do: learn beside the heads, and add to their losses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.training.material import Codes, Settings
from equipoise.training.metric.heads.recipe import MetricRecipe

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, eq=False)
class MetricContext:
    """What heads that train together have in common, as a treatment sees it.

    ``features`` is the width of what the heads stand on. ``recipe`` is how the heads are trained: it makes another loss
    and miner of their kind. ``attributes`` are the group columns, not crossed, ``values`` the values of each, and
    ``codes [attribute, trial, row]`` those of each training row of each trial, -1 where one is unknown.
    """

    seeds: tuple[int, ...]
    features: int
    recipe: MetricRecipe
    settings: Settings
    attributes: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    codes: torch.Tensor


@dataclass(frozen=True, eq=False)
class Learnt:
    """Tensors ``[trial, ...]`` trained beside the heads, by Adam: rate and decay are one number, or one a trial."""

    tensors: Sequence[torch.Tensor]
    rate: float | Sequence[float]
    decay: float | Sequence[float] = 0.0


@dataclass(frozen=True, eq=False)
class MetricBatch:
    """One batch of every trial: features ``[trial, sample, feature]``, embedding ``[trial, sample, dimension]``.

    The embedding has length 1 where the loss wants it so. ``labels`` are class codes and ``places`` positions in the
    trial's training rows, both ``[trial, sample]``; ``numbers [trial, 2, sample]`` are those that the heads' miner
    draws by, and ``more(name)`` gives another independent set, the same whenever it is asked for.
    """

    features: torch.Tensor
    embedding: torch.Tensor
    labels: torch.Tensor
    places: torch.Tensor
    numbers: torch.Tensor
    more: Callable[[str], torch.Tensor]


class DuringMetric:
    """The part of a treatment that acts while heads train together. Everything is per trial; nothing mixes trials."""

    def parameters(self) -> Sequence[Learnt]:
        """Return what learns beside the heads, by the same backward pass."""
        return ()

    def penalty(self, batch: MetricBatch) -> torch.Tensor | None:
        """Return what is added to the loss of each head, ``[trial]``."""
        return None

    def kept(self, trial: int, features: Mapping[str, NDArray[np.float32]]) -> dict[str, NDArray[Any]]:
        """Return what is kept of a trial when its training has ended, by name, for reports and not to be released.

        ``features`` are what the heads stand on, by split: of dev rows, and never of test rows.
        """
        return {}


@dataclass(frozen=True, eq=False)
class MetricEnded:
    """A trial of metric learning that ended, as its treatments may read it: train and dev rows, never test rows.

    ``features`` are what the head stands on and ``embedding`` what is released, by split, ``[row, ...]``; the training
    rows are the trial's own. ``codes`` are ``[attribute, row]`` by split, -1 where a value is unknown.
    """

    seed: int
    features: Mapping[str, NDArray[np.float32]]
    embedding: Mapping[str, NDArray[np.float32]]
    attributes: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    codes: Mapping[str, Codes]
