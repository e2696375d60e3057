"""``equipoise demo``: see it work, with nothing but the package."""

from __future__ import annotations

from typing import Annotated

import typer

from equipoise.cli.options import FiguresFolder, HtmlFile, JsonFile, Quiet

DEMOS = ("audit",)


def demo(
    which: Annotated[str, typer.Argument(help="What to see: audit.")] = "audit",
    json: JsonFile = None,
    html: HtmlFile = None,
    figures: FiguresFolder = None,
    quiet: Quiet = False,
) -> None:
    """Audit the bundled census cohort: predictions of a model that never saw sex or race. Opens no network."""
    from equipoise.audits import audit
    from equipoise.cli.output import Output
    from equipoise.cohorts import load
    from equipoise.foundation.errors import unknown_name
    from equipoise.foundation.provenance import command_line

    if which not in DEMOS:
        raise unknown_name("demo", which, DEMOS, "this version")
    output = Output(json=json, html=html, figures=figures, quiet=quiet)
    output.check()
    output.deliver(audit(load("adult").where("test"), reference={"sex": "Male"}, command=command_line()))
    if not quiet:
        typer.echo(
            "\nThe same on your own file:\n  equipoise audit predictions.parquet --target income "
            '--prediction predicted --favourable ">50K" --group sex --group race'
        )
