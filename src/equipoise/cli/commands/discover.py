"""``equipoise discover``: what a classifier reacts to that nobody named, in the latent space of a generator."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.audits import OUTPUT, OUTPUTS
from equipoise.cli._networks import ClassNames, ClassOption, Logits, NamedClassifier, Resize, Size
from equipoise.cli._options import Seed, takes

if TYPE_CHECKING:
    from equipoise.discovery.investigation import Investigation

EXAMPLES = (
    "discover --classifier my_model.py:classifier --generator my_gan.py:generator --latent-size 128 --html found.html",
    "discover --classifier my_model.py:classifier --generator vae.safetensors --known known.json --target smiling",
)


@takes(OUTPUTS)
def discover(
    classifier: Annotated[
        str,
        typer.Option(metavar="FILE.py:NAME", help="The classifier: NAME in a Python file, which is run."),
    ],
    generator: Annotated[
        str,
        typer.Option(metavar="FILE", help="The generator: FILE.py:NAME, or a .safetensors file of one trained here."),
    ],
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.py:NAME",
            help="A second classifier, whose probability should not change: a module that returns probabilities, or a "
            "Classifier, which declares what --logits, --class and --size declare for the first.",
        ),
    ] = None,
    reference_penalty: Annotated[
        float | None, typer.Option(metavar="W", help="Weight of keeping it constant; 10 by default.")
    ] = None,
    known: Annotated[Path | None, typer.Option(metavar="FILE", help="Known attributes: .json or .safetensors.")] = None,
    target: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which of them the classifier is meant to predict.")
    ] = None,
    search: Annotated[
        bool, typer.Option("--search/--no-search", help="Search; or only measure the change along known attributes.")
    ] = True,
    steps: Annotated[int, typer.Option(metavar="N", min=1, help="Steps of the search.")] = 1000,
    directions: Annotated[int, typer.Option(metavar="N", min=1, help="How many directions to look for.")] = 3,
    restarts: Annotated[int, typer.Option(metavar="N", min=1, help="Random starts per direction.")] = 4,
    race: Annotated[bool, typer.Option("--race/--no-race", help="Stop starts that fall behind; faster.")] = False,
    batch: Annotated[int, typer.Option(metavar="N", min=1, help="Latents per step.")] = 64,
    rate: Annotated[float, typer.Option(help="The step size of Adam.")] = 0.01,
    reach: Annotated[
        float, typer.Option(help="Length of a traversal to either side, in units of the latent space.")
    ] = 2.0,
    chunk: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Pictures per pass through the networks.")
    ] = None,
    orthogonality: Annotated[
        str, typer.Option(help="Penalty for overlap with known attributes: squared, signed or exact.")
    ] = "squared",
    penalty: Annotated[float, typer.Option(metavar="W", help="Weight of that penalty.")] = 10.0,
    hessian: Annotated[
        float, typer.Option(metavar="W", help="Weight of the Hessian penalty on pictures; 0: none.")
    ] = 0.0,
    precision: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Precision of the search: native, or bfloat16, which is faster on a graphics card."
        ),
    ] = "native",
    guard: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Count only latents within this share of the prior: 0.999.")
    ] = None,
    latents: Annotated[int, typer.Option(metavar="N", min=32, help="Fresh latents for the tests.")] = 256,
    least_way: Annotated[
        float, typer.Option(metavar="CHANGE", help="Confirm only what changes the probability by this much in total.")
    ] = 0.3,
    surrogate: Annotated[
        bool,
        typer.Option("--surrogate/--no-surrogate", help="Search on a small surrogate of both networks; far faster."),
    ] = False,
    compare: Annotated[bool, typer.Option("--compare/--no-compare", help="Compare with five baselines.")] = True,
    strips: Annotated[int, typer.Option(metavar="N", min=0, help="Latents shown per direction.")] = 4,
    latent_size: Annotated[int | None, typer.Option(metavar="N", min=1, help="Latent size of a plain module.")] = None,
    prior: Annotated[
        str | None, typer.Option(metavar="NAME", help="Prior of a plain module: normal (the default) or uniform.")
    ] = None,
    logits: Logits = None,
    class_: ClassOption = None,
    class_names: ClassNames = None,
    size: Size = None,
    resize: Resize = None,
    device: Annotated[str, typer.Option(metavar="NAME", help="cpu or cuda.")] = "cpu",
    seed: Seed = 0,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the confirmed directions (.safetensors, with a .json).", rich_help_panel=OUTPUT
        ),
    ] = None,
    naming: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write a blind naming sheet (.csv, its strips and its key).", rich_help_panel=OUTPUT
        ),
    ] = None,
    *,
    values: dict[str, Any],
) -> None:
    """Find what a classifier reacts to that nobody named; "nothing found" is an answer. Runs the files you name."""
    from equipoise.cli._console import show_progress
    from equipoise.cli._networks import known_files, network_file
    from equipoise.cli._output import Output
    from equipoise.discovery.investigating import investigate
    from equipoise.discovery.judging import JudgeSettings
    from equipoise.discovery.known_files import Known, read_known
    from equipoise.discovery.search import SearchSettings
    from equipoise.discovery.surrogate import SurrogateSettings
    from equipoise.discovery.user_files import load_classifier, load_generator
    from equipoise.foundation.errors import BadInput
    from equipoise.foundation.reproducibility import command_line

    output = Output.of(values)
    networks = [network for network in (classifier, generator, reference) if network is not None]
    output.check(inputs=[*map(network_file, networks), *known_files(known)], others=_more_files(save, naming))
    if target is not None and known is None:
        raise BadInput(f"--target {target!r} was given without known attributes", help="name a file: --known FILE.")
    if not search and known is None:
        raise BadInput(
            "--no-search was given without known attributes", available="known attributes whose change is measured",
            help="name a file: --known FILE.",
        )  # fmt: skip
    if not search and (save or naming):
        raise BadInput("--save and --naming need a search", help="leave them out.")
    if reference_penalty is not None and reference is None:
        raise BadInput(
            f"--reference-penalty {reference_penalty:g} was given, and no reference",
            help="name one: --reference FILE.py:NAME.",
        )
    if not reach > 0:
        raise BadInput(f"--reach is {reach:g}", available="a length above 0")
    settings = SearchSettings(
        steps=steps, batch=batch, rate=rate, seed=seed, guard=guard, chunk=chunk, race=race, penalty=penalty,
        hessian=hessian,
        reference_penalty=SearchSettings().reference_penalty if reference_penalty is None else reference_penalty,
        alphas=tuple(reach / 2.0 * alpha for alpha in SearchSettings().alphas),
        orthogonality=orthogonality,  # type: ignore[arg-type]
        precision=precision,  # type: ignore[arg-type]
    )  # fmt: skip
    drawing = load_generator(generator, latent_size=latent_size, prior=prior, device=device)
    judged = NamedClassifier(classifier, class_, class_names, logits, size, resize, device).loaded()
    still = None if reference is None else load_classifier(reference, device=device, what="reference")
    named = Known(None, ()) if known is None else read_known(known, drawing.latent_size, target)
    with show_progress("Reading", quiet=output.quiet) as tracker:
        investigation = investigate(
            drawing, judged, target=named.target, known=named.known, directions=directions, restarts=restarts,
            settings=settings, judging=JudgeSettings(latents=latents, least_way=least_way, seed=seed), compare=compare,
            search=search, surrogate=SurrogateSettings() if surrogate else None, strips=strips, names=networks,
            reference=still, report=tracker, notes=named.notes, command=command_line(),
        )  # fmt: skip
    output.deliver(investigation, lambda: list(_write_more(investigation, save, naming)))


def _more_files(save: Path | None, naming: Path | None) -> dict[str, list[Path]]:
    """Return the files of directions and of the naming sheet, by their option."""
    from equipoise.discovery.naming import key_path, strips_path
    from equipoise.foundation.errors import BadInput

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
    from equipoise.discovery.naming import write_sheet

    if save is not None:
        yield _save(investigation, save)
    if naming is not None and any(shown.strips for shown in (*investigation.directions, *investigation.methods)):
        write_sheet(investigation, naming)
        yield f"The naming sheet: {naming}; keep its key from the raters"
    elif naming is not None:
        yield "No naming sheet was written: there is no strip to name"


def _save(investigation: Investigation, path: Path) -> str:
    """Write the confirmed directions with their numbers."""
    from equipoise.discovery.saving import save_directions

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
