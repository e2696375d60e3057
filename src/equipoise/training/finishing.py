"""The end of a training: predictions of the best epoch, and what treatments after training make of the hidden layer."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from traceback import TracebackException
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.errors import BadInput, EquipoiseError
from equipoise.foundation.text import redacted_traceback
from equipoise.training.material import Material, Outcome, Predicted, Rows, Settings
from equipoise.training.preparing import Prepared, overrides
from equipoise.training.selecting import UNDEFINED
from equipoise.training.stack_parts import layer
from equipoise.training.treatment import Afterwards, Representations

if TYPE_CHECKING:
    from equipoise.training.fitting import Fit

NO_EPOCH = "No epoch could be chosen: the performance on the dev rows was never defined (see the losses in the history)"
NO_LAST = (
    "The loss was no longer a finite number after epoch {number}, so there is no last epoch to keep. A lower "
    "learning_rate may help"
)
# What is kept of a traceback: the last frames, of each error of a chain, and letters.
MOST_FRAMES, MOST_LETTERS = 12, 8_000


def finished(fit: Fit) -> list[Outcome]:
    """Return the outcome of every trial of a stack, with the values of its best epoch."""
    stack = fit.stack
    stack.running = list(range(len(stack.trials)))
    stack.network.set_values(fit.kept)
    begun = time.perf_counter()
    dev, test = (_predictions(fit, rows) for rows in (fit.material.dev, fit.material.test))
    fit.seconds += (time.perf_counter() - begun) / len(stack.trials)
    return [_outcome(fit, place, dev[place], test[place]) for place in range(len(stack.trials))]


def _outcome(fit: Fit, place: int, dev: Predicted, test: Predicted) -> Outcome:
    ended = Outcome(
        dev, test, tuple(fit.history[place]), int(fit.best_epoch[place]), tuple(fit.notes[place]), None,
        float(fit.seconds[place]),
    )  # fmt: skip
    if not ended.best_epoch:
        return replace(ended, dev=None, test=None, failure=NO_EPOCH)
    if fit.stack.settings.selection == "last" and ended.best_epoch < len(ended.history):
        return replace(ended, dev=None, test=None, failure=NO_LAST.format(number=len(ended.history)))
    if fit.stack.settings.selection == "dto" and math.isnan(ended.history[ended.best_epoch - 1].fairness):
        ended = replace(ended, notes=(*ended.notes, UNDEFINED[fit.material.task]))
    return after_training(fit.stack.trials[place], ended, lambda: _representations(fit, place))


def after_training(trial: Prepared, ended: Outcome, representations: Any) -> Outcome:
    """Let a treatment after training act; what goes wrong there is the failure of this trial alone."""
    acting = overrides(trial.treatments, "after")
    if not acting:
        return ended
    begun = time.perf_counter()
    try:
        if len(acting) > 1:
            raise BadInput(f"Two treatments act after training ({', '.join(acting)})", available="one at most")
        (treatment,) = (one for one in trial.treatments if type(one).__name__ in acting)
        found: Afterwards | None = treatment.after(representations())
    except Exception as error:  # noqa: BLE001 - one failed trial never stops the others
        return failed(error, replace(ended, dev=None, test=None))
    spent = ended.seconds + time.perf_counter() - begun
    if found is None:
        return replace(ended, seconds=spent)
    return replace(
        ended, dev=found.dev, test=found.test, notes=(*ended.notes, *found.notes), seconds=spent,
        kept={**ended.kept, **found.kept},
    )  # fmt: skip


def failed(error: BaseException, ended: Outcome | None = None) -> Outcome:
    """Return an outcome that an error failed, with the reason and with where it came from."""
    return replace(ended or Outcome(), failure=failure_of(error), traceback=traceback_of(error))


def failure_of(error: BaseException) -> str:
    """Say why a trial failed: our own errors speak for themselves, others are named by their kind."""
    return str(error) if isinstance(error, EquipoiseError) else f"{type(error).__name__}: {error}"


def traceback_of(error: BaseException) -> str | None:
    """Return files, lines and functions that an error came through, and no value of any variable.

    An error of our own says what was given and allowed; where it came from helps nobody, unless another caused it.
    """
    if isinstance(error, EquipoiseError) and error.__cause__ is None:
        return None
    lines = list(TracebackException.from_exception(error, limit=-MOST_FRAMES, capture_locals=False).format())
    return redacted_traceback("".join(lines)[-MOST_LETTERS:]).rstrip()


def _predictions(fit: Fit, rows: Rows) -> list[Predicted]:
    """Return what each trial says of a split."""
    stack, task = fit.stack, fit.material.task
    outputs = [output.cpu() for _, output, _ in stack.read(None, stack.tensor(rows.inputs))]
    if not outputs:
        outputs = [stack.tensor(np.zeros((len(stack.trials), 0, max(len(fit.material.classes), 1)))).cpu()]
    joined = stack.torch.cat(outputs, dim=1)
    if task == "regression":
        numbers = joined[..., 0].double().numpy() * stack.scale.spread + stack.scale.mean
        return [Predicted(one.astype(np.float32)) for one in numbers]
    codes, scores = joined.argmax(-1).numpy(), joined.softmax(-1).float().numpy()
    return [Predicted(one, score) for one, score in zip(codes, scores, strict=True)]


def _representations(fit: Fit, place: int) -> Representations:
    """Read the last hidden layer of one trial; its network is taken out of the stack while it is read."""
    stack, material = fit.stack, fit.material
    trial = stack.trials[place]
    stack.running = [place]
    stack.network.set_values([one[place : place + 1] for one in fit.kept])

    def hidden(inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        parts = [layer(found)[0].cpu() for _, _, found in stack.read(None, stack.tensor(inputs))]
        joined: NDArray[np.float32] = stack.torch.cat(parts).float().numpy()
        return joined

    def split(rows: Rows) -> Rows:
        return replace(rows, inputs=hidden(rows.inputs))

    return representations_of(material, trial, stack.settings, split)


def representations_of(material: Material, trial: Prepared, settings: Settings, split: Any) -> Representations:
    """Return the rows of all splits, each through ``split``; the training rows are those that the trial learnt from.

    Test groups are there for another trial of the study, unless a treatment of this one declares that it needs them.
    """
    train, rows, test = material.train, trial.rows, material.test
    if not any(one.needs_group_at_prediction for one in trial.treatments):
        test = replace(test, group=None)
    chosen = Rows(
        train.inputs[rows], train.ids[rows], _of(train.target, rows), _of(train.group, rows), _of(train.cell, rows)
    )
    return Representations(
        train=split(chosen),
        dev=split(material.dev),
        test=split(test),
        classes=material.classes,
        groups=material.groups,
        task=material.task,
        seed=trial.seed,
        selection=settings.selection,
        weights=trial.weights,
        performance=settings.performance,
        fairness=settings.fairness,
    )


def _of(values: NDArray[Any] | None, rows: NDArray[np.int64]) -> NDArray[Any] | None:
    return None if values is None else values[rows]
