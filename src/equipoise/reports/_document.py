"""A report as typed data: made once for a result, and rendered by every medium.

Whatever a person reads about a result is first a ``Document``. Texts are plain: a renderer escapes every one of them
for its medium, so a name from a stranger's file can never become markup. A name that should stand by itself is a
``Name``, a number that can be traced to the JSON a ``Number``.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

# So many rows of one table are shown on a page; the others are counted.
# What every report says, whatever its numbers.
NOT_CERTIFIED = "No number on this page certifies that a model is fair."
MOST_ROWS = 250


class Meaning(enum.Enum):
    """What a number or a verdict means for the people it is about; colours and signs are made from it.

    A sign has one meaning in every medium, and in charts the shape of a mark is the same.
    """

    BETTER = "better"
    WORSE = "worse"
    NEUTRAL = "neutral"  # confirmed, and neither better nor worse
    QUIET = "quiet"  # not confirmed, not tested, or undefined


# What says in every medium what the colour says.
SIGNS = {Meaning.BETTER: "■", Meaning.WORSE: "◆", Meaning.NEUTRAL: "●"}
LEGEND = {
    Meaning.BETTER: "better", Meaning.WORSE: "worse", Meaning.NEUTRAL: "confirmed, and neither better nor worse",
}  # fmt: skip


def sign(meaning: Meaning | None) -> str:
    """Return the sign of a meaning as it stands before a text; nothing where there is nothing to say."""
    return f"{SIGNS[meaning]}\u00a0" if meaning in SIGNS else ""


@dataclass(frozen=True, slots=True)
class Name:
    """A name from a user's data: shown by itself, shortened where it is long, never obeyed."""

    text: str


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it is shown, and where it stands in the JSON: which list, which place in it, and which field."""

    text: str
    index: int
    field: str = "value"
    source: str = "records"


Piece = str | Name | Number
Text = str | Name | Number | tuple[Piece, ...]


def pieces(text: Text) -> tuple[Piece, ...]:
    """Return a text as its pieces."""
    return text if isinstance(text, tuple) else (text,)


def plain(text: Text) -> str:
    """Return a text as the characters it stands for, not yet safe for any medium."""
    return "".join(piece if isinstance(piece, str) else piece.text for piece in pieces(text))


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table: its text, smaller lines below it, a bar for a share, and what it means."""

    text: Text = ""
    below: tuple[Text, ...] = ()
    bar: float | None = None
    meaning: Meaning | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading, and whether it holds numbers (right-aligned, never broken). A hint stands below it.

    Where a medium is too narrow the last columns are left out, and named; those that are ``always_shown`` stay.
    """

    title: Text
    number: bool = False
    hint: str = ""
    always_shown: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table; the first cell is its heading. ``emphasis`` marks the row for everyone."""

    cells: tuple[Cell, ...]
    emphasis: bool = False


@dataclass(frozen=True)
class DataTable:
    """A table. ``total`` counts all rows where only some are held here, ``chosen`` says which, ``what`` they are.

    The row for everyone is not counted.
    """

    caption: Text
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    total: int | None = None
    what: str = "rows"
    chosen: str = ""

    @property
    def shown_rows(self) -> int:
        """How many rows are shown here."""
        return sum(not row.emphasis for row in self.rows)

    @property
    def every(self) -> int:
        """How many rows there are."""
        return self.shown_rows if self.total is None else self.total

    @property
    def left_out(self) -> str:
        """Which rows are held, where some are left out: those that were chosen, or the first ones."""
        if self.every <= self.shown_rows:
            return ""
        first, which = ("", f" {self.chosen}") if self.chosen else ("first ", "")
        return f"The {first}{self.shown_rows:,} of {self.every:,} {self.what}{which}; all of them are in the JSON."

    def first(self, most: int) -> DataTable:
        """Return the table with so many rows at most, the row for everyone and the number of all rows kept."""
        rows = [row for row in self.rows if not row.emphasis][:most]
        return replace(self, rows=(*(row for row in self.rows if row.emphasis), *rows), total=self.every)


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of words."""

    text: Text


@dataclass(frozen=True)
class Heading:
    """A heading within a section."""

    text: Text


@dataclass(frozen=True)
class Bullets:
    """A list of sentences. A medium shows the first of many and counts the others."""

    items: tuple[Text, ...]


@dataclass(frozen=True)
class Terms:
    """Terms with their explanations."""

    items: tuple[tuple[Text, Text], ...]


@dataclass(frozen=True)
class ChartBlock:
    """Charts by their names among the charts of the result; those that were not drawn are left out."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Code:
    """Lines to be typed."""

    text: str


@dataclass(frozen=True)
class Picture:
    """A small picture: an address that holds it (``data:image/png;base64,...``), its description, words below it."""

    address: str
    alt: str
    below: tuple[Text, ...] = ()
    bar: float | None = None
    meaning: Meaning | None = None


@dataclass(frozen=True)
class Images:
    """Pictures in a grid, such as strips along a direction: a heading for each row. ``sharp`` keeps large pixels."""

    caption: Text
    columns: tuple[Text, ...]
    rows: tuple[tuple[Text, tuple[Picture | None, ...]], ...]
    sharp: bool = False


@dataclass(frozen=True)
class Blank:
    """A line for a reader to write on, with its label; ``letters`` says how long an answer is."""

    id: str
    label: Text
    letters: int = 60


@dataclass(frozen=True)
class Blanks:
    """Lines to write on, side by side, on the screen or on paper; nothing that is written there is kept."""

    items: tuple[Blank, ...]


@dataclass(frozen=True)
class Details:
    """Blocks that are folded away below one line, and left out in the terminal."""

    summary: Text
    blocks: tuple[Block, ...]


Block = Paragraph | Heading | Bullets | Terms | DataTable | ChartBlock | Code | Images | Blanks | Details


@dataclass(frozen=True)
class Section:
    """A part of a report. What is not essential is folded on a page, and left out in the terminal.

    ``short`` names it in the contents.
    """

    id: str
    title: Text
    blocks: tuple[Block, ...]
    intro: Text = ""
    short: str = ""
    essential: bool = False


@dataclass(frozen=True, slots=True)
class Tile:
    """One number of the first screen: what it is, the number, and what it means."""

    label: str
    value: str
    meaning: Meaning | None = None
    below: Text = ""


@dataclass(frozen=True)
class Statements:
    """Sentences about one subject (an attribute, a technique); no title where they are about everything."""

    title: Text
    items: tuple[Text, ...]


@dataclass(frozen=True)
class Provenance:
    """Where the numbers come from: the command that makes them again (or the Python call), versions and settings."""

    command: str | None
    call: str
    facts: tuple[tuple[str, str], ...]
    created: str = ""
    version: str = ""


@dataclass(frozen=True)
class Document:
    """Everything a person reads about one result.

    ``answer`` is one plain sentence from the largest confirmed finding, or says first that nothing is confirmed;
    ``meaning`` colours it, ``context`` is a sentence that helps to read it. ``lead`` are the other confirmed findings,
    ``picture`` the name of the chart that shows the answer, or pictures that do, ``tiles`` three or four numbers,
    ``inconclusive`` what is not known and why, ``next_steps`` what a reader can do, ``caution`` what no number says.
    """

    title: Text
    facts: Text
    answer: Text
    provenance: Provenance
    meaning: Meaning | None = None
    context: Text = ""
    lead: tuple[Statements, ...] = ()
    picture: str | Images | None = None
    tiles: tuple[Tile, ...] = ()
    inconclusive: tuple[Statements, ...] = ()
    next_steps: tuple[Text, ...] = ()
    caution: Text = ""
    sections: tuple[Section, ...] = ()
    notes: tuple[Text, ...] = field(default=())

    @property
    def steps(self) -> tuple[Statements, ...]:
        """The next steps as statements about everything."""
        return (Statements("", self.next_steps),) if self.next_steps else ()

    @property
    def all_notes(self) -> tuple[Text, ...]:
        """The notes, and what the signs mean that stand in the tiles and tables."""
        cells = (cell for section in self.sections for cell in _cells(section.blocks))
        meanings = {tile.meaning for tile in self.tiles} | {cell.meaning for cell in cells}
        signs = [f"{SIGNS[meaning]} {words}" for meaning, words in LEGEND.items() if meaning in meanings]
        return (*self.notes, f"Signs: {'; '.join(signs)}.") if signs else self.notes

    def chart_names(self) -> Iterator[str]:
        """Yield the charts in the order in which the document shows them."""
        if isinstance(self.picture, str):
            yield self.picture
        for section in self.sections:
            yield from _chart_names(section.blocks)


def _chart_names(blocks: Sequence[Block]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, ChartBlock):
            yield from block.names
        elif isinstance(block, Details):
            yield from _chart_names(block.blocks)


def _cells(blocks: Sequence[Block]) -> Iterator[Cell]:
    for block in blocks:
        if isinstance(block, DataTable):
            yield from (cell for row in block.rows for cell in row.cells)
        elif isinstance(block, Details):
            yield from _cells(block.blocks)


def sections_with_charts(document: Document, charts: Mapping[str, object]) -> Iterator[Section]:
    """Yield the sections that have something to show once charts that were not drawn are left out."""
    for section in document.sections:
        if any(not isinstance(block, ChartBlock) or any(name in charts for name in block.names)
               for block in section.blocks):  # fmt: skip
            yield section
