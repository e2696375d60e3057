"""The benchmark's generators: trained side by side as alone, kept whole, skewed as asked; and its triplets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from reproductions.sprites.generators import (
    GeneratorPlan,
    Skew,
    fingerprint,
    load_generator,
    missing,
    plans_of,
    stored,
    train_generators,
)
from reproductions.sprites.sprite_bank import upper_half
from reproductions.sprites.triplets import PAIRS, Pair, triplets_of

from equipoise.cohorts import codes_of_cells
from equipoise.cohorts.pictures import (
    NUMBER_OF_SPRITES,
    SPRITE_FACTORS,
)
from equipoise.discovery.generative import KINDS, StepProgress, VAESettings
from equipoise.foundation import BadInput
from equipoise.training import ONE_KIND, Recorder
from equipoise.training._recording import restore_tensors
from equipoise.training.images import state_of

torch = pytest.importorskip("torch", reason="needs equipoise[train]")

SMALL = VAESettings(steps=3, batch_size=4, width=2, latent_size=7, report_every=2)


def test_generators_side_by_side_are_those_trained_alone(tmp_path: Path) -> None:
    plans = plans_of(["vae", "dip_vae_i"], [0, 1])
    told: list[StepProgress] = []
    train_generators(plans, SMALL, tmp_path / "together", report=told.append)
    assert [one.step for one in told] == [2, 3]
    train_generators([plans[3]], SMALL, tmp_path / "alone")
    name = plans[3].name
    first, second = (load_generator(tmp_path / folder, name, "cpu") for folder in ("together", "alone"))
    for one, other in zip(first.decoder.state_dict().values(), second.decoder.state_dict().values(), strict=True):
        assert torch.equal(one, other)
    assert fingerprint(tmp_path / "together", name) == fingerprint(tmp_path / "alone", name)
    assert list(stored(tmp_path / "together")) == ["dip_vae_i-0", "dip_vae_i-1", "vae-0", "vae-1"]


def test_what_is_whole_is_not_missing_and_half_of_one_is(tmp_path: Path) -> None:
    plans = plans_of(["vae"], [0, 1])
    assert missing(plans, SMALL, tmp_path / "nowhere") == plans
    train_generators(plans, SMALL, tmp_path)
    assert missing(plans, SMALL, tmp_path) == []
    (tmp_path / "vae-1.safetensors").unlink()
    assert missing(plans, SMALL, tmp_path) == [plans[1]]
    assert list(stored(tmp_path)) == ["vae-0"]
    with pytest.raises(BadInput, match="another folder"):
        missing(plans, replace(SMALL, steps=4), tmp_path)
    with pytest.raises(BadInput, match="no generator"):
        stored(tmp_path / "nowhere")


def test_a_skewed_generator_sees_halves_that_go_together() -> None:
    plan = GeneratorPlan("vae", 2, Skew("scale", "x", 0.8))
    assert plan.name == "vae-2-scale-x-0.8"
    pictures = plan.pictures()
    codes = codes_of_cells(pictures.cells, SPRITE_FACTORS)
    assert abs((upper_half("scale", codes) == upper_half("x", codes)).mean() - 0.8) < 0.01
    assert len(GeneratorPlan("vae", 2).pictures()) == NUMBER_OF_SPRITES
    with pytest.raises(BadInput, match="gan"):
        GeneratorPlan("gan", 0)  # type: ignore[arg-type]


def test_there_are_twenty_pairs_and_a_hundred_triplets() -> None:
    plans = {plan.name: plan for plan in plans_of(KINDS, [0])}
    assert len(PAIRS) == len(set(PAIRS)) == 20
    assert len(triplets_of(plans)) == len({one.name for one in triplets_of(plans)}) == 100
    assert Pair("x", "shape").others == ("scale", "orientation", "y")
    skewed = GeneratorPlan("vae", 0, Skew("x", "y", 0.9))
    assert [one.pair for one in triplets_of({skewed.name: skewed})] == [Pair("x", "y")]
    with pytest.raises(BadInput, match="two different"):
        Pair("x", "x")
    with pytest.raises(BadInput, match="colour"):
        Pair("x", "colour")


def test_putting_back_leaves_what_a_fresh_optimiser_goes_on_from() -> None:
    weight = torch.ones(3, requires_grad=True)

    def built() -> torch.optim.Optimizer:
        return torch.optim.Adam([weight], lr=0.1, fused=True)

    optimiser = built()

    def step() -> None:
        optimiser.zero_grad()
        (weight**2).sum().backward()
        optimiser.step()

    def moved() -> dict[str, torch.Tensor]:
        return {"weight": weight, **state_of(optimiser)}

    recorder, before = Recorder("cpu", moved), {"weight": weight.detach().clone()}
    for _ in range(2):
        recorder.take(ONE_KIND, step)
    twice = weight.detach().clone()
    restore_tensors(moved(), before)
    assert np.array_equal(weight.detach().numpy(), np.ones(3))
    for _ in range(2):
        recorder.take(ONE_KIND, step)
    recorder.wait()
    assert torch.equal(weight, twice)
