"""``equipoise compare``: whom did a change touch? Two representations of the same people, in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def compare(
    before: Annotated[
        str, typer.Argument(help=".npy, .npz, .safetensors, or a table with a column of lists.", show_default=False)
    ],
    after: Annotated[str, typer.Argument(help="The same people afterwards; the widths may differ.")],
    group: Annotated[list[str], typer.Option(metavar="COL", help="A column of groups; may be given again.")],
    rows: Annotated[
        str | None, typer.Option(metavar="FILE", help="Whose points they are: CSV, Parquet, Arrow, .npz.")
    ] = None,
    embedding: Annotated[
        str | None, typer.Option("--embedding", "--key", metavar="KEY", help="The array or the column of points.")
    ] = None,
    id: Annotated[
        str | None, typer.Option(metavar="COL", help="Match rows by this column or array, not by their order.")
    ] = None,
    share: Annotated[float, typer.Option(help="How many are the most changed.")] = 0.1,
    ties: Annotated[str, typer.Option(help="People with one score come in whole, or fractional.")] = "whole",
    kernel: Annotated[str, typer.Option(help="linear or rbf.")] = "linear",
    bandwidth: Annotated[
        float | None, typer.Option(metavar="S", help="Of the rbf kernel; by default the median distance.")
    ] = None,
    self_term: Annotated[
        bool, typer.Option("--self-term/--no-self-term", help="Let a person's similarity to itself count.")
    ] = True,
    describe: Annotated[
        list[str] | None, typer.Option(metavar="COL", help="Another column that may describe the most changed.")
    ] = None,
    direction: Annotated[
        str | None, typer.Option(metavar="FILE|COL=A,B", help="A concept to project on: a vector, or two groups.")
    ] = None,
    prediction_before: Annotated[str | None, typer.Option(metavar="COL", help="The predictions before.")] = None,
    prediction_after: Annotated[str | None, typer.Option(metavar="COL", help="The predictions after.")] = None,
    rerun: Annotated[
        str | None, typer.Option(metavar="FILE", help="AFTER from an identical second run: the noise floor.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="COL", help="Rows that belong together; tests deal out these.")
    ] = None,
    bin: Annotated[
        list[str] | None, typer.Option(metavar="COL=CUTS", help="Cut a number: age=25,45 or age=quantile:4.")
    ] = None,
    categorical: Annotated[
        list[str] | None, typer.Option(metavar="COL", help="The numbers in this group column are codes.")
    ] = None,
    missing: Annotated[
        list[str] | None, typer.Option(metavar="V", help="A value that means missing, such as NA.")
    ] = None,
    include_missing: Annotated[
        bool, typer.Option("--include-missing", help="Let (missing) be a group that is tested.")
    ] = False,
    show_rows: Annotated[bool, typer.Option("--show-rows", help="List the most changed one by one.")] = False,
    suppress_below: Annotated[int, typer.Option(metavar="N", help="Hide numbers about fewer people.")] = 0,
    draws: Annotated[int, typer.Option(metavar="N", help="Random draws for tests; 0 for no tests.")] = 2000,
    seed: Annotated[int, typer.Option(metavar="N", help="Where random draws start.")] = 0,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write every number as JSON.")] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page that works offline.")] = None,
    figures: Annotated[Path | None, typer.Option(metavar="DIR", help="Write the charts as PNG and SVG.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Compare representations before and after a change: who changed most, in words, with tests, and what followed."""
    from equipoise.audits.compare.comparing import compare as run
    from equipoise.cli.output import Output
    from equipoise.cli.pairs import pairs
    from equipoise.cli.progress import Steps, watching
    from equipoise.foundation.provenance import command_line

    output = Output(json=json, html=html, figures=figures, quiet=quiet)
    output.check(inputs=[file for file in (before, after, rows, rerun, direction) if file is not None])
    steps = Steps("Reading")
    with watching("Comparing", quiet=quiet, steps=steps):
        result = run(
            before,
            after,
            rows=rows,
            sensitive_features=group,
            embedding=embedding,
            id=id,
            share=share,
            ties=ties,
            kernel=kernel,
            bandwidth=bandwidth,
            self_term=self_term,
            describe=describe or (),
            direction=direction,
            prediction_before=prediction_before,
            prediction_after=prediction_after,
            rerun=rerun,
            cluster=cluster,
            bins=pairs("--bin", bin or (), "age=25,45"),
            categorical=categorical or (),
            missing=missing or (),
            include_missing=include_missing,
            show_rows=show_rows,
            suppress_below=suppress_below,
            draws=draws,
            seed=seed,
            progress=steps,
            command=command_line(),
        )
    output.deliver(result)
