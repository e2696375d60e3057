"""A classifier: any torch module that turns pictures into the probability of one class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from equipoise.discovery.modules import check_module, device_of, frozen, number_kind, others_code
from equipoise.foundation.errors import BadInput, listing, unknown_name
from equipoise.foundation.imports import require

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
        with others_code(
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

    def _chosen(self, given: Any, number: int) -> Any:
        """Return the chosen column ``[n]``; logits become probabilities."""
        torch = require("torch", extra="train", purpose="Discovery")
        shape = list(given.shape) if isinstance(given, torch.Tensor) else []
        if len(shape) not in (1, 2) or shape[0] != number:
            found = f"the shape {shape}" if shape else f"a {type(given).__name__}"
            raise BadInput(
                f"The classifier returned {found} for {number} pictures",
                available=f"[{number}], [{number}, 1] or [{number}, classes]",
            )
        given = given.reshape(number, -1)
        columns = given.shape[1]
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
        place = self.output or 0
        if not isinstance(place, int) or not 0 <= place < columns:
            raise BadInput(f"Unknown column {place!r} among {columns}", available=f"0 to {columns - 1}")
        if self.logits:
            given = given.sigmoid() if columns == 1 or self.logits == "sigmoid" else given.softmax(1)
        return given[:, place]

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
