"""In which precision networks compute, and how a training rounds.

What the graphics card may shorten is said by the precision, and what is cast. Rounding is as the machine does it, with
rows permuted inside each batch, the same way every time, or both:

- ``native``: nothing is done
- ``jitter``: the rows of each batch are permuted, by a stream of the seed and the repeat: the same gradient in exact
  arithmetic, another rounding
- ``deterministic``: torch's deterministic algorithms, on one thread of the CPU; what has no deterministic form is named
- ``deterministic jitter``: both. A repeat can be made again to the last bit, and repeats differ by their permutations
  alone: what jitter does, without what the machine does
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from equipoise.foundation import require, stream
from equipoise.training._dataset import Codes, Rounding, Settings

if TYPE_CHECKING:
    import torch


def dtype_of(settings: Settings) -> torch.dtype:
    """Return the type that parameters have: bfloat16 and tf32 shorten products only."""
    library = require("torch", extra="train", purpose="Training")
    dtype: torch.dtype = library.float64 if settings.precision == "float64" else library.float32
    return dtype


def layout_of(settings: Settings) -> torch.memory_format:
    """Return how pictures lie in memory: channels last, but for whole products on a card, which are faster without.

    A step of ResNet-18 in float32 took 13.1 ms one way and 17.3 ms the other on an H200; in tf32 it is 5.2 and 4.3.
    """
    library = require("torch", extra="train", purpose="Training")
    full_precision = settings.device != "cpu" and settings.precision in ("float32", "float64")
    layout: torch.memory_format = library.contiguous_format if full_precision else library.channels_last
    return layout


def casting_of(settings: Settings) -> Callable[[], AbstractContextManager[object]]:
    """Return what parts of a network compute under."""
    library = require("torch", extra="train", purpose="Training")
    if settings.precision != "bfloat16":
        return contextlib.nullcontext
    # Every weight is cast once a step: a cache of casts would outlive a recorded step.
    return lambda: library.autocast(settings.device, dtype=library.bfloat16, cache_enabled=False)


@contextlib.contextmanager
def product_precision(settings: Settings) -> Iterator[None]:
    """Let products of float32 numbers on a graphics card be shortened to tf32 where that was asked for, only then."""
    library = require("torch", extra="train", purpose="Training")
    backends = (library.backends.cudnn.conv, library.backends.cuda.matmul)
    before = [backend.fp32_precision for backend in backends]
    precision = "tf32" if settings.precision == "tf32" else "ieee"
    try:
        for backend in backends:
            backend.fp32_precision = precision
        yield
    finally:
        for backend, value in zip(backends, before, strict=True):
            backend.fp32_precision = value


# cuBLAS is deterministic only with a workspace of its own, which must be asked for before CUDA starts.
CUBLAS, CUBLAS_VALUE = "CUBLAS_WORKSPACE_CONFIG", ":4096:8"
NO_FORM = re.compile(r"^(\S+) does not have a deterministic implementation")
TIMED_STEPS = 4
# What is noted of jitter where a network draws.
DRAWS = (
    "The network draws random numbers by place in the batch (dropout), so that jitter changes which rows they meet and "
    "not the rounding alone."
)
# Less of the time than this no deterministic algorithm takes: something else held the others up.
LEAST_TIMES = 0.05


def is_deterministic(rounding: Rounding | str) -> bool:
    """Tell whether a training runs by deterministic algorithms."""
    return rounding in ("deterministic", "deterministic jitter")


def is_jittered(rounding: Rounding | str) -> bool:
    """Tell whether rows are permuted inside each batch."""
    return rounding in ("jitter", "deterministic jitter")


def jittered(positions: Codes, size: int, seed: int, repeat: int, epoch: int) -> Codes:
    """Permute the places of one trial within each batch of ``size``."""
    noise = stream(seed, "jitter", repeat, epoch).random(len(positions))
    return positions[np.argsort(np.arange(len(positions)) // size + noise)]


@cache
def ask_for_workspace() -> bool:
    """Ask cuBLAS for the workspace that makes it deterministic; False where CUDA had started without it."""
    torch = require("torch", extra="train", purpose="Training")
    if CUBLAS in os.environ:
        return True
    os.environ[CUBLAS] = CUBLAS_VALUE
    return not torch.cuda.is_initialized()


@contextmanager
def deterministic_algorithms() -> Iterator[list[str]]:
    """Let torch use deterministic algorithms; the list then names the operations that have no deterministic form."""
    torch = require("torch", extra="train", purpose="Training")
    ask_for_workspace()
    threads, was, only_warned = (
        torch.get_num_threads(),
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    without: list[str] = []
    other_warnings: list[warnings.WarningMessage] = []
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.set_num_threads(1)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield without
        for warning in caught:
            matched = NO_FORM.match(str(warning.message))
            if matched is None:
                other_warnings.append(warning)
            elif matched[1] not in without:
                without.append(matched[1])
    finally:
        torch.use_deterministic_algorithms(was, warn_only=only_warned)
        torch.set_num_threads(threads)
    for warning in other_warnings:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def overhead(seconds: Callable[[], float]) -> float:
    """Return how many times longer steps of training take when they are deterministic, by what measures a few."""
    native = seconds()
    with deterministic_algorithms():
        return seconds() / native


def seconds_of(steps: Callable[[int], None]) -> float:
    """Return what a step takes: the fastest of a few, for what else runs on the machine makes the others longer."""
    steps(1)
    took = []
    for _ in range(TIMED_STEPS):
        start = time.perf_counter()
        steps(1)
        took.append(time.perf_counter() - start)
    return max(min(took), 1e-9)


def deterministic_note(times: float, without: list[str], in_time: bool = True, steps: int = TIMED_STEPS) -> str:
    """Say what deterministic rounding cost and what it could not do."""
    missing = f"without a deterministic form: {', '.join(without)}" if without else "every operation has one"
    late = "" if in_time else f" CUDA had started before {CUBLAS} was set, so that products may not be deterministic."
    took = f"Deterministic algorithms took {times:.1f} times as long as native ones ({steps} steps)"
    if times < LEAST_TIMES:
        took = "How much longer deterministic algorithms took could not be measured on this busy machine"
    if math.isnan(times):
        took = "How much longer deterministic algorithms took was not measured"
    return f"{took}; {missing}.{late}"
