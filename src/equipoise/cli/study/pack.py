"""``equipoise study pack``: a study as a folder for a bare machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli._options import PlanFile, Quiet

EXAMPLES = ("study pack plan.toml packed",)


def pack(
    plan: PlanFile,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder.", show_default=False)],
    quiet: Quiet = False,
) -> None:
    """Write what training needs, without test labels, for a machine that has torch and little else."""
    from equipoise.studies.plans.plan import read_plan
    from equipoise.studies.running.packing import pack as write

    read = read_plan(plan)
    with read.located():
        write(read.study().work, folder)
    if not quiet:
        typer.echo(f"Packed. There: equipoise study run {folder} --to OUT; here: equipoise study merge {plan} OUT")
