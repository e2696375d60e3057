"""Why identical runs of a study differ: from the plan to words, JSON, the terminal and the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import equipoise
from equipoise.studies import diagnose, read_plan
from equipoise.studies._diagnosing import PERMUTED
from equipoise.training.diverging import ALL_LAYERS
from helpers.cases.plan import cohort, threshold, write_plan
from helpers.running import Program

pytest.importorskip("torch")

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "diagnosis-1.json").read_text(encoding="utf-8"))


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    return write_plan(tmp_path)


@pytest.fixture
def jittered(plan: Path) -> Path:
    text = plan.read_text(encoding="utf-8").replace('rounding = "deterministic"', 'rounding = "deterministic jitter"')
    other = plan.with_name("jittered.toml")
    other.write_text(text, encoding="utf-8")
    return other


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    return Program(monkeypatch, capsys)


def checked(content: dict[str, Any]) -> dict[str, Any]:
    Draft202012Validator.check_schema(SCHEMA)
    Draft202012Validator(SCHEMA).validate(content)
    assert set(content) == set(SCHEMA["properties"]), "the schema names every field"
    return content


def test_a_deterministic_trial_is_the_same_and_nothing_is_recorded(plan: Path) -> None:
    found = read_plan(plan).study().diagnose(9)
    assert found.words == ("The two runs were the same to the last bit for 9 steps.",)
    assert (found.step, found.kind_, found.records, found.notes) == (None, "none", (), ())
    assert found.trial["rounding"] == "deterministic"
    content = checked(found.as_json())
    assert content["largest"] is None
    assert not list(plan.parent.glob("*.db"))


def test_repeats_of_a_jittered_trial_are_compared_and_their_drift_is_kept(jittered: Path) -> None:
    found = diagnose(read_plan(jittered).study(), 12)
    assert found.step == 1
    assert found.kind_ in ("loss", "gradient")
    assert found.notes == (PERMUTED,)
    assert {record.layer for record in found.records} == {ALL_LAYERS, "hidden1", "output"}
    assert 0 < next(record.relative for record in found.records if record.layer == ALL_LAYERS) < 1e-6
    assert found.flips[0].rows == 100
    checked(json.loads(found.to_json()))


def test_the_command_prints_and_writes_it(jittered: Path, program: Program, tmp_path: Path) -> None:
    ended = program(
        "study", "diagnose", jittered, "--steps", 6, "--json", tmp_path / "a.json", "--html", tmp_path / "a.html",
        "--csv", tmp_path / "a.csv", "--markdown", tmp_path / "a.md",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert "The two runs differed in their first step" in ended.out
    assert "All layers together, after each step that was compared" in ended.out
    assert "rounding: deterministic jitter" in " ".join(ended.out.split())
    content = checked(json.loads((tmp_path / "a.json").read_text(encoding="utf-8")))
    assert content["provenance"]["command"].startswith("equipoise study diagnose")
    for written in ("a.html", "a.md"):
        assert "The two runs differed in their first step" in (tmp_path / written).read_text(encoding="utf-8")
    assert (tmp_path / "a.csv").read_text(encoding="utf-8").startswith("step,layer,relative")


@pytest.mark.parametrize(
    ("how", "complaint"),
    [
        ({"learner": "scikit_learn"}, "cannot be watched step by step"),
        ({"train": threshold, "version": 1}, "no steps that can be inspected"),
    ],
)
def test_what_has_no_steps_is_refused(how: dict[str, Any], complaint: str) -> None:
    study = equipoise.Study(cohort(), group="sex", seeds=1, **how)
    with pytest.raises(equipoise.BadInput, match=complaint):
        study.diagnose(3)


def test_no_steps_are_refused() -> None:
    study = equipoise.Study(cohort(), group="sex", seeds=1, learner={"name": "mlp", "width": 4})
    with pytest.raises(equipoise.BadInput, match="steps is 0"):
        study.diagnose(0)


def of_pictures(**how: Any) -> equipoise.Study:
    """A study of small pictures whose class is their brightness, by a small convolutional network."""
    generator = np.random.default_rng(0)
    label, domain = generator.integers(0, 2, 160), generator.integers(0, 2, 160)
    images = generator.integers(0, 150, (160, 12, 12, 3)) + 80 * label[:, None, None, None]
    pictures = equipoise.Cohort(
        name="pictures",
        columns={
            "image": images.astype(np.uint8), "class": np.array(["dark", "bright"])[label],
            "domain": np.array(["colour", "grey"])[domain],
            "split": np.repeat(["train", "dev", "test"], (96, 32, 32)),
        },
        target="class", groups=("domain",), features=("image",), split="split",
    )  # fmt: skip
    learner = {"name": "image_network", "network": "small", "batch_size": 32, "epochs": 2}
    return equipoise.Study(pictures, seeds=1, learner=learner, **how)


def test_a_picture_network_is_diagnosed_layer_by_layer() -> None:
    assert of_pictures(rounding="deterministic").diagnose(4).step is None
    found = of_pictures(rounding="deterministic jitter").diagnose(6)
    assert found.step == 1
    assert found.kind_ in ("loss", "gradient")
    assert {"block1.conv", "block4.norm", "head"} <= {record.layer for record in found.records}
    assert found.flips[-1].rows == 32
