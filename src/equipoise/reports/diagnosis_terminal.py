"""A diagnosis in the terminal: plain words, then how far apart the two runs were after some steps."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from equipoise.foundation.text import printable
from equipoise.reports.terminal_lines import GREY, bullet
from equipoise.studies.diagnosing import Diagnosis
from equipoise.training.diverging.divergence import ALL

# Steps that the table shows, spread over those that were looked at.
MOST_ROWS = 12


def show(result: Diagnosis, console: Console) -> None:
    """Print a diagnosis."""
    console.print(Group(*_parts(result)))


def _parts(result: Diagnosis) -> Iterator[RenderableType]:
    yield Rule(Text(printable(f"Two identical runs on {result.provenance.get('data')}")), style=GREY)
    yield from (bullet(sentence) for sentence in result.words)
    if result.records:
        yield Padding(_table(result), (1, 0, 0, 0))
    yield Text("\nNotes", style="bold")
    about = ", ".join(f"{name} {value}" for name, value in result.trial.items())
    yield from (bullet(note) for note in (f"The trial: {about}.", *result.notes))


def _table(result: Diagnosis) -> Table:
    """A line a step: the relative difference of what is learnt, where it is largest, and the flipped rows."""
    title = Text("Relative difference of what is learnt", style="bold")
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 1, 0, 0))
    flips = {one.step: one.share for one in result.flips}
    for heading in ("step", "all layers", "largest in", "there", *(("flipped",) * bool(flips))):
        table.add_column(heading, justify="left" if heading == "largest in" else "right", overflow="fold")
    steps = sorted({one.step for one in result.records})
    for step in _spread(steps):
        own = {one.layer: one.relative for one in result.records if one.step == step and one.relative == one.relative}
        whole = own.pop(ALL, float("nan"))
        most = max(own, key=lambda layer: own[layer], default="")
        cells = [f"{step:,}", f"{whole:.1e}", printable(most), f"{own.get(most, float('nan')):.1e}"]
        cells += [f"{100 * flips[step]:.1f} %"] if step in flips else []
        table.add_row(*map(Text, cells))
    return table


def _spread(steps: list[int]) -> list[int]:
    """Return steps from the first to the last, as many as fit."""
    if len(steps) <= MOST_ROWS:
        return steps
    places = sorted({round(place * (len(steps) - 1) / (MOST_ROWS - 1)) for place in range(MOST_ROWS)})
    return [steps[place] for place in places]
