"""``equipoise study check``: how large a study is and what it asks of the data, before anything is trained."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli._options import PlanFile, Quiet, StorePlace, store_of

EXAMPLES = ("study check plan.toml --probe",)


def check(
    plan: PlanFile,
    store: StorePlace = None,
    probe: Annotated[
        bool, typer.Option("--probe", help="Time one epoch of each treatment, and throw it away.")
    ] = False,
    pilot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="JSON report of an earlier study: tell by its spreads what can be decided."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Tell size, time, what can be decided and what conditions ask; train nothing. Ends with 1 if trials will fail."""
    from equipoise.cli.study._console import show_check
    from equipoise.studies.checking import check as look
    from equipoise.studies.plans.plan import read_plan

    read = read_plan(plan)
    with read.located():
        found = look(read.study(), store_of(plan, store), probe=probe, pilot=pilot)
    if not quiet:
        show_check(found)
    if not found.sound:
        raise typer.Exit(1)
