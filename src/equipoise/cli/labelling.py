"""The parts of ``equipoise label``: which cohort, which direction, what reads the pictures, and what is said."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.foundation.errors import BadInput, unknown_name

if TYPE_CHECKING:
    from equipoise.cli.classifier_options import NamedClassifier
    from equipoise.cli.progress import Steps
    from equipoise.cohorts.cohort import Cohort
    from equipoise.discovery.direction_audit import DirectionAudit
    from equipoise.discovery.hyperplane import Hyperplane
    from equipoise.discovery.reading import Reader

# A reader that explains less of a direction than this hardly sees it.
WEAK = 0.5
PREDICTED, SCORE = "predicted", "score"
# The share of all work that is done when every picture is classified.
CLASSIFIED = 0.5


@dataclass(frozen=True)
class Reading:
    """What reads pictures: exactly one of a VAE's encoder, a generator that teaches a probe, and a kept probe."""

    encoder: str | None
    generator: str | None
    probe: Path | None
    save: Path | None
    steps: int
    latent_size: int | None
    prior: str | None
    pixels: tuple[float, float]
    device: str
    seed: int

    def __post_init__(self) -> None:
        if sum(one is not None for one in (self.encoder, self.generator, self.probe)) != 1:
            raise BadInput(
                "Nothing that reads pictures was given, or more than one thing",
                available="one of --encoder, --generator and --probe",
            )
        if self.generator is None:
            given = {"--save-probe": self.save, "--latent-size": self.latent_size, "--prior": self.prior}
            for option in (option for option, value in given.items() if value is not None):
                raise BadInput(f"{option} was given without --generator", help=f"leave out {option}.")

    def made(self, plane: Hyperplane, done: Steps) -> tuple[Reader, float | None]:
        """Return the reader, and its R2 for a direction on generated pictures, where there are any."""
        from equipoise.discovery.generative.vae import TrainedVAE
        from equipoise.discovery.probing import ProbeSettings, load_probe, train_probe
        from equipoise.discovery.reading import EncoderDistances, fidelity
        from equipoise.discovery.user_files import load_encoder, load_generator

        if self.encoder is not None:
            encoder = load_encoder(self.encoder, self.device)
            encoded = EncoderDistances(encoder)
            if not isinstance(encoder, TrainedVAE):
                return encoded, None
            return encoded, float(fidelity(encoded, encoder.generator(), [plane], seed=self.seed)[0])
        if self.probe is not None:
            kept = load_probe(self.probe, self.device)
            return kept, kept.r2.get(plane.name)
        assert self.generator is not None
        made = load_generator(self.generator, latent_size=self.latent_size, prior=self.prior, device=self.device)
        plane.distance(made.sample(1, 0))
        settings = ProbeSettings(steps=self.steps, pixels=self.pixels, seed=self.seed)
        taught = train_probe(
            made, None, settings, lambda stand: done("Teaching the probe", CLASSIFIED + 0.4 * stand.step / stand.steps)
        )
        quality = float(fidelity(taught, made, [plane], seed=self.seed, pixels=self.pixels)[0])
        if self.save is not None:
            replace(taught, r2={**taught.r2, plane.name: quality}).save(self.save)
        return taught, quality


def direction_of(path: Path, wanted: str | None) -> Hyperplane:
    """Return the direction of a file that is asked for, or the only one."""
    from equipoise.discovery.saving import load_directions

    planes = {plane.name: plane for plane in load_directions(path)[0]}
    if wanted is None and len(planes) > 1:
        raise BadInput(
            f"{path.name} has several directions", available=", ".join(planes), help="--direction NAME names one."
        )
    if wanted is not None and wanted not in planes:
        raise unknown_name("direction", wanted, planes, path.name)
    return planes[wanted] if wanted is not None else next(iter(planes.values()))


def cohort_of(given: str, options: list[str] | None, said: Mapping[str, Any]) -> Cohort:
    """Load a registered cohort by its name, or a table, as a plan of a study would."""
    from equipoise.cli.pairs import pairs
    from equipoise.foundation.registry import registry
    from equipoise.studies.plans.plan import CohortPlan
    from equipoise.studies.plans.planned_cohort import planned_cohort

    parts = {key: value for key, value in said.items() if value is not None}
    if given in [entry.name for entry in registry.entries("cohort")] and not Path(given).is_file():
        chosen = {one: _value(text) for one, text in pairs("--option", options or (), "rows=2000").items()}
        parts |= {"name": given, "options": chosen}
    else:
        absent = [name for name in ("pictures", "target") if name not in parts]
        if absent:
            raise BadInput(
                f"{given!r} is no registered cohort, and as a table it was given without --{absent[0]}",
                available="a registered cohort by its name, or a table with --pictures COL and --target COL",
            )
        # A table may have no group yet, and a cohort has one: the target stands in for it.
        parts |= {"file": given, "groups": [parts["target"]], "options": dict.fromkeys(options or (), "")}
    return planned_cohort(CohortPlan(**parts), Path("plan.toml"))


def _value(text: str) -> str | int | float | bool:
    """Read a value as a plan would: a number or true where it looks like one."""
    import tomllib

    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return value if isinstance(value, str | int | float | bool) else text


def predicted(cohort: Cohort, named: NamedClassifier, pixels: tuple[float, float], done: Steps) -> dict[str, Any]:
    """Return what a classifier says of every picture: the favourable class from a probability of 0.5 on."""
    import numpy as np

    from equipoise.discovery.reading import pictures_of, probabilities_of
    from equipoise.tallies.factorise import factorise

    classes = [label for label in factorise(cohort[cohort.target]).labels if label is not None]
    if len(classes) != 2 or cohort.favourable not in classes:
        raise BadInput(
            f"The classifier's probability is to be that of a class, and the target {cohort.target!r} has the classes "
            f"{', '.join(classes)}",
            available="two classes, of which --favourable names the one that the probability speaks for",
        )
    for column in (PREDICTED, SCORE):
        if column in cohort.columns:
            raise BadInput(f"The cohort has a column {column!r} already", help="--prediction names what it has.")
    p = probabilities_of(
        named.loaded(), pictures_of(cohort), pixels, lambda share: done("Classifying", CLASSIFIED * share)
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


def told(
    marked: Cohort, column: str, reader: Reader, quality: float | None, audited: DirectionAudit | None,
    notes: Sequence[str], out: Path,
) -> str:  # fmt: skip
    """Say what was labelled, how well it can be seen, and what the audit found; ``notes`` are of what is known."""
    from equipoise.discovery.labelling import SIDES
    from equipoise.foundation.text import plural

    values = marked[column]
    counts = [f"{int((values == side).sum()):,} {side}" for side in SIDES.tolist() if (values == side).any()]
    lines = [f"{plural(len(marked), 'row')} labelled by {column}: {', '.join(counts)}, as {reader.how} tells them."]
    if quality is not None:
        weak = ": it hardly sees it, and the column says little." if not quality >= WEAK else "."
        lines.append(f"On generated pictures its R2 for this direction is {quality:.2f}{weak}")
    lines.append("It is a machine's guess about a picture, and says nothing about a person.")
    # An audit has the notes among its words.
    lines += ["", *audited.words] if audited is not None else notes
    return "\n".join([*lines, "", f"The table: {out}"])
