"""``equipoise study``: treatments on trial under controlled data conditions, resumed wherever it was interrupted."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

INTERRUPTED = 130

app = typer.Typer(
    no_args_is_help=True,
    help="Put treatments on trial under controlled data conditions; a study that is interrupted goes on where it was.",
)

PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="A plan in TOML.", show_default=False)]
StoreOption = Annotated[
    str | None, typer.Option("--store", metavar="PATH|URL", help="The store; by default beside the plan, as PLAN.db.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")]


def command(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a command of a study; Ctrl-C ends it in words, for what is recorded stays."""

    def decorate(run: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(run)
        def interruptible(*given: Any, **named: Any) -> None:
            try:
                run(*given, **named)
            except KeyboardInterrupt:
                typer.echo("equipoise: interrupted; what is recorded is kept. Run again to go on.", err=True)
                raise typer.Exit(INTERRUPTED) from None

        app.command(name)(interruptible)
        return interruptible

    return decorate


def store_of(plan: Path, store: str | None) -> str:
    """Return the store of a plan: the one named, or the file beside the plan."""
    return store if store is not None else str(plan.with_suffix(".db"))


@command("check")
def check(
    plan: PlanFile,
    store: StoreOption = None,
    probe: Annotated[
        bool, typer.Option("--probe", help="Time one epoch of each treatment, and throw it away.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Tell size, time and what every condition asks of the data; train nothing. Ends with 1 if one cannot be drawn."""
    from equipoise.cli.study_shown import show_check
    from equipoise.studies.checking import check as look
    from equipoise.studies.plans.plan import read_plan

    read = read_plan(plan)
    with read.located():
        found = look(read.study(), store_of(plan, store), probe=probe)
    if not quiet:
        show_check(found)
    if not found.feasible:
        raise typer.Exit(1)


@command("run")
def run(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan in TOML, or a folder that study pack wrote.")],
    store: StoreOption = None,
    workers: Annotated[int, typer.Option(metavar="N", help="Processes that train at once.")] = 1,
    to: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write every trial as a file here, and use no store.")
    ] = None,
    part: Annotated[str, typer.Option(metavar="K/N", help="With --to: the K-th of N parts of the work.")] = "1/1",
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Train failed trials once more.")] = False,
    quiet: Quiet = False,
) -> None:
    """Train what is not trained yet. Interrupt it as you like: run again, and it goes on where it was."""
    from equipoise.cli.study_shown import watching_study
    from equipoise.studies.running.packing import is_pack

    if to is not None:
        _run_to_folder(plan, to, part, quiet)
        return
    if is_pack(plan):
        from equipoise.foundation.errors import BadInput

        raise BadInput(f"{str(plan)!r} is a packed study", way_out="name a folder for its trials: --to DIR.")
    from equipoise.studies.plans.plan import read_plan
    from equipoise.studies.running.running import run_in_store

    read = read_plan(plan)
    where = store_of(plan, store)
    with read.located():
        study = read.study()
        with watching_study(quiet=quiet) as watcher:
            run_in_store(study, where, workers=workers, watcher=watcher, retry_failed=retry_failed)
    if not quiet:
        _tell_end(plan, where, study.name)


def _run_to_folder(plan: Path, to: Path, part: str, quiet: bool) -> None:
    from equipoise.cli.study_shown import watching_study
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
        number = run_to_folder(work, to, part=part_of(part), watcher=watcher)
    if not quiet:
        typer.echo(f"{number:,} trials were trained now; all files are in {to}. Next: equipoise study merge PLAN {to}")


def _tell_end(plan: Path, where: str, name: str) -> None:
    from equipoise.cli.study_shown import show_status
    from equipoise.studies.storage.store import open_store

    with open_store(where, create=False, read_only=True, plan=name) as opened:
        show_status(opened.status(), cells=False)
    typer.echo(f"Next: equipoise study report {plan}")


@command("status")
def status(plan: PlanFile, store: StoreOption = None) -> None:
    """Count the trials of each cell: waiting, running, done, failed."""
    from equipoise.cli.study_shown import show_failures, show_status
    from equipoise.studies.storage.store import open_store

    with open_store(store_of(plan, store), create=False, read_only=True, plan=plan.stem) as opened:
        found = opened.status()
        failed = opened.trials(["failed"]) if found.failed else ()
    show_status(found)
    show_failures(failed)


@command("report")
def report(
    plan: PlanFile,
    store: StoreOption = None,
    measures: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Tell this measure; may be given again. No retraining.")
    ] = None,
    show_rows: Annotated[bool, typer.Option("--show-rows", help="List the people whose prediction flips.")] = False,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write every number as JSON.")] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page that works offline.")] = None,
    figures: Annotated[Path | None, typer.Option(metavar="DIR", help="Write the charts as PNG and SVG.")] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the records as CSV.")] = None,
    latex: Annotated[Path | None, typer.Option(metavar="FILE", help="Write tables for LaTeX.")] = None,
    quiet: Quiet = False,
) -> None:
    """Which treatment is best under which condition, is it real, what did it cost, would a rerun say the same?"""
    from equipoise.cli.output import Output
    from equipoise.foundation.provenance import command_line
    from equipoise.studies.plans.plan import read_plan

    output = Output(json=json, html=html, figures=figures, csv=csv, latex=latex, quiet=quiet)
    output.check(inputs=[str(plan)])
    read = read_plan(plan)
    with read.located():
        result = read.study().result(
            store_of(plan, store), measures=measures or None, show_rows=show_rows, command=command_line()
        )
    output.deliver(result)


@command("export")
def export(
    plan: PlanFile,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .parquet or .csv file.", show_default=False)],
    store: StoreOption = None,
    measures: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Export this measure; may be given again.")
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
        rows = write_table(read.study(), store_of(plan, store), file, measures=measures)
    if not quiet:
        typer.echo(f"{rows:,} rows are in {file}")


@command("merge")
def merge(
    plan: PlanFile,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that --to wrote.", show_default=False)],
    store: StoreOption = None,
    quiet: Quiet = False,
) -> None:
    """Bring trials home that ran elsewhere; each is taken once, however often it is merged."""
    from equipoise.cli.study_shown import show_merged
    from equipoise.studies.plans.plan import read_plan
    from equipoise.studies.running.merging import merge as bring_home
    from equipoise.studies.running.running import enter
    from equipoise.studies.storage.store import open_store

    read = read_plan(plan)
    with read.located():
        study = read.study()
        with open_store(store_of(plan, store), plan=study.name) as opened:
            enter(study, opened)
            found = bring_home(folder, opened, study.truth)
    if not quiet:
        show_merged(found)
    if found.refused:
        raise typer.Exit(1)


@command("worker")
def worker(plan: PlanFile, store: StoreOption = None, quiet: Quiet = False) -> None:
    """Help with a study that is under way, from another terminal or another machine that reaches its store."""
    from equipoise.cli.study_shown import watching_study
    from equipoise.studies.plans.plan import read_plan
    from equipoise.studies.running.owners import new_owner
    from equipoise.studies.running.running import check_same_data, work_through
    from equipoise.studies.storage.store import open_store

    read = read_plan(plan)
    with read.located():
        study = read.study()
        with (
            open_store(store_of(plan, store), create=False, plan=study.name) as opened,
            watching_study(quiet=quiet) as watcher,
        ):
            check_same_data(study.work, opened)
            work_through(study.work, study.truth, opened, new_owner(), watcher=watcher)


@command("pack")
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
