"""Progress with time left, for work that takes more than two seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from equipoise.cohorts.readers import engine_progress

PATIENCE = 2.0
EVERY = 0.2


@contextmanager
def watching(what: str, *, quiet: bool) -> Iterator[None]:
    """Show how far the engine is, once the work has taken two seconds; silent where nobody looks."""
    from rich.console import Console

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield
        return
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(what, console, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _watch(what: str, console: object, done: threading.Event) -> None:
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
            progress.update(task, completed=engine_progress())
            time.sleep(EVERY)
