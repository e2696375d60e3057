"""``result.help()`` prints the tree of what a result holds, and everything that it names is there."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import equipoise
from equipoise.results import Result
from helpers.cases import evidence as evidence_cases
from helpers.cases import study as study_cases


def small_audit() -> Result:
    """Audit eight people."""
    people = {"sex": ["f", "m"] * 4, "truth": [1, 1, 0, 0, 1, 1, 0, 0], "said": [1, 1, 0, 1, 0, 1, 0, 0]}
    return equipoise.audit(people, target="truth", prediction="said", sensitive_features="sex")


@pytest.mark.parametrize(
    "result", [small_audit, evidence_cases.CASES["plain"], study_cases.plain], ids=["audit", "evidence", "study"]
)
def test_every_leaf_of_the_tree_is_there_and_says_what_it_is(
    result: Callable[[], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    made = result()
    made.help()
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == repr(made)
    assert [line[4:] for line in lines if line[:1] in "├└"][-2:] == ["plots", "reports"]
    leaves = [match for line in lines if (match := re.search(r"── \.(\S+)  +(\S.*)", line))]
    assert len(leaves) == len(lines) - sum(line[:1] in "├└" for line in lines), "each has its line of words"
    for leaf in leaves:
        member = made
        for name in leaf[1].removesuffix("()").split("."):
            member = getattr(member, name)
        assert callable(member) == leaf[1].endswith("()")
    assert {f"plot.{name}()" for name in made.charts()} <= {leaf[1] for leaf in leaves}


def test_tables_are_told_with_their_rows(capsys: pytest.CaptureFixture[str]) -> None:
    made = small_audit()
    made.help()
    rates = next(line for line in capsys.readouterr().out.splitlines() if " .rates " in line)
    assert rates.endswith(f"({len(made.rates):,})")  # type: ignore[attr-defined]
