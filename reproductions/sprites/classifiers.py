"""The benchmark's classifiers: each is taught one factor on sprites in which another goes along with it.

The network is the encoder of a VAE with one output. All pairs are trained side by side. That the bias was planted is
seen on sprites that were held out and are not skewed: where both halves agree, and where they do not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts import codes_of_cells
from equipoise.cohorts.pictures import SPRITE_FACTORS
from equipoise.discovery import Classifier
from equipoise.discovery.generative import (
    StepProgress,
    check_device,
    picture_batch,
    read_networks,
    repeatable,
    sent,
    write_networks,
)
from equipoise.foundation import BadInput, TensorFile, require
from equipoise.networks import SIDE, vae_encoder
from equipoise.training import ONE_KIND, Losses, Recorder, StepTraining, descend, fix_seeds, seed_of, train_steps
from equipoise.training.images import state_of
from reproductions.sprites.sprite_bank import ChosenSprites, held_out_cells, skewed_sprites, upper_half
from reproductions.sprites.triplets import Pair

if TYPE_CHECKING:
    import torch

FILE = TensorFile("equipoise.benchmark", "equipoise.biased_classifier/1", "biased classifier", "BiasedClassifier.save")
AT_ONCE = 2_000
WORDS = {
    "accuracy": "share of held-out sprites, not skewed, whose half of the target is told",
    "agree": "the same where the biased factor is in the same half as the target",
    "disagree": "the same where it is in the other half: a biased classifier is worse there",
    "gap": "agree less disagree: how far the planted bias went",
    "loss": "mean cross-entropy over the last stretch of the skewed training",
}


@dataclass(frozen=True)
class ClassifierSettings:
    """How classifiers are trained. The paper's code takes 115,200 steps of 64 at 1e-4, or stops at 99.9 % right."""

    steps: int = 4_000
    batch_size: int = 128
    learning_rate: float = 1e-4
    agreement: float = 0.9
    width: int = 32
    held_out: int = 20_000
    seed: int = 0
    report_every: int = 500

    def __post_init__(self) -> None:
        for name in ("steps", "batch_size", "width", "held_out", "report_every"):
            if getattr(self, name) < 1:
                raise BadInput(f"{name} is {getattr(self, name)}", available="at least 1")
        if not self.learning_rate > 0:
            raise BadInput(f"learning_rate is {self.learning_rate}", available="a number above 0")


@dataclass(frozen=True, eq=False)
class BiasedClassifier:
    """A classifier of a target with a planted bias, and what it tells right of held-out sprites."""

    pair: Pair
    module: torch.nn.Module = field(repr=False)
    settings: ClassifierSettings
    right: dict[str, float] = field(default_factory=dict)

    def classifier(self) -> Classifier:
        """Return it as the search takes it."""
        return Classifier(self.module, logits=True, size=SIDE)

    def save(self, path: Path) -> None:
        """Write weights, settings and accuracies as safetensors."""
        metadata = {"pair": asdict(self.pair), "settings": asdict(self.settings), "right": self.right}
        write_networks(path, FILE, metadata, {"classifier": self.module})


def load_classifier(path: Path, device: str = "cpu") -> BiasedClassifier:
    """Read what ``BiasedClassifier.save`` wrote; nothing in the file is run."""
    check_device(device)

    def build(metadata: dict[str, Any], device: str) -> BiasedClassifier:
        settings = ClassifierSettings(**metadata["settings"])
        module = _built(Pair(**metadata["pair"]), settings, device)
        return BiasedClassifier(Pair(**metadata["pair"]), module, settings, dict(metadata["right"]))

    loaded = read_networks(path, FILE, build, lambda classifier: {"classifier": classifier.module}, device)
    loaded.module.eval().requires_grad_(False)
    return loaded


def train_classifiers(
    pairs: Sequence[Pair], settings: ClassifierSettings, device: str = "cpu", *,
    report: Callable[[StepProgress], None] | None = None, record: bool = True,
) -> list[BiasedClassifier]:  # fmt: skip
    """Train a classifier of every pair, side by side; ``report`` is told how the last one stands."""
    check_device(device)
    sprites = ChosenSprites()
    training_cells, out = held_out_cells(settings.held_out, settings.seed)
    with repeatable():
        runs = [
            _Run(pair, settings, device, sprites, training_cells, report if pair is pairs[-1] else None, record)
            for pair in pairs
        ]
        train_steps([run.training for run in runs], remedy="a lower learning_rate.")
        shares = _told([run.module for run in runs], sprites, out, device)
    codes = codes_of_cells(out, SPRITE_FACTORS)
    classifiers = []
    for run, upper in zip(runs, shares, strict=True):
        right = judged(run.pair, upper, codes) | {"loss": run.training.reports[-1].losses["loss"]}
        classifiers.append(BiasedClassifier(run.pair, run.module.eval().requires_grad_(False), settings, right))
    return classifiers


def judged(pair: Pair, upper: NDArray[np.bool_], codes: dict[str, NDArray[np.int64]]) -> dict[str, float]:
    """Return the shares told right: of all, where the halves agree, where they do not, and the gap."""
    target, biased = upper_half(pair.target, codes), upper_half(pair.biased, codes)
    right, agree = upper == target, target == biased
    shares = {
        "accuracy": float(right.mean()), "agree": float(right[agree].mean()), "disagree": float(right[~agree].mean())
    }  # fmt: skip
    return shares | {"gap": shares["agree"] - shares["disagree"]}


class _Run:
    """The training of one classifier: network, optimiser, and the buffers that a recorded step reads."""

    def __init__(
        self, pair: Pair, settings: ClassifierSettings, device: str, sprites: ChosenSprites,
        training_cells: NDArray[np.int64],
        report: Callable[[StepProgress], None] | None, record: bool,
    ) -> None:  # fmt: skip
        self.torch = require("torch", extra="train", purpose="Training a classifier")
        self.pair, self.sprites, self.device = pair, sprites, device
        number, seed = settings.steps * settings.batch_size, seed_of(settings.seed, "skewed sprites", pair.name)
        cells = skewed_sprites(pair.target, pair.biased, settings.agreement, number, seed, training_cells)
        self.cells = cells.reshape(settings.steps, settings.batch_size)
        upper = upper_half(pair.target, codes_of_cells(cells, SPRITE_FACTORS))
        self.uppers = upper.astype(np.float32).reshape(self.cells.shape)
        self.module = _built(pair, settings, device)
        self.optimiser = self.torch.optim.Adam(
            self.module.parameters(), lr=settings.learning_rate, fused=True, capturable=device != "cpu"
        )
        kind: dict[str, Any] = {"device": device, "dtype": self.torch.float32}
        shape = (settings.batch_size, 1, SIDE, SIDE)
        self.batch = self.torch.zeros(shape, **kind).to(memory_format=self.torch.channels_last)
        self.labels = self.torch.zeros(settings.batch_size, **kind)
        self.losses: dict[str, torch.Tensor] = {}
        self.recorder = Recorder(device, self._tensors, record=record)
        self.recorder.record(ONE_KIND, self._step)
        self.training = StepTraining(
            settings.steps, self._take, report_every=settings.report_every, report=report, recorder=self.recorder
        )

    def _take(self, step: int) -> Losses:
        self.batch.copy_(picture_batch(self.sprites, self.cells[step - 1], self.device))
        self.labels.copy_(sent(self.uppers[step - 1], self.device))
        self.recorder.take(ONE_KIND, self._step)
        return self.losses

    def _tensors(self) -> dict[str, torch.Tensor]:
        weights = {f"weight {index}": weight for index, weight in enumerate(self.module.parameters())}
        return weights | state_of(self.optimiser)

    def _step(self) -> None:
        entropy = self.torch.nn.functional.binary_cross_entropy_with_logits
        loss = entropy(self.module(self.batch)[:, 0], self.labels)
        descend(self.optimiser, loss)
        self.losses = {"loss": loss.detach()}


def _built(pair: Pair, settings: ClassifierSettings, device: str) -> torch.nn.Module:
    library: Any = require("torch", extra="train", purpose="A classifier")
    fix_seeds(seed_of(settings.seed, "weights of a biased classifier", pair.name))
    network: torch.nn.Module = vae_encoder(1, 1, settings.width).to(device=device, memory_format=library.channels_last)  # type: ignore[call-overload, unused-ignore]
    return network


def _told(
    modules: Sequence[torch.nn.Module], sprites: ChosenSprites, cells: NDArray[np.int64], device: str
) -> NDArray[np.bool_]:
    """Return which half each classifier sees in each of some sprites, ``[classifier, row]``."""
    library = require("torch", extra="train", purpose="A classifier")
    parts = []
    with library.inference_mode():
        for first in range(0, len(cells), AT_ONCE):
            batch = picture_batch(sprites, cells[first : first + AT_ONCE], device)
            parts.append(library.stack([module(batch)[:, 0] > 0 for module in modules]).cpu().numpy())
    return np.concatenate(parts, axis=1)
