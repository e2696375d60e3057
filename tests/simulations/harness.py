"""Run simulations on several cores and keep what they counted: one JSON of settings, counts and Monte Carlo errors."""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

# What one simulation says: of each question whether it happened (1 or 0), or None where it does not apply.
Outcome = Mapping[str, float | None]
Setting = Mapping[str, Any]


def summarise(outcomes: Iterable[Outcome]) -> dict[str, dict[str, float]]:
    """Return for every question its rate, the Monte Carlo standard error of it, and the number of simulations."""
    kept: dict[str, list[float]] = {}
    for outcome in outcomes:
        for name, value in outcome.items():
            if value is not None:
                kept.setdefault(name, []).append(float(value))
    made = {}
    for name, values in kept.items():
        rate = sum(values) / len(values)
        variance = sum((value - rate) ** 2 for value in values) / max(len(values) - 1, 1)
        made[name] = {"rate": rate, "error": math.sqrt(variance / len(values)), "simulations": len(values)}
    return made


def simulate(
    one: Callable[[Setting, int], Outcome], setting: Setting, simulations: int, workers: int = 1
) -> dict[str, dict[str, float]]:
    """Simulate one setting; simulation number i has the seed i, so more workers give the same counts."""
    if workers <= 1:
        return summarise(one(setting, seed) for seed in range(simulations))
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        tasks = [(setting, seed) for seed in range(simulations)]
        return summarise(pool.starmap(one, tasks, chunksize=max(1, simulations // (8 * workers))))


def main(name: str, parts: Mapping[str, tuple[Callable[[Setting, int], Outcome], list[Setting]]]) -> None:
    """Run the long version from the command line; what is in the JSON already is not run again."""
    parser = argparse.ArgumentParser(description=f"Simulations of {name}")
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path, default=Path(f"{name}.json"))
    parser.add_argument("--part", action="append", choices=list(parts))
    parser.add_argument("--seconds", type=float, default=math.inf, help="Start no setting after so many seconds.")
    asked = parser.parse_args()
    found = json.loads(asked.json.read_text()) if asked.json.exists() else []
    known = [(row["part"], row["setting"]) for row in found]
    start = time.perf_counter()
    for part in asked.part or parts:
        one, settings = parts[part]
        for setting in settings:
            if (part, dict(setting)) in known or time.perf_counter() - start > asked.seconds:
                continue
            rates = simulate(one, setting, int(setting.get("simulations", asked.simulations)), asked.workers)
            found.append({"part": part, "setting": dict(setting), "rates": rates})
            asked.json.write_text(json.dumps(found, indent=1) + "\n")
            told = ", ".join(f"{key} {100 * row['rate']:.2f}% ({100 * row['error']:.2f})" for key, row in rates.items())
            print(f"{time.perf_counter() - start:7.1f} s  {part} {dict(setting)}: {told}", flush=True)  # noqa: T201
