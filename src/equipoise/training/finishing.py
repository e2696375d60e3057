"""The end of a training: what treatments after training make of representations, and errors as outcomes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from traceback import TracebackException
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import (
    BadInput,
    EquipoiseError,
    listing,
    redacted_traceback,
)
from equipoise.training.compatibility import has_own
from equipoise.training.material import Material, Outcome, Rows, Settings
from equipoise.training.preparing import Prepared, overrides
from equipoise.training.treatment import Afterwards, Representations, Scored, Treatment

NO_PART = "A treatment of this trial predicts by something that it does not give: its predictions cannot be made again."
# What is kept of a traceback: the last frames, of each error of a chain, and letters.
MOST_FRAMES, MOST_LETTERS = 12, 8_000


def after_training(trial: Prepared, ended: Outcome, representations: Any) -> Outcome:
    """Let a treatment after training act; what goes wrong there is the failure of this trial alone."""
    acting = overrides(trial.treatments, "after")
    if not acting:
        return ended
    begun = time.perf_counter()
    try:
        check_one_after(trial.treatments)
        (treatment,) = (one for one in trial.treatments if type(one).__name__ in acting)
        found: Afterwards | None = treatment.after(representations())
    except Exception as error:  # noqa: BLE001 - one failed trial never stops the others
        return failed(error, replace(ended, dev=None, test=None, model=None))
    spent = ended.seconds + time.perf_counter() - begun
    if found is None:
        return replace(ended, seconds=spent)
    ended = replace(
        ended, dev=found.dev, test=found.test, notes=(*ended.notes, *found.notes), seconds=spent,
        kept={**ended.kept, **found.kept},
    )  # fmt: skip
    return with_part(ended, found)


def check_one_after(treatments: Sequence[Treatment]) -> None:
    """Refuse two treatments that both predict from the hidden layer: what the first says would never be heard."""
    acting = overrides(treatments, "after")
    if len(acting) > 1:
        raise BadInput(
            f"Two treatments act after training ({listing(acting)})", available="one at most", help="use one of them."
        )


def with_part(ended: Outcome, found: Afterwards) -> Outcome:
    """Give the model the part that a treatment fitted; where it gave none, there is no model that predicts so."""
    if ended.model is None:
        return ended
    if found.postprocessor is None or ended.model.postprocessor is not None:
        return replace(ended, model=None, no_model=found.no_model or NO_PART)
    ended.model.postprocessor = found.postprocessor
    return ended


def adjusted(trial: Prepared, ended: Outcome, material: Material) -> Outcome:
    """Let treatments adjust the predictions, in order, and say what transformations have to say."""
    if ended.failure is not None:
        return ended
    begun = time.perf_counter()
    said = [note for transformation in trial.transformations for note in transformation.notes]
    ended = replace(ended, notes=(*ended.notes, *said))
    if ended.model is not None:
        ended.model.transformations = trial.transformations
    try:
        for treatment in trial.treatments:
            if has_own(type(treatment), "adjust"):
                ended = _adjusted(treatment, trial, ended, material)
    except Exception as error:  # noqa: BLE001 - one failed trial never stops the others
        return failed(error, replace(ended, dev=None, test=None))
    return replace(ended, seconds=ended.seconds + time.perf_counter() - begun)


def _adjusted(treatment: Treatment, trial: Prepared, ended: Outcome, material: Material) -> Outcome:
    dev, test = material.dev, material.test
    assert dev.target is not None
    assert dev.group is not None
    if ended.dev is None or ended.test is None or ended.dev.scores is None:
        raise BadInput(
            f"The treatment {type(treatment).__name__} adjusts scores, and the learner gives classes without scores",
            available="a learner with scores, such as mlp, or scikit_learn with an estimator that has predict_proba",
        )
    scored = Scored(ended.dev.scores, dev.target, dev.group, material.classes, material.groups, trial.seed)
    adjustment = treatment.adjust(scored)
    if adjustment is None:
        return ended
    if ended.model is not None:
        ended.model.adjustments += (adjustment,)
    group = test.group if treatment.needs_group_at_prediction else None
    return replace(
        ended,
        dev=adjustment(ended.dev, dev.group, dev.ids),
        test=adjustment(ended.test, group, test.ids),
        notes=(*ended.notes, *adjustment.notes, *adjustment.notes_on(group)),
    )


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


def representations_of(
    material: Material, trial: Prepared, settings: Settings, hidden: Callable[[str], NDArray[Any]]
) -> Representations:
    """Return the rows of all splits as ``hidden`` represents them; the training rows are those of the trial.

    Test groups are there for another trial of the study, unless a treatment of this one declares that it needs them.
    """
    train, rows = material.train, trial.rows
    chosen = Rows(
        hidden("train"), train.ids[rows], *(_of(one, rows) for one in (train.target, train.group, train.cell))
    )
    dev, test = (replace(getattr(material, split), inputs=hidden(split)) for split in ("dev", "test"))
    if not any(one.needs_group_at_prediction for one in trial.treatments):
        test = replace(test, group=None)
    return Representations(
        train=chosen,
        dev=dev,
        test=test,
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
