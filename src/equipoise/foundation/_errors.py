"""Errors that say what was given, what is available, and what to do about it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from equipoise.foundation._text import (
    listing,
    redacted,
)


class EquipoiseError(Exception):
    """The base of every error this package raises on purpose.

    The message always has the same shape: what was given, what is available, and ``help:`` with what to do. Passwords
    are left out of it.
    """

    def __init__(self, given: str, *, available: str = "", help: str = "") -> None:
        self.given = redacted(given).rstrip(".")
        self.available = redacted(available)
        self.help = redacted(help)
        lines = [self.given]
        if available:
            lines.append(f"  available: {self.available}")
        if help:
            lines.append(f"help: {self.help}")
        super().__init__("\n".join(lines))


class BadInput(EquipoiseError, ValueError):
    """What was given cannot be worked with."""


class MissingExtra(EquipoiseError, ImportError):
    """A library that only some installations have is needed now."""


# Names less alike than this (difflib's ratio) are no slip of a finger: "age" and "race" are at 0.57, "sxe" and "sex" at
# 0.67.
MIN_SIMILARITY = 0.65
# A name cut short, such as "pred" for "prediction", is taken for its beginning from this many letters on.
LEAST_BEGINNING = 3


def nearest(unknown: str, candidates: Iterable[str]) -> str | None:
    """Return the known name that looks most like the wanted one, or None when none comes close."""
    by_folded = {name.casefold(): name for name in candidates}
    folded = unknown.casefold()
    if folded in by_folded:
        return by_folded[folded]
    close = _closest(folded, by_folded)
    by_beginning = [
        name for name in by_folded if min(len(name), len(folded)) >= LEAST_BEGINNING and _begins(name, folded)
    ]
    matches = [*close, *sorted(by_beginning, key=len)]
    return by_folded[matches[0]] if matches else None


def _closest(unknown: str, candidates: Iterable[str]) -> list[str]:
    """Return the closest name, or none where two are as close, or where only a number tells them apart."""
    close = difflib.get_close_matches(unknown, candidates, n=2, cutoff=MIN_SIMILARITY)
    ratios = [difflib.SequenceMatcher(None, name, unknown).ratio() for name in close]
    if not close or (len(close) == 2 and ratios[0] == ratios[1]):
        return []
    return [] if _without_digits(close[0]) == _without_digits(unknown) else close[:1]


def _without_digits(name: str) -> str:
    return re.sub(r"\d", "", name)


def _begins(first: str, other: str) -> bool:
    return first.startswith(other) or other.startswith(first)


def nearest_file(unknown: str, candidates: Iterable[str]) -> str | None:
    """Return the file whose name without its ending looks most like the wanted one: every ending looks like itself."""
    stems: dict[str, list[str]] = {}
    for name in candidates:
        stems.setdefault(_stem(name), []).append(name)
    stem = nearest(_stem(unknown), stems)
    return None if stem is None else nearest(unknown, stems[stem]) or stems[stem][0]


def _stem(name: str) -> str:
    return name.partition(".")[0] or name


def describe_error(error: BaseException) -> str:
    """Say in one line what somebody else's code stumbled over; an error may have no words of its own."""
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__


def unknown_name(kind: str, name: str, allowed: Iterable[str], owner: str, *, typed: str = "{!r}") -> BadInput:
    """Build the error for a name that is not there, with the nearest one that is, as it would be typed."""
    names = list(allowed)
    guess = nearest(name, names)
    return BadInput(
        f"{kind} {name!r} not found in {owner}",
        available=listing(names) if names else f"{owner} has none",
        help=f"did you mean {typed.format(guess)}?" if guess else "use one of those listed above." if names else "",
    )
