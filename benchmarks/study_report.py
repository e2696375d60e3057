"""Claim: the report of 10,000 trials takes under 10 s: read from the store, judged, drawn as a page and as JSON.

The trials are those of ten treatments under ten conditions, ten seeds and ten identical runs each, with 5,000 dev and
as many test rows. Beside it the numbers of each trial are computed one trial at a time, which is the plain way: the
ratio is that of measuring all trials, and says nothing about tests and charts, which the plain way does not have.

Run it as: python benchmarks/study_report.py [--small]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from study_store import ENVIRONMENT, ROWS, evaluation_labels

from equipoise.measures import get_measure
from equipoise.studies import Trial
from equipoise.studies.findings import data_of, measure_study, result_of
from equipoise.studies.plans import (
    Named,
    Recorded,
)
from equipoise.studies.storage import Readouts, Store, open_store
from equipoise.tallies import Confusion
from equipoise.training import Predicted

MEASURES = ("DP", "DI", "SPSF", "FPSF", "EOFP", "EOTP", "BA", "GAP", "DTO", "accuracy")
ALONE = 50


def trials(conditions: int, treatments: int, seeds: int, repeats: int) -> list[Trial]:
    return [
        Trial(
            "sha256:benchmark", ("sex",), Named("interpolation", 1, {"mode": "CB", "alpha": alpha / 5}), 10_000,
            Named("mlp", 1, {}), (Named("untreated" if not number else f"method_{number}", 1, {}),), seed, repeat,
            "jitter", "float32", "cpu", "dto",
        )
        for alpha in range(conditions) for number in range(treatments) for seed in range(seeds)
        for repeat in range(repeats)
    ]  # fmt: skip


def fill(store: Store, asked: list[Trial], generator: np.random.Generator) -> None:
    """Record every trial as done, with predictions that are right more often under some treatments than others."""
    truth = evaluation_labels(generator)
    store.plan([(one, index // 10, one.treatment) for index, one in enumerate(asked)])
    targets = {split: truth.of(split).target for split in ("dev", "test")}
    for start in range(0, len(asked), 500):
        made = []
        for one in asked[start : start + 500]:
            wrong = 0.2 + 0.01 * (sum(one.treatment.encode()) % 7)
            flipped = {split: generator.random(ROWS) < wrong for split in targets}
            said = {split: Predicted(np.where(flipped[split], 1 - target, target)) for split, target in targets.items()}
            made.append(Recorded(one, "done", said, (), 1, seconds=0.2, environment=ENVIRONMENT))
        store.add(made, truth)


def one_at_a_time(readouts: Readouts) -> float:
    """Return the seconds a trial takes when its measures are computed by themselves."""
    start = time.perf_counter()
    for place in range(ALONE):
        own = Readouts(readouts.split, readouts.keys[:1], readouts.counts[place : place + 1], readouts.names)
        for attribute in ("sex", "race"):
            stacked = own.confusion([attribute])
            table = Confusion(stacked.cells[0], stacked.groups, stacked.classes)
            for name in MEASURES:
                get_measure(name).from_counts(table)
    return (time.perf_counter() - start) / ALONE


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true", help="400 trials: does it run?")
    asked = trials(2, 4, 10, 5) if parser.parse_args().small else trials(10, 10, 10, 10)
    generator = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / "study.db"
        with open_store(where, plan="benchmark") as store:
            fill(store, asked, generator)
        start, used = time.perf_counter(), time.process_time()
        with open_store(where, create=False, read_only=True, plan="benchmark") as store:
            data = data_of(store, name="benchmark", truth=evaluation_labels(np.random.default_rng(0)))
            result = result_of(data)
            result.report(Path(folder) / "page.html")
            result.to_json(Path(folder) / "page.json")
            taken, worked = time.perf_counter() - start, time.process_time() - used
            begun = time.perf_counter()
            measure_study(data)
            together = (time.perf_counter() - begun) / len(asked)
            alone = one_at_a_time(store.readouts("test"))
        size = (Path(folder) / "page.html").stat().st_size / 2**20
    print(f"{len(asked):,} trials: {taken:.1f} s ({worked:.1f} of the processor; limit 10), a page of {size:.1f} MB")
    print(f"measures of a trial: {1e6 * together:,.0f} microseconds together, {1e6 * alone:,.0f} one at a time")
    print(f"ratio: {alone / together:,.0f}")


if __name__ == "__main__":
    main()
