"""``equipoise study status``: how far a study is."""

from __future__ import annotations

from equipoise.cli.options import PlanFile, StorePlace
from equipoise.cli.study.places import store_of


def status(plan: PlanFile, store: StorePlace = None) -> None:
    """Count the trials of each cell: waiting, running, done, failed."""
    from equipoise.cli.study.shown import show_failures, show_status
    from equipoise.studies.storage.store import open_store

    with open_store(store_of(plan, store), create=False, read_only=True, plan=plan.stem) as opened:
        found = opened.status()
        failed = opened.trials(["failed"]) if found.failed else ()
    show_status(found)
    show_failures(failed)
