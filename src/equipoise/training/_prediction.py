"""How the outputs of a network are read, what treatments after training make of it, and errors as outcomes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from traceback import TracebackException
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import (
    BadInput,
    EquipoiseError,
    listing,
    redacted_traceback,
)
from equipoise.training._compatibility import has_hook
from equipoise.training._dataset import EncodedDataset, Outcome, Predicted, Rows, Settings
from equipoise.training._preparation import PreparedJob, overrides, training_rows
from equipoise.training._stack import Scale
from equipoise.training._treatment import Afterwards, Outputs, Representations, Scored, Treatment

if TYPE_CHECKING:
    import torch

    from equipoise.training._models import FittedModel

Logits = NDArray[np.float32]


def read(trial: PreparedJob, dataset: EncodedDataset, dev: Logits, test: Logits) -> Afterwards:
    """Return what a trial says: by its treatment's readout, or the class with the highest output."""
    acting = overrides(trial.treatments, "read")
    if len(acting) > 1:
        raise BadInput(f"Two treatments read the network ({', '.join(acting)})", available="one at most")
    for treatment in trial.treatments:
        afterwards = treatment.read(_outputs_for(treatment, trial, dataset, dev, test))
        if afterwards is not None:
            return afterwards
    return Afterwards(plain_predictions(dev, dataset.task), plain_predictions(test, dataset.task))


def _outputs_for(treatment: object, trial: PreparedJob, dataset: EncodedDataset, dev: Logits, test: Logits) -> Outputs:
    rows = dataset.dev
    assert rows.target is not None
    assert rows.group is not None
    test_group = dataset.test.group if getattr(treatment, "needs_group_at_prediction", False) else None
    if test_group is not None and not len(test):
        test_group = test_group[:0]
    return Outputs(
        dev=dev, test=test, dev_target=rows.target, dev_group=rows.group, test_group=test_group,
        counts=training_rows(trial.rows, dataset).counts, classes=dataset.classes, groups=dataset.groups,
    )  # fmt: skip


def plain_predictions(outputs: Logits, task: str) -> Predicted:
    """Return the class with the highest output of each row, with probabilities; of several labels, each by itself."""
    if task == "multilabel":
        return labels_of(outputs)
    shifted = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    return Predicted(outputs.argmax(axis=1), (shifted / shifted.sum(axis=1, keepdims=True)).astype(np.float32))


def labels_of(outputs: Logits) -> Predicted:
    """Return the labels of rows by their logits ``[row, label]``: those whose probability is at least 0.5."""
    with np.errstate(over="ignore"):
        scores = 1.0 / (1.0 + np.exp(-outputs.astype(np.float64)))
    return Predicted((outputs >= 0).astype(np.int64), scores.astype(np.float32))


def codes_of(outputs: torch.Tensor, task: str) -> torch.Tensor:
    """Return what outputs say: the class with the highest, or 1 for each label whose probability is at least 0.5."""
    return (outputs >= 0).long() if task == "multilabel" else outputs.argmax(-1)


def probabilities(outputs: torch.Tensor, task: str) -> torch.Tensor:
    """Return the probability of each class, or of each label by itself."""
    return outputs.sigmoid() if task == "multilabel" else outputs.softmax(-1)


def predictions_of(outputs: torch.Tensor, task: str, scale: Scale) -> list[Predicted]:
    """Return what each network says by its outputs ``[trial, row, output]``: the class with most, numbers or labels."""
    if task == "regression":
        numbers: NDArray[Any] = outputs[..., 0].double().numpy() * scale.spread + scale.mean
        return [Predicted(number.astype(np.float32)) for number in numbers]
    codes, scores = codes_of(outputs, task).numpy(), probabilities(outputs, task).float().numpy()
    return [Predicted(code, score) for code, score in zip(codes, scores, strict=True)]


NO_PART = "A treatment of this trial predicts by something that it does not give: its predictions cannot be made again."
# What is kept of a traceback: the last frames, of each error of a chain, and letters.
MOST_FRAMES, MOST_LETTERS = 12, 8_000


def finished(
    trial: PreparedJob,
    ended: Outcome,
    read_afterwards: Callable[[], Afterwards],
    model: Callable[[], FittedModel | None],
    representations: Callable[[], Representations],
) -> Outcome:
    """Give a training its predictions, its model, and what a treatment after training makes of them."""
    try:
        afterwards = read_afterwards()
    except Exception as error:  # noqa: BLE001 - one readout that fails stops no other
        return failed_outcome(error, ended)
    ended = replace(
        ended,
        dev=afterwards.dev,
        test=afterwards.test,
        arrays=afterwards.arrays,
        notes=(*ended.notes, *afterwards.notes),
        model=model(),
    )
    if overrides(trial.treatments, "read"):
        ended = with_part(ended, afterwards)
    return after_training(trial, ended, representations)


def after_training(trial: PreparedJob, ended: Outcome, representations: Any) -> Outcome:
    """Let a treatment after training act; what goes wrong there is the failure of this trial alone."""
    acting = overrides(trial.treatments, "after")
    if not acting:
        return ended
    start = time.perf_counter()
    try:
        check_one_after(trial.treatments)
        (treatment,) = (treatment for treatment in trial.treatments if type(treatment).__name__ in acting)
        afterwards: Afterwards | None = treatment.after(representations())
    except Exception as error:  # noqa: BLE001 - one failed trial never stops the others
        return failed_outcome(error, replace(ended, dev=None, test=None, model=None))
    spent = ended.seconds + time.perf_counter() - start
    if afterwards is None:
        return replace(ended, seconds=spent)
    ended = replace(
        ended, dev=afterwards.dev, test=afterwards.test, notes=(*ended.notes, *afterwards.notes), seconds=spent,
        arrays={**ended.arrays, **afterwards.arrays},
    )  # fmt: skip
    return with_part(ended, afterwards)


def check_one_after(treatments: Sequence[Treatment]) -> None:
    """Refuse two treatments that both predict from the hidden layer: what the first says would never be heard."""
    acting = overrides(treatments, "after")
    if len(acting) > 1:
        raise BadInput(
            f"Two treatments act after training ({listing(acting)})", available="one at most", help="use one of them."
        )


def with_part(ended: Outcome, afterwards: Afterwards) -> Outcome:
    """Give the model the part that a treatment fitted; where it gave none, there is no model that predicts so."""
    if ended.model is None:
        return ended
    if afterwards.postprocessor is None or ended.model.postprocessor is not None:
        return replace(ended, model=None, no_model=afterwards.no_model or NO_PART)
    ended.model.postprocessor = afterwards.postprocessor
    return ended


def adjusted(trial: PreparedJob, ended: Outcome, dataset: EncodedDataset) -> Outcome:
    """Let treatments adjust the predictions, in order, and say what transformations have to say."""
    if ended.failure is not None:
        return ended
    start = time.perf_counter()
    notes = [note for transformation in trial.transformations for note in transformation.notes]
    ended = replace(ended, notes=(*ended.notes, *notes))
    if ended.model is not None:
        ended.model.transformations = trial.transformations
    try:
        for treatment in trial.treatments:
            if has_hook(type(treatment), "adjust"):
                ended = _adjusted(treatment, trial, ended, dataset)
    except Exception as error:  # noqa: BLE001 - one failed trial never stops the others
        return failed_outcome(error, replace(ended, dev=None, test=None))
    return replace(ended, seconds=ended.seconds + time.perf_counter() - start)


def _adjusted(treatment: Treatment, trial: PreparedJob, ended: Outcome, dataset: EncodedDataset) -> Outcome:
    dev, test = dataset.dev, dataset.test
    assert dev.target is not None
    assert dev.group is not None
    if ended.dev is None or ended.test is None or ended.dev.scores is None:
        raise BadInput(
            f"The treatment {type(treatment).__name__} adjusts scores, and the learner gives classes without scores",
            available="a learner with scores, such as mlp, or scikit_learn with an estimator that has predict_proba",
        )
    scored = Scored(ended.dev.scores, dev.target, dev.group, dataset.classes, dataset.groups, trial.seed)
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


def failed_outcome(error: BaseException, ended: Outcome | None = None) -> Outcome:
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
    dataset: EncodedDataset, trial: PreparedJob, settings: Settings, hidden: Callable[[str], NDArray[Any]]
) -> Representations:
    """Return the rows of all splits as ``hidden`` represents them; the training rows are those of the trial.

    Test groups are there for another trial of the study, unless a treatment of this one declares that it needs them.
    """
    train, rows = dataset.train, trial.rows
    chosen = Rows(
        hidden("train"), train.ids[rows], *(_of(codes, rows) for codes in (train.target, train.group, train.cell))
    )
    dev, test = (replace(getattr(dataset, split), inputs=hidden(split)) for split in ("dev", "test"))
    if not any(treatment.needs_group_at_prediction for treatment in trial.treatments):
        test = replace(test, group=None)
    return Representations(
        train=chosen,
        dev=dev,
        test=test,
        classes=dataset.classes,
        groups=dataset.groups,
        task=dataset.task,
        seed=trial.seed,
        selection=settings.selection,
        weights=trial.weights,
        performance=settings.performance,
        fairness=settings.fairness,
    )


def _of(values: NDArray[Any] | None, rows: NDArray[np.int64]) -> NDArray[Any] | None:
    return None if values is None else values[rows]
