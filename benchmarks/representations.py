"""Claim: comparing representations needs no N x N matrix: PNKA of 8,000 rows is at least 40 times faster than forming
both kernels and their product at width 512, and 250 times at width 128, with the same scores; 200,000 rows of width 128
take under 1 s and 700 MB on two cores; time is linear in the rows up to 2 million.

Run it as: python benchmarks/representations.py [--small]
"""

from __future__ import annotations

import argparse

import representations_pnka

SECTIONS = (representations_pnka.run,)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true", help="sizes for CI: it must run, the ratios decide nothing")
    small = parser.parse_args().small
    for section in SECTIONS:
        section(small)


if __name__ == "__main__":
    main()
