"""``equipoise reproduce``: a paper's findings beside runs of one's own, or beside those that come with the package."""

from __future__ import annotations

import json as json_text
from importlib import resources
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli._options import choices, takes
from equipoise.studies import REPRODUCE_OPTIONS

if TYPE_CHECKING:
    from equipoise.studies.findings import Reproduction

PAPERS = ("004",)
# What the package carries of a paper: plans to run, and what our own runs said.
CARRIED = resources.files("equipoise") / "reproductions"
OURS = "ours.json"
# The study is named after it.
PLAN = "cifar10s.toml"
FULL, QUICK = {"epochs": 200, "repeats": 16}, {"epochs": 2, "repeats": 3}


EXAMPLES = (
    "reproduce 004 --html reproduction.html",
    "reproduce 004 --data cifar-10-batches-py --quick",
)


@takes(REPRODUCE_OPTIONS)
def reproduce(
    paper: Annotated[str, typer.Argument(help="The paper: 004.", show_default=False, autocompletion=choices(PAPERS))],
    *,
    values: dict[str, Any],
) -> None:
    """Show which findings of a paper hold in a new study, an earlier one, or the runs that come with the package."""
    from equipoise.cli._console import Output
    from equipoise.foundation import BadInput

    if paper not in PAPERS:
        raise BadInput(
            f"Paper {paper!r} cannot be reproduced with one command",
            available=", ".join(PAPERS),
            help=f"equipoise reproduce {PAPERS[0]}; what was reproduced of the other papers is in docs/papers.",
        )
    data: Path | None = values["data"]
    results: Path | None = values["results"]
    if data is not None and results is not None:
        raise BadInput("Both --data and --results were given", help="run a study, or read one.")
    of_a_run = [of for of in REPRODUCE_OPTIONS if of.name in ("to_folder", "device", "epochs", "repeats", "quick")]
    unused = [of.flag for of in of_a_run if values[of.name] != of.default]
    if data is None and unused:
        raise BadInput(f"{unused[0]} was given without --data", help="name the images: --data DIR.")
    output = Output.of(values)
    output.check(inputs=[] if results is None else [str(results)])
    if data is not None:
        folder = values["to_folder"] or Path(f"reproduce-{paper}")
        sizes = dict(QUICK if values["quick"] else FULL)
        sizes |= {name: values[name] for name in sizes if values[name] is not None}
        text = plan_text(paper, data, quick=values["quick"], device=values["device"] or "cpu", **sizes)
        output.deliver(_run(text, folder, quiet=output.quiet))
    else:
        output.deliver(_read(paper, results))


def plan_text(paper: str, data: Path, *, quick: bool, device: str, epochs: int, repeats: int) -> str:
    """Return the plan of a paper's study, filled in.

    A processor repeats itself to the last digit, so identical runs there differ by jitter; a GPU needs none.
    """
    template = (CARRIED / paper / ("quick.toml" if quick else "full.toml")).read_text(encoding="utf-8")
    return Template(template).substitute(
        data=json_text.dumps(str(data.resolve()), ensure_ascii=False),
        device=device,
        rounding="native" if device == "cuda" else "jitter",
        precision="tf32" if device == "cuda" else "float32",
        epochs=epochs,
        repeats=repeats,
    )


def _run(text: str, folder: Path, *, quiet: bool) -> Reproduction:
    """Check, run and report a plan in a folder; what is there already goes on where it was."""
    from equipoise.cli.commands._study_console import show_check, study_progress
    from equipoise.foundation import EquipoiseError, command_line
    from equipoise.studies import check, read_plan, run_study
    from equipoise.studies.findings import reproduction_of

    is_resumed = (folder / PLAN).exists()
    plan = _written(text, folder)
    store = plan.with_suffix(".db")
    try:
        read = read_plan(plan)
        with read.located():
            study = read.study()
    except EquipoiseError:
        # A plan that cannot be run would only be in the way of the next.
        if not is_resumed:
            plan.unlink()
        raise
    with read.located():
        if not quiet:
            show_check(check(study, store))
        with study_progress(quiet=quiet) as watcher:
            run_study(study, store, watcher=watcher)
        result = study.result(store, command=["equipoise", "study", "report", plan.name])
    result.to_json(folder / "study.json")
    result.report(folder / "study.html")
    if not quiet:
        typer.echo(f"The study: {folder / 'study.html'} and {folder / 'study.json'}")
    return reproduction_of(result, command_line())


def _written(text: str, folder: Path) -> Path:
    """Write the plan into its folder; another plan that is there is never written over."""
    from equipoise.foundation import BadInput, write_file

    if folder.exists() and not folder.is_dir():
        raise BadInput(f"The folder {str(folder)!r} is a file", help="name a folder: --to-folder DIR.")
    folder.mkdir(parents=True, exist_ok=True)
    plan = folder / PLAN
    if plan.exists() and plan.read_text(encoding="utf-8") != text:
        raise BadInput(
            f"{str(plan)!r} is the plan of another run: images, device, epochs or repeats differ",
            help="name another folder: --to-folder DIR, or continue it: equipoise study run PLAN.",
        )
    return write_file(plan, text)


def _read(paper: str, results: Path | None) -> Reproduction:
    """Return what a study that was run says, or what our own runs said."""
    from equipoise.foundation import BadInput, command_line
    from equipoise.studies.findings import read_reproduction, reproduction_from

    if results is not None:
        return reproduction_from(results, command_line())
    ours = CARRIED / paper / OURS
    if not ours.is_file():
        raise BadInput(
            f"This version has no results for paper {paper}",
            help="run its study: --data DIR; or read an earlier one: --results FILE.",
        )
    with resources.as_file(ours) as file:
        return read_reproduction(file)
