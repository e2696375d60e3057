"""From the data's own distribution to a balanced one and beyond (paper 001, section 3.2 and appendix B).

    P' = (1 - alpha) P + alpha Q,    alpha in [0, 2]

alpha = 0 is the data, 1 is balance, 2 turns the imbalance round. Beyond 1 a share can fall below 0: it is set to 0 and
the others renormalised, inside each class (or group) where the mode keeps the shares of classes (or groups), over the
whole table where it does not. So P(y) stays what it was under ``group_given_class``, with any number of groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from equipoise.conditions._sampling import shares_of
from equipoise.foundation import (
    BadInput,
    Floats,
    condition,
    unknown_name,
)

LARGEST_ALPHA = 2.0


def interpolate(counts: ArrayLike, mode: str, alpha: float) -> Floats:
    """Return P' of counts ``[class, group]``, in the same shape; ``mode`` is one of ``MODES`` or ``ALIASES``."""
    name, step = mode_named(mode), checked_alpha(alpha)
    return MODES[name](shares_of(counts), step)


def _joint(P: Floats, alpha: float) -> Floats:  # noqa: N803
    """P(y, z) towards 1 / (C G)."""
    return _towards_equal(P.reshape(1, -1), alpha).reshape(P.shape)


def _group_given_class(P: Floats, alpha: float) -> Floats:  # noqa: N803
    """P(z | y) towards 1 / G; P(y) is kept."""
    classes: Floats = P.sum(axis=1, keepdims=True)
    return classes * _towards_equal(P / classes, alpha)


def _class_given_group(P: Floats, alpha: float) -> Floats:  # noqa: N803
    """P(y | z) towards 1 / C; P(z) is kept."""
    return _group_given_class(P.T, alpha).T


def _class_only(P: Floats, alpha: float) -> Floats:  # noqa: N803
    """P(y) towards 1 / C; P(z | y) is kept."""
    classes: Floats = P.sum(axis=1)
    return P / classes[:, None] * _towards_equal(classes[None, :], alpha).T


def _group_only(P: Floats, alpha: float) -> Floats:  # noqa: N803
    """P(z) towards 1 / G; P(y | z) is kept."""
    return _class_only(P.T, alpha).T


def _towards_equal(rows: Floats, alpha: float) -> Floats:
    """Interpolate each row, which sums to 1, towards equal shares; without negative shares, and summing to 1 again."""
    moved = np.maximum((1.0 - alpha) * rows + alpha / rows.shape[1], 0.0)
    total: Floats = moved / moved.sum(axis=1, keepdims=True)
    return total


MODES: dict[str, Callable[[Floats, float], Floats]] = {
    "joint": _joint,
    "group_given_class": _group_given_class,
    "class_given_group": _class_given_group,
    "class_only": _class_only,
    "group_only": _group_only,
}
# The paper's abbreviations, and the words of its authors' code.
ALIASES = {
    "JB": "joint",
    "CB": "group_given_class",
    "g_cond_y": "group_given_class",
    "y_cond_g": "class_given_group",
    "y": "class_only",
    "g": "group_only",
}


def mode_named(mode: str) -> str:
    """Return the full name of a mode, from that name or an alias in any case."""
    folded = {name.casefold(): name for name in MODES} | {short.casefold(): name for short, name in ALIASES.items()}
    if str(mode).casefold() not in folded:
        raise unknown_name("mode", str(mode), [*MODES, *ALIASES], "the modes of interpolation")
    return folded[str(mode).casefold()]


def checked_alpha(alpha: object) -> float:
    """Return alpha as a float, or refuse what is not in [0, 2]."""
    number = isinstance(alpha, (int, float, np.integer, np.floating)) and not isinstance(alpha, bool)
    step = float(alpha) if number else math.nan  # type: ignore[arg-type]
    if not 0.0 <= step <= LARGEST_ALPHA:
        raise BadInput(
            f"alpha is {alpha!r}",
            available="a number from 0 (the original data) through 1 (balanced) to 2 (reversed)",
        )
    return step


@condition("interpolation", paper="001")
@dataclass(frozen=True)
class Interpolation:
    """P' = (1 - alpha) P + alpha Q: from the data (0) over balance (1) to the reverse (2), by mode (CB, JB, ...)."""

    mode: str
    alpha: float
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        # One spelling, so that CB and group_given_class are the same condition.
        object.__setattr__(self, "mode", mode_named(self.mode))
        object.__setattr__(self, "alpha", checked_alpha(self.alpha))

    def probabilities(
        self, counts: ArrayLike, classes: Sequence[object] | None = None, groups: Sequence[object] | None = None
    ) -> Floats:
        """Return P'."""
        return interpolate(counts, self.mode, self.alpha)

    def __str__(self) -> str:
        return f"{self.mode.replace('_', ' ')}, alpha {self.alpha:g}"
