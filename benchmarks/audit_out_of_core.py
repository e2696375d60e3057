"""Claim: a Parquet folder of 100 million rows is audited within 512 MB, at 50 million rows a second or more for integer
or dictionary-encoded columns and 20 million for plain strings on two cores, in time linear in the rows.

The naive way beside it: pandas reads one tenth of the same folder and groups it. The ratio is of rows per second.

Run it as: python benchmarks/audit_out_of_core.py [--rows N] [--folder DIR]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

SHARDS = 20
LIMIT_MB = 512

# How each kind of column is made and written.
STRINGS = """
    CASE WHEN random() < 0.5 THEN 'Female' ELSE 'Male' END AS sex,
    ['White', 'Black', 'Asian-Pac-Islander', 'Other', 'Amer-Indian-Eskimo'][1 + floor(random() * 5)::INT] AS race,
    CASE WHEN random() < 0.25 THEN '>50K' ELSE '<=50K' END AS income,
    CASE WHEN random() < 0.25 THEN '>50K' ELSE '<=50K' END AS predicted
"""
INTEGERS = """
    floor(random() * 2)::INT AS sex, floor(random() * 5)::INT AS race,
    (random() < 0.25)::INT AS income, (random() < 0.25)::INT AS predicted
"""
KINDS = {
    "integers": (INTEGERS, ""),
    "dictionary-encoded strings": (STRINGS, ""),
    "plain strings, uncompressed": (STRINGS, ", DICTIONARY_SIZE_LIMIT 1, COMPRESSION uncompressed"),
    "plain strings, snappy": (STRINGS, ", DICTIONARY_SIZE_LIMIT 1"),
}

AUDIT = """
import json, resource, sys, time
import duckdb, narwhals, numpy  # what is imported on first use is not the claim
import equipoise
equipoise.audit(target=[0, 1], prediction=[0, 1], sensitive_features=[0, 1])
start = time.perf_counter()
result = equipoise.audit(sys.argv[1], target="income", prediction="predicted", sensitive_features=sys.argv[2:])
seconds = time.perf_counter() - start
print(json.dumps({"rows": result.card.rows, "seconds": seconds,
                  "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""

NAIVE = """
import json, sys, time
import pandas as pd
start = time.perf_counter()
frame = pd.read_parquet(sys.argv[1:], columns=["race", "income", "predicted"])
frame.groupby(["race", "income", "predicted"]).size()
print(json.dumps({"rows": len(frame), "seconds": time.perf_counter() - start}))
"""


def make(folder: Path, rows: int, columns: str, options: str) -> None:
    folder.mkdir()
    connection = duckdb.connect()
    for shard in range(SHARDS):
        connection.execute(
            f"COPY (SELECT {columns} FROM range({rows // SHARDS})) "
            f"TO '{folder}/{shard:02d}.parquet' (FORMAT parquet{options})"
        )


def run(script: str, *arguments: str) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--folder", type=Path, default=None)
    chosen = parser.parse_args()
    ratios = []
    with tempfile.TemporaryDirectory(dir=chosen.folder) as temporary:
        for kind, (columns, options) in KINDS.items():
            folder = Path(temporary) / kind.replace(" ", "-").replace(",", "")
            start = time.perf_counter()
            make(folder, chosen.rows, columns, options)
            print(f"{kind}: made {chosen.rows:,} rows in {time.perf_counter() - start:.0f} s", flush=True)
            files = sorted(str(file) for file in folder.iterdir())
            whole = run(AUDIT, str(folder), "race")
            quarter = run(AUDIT, str(folder / "0[0-4].parquet"), "race")
            two = run(AUDIT, str(folder), "sex", "race")
            naive = run(NAIVE, *files[: SHARDS // 10])
            speed = whole["rows"] / whole["seconds"]
            ratios.append(speed / (naive["rows"] / naive["seconds"]))
            print(
                f"  {whole['rows']:,} rows in {whole['seconds']:.2f} s: {speed / 1e6:.0f} million rows a second, "
                f"peak memory {whole['megabytes']:.0f} MB (limit {LIMIT_MB}); "
                f"a quarter of the rows took {quarter['seconds'] / whole['seconds']:.2f} of the time; "
                f"with two group columns {two['rows'] / two['seconds'] / 1e6:.0f} million rows a second; "
                f"pandas: {naive['rows'] / naive['seconds'] / 1e6:.1f} million rows a second",
                flush=True,
            )
            for file in files:
                Path(file).unlink()
    print(f"ratio: {min(ratios):.1f}")


if __name__ == "__main__":
    main()
