"""A reproduction in the terminal: finding by finding, the paper's words and ours, then Table 4 of both."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from equipoise.foundation.text import printable
from equipoise.reports.terminal_lines import BLUE, GREY, ORANGE, bullet
from equipoise.studies.findings.identical.claim import Claim
from equipoise.studies.findings.identical.reproduction import Reproduction, verdict_words

SIGNS = {
    "holds": ("●", BLUE), "in part": ("◐", BLUE), "does not hold": ("○", ORANGE), "cannot be told": ("?", GREY),
    "inconclusive": ("?", GREY),
}  # fmt: skip


def show(result: Reproduction, console: Console) -> None:
    """Print a reproduction."""
    console.print(Group(*_parts(result)))


def _parts(result: Reproduction) -> Iterator[RenderableType]:
    yield Rule(Text(printable(f"Paper {result.paper} beside the study of {result.study}")), style=GREY)
    for claim in result.records:
        yield from _claim(claim)
    yield Padding(_table(result), (1, 0, 0, 0))
    yield Text("\nNotes", style="bold")
    yield from (bullet(note) for note in result.notes)


def _claim(claim: Claim) -> Iterator[RenderableType]:
    sign, colour = SIGNS[claim.holds]
    yield Text(f"{sign} Finding {claim.finding}: ", style=f"bold {colour}") + Text(verdict_words(claim), style=colour)
    yield Padding(Text(printable(f"paper: {claim.claim}"), style=GREY), (0, 0, 0, 4))
    yield Padding(Text(printable(f"here:  {claim.here}")), (0, 0, 0, 4))


def _table(result: Reproduction) -> Table:
    title = "Table 4: disparate impact over identical runs, percentage points (paper / here)"
    table = Table(title=Text(title, style="bold"), title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("technique")
    table.add_column("treatment here", overflow="fold")
    for heading in ("MaxDiff", "STDEV", "class MaxDiff", "class STDEV"):
        table.add_column(heading, justify="right")
    for one in result.techniques:
        both = [
            (getattr(one, f"paper_{name}"), getattr(one, name))
            for name in ("maxdiff", "stdev", "class_maxdiff", "class_stdev")
        ]
        table.add_row(one.technique, Text(one.treatment), *(f"{_points(p)} / {_points(here)}" for p, here in both))
    return table


def _points(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"
