"""A classifier: any torch module that turns pictures into the probability of one class, and its slopes dp/dz.

Slopes are taken for many latents in chunks: weights are frozen, the loss is chained outside. Layers may compute in
bfloat16, while weights stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args

from equipoise.discovery.generative import Generator, check_module, device_of, frozen, number_kind, user_code
from equipoise.foundation import (
    BadInput,
    listing,
    require,
    unknown_name,
)

if TYPE_CHECKING:
    import torch


# A sigmoid may be beyond 0 or 1 by a rounding.
SLACK = 1e-6


@dataclass(frozen=True, eq=False)
class Classifier:
    """Pictures ``[n, C, H, W]`` to probabilities ``[n]``; the module is frozen and put into evaluation mode.

    ``output`` chooses one of several columns, by its place or by its name in ``names``. With ``logits`` the module's
    numbers become probabilities here: by a sigmoid where there is one column, by a softmax where there are several
    (``logits="sigmoid"``: labels that do not exclude each other).
    ``size`` is the (height, width) it was trained on; with ``resize`` other pictures are brought to it (bilinear).
    """

    module: Any
    output: int | str | None = None
    logits: bool | Literal["sigmoid"] = False
    resize: bool = False
    names: Sequence[str] = ()
    size: int | tuple[int, int] | None = None

    def __post_init__(self) -> None:
        check_module(self.module, "classifier")
        frozen(self.module)
        if self.resize and self.size is None:
            raise BadInput(
                "resize=True needs to know the size that the classifier was trained on",
                available="a height and width",
                help="Classifier(..., size=(64, 64), resize=True), or --size 64x64 --resize.",
            )
        if isinstance(self.output, str):
            if self.output not in self.names:
                raise unknown_name("class", self.output, self.names, "names (--class-names)")
            object.__setattr__(self, "output", list(self.names).index(self.output))
        if isinstance(self.size, int):
            object.__setattr__(self, "size", (self.size, self.size))

    def probabilities(self, images: Any) -> Any:
        """Return the probability ``[n]`` of the chosen class for pictures ``[n, C, H, W]``, checked."""
        device_of(self.module, images.device, "classifier")
        images = self._fitted(images).to(number_kind(self.module))
        with user_code(
            f"The classifier could not read pictures of {_size(images)}",
            available="pictures of the size and channels it was trained on",
            help="Classifier(..., size=(height, width), resize=True), or --size HxW --resize, brings pictures "
            "to its size.",
        ):
            given = self.module(images)
        return self._checked(self._chosen(given, len(images)))

    def _fitted(self, images: Any) -> Any:
        if self.size is None or tuple(images.shape[-2:]) == self.size:
            return images
        if not self.resize:
            raise BadInput(
                f"The pictures are {images.shape[-2]} x {images.shape[-1]} and the classifier was trained on "
                f"{' x '.join(map(str, self.size if isinstance(self.size, tuple) else ()))}",
                available="pictures of one size",
                help="Classifier(..., resize=True), or --resize beside --size, brings them to its size.",
            )
        functional = require("torch.nn.functional", extra="train", purpose="Discovery")
        return functional.interpolate(images, size=self.size, mode="bilinear", align_corners=False, antialias=True)

    def _chosen(self, output: Any, number: int) -> Any:
        """Return the chosen column ``[n]``; logits become probabilities."""
        torch = require("torch", extra="train", purpose="Discovery")
        shape = list(output.shape) if isinstance(output, torch.Tensor) else []
        if len(shape) not in (1, 2) or shape[0] != number:
            returned = f"the shape {shape}" if shape else f"a {type(output).__name__}"
            raise BadInput(
                f"The classifier returned {returned} for {number} pictures",
                available=f"[{number}], [{number}, 1] or [{number}, classes]",
            )
        output = output.reshape(number, -1)
        columns = output.shape[1]
        if self.names and len(self.names) != columns:
            raise BadInput(
                f"The classifier returned {columns} columns and names has {len(self.names)}",
                available="a name for each column",
            )
        if columns > 1 and self.output is None:
            choice = listing(self.names) if self.names else f"0 to {columns - 1}"
            raise BadInput(
                f"The classifier returned {columns} columns, and none was selected",
                available="the probability of one class",
                help=f"Classifier(..., output=...), or --class on the command line, chooses one: {choice}.",
            )
        column = self.output or 0
        if not isinstance(column, int) or not 0 <= column < columns:
            raise BadInput(f"Unknown column {column!r} among {columns}", available=f"0 to {columns - 1}")
        if self.logits:
            output = output.sigmoid() if columns == 1 or self.logits == "sigmoid" else output.softmax(1)
        return output[:, column]

    def _checked(self, found: Any) -> Any:
        values = found.detach()
        low, high = float(values.min()), float(values.max())
        # NaN passes: whose fault it is, the generator's or the classifier's, is told where both are at hand.
        if low < -SLACK or high > 1 + SLACK:
            raise BadInput(
                f"The classifier returned numbers from {low:.4g} to {high:.4g}, which are not probabilities",
                available="numbers from 0 to 1",
                help="Classifier(..., logits=True), or --logits, converts logits to probabilities.",
            )
        return found


def _size(images: Any) -> str:
    return " x ".join(map(str, images.shape[1:]))


# How many pictures go through the networks at once: what a processor's cache likes, what keeps a GPU busy.
CHUNKS = {"cpu": 64}
ON_A_DEVICE = 2048


def chunk_for(generator: Generator, chunk: int | None = None) -> int:
    """Return how many pictures to take at once."""
    if chunk is not None and chunk < 1:
        raise BadInput(f"A chunk of {chunk} pictures was requested", available="at least 1")
    return chunk or CHUNKS.get(generator.device.type, ON_A_DEVICE)


def predicted(generator: Generator, classifier: Classifier, latents: Any, chunk: int | None = None) -> Any:
    """Return the probability of each latent ``[..., d]``, without gradients, in float64."""
    torch = require("torch", extra="train", purpose="Discovery")
    flat = latents.reshape(-1, latents.shape[-1]).to(generator.kind)
    with torch.no_grad():
        parts = [
            classifier.probabilities(generator.generate(part)) for part in flat.split(chunk_for(generator, chunk))
        ]  # fmt: skip
    p = torch.cat(parts).double().reshape(latents.shape[:-1])
    _check(generator, flat, p)
    return p


def slopes(
    generator: Generator, classifiers: Sequence[Classifier], latents: torch.Tensor, chunk: int | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return p ``[classifier, ...]`` and dp/dz ``[classifier, ..., d]`` of latents ``[..., d]``, in float64."""
    torch = require("torch", extra="train", purpose="Discovery")
    flat = latents.detach().reshape(-1, latents.shape[-1]).to(generator.kind)
    p = torch.empty(len(classifiers), len(flat), dtype=torch.float64, device=flat.device)
    slope = torch.zeros(*p.shape, flat.shape[-1], dtype=torch.float64, device=flat.device)
    size = chunk_for(generator, chunk)
    for start in range(0, len(flat), size):
        part = flat[start : start + size].requires_grad_()
        images = generator.generate(part)
        for index, classifier in enumerate(classifiers):
            values = classifier.probabilities(images)
            p[index, start : start + size] = values.detach()
            if not values.requires_grad:  # it does not look at the picture
                continue
            (gradient,) = torch.autograd.grad(
                values.sum(), part, retain_graph=index + 1 < len(classifiers), materialize_grads=True
            )
            slope[index, start : start + size] = gradient
    _check(generator, flat, p)
    return p.reshape(-1, *latents.shape[:-1]), slope.reshape(-1, *latents.shape)


def linked(latents: torch.Tensor, p: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """Return p as a function of the latents to first order: the value of p, and dp/dz as its gradient."""
    return p + ((latents - latents.detach()) * slope).sum(-1)


def _check(generator: Generator, flat: torch.Tensor, p: torch.Tensor) -> None:
    """Refuse probabilities that are no numbers, and say whose fault they are."""
    broken = ~p.reshape(-1, len(flat)).isfinite().all(0)
    if not bool(broken.any()):
        return
    some = flat.detach()[broken][:1]
    generator.images(some)
    raise BadInput(
        f"The classifier returned NaN for {float(broken.double().mean()):.0%} of pictures that are finite",
        available="probabilities", help="check its weights and the range of pixels it was trained on.",
    )  # fmt: skip


# What torch's convolutions do by themselves (TF32 on a card, float32 on a CPU), or bfloat16.
Precision = Literal["native", "bfloat16"]


def check_precision(precision: str) -> None:
    """Refuse a precision that is none."""
    if precision not in get_args(Precision):
        raise unknown_name("precision", str(precision), get_args(Precision), "discovery")


def generator_in(precision: Precision, generator: Generator) -> Generator:
    """Return a generator that computes with a precision."""
    check_precision(precision)
    return generator if precision == "native" else replace(generator, module=_lowered_kind()(generator.module))


def classifier_in(precision: Precision, classifier: Classifier) -> Classifier:
    """Return a classifier that computes with a precision; of its logits probabilities are made in float32."""
    check_precision(precision)
    return classifier if precision == "native" else replace(classifier, module=_lowered_kind()(classifier.module))


@cache
def _lowered_kind() -> Any:
    torch = require("torch", extra="train", purpose="A network in bfloat16")

    sigmoids = {torch.sigmoid, torch.Tensor.sigmoid, torch.nn.functional.sigmoid, torch.special.expit,
                torch.tanh, torch.Tensor.tanh, torch.nn.functional.tanh}  # fmt: skip

    class SigmoidsInFloat32(torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __torch_function__(self, function: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
            if function in sigmoids and arguments:
                arguments = (arguments[0].float(), *arguments[1:])
            return function(*arguments, **(keywords or {}))

    class Lowered(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, module: Any) -> None:
            super().__init__()
            self.module = module

        def forward(self, pictures: Any) -> Any:
            with torch.autocast(pictures.device.type, dtype=torch.bfloat16), SigmoidsInFloat32():
                output = self.module(pictures)
            return output.float() if isinstance(output, torch.Tensor) else output

    return Lowered
