"""``equipoise demo``: see it work, with nothing but the package (and torch, to see it train or search)."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from equipoise.cli.options import FiguresFolder, HtmlFile, JsonFile, Quiet

if TYPE_CHECKING:
    from equipoise.results import Result
    from equipoise.studies.study import Study

DEMOS = ("audit", "study", "discover")
# Each takes its share of the cores: small stacks gain nothing from several threads, and lose where others work too.
WORKERS = 2


def demo(
    which: Annotated[
        str, typer.Argument(help="What to see: audit, or study or discover (which train, and need torch).")
    ] = "audit",
    json: JsonFile = None,
    html: HtmlFile = None,
    figures: FiguresFolder = None,
    store: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Of the study: keep its trials here; the next time it is read.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Audit a census cohort, put three treatments on trial on it, or find a planted bias. Opens no network."""
    from equipoise.cli.output import Output
    from equipoise.foundation.errors import BadInput, unknown_name

    if which not in DEMOS:
        raise unknown_name("demo", which, DEMOS, "this version")
    if store is not None and which != "study":
        raise BadInput(f"--store was given, and the demo {which!r} trains nothing to keep", help="leave it out.")
    output = Output(json=json, html=html, figures=figures, quiet=quiet)
    output.check()
    if which == "discover":
        _discover(json, html, figures, quiet=quiet)
    else:
        output.deliver(_audit() if which == "audit" else _study(store, quiet=quiet))
    if not quiet:
        typer.echo(NEXT[which])


NEXT = {
    "audit": (
        "\nThe same on your own file:\n  equipoise audit predictions.parquet --target income "
        '--prediction predicted --favourable ">50K" --group sex --group race'
    ),
    "study": "\nA study of your own is a page of TOML (docs/studies.md):\n  equipoise study run plan.toml",
    "discover": (
        "\nThe same of your own networks (docs/discovery.md):\n  equipoise discover "
        "--classifier my_model.py:classifier --generator my_gan.py:generator --latent-size 128 --html found.html"
    ),
}


def _audit() -> Result:
    from equipoise.audits import audit
    from equipoise.cohorts import load
    from equipoise.foundation.provenance import command_line

    return audit(load("adult").where("test"), reference={"sex": "Male"}, command=command_line())


def _study(store: Path | None, *, quiet: bool) -> Result:
    """Run the study of the demo in a store that is kept, or in one for the moment, and report it."""
    from equipoise.cli.study.shown import watching_study
    from equipoise.foundation.provenance import command_line
    from equipoise.studies.running.running import run_in_store

    study = demo_study()
    with tempfile.TemporaryDirectory(prefix="equipoise-") as folder:
        where = Path(folder) / "study.db" if store is None else store
        with watching_study(quiet=quiet) as watcher:
            run_in_store(study, where, workers=WORKERS, watcher=watcher)
        return study.result(where, command=command_line())


def demo_study() -> Study:
    """Return the study of the demo: the control and three treatments on two kinds of data.

    As ``study check`` advises, one run of each of twenty seeds and not four of each of five: other seeds say more than
    reruns. It asks little, one attribute and five measures, so that the correction leaves room to decide something.
    """
    from dataclasses import replace

    from equipoise.cohorts import load
    from equipoise.studies.study import Study

    return Study(
        replace(load("adult"), groups=("sex",)),
        conditions=[{"name": "interpolation", "mode": "CB", "alpha": [0, 1]}],
        treatments=["untreated", "reweighting", "equal_opportunity_class", "adversarial"],
        learner={"name": "mlp", "width": 64, "epochs": 15, "batch_size": 256},
        seeds=20,
        size=3_000,
        dev=0.2,
        measures=["demographic_parity"],
        name="the demo",
    )


def _discover(json: Path | None, html: Path | None, figures: Path | None, *, quiet: bool) -> None:
    """Plant a bias, find it, and say how near what was found is to what was planted."""
    from equipoise.cli.discovery_delivery import Delivery
    from equipoise.cli.progress import Steps, watching
    from equipoise.discovery.demonstration import demonstrated, planted_words
    from equipoise.foundation.provenance import command_line

    steps = Steps("Training")
    with watching("Training", quiet=quiet, steps=steps):
        shown, made = demonstrated(report=steps, command=command_line())
    Delivery(json=json, html=html, figures=figures, quiet=quiet).deliver(made)
    if not quiet:
        typer.echo("\nWhat was planted")
        for line in planted_words(shown, made):
            typer.echo(f" • {line}")
