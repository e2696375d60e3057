"""``equipoise audit``: any model's outcomes, counted right, in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def audit(
    file: Annotated[str, typer.Argument(help="CSV, Parquet (file, folder or glob) or Arrow.", show_default=False)],
    group: Annotated[list[str], typer.Option(metavar="COL", help="A column of groups; may be given again.")],
    target: Annotated[
        list[str] | None, typer.Option(metavar="COL", help="The true outcome. Without it: selection rates only.")
    ] = None,
    prediction: Annotated[list[str] | None, typer.Option(metavar="COL", help="The predicted outcome.")] = None,
    score: Annotated[str | None, typer.Option(metavar="COL", help="The score of the favourable class.")] = None,
    favourable: Annotated[str | None, typer.Option(metavar="V", help="The class people want to get.")] = None,
    task: Annotated[str, typer.Option(help="class, multilabel or regression.")] = "class",
    reference: Annotated[
        list[str] | None, typer.Option(metavar="COL=GROUP", help="The group others are held against.")
    ] = None,
    control: Annotated[
        str | None, typer.Option(metavar="COL", help="Also compute every gap within the values of a column.")
    ] = None,
    weight: Annotated[str | None, typer.Option(metavar="COL", help="Sample weights.")] = None,
    split: Annotated[str | None, typer.Option(metavar="COL", help="Audit each value of a column by itself.")] = None,
    bin: Annotated[
        list[str] | None, typer.Option(metavar="COL=CUTS", help="Cut a number: age=25,45 or age=quantile:4.")
    ] = None,
    categorical: Annotated[
        list[str] | None, typer.Option(metavar="COL", help="The numbers in this group column are codes.")
    ] = None,
    missing: Annotated[
        list[str] | None, typer.Option(metavar="V", help="A value that means missing, such as NA.")
    ] = None,
    threshold: Annotated[float, typer.Option(help="Predicted where the score is at least this.")] = 0.5,
    score_class: Annotated[
        str | None, typer.Option(metavar="V", help="The class the score speaks for, if not the favourable one.")
    ] = None,
    intersections: Annotated[bool, typer.Option("--intersections", help="Also cross all groups.")] = False,
    include_missing: Annotated[
        bool, typer.Option("--include-missing", help="Let (missing) be a group in gaps.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="A mean over classes is undefined as soon as one class is.")
    ] = False,
    variant: Annotated[str, typer.Option(help="paper, or authors: as the papers' own code computes.")] = "paper",
    suppress_below: Annotated[int, typer.Option(metavar="N", help="Hide numbers about fewer people.")] = 0,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write every number as JSON.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Audit a model's outcomes: group sizes, rates as numerator / denominator, gaps, and what cannot be told."""
    from equipoise.audits import audit as run
    from equipoise.cli.output import deliver
    from equipoise.cli.pairs import pairs
    from equipoise.cli.progress import watching
    from equipoise.foundation.files import check_writable
    from equipoise.foundation.provenance import command_line

    if json is not None:
        check_writable(json, inputs=[file])
    with watching("Counting", quiet=quiet):
        result = run(
            file,
            target=target,
            prediction=prediction,
            score=score,
            favourable=favourable,
            sensitive_features=group,
            reference=pairs("--reference", reference or (), "sex=Male"),
            control=control,
            split=split,
            weight=weight,
            task=task,
            threshold=threshold,
            score_class=score_class,
            bins=pairs("--bin", bin or (), "age=25,45"),
            categorical=categorical or (),
            missing=missing or (),
            intersections=intersections,
            include_missing=include_missing,
            strict=strict,
            variant=variant,
            suppress_below=suppress_below,
            command=command_line(),
        )
    deliver(result, json=json, quiet=quiet)
