"""Why a number is missing, untested or limited: a code that programs read, and the sentence for people, made last.

Beside reasons stand the enums that results are decided by: statuses, verdicts and directions. Values of all of them are
those of the JSON documents.
"""

from __future__ import annotations

import string
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from equipoise.foundation.text import listing, number_of_people, plural


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


class ReasonCode(StrEnum):
    """The base of all codes. A room lists its own: the value is the code in JSON, the second text is the sentence.

    A sentence names the details of the reason in braces. ``{rows:plural row}`` writes a number of things,
    ``{people:people}`` a number of people, ``{groups:list}`` names between quotes, ``{groups:list 5}`` at most five,
    and ``{costs:join}`` several texts or reasons as they are.

    >>> class Why(ReasonCode):
    ...     EMPTY = "empty", "{rows:plural row} only in {groups:list}"
    >>> str(because(Why.EMPTY, rows=1, groups=("a", "b")))
    "1 row only in 'a', 'b'"
    """

    sentence: str

    def __new__(cls, code: str, sentence: str) -> Self:
        made = str.__new__(cls, code)
        made._value_ = code
        made.sentence = sentence
        return made


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something is as it is: its code and the details that the sentence names. ``str(reason)`` is the sentence.

    Several reasons at once are one reason with ``parts``.
    """

    code: ReasonCode
    details: tuple[tuple[str, Any], ...] = ()
    parts: tuple[Reason, ...] = ()

    def __str__(self) -> str:
        if self.parts:
            return "; ".join(map(str, self.parts))
        return _SENTENCES.format(self.code.sentence, **dict(self.details))

    def has(self, code: ReasonCode) -> bool:
        """Tell whether this is the reason, or one of several."""
        return self.code == code or any(part.has(code) for part in self.parts)


def because(code: ReasonCode, **details: Any) -> Reason:
    """Return a reason with its details."""
    return Reason(code, tuple(details.items()))


def all_of(reasons: Iterable[Reason | None]) -> Reason | None:
    """Return several reasons as one, which has the code of the first; None where there are none."""
    given = [reason for reason in reasons if reason is not None]
    if len(given) < 2:
        return given[0] if given else None
    return Reason(given[0].code, parts=tuple(given))


def reason_as_json(reason: Reason | None) -> dict[str, str | None]:
    """Return a reason as JSON has it: the sentence and the code."""
    if reason is None:
        return {"reason": None, "reason_code": None}
    return {"reason": str(reason), "reason_code": reason.code.value}


class _Sentences(string.Formatter):
    """Formats details: numbers of things and people, lists of names."""

    def format_field(self, value: Any, format_spec: str) -> Any:
        form, _, rest = format_spec.partition(" ")
        if form == "plural":
            one, _, more = rest.partition("/")
            return plural(int(value), one, more or None)
        if form == "people":
            return number_of_people(float(value))
        if form == "join":
            return ", ".join(map(str, value))
        if form == "list":
            return listing(map(repr, value), int(rest) if rest else 12)
        return super().format_field(value, format_spec)


_SENTENCES = _Sentences()
