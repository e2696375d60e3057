"""The fairness part of a model card: the numbers of the audit, what is not known, and what its owner has to write."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import equipoise
from equipoise.foundation import BadInput
from helpers.cases import report as report_cases
from helpers.page_checks import Tree, check_alone
from helpers.running import Program


@pytest.fixture(scope="module")
def card() -> str:
    return report_cases.adult().model_card()


def test_the_card_has_the_parts_of_a_model_card_in_order(card: str) -> None:
    headings = [line[3:] for line in card.splitlines() if line.startswith("## ")]
    assert headings == [
        "Evaluation data", "Metrics", "Results by group", "Confirmed differences", "Not known",
        "What could not be computed or tested", "To be written by the owner of the model",
    ]  # fmt: skip


def test_the_numbers_are_those_of_the_audit(card: str) -> None:
    result = report_cases.adult()
    (rate,) = result.rates.find(measure="selection_rate", scope="favourable", attribute="sex", group="Female")
    (row,) = [
        line for line in card.splitlines() if line.startswith("| Female |") and f"{rate.numerator:,.0f} / " in line
    ]
    assert f"{100 * rate.value:.1f}%" in row
    assert f"{rate.numerator:,.0f} / {rate.denominator:,.0f}" in row


def test_the_first_sentence_of_the_audit_is_the_first_confirmed_difference(card: str) -> None:
    first = card.split("## Confirmed differences")[1].strip().splitlines()[0]
    assert first == f"- {card.splitlines()[2].strip('*')}"


def test_nothing_is_certified_and_nothing_is_folded(card: str) -> None:
    assert "certifies that a model is fair" in card
    body = card[: card.index("## To be written")]
    assert "<details>" not in body


def test_an_audit_in_which_nothing_is_confirmed_says_so() -> None:
    few = equipoise.audit(target=[1, 0] * 20, prediction=[1, 0] * 20, sensitive_features=["a", "a", "b", "b"] * 10)
    part = few.model_card().split("## Confirmed differences")[1].split("## ")[0]
    assert part.strip() == "None."


def test_names_cannot_become_markup() -> None:
    text = report_cases.hostile().model_card()
    outside_code = re.sub(r"`[^`]*`", "", text)
    assert not re.search(r"(?<!\\)<(?!/?(?:br|sub|details|summary)\b)", outside_code)


def test_a_page_stands_alone(tmp_path: Path) -> None:
    path = tmp_path / "card.html"
    written = report_cases.adult().model_card(path)
    assert path.read_text(encoding="utf-8") == written
    check_alone(written, Tree(written))


def test_the_command_writes_it_beside_the_other_files(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    program: Program = request.getfixturevalue("equipoise")
    rows = tmp_path / "people.csv"
    rows.write_text("t,p,g\n" + "1,1,a\n0,0,b\n" * 40)
    asked = ["audit", rows, "--target", "t", "--prediction", "p", "--group", "g"]
    ended = program(*asked, "--model-card", tmp_path / "card.md")
    assert ended.code == 0, ended.err
    assert "The model card: " in ended.out.replace("\n", " ")
    assert (tmp_path / "card.md").read_text(encoding="utf-8").startswith("# Model card: fairness on people.csv")
    twice = program(*asked, "--model-card", tmp_path / "card.md", "--markdown", tmp_path / "card.md")
    assert twice.code == 2
    assert "both write" in twice.err


def test_a_path_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises((BadInput, OSError)):
        report_cases.adult().model_card(tmp_path / "missing" / "card.md")
