"""``equipoise study merge``: bring trials home that ran elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli._options import ArtefactsFolder, PlanFile, Quiet, StorePlace, store_of

EXAMPLES = ("study merge plan.toml trials",)


def merge(
    plan: PlanFile,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that --to wrote.", show_default=False)],
    store: StorePlace = None,
    artefacts: ArtefactsFolder = None,
    quiet: Quiet = False,
) -> None:
    """Bring trials home that ran elsewhere; each is taken once, however often it is merged."""
    from equipoise.cli.study._console import show_merged
    from equipoise.studies.plans.plan import read_plan
    from equipoise.studies.running.merging import merge as bring_home
    from equipoise.studies.running.running import enter
    from equipoise.studies.storage.store import open_store

    read = read_plan(plan)
    with read.located():
        study = read.study()
        with open_store(store_of(plan, store), plan=study.plan_key, artefacts=artefacts) as opened:
            enter(study, opened)
            found = bring_home(folder, opened, study.truth)
    if not quiet:
        show_merged(found)
    if found.refused:
        raise typer.Exit(1)
