"""Networks on pictures trained by a metric loss to their end: what is read of them becomes embeddings by split."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from equipoise.training.images.fitting import fit_pictures
from equipoise.training.learner import Progress, Report
from equipoise.training.material import Material, Outcome, Rows, Settings
from equipoise.training.metric.heads.downstream import Embedding, classifiers_of
from equipoise.training.metric.heads.ending import endings, with_kept
from equipoise.training.metric.heads.fitting import JITTER
from equipoise.training.metric.heads.recipe import recipe_of
from equipoise.training.metric.pictures.task import Embedding as EmbeddingTask
from equipoise.training.preparing import Prepared
from equipoise.training.rounding import is_jittered


def fit_networks(
    material: Material, stack: Sequence[Prepared], settings: Settings, report: Report, *, version: int,
    named: Callable[[Mapping[str, Any]], dict[str, Any]],
) -> list[Outcome]:  # fmt: skip
    """Train networks, each by itself, and return how their trials ended, in their order.

    ``version`` is the learner's; ``named`` returns its hyper-parameters as they name a trial.
    """
    shown = replace(material, dev=with_training_rows(material))
    trials = [replace(trial, values=picture_values(trial)) for trial in stack]
    # Of a training that begins anew the last one stands; it is small, and what it learns is trained in place.
    tasks: dict[int, EmbeddingTask] = {}

    def task(trial: Prepared, _: Material, features: int) -> EmbeddingTask:
        made = tasks[id(trial)] = EmbeddingTask(trial, material, features, recipe_of([trial]), settings)
        return made

    def names(trial: Prepared) -> dict[str, Any]:
        own = named(trial.values)
        return {**own, **{name: trial.values[name] for name in ("momentum", "schedule")}, "network": own["backbone"]}

    classifiers = len(classifiers_of(stack))

    def tell(progress: Progress) -> None:
        report(replace(progress, classifiers=classifiers))

    ended = fit_pictures(shown, trials, settings, tell, version=version, task=task, names=names)
    whole = [place for place, one in enumerate(ended) if one.failure is None]
    width = int(stack[0].values["embedding_size"])
    read = [_split(ended[place], len(material.dev)) for place in whole]
    found = endings(
        [stack[place] for place in whole],
        material,
        [replace(ended[place], dev=None, kept={}) for place in whole],
        [{split: rows[:, :width] for split, rows in one.items()} for one in read],
        [{split: rows[:, width:] for split, rows in one.items()} for one in read],
        int(stack[0].values["epochs"]),
        settings,
        report,
    )
    mined = recipe_of(stack[:1]).make_miner() is not None
    for place, own, outputs in zip(whole, found, read, strict=True):
        dev, epochs = outputs["dev"][:, width:], int(trials[place].values["epochs"])
        trained = tasks.get(id(trials[place]))  # none, where another trial's training is read
        one = own if trained is None else with_kept(own, trained.callbacks, 0, dev, epochs=epochs, frozen=False)
        jittered = is_jittered(settings.rounding) and mined
        ended[place] = replace(one, notes=(*one.notes, JITTER)) if jittered else one
    return ended


def picture_values(trial: Prepared) -> dict[str, Any]:
    """Return the hyper-parameters as the training of pictures names them; Adam has no momentum of this kind."""
    momentum = trial.values["momentum"] if trial.values["optimiser"] == "sgd" else 0.0
    return {**trial.values, "network": trial.values["backbone"], "momentum": momentum}


def with_training_rows(material: Material) -> Rows:
    """Return the dev rows followed by all training rows, whose targets and groups count as unknown."""
    dev, train = material.dev, material.train
    assert dev.target is not None
    assert dev.group is not None
    unknown = np.full(len(train), -1, dtype=np.int64)
    return Rows(
        np.concatenate([dev.inputs, train.inputs]),
        np.concatenate([dev.ids, train.ids]),
        np.concatenate([dev.target, unknown]),
        np.concatenate([dev.group, unknown]),
    )


def _split(one: Outcome, rows: int) -> Embedding:
    """Part what was read of dev, training and test rows."""
    both = one.kept["outputs.dev"]
    return {"train": both[rows:], "dev": both[:rows], "test": one.kept["outputs.test"]}
