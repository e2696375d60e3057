"""One summary of several runs of the benchmark on sprites, of generators trained at different times by one recipe.

python docs/papers/002/together.py docs/papers/002/sprites.json docs/papers/002/sprites-ablation.json \\
    docs/papers/002/sprites-skew.json --json docs/papers/002/sprites-together.json

Written are the parts that runs have a share of each: the ablation, the known factors and the skew. Generators of
different files are different generators, also where kind and seed are the same: they are told apart by their file.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from equipoise.discovery.benchmark.document import DIGITS
from equipoise.discovery.benchmark.methods import ABLATION
from equipoise.discovery.benchmark.summary import Row, known, skewed, table
from equipoise.foundation.files import write_whole


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Read the documents and write what they say together."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", nargs="+", type=Path)
    parser.add_argument("--json", type=Path, required=True)
    asked = parser.parse_args(arguments)
    rows = [row for file in asked.documents for row in _rows(file)]
    even = [row for row in rows if row["skew"] is None and not row["unfitted"]]
    made = {
        "documents": [file.name for file in asked.documents],
        "ablation": table(even, ("ours", *ABLATION)),
        "known": known(even),
        "skew": skewed(_once(rows)),
    }
    write_whole(asked.json, json.dumps(json.loads(json.dumps(made), parse_float=_short), indent=1) + "\n")
    return made


def _rows(file: Path) -> list[Row]:
    triplets: list[Row] = json.loads(file.read_text())["triplets"]
    return [row | {"generator": f"{file.stem} {row['generator']}"} for row in triplets]


def _once(rows: Sequence[Row]) -> list[Row]:
    """Return of each kind, seed, skew and setting the first row: one skewed generator is held against one even one."""
    found = {(row["kind"], row["seed"], str(row["skew"]), row["target"], row["biased"]): row for row in reversed(rows)}
    return list(found.values())


def _short(number: str) -> float:
    return round(float(number), DIGITS)


if __name__ == "__main__":
    main()
