"""What the commands of a study print: progress with an honest time left, states, feasibility, what was merged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from equipoise.cli._console import show_progress
from equipoise.foundation import (
    duration,
    listing,
    printable,
)
from equipoise.studies.running import Standing, Steadied

if TYPE_CHECKING:
    from equipoise.conditions import Feasibility
    from equipoise.studies import Check
    from equipoise.studies.plans import PlanChange
    from equipoise.studies.running import Merged
    from equipoise.studies.storage import Status, StoredTrial


@contextmanager
def study_progress(*, quiet: bool) -> Iterator[Callable[[Standing], None] | None]:
    """Show how far a study is, by its trials."""
    with show_progress("Preparing the trials", quiet=quiet) as tracker:

        def show(standing: Standing) -> None:
            ended = standing.done + standing.failed
            failed = f" ({standing.failed:,} failed)" if standing.failed else ""
            stage = f"{ended:,} of {standing.total:,} trials{failed}"
            tracker(stage, ended / standing.total if standing.total else 1.0, time_left=standing.words)

        yield None if quiet else Steadied(show)


def show_status(status: Status, *, cells: bool = True) -> None:
    """Print how many trials are in each state, by cell."""
    console = Console()
    if cells:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column("cell", overflow="fold")
        for heading in ("waiting", "running", "done", "failed", "a trial"):
            table.add_column(heading, justify="right")
        for cell in status.cells:
            ended = cell.done + cell.failed
            trial_duration = _each(cell.seconds / ended) if ended else "not known"
            numbers = (cell.waiting, cell.running, cell.done, cell.failed)
            table.add_row(Text(printable(cell.cell)), *(f"{number:,}" for number in numbers), trial_duration)
        console.print(table)
    parts = [f"{status.done:,} of {status.total:,} trials are done"]
    parts += [f"{status.failed:,} failed"] if status.failed else []
    parts += [f"{status.running:,} running"] if status.running else []
    parts += [f"{status.lapsed:,} of them left by a worker that stopped"] if status.lapsed else []
    console.print(f"{', '.join(parts)}; they took {duration(status.seconds)}.", highlight=False, markup=False)


def _each(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 10 else duration(seconds)


def show_failures(failed: Sequence[StoredTrial], tracebacks: Mapping[str, str] | None = None) -> None:
    """Print why trials failed, each reason once; with tracebacks by key also where the first of each failed."""
    reasons: dict[str, list[StoredTrial]] = {}
    for failure in failed:
        reasons.setdefault(failure.failure or "no reason was given", []).append(failure)
    console = Console()
    for reason, trials in reasons.items():
        where = listing(dict.fromkeys(trial.cell for trial in trials), 3)
        text = printable(f"failed {len(trials):,} times ({where}): {reason}")
        console.print(text, highlight=False, markup=False, soft_wrap=True)
        if tracebacks is not None:
            traceback = next(
                (tracebacks[trial.key] for trial in trials if trial.key in tracebacks), "no traceback was kept"
            )
            for line in traceback.splitlines():
                console.print("  " + printable(line), highlight=False, markup=False, soft_wrap=True)


def show_change(change: PlanChange | None) -> None:
    """Say on standard error that stored trials do not fit the plan, and what differs."""
    if change is not None:
        text = printable(f"warning: {change.words}")
        Console(stderr=True).print(text, highlight=False, markup=False, soft_wrap=True)


def show_check(check: Check) -> None:
    """Print what a study asks of the data and of the machine."""
    console = Console()
    for sentence in check.words:
        console.print(printable(sentence), highlight=False, markup=False, soft_wrap=True)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("condition", "rows", "repeated", "empty", "unused"):
        table.add_column(heading, overflow="fold")
    for name, feasibility in check.conditions:
        table.add_row(*(Text(printable(cell)) for cell in (name, f"{feasibility.size:,}", *_cells(feasibility))))
    console.print(table)
    reasons: dict[str, list[str]] = {}
    for name, feasibility in check.conditions:
        for word in dict.fromkeys((*feasibility.warnings, *feasibility.remarks)):
            reasons.setdefault(word, []).append(name)
    for sentence, names in reasons.items():
        console.print(
            printable(f"{listing(names, 4)}: {sentence[0].lower()}{sentence[1:]}"),
            highlight=False,
            markup=False,
            soft_wrap=True,
        )


def _cells(feasibility: Feasibility) -> tuple[str, str, str]:
    repeated = listing((f"{cell.name} x {cell.times:.1f}" for cell in feasibility.repeated), 4)
    empty, unused = (listing((cell.name for cell in cells), 4) for cells in (feasibility.empty, feasibility.unused))
    return repeated or "none", empty or "none", unused or "none"


def show_merged(merged: Merged) -> None:
    """Print what a folder brought."""
    console = Console()
    console.print(f"{len(merged.new):,} trials are new, {len(merged.existing):,} were already there.", highlight=False)
    for file, reason in merged.refused.items():
        console.print(printable(f"left out: {file}: {reason}"), highlight=False, markup=False, soft_wrap=True)
