"""The script that keeps of a study's JSON what docs/papers/000.md reads."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "papers" / "000" / "shorten.py"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def row(**changed: Any) -> dict[str, Any]:
    base = {
        "learner": "metric_learner, margin", "condition": "90-10, 50 classes minoritised", "treatment": "parade",
        "setting": "alpha=0.1, rho=100", "source": "svm", "training": "own", "measure": "macro_recall", "kind": "gap",
        "mean": 0.12345678, "stdev": 0.1, "low": None, "high": 0.2, "seeds": 10,
    }  # fmt: skip
    return base | changed


def report(*spaces: dict[str, Any], contrasts: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    told = {"schema": "s", "provenance": {"command": "equipoise study report /elsewhere/p.toml --json a.json"},
            "environments": [], "words": [], "notes": []}  # fmt: skip
    return {**told, "spaces": list(spaces), "space_contrasts": list(contrasts), "space_settings": []}


def test_a_value_stands_where_a_link_finds_it(script: dict[str, Any]) -> None:
    found = script["shorten"](report(row(), row(kind="group"), row(measure="accuracy")))
    place = found["values"]["metric_learner_margin"]["90-10_50_classes_minoritised"]["parade:alpha=0.1_rho=100"]
    assert place == {"svm:own": {"macro_recall": {"gap": {
        "mean": 0.123457, "stdev": 0.1, "low": None, "high": 0.2, "seeds": 10}}}}  # fmt: skip


def test_a_contrast_keeps_both_values_and_its_verdict(script: dict[str, Any]) -> None:
    told = {"value": 0.2, "against_value": 0.1, "difference": 0.1, "pairs": 10, "p_adjusted": 0.01, "verdict": "higher"}
    found = script["shorten"](report(contrasts=(row(kind="balanced training", of="gap", **told),)))
    kept = found["contrasts"]["balanced_training"]["metric_learner_margin"]["90-10_50_classes_minoritised"]
    assert kept["parade:alpha=0.1_rho=100"]["svm:own"]["macro_recall"]["gap"] == {**told, "low": None, "high": 0.2}


def test_folders_of_a_machine_are_left_out(script: dict[str, Any]) -> None:
    assert script["shorten"](report())["provenance"]["command"] == "equipoise study report p.toml --json a.json"


def test_what_leaks_of_each_attribute_has_a_name_that_a_link_can_hold(script: dict[str, Any]) -> None:
    given = {**report(), "space_settings": [{"leakage": {"embedding of race": 0.94245164}}, {"leakage": None}]}
    assert script["shorten"](given)["settings"] == [{"leakage": {"embedding_of_race": 0.942452}}, {"leakage": None}]
