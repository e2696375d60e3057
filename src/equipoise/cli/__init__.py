"""The command line: one small file a command; ``main`` runs it, ``app`` is the program as Typer knows it.

Exit code 0 is fine, 1 is a broken gate or failed trials, 2 is bad input, 130 is Ctrl-C.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from equipoise.foundation import (
    installed,
    interrupt_received,
    watch_interrupts,
)

if TYPE_CHECKING:
    from equipoise.cli.commands._program import app as app

__all__ = ["app", "main"]

# What reads options and prints; a bare compute node lacks some of it, and still trains what was packed for it.
NEEDED = ("typer", "rich", "pydantic")


def __getattr__(name: str) -> object:
    if name == "app":  # imported at first use, so that Ctrl-C counts before
        from equipoise.cli.commands._program import app

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def main() -> None:
    """Run the program. Ctrl-C counts from the first moment on, while libraries are imported too."""
    with watch_interrupts():
        try:
            if all(installed(module) for module in NEEDED):
                from equipoise.cli.commands._program import main as run
            else:
                from equipoise.cli._minimal import main as run
            run()
        except BaseException as error:
            from equipoise.cli._console import INTERRUPTED, Ended, interrupted

            if interrupt_received():
                # Ctrl-C inside such a call, as libraries make them, would let Python end by the signal and not by 130.
                exec("pass")  # noqa: S102
            if not interrupt_received() or (isinstance(error, Ended) and error.code == INTERRUPTED):
                raise
            sys.stderr.write(f"equipoise: {interrupted()}\n")
            sys.exit(INTERRUPTED)
