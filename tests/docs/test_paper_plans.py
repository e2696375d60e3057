"""The plans behind docs/papers can be read; those of 004 differ in what they say they differ in and in nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from equipoise.studies import read_plan

PAPERS = Path(__file__).parents[2] / "docs" / "papers"
FOLDER = PAPERS / "004"
ARMS = {
    "arms-cpu-native": ("cpu", "native"),
    "arms-cpu-jitter": ("cpu", "jitter"),
    "arms-gpu-native": ("cuda", "native"),
    "arms-gpu-deterministic": ("cuda", "deterministic"),
    "arms-gpu-deterministic-jitter": ("cuda", "deterministic jitter"),
}


def said(name: str) -> dict[str, Any]:
    return read_plan(FOLDER / f"{name}.toml").content.model_dump()


def without(plan: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in plan.items() if name not in names}


@pytest.mark.parametrize("plan", sorted(PAPERS.glob("*/*.toml")), ids=lambda plan: f"{plan.parent.name} {plan.stem}")
def test_every_plan_can_be_read_and_names_itself_in_its_command(plan: Path) -> None:
    said = read_plan(plan).content
    assert said.cohort.name
    assert f"docs/papers/{plan.parent.name}/{plan.name}" in plan.read_text(encoding="utf-8").partition("schema =")[0]


@pytest.mark.parametrize("arm", ARMS)
def test_the_arms_differ_in_device_and_rounding_only(arm: str) -> None:
    plan = said(arm)
    assert (plan["device"], plan["rounding"]) == ARMS[arm]
    assert without(plan, "device", "rounding") == without(said("arms-cpu-native"), "device", "rounding")


def test_the_nested_plan_shares_the_trials_of_its_first_seed_with_the_study() -> None:
    whole, nested = said("cifar10s"), said("nested")
    differ = ("seeds", "repeats", "treatments")
    assert without(nested, *differ) == without(whole, *differ)
    assert (nested["seeds"], nested["repeats"]) == (6, 4)
    assert all(entry in whole["treatments"] for entry in nested["treatments"])


def test_the_float32_arm_is_the_control_of_the_study_in_another_precision() -> None:
    whole, arm = said("cifar10s"), said("float32")
    differ = ("precision", "treatments", "baseline", "repeats")
    assert without(arm, *differ) == without(whole, *differ)
    assert arm["precision"] == "float32"
    assert arm["treatments"] == whole["treatments"][:1]
