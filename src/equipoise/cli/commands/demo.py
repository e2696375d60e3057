"""``equipoise demo``: see it work, with nothing but the package (and torch, to see it train or search)."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.audits import OUTPUTS, audit_option
from equipoise.cli._options import choices, option, takes

if TYPE_CHECKING:
    from equipoise.audits import AuditResult
    from equipoise.cli._console import Output
    from equipoise.results import Result
    from equipoise.studies import Study

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


@takes([of for of in OUTPUTS if of.name != "html"])
def demo(
    which: Annotated[
        str,
        typer.Argument(
            help="What to see: audit, or study or discover (which train, and need torch).",
            autocompletion=choices(DEMOS),
        ),
    ] = "audit",
    html: Annotated[Path, option(audit_option("html"))] = Path("demo.html"),
    no_html: Annotated[bool, typer.Option("--no-html", help="Write no page.", rich_help_panel="Output")] = False,
    store: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="For the study: keep its trials here, and read them the next time."),
    ] = None,
    *,
    values: dict[str, Any],
) -> None:
    """Audit census data, compare three treatments on them, or find a planted bias. Works without a network."""
    from equipoise.cli._console import Output, print_lines
    from equipoise.foundation import (
        BadInput,
        unknown_name,
    )

    if which not in DEMOS:
        raise unknown_name("demo", which, DEMOS, "this version")
    if store is not None and which != "study":
        raise BadInput(f"--store was given, and the demo {which!r} trains no trials", help="leave it out.")
    if values["open"] and no_html:
        raise BadInput("--open and --no-html were given", help="leave one out: without a page there is none to open.")
    output = Output.of(values | {"html": None if no_html else html})
    output.check()
    if which == "discover":
        lines = _discover(output)
    elif which == "study":
        output.deliver(_study(store, quiet=output.quiet))
        lines = []
    else:
        result = _audit()
        output.write(result)
        output.show(shortened(result))
        lines = [_left_out(result, output.html or output.json)]
    if output.prints:
        print_lines([*lines, *NEXT[which]])


NEXT = {
    "audit": (
        "",
        "The same on your own file:",
        '  equipoise audit predictions.parquet --target income --prediction predicted --favourable ">50K" '
        "--group sex --group race",
    ),
    "study": ("", "A study of your own is a page of TOML (docs/guide/studies.md):", "  equipoise study run plan.toml"),
    "discover": (
        "",
        "The same for your own networks (docs/guide/discovery.md):",
        "  equipoise discover --classifier my_model.py:classifier --generator my_gan.py:generator "
        "--latent-size 128 --html found.html",
    ),
}


def shortened(result: AuditResult) -> AuditResult:
    """Return an audit with the first measures of gaps alone, for a screen."""
    measures = gap_measures(result)[:GAPS_SHOWN]
    records = tuple(r for r in result.records if r.kind not in GAP_KINDS or r.measure in measures)
    return replace(result, records=records)


def gap_measures(result: AuditResult) -> list[str]:
    """Return the measures of gaps, in the order in which they are shown."""
    aliases = {r.measure: r.alias for r in result.records if r.kind in GAP_KINDS and r.attribute}
    return sorted(aliases, key=lambda name: (aliases[name] not in FIRST, name))


def _left_out(result: AuditResult, where: Path | None) -> str:
    more = len(gap_measures(result)) - GAPS_SHOWN
    return f"{more} more measures of gaps are in {where or 'the page, which --html FILE writes'}"


def _audit() -> AuditResult:
    from equipoise.audits import audit
    from equipoise.cohorts import load
    from equipoise.foundation import command_line

    return audit(load("adult").where("test"), reference={"sex": "Male"}, command=command_line())


def _study(store: Path | None, *, quiet: bool) -> Result:
    """Run the study of the demo in a store that is kept, or in a temporary one, and report it."""
    from equipoise.cli.commands._study_console import study_progress
    from equipoise.foundation import command_line
    from equipoise.studies import run_study

    study = demo_study()
    with tempfile.TemporaryDirectory(prefix="equipoise-") as folder:
        where = Path(folder) / "study.db" if store is None else store
        with study_progress(quiet=quiet) as watcher:
            run_study(study, where, workers=WORKERS, watcher=watcher)
        return study.result(where, command=command_line())


def demo_study() -> Study:
    """Return the study of the demo: the control and three treatments on two kinds of data.

    As ``study check`` advises, it has one run of each of twenty seeds and not four of each of five: other seeds say
    more than reruns. It has one attribute and few measures, so that the correction leaves room for a decision.
    """
    from equipoise.cohorts import load
    from equipoise.studies import Study

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


def _discover(output: Output) -> list[str]:
    """Plant a bias, find it, and return how close what was found is to what was planted."""
    from equipoise.cli._console import show_progress
    from equipoise.discovery import demonstrated, planted_words
    from equipoise.foundation import command_line

    with show_progress("Training", quiet=output.quiet) as tracker:
        demonstration, investigation = demonstrated(report=tracker, command=command_line())
    output.deliver(investigation)
    return ["", "What was planted", *(f" • {line}" for line in planted_words(demonstration, investigation))]
