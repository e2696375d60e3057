"""Train the benchmark's generators of sprites, side by side on one graphics card, for docs/papers/002.md.

    python3 -m reproductions.sprites.train_generators --out out/generators --seeds 0 1 2 --device cuda
    python3 -m reproductions.sprites.train_generators --out out/skewed --skew shape scale 0.9 --device cuda

Locatello et al. (2019) train 300,000 steps at a rate of 1e-4; the defaults here are a tenth of the steps at a rate that
falls from five times theirs to 0. What is whole in the folder is not trained again. `--together` generators share a
process, each with a recorded step on a stream of its own, and `--jobs` processes share the card. Without a card:
--device cpu --steps 50 --width 4 shows that it runs.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from equipoise.discovery.generative import KINDS, StepProgress, VAESettings
from reproductions.sprites.generators import GeneratorPlan, Skew, missing, plans_of, train_generators


def main(arguments: Sequence[str] | None = None) -> int:
    """Train what is missing; return how many generators were trained."""
    options = _asked(arguments)
    skews = [Skew(target, biased, float(agreement)) for target, biased, agreement in options.skew]
    plans = plans_of(options.kinds, options.seeds, skews)
    settings = VAESettings(
        latent_size=options.latent_size, steps=options.steps, batch_size=options.batch_size, learning_rate=options.rate,
        width=options.width, device=options.device, report_every=min(options.steps, options.report_every),
        schedule=options.schedule,
    )  # fmt: skip
    todo = missing(plans, settings, options.out)
    print(f"{len(plans)} generators asked for, {len(plans) - len(todo)} are there", flush=True)
    groups = [todo[first : first + options.together] for first in range(0, len(todo), options.together)]
    tasks = [(group, settings, options.out, not options.plain) for group in groups]
    started = time.perf_counter()
    if options.jobs > 1:
        with ProcessPoolExecutor(options.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
            done = sum(pool.map(_train, tasks))
    else:
        done = sum(map(_train, tasks))
    print(f"{done} generators in {time.perf_counter() - started:.0f} s", flush=True)
    return done


def _train(task: tuple[list[GeneratorPlan], VAESettings, Path, bool]) -> int:
    import torch

    torch.set_num_threads(1 if task[1].device != "cpu" else torch.get_num_threads())
    plans, settings, folder, record = task
    names = ", ".join(plan.name for plan in plans)
    print(f"begun: {names}", flush=True)
    started = time.perf_counter()

    def told(stand: StepProgress) -> None:
        spent = time.perf_counter() - started
        remaining = spent / stand.step * (stand.steps - stand.step)
        losses = ", ".join(f"{name} {value:.2f}" for name, value in stand.losses.items())
        seconds = f"{spent:.0f} s, {remaining:.0f} s left"
        print(f"{plans[-1].name}: step {stand.step:,} of {stand.steps:,}, {losses}; {seconds}", flush=True)

    train_generators(plans, settings, folder, report=told, record=record)
    print(f"done: {names} in {time.perf_counter() - started:.0f} s", flush=True)
    return len(plans)


def _asked(arguments: Sequence[str] | None) -> Any:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the folder of generators")
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--skew", nargs=3, action="append", default=[], metavar=("TARGET", "BIASED", "AGREEMENT"),
                        help="train on sprites in which two halves go together; may be repeated")  # fmt: skip
    parser.add_argument("--steps", type=int, default=30_000)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--rate", type=float, default=5e-4)
    parser.add_argument("--schedule", default="cosine", choices=["constant", "cosine"], help="of the learning rate")
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--latent-size", type=int, default=10)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--together", type=int, default=5, help="generators side by side in one process")
    parser.add_argument("--report-every", type=int, default=1_000)
    parser.add_argument("--plain", action="store_true", help="launch every kernel anew instead of recording a step")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
