"""``equipoise study``: compare treatments under controlled data conditions, resumed wherever it was interrupted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli._options import arguments, takes
from equipoise.studies import (
    FOR_CHECK,
    FOR_DIAGNOSE,
    FOR_EXPORT,
    FOR_FOLDER,
    FOR_OPEN,
    FOR_REFIT,
    FOR_RESULT,
    FOR_RUN,
    STUDY_OPTIONS,
)

HELP = "Compare treatments under controlled data conditions. An interrupted study continues where it stopped."
INTERRUPT_NOTE = "what is recorded is kept. Run again to continue"
EXAMPLES = {
    "check": ("study check plan.toml --probe",),
    "run": (
        "study run plan.toml",
        "study run plan.toml --workers 4",
        "study run packed --to trials --part 1/8",
    ),
    "status": ("study status plan.toml --failures",),
    "report": (
        "study report plan.toml --html study.html --open",
        "study report plan.toml --measures accuracy --measures demographic_parity --json study.json",
    ),
    "refit": (
        "study refit plan.toml --treatment reweighting --to model",
        "study refit plan.toml --treatment 'adversarial(strength=1)' --condition 'CB alpha 1' --seed 3 --to model",
    ),
    "diagnose": ("study diagnose plan.toml --steps 200 --html diagnosis.html",),
    "export": ("study export plan.toml trials.parquet",),
    "merge": ("study merge plan.toml trials",),
    "worker": ("study worker plan.toml --store postgresql://user@host/study",),
    "pack": ("study pack plan.toml packed",),
}

if TYPE_CHECKING:
    from equipoise.studies import Plan, Study

PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="A plan in TOML.", show_default=False)]


def _store(plan: Path, values: Mapping[str, Any]) -> str:
    """Return the store of a plan: the one named, or the file beside the plan."""
    return values["store"] if values["store"] is not None else str(plan.with_suffix(".db"))


@takes(STUDY_OPTIONS["check"])
def check(plan: PlanFile, *, values: dict[str, Any]) -> None:
    """Show size, time, what can be decided and what conditions need; train nothing. Ends with 1 if trials will fail."""
    from equipoise.cli.commands._study_console import show_check
    from equipoise.studies import check as check_study
    from equipoise.studies import read_plan

    read = read_plan(plan)
    with read.located():
        settings = arguments(STUDY_OPTIONS["check"], values, FOR_CHECK)
        checked = check_study(read.study(), _store(plan, values), **settings)
    if not values["quiet"]:
        show_check(checked)
    if not checked.sound:
        raise typer.Exit(1)


@takes(STUDY_OPTIONS["run"])
def run(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan in TOML, or a folder that study pack wrote.")],
    *,
    values: dict[str, Any],
) -> None:
    """Train the trials that are not trained yet. It can be interrupted at any time: run it again to continue."""
    from equipoise.cli.commands._study_console import show_change, study_progress
    from equipoise.studies.running import is_pack

    if values["to"] is not None:
        _run_to_folder(plan, values)
        return
    if is_pack(plan):
        from equipoise.foundation import BadInput

        raise BadInput(f"{str(plan)!r} is a packed study", help="name a folder for its trials: --to DIR.")
    from equipoise.studies import read_plan, run_study

    read = read_plan(plan)
    where = _store(plan, values)
    with read.located():
        study = read.study()
        with study_progress(quiet=values["quiet"]) as watcher:
            settings = arguments(STUDY_OPTIONS["run"], values, FOR_RUN)
            study = run_study(study, where, **settings, watcher=watcher, on_change=show_change)
    if not values["quiet"]:
        _show_end(plan, where, study.plan_key, added=study.stopping is not None)


def _planned(read: Plan, plan: Path, values: Mapping[str, Any], what: str) -> Study:
    """Return the study of a plan for training without its store: settings that are searched are chosen there before."""
    from equipoise.foundation import BadInput
    from equipoise.studies import check_fixed_seeds

    study, where = read.study(), _store(plan, values)
    check_fixed_seeds(study, what)
    if study.search is not None and "://" not in where and not Path(where).exists():
        raise BadInput(
            f"{plan.name} searches settings generation by generation, which takes a store",
            help=f"equipoise study run {plan}; once its search is done, the other trials can be packed or trained with "
            "--to.",
        )
    return study.searched(where)


def _run_to_folder(plan: Path, values: Mapping[str, Any]) -> None:
    from equipoise.cli.commands._study_console import study_progress
    from equipoise.studies.running import is_pack, part_of, run_to_folder, unpack

    if is_pack(plan):
        work = unpack(plan)
    else:
        from equipoise.studies import read_plan

        read = read_plan(plan)
        with read.located():
            work = _planned(read, plan, values, "run --to").work
    to, settings = values["to"], arguments(STUDY_OPTIONS["run"], values, FOR_FOLDER)
    with study_progress(quiet=values["quiet"]) as watcher:
        number = run_to_folder(work, to, part=part_of(values["part"]), watcher=watcher, **settings)
    if not values["quiet"]:
        typer.echo(f"{number:,} trials were trained now; all files are in {to}. Next: equipoise study merge PLAN {to}")


def _show_end(plan: Path, where: str, key: str, *, added: bool) -> None:
    from equipoise.cli.commands._study_console import show_status
    from equipoise.studies.storage import OUTAGE, open_store

    with open_store(where, create=False, read_only=True, plan=key, outage=OUTAGE) as opened:
        status = opened.status()
        show_status(status, cells=False)
    if added and status.waiting:
        typer.echo(
            f"{status.waiting:,} trials of the budget were not trained: no comparison is left that more seeds would "
            "decide."
        )
    if status.failed:
        typer.echo(
            f"Why they failed: equipoise study status {plan} --failures; study run --retry-failed tries them again."
        )
    typer.echo(f"Next: equipoise study report {plan}")


@takes(STUDY_OPTIONS["status"])
def status(plan: PlanFile, *, values: dict[str, Any]) -> None:
    """Count the trials of each cell (waiting, running, done, failed), with the reasons for failures."""
    from equipoise.cli.commands._study_console import show_change, show_failures, show_status
    from equipoise.studies import of_verdicts, read_plan, study_status
    from equipoise.studies.running import change_of
    from equipoise.studies.storage import open_store

    # The store first: that there is none is said before the data are read.
    where = _store(plan, values)
    read = read_plan(plan)
    with open_store(where, create=False, read_only=True):
        pass
    with read.located():
        study = read.study()
        counts = study_status(study, where)
        study = of_verdicts(study, where)
        with open_store(where, create=False, read_only=True, plan=study.plan_key) as opened:
            change = change_of(study, opened)
            failed = opened.trials(["failed"]) if counts.failed else ()
            traces = opened.tracebacks([trial.key for trial in failed]) if values["failures"] else None
    show_status(counts)
    show_failures(failed, traces)
    show_change(change)


@takes(STUDY_OPTIONS["report"])
def report(plan: PlanFile, *, values: dict[str, Any]) -> None:
    """Which treatment is best under which condition, is it significant, what does it cost, is it stable?

    Ends with 1 if trials are damaged in the store; these are left out.
    """
    from equipoise.cli._console import Output, show_progress
    from equipoise.foundation import command_line
    from equipoise.studies import read_plan
    from equipoise.studies.plans import effect_of

    output = Output.of(values)
    output.check(inputs=[str(plan)])
    read = read_plan(plan)
    # What is not given is as the plan has it.
    options = {name: value for name, value in arguments(STUDY_OPTIONS["report"], values, FOR_RESULT).items() if value}
    if values["equivalence_margin"] is not None:
        options["equivalence_margin"] = effect_of(values["equivalence_margin"], "--equivalence-margin")
    with read.located(), show_progress("Reading the trials", quiet=output.quiet) as tracker:
        result = read.study().result(_store(plan, values), **options, command=command_line(), progress=tracker)
    output.deliver(result)
    damaged = sum(failure.trials for failure in result.failures if failure.damaged)
    if damaged:
        typer.echo(
            f"equipoise: {damaged:,} trials are damaged in the store and left out; study run trains them again.",
            err=True,
        )
        raise typer.Exit(1)


@takes(STUDY_OPTIONS["diagnose"])
def diagnose(plan: PlanFile, *, values: dict[str, Any]) -> None:
    """Run the plan's first trial twice, step by step: which tensor differs first, by how much, how does it grow?"""
    from equipoise.cli._console import Output
    from equipoise.foundation import command_line
    from equipoise.studies import diagnose as diagnose_plan
    from equipoise.studies import read_plan

    output = Output.of(values)
    output.check(inputs=[str(plan)])
    read = read_plan(plan)
    with read.located():
        diagnosis = diagnose_plan(
            read.study(), **arguments(STUDY_OPTIONS["diagnose"], values, FOR_DIAGNOSE), command=command_line()
        )
    output.deliver(diagnosis)


@takes(STUDY_OPTIONS["refit"])
def refit(plan: PlanFile, *, values: dict[str, Any]) -> None:
    """Train one treatment of the plan again, and save the model with its audit.

    Ends with 1 if rounding is deterministic and the model does not predict what the store holds; it is saved all the
    same.
    """
    from equipoise.cli._console import show_progress
    from equipoise.foundation import command_line
    from equipoise.studies import read_plan
    from equipoise.studies import refit as refit_cell

    read = read_plan(plan)
    with read.located(), show_progress("Preparing the model", quiet=values["quiet"]) as tracker:
        settings = arguments(STUDY_OPTIONS["refit"], values, FOR_REFIT)
        where = _store(plan, values)
        study = read.study().searched(where)
        done = refit_cell(study, where, **settings, progress=tracker, command=command_line())
    if not values["quiet"]:
        for sentence in done.words:
            typer.echo(sentence)
    if done.deterministic and done.agreements and not done.equal:
        raise typer.Exit(1)


@takes(STUDY_OPTIONS["export"])
def export(
    plan: PlanFile,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .parquet or .csv file.", show_default=False)],
    *,
    values: dict[str, Any],
) -> None:
    """Write a table of trials, one row per trial, split and measure, for other tools (and for equipoise evidence)."""
    from equipoise.foundation import check_writable
    from equipoise.studies import read_plan
    from equipoise.studies.findings import check_ending, write_table

    check_ending(file)
    check_writable(file, inputs=[str(plan)])
    read = read_plan(plan)
    with read.located():
        settings = arguments(STUDY_OPTIONS["export"], values, FOR_EXPORT)
        where = _store(plan, values)
        rows = write_table(read.study().searched(where), where, file, **settings)
    if not values["quiet"]:
        typer.echo(f"{rows:,} rows are in {file}")


@takes(STUDY_OPTIONS["merge"])
def merge(
    plan: PlanFile,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that --to wrote.", show_default=False)],
    *,
    values: dict[str, Any],
) -> None:
    """Import trials that ran elsewhere; each is imported once, however often it is merged."""
    from equipoise.cli.commands._study_console import show_merged
    from equipoise.studies import read_plan
    from equipoise.studies.running import enter
    from equipoise.studies.running import merge as merge_folder
    from equipoise.studies.storage import open_store

    read = read_plan(plan)
    with read.located():
        study = read.study().searched(_store(plan, values))
        settings = arguments(STUDY_OPTIONS["merge"], values, FOR_OPEN)
        with open_store(_store(plan, values), plan=study.plan_key, **settings) as opened:
            enter(study, opened)
            merged = merge_folder(folder, opened, study.labels)
    if not values["quiet"]:
        show_merged(merged)
    if merged.refused:
        raise typer.Exit(1)


@takes(STUDY_OPTIONS["worker"])
def worker(plan: PlanFile, *, values: dict[str, Any]) -> None:
    """Work on a study that is running, from another terminal or another machine that reaches its store."""
    from dataclasses import replace

    from equipoise.cli.commands._study_console import study_progress
    from equipoise.studies import read_plan, run_study
    from equipoise.studies.findings import check_same_plan
    from equipoise.studies.running import check_device, check_same_data, checkpoints_of, new_owner, work_through
    from equipoise.studies.storage import open_store

    read = read_plan(plan)
    with read.located():
        study, where = read.study(), _store(plan, values)
        settings = arguments(STUDY_OPTIONS["worker"], values, FOR_OPEN)
        if study.search is not None:
            with open_store(where, create=False, read_only=True), study_progress(quiet=values["quiet"]) as watcher:
                run_study(study, where, watcher=watcher, **settings)
            return
        with (
            open_store(where, create=False, plan=study.plan_key, **settings) as opened,
            study_progress(quiet=values["quiet"]) as watcher,
        ):
            check_device(study.work)
            check_same_data(study.work, opened)
            check_same_plan(study, opened, to_train=True)
            if study.stopping is not None:
                run_study(study, _store(plan, values), watcher=watcher, **settings)
                return
            work = replace(study.work, checkpoints=checkpoints_of(opened))
            work_through(work, study.labels, opened, new_owner(), watcher=watcher)


@takes(STUDY_OPTIONS["pack"])
def pack(
    plan: PlanFile,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder.", show_default=False)],
    *,
    values: dict[str, Any],
) -> None:
    """Write what training needs, without test labels, for a machine that has torch and little else."""
    from equipoise.studies import read_plan
    from equipoise.studies.running import pack as write_pack

    read = read_plan(plan)
    with read.located():
        write_pack(_planned(read, plan, {"store": None}, "pack").work, folder)
    if not values["quiet"]:
        typer.echo(f"Packed. There: equipoise study run {folder} --to OUT; here: equipoise study merge {plan} OUT")


COMMANDS = {
    command.__name__: command for command in (check, run, status, report, diagnose, refit, export, merge, worker, pack)
}
