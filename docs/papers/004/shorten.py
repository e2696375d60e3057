"""Keep of the JSON of a study, or of a diagnosis, what docs/papers/004.md reads.

python docs/papers/004/shorten.py REPORT.json SHORT.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DIGITS = 6
WHOLE = ("schema", "provenance", "environments", "words", "notes")
RECORD = ("mean", "stdev", "min", "max", "spread_people", "spread_reruns", "spread_seeds", "change", "change_low",
          "change_high", "p_adjusted", "d", "verdict", "variance_ratio", "variance_change", "overlap",
          "prob_single_run_misleads", "costs", "prob_best")  # fmt: skip
RUNS = ("runs", "maxdiff", "stdev", "class", "class_maxdiff", "class_stdev", "values")
CLASS = ("min", "max", "maxdiff", "stdev")
UNFINISHED = ("unfinished_training", "unfinished_runs", "late_decline", "constraint_residual")
FLIPS = ("runs", "people", "flipped", "share", "pair_share")
FAIREST = ("apparent", "honest", "survives")
IMPACT = "disparate_impact"
DIAGNOSIS = "equipoise.diagnosis/1"

Row = Mapping[str, Any]


def shorten(report: Row) -> dict[str, Any]:
    """Return what the page cites, named by technique and then by measure, class or group."""
    found: dict[str, Any] = {}
    for cell in report["cells"]:
        own = found.setdefault(called(cell), {"measures": {}, "classes": {}, "flips": {}, "fairest": {}})
        own |= {"runs": cell["runs"], "seeds": cell["seeds"], "seconds": rounded(cell["seconds"])}
        own |= picked(cell, UNFINISHED)
    for row in report["records"]:
        found[called(row)]["measures"][measure_of(row)] = picked(row, RECORD)
    first = min((row["seed"] for row in report["identical_runs"]), default=0)
    for row in report["identical_runs"]:
        # One seed is enough here: a nested study is read for its spreads.
        if row["seed"] == first:
            found[called(row)]["measures"].setdefault(measure_of(row), {}).update(picked(row, RUNS))
    for row in report["identical_classes"]:
        if row["measure"] == IMPACT and row["seed"] == first:
            found[called(row)]["classes"][row["class"]] = picked(row, CLASS)
    for row in report["flips"]:
        if row["seed"] == first:
            found[called(row)]["flips"][row["group"] or "all"] = picked(row, FLIPS)
    for row in report["fairest_of_n"]:
        if row["measure"] == IMPACT:
            found[called(row)]["fairest"][str(row["n"])] = picked(row, FAIREST)
    sides, failures = report["both_sides"], report["class_failures"]
    spread = {(called(row), row["measure"]): row["stdev"] for row in report["identical_runs"] if row["seed"] == first}
    lower = [row for row in report["experiments"] if row["verdict"] == "lower"]
    return {
        **{key: report[key] for key in WHOLE}, "techniques": found,
        "both_sides": {
            "techniques": {called(row): picked(row, ("within", "broken", "min", "max")) for row in sides
                           if row["class"] is None},
            "classes": sum(row["class"] is not None for row in sides),
        },
        # A spread counts as a cost relative to its mean; how often is it wider in points too?
        "reductions": {
            "number": len(lower),
            "wider_in_points": sum(spread[called(row), row["measure"]] > spread[row["baseline"], row["measure"]]
                                   for row in lower),
        },
        "class_failures": {"number": len(failures), "furthest": [picked(row, ("class", "value", "overall", "lowest",
                           "failed", "runs")) for row in failures[:1]]},
    }  # fmt: skip


def shorten_diagnosis(report: Row) -> dict[str, Any]:
    """Return a diagnosis without its layers: how far apart all of them are together, by step."""
    apart = {str(row["step"]): row["relative"] for row in report["records"] if row["layer"] == "all layers"}
    # Folders of the machine it ran on mean nothing elsewhere.
    command = " ".join(part.rpartition("/")[2] if part[0] == "/" else part
                       for part in report["provenance"]["command"].split())  # fmt: skip
    return {
        **report, "provenance": {**report["provenance"], "command": command}, "records": apart,
        "flips": {str(row["step"]): row["share"] for row in report["flips"]},
    }  # fmt: skip


def called(row: Row) -> str:
    """Name a technique so that a link can hold it: ``domain_independent:sum``."""
    name: str = row["treatment"]
    return name.replace(": ", ":")


def measure_of(row: Row) -> str:
    """Name a measure by its abbreviation, where it has one."""
    name: str = row["alias"] or row["measure"]
    return name


def picked(row: Row, fields: tuple[str, ...]) -> dict[str, Any]:
    """Return some fields of a record, shortened."""
    return {field: rounded(row[field]) for field in fields if field in row}


def rounded(value: Any) -> Any:
    """Return a number with fewer digits; what is none stays as it is."""
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return round(value, DIGITS) if isinstance(value, float) else value


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    whole = json.loads(source.read_text(encoding="utf-8"))
    short = shorten_diagnosis(whole) if whole["schema"] == DIAGNOSIS else shorten(whole)
    target.write_text(json.dumps(short, indent=1) + "\n", encoding="utf-8")
