"""``equipoise evidence``: is the effect of a technique real? Repeated training runs, judged in one command."""

from __future__ import annotations

from typing import Annotated

import typer

from equipoise.cli.options import CsvFile, FiguresFolder, HtmlFile, JsonFile, LatexFile, Missing, Quiet


def evidence(
    file: Annotated[
        str, typer.Argument(help="Results of runs in long form: CSV, Parquet or Arrow.", show_default=False)
    ],
    technique: Annotated[str, typer.Option(metavar="COL", help="The column of techniques.")] = "technique",
    metric: Annotated[str, typer.Option(metavar="COL", help="The column of metrics.")] = "metric",
    run: Annotated[str, typer.Option(metavar="COL", help="The column that tells runs apart.")] = "run",
    value: Annotated[str, typer.Option(metavar="COL", help="The column of values.")] = "value",
    baseline: Annotated[
        str | None, typer.Option(metavar="NAME", help="The technique that all others are compared with.")
    ] = None,
    baseline_column: Annotated[
        str | None, typer.Option(metavar="COL", help="Or: the column that names each technique's own baseline.")
    ] = None,
    performance: Annotated[
        list[str] | None, typer.Option(metavar="METRIC", help="A metric that is better high; may be given again.")
    ] = None,
    alternative: Annotated[
        str, typer.Option(help="two-sided, or observed: one-sided in the direction of the means.")
    ] = "two-sided",
    test: Annotated[
        str, typer.Option(help="permutation, mann-whitney or brunner-munzel; of pairs sign-flip or wilcoxon.")
    ] = "permutation",
    pair: Annotated[str | None, typer.Option(metavar="COL", help="Pair runs by a column, such as the seed.")] = None,
    correction: Annotated[str, typer.Option(help="For many tests: none, bh or holm.")] = "bh",
    threshold: Annotated[float, typer.Option(help="A corrected p up to this is a finding.")] = 0.05,
    margin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[METRIC=]D",
            help="Also test whether differences are within D: 0.02, or DP=0.02 (may be given again).",
        ),
    ] = None,
    spread: Annotated[
        str, typer.Option(help="The spread that is a cost: absolute, or relative to the mean.")
    ] = "absolute",
    by: Annotated[
        str | None, typer.Option(metavar="COL", help="The column of classes: list those that flip between runs.")
    ] = None,
    missing: Missing = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(metavar="GATE", help='Exit with 1 if it holds for a technique: "share(DI > 0.2) > 0.05".'),
    ] = None,
    json: JsonFile = None,
    html: HtmlFile = None,
    figures: FiguresFolder = None,
    csv: CsvFile = None,
    latex: LatexFile = None,
    quiet: Quiet = False,
) -> None:
    """Judge repeated training runs: tests, effect sizes, costs, and what one run would have told."""
    from equipoise.audits.evidence import check_run_gates, margins_given
    from equipoise.audits.evidence import evidence as run_evidence
    from equipoise.cli.output import Output, end_if_broken
    from equipoise.foundation.provenance import command_line

    gates = check_run_gates(fail_if or ())
    output = Output(json=json, html=html, figures=figures, csv=csv, latex=latex, quiet=quiet)
    output.check(inputs=[file])
    result = run_evidence(
        file,
        technique=technique,
        metric=metric,
        run=run,
        value=value,
        baseline=baseline,
        baseline_column=baseline_column,
        performance=performance or (),
        alternative=alternative,
        test=test,
        pair=pair,
        correction=correction,
        threshold=threshold,
        margin=margins_given(margin or ()),
        spread=spread,  # type: ignore[arg-type]
        by=by,
        missing=missing or (),
        command=command_line(),
    )
    check = result.check(*gates)
    output.deliver(result)
    end_if_broken(check)
