"""Claim: a store takes at least 1,000 trial records a second, predictions of 10,000 rows included, and answers for the
status of 10,000 trials in 10 ms.

Beside it, on the same disk, the plain way: a row of JSON a trial, a commit a row, and status by reading the rows.

Run it as: python benchmarks/study_store.py [--small]
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from safetensors.numpy import save

from equipoise.studies import Trial
from equipoise.studies.plans import (
    Named,
    Recorded,
)
from equipoise.studies.storage import EvaluationLabels, SplitLabels, Store, open_store, packed
from equipoise.training import Epoch, Predicted

ROWS = 5_000  # of dev, and as many of test
STACK = 32
HISTORY = tuple(Epoch(number, 0.5, 0.8, 0.9) for number in range(1, 31))
ENVIRONMENT = {"torch": "2.13.0", "numpy": "2.4", "device": "cpu"}


def trial(seed: int) -> Trial:
    return Trial(
        "sha256:benchmark", ("sex",), Named("interpolation", 1, {"mode": "CB", "alpha": 1}), 10_000,
        Named("mlp", 1, {"hidden": 300}), (Named("adversarial", 1, {"strength": 0.1 * (seed % 10)}),), seed, 0,
        "native", "float32", "cpu", "dto",
    )  # fmt: skip


def made(generator: np.random.Generator, scores: bool) -> Predicted:
    second = (1 / (1 + np.exp(-generator.normal(-1.5, 1.5, (ROWS, 1))))).astype(np.float32)
    whole = np.concatenate([1 - second, second], axis=1)
    return Predicted(whole.argmax(axis=1), whole if scores else None)


def evaluation_labels(generator: np.random.Generator) -> EvaluationLabels:
    def split() -> SplitLabels:
        return SplitLabels(generator.integers(0, 2, ROWS), generator.integers(0, 4, ROWS))

    groups = tuple((sex, race) for sex in ("F", "M") for race in ("a", "b"))
    splits = {"dev": split(), "test": split()}
    return EvaluationLabels("sha256:benchmark", "class", ("no", "yes"), ("sex", "race"), groups, splits)


def recorded(leased: tuple[Trial, ...], predicted: list[Predicted]) -> list[Recorded]:
    return [
        Recorded(
            one, "done", {"dev": predicted[index % 16], "test": predicted[(index + 5) % 16]}, HISTORY, 7, ("a note",),
            seconds=0.2, environment=ENVIRONMENT,
        )
        for index, one in enumerate(leased)
    ]  # fmt: skip


def stored(store: Store, wanted: int, predicted: list[Predicted], truth: EvaluationLabels) -> tuple[float, float]:
    """Lease and record so many trials; return trials a second by the clock, and by the processor's time."""
    done, start, used = 0, time.perf_counter(), time.process_time()
    while done < wanted and (leased := store.lease("worker", 600)):
        done += len(store.record("worker", recorded(leased, predicted), truth).new)
    return done / (time.perf_counter() - start), done / (time.process_time() - used)


def plainly(path: Path, trials: list[Trial], predicted: list[Predicted]) -> float:
    """Write rows of JSON, a commit a row; return trials a second."""
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE trials (key TEXT PRIMARY KEY, content TEXT)")
    start = time.perf_counter()
    for one in recorded(tuple(trials), predicted):
        content = {
            "trial": one.trial.described(), "state": one.state, "cell": f"cell {one.trial.seed % 20}",
            "history": [vars(epoch) for epoch in one.history], "seconds": one.seconds,
            "environment": dict(one.environment),
            "predictions": {
                split: {"values": kept.values.tolist(), "scores": None if kept.scores is None else kept.scores.tolist()}
                for split, kept in one.predictions.items()
            },
        }  # fmt: skip
        connection.execute("INSERT INTO trials VALUES (?, ?)", (one.trial.key, json.dumps(content)))
        connection.commit()
    taken = time.perf_counter() - start
    connection.close()
    return len(trials) / taken


def median(of: Callable[[], object], times: int, clock: Callable[[], float] = time.perf_counter) -> float:
    of()
    taken = []
    for _ in range(times):
        start = clock()
        of()
        taken.append(clock() - start)
    return statistics.median(taken)


def plain_status(path: Path) -> Counter[tuple[str, str]]:
    connection = sqlite3.connect(path)
    rows = [json.loads(content) for (content,) in connection.execute("SELECT content FROM trials")]
    connection.close()
    return Counter((row["cell"], row["state"]) for row in rows)


def packing(predicted: Predicted) -> None:
    """Show what zlib makes of the predictions of one split: bytes, and microseconds."""
    assert predicted.scores is not None
    for name, array in (("codes", predicted.values), ("scores", predicted.scores[:, 1].copy())):
        plain = save({"array": array.astype(np.uint8) if name == "codes" else array})
        ways: dict[str, Callable[[], bytes]] = {
            "level 1": lambda plain=plain: zlib.compress(plain, 1),
            "level 6": lambda plain=plain: zlib.compress(plain, 6),
            "runs": lambda plain=plain: _runs(plain),
            "as kept": lambda array=array: packed(array),
        }
        sizes = ", ".join(f"{way} {len(of()):,} ({1e6 * median(of, 50):,.0f} us)" for way, of in ways.items())
        print(f"packing {name} of {ROWS:,} rows, {len(plain):,} bytes: {sizes}")


def _runs(plain: bytes) -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, zlib.Z_RLE)
    return packer.compress(plain) + packer.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true")
    small = parser.parse_args().small
    number, wanted, few = (640, 320, 32) if small else (10_000, 4_800, 320)
    generator = np.random.default_rng(0)
    truth = evaluation_labels(generator)
    trials = [trial(seed) for seed in range(number)]
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        place = Path(folder)
        speeds = {}
        for scores in (False, True):
            predicted = [made(generator, scores) for _ in range(16)]
            what = "with scores" if scores else "classes only"
            with open_store(place / f"{scores}.db") as store:
                start = time.perf_counter()
                store.plan([(one, at // STACK, f"cell {at * 20 // number}") for at, one in enumerate(trials)])
                planned = time.perf_counter() - start
                by_clock, by_processor = stored(store, wanted, predicted, truth)
                status, of_processor = (median(store.status, 9, of) for of in (time.perf_counter, time.process_time))
                counted = median(lambda store=store: store.readouts("test"), 5)
                assert store.status().done >= wanted
            plain = plainly(place / f"{scores}.plain.db", trials[:few], predicted)
            speeds[what] = (by_clock, by_clock / plain)
            print(
                f"{what}: {by_clock:,.0f} trial records a second ({by_processor:,.0f} by the processor's time), leases "
                f"included; a row of JSON and a commit a trial {plain:,.0f}"
            )
            print(
                f"  {number:,} trials planned in {planned:.2f} s; status {1000 * status:.1f} ms "
                f"({1000 * of_processor:.1f} of the processor); the counts of {wanted:,} done trials read in "
                f"{1000 * counted:.0f} ms"
            )
        packing(predicted[0])
        # What reading rows costs grows with them: the plain status is scaled from the few that were written.
        plain_took = median(lambda: plain_status(place / "False.plain.db"), 3) * number / few
    ratios = ", ".join(f"{ratio:,.1f} {what}" for what, (_, ratio) in speeds.items())
    print(f"ratio: records {ratios}; status {plain_took / status:,.0f}")


if __name__ == "__main__":
    main()
