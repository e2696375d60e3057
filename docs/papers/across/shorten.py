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
CONTRAST = ("value", "against_value", "difference", "low", "high", "level", "p_adjusted", "verdict", "rule")
CELL = ("seconds", "collapsed", "unfinished_training", "late_decline")


def shorten(report: dict[str, Any]) -> dict[str, Any]:
    """Return what the page cites: by treatment and measure, for everyone and between groups of the plan."""
    favourable = report["provenance"]["options"]["favourable"]
    treatments: dict[str, Any] = {
        cell["treatment"]: {**rounded(cell, CELL), "measures": {}, "spaces": {}} for cell in report["cells"]
    }
    for record in report["records"]:
        if record["attribute"] in ([], report["attribute"]) and record["class"] in (None, favourable):
            treatments[record["treatment"]]["measures"][record["measure"]] = rounded(record, CHANGES)
    for contrast in report["space_contrasts"]:
        if contrast["kind"] == "treatment" and contrast["source"] == "embedding" and contrast["group"] is None:
            name = f"{contrast['of']} {contrast['measure']}"
            treatments[contrast["treatment"]]["spaces"][name] = rounded(contrast, CONTRAST)
    for record in report["spaces"]:
        if record["kind"] == "group" and record["source"] == "embedding" and record["measure"] == "recall_at_k":
            treatments[record["treatment"]]["spaces"][f"recall_at_k of {record['group']}"] = rounded(record, ("mean",))
    whole = {key: report[key] for key in WHOLE}
    whole["provenance"] = {name: value for name, value in report["provenance"].items() if name != "command"}
    return {**whole, "treatments": treatments}


def rounded(record: dict[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    """Return some fields of a record, numbers rounded."""
    values = {field: record.get(field) for field in fields}
    return {name: round(value, DIGITS) if isinstance(value, float) else value for name, value in values.items()}


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    short = shorten(json.loads(source.read_text(encoding="utf-8")))
    target.write_text(json.dumps(short, indent=1) + "\n", encoding="utf-8")
