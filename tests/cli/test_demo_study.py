"""The study of the demo is the one that is promised; ``make demo`` trains it."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.running import Program


def test_the_demo_has_a_control_three_treatments_two_conditions_and_twenty_seeds() -> None:
    pytest.importorskip("torch")
    from equipoise.cli.commands.demo import demo_study

    study = demo_study()
    trials = study.trials()
    assert len(trials) == 4 * 2 * 20
    assert {trial.treatment for trial in trials} == {
        "untreated", "reweighting", "equal_opportunity_class", "adversarial",
    }  # fmt: skip
    assert study.baseline == "untreated"
    assert len({str(trial.condition) for trial in trials}) == 2
    assert {(trial.seed, trial.repeat) for trial in trials} == {(seed, 0) for seed in range(20)}, "as check advises"
    assert not any(words.startswith("Advice") for words in study.check().words)
    assert all(study.drawing.feasibility(place).feasible for place in range(2))
    assert not any(study.drawing.feasibility(place).repeated for place in range(2))


def test_a_store_is_of_use_to_the_study_only(equipoise: Program, tmp_path: Path) -> None:
    ended = equipoise("demo", "audit", "--store", tmp_path / "study.db")
    assert ended.code == 2
    assert "trains no trials" in ended.err
    assert not (tmp_path / "study.db").exists()
