"""A finding of a paper beside what a study says of it, and how its sentences are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from equipoise.foundation.text import plural
from equipoise.results import ClaimVerdict


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
    holds: ClaimVerdict
    holds_corrected: ClaimVerdict | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)
    inconclusive: Inconclusive | None = None
    as_trained: ClaimVerdict | None = None
    unfinished: tuple[str, ...] = ()


def read_claim(content: Mapping[str, Any]) -> Claim:
    """Return a claim as its JSON document has it."""
    verdicts = {name: content.get(name) for name in ("holds", "holds_corrected", "as_trained")}
    typed: dict[str, Any] = {name: None if one is None else ClaimVerdict(one) for name, one in verdicts.items()}
    return Claim(**{**content, **typed})


def judged(found: bool) -> ClaimVerdict:
    """Say whether a finding holds."""
    return ClaimVerdict.HOLDS if found else ClaimVerdict.DOES_NOT_HOLD


def most_do(number: int, of: int) -> ClaimVerdict:
    """Tell whether most do: more than half; fewer are a part, and of none it cannot be told."""
    if of == 0:
        return ClaimVerdict.CANNOT_BE_TOLD
    return ClaimVerdict.IN_PART if 0 < 2 * number <= of else judged(number > 0)


def points(value: float) -> str:
    """Write a difference of shares in percentage points."""
    return f"{100 * value:.1f} points"


def share(value: float) -> str:
    """Write a share as a percentage."""
    return f"{100 * value:.1f}%"


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
