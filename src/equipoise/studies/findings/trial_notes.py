"""What trials noted about themselves: notes that differ only in their numbers are told once, with their ranges."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from equipoise.foundation.text import plural

# A number by itself: not a part of a word, and not in quotation marks, where it is a name.
NUMBER = re.compile(r"(?<![\w.'\"])-?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w'\"])")
MOST = 20


@dataclass
class _Kind:
    """Notes of one text: which trials wrote it, and the numbers that stand at each place, as they were written."""

    between: tuple[str, ...]
    trials: set[int] = field(default_factory=set)
    numbers: list[list[str]] = field(default_factory=list)

    def __str__(self) -> str:
        ranges = [_range(column) for column in zip(*self.numbers, strict=True)]
        return "".join(text for pair in zip(self.between, [*ranges, ""], strict=True) for text in pair)


def notes_told(notes: Sequence[Sequence[str]]) -> Iterator[str]:
    """Say what trials noted, with how many noted it; the most frequent first."""
    kinds: dict[tuple[str, ...], _Kind] = {}
    for place, own in enumerate(notes):
        for note in own:
            between = tuple(NUMBER.split(note))
            kind = kinds.setdefault(between, _Kind(between))
            kind.trials.add(place)
            kind.numbers.append(NUMBER.findall(note))
    told = sorted(kinds.values(), key=lambda kind: -len(kind.trials))
    for kind in told[:MOST]:
        yield f"{len(kind.trials):,} of {len(notes):,} trials noted: {kind}"
    if len(told) > MOST:
        yield f"{plural(len(told) - MOST, 'other note')} of fewer trials: the store has them all."


def _range(written: Sequence[str]) -> str:
    low, high = (pick(written, key=_value) for pick in (min, max))
    return low if _value(low) == _value(high) else f"{low} to {high}"


def _value(written: str) -> float:
    return float(written.replace(",", ""))
