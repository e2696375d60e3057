"""The share of latents that cross 0.5 has Wilson's interval: where nobody crosses it is not sure of 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from equipoise.discovery import Classifier, Hyperplane, JudgeSettings, SearchSettings
from equipoise.discovery._investigating import known_change, strips_of
from equipoise.discovery._judging import Evaluator
from equipoise.discovery.generative import Generator
from helpers.cases.discovery import LATENT, torch

PLANE = Hyperplane("first", np.eye(LATENT)[0])


class Shades(torch.nn.Module):
    """A picture of two pixels: the first two latents."""

    def forward(self, latents: Any) -> Any:
        return latents[:, None, None, :2].sigmoid()


class Reads(torch.nn.Module):
    """Along the first pixel p rises by at most a fifth; the second says from where."""

    def __init__(self, start: float, slope: float) -> None:
        super().__init__()
        self.start, self.slope = start, slope

    def forward(self, pictures: Any) -> Any:
        first, second = pictures[:, 0, 0, 0], pictures[:, 0, 0, 1]
        return self.start + 0.2 * first + self.slope * second


def flips(start: float, slope: float, level: float = 0.95) -> tuple[tuple[float, float, float], int]:
    generator, classifier = Generator(Shades(), LATENT), Classifier(Reads(start, slope))
    asked = JudgeSettings(latents=40, null_latents=8, level=level)
    evaluator = Evaluator(generator, classifier, SearchSettings(), asked)
    drawn = strips_of(generator, classifier, number=0, pictures=3, ends=(-2, 2), seed=0)
    p, _ = evaluator.probabilities_along(PLANE, asked.latents)
    crossed = int(((p >= 0.5).any(0) & (p < 0.5).any(0)).sum())
    return known_change(evaluator, PLANE, drawn).flips, crossed


@pytest.mark.parametrize(("start", "crossing"), [(0.1, 0), (0.4, 40)])
def test_nobody_and_everybody_leave_something_open(start: float, crossing: int) -> None:
    (value, low, high), crossed = flips(start, 0.0)
    assert crossed == crossing
    assert value == crossing / 40
    expected = stats.binomtest(crossing, 40).proportion_ci(0.95, "wilson")
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert high - low > 0.05


def test_the_interval_of_some_is_that_of_a_library_at_the_level_that_was_asked_for() -> None:
    (value, low, high), crossed = flips(0.2, 0.4, level=0.8)
    assert 0 < crossed < 40
    assert value == pytest.approx(crossed / 40)
    expected = stats.binomtest(crossed, 40).proportion_ci(0.8, "wilson")
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-12)
