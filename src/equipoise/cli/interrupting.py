"""How a command ends after Ctrl-C: with 130, and with words that say what is there."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from equipoise.foundation.errors import EquipoiseError
from equipoise.foundation.files import written_files
from equipoise.foundation.interrupts import received

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
