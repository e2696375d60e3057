"""The one door to training: jobs in, outcomes out, in order. One job's failure is its outcome and stops no other."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from equipoise.foundation import (
    BadInput,
    EquipoiseError,
    listing,
    registry,
    require,
)
from equipoise.training._compatibility import check_compatible
from equipoise.training._dataset import EncodedDataset, Job, Outcome, Settings
from equipoise.training._learner import Learner, Progress
from equipoise.training._prediction import adjusted, failed_outcome
from equipoise.training._preparation import PreparedJob, kind_of, prepare_job, stacks_of, trainings_of, transformed
from equipoise.training._selection import COLLAPSED, has_collapsed, label_notes


class NamedLearner(Protocol):
    """A learner by its registered name, with the hyper-parameters that all jobs share."""

    @property
    def name(self) -> str:
        """The registered name."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Hyper-parameters; a job may have others of its own."""


def train(
    dataset: EncodedDataset,
    learner: NamedLearner,
    jobs: Sequence[Job],
    settings: Settings | None = None,
    progress: Callable[[Progress], None] | None = None,
    *,
    stack: int | None = None,
    keep_models: bool = False,
) -> list[Outcome]:
    """Train every job and return how each ended, in the order of the jobs.

    Jobs of one kind train together, as many as the learner finds best (``stack_size``), or ``stack`` of them; jobs that
    differ in their readouts alone count as one. Where a stack fails, its halves are tried by themselves, so that what
    cannot be trained is found and the rest is. With ``keep_models`` an outcome has the model that predicted
    (``Outcome.model``), or the reason why there is none (``Outcome.no_model``).
    """
    settings = settings or Settings()
    settings = replace(settings, keep_models=True) if keep_models else settings
    kind = learner_of(learner.name)
    outcomes: dict[int, Outcome] = {}
    ready: list[tuple[int, PreparedJob]] = []
    for index, job in enumerate(jobs):
        try:
            for treatment in job.treatments:
                check_compatible(kind, learner.name, type(treatment), type(treatment).__name__, dataset.task)
            values = kind.with_defaults({**learner.settings, **job.learner}, dataset.task)
            ready.append((index, prepare_job(job, dataset, values)))
        except Exception as error:  # noqa: BLE001 - one failed trial never stops the others
            outcomes[index] = failed_outcome(error)
    learner_made = kind()

    def size_of(group: Sequence[PreparedJob]) -> int:
        try:
            return stack or learner_made.stack_size(dataset, group, settings)
        except Exception:  # noqa: BLE001 - each of them will say what is wrong when it is tried
            return 1

    for together in stacks_of(ready, kind.table(dataset.task), size_of):
        ended = _attempt(
            learner_made, dataset, [numbered_job for _, numbered_job in together], settings, progress or _silent
        )
        for (position, trial), outcome in zip(together, ended, strict=True):
            ended_one = _with_absent_classes(adjusted(trial, outcome, dataset), trial, dataset)
            outcomes[position] = _with_rare_labels(ended_one, trial, dataset)
    ended_all = [_with_collapse(outcomes[position], dataset) for position in range(len(jobs))]
    return [_with_reason(ended, learner.name) for ended in ended_all] if settings.keep_models else ended_all


def _with_absent_classes(ended: Outcome, trial: PreparedJob, dataset: EncodedDataset) -> Outcome:
    """Note of which classes of the target no training row is: nothing is learnt of them."""
    cells = dataset.train.cell
    if ended.failure is not None or dataset.task != "class" or cells is None:
        return ended
    present = set(np.unique(cells[trial.rows]).tolist())
    absent = [name for code, name in enumerate(dataset.classes) if code not in present]
    if not absent:
        return ended
    note = f"No training row is of the class {listing(absent)}: nothing was learnt of it."
    return replace(ended, notes=(*ended.notes, note))


def _with_rare_labels(ended: Outcome, trial: PreparedJob, dataset: EncodedDataset) -> Outcome:
    """Name the labels that none of a trial's training rows has, or all of them: nothing was learnt of those."""
    if dataset.task != "multilabel" or ended.failure is not None:
        return ended
    assert dataset.train.target is not None
    present = (dataset.train.target[trial.rows] > 0).sum(axis=0)
    constant = (present == 0) | (present == len(trial.rows))
    names = [name for name, flag in zip(dataset.labels, constant.tolist(), strict=True) if flag]
    if not names:
        return ended
    note = f"Nothing was learnt of labels that the training rows of this trial all have, or none: {listing(names, 10)}."
    return replace(ended, notes=(*ended.notes, note))


def _with_collapse(ended: Outcome, dataset: EncodedDataset) -> Outcome:
    """Note of a model that it does no better than a constant prediction, and of labels what dev rows say of them."""
    if ended.dev is None or ended.failure is not None:
        return ended
    notes = label_notes(ended.dev, dataset) if dataset.task == "multilabel" else ()
    notes += (COLLAPSED,) if has_collapsed(ended.dev, dataset) else ()
    return replace(ended, notes=(*ended.notes, *notes))


def _with_reason(ended: Outcome, learner: str) -> Outcome:
    """Say why a training that ended well gave no model, where nothing else has said so."""
    if ended.model is not None or ended.no_model is not None or ended.failure is not None:
        return ended
    return replace(ended, no_model=f"The learner {learner} does not give models of its own yet.")


def stack_size(
    learner: NamedLearner, dataset: EncodedDataset, jobs: Sequence[Job], settings: Settings | None = None
) -> int:
    """Return how many of these jobs are best trained together; jobs that differ in more than numbers train apart."""
    settings = settings or Settings()
    kind = learner_of(learner.name)
    prepared_jobs = []
    for job in jobs:
        values = kind.with_defaults({**learner.settings, **job.learner}, dataset.task)
        prepared_jobs.append(PreparedJob(job, job.rows, None, values))
    kinds: dict[Hashable, list[PreparedJob]] = {}
    for prepared_job in prepared_jobs:
        kinds.setdefault(kind_of(prepared_job, kind.table(dataset.task)), []).append(prepared_job)
    return min((kind().stack_size(dataset, of_one_kind, settings) for of_one_kind in kinds.values()), default=1)


def learner_of(name: str) -> type[Learner]:
    """Return the class of a registered learner."""
    thing = registry.get("learner", name).implementation
    if not (isinstance(thing, type) and issubclass(thing, Learner)):
        raise BadInput(f"The learner {name!r} cannot be trained", available="a subclass of equipoise.training.Learner")
    return thing


def _attempt(
    learner: Learner,
    dataset: EncodedDataset,
    stack: Sequence[PreparedJob],
    settings: Settings,
    progress: Callable[[Progress], None],
) -> list[Outcome]:
    try:
        # Trials of a stack have equal transformations.
        return learner.train(transformed(dataset, stack[0].transformations), stack, settings, progress)
    except Exception as error:  # noqa: BLE001 - one failed trial never stops the others
        check_not_lost(settings, error)
        trainings = trainings_of(stack)
        if len(trainings) == 1:
            return [failed_outcome(error)] * len(stack)
    # Jobs that are one training stand side by side, and stay together.
    half = trainings[len(trainings) // 2][0]
    parts = (stack[:half], stack[half:])
    return [outcome for part in parts for outcome in _attempt(learner, dataset, part, settings, progress)]


def _silent(progress: Progress) -> None:
    """Say nothing."""


class LostDevice(EquipoiseError):
    """The device failed under one trial, and with it every trial that would come after in this process."""


def check_not_lost(settings: Settings, error: Exception) -> None:
    """Raise where an error has left the device unusable: trials must not be recorded as failed for that.

    Memory that ran out, or a trial's own fault, leaves a card as it was; a fault inside a kernel does not.
    """
    if settings.device == "cpu":
        return
    torch = require("torch", extra="train", purpose="Training")
    if not torch.cuda.is_initialized():
        return
    try:
        torch.cuda.synchronize()
    except RuntimeError as lost:
        raise LostDevice(
            f"The graphics card can no longer be used by this process ({str(lost).splitlines()[0]}); it began with "
            f"{type(error).__name__}",
            help="run the study again. What was recorded is kept, and trials in progress are waiting.",
        ) from error
