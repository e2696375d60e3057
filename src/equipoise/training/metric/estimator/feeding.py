"""What a metric learner is fed with: batches by class out of arrays or pictures, or those of a data loader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.errors import BadInput
from equipoise.foundation.imports import require
from equipoise.foundation.reproducibility import stream
from equipoise.foundation.text import listing
from equipoise.training.callback import CallbackList
from equipoise.training.fixing import copies_of
from equipoise.training.images.pictures import Crop, Pictures, View, shifted
from equipoise.training.material import Codes
from equipoise.training.metric.drawing import ROWS, Draws

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, eq=False)
class Fed:
    """One batch on the device: inputs, class codes, and places in the training rows (-1 where nothing says them)."""

    inputs: torch.Tensor
    labels: torch.Tensor
    places: torch.Tensor


class LoaderDraws(Draws):
    """Numbers for batches of any size, each from a stream of its own: a loader does not say how many there will be."""

    def __init__(self, seed: int, device: str) -> None:
        super().__init__([seed], device)
        self.seed, self.device, self.epoch = seed, device, 1

    def begin(self, epoch: int, steps: int, batch_size: int) -> None:
        """Go on to another epoch."""
        self.epoch = epoch

    def __call__(self, name: str | None, step: Any, rows: int) -> torch.Tensor:
        """Return the numbers of a step, ``[1, 2, sample]``."""
        library = require("torch", extra="train", purpose="Metric learning")
        names = ("mining", self.epoch, step) if name is None else ("mining", self.epoch, step, name)
        drawn: torch.Tensor = library.from_numpy(stream(self.seed, *names).random((1, ROWS, rows)))
        return drawn.to(self.device)


class ArrayFeed:
    """Rows ``[row, ...]`` that are all there: callbacks make up the batches, the same for the same seed."""

    def __init__(self, inputs: torch.Tensor, labels: Codes, rows: Codes, seed: int, device: str) -> None:
        self.inputs, self.labels, self.rows = inputs, labels[rows], rows
        self.seed, self.device = seed, device
        self.draws = Draws([seed], device)

    def first(self) -> torch.Tensor:
        """Return a few inputs, to see what a backbone makes of them."""
        return self.inputs[:2].to(self.device)

    def batches(self, epoch: int, callbacks: CallbackList) -> Iterator[Fed]:
        """Yield the batches of an epoch (they count from 1)."""
        library = require("torch", extra="train", purpose="Metric learning")
        arranged = callbacks.batches(epoch, _no_row_losses)
        assert arranged is not None, "a metric loss makes up its batches"
        for here in arranged[0].cpu().numpy():
            labels, places = (library.from_numpy(codes).to(self.device) for codes in (self.labels[here], here))
            yield Fed(self.taken(self.rows[here], here, epoch), labels, places)

    def taken(self, rows: Codes, places: Codes, epoch: int) -> torch.Tensor:
        """Return the inputs of some rows."""
        library = require("torch", extra="train", purpose="Metric learning")
        return self.inputs[library.from_numpy(rows)].to(self.device)


class PictureFeed(ArrayFeed):
    """Pictures as bytes on the device, changed at random where that is asked for."""

    def __init__(
        self, pictures: NDArray[np.uint8], labels: Codes, rows: Codes, seed: int, device: str,
        *, augmentation: bool | str,
    ) -> None:  # fmt: skip
        self.pictures, self._epoch = Pictures(pictures, device), 0
        self._view = View(self.pictures.height, self.pictures.width, augmentation)
        library = self.pictures.torch
        super().__init__(library.from_numpy(pictures).permute(0, 3, 1, 2), labels, rows, seed, device)
        self._ids = library.from_numpy(rows).to(device)
        self._copies = library.from_numpy(copies_of(rows)).to(device)
        self._crop, self._box = Crop.plain(self._ids), self._view.middle(self._ids)

    def taken(self, rows: Codes, places: Codes, epoch: int) -> torch.Tensor:
        """Return pictures of some rows as they are shown in an epoch."""
        library = self.pictures.torch
        if epoch != self._epoch:
            drawn = (self.seed, epoch, self._ids, self._copies)
            self._crop, self._box, self._epoch = self._view.crop(*drawn), self._view.box(*drawn), epoch
        here = library.from_numpy(places).to(self.device)
        found = self.pictures.crops(self._ids[here], self._crop.of(here))
        return self._view.resized(found, self._box.of(here), library.float32) if self._view.resizes else found


class ShiftedFeed(ArrayFeed):
    """Pictures ``[row, channel, height, width]`` for a network of one's own, changed at random."""

    def __init__(
        self, inputs: torch.Tensor, labels: Codes, rows: Codes, seed: int, device: str,
        *, augmentation: bool | str = True,
    ) -> None:  # fmt: skip
        super().__init__(inputs, labels, rows, seed, device)
        self._view = View(int(inputs.shape[2]), int(inputs.shape[3]), augmentation)
        library = require("torch", extra="train", purpose="Metric learning")
        self._ids, self._copies = (library.from_numpy(one).to(device) for one in (rows, copies_of(rows)))
        self._crop, self._box, self._epoch = Crop.plain(self._ids), self._view.middle(self._ids), 0

    def taken(self, rows: Codes, places: Codes, epoch: int) -> torch.Tensor:
        """Return pictures of some rows as they are shown in an epoch: the same for the same seed."""
        library = require("torch", extra="train", purpose="Metric learning")
        if epoch != self._epoch:
            drawn = (self.seed, epoch, self._ids, self._copies)
            self._crop, self._box, self._epoch = self._view.crop(*drawn), self._view.box(*drawn), epoch
        here = library.from_numpy(places).to(self.device)
        found = shifted(super().taken(rows, places, epoch), self._crop.of(here))
        # Pictures of whole numbers stay so where nothing is interpolated.
        kind = found.dtype if found.is_floating_point() else library.float32
        return self._view.resized(found, self._box.of(here), kind) if self._view.resizes else found


class LoaderFeed:
    """A data loader that yields (inputs, labels): its batches are taken as they come."""

    def __init__(self, loader: Iterable[Any], classes: NDArray[Any], seed: int, device: str, dtype: torch.dtype):
        self.loader, self.device, self.dtype = loader, device, dtype
        self.classes = classes
        self.draws = LoaderDraws(seed, device)

    def first(self) -> torch.Tensor:
        """Return the first inputs, to see what a backbone makes of them."""
        inputs, _ = pair_of(next(iter(self.loader)))
        return ready(inputs[:2], self.device, self.dtype)

    def batches(self, epoch: int, callbacks: CallbackList) -> Iterator[Fed]:
        """Yield the batches of an epoch; no callback has a say in them."""
        library = require("torch", extra="train", purpose="Metric learning")
        self.draws.begin(epoch, 0, 0)
        for batch in self.loader:
            inputs, told = pair_of(batch)
            codes = library.from_numpy(self._codes(told)).to(self.device)
            places = library.full((len(codes),), -1, device=self.device)
            yield Fed(ready(inputs, self.device, self.dtype), codes, places)

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


def _no_row_losses() -> torch.Tensor:
    raise AssertionError("no row of metric learning has a loss of its own")


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
