"""How generators are trained: numbers, checked once, and how far a training is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from equipoise.foundation.errors import BadInput


@dataclass(frozen=True)
class Stand:
    """How far a training is: steps done, and the losses by name, each the mean since the stand before."""

    step: int
    steps: int
    losses: dict[str, float] = field(default_factory=dict)


Report = Callable[[Stand], None]


@dataclass(frozen=True)
class VAESettings:
    """Locatello et al.'s numbers (2019); ``strength`` is beta or lambda_od (None: the third value that they tried).

    ``width`` is that of the narrowest layer: 32 in paper 002, less for a small machine. They keep the learning rate as
    it is; with the schedule "cosine" it falls to 0 over the steps, which a short training gains by.
    """

    latent_size: int = 10
    steps: int = 300_000
    batch_size: int = 64
    learning_rate: float = 1e-4
    strength: float | None = None
    width: int = 32
    seed: int = 0
    device: str = "cpu"
    report_every: int = 1_000
    schedule: Literal["constant", "cosine"] = "constant"

    def __post_init__(self) -> None:
        _check(self, ("latent_size", "steps", "batch_size", "width", "report_every"), ("learning_rate",))
        if self.schedule not in ("constant", "cosine"):
            raise BadInput(f"schedule is {self.schedule!r}", available="constant, cosine")
        if self.strength is not None and not self.strength >= 0:
            raise BadInput(f"strength is {self.strength!r}", available="None, or a number of at least 0")

    def rate_at(self, step: int) -> float:
        """Return the learning rate of a step (they count from 1)."""
        if self.schedule == "constant":
            return self.learning_rate
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * (step - 1) / self.steps))


@dataclass(frozen=True)
class GANSettings:
    """Radford et al.'s numbers (2016), with a running average of the generator's weights (0 for none)."""

    latent_size: int = 64
    steps: int = 20_000
    batch_size: int = 128
    learning_rate: float = 2e-4
    width: int = 64
    average: float = 0.999
    seed: int = 0
    device: str = "cpu"
    report_every: int = 500

    def __post_init__(self) -> None:
        _check(self, ("latent_size", "steps", "batch_size", "width", "report_every"), ("learning_rate",))
        if not 0 <= self.average < 1:
            raise BadInput(f"average is {self.average!r}", available="0 to below 1")


def as_plain(settings: VAESettings | GANSettings) -> dict[str, Any]:
    """Return settings as plain values for a file; where it was trained is no part of what it is."""
    return {one.name: getattr(settings, one.name) for one in fields(settings) if one.name not in PLACE}


PLACE = ("device", "report_every")


def _check(settings: object, whole: tuple[str, ...], positive: tuple[str, ...]) -> None:
    for name in whole:
        value = getattr(settings, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise BadInput(f"{name} is {value!r}", available="a whole number of at least 1")
    for name in positive:
        if not getattr(settings, name) > 0:
            raise BadInput(f"{name} is {getattr(settings, name)!r}", available="a number above 0")
