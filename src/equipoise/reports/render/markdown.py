"""A document as Markdown that renders well where GitHub shows it: as a job summary, in an issue, in a repository.

The first screen and the essential tables are open, everything else is folded. Charts are left to the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from equipoise.reports._document import (
    NOT_CERTIFIED,
    Blanks,
    Block,
    Bullets,
    Cell,
    Code,
    DataTable,
    Details,
    Document,
    Heading,
    Name,
    Paragraph,
    Piece,
    Row,
    Section,
    Statements,
    Terms,
    Text,
    pieces,
    plain,
    sign,
)
from equipoise.reports._formats import safe_name, safe_text

# A job summary may have one megabyte: so many rows of a table, and so many lines of a list.
MOST_ROWS = 60
MOST_LINES = 40
LONGEST_LINE = 600
# What means something to Markdown anywhere in a line, and what only where a line begins.
SPECIAL = re.compile(r"([\\`*_\[\]|~$])")
BEGINS = re.compile(r"^(\s*)([#+>=-]|\d+(?=[.)]\s))")
# Words that GitHub would turn into links or notify somebody by: a mention, an address.
LINKS = re.compile(r"@(?=\w)|(?<=\w)(?=://)|(?i:www)(?=\.)|#(?=\d)")


def markdown(document: Document) -> str:
    """Return a document as Markdown."""
    return "\n".join(_lines(document)) + "\n"


def _lines(document: Document) -> Iterator[str]:
    yield f"# {text(document.title)}"
    yield ""
    yield f"**{text(document.answer)}**"
    yield ""
    if document.context:
        yield text(document.context)
        yield ""
    yield text(document.facts)
    yield ""
    if document.tiles:
        yield f"| {' | '.join(escaped(tile.label) for tile in document.tiles)} |"
        yield f"|{' :-- |' * len(document.tiles)}"
        values = (f"{sign(tile.meaning)}**{escaped(tile.value)}**"
                  for tile in document.tiles)  # fmt: skip
        yield f"| {' | '.join(values)} |"
        yield ""
    yield from _statements(document.lead, "Confirmed")
    yield from _statements(document.inconclusive, "Inconclusive, and why")
    yield from _statements(document.steps, "What to do next")
    for section in document.sections:
        yield from _section(section)
    if document.all_notes:
        yield from _folded("Notes", _bullets(document.all_notes))
    yield from _folded("Where these numbers come from", _provenance(document))
    yield text(document.caution) if document.caution else NOT_CERTIFIED
    yield ""


def _statements(about: Sequence[Statements], title: str) -> Iterator[str]:
    if not about:
        return
    yield f"### {title}"
    yield ""
    lines = []
    for statements in about:
        head = f"**{text(statements.title)}**: " if statements.title else ""
        lines += [head + text(item) for item in statements.items]
    yield from _limited([f"- {line}" for line in lines])


def _section(section: Section) -> Iterator[str]:
    lines = list(_blocks(section.blocks))
    if not lines:
        return
    intro = [text(section.intro), ""] if section.intro else []
    if section.essential:
        yield f"## {text(section.title)}"
        yield ""
        yield from (*intro, *lines)
    else:
        yield from _folded(text(section.title), [*intro, *lines])


def _folded(summary: str, lines: Iterator[str] | Sequence[str]) -> Iterator[str]:
    yield f"<details><summary>{summary}</summary>"
    yield ""
    yield from lines
    yield "</details>"
    yield ""


def _blocks(blocks: Sequence[Block]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Paragraph):
            yield from (text(block.text), "")
        elif isinstance(block, Heading):
            yield from (f"### {text(block.text)}", "")
        elif isinstance(block, Bullets):
            yield from _bullets(block.items)
        elif isinstance(block, Terms):
            yield from _limited([f"- **{text(term)}**: {text(meaning)}" for term, meaning in block.items])
        elif isinstance(block, Code):
            yield from (code(block.text), "")
        elif isinstance(block, DataTable):
            yield from _table(block)
        elif isinstance(block, Blanks):
            yield from (" ".join(f"{text(blank.label)} \\_\\_\\_\\_" for blank in block.items), "")
        elif isinstance(block, Details):
            lines = list(_blocks(block.blocks))
            if lines:
                yield from _folded(text(block.summary), lines)


def _bullets(items: Sequence[Text]) -> Iterator[str]:
    yield from _limited([f"- {text(item)}" for item in items])


def _limited(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:MOST_LINES]
    if len(lines) > MOST_LINES:
        yield f"- and {len(lines) - MOST_LINES:,} more (all are in the JSON)"
    yield ""


def _table(full_table: DataTable) -> Iterator[str]:
    table = full_table.first(MOST_ROWS)
    yield f"**{text(table.caption)}**"
    yield ""
    yield f"| {' | '.join(text(column.title) or ' ' for column in table.columns)} |"
    yield "|" + "".join(" --: |" if column.number else " :-- |" for column in table.columns)
    yield from map(_row, table.rows)
    yield ""
    if table.left_out:
        yield from (escaped(table.left_out), "")


def _row(row: Row) -> str:
    cells = [_cell(cell) for cell in row.cells]
    if row.emphasis:
        cells[0] = f"**{cells[0]}**"
    return f"| {' | '.join(cells)} |"


def _cell(cell: Cell) -> str:
    content = sign(cell.meaning) + text(cell.text)
    below = [text(line) for line in cell.below if plain(line)]
    return f"{content}<br><sub>{'<br>'.join(below)}</sub>" if below else content


def _provenance(document: Document) -> Iterator[str]:
    provenance = document.provenance
    if provenance.command:
        yield from ("This command makes them again:", "", code(provenance.command), "")
    else:
        yield from (f"They were made from Python, with {code(provenance.call)} and the settings below.", "")
    yield from (f"- {escaped(name)}: {escaped(value)}" for name, value in provenance.facts)
    yield ""


def text(value: Text) -> str:
    """Return a text in which nothing means anything to Markdown or HTML."""
    return "".join(map(_piece, pieces(value)))


def _piece(piece: Piece) -> str:
    if isinstance(piece, Name):
        return escaped(safe_name(piece.text))
    return escaped(plain(piece))


def escaped(value: str) -> str:
    """Escape what Markdown, HTML or GitHub would act upon; characters that drive a terminal become codes."""
    cut = safe_name(value, LONGEST_LINE) if value.strip() else value
    harmless = cut.replace("&", "&amp;").replace("<", "&lt;")
    harmless = BEGINS.sub(r"\1\\\2", SPECIAL.sub(r"\\\1", harmless))
    return LINKS.sub(lambda address: f"{address[0]}<!-- -->", harmless)


def code(value: str) -> str:
    """Return a text as code: its fence is longer than any run of backticks in it."""
    safe = safe_text(value)
    longest = max((len(run) for run in re.findall("`+", safe)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {safe} {fence}" if longest else f"`{safe}`"
