"""Wanted: on two cores a search of 20 settings of the adversarial treatment on Adult takes less than two minutes.

Not reached at the paper's size (hidden 300, batch 1024, all training rows): benchmarks/README.md has what was seen.
Settings of a generation differ in learning rate and strength, and train together in stacks; beside it the same settings
train one at a time. Both give the same settings: what is asked for next does not hang on who trained with whom, as long
as rounding does not change which setting is better. Time is by the clock and by the processor; the first is worth what
else the machine does meanwhile.

Run it as: python benchmarks/study_search.py [--small] [--width 300] [--workers 2]
"""

from __future__ import annotations

import argparse
import importlib
import os
import resource
import tempfile
import time
from pathlib import Path

from equipoise import load
from equipoise.studies import Study, run_study

MOST_SECONDS = 120.0


def cpu_seconds() -> float:
    """Return the time of the processor of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def searched(options: argparse.Namespace, stack: int | None, folder: Path) -> tuple[float, float, list[str]]:
    """Search; return seconds by clock and processor, and the settings of the verdict."""
    study = Study(
        load("adult"), group="sex", dev=0.2, treatments=["adversarial"], seeds=1, stack=stack,
        learner={"name": "mlp", "width": options.width, "epochs": options.epochs},
        size=options.rows, search={"trials": options.trials, "generation": options.generation}, name="search",
    )  # fmt: skip
    assert study.dataset  # reading and encoding the data is no part of a search, nor are imports
    for library in ("torch", "optuna"):
        importlib.import_module(library)
    began, used = time.perf_counter(), cpu_seconds()
    chosen = run_study(study, folder / f"{stack}.db", workers=options.workers)
    seconds = time.perf_counter() - began, cpu_seconds() - used
    return *seconds, [str(chosen.trials()[0].treatments[0]), str(chosen.trials()[0].learner)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--generation", type=int, default=10)
    parser.add_argument("--width", type=int, default=300)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--rows", type=int, default=None)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--together-only", action="store_true", help="leave out one at a time")
    options = parser.parse_args()
    if options.small:
        options.trials, options.generation, options.width, options.epochs, options.rows = 4, 2, 16, 2, 2_000
    if not options.small and options.workers == 1:
        print(f"{os.cpu_count()} cores, one worker: torch shares the cores among the operations of a stack.")
    with tempfile.TemporaryDirectory() as folder:
        clock, used, chosen = searched(options, None, Path(folder))
        print(
            f"together: {clock:.1f} s by the clock, {used:.1f} s of the processor for {options.trials} settings and "
            f"one verdict; chosen {', '.join(chosen)}"
        )
        if not options.together_only:
            alone, alone_used, other = searched(options, 1, Path(folder))
            print(
                f"one at a time: {alone:.1f} s by the clock, {alone_used:.1f} s of the processor; "
                f"{alone / clock:.2f} and {alone_used / used:.2f} times as long; "
                f"{'the same settings' if other == chosen else 'other settings: ' + ', '.join(other)}"
            )
    if not options.small:
        print(
            f"wanted: under {MOST_SECONDS:.0f} s by the clock: {'reached' if clock < MOST_SECONDS else 'not reached'}"
        )


if __name__ == "__main__":
    main()
