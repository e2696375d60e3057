"""The scripts behind docs/papers/002.md that put runs together and plant biases, in small."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from equipoise.discovery.demonstration import _demonstration
from helpers.paper_scripts import PAPERS, paper_script
from reproductions.sprites import together

torch = pytest.importorskip("torch", reason="needs equipoise[train]")

FOLDER = PAPERS / "002"


def test_what_is_committed_is_what_the_runs_say_together(tmp_path: Path) -> None:
    committed = json.loads((FOLDER / "sprites-together.json").read_text(encoding="utf-8"))
    files = [str(FOLDER / name) for name in committed["documents"]]
    made = together.main([*files, "--json", str(tmp_path / "together.json")])
    assert made == committed == json.loads((tmp_path / "together.json").read_text(encoding="utf-8"))


def test_a_triplet_that_two_runs_scored_counts_once() -> None:
    row = {"generator": "vae-3", "target": "x", "biased": "y", "methods": {"ours": 1}}
    again, other = row | {"methods": {"ours": 2, "axis": 3}}, row | {"generator": "vae-4"}
    assert together.joined([row, again, other]) == [
        row | {"methods": {"ours": 1, "axis": 3}},
        other,
    ]


def test_every_classifier_of_the_planted_truth_is_searched_and_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    planted = paper_script("002", "planted")
    few = {"VAE_STEPS": 2, "SEARCH_STEPS": 2, "NULLS": 19, "COINS": {"coin": (100, 2)}}
    for name, value in few.items():
        monkeypatch.setattr(planted, name, value)
    monkeypatch.setattr(_demonstration, "CLASSIFIER_STEPS", 2)
    monkeypatch.setattr(planted.demo, "LABELLED", 50)
    runs = planted.searched(0)
    assert [run["classifier"] for run in runs] == ["tint", "patch", "unbiased", "coin"]
    assert all(run["verdict"] in ("found", "nothing found") for run in runs)
    found = {"verdict": "found", "cosine to what was planted": 0.95, "way": 0.8, "least way": 0.7, "rank": 1,
             "steadiness": 0.9}  # fmt: skip
    other = found | {"cosine to what was planted": 0.4, "way": 0.4, "least way": 0.35}
    small = found | {"verdict": "nothing found", "way": 0.2, "least way": 0.15}
    nothing = {"verdict": "nothing found", "cosine to what was planted": 0.97, "way": None}
    assert planted.counts([found, other, small, nothing]) == {
        "seeds": 4, "found": 2, "found if a way of 0.1 were enough": 3, "found within a cosine of 0.9": 1,
        "lowest cosine": 0.4, "mean way": pytest.approx(0.35),
    }  # fmt: skip
    for key, value in (("rank", 150), ("steadiness", 0.74), ("least way", 0.09)):
        assert planted.counts([small | {key: value}])["found if a way of 0.1 were enough"] == 0


def test_the_study_of_faces_is_of_the_direction_that_the_loop_is_of() -> None:
    loop = json.loads((FOLDER / "faces-loop.json").read_text(encoding="utf-8"))
    study = json.loads((FOLDER / "faces-study.json").read_text(encoding="utf-8"))
    assert study["provenance"]["columns"]["groups"] == [loop["name"]]
    assert f'group = "{loop["name"]}"' in (FOLDER / "faces-study.toml").read_text(encoding="utf-8")
