"""Claim: store, scheduling and counts are under 5 % of a study whose trials take 0.2 s each, one trial a stack.

A training function that sleeps costs the processor nothing, so the processor's time of the whole run is what everything
else costs; by the clock it is what the run takes longer than the functions did. The study is of the bundled census
cohort (48,842 rows, 15 columns) and keeps the scores of its 22,793 dev and test rows. Taking the rows of a trial and
reading its predictions is what a plain loop does too, which stands beside it and keeps nothing: what a study costs
beyond that is the claim, and what it costs beyond the function alone is told.

Run it as: python benchmarks/studies_overhead.py [--small] [--profile]
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from equipoise import Cohort, Study
from equipoise.cohorts import load
from equipoise.studies.running import Work, run_in_store
from equipoise.studies.storage import Store

SECONDS = 0.2
MOST = 0.05


@dataclass
class Spent:
    """Time by the clock and of the processor, and how often."""

    clock: float = 0.0
    processor: float = 0.0
    times: int = 0

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Add what is spent inside."""
        clock, processor = time.perf_counter(), time.process_time()
        yield
        self.clock += time.perf_counter() - clock
        self.processor += time.process_time() - processor
        self.times += 1


TRAINING = Spent()


def sleeping(cohort: Cohort, seed: int) -> dict[str, Any]:
    """Train nothing for a while, and return scores."""
    with TRAINING.counting():
        time.sleep(SECONDS)
        generator = np.random.default_rng(seed)
        rows = {split: int((cohort["split"] == split).sum()) for split in ("dev", "test")}
        scores = {split: generator.random(number) for split, number in rows.items()}
    return scores


def study_of(trials: int) -> Study:
    cohort = load("adult")
    return Study(cohort, group="sex", train=sleeping, version=1, seeds=trials, stack=1, dev=0.2, name="overhead")


def plainly(study: Study) -> Spent:
    """Call the function in a loop on the rows of each trial, and keep nothing."""
    work, spent = study.work, Spent()
    with spent.counting():
        for stack in study.stacks():
            work.train(stack.trials)
    return spent


@contextmanager
def timed(owner: type, names: tuple[str, ...]) -> Iterator[dict[str, Spent]]:
    """Measure methods of a class while they are called as ever."""
    plain = {name: getattr(owner, name) for name in names}
    spent = {name: Spent() for name in names}

    def measured(name: str) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            with spent[name].counting():
                return plain[name](*given, **named)

        return call

    for name in names:
        setattr(owner, name, measured(name))
    try:
        yield spent
    finally:
        for name, method in plain.items():
            setattr(owner, name, method)


def beside(spent: Spent, training: Spent) -> Spent:
    """What is left when training is taken out."""
    return Spent(spent.clock - training.clock, spent.processor - training.processor, training.times)


def told(name: str, spent: Spent, trials: int) -> None:
    each = (1000 * part / trials for part in (spent.clock, spent.processor))
    print("  {:<42} {:7.2f} ms by the clock, {:6.2f} of the processor".format(name, *each))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    trials = 15 if options.small else 100
    methods = ("plan", "lease", "record_and_lease", "status")
    study = study_of(trials)
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        with Spent().counting():
            run_in_store(study_of(1), Path(folder) / "warm.db")  # what is imported once
        study.stacks()
        global TRAINING
        TRAINING, whole, profile = Spent(), Spent(), cProfile.Profile()
        with timed(Store, methods) as parts, timed(Work, ("outcomes",)) as trained:
            if options.profile:
                profile.enable()
            with whole.counting():
                run_in_store(study, Path(folder) / "study.db", watcher=lambda standing: None)
            profile.disable()
        training, TRAINING = TRAINING, Spent()
        plain = beside(plainly(study), TRAINING)
    assert training.times == trials
    rest = beside(whole, training)
    keeping = beside(whole, trained["outcomes"])
    print(f"{trials} trials of {SECONDS} s, one a stack; a trial costs, beside its function:")
    told("everything", rest, trials)
    told("store, scheduling and counts", keeping, trials)
    told("the rows of the trial and its predictions", beside(trained["outcomes"], training), trials)
    for name, spent in parts.items():
        told(f"Store.{name} ({spent.times} times)", spent, trials)
    told("a plain loop that keeps nothing", plain, trials)
    if options.profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)
    # By the processor's time as if the functions had worked while they slept, on a machine with nothing else to do.
    alone = training.clock + rest.processor
    kept, all_of_it = ((100 * of.clock / whole.clock, 100 * of.processor / alone) for of in (keeping, rest))
    print(
        f"ratio: store, scheduling and counts {kept[0]:.1f} % of the study by the clock, {kept[1]:.1f} % by the "
        f"processor's time (claim: under {100 * MOST:.0f} %); everything but the function {all_of_it[0]:.1f} and "
        f"{all_of_it[1]:.1f} %"
    )


if __name__ == "__main__":
    main()
