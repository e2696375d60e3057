"""What results are decided by: statuses, verdicts and directions. Their values are those of the JSON documents."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """Whether a number can be read."""

    OK = "ok"
    UNDEFINED = "undefined"
    TOO_SMALL = "too small"
    DROPPED = "dropped"


class Verdict(StrEnum):
    """How a treatment or technique compares with its baseline; none: no difference could be shown."""

    LOWER = "lower"
    HIGHER = "higher"
    NONE = "none"
    UNDECIDED = "undecided"

    @property
    def significant(self) -> bool:
        """Whether a difference was shown."""
        return self in (Verdict.LOWER, Verdict.HIGHER)


class SearchVerdict(StrEnum):
    """Whether a search found a direction that the classifier reacts to."""

    FOUND = "found"
    NOTHING_FOUND = "nothing found"


class GapVerdict(StrEnum):
    """Whether groups that a discovered direction makes differ in their outcomes."""

    GAP = "gap"
    NO_GAP_SHOWN = "no gap shown"


class ClaimVerdict(StrEnum):
    """Whether a published claim holds in a study."""

    HOLDS = "holds"
    IN_PART = "in part"
    DOES_NOT_HOLD = "does not hold"
    # The value is that of reproductions written before; JSON keeps it.
    NOT_ENOUGH_DATA = "cannot be told"
    INCONCLUSIVE = "inconclusive"


class Direction(StrEnum):
    """Which way a finding points; better and worse where the measure says which is which."""

    BETTER = "better"
    WORSE = "worse"
    DIFFERENT = "different"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"
