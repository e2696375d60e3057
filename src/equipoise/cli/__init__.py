"""The command line: one small file a command. Exit code 0 is fine, 2 is bad input."""

from __future__ import annotations

from equipoise.foundation.imports import installed

# What reads options and prints; a bare compute node lacks some of it, and still trains what was packed for it.
if all(installed(module) for module in ("typer", "rich", "pydantic")):
    from equipoise.cli.main import main
else:
    from equipoise.cli.bare import main

__all__ = ["main"]
