"""Every seed of a trial, fixed in one place before anything is built; and random numbers keyed by sample, not by order.

A trial's streams are derived from its seed by name (``foundation.reproducibility.stream``). What belongs to a sample is
drawn from (seed, epoch, sample id, copy): it is the same whichever other samples there are and however they are
ordered.
"""

from __future__ import annotations

import hashlib
import importlib
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import stream
from equipoise.training.material import Codes

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
    drawn = stream(seed, "global generators").integers(0, 2**32, size=3, dtype=np.uint64).tolist()
    random.seed(drawn[0])
    np.random.seed(drawn[1])  # scikit-learn and users' code draw from it
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(drawn[2])  # CUDA generators too


@contextmanager
def preserved_generators() -> Iterator[None]:
    """Give the global generators back as they were: a training inside somebody's program fixes them for itself."""
    torch = sys.modules.get("torch")
    on_cards = torch is not None and torch.cuda.is_initialized()
    python, arrays = random.getstate(), np.random.get_state()
    host = None if torch is None else torch.get_rng_state()
    cards = torch.cuda.get_rng_state_all() if torch is not None and on_cards else None
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(arrays)
        if torch is not None:
            torch.set_rng_state(host)
        if torch is not None and on_cards:
            torch.cuda.set_rng_state_all(cards)


def seed_of(seed: int, *names: object) -> int:
    """Return a whole number below 2^32 for a library that wants a seed of its own, such as ``random_state``."""
    return int(stream(seed, *names).integers(0, 2**32))


def sample_keys(seed: int, epoch: int, ids: Codes, copies: Codes, purpose: str) -> NDArray[np.int64]:
    """Return a random whole number for each sample, keyed by (seed, epoch, sample id, copy) and a purpose.

    A hash of the four (the finaliser of SplitMix64, twice) is as good as a draw here, and it needs no order.
    """
    first, second = stream_words(seed, epoch, purpose)
    key = _mixed(ids.astype(np.uint64) * ID_STEP + np.uint64(first))
    key ^= copies.astype(np.uint64) * COPY_STEP + np.uint64(second)
    return _mixed(key).view(np.int64)


def stream_words(seed: int, epoch: int, purpose: str) -> tuple[int, int]:
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
