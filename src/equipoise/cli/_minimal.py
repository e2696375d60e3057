"""The one command of a bare compute node, which has torch and safetensors and no libraries for command lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from equipoise.foundation import (
    BadInput,
    EquipoiseError,
    install_line,
    printable,
)
from equipoise.studies.running import Standing

BAD_INPUT = 2
INTERRUPTED = 130
USAGE = "equipoise study run DIR --to OUT [--part K/N] [--quiet]"
OPTIONS = ("--to", "--part")
# A line of progress this often, in seconds.
EVERY = 30.0


def main() -> None:
    """Train a packed study; everything else needs the whole package."""
    try:
        _run(sys.argv[1:])
    except EquipoiseError as error:
        sys.stderr.write(printable(f"error: {error}\n"))
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        sys.stderr.write("equipoise: interrupted; trials that have their file are kept\n")
        sys.exit(INTERRUPTED)


def _run(arguments: Sequence[str]) -> None:
    from equipoise.studies.running import part_of, run_to_folder, unpack

    folder, options = _read(arguments)
    quiet = "--quiet" in arguments or "-q" in arguments
    watcher = None if quiet else _Lines()
    number = run_to_folder(unpack(folder), options["--to"], part=part_of(options["--part"]), watcher=watcher)
    if not quiet:
        sys.stdout.write(f"{number:,} trials were trained now; all files are in {options['--to']}\n")


def _read(arguments: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Read the arguments; what is not understood is answered with what would be."""
    options, plain, rest = (
        {"--part": "1/1"},
        [],
        [argument for argument in arguments if argument not in ("--quiet", "-q")],
    )
    while rest:
        first = rest.pop(0)
        if first in OPTIONS and rest:
            options[first] = rest.pop(0)
        else:
            plain.append(first)
    if plain[:2] != ["study", "run"] or len(plain) != 3 or "--to" not in options:
        raise BadInput(
            "This installation has no libraries for the command line (typer, rich, pydantic)",
            available=USAGE,
            help=f"for every other command: {install_line()}",
        )
    return plain[2], options


class _Lines:
    def __init__(self) -> None:
        self.last = -EVERY

    def __call__(self, standing: Standing) -> None:
        if time.monotonic() - self.last >= EVERY:
            self.last = time.monotonic()
            sys.stderr.write(f"{standing.done:,} of {standing.total:,} trials, {standing.words}\n")
            sys.stderr.flush()
