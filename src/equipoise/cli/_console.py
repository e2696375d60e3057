"""What a command shows while it works: progress with the time left, and how it ends after Ctrl-C."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from equipoise.foundation.errors import EquipoiseError
from equipoise.foundation.files import written_files
from equipoise.foundation.interrupts import received

if TYPE_CHECKING:
    from rich.console import Console

PATIENCE = 2.0
EVERY = 0.2
# Where nobody looks at a terminal, a log gets a line so often.
LOG_EVERY = 30.0


class Steps:
    """How far work in several steps is: the work calls it with what it does now, and the share that is done."""

    def __init__(self, what: str) -> None:
        self.what, self.done = what, 0.0

    def __call__(self, what: str, done: float) -> None:
        """Take note of a step."""
        self.what, self.done = what, done


@contextmanager
def watching(what: str, *, quiet: bool, steps: Steps | None = None) -> Iterator[None]:
    """Show how far the engine (or the steps) are, once the work has taken two seconds; a log gets a line at times."""
    from rich.console import Console

    console = Console(stderr=True)
    if quiet:
        yield
        return
    done = threading.Event()
    follow = _watch if console.is_terminal else _log
    watcher = threading.Thread(target=follow, args=(what, console, done, steps), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _log(what: str, console: Console, done: threading.Event, steps: Steps | None) -> None:
    """Write a plain line every half minute, so that a log shows that work goes on."""
    from equipoise.cohorts.readers import engine_progress

    begun = time.monotonic()
    while not done.wait(LOG_EVERY):
        share = engine_progress() / 100 if steps is None else steps.done
        name = what if steps is None else steps.what
        spent = time.monotonic() - begun
        left = f", about {spent * (1 - share) / share:.0f} s left" if share > 0.05 else ""
        console.print(f"{name}: {share:.0%} after {spent:.0f} s{left}", highlight=False, markup=False)


def _watch(what: str, console: Console, done: threading.Event, steps: Steps | None) -> None:
    if done.wait(PATIENCE):
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    from equipoise.cohorts.readers import engine_progress

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"),
               TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn())  # fmt: skip
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(what, total=100.0)
        while not done.is_set():
            if steps is None:
                progress.update(task, completed=engine_progress())
            else:
                progress.update(task, description=steps.what, completed=100 * steps.done)
            time.sleep(EVERY)


INTERRUPTED = 130


class Interrupted(EquipoiseError):
    """Ctrl-C, told apart from the errors of the command line itself."""


class Told(SystemExit):
    """The end of the program after words that said why."""


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
            if isinstance(error, KeyboardInterrupt) or received():
                raise interrupted(more) from None
            raise
        if received():
            raise interrupted(more)

    return run
