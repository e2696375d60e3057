"""A document in the terminal: the answer, what else is confirmed, what is not, and the essential tables.

Sections that are not essential, folded details and charts are left to the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text as Rich

from equipoise.foundation import (
    listing,
    printable,
)
from equipoise.reports._document import (
    Block,
    Bullets,
    Cell,
    Code,
    DataTable,
    Document,
    Heading,
    Meaning,
    Name,
    Paragraph,
    Statements,
    Terms,
    Text,
    pieces,
    plain,
    sign,
)
from equipoise.reports._formats import safe_name

GREY = "grey50"
# So many sentences, rows of one table and rows in all; each table has at least a few.
MOST_LINES = 16
MOST_ROWS, MOST_ROWS_IN_ALL, LEAST_ROWS = 40, 160, 12
BAR = 12
STYLES = {
    Meaning.BETTER: "bold #3b7dd8", Meaning.WORSE: "bold #c8641b", Meaning.NEUTRAL: "bold", Meaning.QUIET: GREY,
}  # fmt: skip


def show(document: Document, console: Console) -> None:
    """Print a document."""
    console.print(Group(*_parts(document, console)))


def _parts(document: Document, console: Console) -> Iterator[RenderableType]:
    yield Rule(rich_text(document.title), style=GREY)
    yield Rich.assemble((printable(plain(document.facts)), GREY))
    yield Padding(Rich(printable(plain(document.answer)), style="bold"), (1, 0, 1, 0))
    if document.context:
        yield Padding(rich_text(document.context), (0, 0, 1, 0))
    if document.tiles:
        yield _tiles(document)
    yield from _statements(document.lead, "Confirmed")
    yield from _statements(document.inconclusive, "Inconclusive, and why")
    yield from _statements(document.steps, "What to do next")
    sections = [section for section in document.sections if section.essential]
    tables = sum(isinstance(block, DataTable) for section in sections for block in section.blocks)
    most = min(MOST_ROWS, max(MOST_ROWS_IN_ALL // max(tables, 1), LEAST_ROWS))
    for section in sections:
        parts = list(_blocks(section.blocks, console, most))
        if parts:
            yield Rich("\n" + printable(plain(section.title)), style="bold")
            yield from parts
    yield Rich("\nNotes", style="bold")
    notes = [*document.all_notes, *([document.caution] if document.caution else [])]
    yield from _bullets(notes)


def _tiles(document: Document) -> RenderableType:
    line = Rich("   ").join(
        Rich.assemble(
            (f"{tile.label} ", GREY),
            (sign(tile.meaning) + tile.value, STYLES[tile.meaning] if tile.meaning else "bold"),
        )
        for tile in document.tiles
    )
    return Padding(line, (0, 0, 0, 1))


def _statements(about: Sequence[Statements], title: str) -> Iterator[RenderableType]:
    if not about:
        return
    yield Rich(f"\n{title}", style="bold")
    room = MOST_LINES
    for statements in about:
        items = statements.items[: max(room, 0)]
        if items and statements.title:
            yield Padding(rich_text(statements.title), (0, 0, 0, 1))
        yield from _bullets(items)
        room -= len(statements.items)
    if room < 0:
        yield _more(-room)


def _bullets(lines: Sequence[Text]) -> Iterator[RenderableType]:
    for line in lines[:MOST_LINES]:
        yield Padding(Rich.assemble("• ", rich_text(line)), (0, 0, 0, 1))
    if len(lines) > MOST_LINES:
        yield _more(len(lines) - MOST_LINES)


def _more(rest: int) -> Rich:
    return Rich(f"   and {rest:,} more (all are in --json)", style=GREY)


def _blocks(blocks: Sequence[Block], console: Console, most: int) -> Iterator[RenderableType]:
    for block in blocks:
        if isinstance(block, Paragraph):
            yield rich_text(block.text)
        elif isinstance(block, Heading):
            yield Rich("\n" + printable(plain(block.text)), style="bold")
        elif isinstance(block, Bullets):
            yield from _bullets(block.items)
        elif isinstance(block, Terms):
            yield from _bullets([(*pieces(term), ": ", *pieces(meaning)) for term, meaning in block.items])
        elif isinstance(block, Code):
            yield Padding(Rich(printable(block.text)), (0, 0, 0, 2))
        elif isinstance(block, DataTable):
            yield Padding(_fitting(block.first(most), console), (1, 0, 0, 0))


def rich_text(text: Text) -> Rich:
    """Return a text for the terminal: control and direction characters as codes, long names shortened."""
    return Rich("").join(
        Rich(printable(safe_name(piece.text) if isinstance(piece, Name) else plain(piece))) for piece in pieces(text)
    )


def _fitting(table: DataTable, console: Console) -> Table:
    """Return the table with as many columns as the terminal has room for; those left out are named."""
    unlimited = console.options.update(width=10_000)
    columns = list(range(len(table.columns)))
    removable = [column_index for column_index in columns[2:] if not table.columns[column_index].always_shown]
    while True:
        rendered = _table(table, columns)
        if not removable or Measurement.get(console, unlimited, rendered).maximum <= console.width:
            return rendered
        columns.remove(removable.pop())


def _table(table: DataTable, columns: Sequence[int]) -> Table:
    rendered = Table(
        title=Rich(printable(plain(table.caption)), style="bold"), title_justify="left", caption_justify="left",
        box=None, pad_edge=False, padding=(0, 2, 0, 0),
    )  # fmt: skip
    for column_index in columns:
        column = table.columns[column_index]
        fold = not column.number and (column_index == 0 or column_index == columns[-1])
        rendered.add_column(
            rich_text(column.title), justify="right" if column.number else "left", no_wrap=not fold,
            overflow="fold", min_width=8 if column_index == 0 else None,
        )  # fmt: skip
    for row in table.rows:
        rendered.add_row(
            *(_cell(row.cells[column_index], row.cells[0] is row.cells[column_index]) for column_index in columns)
        )
    rendered.caption = _caption(table, columns)
    return rendered


def _caption(table: DataTable, columns: Sequence[int]) -> str | None:
    rest = table.every - table.shown_rows
    notes = []
    if rest > 0:
        which = f"those {table.chosen}, and " if table.chosen else "and "
        noun = table.what if rest != 1 else table.what.removesuffix("s")
        notes.append(f"{which}{rest:,} more {noun} (all are in --json)")
    hidden = [plain(column.title) for index, column in enumerate(table.columns) if index not in columns]
    if hidden:
        notes.append(f"Too narrow for {listing(map(printable, hidden))}: widen the terminal, or see --html or --json.")
    return ". ".join(notes) or None


def _cell(cell: Cell, heading: bool) -> Rich:
    text = Rich("")
    if cell.bar is not None:
        filled = round(min(max(cell.bar, 0.0), 1.0) * BAR)
        text += Rich.assemble(("█" * filled, "#3b7dd8"), ("·" * (BAR - filled), GREY), " ")
    style = STYLES[cell.meaning] if cell.meaning is not None else ""
    content = rich_text(cell.text)
    content.stylize(style)
    text += Rich(sign(cell.meaning), style=style) + content
    if cell.below and plain(cell.below[0]):
        first = rich_text(cell.below[0])
        first.stylize(GREY)
        text += Rich(", " if heading else "  ", style=GREY) + first
    return text
