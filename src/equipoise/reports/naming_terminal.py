"""Names of directions in the terminal: how far raters agree in words, then what every direction is called now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from equipoise.discovery.agreement import Agreement
from equipoise.discovery.hyperplane import Hyperplane
from equipoise.foundation.text import printable
from equipoise.reports.terminal_lines import GREY, bullet

Pair = tuple[Hyperplane, Hyperplane]


def show(planes: Sequence[Pair], found: Agreement | None, console: Console, saved: Path | None = None) -> None:
    """Print what directions were called and are called now, and what raters agreed on."""
    console.print(Group(*_parts(planes, found, saved)))


def _parts(planes: Sequence[Pair], found: Agreement | None, saved: Path | None) -> Iterator[RenderableType]:
    if found is not None:
        yield Rule(Text("Do people agree on what the directions are?"), style=GREY)
        yield from (bullet(sentence) for sentence in found.words)
    yield Padding(_table(planes, found), (1 if found is not None else 0, 0, 0, 0))
    if saved is not None:
        yield Text(printable(f"\nThe named directions: {saved}"))


def _table(planes: Sequence[Pair], found: Agreement | None) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    votes = {} if found is None else {one.direction: one for one in found.winners}
    for heading in ("was", "is now", *(("votes", "confidence") if found is not None else ())):
        table.add_column(heading, overflow="fold")
    for before, after in planes:
        cells = [before.name, after.name if after.name != before.name else "(as it was)"]
        if found is not None:
            one = votes.get(before.name)
            cells.append("not on the sheet" if one is None else f"{one.votes} of {one.raters}")
            cells.append("" if one is None or one.confidence != one.confidence else f"{one.confidence:.1f} of 5")
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table
