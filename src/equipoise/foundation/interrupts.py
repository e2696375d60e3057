"""Ctrl-C at any moment: taken note of, so that code which swallows it cannot make the program go on.

Without ``noticing``, which the command line uses, Ctrl-C does what it always does in Python.
"""

from __future__ import annotations

import _thread
import atexit
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Ctrl-C that met the end of an object, where Python drops every error, has its effect after so many seconds.
AGAIN = 0.05

_received = False
_deferring = 0


@contextmanager
def noticing() -> Iterator[None]:
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


def received() -> bool:
    """Tell whether Ctrl-C was pressed, whatever has become of it since."""
    return _received


def check() -> None:
    """Stop here where Ctrl-C was pressed, and swallowed by somebody else's code or put off."""
    if _received and not _deferring:
        raise KeyboardInterrupt


@contextmanager
def deferred() -> Iterator[None]:
    """Finish what must not be torn before Ctrl-C has its effect."""
    global _deferring
    _deferring += 1
    try:
        yield
    finally:
        _deferring -= 1
    check()
