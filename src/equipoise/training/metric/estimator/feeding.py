"""What a metric learner is fed with: batches by class out of arrays or pictures, or those of a data loader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.errors import BadInput, listing
from equipoise.foundation.imports import require
from equipoise.foundation.reproducibility import stream
from equipoise.training.fixing import copies_of
from equipoise.training.images.pictures import Crop, Pictures, shifted
from equipoise.training.material import Codes
from equipoise.training.metric.drawing import ROWS
from equipoise.training.metric.heads.recipe import MetricRecipe
from equipoise.training.metric.heads.stack import Draws

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, eq=False)
class Fed:
    """One batch on the device: inputs, class codes, places in the training rows, and numbers to draw by, by name."""

    inputs: torch.Tensor
    labels: torch.Tensor
    places: torch.Tensor
    numbers: Any


class ArrayFeed:
    """Rows ``[row, ...]`` that are all there: batches by the sampler, the same for the same seed."""

    def __init__(self, inputs: torch.Tensor, labels: Codes, rows: Codes, recipe: MetricRecipe, seed: int, device: str):
        self.inputs, self.labels, self.rows = inputs, labels[rows], rows
        self.recipe, self.seed, self.device = recipe, seed, device
        self.sampler = recipe.make_sampler()

    def first(self) -> torch.Tensor:
        """Return a few inputs, to see what a backbone makes of them."""
        return self.inputs[:2].to(self.device)

    def batches(self, epoch: int) -> Iterator[Fed]:
        """Yield the batches of an epoch (they count from 1)."""
        library = require("torch", extra="train", purpose="Metric learning")
        size = self.recipe.batch_size
        places = self.sampler.batches(self.labels, size, self.seed, epoch)
        draws = Draws([self.seed], epoch, len(places), size, self.device)
        for step, here in enumerate(places):
            yield Fed(
                self.taken(self.rows[here], here, epoch),
                library.from_numpy(self.labels[here]).to(self.device),
                library.from_numpy(here).to(self.device),
                lambda name, step=step: draws(name, step),
            )

    def taken(self, rows: Codes, places: Codes, epoch: int) -> torch.Tensor:
        """Return the inputs of some rows."""
        library = require("torch", extra="train", purpose="Metric learning")
        return self.inputs[library.from_numpy(rows)].to(self.device)


class PictureFeed(ArrayFeed):
    """Pictures as bytes on the device, shifted and mirrored at random where that is asked for."""

    def __init__(
        self, pictures: NDArray[np.uint8], labels: Codes, rows: Codes, recipe: MetricRecipe, seed: int, device: str,
        *, augmentation: bool,
    ) -> None:  # fmt: skip
        self.pictures, self.augmentation, self._epoch = Pictures(pictures, device), augmentation, 0
        library = self.pictures.torch
        super().__init__(library.from_numpy(pictures).permute(0, 3, 1, 2), labels, rows, recipe, seed, device)
        self._ids = library.from_numpy(rows).to(device)
        self._copies = library.from_numpy(copies_of(rows)).to(device)
        self._crop = Crop.plain(self._ids)

    def taken(self, rows: Codes, places: Codes, epoch: int) -> torch.Tensor:
        """Return pictures of some rows as they are shown in an epoch."""
        library = self.pictures.torch
        if self.augmentation and epoch != self._epoch:
            self._crop, self._epoch = Crop.drawn(self.seed, epoch, self._ids, self._copies), epoch
        here = library.from_numpy(places).to(self.device)
        return self.pictures.crops(self._ids[here], self._crop.of(here))


class ShiftedFeed(ArrayFeed):
    """Pictures ``[row, channel, height, width]`` for a network of one's own, shifted and mirrored at random."""

    def __init__(self, inputs: torch.Tensor, labels: Codes, rows: Codes, recipe: MetricRecipe, seed: int, device: str):
        super().__init__(inputs, labels, rows, recipe, seed, device)
        library = require("torch", extra="train", purpose="Metric learning")
        self._ids, self._copies = (library.from_numpy(one).to(device) for one in (rows, copies_of(rows)))
        self._crop, self._epoch = Crop.plain(self._ids), 0

    def taken(self, rows: Codes, places: Codes, epoch: int) -> torch.Tensor:
        """Return pictures of some rows as they are shown in an epoch: the same for the same seed."""
        library = require("torch", extra="train", purpose="Metric learning")
        if epoch != self._epoch:
            self._crop, self._epoch = Crop.drawn(self.seed, epoch, self._ids, self._copies), epoch
        here = library.from_numpy(places).to(self.device)
        return shifted(super().taken(rows, places, epoch), self._crop.of(here))


class LoaderFeed:
    """A data loader that yields (inputs, labels): its batches are taken as they come."""

    def __init__(self, loader: Iterable[Any], classes: NDArray[Any], seed: int, device: str, dtype: torch.dtype):
        self.loader, self.seed, self.device, self.dtype = loader, seed, device, dtype
        self.classes = classes

    def first(self) -> torch.Tensor:
        """Return the first inputs, to see what a backbone makes of them."""
        inputs, _ = pair_of(next(iter(self.loader)))
        return ready(inputs[:2], self.device, self.dtype)

    def batches(self, epoch: int) -> Iterator[Fed]:
        """Yield the batches of an epoch."""
        library = require("torch", extra="train", purpose="Metric learning")
        for step, batch in enumerate(self.loader):
            inputs, told = pair_of(batch)
            codes = library.from_numpy(self._codes(told)).to(self.device)

            def numbers(name: str | None, step: int = step, rows: int = len(codes)) -> torch.Tensor:
                names = ("mining", epoch, step) if name is None else ("mining", epoch, step, name)
                drawn = stream(self.seed, *names).random((1, ROWS, rows))
                there: torch.Tensor = library.from_numpy(drawn).to(self.device)
                return there

            places = library.full((len(codes),), -1, device=self.device)
            yield Fed(ready(inputs, self.device, self.dtype), codes, places, numbers)

    def _codes(self, told: NDArray[Any]) -> Codes:
        places = np.searchsorted(self.classes, told).clip(max=len(self.classes) - 1)
        strange = told[self.classes[places] != told]
        if len(strange):
            raise BadInput(
                f"The data loader returned the label {listing([repr(strange.tolist()[0])])}, which is new",
                available="the labels of its first pass, or those that y names",
                help="name all labels with y=, such as fit(loader, y=all_labels).",
            )
        return places.astype(np.int64)


def pair_of(batch: Any) -> tuple[Any, NDArray[Any]]:
    """Return inputs and labels of a batch of a data loader."""
    if not isinstance(batch, tuple | list) or len(batch) < 2:
        raise BadInput(
            f"The data loader returned a batch of the kind {type(batch).__name__}",
            available="(inputs, labels): a tuple or list of two",
        )
    labels = np.asarray(batch[1])
    if labels.ndim != 1 or len(labels) != len(batch[0]):
        raise BadInput(
            f"The data loader returned {len(batch[0]):,} inputs and labels of the shape {labels.shape}",
            available="one label for each input",
        )
    return batch[0], labels


def ready(inputs: Any, device: str, dtype: torch.dtype) -> torch.Tensor:
    """Return inputs on the device; numbers with a point in the precision that parameters have."""
    library = require("torch", extra="train", purpose="Metric learning")
    there = library.as_tensor(inputs).to(device)
    found: torch.Tensor = there.to(dtype) if there.is_floating_point() else there
    return found
