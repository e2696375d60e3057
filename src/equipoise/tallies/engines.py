"""Queries of the engines that this program opened (DuckDB): Ctrl-C stops one within a moment.

DuckDB turns Ctrl-C into an error of its own, or ends the process, where it meets it in the thread that runs a query. So
a query of the main thread runs in a thread beside it, and the main thread waits and stops the engine.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from equipoise.foundation import interrupts

T = TypeVar("T")
# How often the thread that waits looks whether it was interrupted, in seconds.
EVERY = 0.1

# Engines that are open, with the thread that opened each.
_engines: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()


def register_engine(engine: Any) -> None:
    """Take note of an engine, so that its queries can be watched and stopped."""
    _engines[engine] = threading.get_ident()


def open_engines() -> list[Any]:
    """Return the engines that are open."""
    return list(_engines)


def run_query(query: Callable[[], T]) -> T:
    """Run a query of an engine that was opened here, and return its answer; Ctrl-C stops it."""
    interrupts.check()
    mine = [engine for engine, thread in list(_engines.items()) if thread == threading.get_ident()]
    if not mine or threading.current_thread() is not threading.main_thread():
        return query()
    answers: list[T] = []
    errors: list[BaseException] = []
    done = threading.Event()  # Thread.join, where Ctrl-C meets it, takes the thread for ended

    def run() -> None:
        try:
            answers.append(query())
        except BaseException as error:  # noqa: BLE001 - it is raised again where the answer is waited for
            errors.append(error)
        finally:
            done.set()

    try:
        with interrupts.deferred():  # a thread that is only half there could not be waited for
            threading.Thread(target=run, name="equipoise-query").start()
        while not done.wait(EVERY):
            interrupts.check()
    except BaseException:
        with interrupts.deferred():
            # A query that had not begun when it was asked to stop is asked again.
            while not done.wait(EVERY / 10):
                for engine in mine:
                    engine.interrupt()
        raise
    if errors:
        raise errors[0]
    return answers[0]
