"""Claim: `import equipoise` takes under 0.1 s and `equipoise --help` under 0.3 s.

The ratio is of the time to import fairlearn.metrics, the nearest peer, to the time to import equipoise.

Run it as: python benchmarks/startup.py [--times N]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time


def seconds(command: list[str], times: int) -> float:
    durations = []
    for _ in range(times):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        durations.append(time.perf_counter() - start)
    return statistics.median(durations)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=15)
    times = parser.parse_args().times
    nothing = seconds([sys.executable, "-c", "pass"], times)
    ours = seconds([sys.executable, "-c", "import equipoise"], times) - nothing
    helped = seconds([sys.executable, "-m", "equipoise", "--help"], times)
    theirs = seconds([sys.executable, "-c", "import fairlearn.metrics"], max(times // 3, 1)) - nothing
    print(f"Python alone: {1000 * nothing:.0f} ms (not counted in the imports)")
    print(f"import equipoise: {1000 * ours:.0f} ms   equipoise --help: {1000 * helped:.0f} ms in all")
    print(f"import fairlearn.metrics: {1000 * theirs:.0f} ms")
    print(f"ratio: {theirs / max(ours, 1e-4):.0f}")


if __name__ == "__main__":
    main()
