"""The order in which trials see their rows: by numbers of the samples, so that all repeats of a seed share it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from equipoise.foundation.imports import require
from equipoise.training.fixing import copies_of, sample_keys
from equipoise.training.material import Codes
from equipoise.training.preparing import Prepared
from equipoise.training.rounding import jittered

if TYPE_CHECKING:
    import torch


class Orders:
    """The orders of the trials of a stack, epoch by epoch."""

    def __init__(self, trials: Sequence[Prepared], ids: Codes, device: str) -> None:
        self._trials, self._device = trials, device
        # Trials with the very same array of rows have the same samples.
        self._samples: dict[int, tuple[Codes, Codes]] = {}
        for trial in trials:
            if id(trial.rows) not in self._samples:
                samples = ids[trial.rows]
                self._samples[id(trial.rows)] = samples, copies_of(samples)

    def places(self, epoch: int, running: Sequence[int]) -> torch.Tensor:
        """Return the places of each running trial in the order of its samples' numbers, ``[trial, row]``."""
        library = require("torch", extra="train", purpose="Training")
        found: dict[tuple[int, int], Codes] = {}
        names = [(self._trials[place].seed, id(self._trials[place].rows)) for place in running]
        for seed, rows in names:
            if (seed, rows) not in found:
                keys = sample_keys(seed, epoch, *self._samples[rows], "order")
                found[seed, rows] = np.argsort(keys) if self._device == "cpu" else keys
        stacked = library.from_numpy(np.stack([found[name] for name in names]))
        ordered: torch.Tensor = stacked if self._device == "cpu" else stacked.to(self._device).argsort(1)
        return ordered

    def jittered(self, places: torch.Tensor, size: int, epoch: int, running: Sequence[int]) -> torch.Tensor:
        """Permute places within each batch of ``size``, each trial by its own stream of seed and repeat."""
        library = require("torch", extra="train", purpose="Training")
        jobs = [self._trials[place].job for place in running]
        moved = [
            jittered(own, size, job.seed, job.repeat, epoch)
            for own, job in zip(places.cpu().numpy(), jobs, strict=True)
        ]
        permuted: torch.Tensor = library.from_numpy(np.stack(moved)).to(places.device)
        return permuted
