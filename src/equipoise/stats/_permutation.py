"""Permutation tests that stop when they know enough (Besag and Clifford 1991).

Groups are dealt out until h of the deals were at least as extreme as what was seen. Where that took l deals, p is
h / l; where it does not happen within n deals, of which g were as extreme, p is (1 + g) / (1 + n) as ever. Where
nothing differs, p is at most a with probability at most a, for every a, although the test chose when to stop. What
chance gives easily costs few deals, and what is rare gets them all.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

# So many extreme deals tell p to about a fifth of itself (1 / sqrt(20)).
ENOUGH = 20
# Sums in another order differ by this much.
ROUNDING = 1e-12


@dataclass
class Tail:
    """One side of a test; without ``enough`` it takes every deal there is. Undefined deals do not count."""

    observed: float
    above: bool
    enough: int | None
    dealt: int = 0
    extreme: int = 0

    @property
    def settled(self) -> bool:
        """Tell whether further deals would change nothing."""
        return self.enough is not None and self.extreme >= self.enough

    def add(self, value: float) -> None:
        """Take one more deal."""
        if self.settled or np.isnan(value):
            return
        beyond = value - self.observed if self.above else self.observed - value
        self.dealt += 1
        self.extreme += beyond >= -ROUNDING

    @property
    def p(self) -> float:
        """The p-value by what was dealt so far."""
        return self.extreme / self.dealt if self.settled else (1 + self.extreme) / (1 + self.dealt)


@dataclass
class PermutationTest:
    """A test of one number, on both sides where it is signed: twice the smaller p of the two."""

    observed: float
    signed: bool
    enough: int | None = None
    tails: list[Tail] = field(init=False)

    def __post_init__(self) -> None:
        sides = (True, False) if self.signed else (True,)
        self.tails = [Tail(self.observed, above, self.enough) for above in sides]

    @property
    def settled(self) -> bool:
        """Tell whether every side is settled."""
        return all(tail.settled for tail in self.tails)

    def add(self, value: float) -> None:
        """Take one more deal on every side."""
        for tail in self.tails:
            tail.add(value)

    @property
    def p(self) -> float:
        """The p-value by what was dealt so far."""
        return min(1.0, len(self.tails) * min(tail.p for tail in self.tails))

    @property
    def dealt(self) -> int:
        """How many deals were looked at."""
        return max(tail.dealt for tail in self.tails)
