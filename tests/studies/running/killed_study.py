"""A study for tests to kill: python killed_study.py PLAN STORE WORKERS prints a line when it begins to train.

PLAN is a TOML file, or "own" for functions that need no torch and take a moment each.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from helpers.cases.plan import by_the_mean, cohort, threshold

MOMENT = 0.02


def slow_threshold(people: Any, seed: int, cut: float = 0.5) -> Any:
    time.sleep(MOMENT)
    return threshold(people, seed, cut)


def slow_mean(people: Any, seed: int) -> Any:
    time.sleep(MOMENT)
    return by_the_mean(people, seed)


def study_of(plan: str) -> Any:
    if plan != "own":
        from equipoise.studies import read_plan

        return read_plan(plan).study()
    import killed_study  # by its own name, so that workers find the functions

    from equipoise import Study

    functions = [killed_study.slow_threshold, killed_study.slow_mean]
    return Study(cohort(), group="sex", train=functions, version=1, seeds=10, repeats=2, name="own")


def main(plan: str, store: str, workers: str) -> None:
    from equipoise.studies.running import run_in_store

    study = study_of(plan)
    study.stacks()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    run_in_store(study, store, workers=int(workers))


if __name__ == "__main__":
    main(*sys.argv[1:])
