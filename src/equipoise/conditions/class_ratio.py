"""A chosen class ratio, with or without stereotyping (paper 001, sections 5.2 and 5.4)."""

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

PLAIN = ("none", "as_given")


@condition("class_ratio", paper="001")
@dataclass(frozen=True)
class ClassRatio:
    """P'(y) as chosen; in each class the groups equally (no stereotyping), with a chosen stereotyping, or as given.

    ``shares`` names classes, such as ``{">50K": 0.9}``; classes that are not named share the rest equally.
    ``stereotyping`` is "none", "as_given" (P(z | y) is kept), or the share of the group that is paired with a class;
    ``pairs`` names that group for each class, by default the one that the data over-represent in it.
    """

    shares: Mapping[Any, float] | Shares
    stereotyping: float | Literal["none", "as_given"] = "none"
    pairs: Mapping[Any, Any] | Pairs | None = None
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "shares", given_shares(self.shares))
        if isinstance(self.stereotyping, str):
            if self.stereotyping not in PLAIN:
                raise unknown_name("stereotyping", self.stereotyping, [*PLAIN, "a number from 0 to 1"], "class_ratio")
        else:
            object.__setattr__(self, "stereotyping", checked_share(self.stereotyping, "stereotyping"))
        if self.pairs is not None:
            object.__setattr__(self, "pairs", given_pairs(self.pairs))

    def probabilities(
        self, counts: ArrayLike, classes: Sequence[object] | None = None, groups: Sequence[object] | None = None
    ) -> Floats:
        """Return P'(y) P'(z | y)."""
        P = shares_of(counts)
        names, columns = names_of(classes, P.shape[0], "classes"), names_of(groups, P.shape[1], "groups")
        if self.stereotyping == "none":
            inside = np.full(P.shape, 1.0 / P.shape[1])
        elif self.stereotyping == "as_given":
            inside = P / P.sum(axis=1, keepdims=True)
        else:
            inside = stereotyped(P, float(self.stereotyping), self.pairs, names, columns)  # type: ignore[arg-type]
        classwise: Floats = class_shares(self.shares, names)  # type: ignore[arg-type]  # made plain above
        shares: Floats = classwise[:, None] * inside
        return shares

    def __str__(self) -> str:
        shares = ", ".join(f"{name} {share:g}" for name, share in dict(self.shares).items())
        inside = (
            f"{self.stereotyping:g}" if isinstance(self.stereotyping, float) else self.stereotyping.replace("_", " ")
        )
        return f"class ratio {shares}, stereotyping {inside}"
