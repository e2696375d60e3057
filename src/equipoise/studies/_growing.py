"""A study with ``seeds = "auto"``: paired seeds are added, look after look, until its comparisons are decided.

What is next depends on the trials that have ended alone, and nothing else is remembered: a study that was killed, or
that several workers share, goes on where it was.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from equipoise.foundation import BadInput
from equipoise.studies.findings import read_undecided
from equipoise.studies.plans import Stack, Stopping, Trial
from equipoise.studies.running import run_in_store

if TYPE_CHECKING:
    from equipoise.studies._study import Study
    from equipoise.studies.storage import Store

ENDED = ("done", "failed")


def train_study(study: Study, where: str | os.PathLike[str], **options: Any) -> None:
    """Train every trial of a study that is needed and that its store has not; options are as of ``run_in_store``."""
    if study.stopping is None:
        run_in_store(study, where, **options)
        return
    artefacts = options.get("artefacts")
    run_in_store(study, where, **options, stages=lambda store: _stages(study, store, where, artefacts))


def check_fixed_seeds(study: Study, what: str) -> None:
    """Refuse what trains all of a plan at once, where the plan adds seeds until it is decided."""
    if study.stopping is not None:
        raise BadInput(
            f'study {what} trains all trials of a plan, and this one has seeds = "auto"',
            help=f"run it in a store (--store, which several workers can share), or fix its seeds: "
            f"seeds = {study.stopping.most}.",
        )


def _stages(
    study: Study, store: Store, where: str | os.PathLike[str], artefacts: str | os.PathLike[str] | None
) -> Iterator[Sequence[Stack]]:
    """Yield the stacks of one look after another, until nothing is open."""
    assert study.stopping is not None
    last: Sequence[Stack] = ()
    while True:
        arms = arms_of(study.trials())
        states = store.states([trial.key for trial in study.trials()])
        ended = {key for key, (state, _) in states.items() if state in ENDED}
        wanted = unfinished_looks(arms, ended, study.stopping)
        if not wanted:
            undecided = read_undecided(study, where, artefacts=artefacts)
            wanted = next_looks(arms, ended, {arm_of(trial) for trial in undecided}, study.stopping)
        keys = {trial.key for trial in wanted}
        stacks = tuple(stack for stack in study.stacks() if any(trial.key in keys for trial in stack.trials))
        # A stage that left trials without an end (a store that is away, a worker that was stopped) is not repeated.
        if not stacks or stacks == last:
            return
        last = stacks
        yield stacks


def arm_of(trial: Trial) -> str:
    """Return what the trials of one arm under one condition have in common: all but seed and repeat."""
    return replace(trial, seed=0, repeat=0).key


def arms_of(trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    """Gather trials by arm."""
    arms: dict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        arms[arm_of(trial)].append(trial)
    return dict(arms)


def seeds_reached(trials: Sequence[Trial], ended: set[str], stopping: Stopping) -> int:
    """Return the last look all of whose trials have ended; 0 before the first."""
    open_seeds = [trial.seed for trial in trials if trial.key not in ended]
    return max((look for look in stopping.looks if not any(seed < look for seed in open_seeds)), default=0)


def unfinished_looks(arms: Mapping[str, Sequence[Trial]], ended: set[str], stopping: Stopping) -> list[Trial]:
    """Return the trials of looks that have begun, or that every arm has, and are not complete."""
    wanted: list[Trial] = []
    for trials in arms.values():
        reached = seeds_reached(trials, ended, stopping)
        begun = reached == 0 or any(trial.key in ended and trial.seed >= reached for trial in trials)
        if begun and reached < stopping.most:
            following = next(look for look in stopping.looks if look > reached)
            wanted += [trial for trial in trials if reached <= trial.seed < following]
    return wanted


def next_looks(
    arms: Mapping[str, Sequence[Trial]], ended: set[str], undecided: set[str], stopping: Stopping
) -> list[Trial]:
    """Return the trials of the next look of arms that are undecided; all arms are at a complete look."""
    reached = {arm: seeds_reached(arms[arm], ended, stopping) for arm in undecided}
    behind = [seeds for seeds in reached.values() if seeds < stopping.most]
    if not behind:
        return []
    # The baseline may be ahead of arms that it is compared with: those catch up first.
    look = next(look for look in stopping.looks if look > min(behind))
    return [trial for arm, seeds in reached.items() for trial in arms[arm] if seeds <= trial.seed < look]
