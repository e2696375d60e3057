"""``equipoise discover``: what a classifier reacts to that nobody named, in the latent space of a generator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli._classifier import ClassNames, ClassOption, Logits, NamedClassifier, Resize, Size
from equipoise.cli._options import FiguresFolder, HtmlFile, JsonFile, MarkdownFile, OpenPage, Quiet, Seed

EXAMPLES = (
    "discover --classifier my_model.py:classifier --generator my_gan.py:generator --latent-size 128 --html found.html",
    "discover --classifier my_model.py:classifier --generator vae.safetensors --known known.json --target smiling",
)


def discover(
    classifier: Annotated[
        str,
        typer.Option(metavar="FILE.py:NAME", help="The classifier: what NAME is in a file of Python, which is run."),
    ],
    generator: Annotated[
        str,
        typer.Option(metavar="FILE", help="The generator: FILE.py:NAME, or a .safetensors file of one trained here."),
    ],
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.py:NAME",
            help="A second classifier, whose probability shall stay: a module that gives probabilities, or a "
            "Classifier, which says itself what --logits, --class and --size say of the first.",
        ),
    ] = None,
    reference_penalty: Annotated[
        float | None, typer.Option(metavar="W", help="How much keeping it still counts; 10 by default.")
    ] = None,
    known: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Attributes that have a name: .json or .safetensors.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which of them the classifier is meant to tell.")
    ] = None,
    search: Annotated[
        bool, typer.Option("--search/--no-search", help="Or only measure the change along known attributes.")
    ] = True,
    steps: Annotated[int, typer.Option(metavar="N", min=1, help="Steps of the search.")] = 1000,
    directions: Annotated[int, typer.Option(metavar="N", min=1, help="How many directions to look for.")] = 3,
    restarts: Annotated[int, typer.Option(metavar="N", min=1, help="Starts of each.")] = 4,
    race: Annotated[
        bool, typer.Option("--race/--no-race", help="Let the starts that are behind drop out on the way; faster.")
    ] = False,
    batch: Annotated[int, typer.Option(metavar="N", min=1, help="Latents a step.")] = 64,
    rate: Annotated[float, typer.Option(help="The step size of Adam.")] = 0.01,
    reach: Annotated[
        float, typer.Option(help="How far a traversal goes to either side, in units of the latent space.")
    ] = 2.0,
    chunk: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Pictures that go through the networks at once.")
    ] = None,
    orthogonality: Annotated[
        str, typer.Option(help="How known ones are kept away from: squared, signed or exact.")
    ] = "squared",
    penalty: Annotated[float, typer.Option(metavar="W", help="How much keeping away from them counts.")] = 10.0,
    hessian: Annotated[
        float, typer.Option(metavar="W", help="How much the Hessian penalty counts, which looks at pictures; 0: none.")
    ] = 0.0,
    precision: Annotated[
        str, typer.Option(metavar="NAME", help="Of the search's steps: native, or bfloat16, which a card is faster in.")
    ] = "native",
    guard: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Count only latents within this share of the prior: 0.999.")
    ] = None,
    latents: Annotated[int, typer.Option(metavar="N", min=32, help="Fresh latents to judge on.")] = 256,
    least_way: Annotated[
        float, typer.Option(metavar="CHANGE", help="Confirm only what changes the probability by this much in total.")
    ] = 0.3,
    surrogate: Annotated[
        bool,
        typer.Option("--surrogate/--no-surrogate", help="Search on a small stand-in for both networks; far faster."),
    ] = False,
    compare: Annotated[bool, typer.Option("--compare/--no-compare", help="Compare with five baselines.")] = True,
    strips: Annotated[int, typer.Option(metavar="N", min=0, help="Latents that are shown of each direction.")] = 4,
    latent_size: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Of a plain module: the length of its latents.")
    ] = None,
    prior: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of a plain module: normal (as by default) or uniform latents.")
    ] = None,
    logits: Logits = None,
    class_: ClassOption = None,
    class_names: ClassNames = None,
    size: Size = None,
    resize: Resize = None,
    device: Annotated[str, typer.Option(metavar="NAME", help="cpu or cuda.")] = "cpu",
    seed: Seed = 0,
    json: JsonFile = None,
    html: HtmlFile = None,
    figures: FiguresFolder = None,
    markdown: MarkdownFile = None,
    open: OpenPage = False,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the confirmed directions (.safetensors, with a .json).")
    ] = None,
    naming: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a blind naming sheet (.csv, its strips and its key).")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Find what a classifier reacts to that nobody named; "nothing found" is an answer. Runs the files you name."""
    from equipoise.cli._console import Steps, watching
    from equipoise.cli._output import known_files, network_file
    from equipoise.cli.discovery_delivery import Delivery
    from equipoise.discovery.investigating import investigate
    from equipoise.discovery.judging import JudgeSettings
    from equipoise.discovery.known_files import Known, read_known
    from equipoise.discovery.search import SearchSettings
    from equipoise.discovery.surrogate import SurrogateSettings
    from equipoise.discovery.user_files import load_classifier, load_generator
    from equipoise.foundation.errors import BadInput
    from equipoise.foundation.provenance import command_line

    delivery = Delivery(json, html, save, naming, figures, markdown, quiet, open)
    networks = [one for one in (classifier, generator, reference) if one is not None]
    delivery.check(inputs=[*map(network_file, networks), *known_files(known)])
    if target is not None and known is None:
        raise BadInput(f"--target {target!r} was given, and nothing is known", help="name a file: --known FILE.")
    if not search and known is None:
        raise BadInput(
            "--no-search was given, and nothing is known", available="known attributes whose change is measured",
            help="name a file: --known FILE.",
        )  # fmt: skip
    if not search and (save or naming):
        raise BadInput("--save and --naming are for directions that were searched for", help="leave them out.")
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
    steps_done = Steps("Reading")
    with watching("Searching", quiet=quiet, steps=steps_done):
        made = investigate(
            drawing, judged, target=named.target, known=named.known, directions=directions, restarts=restarts,
            settings=settings, judging=JudgeSettings(latents=latents, least_way=least_way, seed=seed), compare=compare,
            search=search, surrogate=SurrogateSettings() if surrogate else None, strips=strips, names=networks,
            reference=still, report=steps_done, notes=named.notes, command=command_line(),
        )  # fmt: skip
    delivery.deliver(made)
