"""``equipoise study export``: a table of trials for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli._completion import measures as measures_completed
from equipoise.cli._options import ArtefactsFolder, PlanFile, Quiet, StorePlace, store_of

EXAMPLES = ("study export plan.toml trials.parquet",)


def export(
    plan: PlanFile,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .parquet or .csv file.", show_default=False)],
    store: StorePlace = None,
    artefacts: ArtefactsFolder = None,
    measures: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Export this measure; may be given again.", autocompletion=measures_completed
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Write a row for each trial, split and measure, for other tools (and for equipoise evidence)."""
    from equipoise.foundation.files import check_writable
    from equipoise.studies.findings.exporting import check_ending, write_table
    from equipoise.studies.plans.plan import read_plan

    check_ending(file)
    check_writable(file, inputs=[str(plan)])
    read = read_plan(plan)
    with read.located():
        rows = write_table(read.study(), store_of(plan, store), file, measures, artefacts=artefacts)
    if not quiet:
        typer.echo(f"{rows:,} rows are in {file}")
