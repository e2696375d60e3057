"""PNKA against forming both kernels and their product, and how it grows with the rows."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from equipoise import measures

# The least ratio claimed at 8,000 rows for each width, and how far scores may be from the naive ones.
CLAIMED = {512: 40, 128: 250}
AGREEMENT = {"float32": 1e-5, "float64": 1e-12}

# With one thread, the time of the processor: another program beside this one does not stretch it.
ONE_THREAD = os.environ.get("OMP_NUM_THREADS") == "1"
clock = time.process_time if ONE_THREAD else time.perf_counter

# One size in a process of its own, so that the peak of its memory is its own.
CHILD = """
import json, os, sys, time, tracemalloc
from pathlib import Path
import numpy as np
from equipoise import measures
clock = time.process_time if os.environ.get("OMP_NUM_THREADS") == "1" else time.perf_counter
rows, width, dtype = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
generator = np.random.default_rng(0)
before, after = (np.empty((rows, width), dtype=dtype) for _ in range(2))
generator.standard_normal(out=before, dtype=dtype)
generator.standard_normal(out=after, dtype=dtype)
after += before
measures.pnka(before[:1000], after[:1000])
seconds = []
for _ in range(3):
    start = clock()
    measures.pnka(before, after)
    seconds.append(clock() - start)
# Not getrusage: its peak begins with what the parent held.
status = Path("/proc/self/status").read_text().splitlines()
peak = next(int(line.split()[1]) / 1024 for line in status if "VmHWM" in line)
tracemalloc.start()
measures.pnka(before, after)
print(json.dumps({"seconds": sorted(seconds)[1], "peak": peak, "own": tracemalloc.get_traced_memory()[1] / 2**20,
                  "input": 2 * before.nbytes / 2**20}))
"""


def naive(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """What the authors' function does: the whole product of two N x N kernels, of which the diagonal is kept."""
    z, w = before - before.mean(axis=0), after - after.mean(axis=0)
    k, l = z @ z.T, w @ w.T  # noqa: E741
    return np.diag(k @ l.T) / (np.linalg.norm(k, axis=1) * np.linalg.norm(l, axis=1))


def timed(function: Callable[..., np.ndarray], *given: np.ndarray) -> tuple[float, np.ndarray]:
    start = clock()
    found = function(*given)
    return clock() - start, found


def against_naive(rows: int, width: int, dtype: str) -> float:
    generator = np.random.default_rng(0)
    before = generator.standard_normal((rows, width), dtype=dtype)
    after = before + generator.standard_normal((rows, width), dtype=dtype)
    measures.pnka(before[:100], after[:100])
    # Half of our runs before the naive one and half after it: both meet the same machine.
    fast = [timed(measures.pnka, before, after) for _ in range(3)]
    slow, expected = timed(naive, before, after)
    fast += [timed(measures.pnka, before, after) for _ in range(3)]
    seconds = statistics.median(second for second, _ in fast)
    difference = float(np.abs(fast[0][1] - expected).max())
    assert difference <= AGREEMENT[dtype], difference
    print(
        f"{rows:,} rows, width {width}, {dtype}: whole kernels {slow:.2f} s, equipoise {seconds:.4f} s, "
        f"{slow / seconds:.0f} times faster; scores differ by {difference:.0e} at most",
        flush=True,
    )
    return slow / seconds


def alone(rows: int, width: int, dtype: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(rows), str(width), dtype], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    print(
        f"{rows:,} rows, width {width}, {dtype}: {found['seconds']:.2f} s, {1e6 * found['seconds'] / rows:.2f} s a "
        f"million rows; peak of the process {found['peak']:.0f} MB, of which input {found['input']:.0f} MB "
        f"and allocated by the call {found['own']:.0f} MB",
        flush=True,
    )
    return found


def run(small: bool) -> None:
    print("PNKA, linear kernel: exact, against forming both kernels and their product")
    print("one thread, time of the processor" if ONE_THREAD else "all cores, time of the clock")
    ratios = [(width, against_naive(1000 if small else 8000, width, dtype)) for width in CLAIMED for dtype in AGREEMENT]
    print("PNKA, one size a process (at 200,000 rows claimed: under 1 s and 700 MB)")
    sizes = (10_000, 20_000) if small else (125_000, 250_000, 500_000, 1_000_000, 2_000_000)
    for dtype in AGREEMENT:
        alone(20_000 if small else 200_000, 128, dtype)
    found = [alone(rows, 128, "float32")["seconds"] / rows for rows in sizes]
    print(f"a row among {sizes[-1]:,} took {found[-1] / found[0]:.2f} times what it takes among {sizes[0]:,}")
    for width, claimed in CLAIMED.items():
        least = min(ratio for other, ratio in ratios if other == width)
        print(f"PNKA ratio at width {width}: {least:.0f} (claimed at 8,000 rows: {claimed})")
