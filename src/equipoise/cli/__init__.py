"""The command line: one small file a command. Exit code 0 is fine, 2 is bad input, 130 is Ctrl-C."""

from __future__ import annotations

import sys

from equipoise.foundation.imports import installed
from equipoise.foundation.interrupts import noticing, received

__all__ = ["main"]

# What reads options and prints; a bare compute node lacks some of it, and still trains what was packed for it.
NEEDED = ("typer", "rich", "pydantic")


def main() -> None:
    """Run the program. Ctrl-C counts from the first moment on, while libraries are imported too."""
    with noticing():
        try:
            if all(installed(module) for module in NEEDED):
                from equipoise.cli.program import main as run
            else:
                from equipoise.cli.minimal import main as run
            run()
        except BaseException as error:
            from equipoise.cli.console import INTERRUPTED, Told, interrupted

            if received():
                # Ctrl-C inside such a call, as libraries make them, would let Python end by the signal and not by 130.
                exec("pass")  # noqa: S102
            if not received() or (isinstance(error, Told) and error.code == INTERRUPTED):
                raise
            sys.stderr.write(f"equipoise: {interrupted()}\n")
            sys.exit(INTERRUPTED)
