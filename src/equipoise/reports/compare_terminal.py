"""A comparison in the terminal: plain words, then each attribute's groups with their shares drawn, then the notes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from equipoise.audits.compare.result import ChangeRecord, CompareResult
from equipoise.foundation.text import printable
from equipoise.reports.terminal_lines import BLUE, GREY, ORANGE, bullet, more

WIDE = 100
BAR = 20
MOST_LINES = 16
MOST_GROUPS = 30
MOST_PEOPLE = 20
EIGHTHS = " ▁▂▃▄▅▆▇█"


def show(result: CompareResult, console: Console) -> None:
    """Print a comparison."""
    console.print(Group(*_parts(result, wide=console.width >= WIDE)))


def _parts(result: CompareResult, *, wide: bool) -> Iterator[RenderableType]:
    yield Rule(Text(printable(f"Comparison of {result.provenance.get('data')}")), style=GREY)
    yield from (bullet(sentence) for sentence in result.words[:MOST_LINES])
    yield more(len(result.words) - MOST_LINES)
    yield Padding(_scores(result), (1, 0, 0, 0))
    if not math.isnan(result.similarity.share_reached):
        yield Padding(_shares(result, wide=wide), (1, 0, 0, 0))
    if result.rows:
        yield Padding(_people(result), (1, 0, 0, 0))
        yield more(len(result.rows) - MOST_PEOPLE)
    yield Text("\nNotes", style="bold")
    yield from (bullet(note) for note in result.notes)


def _table(title: str, headings: Sequence[str], right: Sequence[str]) -> Table:
    heading = Text(printable(title), style="bold")
    table = Table(title=heading, title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in headings:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    return table


def _scores(result: CompareResult) -> Table:
    """A line a group: how its scores lie, as a small histogram from the lowest score to the highest."""
    numbers = ("people", "mean", "median")
    table = _table("Scores (PNKA; low is much changed)", ("group", *numbers, "from low to high"), numbers)
    drawn = {(one.attribute, one.group): one.counts for one in result.histograms}
    for record in result.records[:MOST_GROUPS]:
        name = Text(printable(_name(record)))
        if record.people is None:
            table.add_row(name, Text("hidden", style=GREY))
            continue
        counts = drawn.get((record.attribute, record.group), ())
        table.add_row(name, f"{record.people:,}", _number(record.mean), _number(record.median), _hills(counts))
    table.caption = "more groups are in --json" if len(result.records) > MOST_GROUPS else None
    return table


def _name(record: ChangeRecord) -> str:
    return "everyone" if record.attribute is None else f"{record.attribute}: {record.group}"


def _hills(counts: Sequence[int | None]) -> Text:
    """Draw a histogram as a line of blocks, two bins a block; what is hidden counts as nothing."""
    pairs = [(counts[at] or 0) + (counts[at + 1] or 0) for at in range(0, len(counts) - 1, 2)]
    most = max(pairs, default=0)
    if not most:
        return Text("")
    return Text("".join(EIGHTHS[math.ceil(8 * count / most)] for count in pairs), style=BLUE)


def _shares(result: CompareResult, *, wide: bool) -> Table:
    """A line a group: its share among the most changed as a bar, with its share of everyone marked."""
    reached = 100 * result.similarity.share_reached
    title = f"The {reached:.3g} % most changed" + (": █ share among them, | share of the population" * wide)
    numbers = ("among them", "population", "points", "times", "p")
    table = _table(title, ("group", *(("",) * wide), *numbers, "verdict"), numbers)
    own = [record for record in result.records if record.attribute is not None]
    for record in own[:MOST_GROUPS]:
        name = Text(printable(_name(record)))
        if math.isnan(record.share_changed):
            table.add_row(name, *([""] * wide), Text("hidden" if record.people is None else "undefined", style=GREY))
            continue
        table.add_row(
            name,
            *([_bar(record.share_changed, record.share_population)] * wide),
            f"{100 * record.share_changed:.1f} %",
            f"{100 * record.share_population:.1f} %",
            f"{100 * record.difference:+.1f}",
            _number(record.lift, ".2f"),
            Text("") if record.p_adjusted is None else _number(record.p_adjusted, ".2g"),
            _verdict(record),
        )
    return table


def _bar(share: float, population: float) -> Text:
    filled, mark = round(BAR * share), min(round(BAR * population), BAR - 1)
    bar = Text("█" * filled + " " * (BAR - filled), style=BLUE)
    return bar[:mark] + Text("|", style=ORANGE) + bar[mark + 1 :]


def _verdict(record: ChangeRecord) -> Text:
    if record.finding is None:
        return Text("not tested", style=GREY)
    if not record.finding:
        return Text("no difference shown")
    more = record.difference > 0
    return Text("more common" if more else "less common", style=f"bold {ORANGE if more else BLUE}")


def _number(value: float | None, form: str = ".3f") -> Text:
    if value is None or math.isnan(value):
        return Text("undefined", style=GREY)
    return Text(format(value, form))


def _people(result: CompareResult) -> Table:
    table = _table("The most changed, one by one", ("row", "id", "score", *result.attributes), ("row", "score"))
    for one in result.rows[:MOST_PEOPLE]:
        names = (Text(printable(text)) for text in ("" if one.id is None else one.id, *one.groups))
        name, *groups = names
        table.add_row(f"{one.row:,}", name, f"{one.score:.3f}", *groups)
    return table
