"""The end of a metric learner: classes of nearest training rows, embeddings to keep, classifiers trained on them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.training.callback import TrainingCallback
from equipoise.training.compatibility import has_own
from equipoise.training.finishing import failed, representations_of
from equipoise.training.learner import Progress, Report
from equipoise.training.material import Codes, Material, Outcome, Predicted, Rows, Settings
from equipoise.training.metric.embedding_model import EmbeddingModel
from equipoise.training.metric.heads.downstream import Embedding, downstream_predictions
from equipoise.training.metric.heads.nearest import nearest
from equipoise.training.metric.objective import kept_by
from equipoise.training.model import Transformation
from equipoise.training.preparing import Prepared

SPLITS = ("train", "dev", "test")
# Heads of treatments keep no best epoch.
OTHER_EPOCH = "What a treatment kept of its heads is from the last epoch; the embedding is of epoch {epoch}."


@dataclass(frozen=True, eq=False)
class MetricEnded:
    """A trial of metric learning that ended, as its treatments may read it: train and dev rows, never test rows.

    ``features`` are what the head stands on and ``embedding`` what is released, by split, ``[row, ...]``; the training
    rows are the trial's own. ``codes`` are ``[attribute, row]`` by split, -1 where a value is unknown.
    """

    seed: int
    features: Mapping[str, NDArray[np.float32]]
    embedding: Mapping[str, NDArray[np.float32]]
    attributes: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    codes: Mapping[str, Codes]


def endings(
    trials: Sequence[Prepared],
    material: Material,
    ended: Sequence[Outcome],
    embeddings: Sequence[Embedding],
    features: Sequence[Embedding],
    epochs: int,
    settings: Settings,
    report: Report,
) -> list[Outcome]:
    """Give outcomes their predictions and what is kept of them, from the embeddings of all rows of each split.

    Treatments that act on an embedding erase from it first; then it is read, and classifiers are trained on it.
    ``features`` are what an embedding stands on. Of test rows nothing but their embedding is there to be read.
    ``report`` hears how far the classifiers are that are trained after the last of ``epochs``.
    """
    begun = time.perf_counter()
    whole, released = list(ended), list(embeddings)
    erasers: list[tuple[Transformation, ...]] = [()] * len(trials)
    for place, trial in enumerate(trials):
        try:
            released[place], erasers[place] = _erased(trial, material, embeddings[place], settings)
            said = [note for eraser in erasers[place] for note in eraser.notes]
            whole[place] = replace(whole[place], notes=(*whole[place].notes, *said))
        except Exception as error:  # noqa: BLE001 - one failed trial never stops the others
            whole[place] = failed(error, replace(whole[place], model=None))

    def tell(classified: int, classifiers: int) -> None:
        report(Progress(len(trials), 0, epochs, epochs, classifiers, classified))

    found = downstream_predictions(trials, material, released, tell)
    share = (time.perf_counter() - begun) / max(len(trials), 1)
    made = []
    for trial, one, (classified, notes), own, *both in zip(
        trials, whole, found, erasers, released, features, strict=True
    ):
        if one.failure is not None:
            made.append(one)
            continue
        more = replace(one, kept=classified, notes=(*one.notes, *notes), seconds=one.seconds + share)
        try:
            made.append(_read(trial, material, more, own, *both))
        except Exception as error:  # noqa: BLE001 - one failed trial never stops the others
            made.append(failed(error, replace(one, model=None)))
    return made


def _erased(
    trial: Prepared, material: Material, embedding: Embedding, settings: Settings
) -> tuple[Embedding, tuple[Transformation, ...]]:
    """Return an embedding as its treatments leave it, with what they erase by."""
    erasers: tuple[Transformation, ...] = ()
    for treatment in trial.treatments:
        if not has_own(type(treatment), "erase"):
            continue

        def rows(split: str, now: Embedding = embedding) -> NDArray[np.float32]:
            return now[split][trial.rows] if split == "train" else now[split]

        eraser = treatment.erase(representations_of(material, trial, settings, rows))
        if eraser is not None:
            embedding = {split: eraser(points).astype(np.float32) for split, points in embedding.items()}
            erasers = (*erasers, eraser)
    return embedding, erasers


def _read(
    trial: Prepared, material: Material, one: Outcome, erasers: tuple[Transformation, ...], embedding: Embedding,
    features: Embedding,
) -> Outcome:  # fmt: skip
    begun = time.perf_counter()
    own = embedding["train"][trial.rows]
    assert material.train.target is not None
    told = material.train.target[trial.rows]
    dev, test = (Predicted(told[nearest(embedding[split], own)]) for split in ("dev", "test"))
    if isinstance(one.model, EmbeddingModel):
        one.model.release(erasers, own, told, len(material.classes))
    kept: dict[str, NDArray[Any]] = dict(one.kept)
    kept |= {f"embedding.{split}": embedding[split].astype(np.float16) for split in ("dev", "test")}
    if trial.treatments:
        seen = _seen(trial, material, embedding, features)
        for treatment in trial.treatments:
            kept |= treatment.metric_kept(seen)
    spent = one.seconds + time.perf_counter() - begun
    return replace(one, dev=dev, test=test, kept=kept, seconds=spent)


def _seen(trial: Prepared, material: Material, embedding: Embedding, features: Embedding) -> MetricEnded:
    rows = {"train": trial.rows, "dev": np.arange(len(material.dev))}

    def of(arrays: Embedding) -> Mapping[str, NDArray[np.float32]]:
        return {split: arrays[split][chosen] for split, chosen in rows.items()}

    def codes(split: Rows, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        assert split.group is not None
        return material.attribute_codes(split.group[chosen])

    return MetricEnded(
        seed=trial.seed,
        features=of(features),
        embedding=of(embedding),
        attributes=material.attributes,
        values=material.attribute_values,
        codes={"train": codes(material.train, rows["train"]), "dev": codes(material.dev, rows["dev"])},
    )


def with_kept(
    one: Outcome,
    callbacks: Sequence[TrainingCallback],
    trial: int,
    dev: NDArray[np.float32],
    *,
    epochs: int,
    frozen: bool,
) -> Outcome:
    """Return an outcome with what treatments keep of the trial.

    ``frozen`` tells that features are the same in every epoch. Where they are not, heads of the last epoch fit the
    features of no other, and nothing is kept of a trial whose chosen epoch is another.
    """
    last = one.best_epoch == epochs
    if one.failure is not None or not (last or frozen):
        return one
    try:
        more = kept_by(callbacks, trial, {"dev": dev})
    except Exception as error:  # noqa: BLE001 - one failed trial never stops the others
        return failed(error, replace(one, dev=None, test=None, kept={}, model=None))
    notes = one.notes if last or not more else (*one.notes, OTHER_EPOCH.format(epoch=one.best_epoch))
    return replace(one, kept={**one.kept, **more}, notes=notes)
