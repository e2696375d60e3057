"""Partial attribute de-correlation (paper 000, section 4): an embedding held apart from one that tells the groups.

Every trial has sensitive heads of its own, and nothing mixes trials. None of them is needed to embed a row, and none is
released; a trial of a study keeps the dev rows as they embed them, for maps.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput, require, stream, treatment
from equipoise.networks import separation, stacked_mlp
from equipoise.training import (
    Batch,
    Choice,
    Codes,
    Need,
    Parameter,
    Part,
    Table,
    TrainingCallback,
    TrainingContext,
    Treatment,
    dtype_of,
    seed_of,
)
from equipoise.training.metric import MetricEnded, masked_mean

if TYPE_CHECKING:
    import torch

MEAN, SUM = "mean", "sum"
PROBE = "linear"
# Trials on the same frozen features and rows share what can be read from them; the last few answers are remembered.
REMEMBERED = 64
_features: dict[bytes, tuple[float, float]] = {}


@treatment("parade", alias="PARADE", stage="in", paper="000", extra="train")
class Parade(Treatment):
    """The head minimises L_targ + alpha L_SA - rho c, c how well xi meets it from a head that learns the groups.

    Several attributes have a sensitive head, a loss and an xi each, which share alpha and rho: the terms add up.
    Rows whose value is unknown have no part in the terms of that attribute. A cell without rows is no matter.

    The correlation is the mean over the dimensions, as in the code that the paper builds on (``scaling = "mean"``);
    ``"sum"`` is the paper's text, D times as strong. Settings with ``alpha = 0``, ``rho = 0`` or ``shuffled`` are
    controls: the first two together are the untreated training, number for number, and on frozen features ``rho = 0``
    alone is. In a batch with one group, or without two rows of any, a loss that takes triplets or pairs is 0; ArcFace
    and Proxy-NCA still compare rows with the vectors of absent groups. A grid of settings trains as one stack.
    """

    requires: ClassVar[frozenset[Need]] = frozenset({Need.PAIR_LOSS})
    parameters: ClassVar[Table] = {
        "alpha": Parameter("weight of the sensitive heads' losses, alpha_SA", 0.3, least=0, low=0.1, high=0.9,
                           scale="linear"),
        "rho": Parameter("weight of the de-correlation", 1500.0, least=0, low=1.0, high=3000.0),
        "scaling": Choice("what the correlation is over the dimensions: their mean (the base code) or their sum (the "
                          "paper's text, D times as strong)", MEAN, (MEAN, SUM)),
        "shuffled": Choice("whether groups are permuted at random among the training rows: a control", False),
        "separation_rate": Parameter("learning rate of xi", 1e-5, least=1e-12, low=1e-6, high=1e-2),
    }  # fmt: skip

    @classmethod
    def during(cls, trials: Sequence[Parade], context: TrainingContext) -> Separated:
        """Return the trials' sensitive heads."""
        return Separated(context, trials)

    @classmethod
    def is_control(cls, values: Mapping[str, Any]) -> bool:
        """Tell whether a setting is a control: no sensitive loss, no de-correlation, or permuted groups."""
        head_settings = cls(**values).values
        return bool(head_settings["shuffled"] or not head_settings["alpha"] or not head_settings["rho"])

    def metric_arrays(self, ended: MetricEnded) -> dict[str, NDArray[Any]]:
        """Return how well each attribute can be read from the embedding, from what stands under it, and by chance."""
        return leakage_of(ended)


class Separated(TrainingCallback):
    """What PARADE adds to the loss of each head: the sum over attributes of alpha L_SA - rho c."""

    def __init__(self, context: TrainingContext, trials: Sequence[Parade]) -> None:
        assert context.metric is not None
        over = [1 if trial.values["scaling"] == SUM else context.metric.embedding_size for trial in trials]
        self.alphas = context.numbers([trial.values["alpha"] for trial in trials])
        self.rhos = context.numbers([trial.values["rho"] / number for trial, number in zip(trials, over, strict=True)])
        self.rates = [trial.values["separation_rate"] for trial in trials]
        shuffled = [trial.values["shuffled"] for trial in trials]
        self.heads = [
            SensitiveHead(context, index, attribute_codes(context, index, shuffled))
            for index in range(len(context.attributes))
        ]

    def parts(self) -> Mapping[str, Part]:
        """Return what is trained beside the target heads."""
        return {name: part for head in self.heads for name, part in head.parts(self.rates).items()}

    def penalty(self, batch: Batch) -> torch.Tensor:
        """Return what is added to the loss of each head, ``[trial]``."""
        total: torch.Tensor = self.alphas.new_zeros(len(self.alphas))
        for head in self.heads:
            loss, met = head.terms(batch)
            total = total + self.alphas * loss - self.rhos * met
        return total

    def stored_arrays(self, trial: int, features: Mapping[str, NDArray[np.float32]]) -> dict[str, NDArray[Any]]:
        """Return ``sensitive.<place of the attribute>``: the dev rows as each sensitive head embeds them now.

        It is for the maps of a report. An embedding that is not finite in float16 is not kept.
        """
        embeddings = {index: head.of_trial(trial, features["dev"]) for index, head in enumerate(self.heads)}
        return {
            f"sensitive.{head_index}": points for head_index, points in embeddings.items() if np.isfinite(points).all()
        }


def attribute_codes(context: TrainingContext, index: int, shuffled: Sequence[bool]) -> torch.Tensor:
    """Return an attribute's codes ``[trial, row]``; those of a shuffled trial are permuted over its known rows."""
    assert context.codes is not None
    codes = context.codes[index]
    if not any(shuffled):
        return codes
    library = require("torch", extra="train", purpose="PARADE")
    mixed = codes.cpu().numpy().copy()
    for trial, (seed, dealt) in enumerate(zip(context.seeds, shuffled, strict=True)):
        known_rows = np.flatnonzero(mixed[trial] >= 0)
        if dealt:
            generator = stream(seed, "shuffled attribute", context.attributes[index])
            mixed[trial, known_rows] = generator.permutation(mixed[trial, known_rows])
    tensor: torch.Tensor = library.from_numpy(mixed).to(codes.device)
    return tensor


def leakage_of(ended: MetricEnded) -> dict[str, NDArray[np.float64]]:
    """Return ``leakage.embedding``, ``leakage.features`` and ``leakage.chance``, each ``[attribute]``.

    They are balanced accuracies: the mean over the groups of how often a row's group is guessed. Chance is 1 over the
    groups that both training and dev rows have; with fewer than two of them nothing can be told (NaN).
    """
    by_head, under = [], []
    for train, dev in zip(ended.codes["train"], ended.codes["dev"], strict=True):
        by_head.append(probed(ended.embedding["train"], train, ended.embedding["dev"], dev))
        under.append(_remembered(ended.features["train"], train, ended.features["dev"], dev))
    return {
        "leakage.embedding": np.array([value for value, _ in by_head]),
        "leakage.features": np.array([value for value, _ in under]),
        "leakage.chance": np.array([chance for _, chance in by_head]),
    }


def probed(
    train: NDArray[Any], train_codes: Codes, dev: NDArray[Any], dev_codes: Codes, probe: str = PROBE
) -> tuple[float, float]:
    """Return the balanced accuracy of a probe on dev rows, and what guessing has.

    Rows of unknown group (-1) are left out, and so are groups that only training or only dev rows have. The probe's
    probabilities are divided by the groups' training shares, so that a small group is not simply passed over.
    """
    # Audits are needed where something is probed, and not to list treatments.
    from equipoise.audits.downstream import fitted
    from equipoise.audits.leakage import PROBES

    common = np.intersect1d(train_codes[train_codes >= 0], dev_codes[dev_codes >= 0])
    if len(common) < 2:
        return float("nan"), float("nan")
    learnt, judged = np.isin(train_codes, common), np.isin(dev_codes, common)
    codes, truth = np.searchsorted(common, train_codes[learnt]), np.searchsorted(common, dev_codes[judged])
    classifier: Any = fitted(PROBES[probe](0), probe, train[learnt], codes)[0]
    likely = np.asarray(classifier.predict_proba(dev[judged]))
    guesses = np.argmax(likely / np.bincount(codes), axis=1)
    sizes = np.bincount(truth)
    right = np.bincount(truth[guesses == truth], minlength=len(sizes))
    return float((right / sizes).mean()), 1 / len(common)


def _remembered(train: NDArray[Any], train_codes: Codes, dev: NDArray[Any], dev_codes: Codes) -> tuple[float, float]:
    parts = [np.ascontiguousarray(array) for array in (train, train_codes, dev, dev_codes)]
    name = hashlib.blake2b(b"".join(hashlib.blake2b(part.data).digest() for part in parts)).digest()
    if name not in _features:
        while len(_features) >= REMEMBERED:
            _features.pop(next(iter(_features)))
        _features[name] = probed(train, train_codes, dev, dev_codes)
    return _features[name]


class SensitiveHead:
    """Linear(features, D) with the loss and miner of the target head, whose classes are the values of one attribute."""

    def __init__(self, context: TrainingContext, index: int, codes: torch.Tensor) -> None:
        self.attribute, values = context.attributes[index], context.values[index]
        if len(values) < 2:
            raise BadInput(
                f"The sensitive attribute {self.attribute!r} has {len(values)} value(s) among the training rows",
                available="two or more: PARADE learns to distinguish them",
                help="leave it out of the groups.",
            )
        self.torch = require("torch", extra="train", purpose="PARADE")
        assert context.metric is not None
        assert context.draws is not None
        self.recipe, self.uniform_numbers, self.codes = context.metric, context.draws, codes
        # Only where a value is unknown must heads be looked at one by one.
        self.all_known = bool((codes >= 0).all())
        self.loss, self.miner = context.metric.make_loss(), context.metric.make_miner()
        width, dtype, device = context.metric.embedding_size, dtype_of(context.settings), context.settings.device
        # Streams of its own: a group shall not begin where the class of the same number does.
        seeds = [seed_of(seed, "sensitive", self.attribute) for seed in context.seeds]
        self.head = stacked_mlp((context.features, width), seeds, part="sensitive head", dtype=dtype, device=device)
        self.loss_tensors = self.loss.start(seeds, len(values), width, dtype=str(dtype).split(".")[-1], device=device)
        self.separation = separation(width, seeds, dtype=dtype, device=device)

    def parts(self, separation_rates: Sequence[float]) -> dict[str, Part]:
        """Return what is trained: the head as the target head is, xi at its own rates, and what the loss learns."""
        parts = {
            "head": Part(self.head.parameters, self.recipe.rates, self.recipe.decays),
            "separation": Part(self.separation.parameters, tuple(separation_rates)),
        }
        if self.loss_tensors:
            assert self.loss.rate is not None
            parts["loss"] = Part(list(self.loss_tensors.values()), self.loss.rate)
        return {f"sensitive {name} {self.attribute}": part for name, part in parts.items()}

    def terms(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Return L_SA and c of each trial, both ``[trial]``; c is summed over the dimensions, a mean over rows."""
        codes = self.codes.gather(1, batch.positions)
        points = self.embedded(batch.features)
        numbers = self.uniform_numbers(f"sensitive {self.attribute}", batch.step, codes.shape[1])
        loss = self._loss(points, codes, numbers)
        return loss, masked_mean(self.separation(batch.output.to(points.dtype), points), codes >= 0)

    def embedded(self, features: torch.Tensor) -> torch.Tensor:
        """Return the sensitive embedding of features ``[trial, row, feature]``, of length 1 where the loss wants it."""
        rows = self.head(features.to(self.head.weights[0].dtype))[0]
        if not self.loss.unit_length:
            return rows
        points: torch.Tensor = self.torch.nn.functional.normalize(rows, dim=-1)
        return points

    def of_trial(self, trial: int, rows: NDArray[np.float32]) -> NDArray[np.float16]:
        """Return rows ``[row, feature]`` as the head of one trial embeds them now."""
        with self.torch.no_grad():
            weight, bias = (parameter[trial] for parameter in self.head.parameters)
            points = self.torch.as_tensor(rows).to(weight) @ weight + bias
            if self.loss.unit_length:
                points = self.torch.nn.functional.normalize(points, dim=-1)
            with np.errstate(over="ignore"):  # what float16 cannot hold is infinite, and the caller looks
                values: NDArray[np.float16] = points.double().cpu().numpy().astype(np.float16)
        return values

    def _loss(self, points: torch.Tensor, codes: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        if self.all_known:
            mined = None if self.miner is None else self.miner(points, codes, numbers)
            return self.loss(points, codes, mined, self.loss_tensors)
        losses = [self._of_known(trial, points, codes, numbers) for trial in range(len(codes))]
        tensor: torch.Tensor = self.torch.stack(losses)
        return tensor

    def _of_known(self, trial: int, points: torch.Tensor, codes: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        """Return the loss of one trial, of the rows alone whose value is known; 0 where there are none."""
        known_rows = (codes[trial] >= 0).nonzero().squeeze(-1)
        rows, known_codes = points[trial][known_rows], codes[trial][known_rows]
        if not len(known_rows):
            return rows.sum()
        mined = None if self.miner is None else self.miner(rows, known_codes, numbers[trial][:, known_rows])
        return self.loss(
            rows, known_codes, mined, {name: parameter[trial] for name, parameter in self.loss_tensors.items()}
        )
