"""Claim: comparing representations needs no N x N matrix: PNKA of 8,000 rows is at least 40 times faster than forming
both kernels and their product at width 512, and 250 times at width 128, with the same scores; 200,000 rows of width 128
take under 1 s and 700 MB on two cores; time is linear in the rows up to 2 million.

With --one-thread both sides have one thread, and the processor's time is counted instead of the clock's: threads that
wait for each other on a busy machine tell nothing about either side.

Run it as: python benchmarks/representations.py [--small] [--one-thread] [--only SECTION]
"""

from __future__ import annotations

import argparse
import importlib
import os

# Each is a module beside this one with a function run(small).
SECTIONS = ("pnka", "embeddings")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=SECTIONS, help="one section of them")
    parser.add_argument("--small", action="store_true", help="sizes for CI: it must run, the ratios decide nothing")
    parser.add_argument("--one-thread", action="store_true", help="one thread a side, and the processor's time")
    chosen = parser.parse_args()
    if chosen.one_thread:  # read when numpy is imported
        os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    for section in [chosen.only] if chosen.only else SECTIONS:
        importlib.import_module(f"representations_{section}").run(chosen.small)


if __name__ == "__main__":
    main()
