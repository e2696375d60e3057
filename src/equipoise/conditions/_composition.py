"""Chosen class ratios and degrees of stereotyping, together or alone (paper 001, section 5).

    P'(y = c, z = g) = P'(c) s                    where g is the group that is paired with class c
                     = P'(c) (1 - s) / (G - 1)    for each other group

s = 1/G is no stereotyping. The paper's four settings vary s with P'(c) equal (5.1) or 0.9 : 0.1 (5.3), and vary P'(c)
with s = 0.5 (5.2) or 0.9 (5.4), in two classes and two groups; here there may be any number of both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from equipoise.conditions._sampling import (
    ROUNDING,
    checked_share,
    names_of,
    shares_of,
)
from equipoise.foundation import (
    BadInput,
    Floats,
    condition,
    listing,
    unknown_name,
)
from equipoise.tallies import label_of

Shares: TypeAlias = tuple[tuple[str, float], ...]
Pairs: TypeAlias = tuple[tuple[str, str], ...]
Item = TypeVar("Item")


def sorted_shares(shares: Mapping[object, float] | Iterable[tuple[object, float]]) -> Shares:
    """Return chosen shares of classes in one spelling: by name, sorted; their sum may not be above 1."""
    shares_by_class = {
        str(label_of(name)): checked_share(share, f"The share of class {name!r}")
        for name, share in _items(shares, 'shares of classes, such as {">50K": 0.9}')
    }
    if sum(shares_by_class.values()) > 1.0 + ROUNDING:
        raise BadInput(
            f"The shares of classes sum to {sum(shares_by_class.values()):g}", available="a sum of 1 or less"
        )
    return tuple(sorted(shares_by_class.items()))


def sorted_pairs(pairs: Mapping[object, object] | Iterable[tuple[object, object]]) -> Pairs:
    """Return which group is paired with which class in one spelling."""
    items = _items(pairs, 'a group for each class, such as {">50K": "Male", "<=50K": "Female"}')
    return tuple(sorted((str(label_of(name)), str(label_of(group))) for name, group in items))


def _items(mapping: Mapping[object, Item] | Iterable[tuple[object, Item]], allowed: str) -> list[tuple[object, Item]]:
    try:
        items = list(dict(mapping).items())
    except (TypeError, ValueError):
        items = []
    if not items:
        raise BadInput(f"{mapping!r} was given", available=allowed)
    return items


def class_shares(shares: Shares, classes: Sequence[str]) -> Floats:
    """Return P'(y): the chosen shares, and the rest in equal parts for the classes that are not named."""
    for name, _ in shares:
        if name not in classes:
            raise unknown_name("class", name, classes, "the training data")
    chosen = dict(shares)
    others = len(classes) - len(chosen)
    rest = 1.0 - sum(chosen.values())
    if not others and rest > ROUNDING:
        raise BadInput(f"The shares of all classes sum to {1 - rest:g}", available="1, when every class has a share")
    values: Floats = np.array([chosen.get(name, max(rest, 0.0) / max(others, 1)) for name in classes])
    total: Floats = values / values.sum()
    return total


def stereotyped(
    P: Floats,  # noqa: N803
    ratio: float,
    pairs: Pairs | None,
    classes: Sequence[str],
    groups: Sequence[str],
) -> Floats:
    """Return P'(z | y) ``[class, group]``: ``ratio`` for the group that is paired with the class."""
    if len(groups) < 2:
        raise BadInput(f"There is only one group ({listing(groups)})", available="two groups or more, for a stereotype")
    paired = _over_represented(P, classes) if pairs is None else _paired(pairs, classes, groups)
    inside = np.full(P.shape, (1.0 - ratio) / (len(groups) - 1))
    inside[np.arange(len(classes)), paired] = ratio
    return inside


def _over_represented(P: Floats, classes: Sequence[str]) -> list[int]:  # noqa: N803
    """Return for each class the group with the largest P(z | y) / P(z): the stereotype that the data hold."""
    lift = P / P.sum(axis=1, keepdims=True) / P.sum(axis=0)
    ranked = np.sort(lift, axis=1)
    for class_index in np.flatnonzero(np.isclose(ranked[:, -1], ranked[:, -2], rtol=ROUNDING)).tolist():
        raise BadInput(
            f"In class {classes[class_index]!r} no one group is over-represented more than all others",
            help='name the groups: pairs={"class": "group", ...}.',
        )
    group_indices: list[int] = lift.argmax(axis=1).tolist()
    return group_indices


def _paired(pairs: Pairs, classes: Sequence[str], groups: Sequence[str]) -> list[int]:
    chosen = dict(pairs)
    for name, group in pairs:
        if name not in classes:
            raise unknown_name("class", name, classes, "the training data")
        if group not in groups:
            raise unknown_name("group", group, groups, "the training data")
    unpaired = [name for name in classes if name not in chosen]
    if unpaired:
        raise BadInput(
            f"No group is paired with class {listing(map(repr, unpaired))}",
            available="a group for each class, in pairs=",
        )
    return [list(groups).index(chosen[name]) for name in classes]


STEREOTYPINGS = ("none", "as_given")


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
        object.__setattr__(self, "shares", sorted_shares(self.shares))
        if isinstance(self.stereotyping, str):
            if self.stereotyping not in STEREOTYPINGS:
                raise unknown_name(
                    "stereotyping", self.stereotyping, [*STEREOTYPINGS, "a number from 0 to 1"], "class_ratio"
                )
        else:
            object.__setattr__(self, "stereotyping", checked_share(self.stereotyping, "stereotyping"))
        if self.pairs is not None:
            object.__setattr__(self, "pairs", sorted_pairs(self.pairs))

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


CLASS_SHARES = ("balanced", "as_given")


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
            object.__setattr__(self, "shares", sorted_shares(self.shares))
        elif self.shares not in CLASS_SHARES:
            raise unknown_name("distribution of classes", self.shares, CLASS_SHARES, "stereotyping")
        if self.pairs is not None:
            object.__setattr__(self, "pairs", sorted_pairs(self.pairs))

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
            shares: Floats = P.sum(axis=1)
            return shares
        return class_shares(self.shares, names)  # type: ignore[arg-type]  # made plain above

    def __str__(self) -> str:
        if isinstance(self.shares, str):
            shares = self.shares.replace("_", " ")
        else:
            shares = ", ".join(f"{name} {share:g}" for name, share in dict(self.shares).items())
        return f"stereotyping {self.ratio:g}, classes {shares}"
