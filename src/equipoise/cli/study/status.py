"""``equipoise study status``: how far a study is."""

from __future__ import annotations

from typing import Annotated

import typer

from equipoise.cli._options import PlanFile, StorePlace, store_of

EXAMPLES = ("study status plan.toml --failures",)


def status(
    plan: PlanFile,
    store: StorePlace = None,
    failures: Annotated[
        bool, typer.Option("--failures", help="Show where trials failed: files, lines and functions.")
    ] = False,
) -> None:
    """Count the trials of each cell: waiting, running, done, failed, and say why these failed."""
    from equipoise.cli.study._console import show_change, show_failures, show_status
    from equipoise.studies.checking import status_of
    from equipoise.studies.plans.plan import read_plan
    from equipoise.studies.running.running import change_of
    from equipoise.studies.storage.store import open_store

    # The store first: that there is none is said before the data are read.
    where = store_of(plan, store)
    read = read_plan(plan)
    with open_store(where, create=False, read_only=True):
        pass
    with read.located():
        study = read.study()
        with open_store(where, create=False, read_only=True, plan=study.plan_key) as opened:
            found, change = status_of(study, opened), change_of(study, opened)
            failed = opened.trials(["failed"]) if found.failed else ()
            traces = opened.tracebacks([one.key for one in failed]) if failures else None
    show_status(found)
    show_failures(failed, traces)
    show_change(change)
