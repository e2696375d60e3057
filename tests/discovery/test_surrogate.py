"""The surrogate of p(z): it finds what the networks' own search finds, and says where it cannot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise.discovery import Classifier, Hyperplane, SurrogateSettings, search, surrogate_search
from equipoise.discovery._surrogate import FITTING, LABELLING, POLISH, ROUGH, fit_surrogate
from equipoise.foundation import BadInput
from helpers.cases.discovery import BIAS, TARGET, Constant, meaning, painter, quick, reader

torch = pytest.importorskip("torch", reason="needs equipoise[train]")

SMALL = SurrogateSettings(latents=4000, width=64, steps=600, batch=256, polish=20)


@pytest.mark.parametrize("seed", range(3))
def test_it_finds_the_direction_that_the_search_without_it_finds(seed: int) -> None:
    generator, classifier = painter(seed), reader(6.0, 4.0)
    target = meaning(seed, TARGET, "patch")
    with_it = surrogate_search(
        generator, classifier, target=target, restarts=2, settings=quick(seed), surrogate=SMALL
    ).search.directions[0]
    without = search(generator, classifier, target=target, restarts=2, settings=quick(seed)).directions[0]
    assert abs(with_it.plane.cosine(without.plane)) > 0.98
    assert abs(with_it.plane.cosine(meaning(seed, BIAS, "tint"))) > 0.9


def test_several_directions_are_at_right_angles_after_the_polish_too() -> None:
    found = surrogate_search(painter(), reader(3.0, 4.0), directions=2, settings=quick(), surrogate=SMALL).search
    assert abs(found.directions[0].plane.cosine(found.directions[1].plane)) < 1e-9
    assert found.curves.shape == (2, 1, SMALL.polish)


def test_the_r2_is_that_of_fresh_latents() -> None:
    generator, classifier = painter(), reader(6.0, 4.0)
    made = fit_surrogate(generator, classifier, SMALL, quick())
    assert made is not None
    latents = generator.sample(2000, 99)
    wanted = classifier.probabilities(generator.images(latents))
    given = made.classifier.probabilities(made.generator.images(latents))
    assert 1 - float(((given - wanted) ** 2).mean() / wanted.var()) == pytest.approx(made.r2, abs=0.02)


def test_every_phase_is_reported_to_its_end() -> None:
    told: list[tuple[str, int, int]] = []
    few = replace(SMALL, latents=300, steps=5, least_r2=-9, polish=2)
    surrogate_search(
        painter(), reader(3.0, 4.0), directions=2, settings=quick(steps=3, chunk=100), surrogate=few,
        report=lambda *one: told.append(one),
    )  # fmt: skip
    assert told == [
        *((LABELLING, done, 300) for done in (0, 100, 200, 300)),
        *((FITTING, step, 5) for step in range(1, 6)),
        *((ROUGH, step, 6) for step in range(1, 7)),
        *((POLISH, step, 4) for step in range(1, 5)),
    ]


def test_a_long_fit_is_reported_about_a_hundred_times() -> None:
    told: list[tuple[str, int, int]] = []
    how = replace(SMALL, latents=200, steps=250, width=4, batch=8)
    fit_surrogate(painter(), reader(3.0, 4.0), how, quick(), lambda *one: told.append(one))
    assert [done for stage, done, _ in told if stage == FITTING] == list(range(2, 251, 2))


def test_a_seed_gives_the_same_direction_again() -> None:
    first, second = (
        surrogate_search(painter(), reader(3.0, 4.0), settings=quick(), surrogate=replace(SMALL, steps=50, least_r2=-9))
        for _ in range(2)
    )
    assert np.array_equal(first.search.directions[0].plane.normal, second.search.directions[0].plane.normal)


def test_what_says_the_same_of_everything_is_told_so() -> None:
    found = surrogate_search(painter(), Classifier(Constant()), settings=quick(), surrogate=SMALL)
    assert not found.search.directions
    assert found.surrogate is None
    assert "nothing to find" in str(found.search.reason)


@pytest.mark.parametrize(
    ("settings", "surrogate", "words"),
    [
        (quick(), replace(SMALL, steps=1), "R2"),
        (quick(hessian=0.1), SMALL, "Hessian"),
        (quick(), replace(SMALL, rate=1e30), r"(?s)no longer a finite number in step \d+ of 600.*--no-surrogate"),
    ],
)
def test_what_it_cannot_do_is_refused(settings: Any, surrogate: SurrogateSettings, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        surrogate_search(painter(), reader(3.0, 4.0), settings=settings, surrogate=surrogate)


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(BadInput, match="polish"):
        SurrogateSettings(polish=0)


def test_a_search_may_begin_at_a_plane() -> None:
    tint = meaning(0, BIAS, "tint")
    found = search(
        painter(), reader(3.0, 4.0), restarts=1, settings=quick(steps=1, rate=1e-9), starts=[tint]
    ).directions[0]
    assert abs(found.plane.cosine(tint)) > 0.999999
    moved = Hyperplane("moved", tint.normal, 0.7)
    found = search(
        painter(), reader(3.0, 4.0), restarts=1, settings=quick(steps=1, rate=1e-9), starts=[moved]
    ).directions[0]
    assert abs(abs(found.plane.offset) - 0.7) < 1e-6
