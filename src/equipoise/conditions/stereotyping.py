"""A chosen stereotyping ratio, classes balanced or not (paper 001, sections 5.1 and 5.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from equipoise.conditions.composition import Pairs, Shares, class_shares, given_pairs, given_shares, stereotyped
from equipoise.conditions.shares import Floats, checked_share, names_of, shares_of
from equipoise.foundation.errors import unknown_name
from equipoise.foundation.registry import condition

PLAIN = ("balanced", "as_given")


@condition("stereotyping", paper="001")
@dataclass(frozen=True)
class Stereotyping:
    """P'(z | y) = ratio for the group paired with a class, the other groups equally; classes balanced or as chosen.

    ``shares`` of classes are "balanced", "as_given" (P(y) is kept), or such as ``{">50K": 0.9}``, the rest equally.
    ``pairs`` names the group for each class, by default the one that the data over-represent in it.
    """

    ratio: float
    shares: Mapping[Any, float] | Shares | Literal["balanced", "as_given"] = "balanced"
    pairs: Mapping[Any, Any] | Pairs | None = None
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "ratio", checked_share(self.ratio, "ratio"))
        if not isinstance(self.shares, str):
            object.__setattr__(self, "shares", given_shares(self.shares))
        elif self.shares not in PLAIN:
            raise unknown_name("distribution of classes", self.shares, PLAIN, "stereotyping")
        if self.pairs is not None:
            object.__setattr__(self, "pairs", given_pairs(self.pairs))

    def probabilities(
        self, counts: ArrayLike, classes: Sequence[object] | None = None, groups: Sequence[object] | None = None
    ) -> Floats:
        """Return P'(y) P'(z | y)."""
        P = shares_of(counts)
        names, columns = names_of(classes, P.shape[0], "classes"), names_of(groups, P.shape[1], "groups")
        inside = stereotyped(P, self.ratio, self.pairs, names, columns)  # type: ignore[arg-type]  # made plain above
        return self._class_shares(P, names)[:, None] * inside

    def _class_shares(self, P: Floats, names: Sequence[str]) -> Floats:  # noqa: N803
        if self.shares == "balanced":
            return np.full(len(names), 1.0 / len(names))
        if self.shares == "as_given":
            kept: Floats = P.sum(axis=1)
            return kept
        return class_shares(self.shares, names)  # type: ignore[arg-type]  # made plain above

    def __str__(self) -> str:
        if isinstance(self.shares, str):
            shares = self.shares.replace("_", " ")
        else:
            shares = ", ".join(f"{name} {share:g}" for name, share in dict(self.shares).items())
        return f"stereotyping {self.ratio:g}, classes {shares}"
