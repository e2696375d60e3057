"""Keep of a study's JSON what docs/papers/across.md reads.

python docs/papers/across/shorten.py REPORT.json SHORT.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

DIGITS = 6
WHOLE = ("schema", "provenance", "environments", "constant", "words", "notes")
CHANGES = ("mean", "stdev", "change", "change_low", "change_high", "level", "p_adjusted", "verdict", "limited_by")
CELL = ("seconds", "collapsed", "unfinished_training", "late_decline")


def shorten(report: dict[str, Any]) -> dict[str, Any]:
    """Return what the page cites: by treatment and measure, for everyone and between groups of the plan."""
    treatments: dict[str, Any] = {
        cell["treatment"]: {**rounded(cell, CELL), "measures": {}, "spaces": {}} for cell in report["cells"]
    }
    for record in report["records"]:
        if record["attribute"] in ([], report["attribute"]) and record["class"] is None:
            treatments[record["treatment"]]["measures"][record["measure"]] = rounded(record, CHANGES)
    for record in report["spaces"]:
        if record["attribute"] in ([], report["attribute"]):
            parts = (record.get(part) for part in ("measure", "classifier", "trained", "group"))
            name = " ".join(str(part) for part in parts if part)
            treatments[record["treatment"]]["spaces"][name] = rounded(record, CHANGES)
    return {**{key: report[key] for key in WHOLE}, "treatments": treatments}


def rounded(record: dict[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    """Return some fields of a record, numbers rounded."""
    values = {field: record.get(field) for field in fields}
    return {name: round(value, DIGITS) if isinstance(value, float) else value for name, value in values.items()}


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    short = shorten(json.loads(source.read_text(encoding="utf-8")))
    target.write_text(json.dumps(short, indent=1) + "\n", encoding="utf-8")
