"""``equipoise label``: a discovered direction becomes a group column of real pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from equipoise.cli.classifier_options import ClassNames, ClassOption, Logits, NamedClassifier, Resize, Size, check_used
from equipoise.cli.options import JsonFile, Quiet, Seed

PARTED = {"median": "median", "plane": "plane", "thirds": "outer thirds"}


def label(
    cohort: Annotated[
        str, typer.Argument(help="A registered cohort with pictures, or a table that names their files.")
    ],
    directions: Annotated[Path, typer.Option(metavar="FILE", help="Saved directions (.safetensors).")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Write the table with the new column (.csv).")],
    direction: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which of them; not needed where there is one.")
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Read pictures by an encoder: a VAE's (.safetensors), or FILE.py:NAME."),
    ] = None,
    generator: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Read them by a probe that it teaches (.safetensors, FILE.py:NAME)."),
    ] = None,
    probe: Annotated[Path | None, typer.Option(metavar="FILE", help="Read them by a probe that was kept.")] = None,
    save_probe: Annotated[Path | None, typer.Option(metavar="FILE", help="Keep the probe (.safetensors).")] = None,
    steps: Annotated[int, typer.Option(metavar="N", help="For how many steps the probe is taught.")] = 2000,
    latent_size: Annotated[int | None, typer.Option(metavar="D", help="Of a generator that is a plain module.")] = None,
    prior: Annotated[str | None, typer.Option(help="Of a generator that is a plain module: normal, uniform.")] = None,
    pixels: Annotated[
        str, typer.Option(metavar="B,W", help="What black and white are to generator and classifier.")
    ] = "0,1",
    path: Annotated[str | None, typer.Option(metavar="PATH", help="Where a registered cohort's file is.")] = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=V", help="An option of a registered cohort: rows=2000.")
    ] = None,
    pictures: Annotated[
        str | None, typer.Option(metavar="COL", help="The column of a table that names picture files.")
    ] = None,
    resize_pictures: Annotated[
        int | None, typer.Option(metavar="N", help="Bring those to this side in pixels.")
    ] = None,
    target: Annotated[str | None, typer.Option(metavar="COL", help="The true outcome.")] = None,
    split: Annotated[str | None, typer.Option(metavar="COL", help="The column of a table: train or test.")] = None,
    extra_columns: Annotated[
        str | None, typer.Option(metavar="FILE", help="More columns for the same rows, such as predictions.")
    ] = None,
    halves: Annotated[str, typer.Option(help="Where rows are parted: median, plane or thirds.")] = "median",
    name: Annotated[str | None, typer.Option(metavar="COL", help="The new column; else the direction's name.")] = None,
    prediction: Annotated[
        str | None, typer.Option(metavar="COL", help="Audit this prediction on test rows, against chance.")
    ] = None,
    classifier: Annotated[
        str | None, typer.Option(metavar="FILE.py:NAME", help="Or audit what this classifier says of the pictures.")
    ] = None,
    logits: Logits = None,
    class_: ClassOption = None,
    class_names: ClassNames = None,
    size: Size = None,
    resize: Resize = None,
    favourable: Annotated[str | None, typer.Option(metavar="V", help="The class people want to get.")] = None,
    known: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Target and known attributes, which random directions avoid.")
    ] = None,
    null: Annotated[int, typer.Option(metavar="N", help="How many random directions it is held against.")] = 199,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    seed: Seed = 0,
    json: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Label real pictures by a discovered direction, so that an audit measures its gap and a study treats it."""
    from equipoise.cli import labelling
    from equipoise.cli.apart import check_apart, directions_files, known_files, network_file
    from equipoise.cli.progress import Steps, watching
    from equipoise.cohorts.extra_columns import columns_text
    from equipoise.discovery.closing import audit_direction
    from equipoise.discovery.known_files import Known, read_known
    from equipoise.discovery.labelling import sides, training_rows, with_sides
    from equipoise.discovery.reading import pictures_of, read_distances
    from equipoise.foundation.errors import BadInput, unknown_name
    from equipoise.foundation.files import together, write_whole
    from equipoise.foundation.text import printable

    written = {"--out": out, "--json": json, "--save-probe": save_probe}
    networks = (encoder, generator, classifier)
    read = [cohort, path, extra_columns, probe, *(network_file(one) for one in networks if one)]
    check_apart(
        {wanted: [file] for wanted, file in written.items() if file is not None},
        [*(str(file) for file in read if file is not None), *directions_files(directions), *known_files(known)],
    )
    if halves not in PARTED:
        raise unknown_name("way to part rows", halves, PARTED, "equipoise label")
    if prediction is not None and classifier is not None:
        raise BadInput("--prediction and --classifier were given", available="one of them: what is audited")
    check_used(classifier, class_, class_names, logits, size, resize)
    if json is not None and prediction is None and classifier is None:
        raise BadInput("--json was given, and nothing is audited", help="add --prediction or --classifier.")
    shades = labelling.pixels_of(pixels)
    plane = labelling.direction_of(directions, direction)
    named = Known(None, ()) if known is None else read_known(known, plane.size)
    reading = labelling.Reading(
        encoder, generator, probe, save_probe, steps, latent_size, prior, shades, device, seed
    )  # fmt: skip
    said = {"path": path, "pictures": pictures, "resize": resize_pictures, "target": target, "split": split,
            "extra_columns": extra_columns, "favourable": favourable}  # fmt: skip
    done = Steps("Reading the pictures")
    with watching("Reading the pictures", quiet=quiet, steps=done):
        loaded = labelling.cohort_of(cohort, option, said)
        extra: dict[str, Any] = {}
        if classifier is not None:
            judged = NamedClassifier(classifier, class_, class_names, logits, size, resize, device)
            extra = labelling.predicted(loaded, judged, shades, done)
        reader, quality = reading.made(plane, done)
        done("Labelling", 0.9)
        distances = read_distances(pictures_of(loaded), [plane], reader)
        parted: Any = PARTED[halves]
        found = sides(distances, training_rows(loaded), parted)[:, 0]
        marked = with_sides(loaded, plane, found, reader.how, parted, name)
        column = marked.groups[-1]
        audited = None
        if classifier is not None or prediction is not None:
            done("Auditing", 0.95)
            audited = audit_direction(
                loaded, prediction if classifier is None else extra[labelling.PREDICTED], plane, probe=reader,
                target=named.target, known=named.known, null=null, halves=parted, name=name, seed=seed,
                notes=named.notes,
            )  # fmt: skip
    with together():
        write_whole(out, columns_text(loaded, {column: marked[column], f"{column} distance": distances[:, 0], **extra}))
        if audited is not None and json is not None:
            write_whole(json, _json(audited.as_json()))
    if not quiet:
        typer.echo(printable(labelling.told(marked, column, reader, quality, audited, named.notes, out)))


def _json(content: dict[str, Any]) -> str:
    import json

    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
