"""What changed, in the terminal: the words, then each group's rates before and after, then the differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from equipoise.audits.change.result import Change
from equipoise.audits.change.words import say_changes, signed_points
from equipoise.audits.result import AuditResult
from equipoise.foundation.text import printable
from equipoise.reports.measure_words import reading_order, short_title_of
from equipoise.reports.terminal_lines import GREY, bullet, left_out, more
from equipoise.results import Status

MOST_LINES = 12
MOST_ROWS = 40


def change_parts(result: AuditResult, console: Console) -> Iterator[RenderableType]:
    """Yield what is printed about changes; nothing where none was asked for."""
    if not result.changes:
        return
    design = "the same rows judged twice" if result.changes[0].design == "paired" else "two samples of people"
    yield Text(f"What changed ({design})", style="bold")
    words = list(say_changes(result.changes))
    yield from (bullet(line) for line in words[:MOST_LINES])
    yield more(len(words) - MOST_LINES)
    for kind, title, cell in (
        ("rate", "Before → after in % (* a change beyond chance)", _before_after),
        ("contrast", "Change of differences to others, in points (* beyond chance)", _moved),
    ):
        own = [change for change in result.changes if change.kind == kind]
        if own:
            yield Padding(_fitting(own, title, cell, console), (1, 0, 0, 0))
    yield Text("")


def _fitting(changes: Sequence[Change], title: str, cell: Callable[[Change | None], Text], console: Console) -> Table:
    """Return the table with as many measures as the terminal has room for."""
    measures = sorted({change.measure for change in changes}, key=reading_order)
    unlimited = console.options.update(width=10_000)
    for number in range(len(measures), 0, -1):
        table = _table(changes, measures[:number], title, cell)
        if number < len(measures):
            table.caption = left_out([short_title_of(measure) for measure in measures[number:]], table.caption)
        if Measurement.get(console, unlimited, table).maximum <= console.width:
            break
    return table


def _table(
    changes: Sequence[Change], measures: Sequence[str], title: str, cell: Callable[[Change | None], Text]
) -> Table:
    heading = Text(title, style="bold")
    table = Table(title=heading, title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("group", overflow="fold", min_width=8)
    for measure in measures:
        table.add_column(short_title_of(measure), justify="right", no_wrap=True)
    lines: dict[str, dict[str, Change]] = {}
    for change in changes:
        if change.measure in measures:
            lines.setdefault(_line(change), {})[change.measure] = change
    for name, own in list(lines.items())[:MOST_ROWS]:
        table.add_row(Text(printable(name)), *(cell(own.get(measure)) for measure in measures))
    if len(lines) > MOST_ROWS:
        table.caption = f"and {len(lines) - MOST_ROWS:,} more lines (all are in --json)"
    return table


def _line(change: Change) -> str:
    """Name a line: the attribute, the split, a class where there are several, and the group."""
    who = "everyone" if change.group is None else f"{' & '.join(change.attribute)}: {change.group}"
    parts = [*([] if change.split is None else [change.split]), who]
    parts += [f"({change.class_})"] if change.scope == "class" else []
    return " ".join(parts)


def _before_after(change: Change | None) -> Text:
    if change is None:
        return Text("")
    before, after = (f"{100 * value:.1f}" if value == value else "?" for value in (change.before, change.after))
    if change.status == Status.TOO_SMALL and before == "?":
        return Text("hidden", style=GREY)
    return Text(
        f"{before} → {after}{' *' if change.finding else '  '}", style="" if change.status == Status.OK else GREY
    )


def _moved(change: Change | None) -> Text:
    if change is None:
        return Text("")
    if change.change != change.change:
        return Text(change.status, style=GREY)
    mark = " *" if change.finding else "  "
    return Text(f"{signed_points(change.change)}{mark}", style="" if change.status == Status.OK else GREY)
