"""Keep of a study's JSON what docs/papers/001.md reads: python docs/papers/001/shorten.py REPORT.json SHORT.json"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

DIGITS = 6
FIELDS = ("mean", "stdev", "change", "change_low", "change_high", "p_adjusted", "verdict", "prob_best")
WHOLE = ("schema", "provenance", "environments", "conditions", "words", "notes")


def shorten(report: dict[str, Any]) -> dict[str, Any]:
    """Return the records on sex and on everyone, named by condition, treatment and measure, with the cited fields."""
    named: dict[str, Any] = {}
    for record in report["records"]:
        if record["attribute"] in ([], ["sex"]):
            cell = named.setdefault(record["condition"], {}).setdefault(record["treatment"], {})
            cell[record["measure"]] = {
                field: round(record[field], DIGITS) if isinstance(record[field], float) else record[field]
                for field in FIELDS
            }
    seconds: dict[str, Any] = {condition: {} for condition in named}
    for cell in report["cells"]:
        seconds[cell["condition"]][cell["treatment"]] = round(cell["seconds"], DIGITS)
    return {**{key: report[key] for key in WHOLE}, "records": named, "seconds": seconds}


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    short = shorten(json.loads(source.read_text(encoding="utf-8")))
    target.write_text(json.dumps(short, indent=1) + "\n", encoding="utf-8")
