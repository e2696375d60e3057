"""What a plan may take for features: a column of lists, columns by a pattern, and no free text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from helpers.cases.plan import columns
from helpers.running import Program

PLAN = """schema = "equipoise.study-plan/1"
seeds = 1
size = 60

[cohort]
file = "people.parquet"
target = "hired"
groups = "sex"
split = "split"
{features}

[learner]
name = "mlp"
width = 4
epochs = 1
batch_size = 32
"""


@pytest.fixture
def people(tmp_path: Path) -> pl.DataFrame:
    """Two hundred people with an embedding, in a column of lists and in columns of numbers."""
    data = {name: values.tolist() for name, values in columns(200).items()}
    points = np.random.default_rng(0).normal(size=(200, 5)).astype(np.float32)
    dimensions = {f"e{place}": points[:, place] for place in range(5)}
    bio = [f"Born in {place}" for place in range(200)]
    return pl.DataFrame({**data, "point": points.tolist(), **dimensions, "bio": bio})


def written(tmp_path: Path, frame: pl.DataFrame, features: str = "") -> Path:
    frame.write_parquet(tmp_path / "people.parquet")
    path = tmp_path / "plan.toml"
    path.write_text(PLAN.format(features=features), encoding="utf-8")
    return path


def test_a_column_of_lists_is_checked_and_trained_on(equipoise: Program, tmp_path: Path, people: pl.DataFrame) -> None:
    pytest.importorskip("torch", reason="needs the extra train")
    plan = written(tmp_path, people.select("hired", "sex", "split", "point"))
    checked = equipoise("study", "check", plan)
    assert checked.code == 0, checked.err
    ran = equipoise("study", "run", plan)
    assert ran.code == 0, ran.err
    assert "1 of 1 trials" in ran.out or "1 of 1 trial" in ran.out


def test_features_of_a_plan_can_be_named_by_a_pattern(equipoise: Program, tmp_path: Path, people: pl.DataFrame) -> None:
    checked = equipoise("study", "check", written(tmp_path, people, 'features = "e*"'))
    assert checked.code == 0, checked.err
    assert equipoise("study", "check", written(tmp_path, people, 'features = ["e[0-2]", "a"]')).code == 0


def test_a_pattern_that_matches_no_column_is_refused(equipoise: Program, tmp_path: Path, people: pl.DataFrame) -> None:
    ended = equipoise("study", "check", written(tmp_path, people, 'features = "emb*"'))
    assert ended.code == 2
    assert "matches 'emb*'" in ended.err
    assert "Traceback" not in ended.err


def test_biographies_are_refused_with_what_to_do(equipoise: Program, tmp_path: Path, people: pl.DataFrame) -> None:
    ended = equipoise("study", "check", written(tmp_path, people, 'features = ["a", "bio"]'))
    assert ended.code == 2
    assert "'bio' has 100 different texts in 100 training rows" in " ".join(ended.err.split())
    assert "features =" in ended.err
