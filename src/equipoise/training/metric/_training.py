"""Embeddings trained by a metric loss to their end: heads on features, or networks on pictures.

Both become embeddings by split. What treatments erase goes first; then rows get the classes of nearest training rows,
what is to be kept is kept, and classifiers are trained on the embeddings. A step on pictures asks the CPU nothing: the
numbers that miners draw by lie on the device from the beginning of an epoch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.training._callback import TrainingCallback
from equipoise.training._compatibility import has_hook
from equipoise.training._dataset import Codes, EncodedDataset, Outcome, Predicted, Rows, Settings
from equipoise.training._learner import Progress, Report
from equipoise.training._models import Transformation
from equipoise.training._numerics import is_jittered
from equipoise.training._prediction import failed_outcome, representations_of
from equipoise.training._preparation import PreparedJob
from equipoise.training._stack import Stack
from equipoise.training._stack_backend import StackBackend
from equipoise.training._trainer import DevReading
from equipoise.training.images._models import PictureNetwork
from equipoise.training.images._side_by_side import fit_pictures
from equipoise.training.images._tasks import Classification
from equipoise.training.metric._downstream import Embedding, classifiers_of, downstream_predictions
from equipoise.training.metric._heads import embedded, nearest
from equipoise.training.metric._models import EmbeddingModel, PictureEmbedder, head_model
from equipoise.training.metric._objective import (
    MetricObjective,
    MetricRecipe,
    metric_callback,
    metric_context,
    recipe_of,
    stored_arrays_of,
)

if TYPE_CHECKING:
    import torch

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
    trials: Sequence[PreparedJob],
    dataset: EncodedDataset,
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
    start = time.perf_counter()
    read_outcomes, released = list(ended), list(embeddings)
    erasers: list[tuple[Transformation, ...]] = [()] * len(trials)
    for index, trial in enumerate(trials):
        try:
            released[index], erasers[index] = _erased(trial, dataset, embeddings[index], settings)
            eraser_notes = [note for eraser in erasers[index] for note in eraser.notes]
            read_outcomes[index] = replace(read_outcomes[index], notes=(*read_outcomes[index].notes, *eraser_notes))
        except Exception as error:  # noqa: BLE001 - one failed trial never stops the others
            read_outcomes[index] = failed_outcome(error, replace(read_outcomes[index], model=None))

    def tell(classified: int, classifiers: int) -> None:
        report(Progress(len(trials), 0, epochs, epochs, classifiers, classified))

    downstream = downstream_predictions(trials, dataset, released, tell)
    share = (time.perf_counter() - start) / max(len(trials), 1)
    outcomes = []
    for trial, outcome, (classified, notes), trial_erasers, *representations in zip(
        trials, read_outcomes, downstream, erasers, released, features, strict=True
    ):
        if outcome.failure is not None:
            outcomes.append(outcome)
            continue
        more = replace(outcome, arrays=classified, notes=(*outcome.notes, *notes), seconds=outcome.seconds + share)
        try:
            outcomes.append(_read(trial, dataset, more, trial_erasers, *representations))
        except Exception as error:  # noqa: BLE001 - one failed trial never stops the others
            outcomes.append(failed_outcome(error, replace(outcome, model=None)))
    return outcomes


def _erased(
    trial: PreparedJob, dataset: EncodedDataset, embedding: Embedding, settings: Settings
) -> tuple[Embedding, tuple[Transformation, ...]]:
    """Return an embedding as its treatments leave it, with what they erase by."""
    erasers: tuple[Transformation, ...] = ()
    for treatment in trial.treatments:
        if not has_hook(type(treatment), "erase"):
            continue

        def rows(split: str, now: Embedding = embedding) -> NDArray[np.float32]:
            return now[split][trial.rows] if split == "train" else now[split]

        eraser = treatment.erase(representations_of(dataset, trial, settings, rows))
        if eraser is not None:
            embedding = {split: eraser(points).astype(np.float32) for split, points in embedding.items()}
            erasers = (*erasers, eraser)
    return embedding, erasers


def _read(
    trial: PreparedJob, dataset: EncodedDataset, outcome: Outcome, erasers: tuple[Transformation, ...],
    embedding: Embedding,
    features: Embedding,
) -> Outcome:  # fmt: skip
    start = time.perf_counter()
    train_points = embedding["train"][trial.rows]
    assert dataset.train.target is not None
    train_target = dataset.train.target[trial.rows]
    dev, test = (Predicted(train_target[nearest(embedding[split], train_points)]) for split in ("dev", "test"))
    if isinstance(outcome.model, EmbeddingModel):
        outcome.model.release(erasers, train_points, train_target, len(dataset.classes))
    arrays: dict[str, NDArray[Any]] = dict(outcome.arrays)
    arrays |= {f"embedding.{split}": embedding[split].astype(np.float16) for split in ("dev", "test")}
    if trial.treatments:
        ended_view = _metric_ended(trial, dataset, embedding, features)
        for treatment in trial.treatments:
            arrays |= treatment.metric_arrays(ended_view)
    spent = outcome.seconds + time.perf_counter() - start
    return replace(outcome, dev=dev, test=test, arrays=arrays, seconds=spent)


def _metric_ended(
    trial: PreparedJob, dataset: EncodedDataset, embedding: Embedding, features: Embedding
) -> MetricEnded:
    rows = {"train": trial.rows, "dev": np.arange(len(dataset.dev))}

    def of(arrays: Embedding) -> Mapping[str, NDArray[np.float32]]:
        return {split: arrays[split][chosen] for split, chosen in rows.items()}

    def codes(split: Rows, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        assert split.group is not None
        return dataset.attribute_codes(split.group[chosen])

    return MetricEnded(
        seed=trial.seed,
        features=of(features),
        embedding=of(embedding),
        attributes=dataset.attributes,
        values=dataset.attribute_values,
        codes={"train": codes(dataset.train, rows["train"]), "dev": codes(dataset.dev, rows["dev"])},
    )


def with_stored_arrays(
    outcome: Outcome,
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
    last = outcome.best_epoch == epochs
    if outcome.failure is not None or not (last or frozen):
        return outcome
    try:
        more = stored_arrays_of(callbacks, trial, {"dev": dev})
    except Exception as error:  # noqa: BLE001 - one failed trial never stops the others
        return failed_outcome(error, replace(outcome, dev=None, test=None, arrays={}, model=None))
    notes = outcome.notes if last or not more else (*outcome.notes, OTHER_EPOCH.format(epoch=outcome.best_epoch))
    return replace(outcome, arrays={**outcome.arrays, **more}, notes=notes)


# How often the dev rows are asked in a training, at least: reading them costs about as much as an epoch.
LOOKS = 20
JITTER = (
    "The miner draws by place in the batch, so that jitter changes which triplets are drawn and not the rounding alone."
)


def looked_at(epochs: int) -> list[int]:
    """Return the epochs after which the dev rows are asked: evenly spread, the last one among them."""
    every = max(epochs // LOOKS, 1)
    return list(range(epochs, 0, -every))[::-1]


class StackedEmbeddings(StackBackend):
    """Heads trained by a metric loss: the class of a dev row is that of the nearest training row."""

    def __init__(self, stack: Stack, dataset: EncodedDataset, report: Report) -> None:
        super().__init__(stack, dataset, report)
        self.inputs = {"train": stack.inputs, "dev": self.dev}
        self._looks = set(looked_at(self.epochs))
        self.classifiers = len(classifiers_of(stack.trials))
        self.objective: MetricObjective = stack.callbacks[0]

    def looks(self, number: int) -> bool:
        """Read the dev rows about twenty times."""
        return number in self._looks

    def read(self, trials: Sequence[int]) -> DevReading:
        """Return the class of every dev row by these trials: that of the trial's nearest training row."""
        stack = self.stack
        train, dev = (self._embedded(rows, stack.network.values) for rows in self.inputs.values())
        classes = [stack.target[at][nearest(dev[at], train[at][stack.rows[at]])] for at in self.running_indices(trials)]
        return DevReading([codes.cpu().numpy() for codes in classes], [True] * len(classes))

    def _embedded(self, rows: torch.Tensor, values: list[torch.Tensor]) -> torch.Tensor:
        with self.stack.torch.no_grad():
            return embedded(rows, *values, unit_length=self.objective.loss.unit_length)

    def _model(self, trial: int) -> EmbeddingModel:
        """Return the head of a trial in its best epoch as a model, which lacks its training rows yet."""
        values, unit_length = [tensors[trial] for tensors in self.best_values], self.objective.loss.unit_length
        return head_model(values, unit_length=unit_length, settings=self.stack.settings)

    def finish(self, ended: Sequence[Outcome]) -> list[Outcome]:
        """Return how every trial ended, read with the values of its best epoch."""
        outcomes = list(ended)
        successful = [index for index, outcome in enumerate(outcomes) if outcome.failure is None]
        inputs = {**self.inputs, "test": self.stack.tensor(self.dataset.test.inputs)}
        features = {split: getattr(self.dataset, split).inputs for split in SPLITS}
        embeddings = [
            {
                split: self._embedded(rows, [tensors[position : position + 1] for tensors in self.best_values])[0]
                .float()
                .cpu()
                .numpy()
                for split, rows in inputs.items()
            }
            for position in successful
        ]
        mined = is_jittered(self.stack.settings.rounding) and self.objective.miner is not None
        before = [
            replace(outcomes[position], notes=(*outcomes[position].notes, *([JITTER] if mined else [])))
            for position in successful
        ]
        if self.stack.settings.keep_models:
            before = [
                replace(finished, model=self._model(position))
                for position, finished in zip(successful, before, strict=True)
            ]
        read = endings(
            [self.trials[position] for position in successful], self.dataset, before, embeddings,
            [features] * len(successful),
            self.epochs, self.stack.settings, self.report,
        )  # fmt: skip
        callbacks, epochs = self.stack.callbacks, self.epochs
        for position, outcome in zip(successful, read, strict=True):
            outcomes[position] = with_stored_arrays(
                outcome, callbacks, position, features["dev"], epochs=epochs, frozen=True
            )
        return outcomes


class EmbeddingTask(Classification):
    """One head without an activation, whose output is the embedding.

    What is read of a row is its embedding and, where treatments may want it, the features under it. The dev rows that
    are asked about are those of the cohort followed by all training rows, among which the nearest one is looked for.
    """

    def __init__(
        self, trial: PreparedJob, dataset: EncodedDataset, features: int, metric: MetricRecipe, settings: Settings
    ) -> None:
        super().__init__(trial, dataset, features)
        self.metric, self.width = metric, metric.embedding_size
        # It is trained as the learner says, whatever a treatment has for networks that tell classes.
        self.recipe = None
        self.outputs = metric.embedding_size
        self.unit_length = metric.make_loss().unit_length
        self.callback = metric_callback(metric, [trial])
        self.is_known = metric_context(metric, [trial], settings.device)
        self.read_features = features if trial.treatments else 0
        self.keeps_training_rows = False
        assert dataset.train.target is not None
        self.labels = dataset.train.target[trial.rows]
        self.rows_asked = len(dataset.dev)

    def hidden(self, features: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        """Return the embedding, which is what is released."""
        return output

    def looks(self, epoch: int, last: int) -> bool:
        """Ask the dev rows about twenty times: the training rows are read each time too."""
        return epoch in looked_at(last)

    def classes(self, outputs: NDArray[np.float32]) -> Codes:
        """Return the class of the trial's nearest training row for the dev rows; the training rows have none here."""
        embedding = outputs[:, : self.outputs]
        train_points = embedding[self.rows_asked :][self.trial.rows]
        predicted_codes = np.full(len(outputs), -1, dtype=np.int64)
        predicted_codes[: self.rows_asked] = self.labels[nearest(embedding[: self.rows_asked], train_points)]
        return predicted_codes

    def model_of(self, network: PictureNetwork) -> EmbeddingModel:
        """Return the model that a trained network is, which lacks its training rows yet."""
        return EmbeddingModel(PictureEmbedder(network))


def fit_networks(
    dataset: EncodedDataset, stack: Sequence[PreparedJob], settings: Settings, report: Report, *, version: int,
    named: Callable[[Mapping[str, Any]], dict[str, Any]],
) -> list[Outcome]:  # fmt: skip
    """Train networks, each by itself, and return how their trials ended, in their order.

    ``version`` is the learner's; ``named`` returns its hyper-parameters as they name a trial.
    """
    shown_dataset = replace(dataset, dev=with_training_rows(dataset))
    trials = [replace(trial, values=picture_values(trial)) for trial in stack]
    # Of a training that begins anew the last one stands; it is small, and what it learns is trained in place.
    tasks: dict[int, EmbeddingTask] = {}

    def task(trial: PreparedJob, _: EncodedDataset, features: int) -> EmbeddingTask:
        training_task = tasks[id(trial)] = EmbeddingTask(trial, dataset, features, recipe_of([trial]), settings)
        return training_task

    def names(trial: PreparedJob) -> dict[str, Any]:
        training_names = named(trial.values)
        return {
            **training_names,
            **{name: trial.values[name] for name in ("momentum", "schedule")},
            "network": training_names["backbone"],
        }

    classifiers = len(classifiers_of(stack))

    def tell(progress: Progress) -> None:
        report(replace(progress, classifiers=classifiers))

    ended = fit_pictures(shown_dataset, trials, settings, tell, version=version, task=task, names=names)
    successful = [index for index, outcome in enumerate(ended) if outcome.failure is None]
    width = int(stack[0].values["embedding_size"])
    read = [_split(ended[position], len(dataset.dev)) for position in successful]
    outcomes = endings(
        [stack[position] for position in successful],
        dataset,
        [replace(ended[position], dev=None, arrays={}) for position in successful],
        [{split: rows[:, :width] for split, rows in outcome.items()} for outcome in read],
        [{split: rows[:, width:] for split, rows in outcome.items()} for outcome in read],
        int(stack[0].values["epochs"]),
        settings,
        report,
    )
    mined = recipe_of(stack[:1]).make_miner() is not None
    for position, outcome_read, outputs in zip(successful, outcomes, read, strict=True):
        dev, epochs = outputs["dev"][:, width:], int(trials[position].values["epochs"])
        trained = tasks.get(id(trials[position]))  # none, where another trial's training is read
        outcome = (
            outcome_read
            if trained is None
            else with_stored_arrays(outcome_read, trained.callbacks, 0, dev, epochs=epochs, frozen=False)
        )
        jittered = is_jittered(settings.rounding) and mined
        ended[position] = replace(outcome, notes=(*outcome.notes, JITTER)) if jittered else outcome
    return ended


def picture_values(trial: PreparedJob) -> dict[str, Any]:
    """Return the hyper-parameters as the training of pictures names them; Adam has no momentum of this kind."""
    momentum = trial.values["momentum"] if trial.values["optimiser"] == "sgd" else 0.0
    return {**trial.values, "network": trial.values["backbone"], "momentum": momentum}


def with_training_rows(dataset: EncodedDataset) -> Rows:
    """Return the dev rows followed by all training rows, whose targets and groups count as unknown."""
    dev, train = dataset.dev, dataset.train
    assert dev.target is not None
    assert dev.group is not None
    unknown = np.full(len(train), -1, dtype=np.int64)
    return Rows(
        np.concatenate([dev.inputs, train.inputs]),
        np.concatenate([dev.ids, train.ids]),
        np.concatenate([dev.target, unknown]),
        np.concatenate([dev.group, unknown]),
    )


def _split(outcome: Outcome, rows: int) -> Embedding:
    """Part what was read of dev, training and test rows."""
    dev_and_train = outcome.arrays["outputs.dev"]
    return {"train": dev_and_train[rows:], "dev": dev_and_train[:rows], "test": outcome.arrays["outputs.test"]}
