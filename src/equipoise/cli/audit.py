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
    cluster: Annotated[
        str | None, typer.Option(metavar="COL", help="Rows that belong together; intervals draw these.")
    ] = None,
    least_people: Annotated[int, typer.Option(metavar="N", help="Test no contrast with fewer people.")] = 30,
    gap: Annotated[
        float | None, typer.Option(metavar="G", help="Say how many people it takes to find this gap, such as 0.05.")
    ] = None,
    draws: Annotated[int, typer.Option(metavar="N", help="Random draws for tests; 0 for no tests.")] = 2000,
    seed: Annotated[int, typer.Option(metavar="N", help="Where random draws start.")] = 0,
    fail_if: Annotated[
        list[str] | None, typer.Option(metavar="GATE", help='Exit with 1 if it holds: "DI > 0.2", "EOTP.low > 0.05".')
    ] = None,
    allow_undefined: Annotated[
        bool, typer.Option("--allow-undefined", help="A gate on an undefined number is not broken.")
    ] = False,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write every number as JSON.")] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page that works offline.")] = None,
    figures: Annotated[Path | None, typer.Option(metavar="DIR", help="Write the charts as PNG and SVG.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Audit a model's outcomes: group sizes, rates as numerator / denominator, gaps, and what cannot be told."""
    from equipoise.audits import audit as run
    from equipoise.audits.gates import check_gates
    from equipoise.cli.output import Output, hold
    from equipoise.cli.pairs import pairs
    from equipoise.cli.progress import watching
    from equipoise.foundation.provenance import command_line

    gates = check_gates(fail_if or ())
    output = Output(json=json, html=html, figures=figures, quiet=quiet)
    output.check(inputs=[file])
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
            cluster=cluster,
            least_people=least_people,
            gap_of_interest=gap,
            draws=draws,
            seed=seed,
            command=command_line(),
        )
    output.deliver(result)
    hold(result, gates, allow_undefined=allow_undefined)
