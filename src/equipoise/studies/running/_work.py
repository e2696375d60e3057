"""The work of a study: what is trained, in which stacks, on which rows. It has no test labels and needs no cohort."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from equipoise.studies.plans import Named, Recorded, Stack, Trial, canonical, make_treatment
from equipoise.studies.running._kept_models import packed_model
from equipoise.training import Codes, EncodedDataset, Job, Outcome, Settings

# Trains some trials of one stack: the trials, and something that is told how far it is.
Trainer = Callable[[Sequence[Trial], Any], list[Outcome]]


@dataclass(frozen=True, eq=False)
class Work:
    """Encoded dataset, stacks, and the drawn training rows (positions in ``EncodedDataset.train``) by ``draw_name``.

    ``undrawn`` says why, where a condition could not draw its rows: its trials fail with that reason. ``learners`` has
    all hyper-parameters of each learner by ``named_key``, which may be objects (an estimator, a module); where one is
    not there, its settings in the trial are all it has. ``about`` is what every trial's environment says of the data:
    the cohort's name and fingerprint. ``checkpoints`` is a folder in which long trainings keep where they are.
    ``partitions`` has a code for every class by ``draw_name``, where the condition parts classes. ``keep_models`` asks
    trainings for their models, which are no part of what is predicted.
    """

    dataset: EncodedDataset
    stacks: tuple[Stack, ...]
    draws: Mapping[str, Codes]
    undrawn: Mapping[str, str] = field(default_factory=dict)
    learners: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)
    checkpoints: str | None = None
    partitions: Mapping[str, Codes] = field(default_factory=dict)
    keep_models: bool = False

    @cached_property
    def stack_of(self) -> Mapping[str, Stack]:
        """The stack of every trial, by the trial's key."""
        return {key: stack for stack in self.stacks for key in stack.keys}

    def can_train(self, trial: Trial) -> bool:
        """Tell whether a trial has rows to train on."""
        return draw_name(trial) in self.draws

    def outcomes(self, trials: Sequence[Trial], progress: Any = None) -> list[Outcome]:
        """Train trials of one stack; one whose rows could not be drawn fails with the reason."""
        able = [trial for trial in trials if self.can_train(trial)]
        trained = iter(self.train(able, progress) if able else ())
        return [
            next(trained) if self.can_train(trial) else Outcome(failure=self.undrawn[draw_name(trial)])
            for trial in trials
        ]

    def train(self, trials: Sequence[Trial], progress: Any = None) -> list[Outcome]:
        """Train trials of one stack together."""
        from equipoise.training import train

        first = trials[0]
        settings = replace(settings_of(first), checkpoints=self.checkpoints, keep_models=self.keep_models)
        # The plan has fixed who trains with whom.
        return train(self.dataset, first.learner, self.jobs(trials), settings, progress, stack=len(trials))

    def jobs(self, trials: Sequence[Trial]) -> list[Job]:
        """Return trials as a trainer sees them."""
        return [
            Job(
                rows=self.draws[draw_name(trial)],
                seed=trial.seed,
                repeat=trial.repeat,
                learner=self.learners.get(named_key(trial.learner), trial.learner.settings),
                treatments=tuple(make_treatment(named) for named in trial.treatments),
                domains=self.partitions.get(draw_name(trial)),
            )
            for trial in trials
        ]


def named_key(named: Named) -> str:
    """Return what tells a learner from the others of a study."""
    return canonical([named.name, named.version, named.settings])


def settings_of(trial: Trial) -> Settings:
    """Return how a trial is trained."""
    return Settings(
        trial.rounding, trial.precision, trial.device, trial.selection,  # type: ignore[arg-type]
        performance=trial.performance, fairness=trial.fairness or "GAP",  # type: ignore[arg-type]
    )  # fmt: skip


def draw_name(trial: Trial) -> str:
    """Name the training rows of a trial: trials with the same condition, size and seed share them."""
    return draw_named(trial.condition, trial.size, trial.seed)


def draw_named(condition: Named, size: int, seed: int) -> str:
    """Name the rows that a condition draws."""
    meaning = canonical([condition.name, condition.version, condition.settings, size, seed])
    return hashlib.sha256(meaning.encode()).hexdigest()[:16]


def recorded(trials: Sequence[Trial], outcomes: Sequence[Outcome], environment: Mapping[str, Any]) -> list[Recorded]:
    """Turn outcomes into what is kept of the trials."""
    return [_recorded(trial, outcome, environment) for trial, outcome in zip(trials, outcomes, strict=True)]


def _recorded(trial: Trial, outcome: Outcome, environment: Mapping[str, Any]) -> Recorded:
    failure = outcome.failure
    if failure is None and (outcome.dev is None or outcome.test is None):
        failure = "The training gave no predictions."
    model, left_out = packed_model(outcome.model if failure is None else None)
    return Recorded(
        trial=trial,
        state="done" if failure is None else "failed",
        predictions={"dev": outcome.dev, "test": outcome.test} if failure is None else {},  # type: ignore[dict-item]
        history=outcome.history,
        best_epoch=outcome.best_epoch,
        notes=outcome.notes if left_out is None else (*outcome.notes, left_out),
        failure=failure,
        seconds=outcome.seconds,
        environment=environment,
        arrays={**outcome.arrays, **model} if failure is None else {},
        traceback=None if failure is None else outcome.traceback,
    )
