"""Work that takes long: how far it is, and Ctrl-C at any moment.

Ctrl-C is taken note of, so that code which swallows it cannot make the program go on. Without ``watch_interrupts``,
which the command line uses, it does what it always does in Python.
"""

from __future__ import annotations

import _thread
import atexit
import functools
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

# What long work reports on the way: its stage now, and the share of all its work that is done.
Progress = Callable[[str, float], None]
# An estimate of the time left needs this share of the work behind it.
LEAST_SHARE = 0.05


class ProgressTracker:
    """How far work in stages is. The work calls it as a ``Progress``; who shows it asks for ``line``.

    ``measure`` returns the share that is done of work that reports nothing itself, such as a query.
    """

    def __init__(
        self,
        stage: str,
        *,
        measure: Callable[[], float] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.stage = stage
        self._measure, self._clock = measure, clock
        self._start, self._done, self._time_left = clock(), 0.0, ""

    def __call__(self, stage: str, done: float, *, time_left: str = "") -> None:
        """Take note of the stage and the share of all work that is done; work that knows its time left says so."""
        self.stage, self._done, self._time_left = stage, done, time_left

    @property
    def done(self) -> float:
        """The share of all work that is done, from 0 to 1."""
        share = self._done if self._measure is None else self._measure()
        return min(max(share, 0.0), 1.0)

    @property
    def seconds(self) -> float:
        """The seconds since the work began."""
        return self._clock() - self._start

    @property
    def time_left(self) -> str:
        """The time left, in words; empty as long as too little is done to say."""
        if self._time_left or self.done <= LEAST_SHARE:
            return self._time_left
        return f"about {duration(self.seconds * (1 - self.done) / self.done)} left"

    @property
    def line(self) -> str:
        """Everything in one line, as a log shows it."""
        left = f", {self.time_left}" if self.time_left else ""
        return f"{self.stage}: {self.done:.0%} after {duration(self.seconds)}{left}"


class StagedProgress:
    """Progress through stages one after the other, each as heavy as its ``weights`` say; reported as a share of all."""

    def __init__(self, report: Progress | None, weights: Mapping[str, float]) -> None:
        self._report, self._weights = report, dict(weights)

    def stage(self, name: str) -> Callable[[int, int], None]:
        """Begin a stage, and return what takes in how many of its steps are done."""
        self.update(name, 0, 1)
        return functools.partial(self.update, name)

    def update(self, name: str, done: int, steps: int) -> None:
        """Take in how many steps of a stage are done, and report the share of all stages."""
        if self._report is not None:
            stages = list(self._weights)
            before = sum(self._weights[stage] for stage in stages[: stages.index(name)])
            self._report(name, (before + self._weights[name] * done / steps) / sum(self._weights.values()))


def duration(seconds: float) -> str:
    """Write a time as a person says it: 40 s, 3 min, 2 h 10 min."""
    if seconds < 1:
        return "less than 1 s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {rest} min" if rest else f"{hours} h"
    return f"{hours / 24:.1f} days"


# Ctrl-C that met the end of an object, where Python drops every error, has its effect after so many seconds.
AGAIN = 0.05

_received = False
_deferring = 0


@contextmanager
def watch_interrupts() -> Iterator[None]:
    """Take note of Ctrl-C from now on; where it is ignored (nohup) or somebody else handles it, nothing changes."""
    global _received, _deferring
    _received, _deferring = False, 0
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    before = sys.unraisablehook

    def dropped(unraisable: Any) -> None:
        if unraisable.exc_type is not KeyboardInterrupt:
            before(unraisable)
            return
        again = threading.Timer(AGAIN, _interrupt_again)
        again.daemon = True
        again.start()

    sys.unraisablehook = dropped
    signal.signal(signal.SIGINT, _notice)
    try:
        yield
    finally:
        _deferring = 1
        # A program that ends, because of Ctrl-C or because all is done, is not disturbed in its last moments.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN if _received else signal.default_int_handler)
        sys.unraisablehook = before
        _received, _deferring = False, 0


def _interrupt_again() -> None:
    if _received and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)  # ends a sleep, too
    elif _received:
        _thread.interrupt_main()


def _notice(number: int, frame: Any) -> None:
    global _received
    _received = True
    if not _deferring:
        raise KeyboardInterrupt


def interrupt_received() -> bool:
    """Tell whether Ctrl-C was pressed, whatever has become of it since."""
    return _received


def check_interrupt() -> None:
    """Stop here where Ctrl-C was pressed, and swallowed by somebody else's code or put off."""
    if _received and not _deferring:
        raise KeyboardInterrupt


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Finish what must not be torn before Ctrl-C has its effect."""
    global _deferring
    _deferring += 1
    try:
        yield
    finally:
        _deferring -= 1
    check_interrupt()
