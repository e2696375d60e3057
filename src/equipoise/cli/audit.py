"""``equipoise audit``: any model's outcomes, counted right, in one command."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli.options import (
    Bins,
    Categorical,
    Cluster,
    CsvFile,
    Draws,
    Drop,
    FiguresFolder,
    Groups,
    HtmlFile,
    Id,
    IncludeMissing,
    JsonFile,
    LatexFile,
    Missing,
    Quiet,
    Rows,
    Seed,
    SuppressBelow,
)

if TYPE_CHECKING:
    from equipoise.audits.result import AuditResult
    from equipoise.cli.progress import Steps


def audit(
    ctx: typer.Context,
    file: Annotated[
        str | None, typer.Argument(help="CSV, Parquet (file, folder or glob) or Arrow.", show_default=False)
    ] = None,
    group: Groups = None,
    target: Annotated[
        list[str] | None, typer.Option(metavar="COL", help="The true outcome. Without it: selection rates only.")
    ] = None,
    prediction: Annotated[list[str] | None, typer.Option(metavar="COL", help="The predicted outcome.")] = None,
    score: Annotated[str | None, typer.Option(metavar="COL", help="The score of the favourable class.")] = None,
    favourable: Annotated[
        str | None, typer.Option("--favourable", "--favorable", metavar="V", help="The class people want to get.")
    ] = None,
    task: Annotated[str, typer.Option(help="class, multilabel or regression.")] = "class",
    reference: Annotated[
        list[str] | None, typer.Option(metavar="COL=GROUP", help="The group others are held against.")
    ] = None,
    control: Annotated[
        str | None, typer.Option(metavar="COL", help="Also compute every gap within the values of a column.")
    ] = None,
    weight: Annotated[str | None, typer.Option(metavar="COL", help="Sample weights.")] = None,
    split: Annotated[str | None, typer.Option(metavar="COL", help="Audit each value of a column by itself.")] = None,
    bin: Bins = None,
    categorical: Categorical = None,
    missing: Missing = None,
    threshold: Annotated[
        float | None, typer.Option(help="Predicted where the score is at least this; 0.5 for scores from 0 to 1.")
    ] = None,
    score_class: Annotated[
        str | None, typer.Option(metavar="V", help="The class the score speaks for, if not the favourable one.")
    ] = None,
    intersections: Annotated[
        bool, typer.Option("--intersections/--no-intersections", help="Also cross all groups.")
    ] = False,
    pairs: Annotated[bool, typer.Option("--pairs/--no-pairs", help="Also cross the groups two at a time.")] = False,
    include_missing: IncludeMissing = False,
    strict: Annotated[
        bool, typer.Option("--strict/--no-strict", help="A mean over classes is undefined as soon as one class is.")
    ] = False,
    variant: Annotated[str, typer.Option(help="paper, or authors: as the papers' own code computes.")] = "paper",
    suppress_below: SuppressBelow = 0,
    cluster: Cluster = None,
    against: Annotated[
        str | None, typer.Option(metavar="FILE", help="Tell what changed since these earlier rows (other people).")
    ] = None,
    against_prediction: Annotated[
        str | None, typer.Option(metavar="COL", help="Tell what changed since this prediction of the same rows.")
    ] = None,
    against_score: Annotated[
        str | None, typer.Option(metavar="COL", help="Tell what changed since this score of the same rows.")
    ] = None,
    embedding: Annotated[
        str | None, typer.Option(metavar="KEY", help="Audit an embedding: the array or column of points in FILE.")
    ] = None,
    rows: Rows = None,
    id: Id = None,
    drop: Drop = False,
    k: Annotated[int, typer.Option(metavar="K", help="How many nearest neighbours of a point count.")] = 1,
    metric: Annotated[str, typer.Option(help="euclidean, or cosine: every point at length 1.")] = "euclidean",
    majoritised: Annotated[
        list[str] | None,
        typer.Option(metavar="COL=A,B", help="The groups that others are held against; by default the largest."),
    ] = None,
    minoritised: Annotated[
        list[str] | None, typer.Option(metavar="COL=A,B", help="The groups that are held against those; else the rest.")
    ] = None,
    downstream: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Train this classifier on the points: logistic_regression, ..., or all; with settings, as in "
            "logistic_regression:C=0.1,1,10.",
        ),
    ] = None,
    downstream_target: Annotated[
        str | None, typer.Option(metavar="COL", help="What it learns, if not the target.")
    ] = None,
    rebalance: Annotated[
        str | None, typer.Option(metavar="HOW", help="Train it on equal class x group: up, down or weights.")
    ] = None,
    macro: Annotated[str, typer.Option(help="Means over a group's classes: default, or paper.")] = "default",
    train: Annotated[
        str | None,
        typer.Option(
            metavar="COL", help="True for rows it learns from, or train, dev and test; without it: five folds."
        ),
    ] = None,
    leakage: Annotated[
        bool, typer.Option("--leakage/--no-leakage", help="How well can the groups be read from the points?")
    ] = False,
    map: Annotated[str, typer.Option(help="The map of the points: pca, tsne, umap or none.")] = "pca",
    least_people: Annotated[int, typer.Option(metavar="N", help="Test no contrast with fewer people.")] = 30,
    gap: Annotated[
        float | None, typer.Option(metavar="G", help="Say how many people it takes to find this gap, such as 0.05.")
    ] = None,
    equivalence_margin: Annotated[
        float | None,
        typer.Option(metavar="D", help="Also say which differences are shown to be smaller than this, such as 0.05."),
    ] = None,
    draws: Draws = 2000,
    seed: Seed = 0,
    fail_if: Annotated[
        list[str] | None, typer.Option(metavar="GATE", help='Exit with 1 if it holds: "DI > 0.2", "EOTP.low > 0.05".')
    ] = None,
    allow_undefined: Annotated[
        bool,
        typer.Option("--allow-undefined/--no-allow-undefined", help="A gate on an undefined number is not broken."),
    ] = False,
    json: JsonFile = None,
    html: HtmlFile = None,
    figures: FiguresFolder = None,
    csv: CsvFile = None,
    latex: LatexFile = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Take what is not given here from a TOML file.")
    ] = None,
    save_config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write this command as a TOML file, to run it again.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Audit a model's outcomes, or an embedding: group sizes, rates, gaps, their evidence, and what cannot be told."""
    from equipoise.audits.gates import check_gates
    from equipoise.cli.output import Output, hold
    from equipoise.cli.progress import Steps, watching
    from equipoise.cli.settings import check_saving, save, settled
    from equipoise.foundation.files import together

    said = settled(ctx, config)
    gates = check_gates(said["fail_if"] or ())
    output = Output(**{name: said[name] for name in ("json", "html", "figures", "csv", "latex", "quiet")})
    read = [said["data"], said["against"], said["rows"], config]
    output.check(inputs=[str(path) for path in read if path is not None])
    if save_config is not None:
        check_saving(save_config, output, inputs=[said["data"], said["against"]])
    steps = Steps("Reading") if said["embedding"] is not None else None
    with watching("Counting", quiet=said["quiet"], steps=steps):
        result = _of_outcomes(said) if steps is None else _of_embedding(said, steps)
    with together():
        if save_config is not None:
            save(save_config, said)
        output.write(result)
    output.show(result)
    hold(result, gates, allow_undefined=said["allow_undefined"])


def _of_outcomes(said: Mapping[str, Any]) -> AuditResult:
    from equipoise.audits import audit as run
    from equipoise.foundation.provenance import command_line

    return run(
        said["data"],
        target=said["target"],
        prediction=said["prediction"],
        score=said["score"],
        favourable=said["favourable"],
        sensitive_features=said["group"],
        reference=said["reference"],
        control=said["control"],
        split=said["split"],
        weight=said["weight"],
        task=said["task"],
        threshold=said["threshold"],
        score_class=said["score_class"],
        bins=said["bin"],
        categorical=said["categorical"] or (),
        missing=said["missing"] or (),
        intersections="pairs" if said["pairs"] else said["intersections"],
        include_missing=said["include_missing"],
        strict=said["strict"],
        variant=said["variant"],
        suppress_below=said["suppress_below"],
        cluster=said["cluster"],
        against=said["against"],
        against_prediction=said["against_prediction"],
        against_score=said["against_score"],
        least_people=said["least_people"],
        gap_of_interest=said["gap"],
        equivalence_margin=said["equivalence_margin"],
        draws=said["draws"],
        seed=said["seed"],
        command=command_line(),
    )


def _of_embedding(said: Mapping[str, Any], steps: Steps) -> AuditResult:
    from equipoise.audits.embedding.audit import audit_embedding
    from equipoise.foundation.errors import BadInput
    from equipoise.foundation.provenance import command_line

    if len(said["target"] or ()) > 1:
        raise BadInput("Several targets were given with --embedding", available="one: the class of every point")
    return audit_embedding(
        said["data"],
        embedding=said["embedding"],
        rows=said["rows"],
        id=said["id"],
        drop=said["drop"],
        target=said["target"][0] if said["target"] else None,
        sensitive_features=said["group"],
        cluster=said["cluster"],
        k=said["k"],
        metric=said["metric"],
        majoritised={name: groups.split(",") for name, groups in said["majoritised"].items()},
        minoritised={name: groups.split(",") for name, groups in said["minoritised"].items()},
        rebalance=said["rebalance"] or False,
        macro=said["macro"],
        downstream=True if said["downstream"] == ["all"] else said["downstream"] or (),
        downstream_target=said["downstream_target"],
        train=said["train"],
        leakage=said["leakage"],
        map=said["map"],
        bins=said["bin"],
        categorical=said["categorical"] or (),
        missing=said["missing"] or (),
        include_missing=said["include_missing"],
        suppress_below=said["suppress_below"],
        least_people=said["least_people"],
        draws=said["draws"],
        seed=said["seed"],
        progress=steps,
        command=command_line(),
    )
