"""Generators trained in small: they learn, repeat, are kept in files, and say what does not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.cohorts.pictures import SpritePictures
from equipoise.discovery.generative import (
    KINDS,
    GANSettings,
    Generator,
    StepProgress,
    VAESettings,
    load_gan,
    load_vae,
    reconstruction_grid,
    sample_grid,
    train_gan,
    train_vae,
)
from equipoise.discovery.generative._vae import grid
from equipoise.foundation import BadInput, stream
from equipoise.networks import dcgan_discriminator, dcgan_generator, vae_decoder, vae_encoder
from equipoise.training import fix_seeds, seed_of

torch = pytest.importorskip("torch")
SMALL: dict[str, Any] = {"steps": 3, "batch_size": 4, "width": 2, "latent_size": 3, "report_every": 2}
COLOURED = np.random.default_rng(0).integers(0, 256, (10, 64, 64, 3), dtype=np.uint8)


def weights(network: Any) -> list[Any]:
    return [value.clone() for value in network.state_dict().values()]


def test_the_networks_of_the_papers_have_their_shapes() -> None:
    encoder, decoder = vae_encoder(20), vae_decoder(10)
    assert encoder(torch.zeros(1, 1, 64, 64)).shape == (1, 20)
    assert decoder(torch.zeros(1, 10)).shape == (1, 1, 64, 64)
    widths = [one.out_channels for one in encoder if hasattr(one, "out_channels")]
    assert widths == [32, 32, 64, 128, 256, 256]
    assert [one.out_channels for one in decoder if hasattr(one, "out_channels")] == [256, 256, 128, 128, 64, 64, 1]
    assert vae_encoder(1, 3, width=2)(torch.zeros(2, 3, 64, 64)).shape == (2, 1)
    made = dcgan_generator(5, 3, width=2)(torch.randn(2, 5)).detach()
    assert made.shape == (2, 3, 64, 64)
    assert 0 <= float(made.min()) <= float(made.max()) <= 1
    assert dcgan_discriminator(3, width=2)(made).shape == (2, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_trains_repeats_under_its_seed_and_is_kept(kind: Any, tmp_path: Path) -> None:
    told: list[StepProgress] = []
    first = train_vae(SpritePictures(), kind, VAESettings(**SMALL), told.append)
    assert [stand.step for stand in told] == [2, 3]
    assert set(told[0].losses) == {"loss", "reconstruction", "divergence"}
    assert tuple(told) == first.stands
    again = train_vae(SpritePictures(), kind, VAESettings(**SMALL))
    for weight, other in zip(weights(first.decoder), weights(again.decoder), strict=True):
        assert torch.equal(weight, other)
    first.save(tmp_path / "vae.safetensors")
    read = load_vae(tmp_path / "vae.safetensors")
    assert (read.kind, read.channels, read.stands) == (kind, 1, first.stands)
    assert read.settings.strength == first.settings.strength is not None
    seen = SpritePictures()[np.arange(7)]
    assert np.array_equal(read.encode(seen), first.encode(seen))
    assert np.array_equal(sample_grid(read.generator(), 1, 2), sample_grid(first.generator(), 1, 2))


def test_another_seed_is_another_network_and_training_moves_the_loss_down() -> None:
    longer = VAESettings(**SMALL | {"steps": 60, "report_every": 20, "learning_rate": 3e-3, "batch_size": 8})
    made = train_vae(SpritePictures(), "vae", longer)
    losses = [stand.losses["loss"] for stand in made.stands]
    assert losses[-1] < 0.6 * losses[0]
    other = train_vae(SpritePictures(), "vae", VAESettings(**SMALL | {"seed": 1}))
    same = train_vae(SpritePictures(), "vae", VAESettings(**SMALL))
    assert not torch.equal(weights(other.encoder)[0], weights(same.encoder)[0])


def test_a_rate_that_falls_ends_near_0_and_moves_weights_less() -> None:
    falling = VAESettings(**SMALL | {"steps": 4, "schedule": "cosine", "learning_rate": 0.5})
    rates = [falling.rate_at(step) for step in range(1, 5)]
    assert rates[0] == 0.5
    assert rates[2] == pytest.approx(0.25)
    assert rates == sorted(rates, reverse=True)
    assert [VAESettings(**SMALL).rate_at(step) for step in (1, 3)] == [1e-4, 1e-4]
    one_step = SMALL | {"steps": 1}
    # The first step is at the full rate, so one step alone is the same with both.
    first = [train_vae(COLOURED, "vae", VAESettings(**one_step, schedule=kind)) for kind in ("constant", "cosine")]
    assert all(map(torch.equal, weights(first[0].decoder), weights(first[1].decoder)))
    later = [train_vae(COLOURED, "vae", VAESettings(**SMALL, schedule=kind)) for kind in ("constant", "cosine")]
    assert not all(map(torch.equal, weights(later[0].decoder), weights(later[1].decoder)))


def test_a_vae_is_that_of_a_loop_written_out() -> None:
    steps, number = 7, 4
    settings = VAESettings(**SMALL | {"steps": steps, "schedule": "cosine", "learning_rate": 1e-3, "report_every": 3})
    made = train_vae(COLOURED, "beta_vae", settings)
    fix_seeds(seed_of(0, "weights of a VAE"))
    encoder, decoder = vae_encoder(6, 3, 2), vae_decoder(3, 3, 2)
    optimiser = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)
    rows, noise = stream(0, "batches of a generator"), torch.Generator().manual_seed(seed_of(0, "noise of latents"))
    losses = []
    for step in range(steps):
        optimiser.param_groups[0]["lr"] = 1e-3 * (1 + np.cos(np.pi * step / steps)) / 2
        pictures = torch.from_numpy(COLOURED[rows.integers(0, len(COLOURED), number)]).permute(0, 3, 1, 2) / 255
        means, logs = encoder(pictures).chunk(2, dim=1)
        rebuilt = decoder(means + torch.randn(number, 3, generator=noise) * torch.exp(logs / 2))
        missed = torch.nn.functional.binary_cross_entropy_with_logits(rebuilt, pictures, reduction="sum")
        apart = 0.5 * (means**2 + logs.exp() - logs - 1).sum()
        # The third strength that was tried for this kind is 4.
        loss = (missed + 4 * apart) / number
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append([float(value.detach()) for value in (loss, missed / number, apart / number)])
    for ours, theirs in ((made.encoder, encoder), (made.decoder, decoder)):
        for weight, other in zip(weights(ours), weights(theirs), strict=True):
            torch.testing.assert_close(weight, other, rtol=1e-4, atol=1e-6)
    means_told = [list(done.losses.values()) for done in made.stands]
    expected = [np.mean(losses[begin : begin + 3], axis=0) for begin in (0, 3, 6)]
    np.testing.assert_allclose(means_told, expected, rtol=1e-5, atol=1e-6)


def test_pictures_of_three_channels_are_rebuilt_in_three() -> None:
    made = train_vae(COLOURED, "beta_vae", VAESettings(**SMALL))
    assert reconstruction_grid(made, COLOURED, 4).shape == (128, 256, 3)
    assert np.array_equal(reconstruction_grid(made, COLOURED, 4)[:64, :64], COLOURED[0])
    with pytest.raises(BadInput, match="1 channels"):
        made.encode(SpritePictures()[np.arange(2)])


def test_a_gan_trains_repeats_and_is_kept_as_the_average_of_its_weights(tmp_path: Path) -> None:
    told: list[StepProgress] = []
    made = train_gan(COLOURED, GANSettings(**SMALL), told.append)
    assert [set(stand.losses) for stand in told] == [{"discriminator", "generator"}] * 2
    again = train_gan(COLOURED, GANSettings(**SMALL))
    assert all(torch.equal(a, b) for a, b in zip(weights(made.network), weights(again.network), strict=True))
    one = train_gan(COLOURED, GANSettings(**SMALL | {"steps": 1}))
    two = train_gan(COLOURED, GANSettings(**SMALL | {"steps": 2}))
    last = train_gan(COLOURED, GANSettings(**SMALL | {"steps": 2, "average": 0.0}))
    # While there are few steps the average is the plain mean of those there were.
    for first, second, both in zip(weights(one.network), weights(last.network), weights(two.network), strict=True):
        if both.is_floating_point():
            assert torch.allclose(both, (first + second) / 2, atol=1e-6)
    made.save(tmp_path / "gan.safetensors")
    read = load_gan(tmp_path / "gan.safetensors")
    assert np.array_equal(sample_grid(read.generator(), 2, 2), sample_grid(made.generator(), 2, 2))
    assert sample_grid(read.generator(), 2, 2).shape == (128, 128, 3)
    with pytest.raises(BadInput, match=r"does not hold a VAE of this version \(equipoise.gan/1\)"):
        load_vae(tmp_path / "gan.safetensors")


class Signed(torch.nn.Module):
    """Pictures of one pixel from -1 to 1."""

    def forward(self, latents: Any) -> Any:
        return latents[:, :1, None, None].tanh()


def test_a_grid_shows_pictures_of_another_range_where_it_is_declared() -> None:
    generator = Generator(Signed(), 2)
    drawn = generator.sample(8, 0)[:, 0].tanh().double().numpy()
    found = sample_grid(generator, 2, 4, pixels=(-1.0, 1.0))
    np.testing.assert_allclose(found[..., 0].reshape(-1), (drawn + 1) / 2 * 255, atol=0.51)
    with pytest.raises(BadInput, match=r"pixels=\(-1, 1\)"):
        sample_grid(generator, 2, 4)


def test_files_that_are_torn_or_do_not_fit_are_refused(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    made = train_vae(COLOURED, "vae", VAESettings(**SMALL))
    path = tmp_path / "vae.safetensors"
    made.save(path)
    from safetensors import safe_open

    with safe_open(str(path), framework="pt") as file:
        header = file.metadata()
    tensors = load_file(path)
    name = next(iter(tensors))
    save_file({**tensors, name: torch.full_like(tensors[name], float("nan"))}, path, metadata=header)
    with pytest.raises(BadInput, match=f"{name} is not finite"):
        load_vae(path)
    save_file({key: value for key, value in tensors.items() if key != name}, path, metadata=header)
    with pytest.raises(BadInput, match=f"{name} is not in the file"):
        load_vae(path)
    save_file(tensors, path)
    with pytest.raises(BadInput, match=r"does not hold a .* of this version \(something else\)"):
        load_vae(path)
    path.write_bytes(b"torn")
    with pytest.raises(BadInput, match="is not a whole file of a"):
        load_vae(path)
    with pytest.raises(BadInput, match="There is no file"):
        load_vae(tmp_path / "nothing.safetensors")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"pictures": COLOURED[:, :32]}, "64, 64, channel"),
        ({"pictures": COLOURED.astype(np.float32)}, "float32"),
        ({"kind": "gvae"}, "did you mean 'vae'"),
    ],
)
def test_what_cannot_be_trained_on_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        train_vae(**{"pictures": COLOURED, "settings": VAESettings(**SMALL), **change})


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        (VAESettings, {"steps": 0}, "steps is 0"),
        (VAESettings, {"learning_rate": 0.0}, "learning_rate is 0.0"),
        (VAESettings, {"strength": -1.0}, "strength is -1.0"),
        (VAESettings, {"schedule": "steps"}, "schedule is 'steps'"),
        (GANSettings, {"average": 1.0}, "average is 1.0"),
    ],
)
def test_settings_that_mean_nothing_are_refused(kind: Any, change: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        kind(**change)


def test_a_training_that_diverges_stops_and_says_so() -> None:
    for report_every in (1, 4, 10):
        wild = SMALL | {"learning_rate": 1e30, "steps": 10, "report_every": report_every}
        with pytest.raises(BadInput, match=r"(?s)no longer a finite number in step 2 of 10.*a lower strength"):
            train_vae(COLOURED, "vae", VAESettings(**wild))
        with pytest.raises(BadInput, match=r"(?s)no longer a finite number in step \d+ of 10.*a lower learning_rate"):
            train_gan(COLOURED, GANSettings(**wild))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a graphics card")
def test_a_graphics_card_that_is_not_there_is_said() -> None:
    with pytest.raises(BadInput, match="'cuda' is not available"):
        train_vae(COLOURED, "vae", VAESettings(**SMALL | {"device": "cuda"}))


def test_a_grid_leaves_the_rest_of_its_last_row_black() -> None:
    pictures = np.arange(1, 4, dtype=np.uint8).repeat(4).reshape(3, 2, 2, 1)
    assert grid(pictures, 2)[:, :, 0].tolist() == [[1, 1, 2, 2], [1, 1, 2, 2], [3, 3, 0, 0], [3, 3, 0, 0]]
    with pytest.raises(BadInput, match="0 columns"):
        grid(pictures, 0)
