"""Networks that a user names on the command line: ``my_model.py:classifier``, or a generator that was trained here.

A file of Python is run when it is named so, and at no other time: it can do whatever its user can. A .safetensors file
is read and never run.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from equipoise.cohorts import (
    PICKLE_ENDINGS,
    PICKLE_REASON,
)
from equipoise.discovery._classifier import Classifier
from equipoise.discovery.generative import FILE as GAN_FILE
from equipoise.discovery.generative import Generator, TrainedVAE, check_device, load_gan, load_vae
from equipoise.foundation import (
    BadInput,
    check_file,
    describe_error,
    importable_folder,
    imported,
    require,
)
from equipoise.foundation import attribute as attribute_of

FORM = "FILE.py:NAME"
TENSORS = ".safetensors"


def load_generator(
    named: str, *, latent_size: int | None = None, prior: str | None = None, device: str = "cpu"
) -> Generator:
    """Return the generator that a user names; a plain module needs ``latent_size``."""
    check_device(device)
    if Path(named).suffix == TENSORS:
        _refuse_options("generator", named, {"--latent-size": latent_size, "--prior": prior})
        return _trained(Path(named), device)
    found = load_module(named, "generator", (Generator,))
    if isinstance(found, Generator):
        _refuse_options("generator", named, {"--latent-size": latent_size, "--prior": prior})
        _check_place(found.device, device, named)
        return found
    if latent_size is None:
        raise BadInput(
            f"The generator {named} is a plain module of unknown latent size",
            available="a module and its latent size, or a Generator",
            help="name it: --latent-size 128 (and --prior uniform, where latents are not normal).",
        )
    return Generator(found.to(device), latent_size, prior or "normal", device=device)


def load_classifier(
    named: str, *, output: str | None = None, names: Sequence[str] = (),
    logits: bool | Literal["sigmoid"] | None = None, resize: bool | None = None,
    size: int | tuple[int, int] | None = None, device: str = "cpu", what: str = "classifier",
) -> Classifier:  # fmt: skip
    """Return the classifier that a user names; ``output`` is the place or the name of a class.

    ``what`` is what it is called where it is refused.
    """
    check_device(device)
    classifier = load_module(named, what, (Classifier,))
    if isinstance(classifier, Classifier):
        options = {"--class": output, "--class-names": names or None, "--logits": logits, "--resize": resize,
                 "--size": size}  # fmt: skip
        _refuse_options("classifier", named, options)
        return classifier
    column: int | str | None = output
    if output is not None and output not in names and output.isdecimal():
        column = int(output)
    return Classifier(classifier.to(device), column, logits or False, bool(resize), tuple(names), size)


def load_encoder(named: str, device: str = "cpu") -> TrainedVAE | Callable[..., Any]:
    """Return what reads latents off pictures: a VAE that was trained here, or the function that ``file.py:name`` names.

    A function takes pictures, uint8 ``[row, height, width, channel]``, and returns latents; one without arguments is
    called for its encoder.
    """
    check_device(device)
    _refuse_pickle(named, "encoder")
    file, colon, attribute = named.rpartition(":")
    if not (colon and file.endswith(".py") and attribute):
        if Path(named).suffix == TENSORS:
            return load_vae(Path(named), device)
        raise BadInput(
            f"The encoder is {named!r}",
            available=f"a {TENSORS} file of a VAE trained here, or {FORM}: a function from pictures to latents",
        )
    path = Path(file)
    with importable_folder(path.parent):
        encoder = attribute_of(imported(path), path, attribute)
        if callable(encoder) and not isinstance(encoder, TrainedVAE) and not _takes_one(encoder):
            encoder = _called(encoder, named, "encoder")
    if isinstance(encoder, TrainedVAE):
        return encoder
    if not callable(encoder):
        raise BadInput(
            f"{named} is of the type {type(encoder).__name__}",
            available="a function from pictures to latents, or a TrainedVAE",
        )
    encode: Callable[..., Any] = encoder
    return encode


def _takes_one(function: Any) -> bool:
    """Tell whether a function can be called with pictures alone."""
    try:
        inspect.signature(function).bind(None)
    except (TypeError, ValueError):
        return False
    return True


def load_module(named: str, what: str = "network", ours: tuple[type, ...] = ()) -> Any:
    """Return the torch module that ``file.py:name`` names, or one of our own kinds; a function is called for it."""
    file, colon, attribute = named.rpartition(":")
    _refuse_pickle(named, what)
    if not colon or not file.endswith(".py") or not attribute:
        raise BadInput(
            f"The {what} is {named!r}",
            available=f"{FORM}: a Python file, and a name in it"
            + (f"; or a {TENSORS} file of a generator trained here" if what == "generator" else ""),
        )
    torch = require("torch", extra="train", purpose=f"A {what}")
    path = Path(file)
    with importable_folder(path.parent):
        module = attribute_of(imported(path), path, attribute)
        if not isinstance(module, (torch.nn.Module, *ours)) and callable(module):
            module = _called(module, named, what)
    if not isinstance(module, (torch.nn.Module, *ours)):
        kinds = " or ".join(["torch.nn.Module", *(f"equipoise {kind.__name__}" for kind in ours)])
        raise BadInput(
            f"{named} is of the type {type(module).__name__}", available=f"a {kinds}, or a function without arguments "
            "that returns one",
        )  # fmt: skip
    return module


def _refuse_pickle(named: str, what: str) -> None:
    """Refuse a network that was pickled, as StyleGAN's are, before its file is opened."""
    if any(Path(part).suffix.lower() in PICKLE_ENDINGS for part in (named, named.rpartition(":")[0])):
        raise BadInput(
            f"The {what} {named} is refused: {PICKLE_REASON}",
            available=f"{FORM}: a Python file that builds the network and loads its weights",
            help="if you trust the pickle, load it in your own Python file and name that "
            f"(my_network.py:{what}); for StyleGAN see style_generator in docs/guide/discovery-generators.md.",
        )


def _trained(path: Path, device: str) -> Generator:
    """Read a generator of our own, of whichever kind."""
    check_file(path)
    library = require("safetensors", extra="train", purpose="Reading a generator")
    try:
        with library.safe_open(str(path), framework="pt") as file:
            header = str(file.metadata() or "")
    except (library.SafetensorError, OSError) as error:
        raise BadInput(
            f"{path.name} is not a whole file ({error})", available="what TrainedVAE.save or TrainedGAN.save wrote"
        ) from error
    return (load_gan if GAN_FILE.schema in header else load_vae)(path, device).generator()


def _called(function: Any, named: str, what: str) -> Any:
    try:
        inspect.signature(function).bind()
    except (TypeError, ValueError) as error:
        raise BadInput(
            f"{named} cannot be called without arguments ({error})", available=f"a function that returns the {what}"
        ) from error
    try:
        return function()
    except (Exception, SystemExit) as error:
        raise BadInput(
            f"{named} failed when it was called ({describe_error(error)})",
            available=f"a function that returns the {what}",
        ) from error


def _check_place(place: Any, device: str, named: str) -> None:
    torch = require("torch", extra="train", purpose="A generator")
    if place.type != torch.device(device).type:
        raise BadInput(
            f"The generator {named} is on {place}, and --device is {device}", available="one device for all networks",
            help=f"give --device {place.type}, or build it on {device}.",
        )  # fmt: skip


def _refuse_options(what: str, named: str, given: Mapping[str, object]) -> None:
    """Refuse options that a finished object would have to ignore."""
    unused = [option for option, value in given.items() if value is not None]
    if unused:
        raise BadInput(
            f"{unused[0]} was given, and the {what} {named} declares that itself", help=f"leave out {unused[0]}."
        )
