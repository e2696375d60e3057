"""Investigations made by hand: what a search found, nothing, names that try to run, and more than a page can hold."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from equipoise.discovery import (
    Hyperplane,
    Investigation,
    Judged,
    JudgeSettings,
    KnownChange,
    PresentedDirection,
    SearchSettings,
    Strip,
)
from equipoise.discovery._reasons import DiscoveryReason
from equipoise.foundation import provenance
from equipoise.results import because
from helpers.cases.report import HOSTILE

ALPHAS = tuple(np.linspace(-2, 2, 7).tolist())
SIZE, NULL_MEDIAN, NULL_HIGH = 6, 0.004, 0.009
AS_MUCH = because(
    DiscoveryReason.AS_LARGE_BY_CHANCE, compared="119 of 199 random directions change it as much", rank=120, of=200
)
MADE = {"created": "2026-01-01T00:00:00+00:00", "device": "cpu", "latent_size": SIZE}


def painted(seed: int, side: int, channels: int, strength: float) -> Strip:
    """Paint a disc that grows along the strip, before a gradient and a little noise of its latent."""
    rng = np.random.default_rng(seed)
    across, down = np.meshgrid(np.linspace(-1, 1, side), np.linspace(-1, 1, side))
    centre, tint = rng.uniform(-0.3, 0.3, 2), rng.uniform(60, 180, channels)
    pictures = []
    for alpha in ALPHAS:
        disc = (across - centre[0]) ** 2 + (down - centre[1]) ** 2 < (0.35 + 0.1 * strength * alpha) ** 2
        picture = tint * (0.6 + 0.2 * down[..., None]) + disc[..., None] * np.linspace(90, 20, channels)
        pictures.append(np.clip(picture + rng.normal(0, 3, picture.shape), 0, 255).astype(np.uint8))
    p = 1 / (1 + np.exp(-(rng.normal(0, 0.4) + strength * np.array(ALPHAS))))
    return Strip(np.stack(pictures), p)


def shown(
    name: str, method: str = "search", *, place: int = 0, strength: float = 1.0, side: int = 32, channels: int = 3,
    latents: int = 3, cosines: dict[str, float] | None = None, **judged: Any,
) -> PresentedDirection:  # fmt: skip
    """Return a direction along one axis, with strips that all start from the same latents."""
    plane = Hyperplane(name, np.eye(SIZE)[place % SIZE])
    variation = 0.033 * strength
    found = strength > 0.5
    of = Judged(
        name, plane, plane, 0.998, {"target": 0.02, "age": -0.05} if cosines is None else cosines, variation=variation,
        low=0.9 * variation, high=1.1 * variation, total_change=19 * variation, steadiness=0.97 if found else 0.4,
        chance=NULL_MEDIAN, chance_high=NULL_HIGH, rank_among_random=1 if found else 120, random_directions=199,
        verdict="found" if found else "nothing found", reason=None if found else AS_MUCH,
    )  # fmt: skip
    strips = tuple(painted(seed, side, channels, strength) for seed in range(latents))
    return PresentedDirection(method, replace(of, **judged), strips)


def investigation(**parts: Any) -> Investigation:
    """Return an investigation that found two directions of three; parts replace its own."""
    steps = np.arange(60)
    falling = 3.5 + 2 * np.exp(-steps / 15)[None, None] + np.random.default_rng(0).normal(0, 0.05, (3, 4, 60))
    first = shown("direction 1")
    made = Investigation(
        classifier="faces.py:smiles",
        generator="gan.py:generator",
        verdict="found",
        reason=None,
        directions=(first, shown("direction 2", place=1, strength=0.7), shown("direction 3", place=2, strength=0.1)),
        methods=tuple(
            shown(name, method, place=index, strength=strength)
            for index, (method, name, strength) in enumerate((
                ("axes", "axis 3", 0.8), ("pca", "component 1", 0.4), ("hessian", "calm 2", 0.3),
                ("random", "random 7", 0.2), ("random orthogonal", "random 4", 0.2),
            ))
        ),
        known=tuple(
            KnownChange(name, (change, change - 0.04, change + 0.04), (0.03, 0.02, 0.04), (0.4, 0.3, 0.5), first.strips)
            for name, change in (("target", 0.81), ("age", -0.06))
        ),
        curves=falling,
        strip_alphas=ALPHAS,
        search=SearchSettings(steps=60),
        judging=JudgeSettings(),
        provenance=provenance(
            fingerprint="sha256:" + "0" * 64, command=["equipoise", "discover", "--classifier", "faces.py:smiles"]
        ) | MADE,
        target="target",
        notes=("The fit of age has an R2 of 0.61.",),
        run_spec={
            "investigation": {"directions": 3, "restarts": 4, "search": True, "compare": True},
            "surrogate": None,
            "classifier": {"output": 1, "class": "smiles", "names": ["frowns", "smiles"], "logits": True, "size": None},
            "generator": {"latent_size": SIZE, "prior": "normal", "image": (3, 32, 32)},
        },
    )  # fmt: skip
    return replace(made, **parts)


@cache
def found() -> Investigation:
    return investigation()


@cache
def nothing() -> Investigation:
    directions = (
        shown("direction 1", strength=0.1),
        shown("direction 2", place=1, strength=0.1),
    )
    return investigation(
        verdict="nothing found", reason=AS_MUCH, directions=directions,
        methods=(), known=(),
    )  # fmt: skip


@cache
def constant() -> Investigation:
    """A classifier that says the same of every picture: there is no direction at all."""
    return investigation(
        verdict="nothing found", reason=because(DiscoveryReason.CONSTANT_CLASSIFIER), directions=(),
        methods=(), known=(), curves=np.full((1, 4, 60), np.nan), provenance={},
    )  # fmt: skip


@cache
def known_only() -> Investigation:
    return investigation(
        verdict=None, reason=None, directions=(), methods=(), curves=np.zeros((0, 0, 0)), search=SearchSettings()
    )  # fmt: skip


@cache
def undefined() -> Investigation:
    """A direction of which nothing is left beside the target, so that none of its numbers is defined."""
    nan = float("nan")
    bare = shown(
        "direction 1", plane=None, cosine_kept=0.0, variation=nan, low=nan, high=nan, total_change=nan, steadiness=nan,
        chance=nan, chance_high=nan, rank_among_random=None, random_directions=0,
        verdict="nothing found", reason=because(DiscoveryReason.KNOWN_ALREADY),
    )  # fmt: skip
    return investigation(
        verdict="nothing found", reason=because(DiscoveryReason.KNOWN_ALREADY), directions=(replace(bare, strips=()),)
    )


@cache
def hostile() -> Investigation:
    names = [str(name) for name in HOSTILE]
    cosines = dict.fromkeys(names, 0.1)
    bad = names[0]
    return investigation(
        classifier=bad,
        generator=names[1],
        reason=because(DiscoveryReason.AS_LARGE_BY_CHANCE, compared=bad, rank=3, of=200),
        directions=(
            shown(bad, cosines=cosines),
            shown(
                names[4],
                place=1,
                strength=0.1,
                reason=because(DiscoveryReason.AS_LARGE_BY_CHANCE, compared=f"<b>yes</b> {bad}", rank=3, of=200),
                cosines=cosines,
            ),
        ),
        known=tuple(
            KnownChange(name, (0.1, 0.0, 0.2), (0.1, 0.0, 0.2), (0.1, 0.0, 0.2), found().directions[0].strips)
            for name in names
        ),
        notes=(bad, names[1]),
        target=bad,
        run_spec={
            "classifier": {"output": 0, "class": bad, "names": names, "logits": bad},
            "generator": {"prior": bad, "latent_size": 6},
            "surrogate": {"latents": bad},
        },
        provenance=provenance(fingerprint=bad, command=["equipoise", bad]) | {"created": bad, "device": bad},
    )


@cache
def many() -> Investigation:
    """More directions, restarts and larger photographs than a page can hold."""
    directions = tuple(shown(f"direction {n + 1}", place=n, side=200, latents=3) for n in range(14))
    return investigation(
        directions=directions, curves=np.random.default_rng(0).normal(size=(14, 20, 500)),
        methods=tuple(replace(method, strips=directions[0].strips) for method in found().methods),
    )  # fmt: skip


@cache
def grey() -> Investigation:
    return investigation(directions=(shown("direction 1", side=64, channels=1),), methods=(), known=())


CASES = {
    "found": found, "nothing": nothing, "constant": constant, "known only": known_only, "undefined": undefined,
    "hostile": hostile, "many": many, "grey": grey,
}  # fmt: skip
