"""``equipoise study run``: train what is not trained yet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli._options import ArtefactsFolder, Quiet, StorePlace, store_of

EXAMPLES = (
    "study run plan.toml",
    "study run plan.toml --workers 4",
    "study run packed --to trials --part 1/8",
)


def run(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan in TOML, or a folder that study pack wrote.")],
    store: StorePlace = None,
    artefacts: ArtefactsFolder = None,
    workers: Annotated[int, typer.Option(metavar="N", help="Processes that train at once.")] = 1,
    to: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write every trial as a file here, and use no store.")
    ] = None,
    part: Annotated[str, typer.Option(metavar="K/N", help="With --to: the K-th of N parts of the work.")] = "1/1",
    scores: Annotated[
        bool, typer.Option("--scores/--no-scores", help="With --to: keep scores too, or the predictions alone.")
    ] = True,
    checkpoints: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where long trainings keep how far they are; by default beside the trials."),
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Train failed trials once more.")] = False,
    quiet: Quiet = False,
) -> None:
    """Train what is not trained yet. Interrupt it as you like: run again, and it goes on where it was."""
    from equipoise.cli.study._console import show_change, watching_study
    from equipoise.studies.running.packing import is_pack

    if to is not None:
        _run_to_folder(plan, to, part, quiet, scores=scores, checkpoints=checkpoints)
        return
    if is_pack(plan):
        from equipoise.foundation.errors import BadInput

        raise BadInput(f"{str(plan)!r} is a packed study", help="name a folder for its trials: --to DIR.")
    from equipoise.studies.plans.plan import read_plan
    from equipoise.studies.running.running import run_in_store

    read = read_plan(plan)
    where = store_of(plan, store)
    with read.located():
        study = read.study()
        with watching_study(quiet=quiet) as watcher:
            run_in_store(
                study, where, workers=workers, watcher=watcher, retry_failed=retry_failed, artefacts=artefacts,
                checkpoints=checkpoints, on_change=show_change,
            )  # fmt: skip
    if not quiet:
        _tell_end(plan, where, study.plan_key)


def _run_to_folder(plan: Path, to: Path, part: str, quiet: bool, *, scores: bool, checkpoints: Path | None) -> None:
    from equipoise.cli.study._console import watching_study
    from equipoise.studies.running.packing import is_pack, unpack
    from equipoise.studies.running.to_folder import part_of, run_to_folder

    if is_pack(plan):
        work = unpack(plan)
    else:
        from equipoise.studies.plans.plan import read_plan

        read = read_plan(plan)
        with read.located():
            work = read.study().work
    with watching_study(quiet=quiet) as watcher:
        number = run_to_folder(work, to, part=part_of(part), watcher=watcher, scores=scores, checkpoints=checkpoints)
    if not quiet:
        typer.echo(f"{number:,} trials were trained now; all files are in {to}. Next: equipoise study merge PLAN {to}")


def _tell_end(plan: Path, where: str, key: str) -> None:
    from equipoise.cli.study._console import show_status
    from equipoise.studies.storage.store import open_store
    from equipoise.studies.storage.troubles import OUTAGE

    with open_store(where, create=False, read_only=True, plan=key, outage=OUTAGE) as opened:
        status = opened.status()
        show_status(status, cells=False)
    if status.failed:
        typer.echo(
            f"Why they failed: equipoise study status {plan} --failures; --retry-failed of study run tries them again."
        )
    typer.echo(f"Next: equipoise study report {plan}")
