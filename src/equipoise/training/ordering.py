"""The order in which trials see their rows: by numbers of the samples, so that all repeats of a seed share it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from equipoise.foundation import require
from equipoise.training.device_keys import device_keys
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
        self._there: tuple[torch.Tensor, torch.Tensor] | None = None
        for trial in trials:
            if id(trial.rows) not in self._samples:
                samples = ids[trial.rows]
                self._samples[id(trial.rows)] = samples, copies_of(samples)

    def places(self, epoch: int, running: Sequence[int]) -> torch.Tensor:
        """Return the places of each running trial in the order of its samples' numbers, ``[trial, row]``."""
        library = require("torch", extra="train", purpose="Training")
        found: dict[tuple[int, int], Codes] = {}
        names = [(self._trials[place].seed, id(self._trials[place].rows)) for place in running]
        if self._device != "cpu":
            return self._places_there(epoch, running)
        for seed, rows in names:
            if (seed, rows) not in found:
                found[seed, rows] = np.argsort(sample_keys(seed, epoch, *self._samples[rows], "order"))
        here: torch.Tensor = library.from_numpy(np.stack([found[name] for name in names]))
        return here

    def _places_there(self, epoch: int, running: Sequence[int]) -> torch.Tensor:
        """Do the same on the device itself, for all trials at once: only the samples travel, once."""
        library = require("torch", extra="train", purpose="Training")
        if self._there is None:
            each = [self._samples[id(trial.rows)] for trial in self._trials]
            samples, copies = (
                library.from_numpy(np.stack(parts)).to(self._device) for parts in zip(*each, strict=True)
            )
            self._there = samples, copies
        chosen = library.tensor(list(running), device=self._device)
        ids, copies = (one.index_select(0, chosen) for one in self._there)
        return device_keys([self._trials[place].seed for place in running], epoch, ids, copies, "order").argsort(1)

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
