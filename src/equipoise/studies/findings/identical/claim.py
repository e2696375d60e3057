"""A finding of a paper beside what a study says of it, and how its sentences are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from equipoise.foundation.text import plural

Holds = Literal["holds", "in part", "does not hold", "cannot be told", "inconclusive"]


class Inconclusive(StrEnum):
    """Why a finding is inconclusive though the study has numbers on it."""

    UNFINISHED_TRAINING = "unfinished_training"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A finding of the paper beside what a study says of it.

    ``holds`` is by the paper's rule, ``holds_corrected`` by the study's own; None where there is one rule only. Where
    it is inconclusive, ``inconclusive`` says why and ``as_trained`` what it would be if that were passed over.
    ``unfinished`` names the techniques with numbers here whose trainings were too short.
    """

    finding: str
    claim: str
    here: str
    holds: Holds
    holds_corrected: Holds | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)
    inconclusive: Inconclusive | None = None
    as_trained: Holds | None = None
    unfinished: tuple[str, ...] = ()


def judged(found: bool) -> Holds:
    """Say whether a finding holds."""
    return "holds" if found else "does not hold"


def most_do(number: int, of: int) -> Holds:
    """Tell whether most do: more than half; fewer are a part, and of none it cannot be told."""
    if of == 0:
        return "cannot be told"
    return "in part" if 0 < 2 * number <= of else judged(number > 0)


def points(value: float) -> str:
    """Write a difference of shares in percentage points."""
    return f"{100 * value:.1f} points"


def share(value: float) -> str:
    """Write a share as a percentage."""
    return f"{100 * value:.1f} %"


def metric_of(row: Mapping[str, Any]) -> str:
    """Name the measure of a row."""
    return str(row["alias"] or row["measure"].replace("_", " "))


def out_of(number: int, total: int, what: str) -> str:
    """Write how many of how many."""
    return f"{number:,} of {plural(total, what)}"


def have(number: int) -> str:
    """Return the verb that fits a number."""
    return "has" if number == 1 else "have"


def raises(number: int) -> str:
    """Return the verb that fits a number."""
    return "raises" if number == 1 else "raise"


def sentence(parts: Sequence[str]) -> str:
    """Join parts to a sentence."""
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."
