"""Keep of a study's JSON what docs/papers/001.md reads, and print the tables of that page.

python docs/papers/001/shorten.py REPORT.json SHORT.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

DIGITS = 6
FIELDS = ("mean", "stdev", "change", "change_low", "change_high", "p_adjusted", "verdict", "prob_best")
MEASURES = ("accuracy", "balanced_accuracy", "fairness", "distance_to_optimum")
HEADING = "| treatment | accuracy | balanced accuracy | fairness | DTO | best |"
# The conditions as people read them.
TITLES = {
    "CB alpha 0": "Original data (alpha 0)",
    "CB alpha 1": "Class-balanced groups (CB, alpha 1)",
    "CB alpha 2": "Reversed within classes (CB, alpha 2)",
    "JB alpha 1": "Jointly balanced (JB, alpha 1)",
    "JB alpha 2": "Jointly reversed (JB, alpha 2)",
}
WHOLE = ("schema", "provenance", "environments", "conditions", "constant", "words", "notes")


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
    cells: dict[str, Any] = {condition: {} for condition in named}
    for cell in report["cells"]:
        cells[cell["condition"]][cell["treatment"]] = {
            "seconds": round(cell["seconds"], DIGITS), "collapsed": cell["collapsed"], "on_front": cell["on_front"],
        }  # fmt: skip
    collapsed = sum(own["collapsed"] for by_treatment in cells.values() for own in by_treatment.values())
    judged = sum(record["verdict"] is not None for record in report["records"])
    whole = {key: report[key] for key in WHOLE}
    return {**whole, "comparisons": judged, "collapsed_cells": collapsed, "records": named, "cells": cells}


def tables(short: dict[str, Any]) -> str:
    """Return the tables of the page, one per condition, each number a link to where it stands."""
    lines = []
    for condition, treatments in short["records"].items():
        lines += [f"**{TITLES[condition]}**", "", HEADING, "| --- " * 6 + "|"]
        for treatment in [*(name for name in treatments if ":" not in name), *(n for n in treatments if ":" in n)]:
            row = [f"`{treatment}`"]
            for measure in MEASURES:
                own = treatments[treatment][measure]
                where = f"001/adult.json#/records/{quote(condition)}/{quote(treatment)}/{measure}"
                mark = {"higher": " ▲", "lower": " ▼"}.get(own["verdict"], "")
                row.append(f"[{own['mean']:.3f}]({where}/mean){mark}")
            row.append(f"[{100 * own['prob_best']:.0f}%]({where}/prob_best)")
            lines.append(f"| {' | '.join(row)} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    short = shorten(json.loads(source.read_text(encoding="utf-8")))
    target.write_text(json.dumps(short, indent=1) + "\n", encoding="utf-8")
    print(tables(short))
