"""What to do next: made from the numbers of a result, and the same in every medium."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

import equipoise
from equipoise.foundation import report_of
from equipoise.reports import markdown, page, pieces, show
from equipoise.results import Result
from equipoise.studies.findings import seeds_needed
from helpers.cases import report as report_cases
from helpers.cases import study as study_cases


def steps(result: Result, kind: str) -> list[str]:
    told = report_of(kind).document(result).next_steps
    return ["".join(str(getattr(piece, "text", piece)) for piece in pieces(step)) for step in told]


def shown(result: Result) -> str:
    console = Console(file=io.StringIO(), width=100)
    show(result, console)
    return " ".join(console.file.getvalue().split())  # type: ignore[attr-defined]


def test_an_audit_names_the_base_rates_of_its_largest_difference() -> None:
    result = report_cases.adult()
    rates = {
        record.group: f"{100 * record.value:.1f}% of {record.group}"
        for record in result.find("base_rate", attribute="sex", scope="favourable")
    }
    [said] = [step for step in steps(result, "audit") if "justify" in step]
    assert rates["Female"] in said
    assert rates["Male"] in said


def test_groups_that_were_not_testable_are_named_and_no_others() -> None:
    result = report_cases.adult()
    small = {record.group for record in result.contrasts if record.status == "too small"}
    [said] = [step for step in steps(result, "audit") if step.startswith("Collect more people")]
    assert any(str(group) in said for group in small)
    assert "Male," not in said.replace("Male &", "")


def test_an_audit_without_a_finding_asks_only_for_repeated_training() -> None:
    result = equipoise.audit(
        target=[1, 0] * 400, prediction=[1, 0] * 400, sensitive_features=["a", "a", "b", "b"] * 200, favourable=1
    )
    assert [step.split(" (")[0] for step in steps(result, "audit")] == [
        "Train the model several times and compare the runs"
    ]


def test_a_study_says_how_many_seeds_would_decide() -> None:
    result = study_cases.demo()
    needed = seeds_needed(result)
    said = " ".join(steps(result, "study"))
    runs = max(record.runs for record in result.records)
    if needed is not None and needed.seeds is not None and needed.seeds > runs:
        assert f"about {needed.seeds:,} per treatment" in said
    else:
        assert "per treatment" not in said
    assert ("repeats = 2" in said) == (not result.flips)


@pytest.mark.long
@pytest.mark.parametrize("case", [report_cases.adult, study_cases.demo])
def test_every_medium_has_the_steps_after_what_is_inconclusive(case: object) -> None:
    result = case()  # type: ignore[operator]
    for text in (shown(result), markdown(result), page(result)):
        assert "What to do next" in text
    text = markdown(result)
    assert text.index("Inconclusive") < text.index("What to do next")
