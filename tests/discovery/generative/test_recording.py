"""Recorded steps and pictures on a device: the numbers are those of plain steps and of pictures sent there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from equipoise.discovery.generative import VAEPlan, VAESettings, network_pictures, picture_batch, train_vae, train_vaes
from equipoise.discovery.generative._training import DevicePictures, laid_on
from equipoise.foundation import BadInput

torch = pytest.importorskip("torch", reason="needs equipoise[train]")

PICTURES = np.random.default_rng(0).integers(0, 256, (20, 64, 64, 3), dtype=np.uint8)
SMALL: dict[str, Any] = {"batch_size": 4, "width": 2, "latent_size": 3, "report_every": 2}


def test_pictures_laid_on_a_device_are_those_sent_there() -> None:
    rows = np.array([3, 3, 19, 0])
    laid = DevicePictures(PICTURES, "cpu")
    assert torch.equal(laid.drawn_on(rows, "cpu"), network_pictures(PICTURES[rows], "cpu"))
    assert torch.equal(picture_batch(laid, rows, "cpu"), network_pictures(PICTURES[rows], "cpu"))
    assert laid.shape == PICTURES.shape
    assert laid_on(PICTURES, "cpu") is PICTURES


def test_trainings_of_different_lengths_go_side_by_side() -> None:
    plans = [
        VAEPlan(PICTURES, kind, VAESettings(steps=steps, **SMALL)) for kind, steps in (("vae", 3), ("dip_vae_i", 5))
    ]
    for made, plan in zip(train_vaes(plans), plans, strict=True):
        alone = train_vae(PICTURES, plan.kind, plan.settings)
        assert made.stands == alone.stands
        assert all(
            torch.equal(one, other)
            for one, other in zip(made.encoder.state_dict().values(), alone.encoder.state_dict().values(), strict=True)
        )
    with pytest.raises(BadInput, match="gan"):
        train_vaes([VAEPlan(PICTURES, "gan", VAESettings(**SMALL))])  # type: ignore[arg-type]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a graphics card")
def test_recorded_steps_give_the_weights_of_plain_ones() -> None:
    settings = VAESettings(steps=6, device="cuda", **SMALL)
    plans = [VAEPlan(PICTURES, kind, settings) for kind in ("vae", "beta_tcvae", "dip_vae_ii")]
    for recorded, plain in zip(train_vaes(plans), train_vaes(plans, record=False), strict=True):
        for one, other in zip(
            recorded.decoder.state_dict().values(), plain.decoder.state_dict().values(), strict=True
        ):  # fmt: skip
            assert torch.allclose(one, other, rtol=1e-4, atol=1e-6)
