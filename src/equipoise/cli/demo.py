"""``equipoise demo``: see it work, with nothing but the package (and torch, to see it train or search)."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from equipoise.audits import audit_option
from equipoise.cli._completion import choices
from equipoise.cli._options import FiguresFolder, JsonFile, OpenPage, Quiet, option

if TYPE_CHECKING:
    from equipoise.audits import AuditResult
    from equipoise.results import Result
    from equipoise.studies.study import Study

DEMOS = ("audit", "study", "discover")
# Each takes its share of the cores: small stacks gain nothing from several threads, and lose where others work too.
WORKERS = 2
# The screen shows these gaps; the page has all of them.
GAPS_SHOWN = 5
GAP_KINDS = ("gap", "ratio", "summary")
FIRST = ("DP", "DI", "EOTP", "EOFP", "EO")


EXAMPLES = (
    "demo",
    "demo --open",
    "demo study --html study.html",
)


def demo(
    which: Annotated[
        str,
        typer.Argument(
            help="What to see: audit, or study or discover (which train, and need torch).",
            autocompletion=choices(DEMOS),
        ),
    ] = "audit",
    json: JsonFile = None,
    html: Annotated[Path, option(audit_option("html"))] = Path("demo.html"),
    no_html: Annotated[bool, typer.Option("--no-html", help="Write no page.", rich_help_panel="Output")] = False,
    figures: FiguresFolder = None,
    open: OpenPage = False,
    store: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Of the study: keep its trials here; the next time it is read.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Audit a census cohort, put three treatments on trial on it, or find a planted bias. Opens no network."""
    from equipoise.cli._output import Output
    from equipoise.foundation.errors import BadInput, unknown_name

    if which not in DEMOS:
        raise unknown_name("demo", which, DEMOS, "this version")
    if store is not None and which != "study":
        raise BadInput(f"--store was given, and the demo {which!r} trains nothing to keep", help="leave it out.")
    if open and no_html:
        raise BadInput("--open and --no-html were given", help="leave one out: without a page there is none to open.")
    page = None if no_html else html
    output = Output(json=json, html=page, figures=figures, quiet=quiet, open=open)
    output.check()
    if which == "discover":
        _discover(json, page, figures, quiet=quiet, open=open)
    elif which == "study":
        output.deliver(_study(store, quiet=quiet))
    else:
        result = _audit()
        output.write(result)
        output.show(shortened(result))
        if not quiet:
            typer.echo(_left_out(result, page or json))
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


def shortened(result: AuditResult) -> AuditResult:
    """Return an audit with the first measures of gaps alone, for a screen."""
    shown = gap_measures(result)[:GAPS_SHOWN]
    records = tuple(r for r in result.records if r.kind not in GAP_KINDS or r.measure in shown)
    return replace(result, records=records)


def gap_measures(result: AuditResult) -> list[str]:
    """Return the measures of gaps, in the order in which they are shown."""
    found = {r.measure: r.alias for r in result.records if r.kind in GAP_KINDS and r.attribute}
    return sorted(found, key=lambda name: (found[name] not in FIRST, name))


def _left_out(result: AuditResult, where: Path | None) -> str:
    rest = len(gap_measures(result)) - GAPS_SHOWN
    place = str(where) if where is not None else "the page, which --html FILE writes"
    return f"{rest} more measures of gaps are in {place}"


def _audit() -> AuditResult:
    from equipoise.audits import audit
    from equipoise.cohorts import load
    from equipoise.foundation.provenance import command_line

    return audit(load("adult").where("test"), reference={"sex": "Male"}, command=command_line())


def _study(store: Path | None, *, quiet: bool) -> Result:
    """Run the study of the demo in a store that is kept, or in one for the moment, and report it."""
    from equipoise.cli.study._console import watching_study
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


def _discover(json: Path | None, html: Path | None, figures: Path | None, *, quiet: bool, open: bool) -> None:
    """Plant a bias, find it, and say how near what was found is to what was planted."""
    from equipoise.cli._console import Steps, watching
    from equipoise.cli.discovery_delivery import Delivery
    from equipoise.discovery.demonstration import demonstrated, planted_words
    from equipoise.foundation.provenance import command_line

    steps = Steps("Training")
    with watching("Training", quiet=quiet, steps=steps):
        shown, made = demonstrated(report=steps, command=command_line())
    Delivery(json=json, html=html, figures=figures, quiet=quiet, open=open).deliver(made)
    if not quiet:
        typer.echo("\nWhat was planted")
        for line in planted_words(shown, made):
            typer.echo(f" • {line}")
