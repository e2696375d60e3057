"""Probes: what they learn, that they repeat, their files, and what they refuse."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.discovery import (
    Classifier,
    EncoderDistances,
    Hyperplane,
    ProbeSettings,
    fidelity,
    load_probe,
    probabilities_of,
    train_probe,
)
from equipoise.discovery._reading import Probe
from equipoise.discovery.generative import Generator, StepProgress, as_bytes
from equipoise.foundation import BadInput
from helpers.cases.discovery import Reader, torch
from helpers.cases.labelling import LATENT, PATCH, QUICK, TINT, taught, wall

FEW = replace(QUICK, steps=6, report_every=4, held_out=20)


@pytest.fixture(scope="module")
def probe() -> Probe:
    return taught()


def test_a_probe_reads_every_direction_of_pictures_that_it_never_saw(probe: Probe) -> None:
    assert min(probe.r2.values()) > 0.7
    assert list(probe.r2) == [f"axis {place}" for place in range(LATENT)]
    assert "R2 0." in probe.description
    generator = wall()
    latents = generator.sample(200, 1234)
    pictures = as_bytes(generator.images(latents))
    z = latents.double().numpy()
    read = probe.read(pictures)
    slow = [
        1 - ((read @ one.normal - z @ one.normal) ** 2).sum() / ((z @ one.normal) ** 2).sum() for one in (PATCH, TINT)
    ]
    assert min(slow) > 0.8
    one, two = fidelity(probe, generator, [PATCH, TINT], number=200, seed=3)
    assert slow == pytest.approx([one, two], abs=0.1)


def test_a_probe_of_some_planes_knows_what_they_span_and_nothing_else() -> None:
    stands: list[StepProgress] = []
    mixed = Hyperplane("mixed", PATCH.normal + TINT.normal, 0.3)
    probe = train_probe(wall(), [PATCH, TINT, mixed], FEW, stands.append)
    assert probe.basis.shape == (2, LATENT)
    assert set(probe.r2) == {"patch", "tint", "mixed"}
    assert [stand.step for stand in stands] == [4, 6]
    assert stands == list(probe.stands)
    probe.check([mixed])
    with pytest.raises(BadInput, match=r"(?s)not trained for the plane 'stripes'.*patch, tint, mixed"):
        probe.check([Hyperplane("stripes", np.eye(LATENT)[3])])
    with pytest.raises(BadInput, match="not trained for"):
        probe.check([Hyperplane("short", [1.0, 0.0])])


def test_a_seed_gives_the_same_probe_again_and_a_file_keeps_it(tmp_path: Path) -> None:
    pictures = as_bytes(wall().images(wall().sample(5, 0)))
    first, again, other = (
        train_probe(wall(), [TINT], replace(FEW, seed=seed)).read(pictures) for seed in (0, 0, 1)
    )  # fmt: skip
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    made = train_probe(wall(), [TINT], FEW)
    made.save(tmp_path / "probe.safetensors")
    kept = load_probe(tmp_path / "probe.safetensors")
    np.testing.assert_array_equal(kept.read(pictures), first)
    assert (kept.r2, kept.settings, kept.image) == (made.r2, made.settings, made.image)
    whole = (tmp_path / "probe.safetensors").read_bytes()
    (tmp_path / "torn.safetensors").write_bytes(whole[:-200])
    with pytest.raises(BadInput, match="not a whole file of a probe"):
        load_probe(tmp_path / "torn.safetensors")
    with pytest.raises(BadInput, match="There is no file"):
        load_probe(tmp_path / "none.safetensors")


class Signed(torch.nn.Module):
    """Pictures from -1 to 1, as many GANs make them."""

    def forward(self, latents: Any) -> Any:
        return latents[:, :3, None, None].tanh().expand(-1, -1, 16, 16)


def test_pictures_have_the_range_that_was_declared() -> None:
    generator = Generator(Signed(), 3)
    with pytest.raises(BadInput, match=r"(?s)range from -0.9.*pixels=\(-1, 1\)"):
        train_probe(generator, None, FEW)
    probe = train_probe(generator, None, replace(QUICK, steps=80, width=4, pixels=(-1.0, 1.0)))
    assert probe.image == (3, 16, 16)
    black, white = probe.read(np.array([[[[0] * 3]], [[[255] * 3]]], dtype=np.uint8).repeat(16, 1).repeat(16, 2))
    assert (white > black).all()


def test_what_does_not_fit_is_refused(probe: Probe) -> None:
    with pytest.raises(BadInput, match=r"(?s)uint8 of the shape \(2, 9, 9, 3\).*resize=8"):
        probe.read(np.zeros((2, 9, 9, 3), dtype=np.uint8))
    with pytest.raises(BadInput, match="float64 of the shape"):
        probe.read(np.zeros((2, 8, 8, 3)))
    with pytest.raises(BadInput, match="without a plane"):
        train_probe(wall(), [], FEW)
    with pytest.raises(BadInput, match="steps is 0"):
        ProbeSettings(steps=0)
    with pytest.raises(BadInput, match=r"pixels are \(1, 0\)"):
        ProbeSettings(pixels=(1, 0))
    with pytest.raises(BadInput, match=r"(?s)no longer a finite number in step \d of 6.*a lower rate"):
        train_probe(wall(), None, replace(FEW, rate=1e30))


def test_an_encoder_is_a_function_of_pictures_and_is_checked() -> None:
    pictures = np.zeros((4, 8, 8, 3), dtype=np.uint8)
    assert EncoderDistances(lambda given: np.ones((len(given), 2))).read(pictures).shape == (4, 2)
    for wrong in (np.ones(4), np.ones((3, 2)), np.full((4, 2), np.nan)):
        with pytest.raises(BadInput, match="The encoder returned latents"):
            EncoderDistances(lambda given, wrong=wrong: wrong).read(pictures)


class Shifted(torch.nn.Module):
    """A classifier of pictures from -1 to 1."""

    def forward(self, images: Any) -> Any:
        return Reader(6.0, 4.0)((images + 1) / 2)


def test_a_classifier_sees_real_pictures_in_its_own_range() -> None:
    pictures = as_bytes(wall().images(wall().sample(600, 0)))
    plain = Classifier(Reader(6.0, 4.0)).probabilities(torch.tensor(pictures).permute(0, 3, 1, 2) / 255.0)
    np.testing.assert_allclose(probabilities_of(Classifier(Reader(6.0, 4.0)), pictures), plain.detach(), atol=1e-6)
    shifted = probabilities_of(Classifier(Shifted()), pictures, (-1.0, 1.0))
    np.testing.assert_allclose(shifted, plain.detach(), atol=1e-6)


class Unsure(torch.nn.Module):
    """A classifier that has no answer for dark pictures."""

    def forward(self, images: Any) -> Any:
        return (images.mean((1, 2, 3)) - 0.5).sqrt()


def test_a_classifier_without_an_answer_for_real_pictures_is_refused() -> None:
    pictures = np.full((700, 8, 8, 3), 255, dtype=np.uint8)
    assert probabilities_of(Classifier(Unsure()), pictures).min() > 0.5
    # One picture of the second batch: NaN is no probability below 0.5.
    pictures[650] = 0
    with pytest.raises(BadInput, match=r"(?s)returned NaN for 1 of 700 pictures.*--pixels -1,1"):
        probabilities_of(Classifier(Unsure()), pictures)
