"""Classifiers with a planted bias: it is seen where halves disagree, and they are kept with what they tell right."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from reproductions.sprites.classifiers import (
    WORDS,
    ClassifierSettings,
    judged,
    load_classifier,
    train_classifiers,
)
from reproductions.sprites.triplets import Pair

from equipoise.cohorts import codes_of_cells
from equipoise.cohorts.pictures import SPRITE_FACTORS
from equipoise.foundation import BadInput

torch = pytest.importorskip("torch", reason="needs equipoise[train]")

SMALL = ClassifierSettings(steps=40, batch_size=32, width=2, held_out=400, learning_rate=0.01, report_every=20)
PAIRS = (Pair("scale", "x"), Pair("x", "y"))


def test_classifiers_side_by_side_are_those_trained_alone_and_are_kept(tmp_path: Path) -> None:
    both = train_classifiers(PAIRS, replace(SMALL, steps=5))
    (alone,) = train_classifiers(PAIRS[1:], replace(SMALL, steps=5))
    alone.save(tmp_path / "one.safetensors")
    again = load_classifier(tmp_path / "one.safetensors")
    assert again.pair == PAIRS[1]
    assert again.settings == replace(SMALL, steps=5)
    assert again.right == alone.right == both[1].right
    shown = torch.rand(3, 1, 64, 64)
    assert torch.equal(again.module(shown), both[1].module(shown))
    assert again.classifier().probabilities(shown).shape == (3,)


def test_a_bias_that_is_easier_than_the_target_is_learnt_in_its_place() -> None:
    (made,) = train_classifiers([Pair("orientation", "x")], SMALL)
    assert made.right["gap"] > 0.3
    assert made.right["agree"] > made.right["accuracy"] > made.right["disagree"]
    assert set(made.right) == set(WORDS)


def test_shares_told_right_are_those_counted_row_by_row() -> None:
    codes = codes_of_cells(np.random.default_rng(0).integers(0, 737_280, 500), SPRITE_FACTORS)
    upper = np.random.default_rng(1).random(500) < 0.6
    found = judged(Pair("scale", "shape"), upper, codes)
    told: dict[bool, list[bool]] = {True: [], False: []}
    for scale, shape, said in zip(codes["scale"], codes["shape"], upper, strict=True):
        told[(scale >= 3) == (shape >= 1)].append(bool(said) == (scale >= 3))
    assert found["agree"] == pytest.approx(np.mean(told[True]))
    assert found["disagree"] == pytest.approx(np.mean(told[False]))
    assert found["accuracy"] == pytest.approx(np.mean(told[True] + told[False]))
    assert found["gap"] == pytest.approx(found["agree"] - found["disagree"])


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(BadInput, match="steps"):
        ClassifierSettings(steps=0)
    with pytest.raises(BadInput, match="learning_rate"):
        ClassifierSettings(learning_rate=0.0)
