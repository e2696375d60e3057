"""A study without a store: every trial becomes a file in a folder, which a store at home takes in later."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from equipoise.foundation.errors import BadInput
from equipoise.studies.plans.stacks import Stack, trainings_of
from equipoise.studies.recorded import Recorded
from equipoise.studies.running.devices import check_device
from equipoise.studies.running.own_function import OwnWork
from equipoise.studies.running.progress import Watcher, Within, standing
from equipoise.studies.running.running import trained, within_stack
from equipoise.studies.running.trial_files import trial_file, write_trial, written_keys
from equipoise.studies.running.work import Work
from equipoise.studies.storage.stored import CellStatus, Status
from equipoise.studies.trial import Trial
from equipoise.training.material import Predicted
from equipoise.training.selecting import needs_scores

Part = tuple[int, int]


def run_to_folder(
    work: Work,
    to: str | os.PathLike[str],
    *,
    part: Part = (1, 1),
    watcher: Watcher | None = None,
    scores: bool = True,
    checkpoints: str | os.PathLike[str] | None = None,
) -> int:
    """Train every trial that has no file in the folder yet; return how many were trained now.

    ``part`` (2, 4) is the second of four parts of the stacks, for four machines (or processes) that share the work.
    Without ``scores`` a file holds the predicted classes alone, which is a small part of its size. ``checkpoints`` is
    the folder in which long trainings keep where they are, by default one inside.
    """
    folder = Path(to)
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{str(folder)!r} is a file", available="a folder for trial files, which is made if need be")
    if not scores and _is_decided_by_scores(work):
        raise BadInput(
            "Performance is auc, which is computed from scores, and scores are not to be kept",
            help='leave out --no-scores (scores=False), or choose performance = "balanced_accuracy". Nothing was '
            "trained.",
        )
    check_device(work)
    work = replace(work, checkpoints=os.fspath(checkpoints or folder / "checkpoints"))
    mine = work.stacks[part[0] - 1 :: part[1]]
    there = written_keys(folder)
    measured: dict[int, list[float]] = {}
    number = 0
    _tell(watcher, mine, there, measured)
    for stack in mine:
        missing = _untrained(stack, folder, there)
        if not missing:
            continue
        tell = partial(_tell, watcher, mine, there, measured)
        for one in trained(work, missing, within_stack(tell)):
            write_trial(folder, one if scores else _without_scores(one))
            there.add(one.trial.key)
            measured.setdefault(stack.cell, []).append(one.seconds)
            number += 1
        _tell(watcher, mine, there, measured)
    return number


def _is_decided_by_scores(work: Work) -> bool:
    if isinstance(work, OwnWork):
        return work.scored
    return any(needs_scores(trial.performance) for stack in work.stacks for trial in stack.trials)  # type: ignore[arg-type]


def part_of(text: str) -> Part:
    """Read a part such as 2/4."""
    first, sign, last = text.partition("/")
    if sign and first.isdecimal() and last.isdecimal() and 1 <= int(first) <= int(last):
        return int(first), int(last)
    raise BadInput(f"--part is {text!r}", available="a part of the whole, from 1/4 to 4/4 for four machines")


def _untrained(stack: Stack, folder: Path, there: set[str]) -> list[Trial]:
    """Return the trials that have no file, and those they share a training with: one network is read for all of them.

    Files that a killed run left of a part of a training are removed, and written again with the others.
    """
    found: list[Trial] = []
    for training in trainings_of(stack.trials):
        if all(trial.key in there for trial in training):
            continue
        for trial in training:
            if trial.key in there:
                trial_file(folder, trial.key).unlink()
                there.discard(trial.key)
        found += training
    return found


def _without_scores(ended: Recorded) -> Recorded:
    return replace(ended, predictions={split: Predicted(one.values) for split, one in ended.predictions.items()})


def _tell(
    watcher: Watcher | None,
    stacks: Sequence[Stack],
    there: set[str],
    measured: dict[int, list[float]],
    within: Within | None = None,
) -> None:
    """Tell how far it is; files of an earlier run count as done, and do not say how long they took."""
    if watcher is None:
        return
    earlier = sum(trial.key in there for stack in stacks for trial in stack.trials) - sum(map(len, measured.values()))
    cells = [
        CellStatus(
            str(cell),
            waiting=sum(trial.key not in there for stack in stacks if stack.cell == cell for trial in stack.trials),
            done=len(measured.get(cell, ())),
            seconds=sum(measured.get(cell, ())),
        )
        for cell in dict.fromkeys(stack.cell for stack in stacks)
    ]
    watcher(standing(Status(tuple(cells)), earlier=earlier, within=within))
