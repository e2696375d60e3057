"""``equipoise study diagnose``: where two identical runs first differ."""

from __future__ import annotations

from typing import Annotated

import typer

from equipoise.cli._options import (
    CsvFile,
    FiguresFolder,
    HtmlFile,
    JsonFile,
    LatexFile,
    MarkdownFile,
    OpenPage,
    PlanFile,
    Quiet,
)

EXAMPLES = ("study diagnose plan.toml --steps 200 --html diagnosis.html",)


def diagnose(
    plan: PlanFile,
    steps: Annotated[int, typer.Option(metavar="N", help="Steps of training to look at.", min=1)] = 200,
    json: JsonFile = None,
    html: HtmlFile = None,
    figures: FiguresFolder = None,
    csv: CsvFile = None,
    latex: LatexFile = None,
    markdown: MarkdownFile = None,
    open: OpenPage = False,
    quiet: Quiet = False,
) -> None:
    """Run the plan's first trial twice, step by step: which tensor differs first, by how much, how does it grow?"""
    from equipoise.cli._output import Output
    from equipoise.foundation.provenance import command_line
    from equipoise.studies.diagnosing import diagnose as look
    from equipoise.studies.plans.plan import read_plan

    output = Output(
        json=json, html=html, figures=figures, csv=csv, latex=latex, markdown=markdown, quiet=quiet, open=open
    )
    output.check(inputs=[str(plan)])
    read = read_plan(plan)
    with read.located():
        found = look(read.study(), steps, command=command_line())
    output.deliver(found)
