"""``equipoise compare``: whom did a change touch? Two representations of the same people, in one command."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from equipoise.audits import COMPARE_OPTIONS
from equipoise.cli._options import arguments, takes

EXAMPLES = (
    "compare before.npy after.npy --rows people.csv --group sex --group race",
    "compare before.npz after.npz --embedding points --rows people.csv --id person --group sex --html compare.html",
)


@takes(COMPARE_OPTIONS, needed=("group",))
def compare(
    before: Annotated[
        str, typer.Argument(help=".npy, .npz, .safetensors, or a table with a column of lists.", show_default=False)
    ],
    after: Annotated[str, typer.Argument(help="The same people afterwards; the widths may differ.")],
    *,
    values: dict[str, Any],
) -> None:
    """Compare representations before and after a change: who changed most, in words, with tests, and what followed."""
    from equipoise.audits.compare import compare as run
    from equipoise.cli._console import Output, show_progress
    from equipoise.foundation import command_line

    output = Output.of(values)
    read = (before, after, values["rows"], values["rerun"], values["direction"])
    output.check(inputs=[file for file in read if file is not None])
    settings = arguments(COMPARE_OPTIONS, values)
    with show_progress("Reading", quiet=values["quiet"]) as tracker:
        result = run(before, after, **settings, progress=tracker, command=command_line())
    output.deliver(result)
