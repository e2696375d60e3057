"""The command line: one small file a command. Exit code 0 is fine, 2 is bad input."""

from __future__ import annotations

from equipoise.cli.main import main

__all__ = ["main"]
