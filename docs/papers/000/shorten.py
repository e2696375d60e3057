"""Keep of the JSON of a study of embedding spaces what docs/papers/000.md reads, named so that a link can point at it.

python docs/papers/000/shorten.py REPORT.json SHORT.json [MEASURE ...]

Measures that are named are kept instead of the usual ones.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DIGITS = 6
WHOLE = ("schema", "provenance", "environments", "words", "notes")
MEASURES = ("recall_at_k", "normalised_mutual_information", "normalised_mutual_information_by_chance",
            "adjusted_mutual_information", "uniformity", "macro_recall")  # fmt: skip
KINDS = ("overall", "gap", "worst")
SPACE = ("mean", "stdev", "low", "high", "seeds")
CONTRAST = ("value", "against_value", "difference", "low", "high", "pairs", "p_adjusted", "verdict")

Row = Mapping[str, Any]


def shorten(report: Row, measures: tuple[str, ...] = MEASURES) -> dict[str, Any]:
    """Return what the page cites: values by learner, condition, treatment, source, measure and kind; then contrasts."""
    values: dict[str, Any] = {}
    for row in report["spaces"]:
        if row["measure"] in measures and row["kind"] in KINDS:
            at(values, *places(row), told_of(row, "kind")).update(picked(row, SPACE))
    contrasts: dict[str, Any] = {}
    for row in report["space_contrasts"]:
        if row["measure"] in measures and row["of"] in KINDS:
            at(contrasts, named(row["kind"]), *places(row), told_of(row, "of")).update(picked(row, CONTRAST))
    # Folders of the machine it ran on mean nothing elsewhere.
    command = " ".join(part.rpartition("/")[2] if part[0] == "/" else part
                       for part in report["provenance"]["command"].split())  # fmt: skip
    told = {**{key: report[key] for key in WHOLE}, "provenance": {**report["provenance"], "command": command}}
    settings = [{key: rounded(value) for key, value in row.items()} for row in report["space_settings"]]
    for row in settings:
        if row.get("leakage"):
            row["leakage"] = {named(key): rounded(value) for key, value in row["leakage"].items()}
    return {**told, "values": values, "contrasts": contrasts, "settings": settings}


def places(row: Row) -> tuple[str, ...]:
    """Say where a row stands: learner, condition, treatment with its setting, what is read, measure."""
    treatment = row["treatment"] + (f":{row['setting']}" if row["setting"] else "")
    source = row["source"] + (f":{row['training']}" if row["training"] else "")
    return named(row["learner"]), named(row["condition"]), named(treatment), named(source), row["measure"]


def told_of(row: Row, field: str) -> str:
    """Name what a value is of; a gap between halves of the groups is another than that to the largest group."""
    return f"{row[field]}:halves" if row.get("rule") == "halves" else str(row[field])


def at(tree: dict[str, Any], *path: str) -> dict[str, Any]:
    """Return the branch at a path, made where it is not there."""
    for part in path:
        tree = tree.setdefault(part, {})
    return tree


def named(text: str) -> str:
    """Return a name without what a link cannot hold."""
    return re.sub(r"[^\w.:=@+-]+", "_", text).strip("_")


def picked(row: Row, fields: tuple[str, ...]) -> dict[str, Any]:
    """Return some fields of a record, shortened."""
    return {field: rounded(row[field]) for field in fields}


def rounded(value: Any) -> Any:
    """Return a number with fewer digits; what is none stays as it is."""
    return round(value, DIGITS) if isinstance(value, float) else value


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:3])
    whole = json.loads(source.read_text(encoding="utf-8"))
    target.write_text(json.dumps(shorten(whole, tuple(sys.argv[3:]) or MEASURES), indent=1) + "\n", encoding="utf-8")
