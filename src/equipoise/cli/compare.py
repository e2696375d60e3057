"""``equipoise compare``: whom did a change touch? Two representations of the same people, in one command."""

from __future__ import annotations

from typing import Annotated

import typer

from equipoise.cli.options import (
    Bins,
    Categorical,
    Cluster,
    Draws,
    Drop,
    FiguresFolder,
    HtmlFile,
    Id,
    IncludeMissing,
    JsonFile,
    Missing,
    NeededGroups,
    Quiet,
    Rows,
    Seed,
    SuppressBelow,
)


def compare(
    before: Annotated[
        str, typer.Argument(help=".npy, .npz, .safetensors, or a table with a column of lists.", show_default=False)
    ],
    after: Annotated[str, typer.Argument(help="The same people afterwards; the widths may differ.")],
    group: NeededGroups,
    rows: Rows = None,
    embedding: Annotated[
        str | None, typer.Option("--embedding", "--key", metavar="KEY", help="The array or the column of points.")
    ] = None,
    id: Id = None,
    drop: Drop = False,
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
    cluster: Cluster = None,
    bin: Bins = None,
    categorical: Categorical = None,
    missing: Missing = None,
    include_missing: IncludeMissing = False,
    show_rows: Annotated[bool, typer.Option("--show-rows", help="List the most changed one by one.")] = False,
    suppress_below: SuppressBelow = 0,
    draws: Draws = 2000,
    seed: Seed = 0,
    json: JsonFile = None,
    html: HtmlFile = None,
    figures: FiguresFolder = None,
    quiet: Quiet = False,
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
            drop=drop,
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
