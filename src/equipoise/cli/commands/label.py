"""``equipoise label``: a discovered direction becomes a group column of real pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli._options import arguments, pairs, registered, takes
from equipoise.discovery import (
    FOR_AUDIT,
    FOR_COHORT,
    FOR_GENERATOR,
    FOR_PROBE,
    LABEL_OPTIONS,
)
from equipoise.foundation import (
    BadInput,
    unknown_name,
)

if TYPE_CHECKING:
    from equipoise.cohorts import Cohort
    from equipoise.discovery import Hyperplane, Reader
    from equipoise.foundation import Progress

# A reader that explains less of a direction than this hardly sees it.
WEAK = 0.5
PREDICTED, SCORE = "predicted", "score"
# The share of all work that is done when every picture is classified.
CLASSIFIED = 0.5
PARTED = {"median": "median", "plane": "plane", "thirds": "outer thirds"}


EXAMPLES = ("label faces --directions directions.safetensors --encoder vae.safetensors --out labelled.csv",)


@takes(LABEL_OPTIONS)
def label(
    cohort: Annotated[
        str,
        typer.Argument(
            help="A registered cohort with pictures, or a table that names their files.",
            autocompletion=registered("cohort"),
        ),
    ],
    *,
    values: dict[str, Any],
) -> None:
    """Label real pictures by a discovered direction, so that an audit measures its gap and a study treats it."""
    from equipoise.cli._console import Output, print_lines, show_progress
    from equipoise.cli._networks import check_used, directions_files, known_files, network_file
    from equipoise.cohorts import columns_text
    from equipoise.discovery import (
        KnownAttributes,
        audit_direction,
        pictures_of,
        read_distances,
        read_known_attributes,
        sides,
        training_rows,
        with_sides,
    )
    from equipoise.foundation import (
        command_line,
        write_file,
        write_together,
    )

    output = Output.of(values)
    out, known, prediction, classifier = (values[name] for name in ("out", "known", "prediction", "classifier"))
    networks = [values[name] for name in ("encoder", "generator", "classifier") if values[name]]
    read = [cohort, *(values[name] for name in ("path", "extra_columns", "probe")), *map(network_file, networks)]
    output.check(
        inputs=[
            *(str(file) for file in read if file is not None), *directions_files(values["directions"]),
            *known_files(known),
        ],
        others={"--out": [out], **({} if values["save_probe"] is None else {"--save-probe": [values["save_probe"]]})},
    )  # fmt: skip
    if values["halves"] not in PARTED:
        raise unknown_name("--halves", values["halves"], PARTED, "equipoise label")
    if prediction is not None and classifier is not None:
        raise BadInput("--prediction and --classifier were given", available="one of them: what is audited")
    check_used(values)
    requested = [f"--{name}" for name in (*output.files, *(["figures"] * (output.figures is not None)))]
    if requested and prediction is None and classifier is None:
        raise BadInput(f"{requested[0]} was given, and nothing is audited", help="add --prediction or --classifier.")
    shades = pixels_of(values["pixels"])
    plane = direction_of(values["directions"], values["direction"])
    named = KnownAttributes(None, ()) if known is None else read_known_attributes(known, plane.size)
    check_reader(values)
    with show_progress("Reading the pictures", quiet=output.quiet) as done:
        loaded = cohort_of(cohort, values["option"], arguments(LABEL_OPTIONS, values, FOR_COHORT))
        extra = {} if classifier is None else predicted(loaded, values, shades, done)
        reader, quality = made_reader(values, plane, shades, done)
        done("Labelling", 0.9)
        distances = read_distances(pictures_of(loaded), [plane], reader)
        parted: Any = PARTED[values["halves"]]
        upper = sides(distances, training_rows(loaded), parted)[:, 0]
        marked = with_sides(loaded, plane, upper, reader.description, parted, values["name"])
        column = marked.groups[-1]
        audited = None
        if classifier is not None or prediction is not None:
            done("Auditing", 0.95)
            audited = audit_direction(
                loaded, prediction if classifier is None else extra[PREDICTED], plane, probe=reader,
                target=named.target, known=named.hyperplanes, halves=parted, notes=named.notes, command=command_line(),
                **arguments(LABEL_OPTIONS, values, FOR_AUDIT),
            )  # fmt: skip

    def write_table() -> list[str]:
        labels = {column: marked[column], f"{column} distance": distances[:, 0], **extra}
        write_file(out, columns_text(loaded, labels))
        return summary(marked, column, reader, quality, [] if audited is not None else named.notes, out)

    if audited is not None:
        output.deliver(audited, write_table)
    else:
        with write_together():
            lines = write_table()
        if output.prints:
            print_lines(lines)


def check_reader(values: Mapping[str, Any]) -> None:
    """Refuse all but one way to read pictures: a VAE's encoder, a generator that teaches a probe, or a saved probe."""
    if sum(values[name] is not None for name in ("encoder", "generator", "probe")) != 1:
        raise BadInput(
            "None or several ways to read pictures were given", available="one of --encoder, --generator and --probe"
        )
    if values["generator"] is None:
        of_generator = [of for of in LABEL_OPTIONS if of.name in ("save_probe", "latent_size", "prior")]
        for flag in (of.flag for of in of_generator if values[of.name] is not None):
            raise BadInput(f"{flag} was given without --generator", help=f"leave out {flag}.")


def made_reader(
    values: Mapping[str, Any], plane: Hyperplane, pixels: tuple[float, float], done: Progress
) -> tuple[Reader, float | None]:
    """Return what reads pictures, and its R2 for a direction on generated pictures, where there are any."""
    from equipoise.discovery import (
        EncoderDistances,
        ProbeSettings,
        fidelity,
        load_encoder,
        load_generator,
        load_probe,
        train_probe,
    )
    from equipoise.discovery.generative import TrainedVAE

    seed = values["seed"]
    if values["encoder"] is not None:
        encoder = load_encoder(values["encoder"], values["device"])
        encoded = EncoderDistances(encoder)
        if not isinstance(encoder, TrainedVAE):
            return encoded, None
        return encoded, float(fidelity(encoded, encoder.generator(), [plane], seed=seed)[0])
    if values["probe"] is not None:
        probe = load_probe(values["probe"], values["device"])
        return probe, probe.r2.get(plane.name)
    generator = load_generator(values["generator"], **arguments(LABEL_OPTIONS, values, FOR_GENERATOR))
    plane.distance(generator.sample(1, 0))
    settings = ProbeSettings(**arguments(LABEL_OPTIONS, values, FOR_PROBE), pixels=pixels)
    taught = train_probe(
        generator, None, settings, lambda stand: done("Training the probe", CLASSIFIED + 0.4 * stand.step / stand.steps)
    )
    quality = float(fidelity(taught, generator, [plane], seed=seed, pixels=pixels)[0])
    if values["save_probe"] is not None:
        replace(taught, r2={**taught.r2, plane.name: quality}).save(values["save_probe"])
    return taught, quality


def direction_of(path: Path, name: str | None) -> Hyperplane:
    """Return the direction of a file that is asked for, or the only one."""
    from equipoise.discovery import load_directions

    planes = {plane.name: plane for plane in load_directions(path)[0]}
    if name is None and len(planes) > 1:
        raise BadInput(
            f"{path.name} has several directions", available=", ".join(planes), help="--direction NAME names one."
        )
    if name is not None and name not in planes:
        raise unknown_name("direction", name, planes, path.name)
    return planes[name] if name is not None else next(iter(planes.values()))


def cohort_of(data_name: str, options: list[str] | None, options_given: Mapping[str, Any]) -> Cohort:
    """Load a registered cohort by its name, or a table, as a plan of a study would."""
    from equipoise.foundation import registry
    from equipoise.studies import CohortPlan, planned_cohort

    parts = {key: value for key, value in options_given.items() if value is not None}
    if data_name in [entry.name for entry in registry.entries("cohort")] and not Path(data_name).is_file():
        chosen = {option: _value(text) for option, text in pairs("--option", options or (), "rows=2000").items()}
        parts |= {"name": data_name, "options": chosen}
    else:
        absent = [name for name in ("pictures", "target") if name not in parts]
        if absent:
            raise BadInput(
                f"{data_name!r} is not a registered cohort, and a table needs --{absent[0]}",
                available="a registered cohort by its name, or a table with --pictures COL and --target COL",
            )
        # A table may have no group yet, and a cohort has one: the target stands in for it.
        parts |= {"file": data_name, "groups": [parts["target"]], "options": dict.fromkeys(options or (), "")}
    return planned_cohort(CohortPlan(**parts), Path("plan.toml"))


def _value(text: str) -> str | int | float | bool:
    """Read a value as a plan would: a number or true where it looks like one."""
    import tomllib

    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return value if isinstance(value, str | int | float | bool) else text


def predicted(cohort: Cohort, values: Mapping[str, Any], pixels: tuple[float, float], done: Progress) -> dict[str, Any]:
    """Return what a classifier says of every picture: the favourable class from a probability of 0.5 on."""
    import numpy as np

    from equipoise.cli._networks import named_classifier
    from equipoise.discovery import pictures_of, probabilities_of
    from equipoise.tallies import factorise

    classes = [label for label in factorise(cohort[cohort.target]).labels if label is not None]
    if len(classes) != 2 or cohort.favourable not in classes:
        raise BadInput(
            f"The classifier predicts one of two classes, and the target {cohort.target!r} has the classes "
            f"{', '.join(classes)}",
            available="two classes; --favourable names the one of the probability",
        )
    for column in (PREDICTED, SCORE):
        if column in cohort.columns:
            raise BadInput(
                f"The cohort has a column {column!r} already", help="to audit that column: --prediction {column}."
            )
    p = probabilities_of(
        named_classifier(LABEL_OPTIONS, values),
        pictures_of(cohort),
        pixels,
        lambda share: done("Classifying", CLASSIFIED * share),
    )
    other = next(label for label in classes if label != cohort.favourable)
    return {PREDICTED: np.where(p >= 0.5, cohort.favourable, other).astype(object), SCORE: p}


def pixels_of(text: str) -> tuple[float, float]:
    """Read what black and white are, such as -1,1."""
    try:
        low, high = (float(part) for part in text.split(","))
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ValueError("black is not below white")
    except ValueError as error:
        raise BadInput(
            f"--pixels is {text!r}", available="black and white, the first below the second: 0,1 or -1,1"
        ) from error
    return low, high


def summary(
    marked: Cohort, column: str, reader: Reader, quality: float | None, notes: Sequence[str], out: Path
) -> list[str]:
    """Say what was labelled and how well it can be seen; ``notes`` are of what is known, where no audit has them."""
    from equipoise.discovery import SIDES
    from equipoise.foundation import plural

    values = marked[column]
    counts = [f"{int((values == side).sum()):,} {side}" for side in SIDES.tolist() if (values == side).any()]
    lines = [
        f"{plural(len(marked), 'row')} labelled by {column}: {', '.join(counts)}, as estimated by {reader.description}."
    ]
    if quality is not None:
        weak = ": it hardly recognises it, so the column is unreliable." if not quality >= WEAK else "."
        lines.append(f"On generated pictures its R2 for this direction is {quality:.2f}{weak}")
    return [
        *lines,
        "The label is predicted from a picture; it says nothing about a person.",
        *notes,
        f"The table: {out}",
    ]
