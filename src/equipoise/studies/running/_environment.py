"""What a trial runs on: devices, packages, hardware, and the process that holds its lease."""

from __future__ import annotations

import os
import platform
import secrets
import socket
import sys
from functools import cache
from importlib import metadata
from typing import Any

from equipoise.foundation import (
    BadInput,
    installed,
    require,
)
from equipoise.studies.running._work import Work


def check_device(work: Work) -> None:
    """Refuse to train where the device of a trial is missing."""
    if all(trial.device == "cpu" for stack in work.stacks for trial in stack.trials):
        return
    torch = require("torch", extra="train", purpose='device = "cuda"')
    if not torch.cuda.is_available():
        raise BadInput(
            'device is "cuda", and torch finds no graphics card here',
            available="a machine that has one, or a plan with another device",
            help='pack the study for another machine (equipoise study pack PLAN DIR), or say device = "cpu".',
        )


PACKAGES = ("numpy", "scipy", "scikit-learn", "torch")


def environment(device: str = "cpu", **more: Any) -> dict[str, Any]:
    """Describe this machine in plain JSON values; nothing in it changes from one run to the next."""
    description = {
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

        description |= {"graphics": torch.cuda.get_device_name(), "cuda": torch.version.cuda}
    return description


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
    setting = os.environ.get("OMP_NUM_THREADS", "")
    return int(setting) if setting.isdigit() and int(setting) else available_cores()


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


def new_owner() -> str:
    """Name this process: machine, process number, and something that nobody else has."""
    return f"{machine()}:{os.getpid()}:{secrets.token_hex(4)}"


def machine() -> str:
    """Name this machine; another container counts as another machine, for its process numbers mean nothing here."""
    try:
        space = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        space = ""
    return f"{socket.gethostname()}/{space}".replace(":", "_")


def is_dead(owner: str) -> bool:
    """Tell whether an owner was a process of this machine that runs no longer; of others nothing is known."""
    parts = owner.split(":")
    if len(parts) != 3 or parts[0] != machine() or not parts[1].isdecimal():
        return False
    try:
        os.kill(int(parts[1]), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False
