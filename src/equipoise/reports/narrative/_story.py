"""What is told of a result: the answer, and attribute by attribute what is confirmed and what is open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from equipoise.reports._document import Name, Statements, Text, pieces, plain
from equipoise.reports.formats import safe_name


def capitalised(sentence: Text) -> Text:
    """Begin a sentence with a capital; a name that begins it keeps its own letters."""
    first, *rest = pieces(sentence) or ("",)
    return (first[:1].upper() + first[1:], *rest) if isinstance(first, str) else sentence


@dataclass(frozen=True)
class About:
    """Sentences about one attribute (or several crossed) in one split: what is confirmed, and what is not known."""

    attribute: tuple[str, ...]
    split: str | None
    confirmed: tuple[Text, ...] = ()
    open: tuple[Text, ...] = ()
    everyone: str = "everyone"

    @property
    def name(self) -> str:
        """The attribute and the split, as sentences in the JSON begin."""
        own = " & ".join(self.attribute) if self.attribute else self.everyone
        return own if self.split is None else f"{own} ({self.split})"

    @property
    def title(self) -> str:
        """The attribute and the split, as a heading."""
        own = " × ".join(map(safe_name, self.attribute)) if self.attribute else self.everyone
        return own if self.split is None else f"{own} ({safe_name(self.split)})"


@dataclass(frozen=True)
class Story:
    """The answer (with more sentences where it needs them), and what is told of each attribute.

    Without an answer of its own the first confirmed sentence of the part at ``first`` is the answer.
    """

    answer: tuple[Text, ...]
    about: tuple[About, ...] = ()
    first: int | None = None

    def sentences(self) -> Iterator[str]:
        """Yield everything as plain sentences, each with what it is about."""
        yield from map(plain, self.answer)
        for part in self.about:
            yield from (f"{part.name}: {plain(sentence)}" for sentence in (*part.confirmed, *part.open))

    @property
    def headline(self) -> Text:
        """The answer in one sentence."""
        if self.first is None:
            return self.answer[0] if self.answer else ""
        part = self.about[self.first]
        return ("By ", Name(part.title), ", ", *pieces(part.confirmed[0]))

    def lead(self) -> Iterator[Statements]:
        """Yield what else is confirmed."""
        if self.answer[1:]:
            yield Statements("", self.answer[1:])
        for place, part in enumerate(self.about):
            rest = part.confirmed[1:] if place == self.first else part.confirmed
            if rest:
                yield Statements(Name(part.title), tuple(map(capitalised, rest)))

    def inconclusive(self) -> Iterator[Statements]:
        """Yield what is not known, and why."""
        for part in self.about:
            if part.open:
                yield Statements(Name(part.title), tuple(map(capitalised, part.open)))
