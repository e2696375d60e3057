"""Progress with time left, for work that takes more than two seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from equipoise.cohorts.readers import engine_progress

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


def _log(what: str, console: object, done: threading.Event, steps: Steps | None) -> None:
    """Write a plain line every half minute, so that a log shows that work goes on."""
    from rich.console import Console

    assert isinstance(console, Console)
    begun = time.monotonic()
    while not done.wait(LOG_EVERY):
        share = engine_progress() / 100 if steps is None else steps.done
        name = what if steps is None else steps.what
        spent = time.monotonic() - begun
        left = f", about {spent * (1 - share) / share:.0f} s left" if share > 0.05 else ""
        console.print(f"{name}: {share:.0%} after {spent:.0f} s{left}", highlight=False, markup=False)


def _watch(what: str, console: object, done: threading.Event, steps: Steps | None) -> None:
    if done.wait(PATIENCE):
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    assert isinstance(console, Console)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"),
               TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn())  # fmt: skip
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(what, total=100.0)
        while not done.is_set():
            if steps is None:
                progress.update(task, completed=engine_progress())
            else:
                progress.update(task, description=steps.what, completed=100 * steps.done)
            time.sleep(EVERY)
