"""The end of a metric learner: classes of nearest training rows, embeddings to keep, classifiers trained on them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.training.finishing import failed
from equipoise.training.learner import Progress, Report
from equipoise.training.material import Material, Outcome, Predicted, Rows
from equipoise.training.metric.heads.acting import MetricEnded
from equipoise.training.metric.heads.downstream import Embedding, downstream_predictions
from equipoise.training.metric.heads.nearest import nearest
from equipoise.training.preparing import Prepared

SPLITS = ("train", "dev", "test")


def endings(
    trials: Sequence[Prepared],
    material: Material,
    ended: Sequence[Outcome],
    embeddings: Sequence[Embedding],
    features: Sequence[Embedding],
    epochs: int,
    report: Report,
) -> list[Outcome]:
    """Give outcomes their predictions and what is kept of them, from the embeddings of all rows of each split.

    ``features`` are what an embedding stands on. Of test rows nothing but their embedding is there to be read.
    ``report`` hears how far the classifiers are that are trained after the last of ``epochs``.
    """
    begun = time.perf_counter()

    def tell(classified: int, classifiers: int) -> None:
        report(Progress(len(trials), 0, epochs, epochs, classifiers, classified))

    found = downstream_predictions(trials, material, embeddings, tell)
    share = (time.perf_counter() - begun) / max(len(trials), 1)
    made = []
    for trial, one, (said, notes), *both in zip(trials, ended, found, embeddings, features, strict=True):
        more = replace(one, kept=said, notes=(*one.notes, *notes), seconds=one.seconds + share)
        try:
            made.append(_read(trial, material, more, *both))
        except Exception as error:  # noqa: BLE001 - one failed trial never stops the others
            made.append(failed(error, one))
    return made


def _read(trial: Prepared, material: Material, one: Outcome, embedding: Embedding, features: Embedding) -> Outcome:
    begun = time.perf_counter()
    own = embedding["train"][trial.rows]
    assert material.train.target is not None
    told = material.train.target[trial.rows]
    dev, test = (Predicted(told[nearest(embedding[split], own)]) for split in ("dev", "test"))
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
