"""Run many command lines of equipoise in one process: they share one start, which is most of what a short one takes.

``python -P command_lines.py`` reads ``[[argument, ...], ...]`` as JSON and writes ``[[exit code, output], ...]``.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys

from equipoise.cli import main


def ended(arguments: list[str]) -> tuple[int, str]:
    """Run one command line and return its exit code and what it wrote, to stdout first."""
    out, err = io.StringIO(), io.StringIO()
    sys.argv = ["equipoise", *arguments]
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    return code, out.getvalue() + err.getvalue()


if __name__ == "__main__":  # a worker of a study imports this file
    json.dump([ended(arguments) for arguments in json.load(sys.stdin)], sys.stdout)
