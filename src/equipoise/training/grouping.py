"""Which jobs train together, and which are one training: those that differ in how the trained network is read.

Jobs of a stack differ in seed, repeat, real-valued hyper-parameters and readouts only. A whole number or a choice
(epochs, batch size, width, a variant) shapes the network or the loop, so it is the same for all of a stack, and so is
the number of training rows. A treatment that transforms inputs gives a trial inputs of its own: only trials with equal
transformations share a stack.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from equipoise.training.model import Transformation
from equipoise.training.parameters import Readout, Table, may_differ
from equipoise.training.preparing import Prepared

Numbered = tuple[int, Prepared]


def stacks_of(
    jobs: Sequence[Numbered], table: Table, size_of: Callable[[Sequence[Prepared]], int]
) -> list[list[Numbered]]:
    """Deal numbered jobs into stacks, in order; ``size_of`` says how many trainings of one kind are best together.

    Jobs that are one training stand side by side in one stack.
    """
    kinds: dict[Hashable, list[Numbered]] = {}
    for place, job in jobs:
        kinds.setdefault(kind_of(job, table), []).append((place, job))
    return [stack for alike in kinds.values() for stack in _cut(alike, size_of([job for _, job in alike]))]


def kind_of(job: Prepared, table: Table) -> Hashable:
    """Return what all jobs of a stack share; ``table`` has the hyper-parameters of the learner."""
    treatments = tuple((type(one), _shape(one.parameters, one.values)) for one in job.treatments)
    return len(job.rows), _shape(table, job.values), treatments, tuple(map(_digest, job.transformations))


def trainings_of(jobs: Sequence[Prepared]) -> list[list[int]]:
    """Return the positions of the jobs of each training, in order: they agree in all but their readouts."""
    found: dict[Hashable, list[int]] = {}
    for place, job in enumerate(jobs):
        found.setdefault(_training(job, place), []).append(place)
    return list(found.values())


def _training(job: Prepared, place: int) -> Hashable:
    """Name the training of a job; one that has no readouts to choose from is a training of its own."""
    if not any(isinstance(one, Readout) for treatment in job.treatments for one in treatment.parameters.values()):
        return place
    treatments = tuple((type(one), _unread(one.parameters, one.values)) for one in job.treatments)
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


def _cut(alike: list[Numbered], size: int) -> list[list[Numbered]]:
    """Cut into as few stacks as there can be, whose sizes in trainings differ by one at most."""
    trainings = trainings_of([job for _, job in alike])
    number = -(-len(trainings) // size)
    edges = [len(trainings) * part // number for part in range(number + 1)]
    return [[alike[place] for training in trainings[begin:end] for place in training] for begin, end in pairwise(edges)]
