"""An investigation in the terminal: the answer in plain words, then a line a direction, a baseline and a known one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from equipoise.discovery.investigation import Investigation, KnownChange, Shown
from equipoise.foundation.text import printable
from equipoise.reports.discovery_words import CAUTIONS, headline, sentences
from equipoise.reports.formats import UNDEFINED, safe_name
from equipoise.reports.terminal_lines import GREY, bullet

NUMBERS = ("way of p", "against chance", "rank", "steady")


def show(investigation: Investigation, console: Console) -> None:
    """Print an investigation."""
    console.print(Group(*_parts(investigation)))


def _parts(made: Investigation) -> Iterator[RenderableType]:
    yield Rule(Text(printable(f"What {made.classifier} reacts to, on pictures of {made.generator}")), style=GREY)
    yield Text(printable(headline(made)), style="bold")
    yield from (bullet(sentence) for sentence in sentences(made))
    if made.directions:
        yield Padding(_directions(made), (1, 0, 0, 0))
    if made.methods:
        yield Padding(_methods(made.methods), (1, 0, 0, 0))
    if made.known:
        yield Padding(_known(made.known), (1, 0, 0, 0))
    yield Text("\nNotes", style="bold")
    yield from (bullet(note) for note in (*_reading(made), *made.notes, *_cautions(made)))


def _reading(made: Investigation) -> list[str]:
    """Say what the columns are."""
    told = []
    if made.directions:
        told.append(
            f"The way of p is how far the probability goes along a traversal, ups and downs added up, on "
            f"{made.judging.latents} fresh latents, with its {made.judging.level:.0%} interval; against chance: its "
            f"total variation, in medians of {made.judging.nulls} random directions at right angles to what is known; "
            "rank: its place among them."
        )
    if made.known:
        told.append(
            "Change: p at the upper end less p at the lower end; flips: the share of latents that cross 0.5. What the "
            "generator changes along with an attribute is counted with it."
        )
    return told


def _cautions(made: Investigation) -> tuple[str, ...]:
    """Leave out what is said of searches where there was none."""
    return CAUTIONS if made.verdict is not None else (CAUTIONS[1], CAUTIONS[3])


def _directions(made: Investigation) -> Table:
    named = made.directions[0].judged.cosines
    table = _table("Directions: what stands first, then by total variation")
    nearest = ("cosine to the target",) * (made.target in named) + ("nearest known",) * (
        len(named) > (made.target in named)
    )
    _headings(table, ("rank", "direction"), (*NUMBERS, *nearest), ("verdict",))
    for rank, one in enumerate(made.directions, start=1):
        cosines = dict(one.judged.cosines)
        cells = [str(rank), safe_name(one.judged.name, 30), *_numbers(one)]
        if made.target in cosines:
            cells.append(_cosine(cosines.pop(str(made.target))))
        if cosines:
            most = max(cosines, key=lambda name: abs(cosines[name]))
            cells.append(f"{_cosine(cosines[most])} ({safe_name(most, 20)})")
        _row(table, [*cells, one.judged.verdict])
    return table


def _methods(methods: Sequence[Shown]) -> Table:
    table = _table("What it is compared with: of each baseline the direction that the classifier reacts to most")
    _headings(table, ("method", "direction"), NUMBERS)
    for one in methods:
        _row(table, [one.method, safe_name(one.judged.name, 30), *_numbers(one)])
    return table


def _known(known: Sequence[KnownChange]) -> Table:
    table = _table("Along attributes that have a name")
    _headings(table, ("attribute",), ("change of p", "total variation", "flips"))
    for one in known:
        parts = (one.change, one.variation, one.flips)
        _row(
            table, [safe_name(one.name, 40), *(f"{value:.3f} ({low:.3f} to {high:.3f})" for value, low, high in parts)]
        )
    return table


def _numbers(one: Shown) -> list[str]:
    judged = one.judged
    if judged.way != judged.way:
        return [UNDEFINED] * len(NUMBERS)
    chance = f"{judged.variation / judged.chance:.1f} times" if judged.chance > 0 else UNDEFINED
    steady = f"{judged.steadiness:.0%}" if judged.steadiness == judged.steadiness else UNDEFINED
    rank = judged.rank_among_random
    place = UNDEFINED if rank is None else f"{rank:,} of {judged.random_directions + 1:,}"
    way = f"{judged.way:.2f} ({judged.way_low:.2f} to {judged.way_high:.2f})"
    return [way, chance, place, steady]


def _cosine(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def _table(title: str) -> Table:
    return Table(title=Text(title, style="bold"), title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))


def _headings(table: Table, left: Sequence[str], right: Sequence[str], last: Sequence[str] = ()) -> None:
    for heading in (*left, *right, *last):
        table.add_column(heading, justify="right" if heading in right else "left", overflow="fold")


def _row(table: Table, cells: Sequence[str]) -> None:
    table.add_row(*(Text(printable(cell)) for cell in cells))
