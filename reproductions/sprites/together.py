"""One summary of several runs of the benchmark on sprites, each of a part or of some of the generators.

python -m reproductions.sprites.together docs/papers/002/sprites-ablation-0.json \\
    docs/papers/002/sprites-ablation.json docs/papers/002/sprites.json docs/papers/002/sprites-skew.json \\
    --json docs/papers/002/sprites-together.json

Written are the parts that several runs have a share in: the ablation, the known factors and the skew. Generators of one
name (kind, seed and skew) are one generator: training gives the same again. Of a triplet that several runs scored, the
score of the first counts.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from equipoise.foundation import write_file
from reproductions.sprites.document import DIGITS
from reproductions.sprites.methods import ABLATION
from reproductions.sprites.summary import Row, known, skewed, table


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Read the documents and write what they say together."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", nargs="+", type=Path)
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args(arguments)
    rows = joined(row for file in options.documents for row in json.loads(file.read_text())["triplets"])
    even = [row for row in rows if row["skew"] is None and not row["unfitted"]]
    tables = {
        "documents": [file.name for file in options.documents],
        "ablation": table(even, ("ours", *ABLATION)),
        "known": known(even),
        "skew": skewed(rows),
    }
    contents: dict[str, Any] = json.loads(json.dumps(tables), parse_float=lambda number: round(float(number), DIGITS))
    write_file(options.json, json.dumps(contents, indent=1) + "\n")
    return contents


def joined(rows: Iterable[Row]) -> list[Row]:
    """Return one row for each triplet, with the methods of all its rows."""
    rows_by_triplet: dict[tuple[str, str, str], Row] = {}
    for row in rows:
        before = rows_by_triplet.setdefault((row["generator"], row["target"], row["biased"]), row)
        rows_by_triplet[row["generator"], row["target"], row["biased"]] = before | {
            "methods": row["methods"] | before["methods"]
        }  # fmt: skip
    return list(rows_by_triplet.values())


if __name__ == "__main__":
    main()
