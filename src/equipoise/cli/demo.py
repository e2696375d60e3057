"""``equipoise demo``: see it work, with nothing but the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DEMOS = ("audit",)


def demo(
    which: Annotated[str, typer.Argument(help="What to see: audit.")] = "audit",
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write every number as JSON.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Audit the bundled census cohort: predictions of a model that never saw sex or race. Opens no network."""
    from equipoise.audits import audit
    from equipoise.cli.output import deliver
    from equipoise.cohorts import load
    from equipoise.foundation.errors import unknown_name
    from equipoise.foundation.files import check_writable
    from equipoise.foundation.provenance import command_line

    if which not in DEMOS:
        raise unknown_name("demo", which, DEMOS, "this version")
    if json is not None:
        check_writable(json)
    result = audit(load("adult").where("test"), reference={"sex": "Male"}, command=command_line())
    deliver(result, json=json, quiet=quiet)
    if not quiet:
        typer.echo(
            "\nThe same on your own file:\n  equipoise audit predictions.parquet --target income "
            '--prediction predicted --favourable ">50K" --group sex --group race'
        )
