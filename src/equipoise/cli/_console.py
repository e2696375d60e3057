"""What a command shows while it works, and how it ends after Ctrl-C."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from equipoise.foundation.errors import EquipoiseError
from equipoise.foundation.files import written_files
from equipoise.foundation.long_work import ProgressTracker, interrupt_received

if TYPE_CHECKING:
    from rich.console import Console

# A bar appears once work has taken this many seconds, and is drawn again this often.
PATIENCE = 2.0
EVERY = 0.2
# A log, where no terminal is there for a bar, gets a line this often.
LOG_EVERY = 30.0
INTERRUPTED = 130


@contextmanager
def show_progress(stage: str, *, quiet: bool, measure: Callable[[], float] | None = None) -> Iterator[ProgressTracker]:
    """Show how far work is, with the time left: a bar in a terminal, otherwise a line on standard error at times."""
    from rich.console import Console

    tracker = ProgressTracker(stage, measure=measure)
    if quiet:
        yield tracker
        return
    console = Console(stderr=True)
    ended = threading.Event()
    show = _show_bar if console.is_terminal else _log
    watcher = threading.Thread(target=show, args=(tracker, console, ended), daemon=True)
    watcher.start()
    try:
        yield tracker
    finally:
        ended.set()
        watcher.join()


def query_share() -> float:
    """Return how much of the running query is done, from 0 to 1."""
    from equipoise.cohorts.readers import engine_progress

    return engine_progress() / 100


def _log(tracker: ProgressTracker, console: Console, ended: threading.Event) -> None:
    while not ended.wait(LOG_EVERY):
        console.print(tracker.line, highlight=False, markup=False)


def _show_bar(tracker: ProgressTracker, console: Console, ended: threading.Event) -> None:
    if ended.wait(PATIENCE):
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.percentage:>3.0f}%"),
               TimeElapsedColumn(), TextColumn("{task.fields[time_left]}", markup=False))  # fmt: skip
    with Progress(*columns, console=console, transient=True) as bars:
        bar = bars.add_task(tracker.stage, total=1.0, time_left="")
        while not ended.is_set():
            bars.update(bar, description=tracker.stage, completed=tracker.done, time_left=tracker.time_left)
            time.sleep(EVERY)


class Interrupted(EquipoiseError):
    """Ctrl-C, told apart from the errors of the command line itself."""


class Ended(SystemExit):
    """The end of the program after a message that said why."""


def interrupted(more: str = "") -> Interrupted:
    """Say that the program was interrupted, and which files it has written whole."""
    files = written_files()
    kept = f"written: {', '.join(map(str, files))}" if files else more or "nothing was written"
    return Interrupted(f"interrupted; {kept}{f'; {more}' if files and more else ''}")


def interruptible(command: Callable[..., None], more: str = "") -> Callable[..., None]:
    """Let Ctrl-C end a command, whatever error it was turned into on its way up, or if nothing came up at all."""

    @functools.wraps(command)
    def run(*given: Any, **named: Any) -> None:
        try:
            command(*given, **named)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) or interrupt_received():
                raise interrupted(more) from None
            raise
        if interrupt_received():
            raise interrupted(more)

    return run
