"""What an investigation of a classifier comes to: directions with their strips, what they are held to, a verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.discovery.asked import Asked
from equipoise.discovery.hyperplane import Floats
from equipoise.discovery.judging import Judged, JudgeSettings
from equipoise.discovery.search import SearchSettings
from equipoise.results import SearchVerdict


@dataclass(frozen=True, eq=False)
class Strip:
    """One latent walked along a direction: pictures ``[alpha, height, width, channel]``, and p under each of them."""

    pictures: NDArray[np.uint8] = field(repr=False)
    probabilities: Floats


@dataclass(frozen=True, eq=False)
class Shown:
    """A judged direction with its strips; every direction of an investigation is shown from the same latents.

    ``method`` is "search", or the baseline whose lowest direction it is: "axes", "pca", "hessian", "random" or
    "random orthogonal".
    """

    method: str
    judged: Judged
    strips: tuple[Strip, ...] = field(repr=False)


@dataclass(frozen=True, eq=False)
class KnownChange:
    """How much the probability changes along an attribute that has a name: counterfactual fairness, with intervals.

    ``change`` is the mean of p at the upper end less p at the lower end, ``variation`` the total variation, and
    ``flips`` the share of latents that cross 0.5 on the way; each with its interval over latents.
    """

    name: str
    change: tuple[float, float, float]
    variation: tuple[float, float, float]
    flips: tuple[float, float, float]
    strips: tuple[Strip, ...] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Investigation:
    """All that the page, the terminal and the JSON say; ``curves`` are losses ``[direction, restart, step]``.

    ``asked`` has by part what was asked for beside the settings of search and judging (``asked.asked_of``);
    ``reference`` names the classifier whose probability was to stay, where there was one.
    """

    classifier: str
    generator: str
    verdict: SearchVerdict | None
    reason: str | None
    directions: tuple[Shown, ...]
    methods: tuple[Shown, ...]
    known: tuple[KnownChange, ...]
    curves: Floats = field(repr=False)
    strip_alphas: tuple[float, ...]
    search: SearchSettings
    judging: JudgeSettings
    provenance: dict[str, Any] = field(default_factory=dict)
    target: str | None = None
    reference: str | None = None
    notes: tuple[str, ...] = ()
    asked: Asked = field(default_factory=dict)
