"""Style spaces: a small stand-in with StyleGAN's interface, a bias planted in w that is found, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from equipoise.foundation import BadInput

torch = pytest.importorskip("torch", reason="needs equipoise[train]")

from equipoise.discovery import (  # noqa: E402
    JudgeSettings,
    judge,
    search,
)
from equipoise.discovery._objective import guard_of  # noqa: E402
from equipoise.discovery.generative import style_generator  # noqa: E402
from helpers.cases.discovery import BIAS, LATENT, SIDE, TARGET, Painter, meaning, quick, reader  # noqa: E402

Z, LAYERS = 5, 3


class Mapping(torch.nn.Module):
    """From z, and a class where there are any, to one w a layer; its mean is not the origin."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        drawn = torch.Generator().manual_seed(3)
        self.first = torch.nn.Parameter(torch.randn(Z + classes, 24, generator=drawn) / Z**0.5)
        self.second = torch.nn.Parameter(torch.randn(24, LATENT, generator=drawn) / 3)
        self.register_buffer("w_avg", torch.linspace(-0.6, 0.6, LATENT))

    def forward(self, z: Any, c: Any, truncation_psi: float = 1, truncation_cutoff: int | None = None) -> Any:
        given = z if c is None else torch.cat([z, c], 1)
        w = self.w_avg + torch.nn.functional.leaky_relu(given @ self.first, 0.2) @ self.second
        return self.w_avg.lerp(w, truncation_psi)[:, None].repeat(1, LAYERS, 1)


class Synthesis(torch.nn.Module):
    """Paint as the painter of the other tests does, each layer a third, in [-1, 1]; remember how it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.painter = Painter(0)
        self.asked: list[tuple[str, bool]] = []

    def forward(self, ws: Any, noise_mode: str = "random", force_fp32: bool = False) -> Any:
        self.asked.append((noise_mode, force_fp32))
        noise = torch.randn(len(ws), 1, SIDE, SIDE) if noise_mode == "random" else 0.0
        return 2 * self.painter(ws.mean(1)) - 1 + 0.3 * noise


class Network(torch.nn.Module):
    """What StyleGAN2 and StyleGAN3 publish, in small."""

    def __init__(self, classes: int = 0) -> None:
        super().__init__()
        self.z_dim, self.w_dim, self.num_ws, self.c_dim = Z, LATENT, LAYERS, classes
        self.mapping, self.synthesis = Mapping(classes), Synthesis()


def test_a_direction_planted_in_w_is_found_there() -> None:
    network = Network()
    generator = style_generator(network)
    target = meaning(0, TARGET, "patch")
    found = search(generator, reader(6.0, 5.0), target=target, restarts=2, settings=quick())
    assert abs(found.directions[0].plane.cosine(meaning(0, BIAS, "tint"))) > 0.9
    judged = judge(generator, reader(6.0, 5.0), found, settings=JudgeSettings(latents=64, null_latents=32))
    assert judged.verdict == "found"
    assert set(network.synthesis.asked) == {("const", True)}, "noise is never drawn, and nothing is in half precision"


def test_in_w_latents_are_mapped_z_and_pictures_those_of_the_network() -> None:
    network = Network()
    generator = style_generator(network, truncation=0.7)
    assert generator.latent_size == LATENT
    latents = generator.sample(4, 9)
    z = torch.randn(4, Z, generator=torch.Generator().manual_seed(9))
    styles = network.mapping(z, None, truncation_psi=0.7)
    assert torch.equal(latents, styles[:, 0])
    expected = (network.synthesis(styles, noise_mode="const") + 1) / 2
    pictures = generator.images(latents)
    assert torch.allclose(pictures, expected)
    assert 0 <= float(pictures.min()) < float(pictures.max()) <= 1
    assert torch.equal(pictures, generator.images(latents)), "the same latents give the same pictures"
    assert not any(parameter.requires_grad for parameter in network.parameters())
    assert guard_of(generator, 0).mean.shape == (LATENT,)
    # The same seed draws the same z in both spaces, so they show the same pictures.
    in_z = style_generator(network, space="z", truncation=0.7, noise="none")
    assert in_z.latent_size == Z
    assert torch.equal(in_z.sample(4, 9), z)
    assert torch.allclose(in_z.images(z), pictures, atol=1e-6)
    assert network.synthesis.asked[-1] == ("none", True)


def test_truncation_draws_pictures_together() -> None:
    spreads = [float(style_generator(Network(), truncation=psi).sample(500, 0).std(0).mean()) for psi in (0.35, 0.7, 1)]
    assert spreads == pytest.approx([0.35 * spreads[2], 0.7 * spreads[2], spreads[2]], rel=1e-4)


def test_pictures_beyond_the_range_are_cut_off_and_half_precision_is_only_spoken_of_where_it_is_known() -> None:
    class Bright(Synthesis):
        def forward(self, ws: Any, noise_mode: str = "random") -> Any:
            return 1.5 * super().forward(ws, noise_mode)

    network = Network()
    network.synthesis = Bright()
    pictures = style_generator(network).images(torch.full((2, LATENT), 3.0))
    assert float(pictures.max()) == 1.0
    assert network.synthesis.asked[-1] == ("const", False)


def test_a_network_with_classes_draws_the_one_that_is_named() -> None:
    network = Network(classes=3)
    second, third = (style_generator(network, label=label) for label in (1, 2))
    assert not torch.allclose(second.sample(4, 0), third.sample(4, 0))
    z = torch.randn(4, Z, generator=torch.Generator().manual_seed(0))
    named = torch.nn.functional.one_hot(torch.full((4,), 2), 3).float()
    assert torch.equal(third.sample(4, 0), network.mapping(z, named)[:, 0])
    assert not torch.allclose(*(style_generator(network, space="z", label=one).images(z) for one in (0, 1)))
    for label in (None, 3, -1, True, "cat"):
        with pytest.raises(BadInput, match="generates 3 classes, and label is"):
            style_generator(network, label=label)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="has no classes"):
        style_generator(Network(), label=0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"space": "s"}, "space 's' not found"),
        ({"truncation": 0.0}, "The truncation is 0.0"),
        ({"truncation": np.nan}, "The truncation is nan"),
        ({"noise": "random"}, "(?s)noise is 'random'.*changes with every picture"),
        ({"device": "meta"}, "declared on meta"),
    ],
)
def test_choices_that_cannot_be_searched_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        style_generator(Network(), **options)


def flat(z: Any, c: Any, truncation_psi: float = 1) -> Any:
    """A mapping that gives one w, for all layers."""
    return torch.zeros(len(z), LATENT)


def pixels(ws: Any, noise_mode: str = "random") -> Any:
    """A synthesis that gives pictures of 0 to 255."""
    return torch.linspace(0, 255, len(ws) * 48).reshape(len(ws), 3, 4, 4)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"num_ws": None}, "num_ws of the style network is None"),
        ({"w_dim": 0}, "w_dim of the style network is 0"),
        ({"mapping": None}, "mapping of the style network cannot be called"),
        ({"mapping": lambda z, c: z}, r"(?s)failed to generate.*truncation_psi.*StyleGAN3 publish it"),
        ({"mapping": flat}, r"(?s)shape \[2, 6\].*\[2, 3, 6\]"),
        ({"w_dim": 7}, r"(?s)shape \[2, 3, 6\].*\[2, 3, 7\]"),
        ({"synthesis": lambda ws: ws}, "(?s)failed to generate.*noise_mode"),
        ({"synthesis": lambda ws, noise_mode: ws}, r"pictures \[2, channels, height, width\]"),
        ({"synthesis": lambda ws, noise_mode: torch.full((2, 3, 4, 4), torch.nan)}, "NaN or infinite"),
        ({"synthesis": pixels}, r"(?s)pictures from 0 to 255.*\[-1, 1\]"),
    ],
)
def test_another_interface_is_refused_in_words(changed: dict[str, Any], words: str) -> None:
    network = Network()
    for name, value in changed.items():
        delattr(network, name)
        object.__setattr__(network, name, value)
    with pytest.raises(BadInput, match=words):
        style_generator(network)


def test_what_is_no_style_network_is_refused() -> None:
    with pytest.raises(BadInput, match=r"(?s)type Painter, has no z_dim, w_dim.*Generator\(module, latent_size\)"):
        style_generator(Painter(0))
    with pytest.raises(BadInput, match="style network is of the type str"):
        style_generator("stylegan3.pkl")
