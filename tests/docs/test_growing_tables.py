"""The tables of docs/guide/studies.md about studies that add seeds, against the simulations that they come from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

DOCS = Path(__file__).parents[2] / "docs"
RULES = ("fixed 20", "looks", "anytime", "read at every look")


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|\n ").split("|")]


def table_after(heading: str) -> list[list[str]]:
    lines = (DOCS / "guide" / "studies.md").read_text(encoding="utf-8").partition(heading)[2].splitlines()
    rows = [line for line in lines[: next(i for i, line in enumerate(lines) if i > 3 and not line)] if line[:1] == "|"]
    return [cells(row) for row in rows[1:]]  # without the rule


def test_the_tables_are_those_of_the_simulations() -> None:
    runs = json.loads((DOCS / "simulations" / "growing_studies.json").read_text(encoding="utf-8"))
    errors = table_after("| comparisons |")
    assert [row[0] for row in errors] == ["1", "6", "20", "60"]
    for number, *said in errors:
        for rule, text in zip(RULES, said, strict=True):
            of_rule = [
                r["any"] for r in runs if r["effect"] == 0 and (r["comparisons"], r["rule"]) == (int(number), rule)
            ]
            assert len(of_rule) == 4
            assert text == f"{100 * max(of_rule):.1f}%"
    decided = table_after("| difference |")
    assert len(decided) == 4
    for effect, *said in decided:
        for rule, text in zip(RULES[:3], said, strict=True):
            [run] = [r for r in runs if (r["effect"], r["comparisons"], r["rule"]) == (float(effect), 6, rule)]
            assert text == f"{100 * run['decided']:.0f}%, {run['pairs']:.1f}"


def test_no_rule_errs_more_often_than_claimed() -> None:
    runs = json.loads((DOCS / "simulations" / "growing_studies.json").read_text(encoding="utf-8"))
    nulls = [run for run in runs if run["effect"] == 0 and run["rule"] in ("looks", "anytime")]
    assert len(nulls) == 32
    assert all(run["any"] <= 0.05 + 2 * run["error"] for run in nulls)
