"""``equipoise discover``: what a classifier reacts to that nobody named, in the latent space of a generator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.cli._options import arguments, takes
from equipoise.discovery import (
    DISCOVER_OPTIONS,
    FOR_DISCOVER,
    FOR_GENERATOR,
    FOR_JUDGE,
    FOR_SEARCH,
)

if TYPE_CHECKING:
    from equipoise.discovery import Investigation, SearchSettings

EXAMPLES = (
    "discover --classifier my_model.py:classifier --generator my_gan.py:generator --latent-size 128 --html found.html",
    "discover --classifier my_model.py:classifier --generator vae.safetensors --known known.json --target smiling",
)


@takes(DISCOVER_OPTIONS)
def discover(*, values: dict[str, Any]) -> None:
    """Find what a classifier reacts to that nobody named; "nothing found" is an answer. Runs the files you name."""
    from equipoise.cli._console import Output, show_progress
    from equipoise.cli._networks import known_files, named_classifier, network_file
    from equipoise.discovery import (
        JudgeSettings,
        KnownAttributes,
        SurrogateSettings,
        discover,
        load_classifier,
        load_generator,
        read_known_attributes,
    )
    from equipoise.foundation import command_line

    reference, known, save, naming = (values[name] for name in ("reference", "known", "save", "naming"))
    output = Output.of(values)
    networks = [values[name] for name in ("classifier", "generator", "reference") if values[name] is not None]
    output.check(inputs=[*map(network_file, networks), *known_files(known)], others=_more_files(save, naming))
    _check_together(values)
    settings = _search_settings(values)
    judging = JudgeSettings(**arguments(DISCOVER_OPTIONS, values, FOR_JUDGE))
    generator = load_generator(values["generator"], **arguments(DISCOVER_OPTIONS, values, FOR_GENERATOR))
    classifier = named_classifier(DISCOVER_OPTIONS, values)
    still = None if reference is None else load_classifier(reference, device=values["device"], what="reference")
    named = (
        KnownAttributes(None, ())
        if known is None
        else read_known_attributes(known, generator.latent_size, values["target"])
    )
    with show_progress("Reading", quiet=output.quiet) as tracker:
        investigation = discover(
            generator, classifier, target=named.target, known=named.hyperplanes, settings=settings, judging=judging,
            surrogate=SurrogateSettings() if values["surrogate"] else None, names=networks, reference=still,
            report=tracker, notes=named.notes, command=command_line(),
            **arguments(DISCOVER_OPTIONS, values, FOR_DISCOVER),
        )  # fmt: skip
    output.deliver(investigation, lambda: list(_write_more(investigation, save, naming)))


def _check_together(values: Mapping[str, Any]) -> None:
    """Refuse options that say nothing without another one."""
    from equipoise.foundation import BadInput

    target, penalty = values["target"], values["reference_penalty"]
    if target is not None and values["known"] is None:
        raise BadInput(f"--target {target!r} was given without known attributes", help="name a file: --known FILE.")
    if not values["search"] and values["known"] is None:
        raise BadInput(
            "--no-search was given without known attributes", available="known attributes whose change is measured",
            help="name a file: --known FILE.",
        )  # fmt: skip
    if not values["search"] and (values["save"] or values["naming"]):
        raise BadInput("--save and --naming need a search", help="leave them out.")
    if penalty is not None and values["reference"] is None:
        raise BadInput(
            f"--reference-penalty {penalty:g} was given, and no reference", help="name one: --reference FILE.py:NAME."
        )
    if not values["reach"] > 0:
        raise BadInput(f"--reach is {values['reach']:g}", available="a length above 0")


def _search_settings(values: Mapping[str, Any]) -> SearchSettings:
    """Return how to search; how far is as far to either side as --reach says."""
    from equipoise.discovery import SearchSettings

    usual = SearchSettings()
    settings = arguments(DISCOVER_OPTIONS, values, FOR_SEARCH)
    if values["reference_penalty"] is not None:
        settings["reference_penalty"] = values["reference_penalty"]
    return SearchSettings(
        **settings, alphas=tuple(values["reach"] / usual.alphas[-1] * alpha for alpha in usual.alphas)
    )


def _more_files(save: Path | None, naming: Path | None) -> dict[str, list[Path]]:
    """Return the files of directions and of the naming sheet, by their option."""
    from equipoise.discovery import key_path, strips_path
    from equipoise.foundation import BadInput

    files: dict[str, list[Path]] = {}
    for option, path, ending in (("--save", save, ".safetensors"), ("--naming", naming, ".csv")):
        if path is None:
            continue
        if path.suffix != ending:
            raise BadInput(f"{option} names {str(path)!r}", available=f"a file that ends with {ending}")
        more = [path.with_suffix(".json")] if option == "--save" else [strips_path(path), key_path(path)]
        files[option] = [path, *more]
    return files


def _write_more(investigation: Investigation, save: Path | None, naming: Path | None) -> Iterable[str]:
    """Write the confirmed directions and the naming sheet, and say where they are."""
    from equipoise.discovery import write_sheet

    if save is not None:
        yield _save(investigation, save)
    if naming is not None and any(shown.strips for shown in (*investigation.directions, *investigation.methods)):
        write_sheet(investigation, naming)
        yield f"The naming sheet: {naming}; keep its key from the raters"
    elif naming is not None:
        yield "No naming sheet was written: there is no strip to name"


def _save(investigation: Investigation, path: Path) -> str:
    """Write the confirmed directions with their numbers."""
    from equipoise.discovery import save_directions

    confirmed = [shown.judged for shown in investigation.confirmed if shown.judged.plane is not None]
    if not confirmed:
        return f"No direction is confirmed: {path} was not written"
    content = {
        "classifier": investigation.classifier, "generator": investigation.generator,
        "seed": investigation.search.seed,
        "directions": {judged.name: {"variation": judged.variation, "low": judged.low, "high": judged.high,
                                     "rank_among_random": judged.rank_among_random,
                                     "random_directions": judged.random_directions, "steadiness": judged.steadiness}
                       for judged in confirmed},
    }  # fmt: skip
    save_directions(path, [judged.plane for judged in confirmed if judged.plane is not None], content)
    return f"The confirmed directions: {path}"
