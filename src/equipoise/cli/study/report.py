"""``equipoise study report``: what the trials say."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from equipoise.cli._completion import measures as measures_completed
from equipoise.cli._options import (
    ArtefactsFolder,
    CsvFile,
    FiguresFolder,
    HtmlFile,
    JsonFile,
    LatexFile,
    MarkdownFile,
    OpenPage,
    PlanFile,
    Quiet,
    StorePlace,
    store_of,
)

EXAMPLES = (
    "study report plan.toml --html study.html --open",
    "study report plan.toml --measures accuracy --measures demographic_parity --json study.json",
)


def report(
    plan: PlanFile,
    store: StorePlace = None,
    artefacts: ArtefactsFolder = None,
    measures: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Tell this measure; may be given again. No retraining.",
            autocompletion=measures_completed,
        ),
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Compare every other treatment with this one too; all: every pair. May be given again."
        ),
    ] = None,
    equivalence_margin: Annotated[
        float | None,
        typer.Option(metavar="D", help="Test whether changes are within -D to D. Better given in the plan."),
    ] = None,
    show_rows: Annotated[bool, typer.Option("--show-rows", help="List the people whose prediction flips.")] = False,
    json: JsonFile = None,
    html: HtmlFile = None,
    figures: FiguresFolder = None,
    csv: CsvFile = None,
    latex: LatexFile = None,
    markdown: MarkdownFile = None,
    open: OpenPage = False,
    quiet: Quiet = False,
) -> None:
    """Which treatment is best under which condition, is it real, what did it cost, would a rerun say the same?

    Ends with 1 if trials are damaged in the store, which are left out.
    """
    from equipoise.cli._console import Steps, watching
    from equipoise.cli._output import Output
    from equipoise.foundation.provenance import command_line
    from equipoise.studies.plans.design import effect_of
    from equipoise.studies.plans.plan import read_plan

    output = Output(
        json=json, html=html, figures=figures, csv=csv, latex=latex, markdown=markdown, quiet=quiet, open=open
    )
    output.check(inputs=[str(plan)])
    read = read_plan(plan)
    how: dict[str, Any] = {}
    if against:
        how["against"] = against
    if equivalence_margin is not None:
        how["equivalence_margin"] = effect_of(equivalence_margin, "--equivalence-margin")
    steps = Steps("reading")
    with read.located(), watching("report", quiet=quiet, steps=steps):
        result = read.study().result(
            store_of(plan, store),
            artefacts=artefacts,
            measures=measures or None,
            show_rows=show_rows,
            command=command_line(),
            progress=steps,
            **how,
        )
    output.deliver(result)
    damaged = sum(failure.trials for failure in result.failures if failure.damaged)
    if damaged:
        typer.echo(
            f"equipoise: {damaged:,} trials are damaged in the store and left out; study run trains them again.",
            err=True,
        )
        raise typer.Exit(1)
