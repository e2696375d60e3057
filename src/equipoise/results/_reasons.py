"""Why a number is missing, untested or limited: a code that programs read, and the sentence for people, made last."""

from __future__ import annotations

import string
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from equipoise.foundation.errors import listing
from equipoise.foundation.text import number_of_people, plural


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
