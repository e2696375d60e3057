"""The one door to training: jobs in, outcomes out, in order. One job's failure is its outcome and stops no other."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from equipoise.foundation.errors import BadInput
from equipoise.foundation.registry import registry
from equipoise.training.acting import check_acts
from equipoise.training.finishing import failed
from equipoise.training.grouping import kind_of, stacks_of, trainings_of
from equipoise.training.learner import Learner, Progress
from equipoise.training.lost_device import check_not_lost
from equipoise.training.material import Job, Material, Outcome, Settings
from equipoise.training.preparing import Prepared, prepared
from equipoise.training.selecting import COLLAPSED, has_collapsed


class NamedLearner(Protocol):
    """A learner by its registered name, with the hyper-parameters that all jobs share."""

    @property
    def name(self) -> str:
        """The registered name."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Hyper-parameters; a job may have others of its own."""


def train(
    material: Material,
    learner: NamedLearner,
    jobs: Sequence[Job],
    settings: Settings | None = None,
    progress: Callable[[Progress], None] | None = None,
    *,
    stack: int | None = None,
) -> list[Outcome]:
    """Train every job and return how each ended, in the order of the jobs.

    Jobs of one kind train together, as many as the learner finds best (``stack_size``), or ``stack`` of them; jobs that
    differ in their readouts alone count as one. Where a stack fails, its halves are tried by themselves, so that what
    cannot be trained is found and the rest is.
    """
    settings = settings or Settings()
    kind = learner_of(learner.name)
    outcomes: dict[int, Outcome] = {}
    ready: list[tuple[int, Prepared]] = []
    for place, job in enumerate(jobs):
        try:
            for treatment in job.treatments:
                check_acts(kind, learner.name, type(treatment), type(treatment).__name__)
            values = kind.completed({**learner.settings, **job.learner}, material.task)
            ready.append((place, prepared(job, material, values)))
        except Exception as error:  # noqa: BLE001 - one failed trial never stops the others
            outcomes[place] = failed(error)
    made = kind()

    def size_of(alike: Sequence[Prepared]) -> int:
        try:
            return stack or made.stack_size(material, alike, settings)
        except Exception:  # noqa: BLE001 - each of them will say what is wrong when it is tried
            return 1

    for together in stacks_of(ready, kind.parameters, size_of):
        ended = _attempt(made, material, [one for _, one in together], settings, progress or _silent)
        outcomes.update(zip((place for place, _ in together), ended, strict=True))
    return [_with_collapse(outcomes[place], material) for place in range(len(jobs))]


def _with_collapse(ended: Outcome, material: Material) -> Outcome:
    """Note of a model that it does no better than a constant prediction."""
    if ended.dev is None or ended.failure is not None or not has_collapsed(ended.dev, material):
        return ended
    return replace(ended, notes=(*ended.notes, COLLAPSED))


def stack_size(learner: NamedLearner, material: Material, jobs: Sequence[Job], settings: Settings | None = None) -> int:
    """Return how many of these jobs are best trained together; jobs that differ in more than numbers train apart."""
    settings = settings or Settings()
    kind = learner_of(learner.name)
    alike = []
    for job in jobs:
        values = kind.completed({**learner.settings, **job.learner}, material.task)
        alike.append(Prepared(job, job.rows, None, values))
    kinds: dict[Hashable, list[Prepared]] = {}
    for one in alike:
        kinds.setdefault(kind_of(one, kind.parameters), []).append(one)
    return min((kind().stack_size(material, same, settings) for same in kinds.values()), default=1)


def learner_of(name: str) -> type[Learner]:
    """Return the class of a registered learner."""
    thing = registry.get("learner", name).thing
    if not (isinstance(thing, type) and issubclass(thing, Learner)):
        raise BadInput(
            f"The learner {name!r} cannot be trained", available="a subclass of equipoise.training.learner.Learner"
        )
    return thing


def _attempt(
    learner: Learner,
    material: Material,
    stack: Sequence[Prepared],
    settings: Settings,
    progress: Callable[[Progress], None],
) -> list[Outcome]:
    try:
        return learner.train(material, stack, settings, progress)
    except Exception as error:  # noqa: BLE001 - one failed trial never stops the others
        check_not_lost(settings, error)
        trainings = trainings_of(stack)
        if len(trainings) == 1:
            return [failed(error)] * len(stack)
    # Jobs that are one training stand side by side, and stay together.
    half = trainings[len(trainings) // 2][0]
    parts = (stack[:half], stack[half:])
    return [one for part in parts for one in _attempt(learner, material, part, settings, progress)]


def _silent(progress: Progress) -> None:
    """Say nothing."""
