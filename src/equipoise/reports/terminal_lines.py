"""Lines that every answer in the terminal has: a sentence with its bullet, and how much was left out."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from equipoise.foundation.errors import listing
from equipoise.foundation.text import printable

BLUE, GREY, ORANGE = "#3b7dd8", "grey50", "#c8641b"


def bullet(line: str) -> RenderableType:
    """Return a sentence of a list."""
    return Padding(Text(printable(f"• {line}")), (0, 0, 0, 1))


def more(rest: int) -> Text:
    """Say how many lines were left out; nothing where none were."""
    return Text(f"   and {rest:,} more (all are in --json)", style=GREY) if rest > 0 else Text("", end="")


def left_out(hidden: Sequence[str], caption: object = None) -> str:
    """Say which columns a narrow terminal leaves out, after what a table's caption says already."""
    told = f"Too narrow for {listing(hidden)}: widen the terminal, or see --html or --json."
    return f"{caption}. {told}" if caption else told
