"""The settings of paper 002's benchmark: target, biased factor, generator: 20 pairs x 5 kinds = 100 triplets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from equipoise.foundation import (
    BadInput,
    unknown_name,
)
from reproductions.sprites.generators import GeneratorPlan
from reproductions.sprites.sprite_bank import NAMES


@dataclass(frozen=True)
class Pair:
    """What a classifier is to tell, and what it was made to look at instead."""

    target: str
    biased: str

    def __post_init__(self) -> None:
        for name in (self.target, self.biased):
            if name not in NAMES:
                raise unknown_name("factor", name, NAMES, "the sprites")
        if self.target == self.biased:
            raise BadInput(f"{self.target} is the target and the biased factor", available="two different factors")

    @property
    def name(self) -> str:
        """The name of its files."""
        return f"{self.target}-{self.biased}"

    @property
    def others(self) -> tuple[str, ...]:
        """The factors that are neither: the paper's known attributes."""
        return tuple(name for name in NAMES if name not in (self.target, self.biased))


@dataclass(frozen=True)
class Triplet:
    """One setting of the benchmark; ``generator`` is the name of its files."""

    pair: Pair
    generator: str
    plan: GeneratorPlan

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{self.generator}--{self.pair.name}"


PAIRS = tuple(Pair(target, biased) for target, biased in permutations(NAMES, 2))


def triplets_of(generators: Mapping[str, GeneratorPlan], pairs: Sequence[Pair] = PAIRS) -> list[Triplet]:
    """Return every pair with every generator; one trained on skewed data is asked about its own pair alone."""
    return [
        Triplet(pair, name, plan)
        for name, plan in generators.items()
        for pair in pairs
        if plan.skew is None or (plan.skew.target, plan.skew.biased) == (pair.target, pair.biased)
    ]
