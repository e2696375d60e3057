"""``equipoise study worker``: help with a study that is under way."""

from __future__ import annotations

from equipoise.cli._options import ArtefactsFolder, PlanFile, Quiet, StorePlace, store_of

EXAMPLES = ("study worker plan.toml --store postgresql://user@host/study",)


def worker(plan: PlanFile, store: StorePlace = None, artefacts: ArtefactsFolder = None, quiet: Quiet = False) -> None:
    """Help with a study that is under way, from another terminal or another machine that reaches its store."""
    from dataclasses import replace

    from equipoise.cli.study._console import watching_study
    from equipoise.studies.findings.reading import check_same_plan
    from equipoise.studies.plans.plan import read_plan
    from equipoise.studies.running.devices import check_device
    from equipoise.studies.running.owners import new_owner
    from equipoise.studies.running.running import check_same_data, checkpoints_of, work_through
    from equipoise.studies.storage.store import open_store

    read = read_plan(plan)
    with read.located():
        study = read.study()
        with (
            open_store(store_of(plan, store), create=False, plan=study.plan_key, artefacts=artefacts) as opened,
            watching_study(quiet=quiet) as watcher,
        ):
            check_device(study.work)
            check_same_data(study.work, opened)
            check_same_plan(study, opened, to_train=True)
            work = replace(study.work, checkpoints=checkpoints_of(opened))
            work_through(work, study.truth, opened, new_owner(), watcher=watcher)
