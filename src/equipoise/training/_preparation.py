"""What treatments do before training, and which trials then train together.

A treatment chooses which rows a trial learns from, what each row weighs, and what it is made of. Jobs of a stack differ
in seed, repeat, real-valued hyper-parameters and readouts only; those that differ in nothing but how the trained
network is read are one training. A whole number or a choice (epochs, batch size, width, a variant) shapes the network
or the loop, so it is the same for all of a stack, and so is the number of training rows. A treatment that transforms
inputs gives a trial inputs of its own: only trials with equal transformations share a stack.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput, stream
from equipoise.training._compatibility import has_hook
from equipoise.training._dataset import Codes, EncodedDataset, Job, Rows
from equipoise.training._models import Transformation
from equipoise.training._parameters import Readout, Table, may_differ
from equipoise.training._treatment import TrainingInputs, TrainingRows, Treatment


@dataclass(frozen=True, eq=False)
class PreparedJob:
    """A job whose treatments before training have acted: rows (positions in ``EncodedDataset.train``) and weights.

    ``values`` are all hyper-parameters of the learner. Inputs go through the ``transformations``, one after another,
    before the learner sees them (``transformed``).
    """

    job: Job
    rows: Codes
    weights: NDArray[np.float64] | None
    values: dict[str, Any]
    transformations: tuple[Transformation, ...] = ()

    @property
    def seed(self) -> int:
        """The seed of the trial."""
        return self.job.seed

    @property
    def treatments(self) -> tuple[Treatment, ...]:
        """The treatments in order."""
        return self.job.treatments

    @property
    def domains(self) -> Codes | None:
        """The part of each class where the condition parts them."""
        return self.job.domains


def prepare_job(job: Job, dataset: EncodedDataset, values: dict[str, Any], *, transforms: bool = True) -> PreparedJob:
    """Let the treatments choose, weigh and transform rows, in order: each sees what those before it have left.

    Without ``transforms`` nothing is fitted: rows are only chosen and weighed.
    """
    rows, weights = _checked(job.rows, dataset), None
    transformations: list[Transformation] = []
    for index, treatment in enumerate(job.treatments):
        check_dataset(treatment, dataset)
        generator = stream(job.seed, "choose", index, type(treatment).__name__)
        chosen = treatment.choose(training_rows(rows, dataset), generator)
        if chosen is not None:
            rows = rows[chosen]
            weights = None if weights is None else weights[chosen]
        weighed = treatment.weigh(training_rows(rows, dataset))
        if weighed is not None:
            weights = _good(weighed, len(rows), treatment) * (1.0 if weights is None else weights)
        if transforms and has_hook(type(treatment), "transform"):
            generator = stream(job.seed, "transform", index, type(treatment).__name__)
            fitted = treatment.transform(_training_inputs(rows, weights, dataset), generator)
            if fitted is not None:
                transformations.append(fitted)
                dataset = replace(dataset, train=_through(dataset.train, (fitted,)))
    if not len(rows):
        raise BadInput("No training rows are left", help="use more rows, or a treatment that keeps some.")
    return PreparedJob(job, rows, weights, values, tuple(transformations))


def transformed(dataset: EncodedDataset, transformations: Sequence[Transformation]) -> EncodedDataset:
    """Return the rows of all splits with their inputs through fitted transformations, one after another."""
    if not transformations:
        return dataset
    train, dev, test = (_through(rows, transformations) for rows in (dataset.train, dataset.dev, dataset.test))
    return replace(dataset, train=train, dev=dev, test=test)


def check_dataset(treatment: Treatment, dataset: EncodedDataset) -> None:
    """Refuse a treatment that is not defined for these rows: for another target than two classes, or for pictures."""
    number, inputs = len(dataset.classes), dataset.train.inputs
    if has_hook(type(treatment), "transform") and inputs.ndim != 2:
        raise BadInput(
            f"The inputs are pictures ({' x '.join(map(str, inputs.shape[1:]))}), and {type(treatment).__name__} "
            "transforms rows of numbers",
            available="rows of numbers",
            help="choose a treatment that acts during or after training.",
        )
    if not treatment.two_classes or (dataset.task == "class" and number == 2):
        return
    target = f"the target has {number} classes" if dataset.task == "class" else "the target is a number"
    raise BadInput(
        f"The treatment {type(treatment).__name__} is defined for two classes, and {target}",
        available="a target of two classes",
        help="merge classes, or choose another treatment.",
    )


def training_rows(rows: Codes, dataset: EncodedDataset) -> TrainingRows:
    """Return chosen training rows as a treatment before training sees them."""
    train = dataset.train
    assert train.target is not None
    assert train.cell is not None
    assert train.group is not None
    return TrainingRows(train.target[rows], train.cell[rows], train.group[rows], dataset.classes, dataset.groups)


def _training_inputs(rows: Codes, weights: NDArray[np.float64] | None, dataset: EncodedDataset) -> TrainingInputs:
    inputs = dataset.train.inputs
    if not inputs.shape[1]:
        raise BadInput(
            "A treatment transforms inputs, and none are given with the training rows",
            available="a study, or equipoise's learners",
            help="transform the rows before this estimator is fitted.",
        )
    return TrainingInputs(**vars(training_rows(rows, dataset)), inputs=inputs[rows], weights=weights)


def _through(rows: Rows, transformations: Sequence[Transformation]) -> Rows:
    inputs = rows.inputs
    for transformation in transformations:
        inputs = np.ascontiguousarray(transformation(inputs), dtype=np.float32)
        if inputs.ndim != 2 or len(inputs) != len(rows) or not np.isfinite(inputs).all():
            raise BadInput(
                f"The transformation {transformation.kind!r} gave inputs of the shape {inputs.shape}",
                available=f"finite numbers, one row for each of the {len(rows):,} rows",
            )
    return replace(rows, inputs=inputs)


def overrides(treatments: Sequence[Treatment], method: str) -> list[str]:
    """Return the names of the treatments that have a method of their own, such as ``during``."""
    return [type(treatment).__name__ for treatment in treatments if has_hook(type(treatment), method)]


def _checked(rows: Codes, dataset: EncodedDataset) -> Codes:
    train = dataset.train
    if train.group is None or train.cell is None:
        raise BadInput("The training rows have no targets or no groups", available="both, for every training row")
    if not len(dataset.dev) or dataset.dev.target is None or dataset.dev.group is None:
        raise BadInput(
            "No dev row has both a target and a group", available="dev rows, as the best epoch is chosen on them"
        )
    places = np.asarray(rows, dtype=np.int64)
    if not len(places):
        raise BadInput("The trial has no training rows")
    if places.min() < 0 or places.max() >= len(train):
        raise BadInput(
            f"A training row is numbered {places.max() if places.max() >= len(train) else places.min()}",
            available=f"positions in the training rows, 0 to {len(train) - 1:,}",
        )
    unknown = (train.group[places] < 0) | (train.cell[places] < 0)
    if unknown.any():
        raise BadInput(
            f"{int(unknown.sum()):,} training rows have no class or no group",
            help="leave them out: a condition draws none of them.",
        )
    return places


def _good(weights: NDArray[np.float64], rows: int, treatment: Treatment) -> NDArray[np.float64]:
    weights_array = np.asarray(weights, dtype=np.float64)
    if weights_array.shape != (rows,) or not np.isfinite(weights_array).all() or (weights_array < 0).any():
        raise BadInput(
            f"The treatment {type(treatment).__name__} gave weights of the shape {weights_array.shape}",
            available=f"a finite number of at least 0 for each of the {rows:,} rows",
        )
    return weights_array


Numbered = tuple[int, PreparedJob]


def stacks_of(
    jobs: Sequence[Numbered], table: Table, size_of: Callable[[Sequence[PreparedJob]], int]
) -> list[list[Numbered]]:
    """Deal numbered jobs into stacks, in order; ``size_of`` says how many trainings of one kind are best together.

    Jobs that are one training stand side by side in one stack.
    """
    kinds: dict[Hashable, list[Numbered]] = {}
    for by_training, job in jobs:
        kinds.setdefault(kind_of(job, table), []).append((by_training, job))
    return [
        stack
        for numbered_jobs in kinds.values()
        for stack in _cut(numbered_jobs, size_of([job for _, job in numbered_jobs]))
    ]


def kind_of(job: PreparedJob, table: Table) -> Hashable:
    """Return what all jobs of a stack share; ``table`` has the hyper-parameters of the learner."""
    treatments = tuple(
        (type(treatment), _shape(treatment.parameters, treatment.values)) for treatment in job.treatments
    )
    return len(job.rows), _shape(table, job.values), treatments, tuple(map(_digest, job.transformations))


def trainings_of(jobs: Sequence[PreparedJob]) -> list[list[int]]:
    """Return the positions of the jobs of each training, in order: they agree in all but their readouts."""
    by_training: dict[Hashable, list[int]] = {}
    for index, job in enumerate(jobs):
        by_training.setdefault(_training(job, index), []).append(index)
    return list(by_training.values())


def _training(job: PreparedJob, index: int) -> Hashable:
    """Name the training of a job; one that has no readouts to choose from is a training of its own."""
    if not any(
        isinstance(parameter, Readout) for treatment in job.treatments for parameter in treatment.parameters.values()
    ):
        return index
    treatments = tuple(
        (type(treatment), _unread(treatment.parameters, treatment.values)) for treatment in job.treatments
    )
    rows = hashlib.sha256(job.rows.tobytes()).digest()
    return job.seed, job.job.repeat, rows, _unread({}, job.values), treatments


def _shape(table: Table, values: Mapping[str, Any]) -> Hashable:
    return tuple((name, _hashable(value)) for name, value in values.items() if not may_differ(table.get(name)))


def _unread(table: Table, values: Mapping[str, Any]) -> Hashable:
    return tuple((n, _hashable(value)) for n, value in values.items() if not isinstance(table.get(n), Readout))


def _digest(transformation: Transformation) -> str:
    """Return a hash of a fitted transformation: equal ones give equal inputs."""
    digest = hashlib.sha256(transformation.kind.encode())
    for name, value in sorted(transformation.state().items()):
        content = value.tobytes() if isinstance(value, np.ndarray) else b""
        digest.update(repr((name, value.shape if content else value)).encode() + content)
    return digest.hexdigest()


def _hashable(value: Any) -> Hashable:
    return value if isinstance(value, Hashable) else repr(value)


def _cut(numbered_jobs: list[Numbered], size: int) -> list[list[Numbered]]:
    """Cut into as few stacks as there can be, whose sizes in trainings differ by one at most."""
    trainings = trainings_of([job for _, job in numbered_jobs])
    number = -(-len(trainings) // size)
    edges = [len(trainings) * part // number for part in range(number + 1)]
    return [
        [numbered_jobs[index] for training in trainings[begin:end] for index in training]
        for begin, end in pairwise(edges)
    ]
