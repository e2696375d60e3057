"""Every seed of a trial, fixed in one place before anything is built; and random numbers keyed by sample, not by order.

A trial's streams are derived from its seed by name (``equipoise.foundation.stream``). What belongs to a sample is drawn
from (seed, epoch, sample id, copy): it is the same whichever other samples there are and however they are ordered.
``device_keys`` makes the numbers of ``sample_keys`` on a device: the same 64 bits, wherever they are computed.
``Orders`` are the orders in which trials see their rows: by these numbers, so that all repeats of a seed share one.
"""

from __future__ import annotations

import hashlib
import importlib
import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import require, stream
from equipoise.training._dataset import Codes
from equipoise.training._numerics import jittered
from equipoise.training._preparation import PreparedJob

if TYPE_CHECKING:
    import torch

# Odd numbers near 2^64 divided by the golden ratio and by the square root of 2 keep neighbouring ids apart.
ID_STEP, COPY_STEP = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xB504F333F9DE6485)
# The two factors of SplitMix64's finaliser.
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def fix_seeds(seed: int, *, with_torch: bool = False) -> None:
    """Fix every global generator that a network, an estimator or a user's code may draw from: Python, numpy, torch.

    A torch that nobody has imported yet cannot be seeded: ``with_torch`` imports it, where it is installed, before code
    that may import it only once it runs.
    """
    if with_torch:
        with suppress(ImportError):
            importlib.import_module("torch")
    seeds = stream(seed, "global generators").integers(0, 2**32, size=3, dtype=np.uint64).tolist()
    random.seed(seeds[0])
    np.random.seed(seeds[1])  # scikit-learn and users' code draw from it
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seeds[2])  # CUDA generators too


@contextmanager
def preserved_generators() -> Iterator[None]:
    """Give the global generators back as they were: a training inside somebody's program fixes them for itself."""
    states = generator_states()
    try:
        yield
    finally:
        set_generators(states)


def generator_states() -> tuple[Any, Any, Any, Any]:
    """Return the states of the global generators: Python's, numpy's, torch's and its cards' (None: not used)."""
    torch = sys.modules.get("torch")
    host = None if torch is None else torch.get_rng_state()
    cards = torch.cuda.get_rng_state_all() if torch is not None and torch.cuda.is_initialized() else None
    return random.getstate(), np.random.get_state(), host, cards


def set_generators(states: tuple[Any, Any, Any, Any]) -> None:
    """Give the global generators the states that ``generator_states`` returned."""
    python, arrays, host, cards = states
    random.setstate(python)
    np.random.set_state(arrays)
    torch = sys.modules.get("torch")
    if torch is not None and host is not None:
        torch.set_rng_state(host)
        if cards is not None:
            torch.cuda.set_rng_state_all(cards)


def seed_of(seed: int, *names: object) -> int:
    """Return a whole number below 2^32 for a library that wants a seed of its own, such as ``random_state``."""
    return int(stream(seed, *names).integers(0, 2**32))


def sample_keys(seed: int, epoch: int, ids: Codes, copies: Codes, purpose: str) -> NDArray[np.int64]:
    """Return a random whole number for each sample, keyed by (seed, epoch, sample id, copy) and a purpose.

    A hash of the four (the finaliser of SplitMix64, twice) is as good as a draw here, and it needs no order.
    """
    first, second = stream_keys(seed, epoch, purpose)
    key = _mixed(ids.astype(np.uint64) * ID_STEP + np.uint64(first))
    key ^= copies.astype(np.uint64) * COPY_STEP + np.uint64(second)
    return _mixed(key).view(np.int64)


def stream_keys(seed: int, epoch: int, purpose: str) -> tuple[int, int]:
    """Return the two whole numbers of 64 bits that part one seed, epoch and purpose from another."""
    digest = hashlib.sha256(repr((seed, purpose, epoch)).encode()).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:16], "little")


def sample_uniforms(seed: int, epoch: int, ids: Codes, copies: Codes, purpose: str) -> NDArray[np.float64]:
    """Return a uniform number of [0, 1) for each sample, keyed as in ``sample_keys``."""
    keys = sample_keys(seed, epoch, ids, copies, purpose).view(np.uint64)
    return (keys >> np.uint64(11)).astype(np.float64) * 2.0**-53


def copies_of(ids: Codes) -> Codes:
    """Return for each row how many rows with the same id come before it: 0, unless rows repeat."""
    order = np.argsort(ids, kind="stable")
    arranged = ids[order]
    begins = np.flatnonzero(np.r_[True, arranged[1:] != arranged[:-1]])
    within = np.arange(len(ids)) - np.repeat(begins, np.diff(np.r_[begins, len(ids)]))
    copies = np.empty(len(ids), dtype=np.int64)
    copies[order] = within
    return copies


def _mixed(key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    key = (key ^ (key >> np.uint64(30))) * MIX_1
    key = (key ^ (key >> np.uint64(27))) * MIX_2
    return key ^ (key >> np.uint64(31))


BITS = 64


def device_keys(
    seeds: int | Sequence[int], epoch: int, ids: torch.Tensor, copies: torch.Tensor, purpose: str
) -> torch.Tensor:
    """Return ``sample_keys`` of ids and copies (int64) as int64 on their device: of one seed, or ``[seed, sample]``.

    Products wrap, as in numpy.
    """
    first, second = _words(seeds, epoch, ids, purpose)
    key = _mixed_on_device(ids * _signed(int(ID_STEP)) + first)
    return _mixed_on_device(key ^ (copies * _signed(int(COPY_STEP)) + second))


def _words(seeds: int | Sequence[int], epoch: int, ids: torch.Tensor, purpose: str) -> tuple[Any, Any]:
    """Return the numbers that part streams: two, or two columns with a row for each seed."""
    if not isinstance(seeds, Sequence):
        first, second = stream_keys(seeds, epoch, purpose)
        return _signed(first), _signed(second)
    words = [[_signed(word) for word in stream_keys(seed, epoch, purpose)] for seed in seeds]
    columns = ids.new_tensor(words)
    return columns[:, :1], columns[:, 1:]


def _mixed_on_device(key: torch.Tensor) -> torch.Tensor:
    key = (key ^ _right(key, 30)) * _signed(int(MIX_1))
    key = (key ^ _right(key, 27)) * _signed(int(MIX_2))
    return key ^ _right(key, 31)


def _right(key: torch.Tensor, positions: int) -> torch.Tensor:
    """Shift to the right and let zeros in: torch's own shift lets the sign in."""
    return (key >> positions) & ((1 << (BITS - positions)) - 1)


def _signed(number: int) -> int:
    """Return the int64 that has the bits of a uint64."""
    return number - (1 << BITS) if number >= 1 << (BITS - 1) else number


class Orders:
    """The orders of the trials of a stack, epoch by epoch."""

    def __init__(self, trials: Sequence[PreparedJob], ids: Codes, device: str) -> None:
        self._trials, self._device = trials, device
        # Trials with the very same array of rows have the same samples.
        self._samples: dict[int, tuple[Codes, Codes]] = {}
        self._device_samples: tuple[torch.Tensor, torch.Tensor] | None = None
        for trial in trials:
            if id(trial.rows) not in self._samples:
                samples = ids[trial.rows]
                self._samples[id(trial.rows)] = samples, copies_of(samples)

    def positions(self, epoch: int, running: Sequence[int]) -> torch.Tensor:
        """Return the places of each running trial in the order of its samples' numbers, ``[trial, row]``."""
        library = require("torch", extra="train", purpose="Training")
        orders: dict[tuple[int, int], Codes] = {}
        names = [(self._trials[index].seed, id(self._trials[index].rows)) for index in running]
        if self._device != "cpu":
            return self._device_positions(epoch, running)
        for seed, rows in names:
            if (seed, rows) not in orders:
                orders[seed, rows] = np.argsort(sample_keys(seed, epoch, *self._samples[rows], "order"))
        tensor: torch.Tensor = library.from_numpy(np.stack([orders[name] for name in names]))
        return tensor

    def _device_positions(self, epoch: int, running: Sequence[int]) -> torch.Tensor:
        """Do the same on the device itself, for all trials at once: only the samples travel, once."""
        library = require("torch", extra="train", purpose="Training")
        if self._device_samples is None:
            trial_samples = [self._samples[id(trial.rows)] for trial in self._trials]
            samples, copies = (
                library.from_numpy(np.stack(parts)).to(self._device) for parts in zip(*trial_samples, strict=True)
            )
            self._device_samples = samples, copies
        chosen = library.tensor(list(running), device=self._device)
        ids, copies = (keys.index_select(0, chosen) for keys in self._device_samples)
        return device_keys([self._trials[index].seed for index in running], epoch, ids, copies, "order").argsort(1)

    def jittered(self, positions: torch.Tensor, size: int, epoch: int, running: Sequence[int]) -> torch.Tensor:
        """Permute places within each batch of ``size``, each trial by its own stream of seed and repeat."""
        library = require("torch", extra="train", purpose="Training")
        jobs = [self._trials[index].job for index in running]
        moved = [
            jittered(trial_places, size, job.seed, job.repeat, epoch)
            for trial_places, job in zip(positions.cpu().numpy(), jobs, strict=True)
        ]
        permuted: torch.Tensor = library.from_numpy(np.stack(moved)).to(positions.device)
        return permuted
