"""What a trial ran on: packages and hardware. It stands beside the identity of a trial, not in it."""

from __future__ import annotations

import os
import platform
import sys
from functools import cache
from importlib import metadata
from typing import Any

from equipoise.foundation.imports import installed

PACKAGES = ("numpy", "scipy", "scikit-learn", "torch")


def environment(device: str = "cpu", **more: Any) -> dict[str, Any]:
    """Describe this machine in plain JSON values; nothing in it changes from one run to the next."""
    found = {
        "equipoise": str(sys.modules["equipoise"].__version__),
        "python": platform.python_version(),
        "packages": dict(packages()),
        "platform": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "threads": threads(),
        **more,
    }
    if device == "cuda":
        import torch

        found |= {"graphics": torch.cuda.get_device_name(), "cuda": torch.version.cuda}
    return found


@cache
def packages() -> tuple[tuple[str, str], ...]:
    """Return the versions of what numbers are computed with."""
    return tuple((name, metadata.version(name)) for name in PACKAGES if installed(_module(name)))


def _module(package: str) -> str:
    return "sklearn" if package == "scikit-learn" else package


@cache
def processor() -> str:
    """Name the processor: sums are rounded differently on another."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def threads() -> int:
    """How many threads numbers are added with: another number of threads rounds differently."""
    # Not asked of torch: the answer would depend on whether a trial before this one has imported it.
    given = os.environ.get("OMP_NUM_THREADS", "")
    return int(given) if given.isdigit() and int(given) else available_cores()


def available_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def limit_threads(number: int) -> None:
    """Let this process use so many threads, so that several workers do not fight for the cores."""
    from threadpoolctl import threadpool_limits

    os.environ["OMP_NUM_THREADS"] = str(number)  # read by torch when it is imported
    threadpool_limits(number)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(number)
