"""Networks that train together as a backend of the trainer: what they say of dev rows, and how they end."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.training._dataset import EncodedDataset, Outcome, Predicted, Rows, Settings, known_targets
from equipoise.training._learner import Report
from equipoise.training._models import FittedModel
from equipoise.training._numerics import overhead, product_precision, seconds_of
from equipoise.training._prediction import (
    codes_of,
    finished,
    predictions_of,
    probabilities,
    read,
    representations_of,
)
from equipoise.training._preparation import overrides
from equipoise.training._selection import needs_scores
from equipoise.training._stack import Stack, layer
from equipoise.training._trainer import Backend, DevReading, Floats, Trainer, by_rounding
from equipoise.training._treatment import Afterwards, Representations

if TYPE_CHECKING:
    import torch

# From a stack, the place of a trial in it and the trial's values at the chosen epoch.
ModelOf = Callable[[Stack, int, "list[torch.Tensor]"], FittedModel]


def fit_stack(
    build: Callable[[], Stack],
    dataset: EncodedDataset,
    settings: Settings,
    report: Report,
    kind: Callable[[Stack, EncodedDataset, Report], StackBackend],
) -> list[Outcome]:
    """Build a stack, train it and return how its trials ended; ``kind`` says what its networks are trained for."""

    def rehearse() -> float:
        stack = build()
        batches, phase = stack.arranged(1), stack.callbacks.phase(1)

        def steps(number: int) -> None:
            stack.follow(batches, number, phase).cpu()

        return overhead(partial(seconds_of, steps))

    def run() -> list[Outcome]:
        return Trainer(kind(build(), dataset, report), dataset, settings, report).run()

    with product_precision(settings):
        return by_rounding(settings, rehearse, run)


class StackBackend(Backend):
    """A stack with the values that each trial had in its best epoch. A trial that stops leaves the stack."""

    def __init__(self, stack: Stack, dataset: EncodedDataset, report: Report) -> None:
        self.stack, self.dataset, self.report = stack, dataset, report
        self.trials, self.epochs, self.patience = stack.trials, stack.recipe.epochs, stack.recipe.patience
        self.best_values = [values.clone() for values in stack.network.values]
        self.dev = stack.tensor(dataset.dev.inputs)

    def epoch(self, number: int, trials: Sequence[int]) -> list[Floats]:
        """Train the whole stack for an epoch."""
        losses = self.stack.epoch(number).double().cpu().numpy()
        return [losses[:, at] for at in self.running_indices(trials)]

    def eligible(self, number: int) -> bool:
        """Tell whether the treatments act in an epoch."""
        return self.stack.callbacks.eligible(number)

    def running_indices(self, trials: Sequence[int]) -> list[int]:
        """Return where trials stand among those that are running."""
        where = {trial: at for at, trial in enumerate(self.stack.running)}
        return [where[trial] for trial in trials]

    def remember(self, trials: Sequence[int]) -> None:
        """Keep the values of these trials."""
        if not trials:
            return
        at = self.running_indices(trials)
        for best, now in zip(self.best_values, self.stack.network.values, strict=True):
            best[list(trials)] = now[at]

    def release(self, trials: Sequence[int]) -> None:
        """Let the others go on alone; a stack that trains to its end stays whole."""
        if self.patience is not None:
            released = set(trials)
            self.stack.select_trials([at for at, trial in enumerate(self.stack.running) if trial not in released])


class StackedNetworks(StackBackend):
    """Networks of classes or numbers; ``model_of`` makes the model of a trial where models are to be kept."""

    def __init__(
        self, stack: Stack, dataset: EncodedDataset, report: Report, *, model_of: ModelOf | None = None
    ) -> None:
        super().__init__(stack, dataset, report)
        self.model_of = model_of if stack.settings.keep_models else None

    def read(self, trials: Sequence[int]) -> DevReading:
        """Return what the trials say of the dev rows, with the mean loss there."""
        target, group = self.dataset.dev.target, self.dataset.dev.group
        assert target is not None
        assert group is not None
        task, stack = self.dataset.task, self.stack
        is_known = known_targets(target)
        expected = stack.goals(np.where(is_known.reshape(-1, *[1] * (target.ndim - 1)), target, 0), task)
        # What a row without a group loses is not counted; a treatment's loss may need one all the same.
        groups = stack.torch.from_numpy(np.maximum(group, 0)).to(stack.settings.device)
        losses, outputs = [], []
        scored, reads = needs_scores(stack.settings.performance), bool(overrides(self.trials[0].treatments, "read"))
        values, scores = [], []
        for cut, output, _ in stack.read(None, self.dev):
            batch_targets = expected[cut].expand(len(output), *[-1] * expected.ndim)
            rows = stack.row_losses(output, batch_targets, groups[cut].expand(len(output), -1))
            losses.append(rows.cpu().numpy()[:, is_known[cut]])
            if reads:
                outputs.append(output.float().cpu().numpy())
            else:
                values.append(_values(output, task))
            if scored and not reads:
                scores.append(probabilities(output, task).float().cpu().numpy())
        mean = np.concatenate(losses, axis=1).mean(axis=1, dtype=np.float64)
        at = self.running_indices(trials)
        finite = np.isfinite(mean)
        if reads:
            joined = np.concatenate(outputs, axis=1)
            predictions = [
                self._read(trial, joined[index], bool(finite[index])) for trial, index in zip(trials, at, strict=True)
            ]
            return DevReading(
                [prediction.values for prediction in predictions], finite[at].tolist(),
                [prediction.scores for prediction in predictions] if scored else None,
                mean[at].tolist(),
            )  # fmt: skip
        combined = np.concatenate(values, axis=1)
        if task == "regression":
            combined = combined.astype(np.float64) * stack.scale.spread + stack.scale.mean
        chances = np.concatenate(scores, axis=1)[at] if scored else None
        return DevReading(
            list(combined[at]), finite[at].tolist(), None if chances is None else list(chances), mean[at].tolist()
        )

    def _read(self, trial: int, outputs: NDArray[np.float32], finite: bool) -> Predicted:
        """Return what a trial says of the dev rows as its treatments read them."""
        finite_outputs = outputs if finite else np.zeros_like(outputs)
        return read(self.trials[trial], self.dataset, finite_outputs, finite_outputs[:0]).dev

    def finish(self, ended: Sequence[Outcome]) -> list[Outcome]:
        """Return predictions with the values of the best epochs, and what treatments make of them."""
        stack = self.stack
        stack.running = list(range(len(self.trials)))
        stack.network.set_values(self.best_values)
        start = time.perf_counter()
        outputs = [self._outputs(rows) for rows in (self.dataset.dev, self.dataset.test)]
        reads = bool(overrides(self.trials[0].treatments, "read"))
        plain = None if reads else [predictions_of(output, self.dataset.task, stack.scale) for output in outputs]
        share = (time.perf_counter() - start) / len(self.trials)

        def said(trial: int) -> Afterwards:
            if plain is not None:
                return Afterwards(plain[0][trial], plain[1][trial])
            return read(self.trials[trial], self.dataset, *(output[trial].float().numpy() for output in outputs))

        return [
            outcome
            if outcome.failure is not None
            else finished(
                self.trials[trial],
                replace(outcome, seconds=outcome.seconds + share),
                partial(said, trial),
                partial(self._model, trial),
                partial(self._representations, trial),
            )
            for trial, outcome in enumerate(ended)
        ]

    def _model(self, trial: int) -> FittedModel | None:
        if self.model_of is None:
            return None
        return self.model_of(self.stack, trial, [values[trial].clone() for values in self.best_values])

    def _outputs(self, rows: Rows) -> Any:
        """Return the outputs of every trial for the rows of a split, ``[trial, row, output]``, on the CPU."""
        stack = self.stack
        outputs = [output.cpu() for _, output, _ in stack.read(None, stack.tensor(rows.inputs))]
        if not outputs:
            width = max(self.dataset.outputs, 1)
            return stack.tensor(np.zeros((len(self.trials), 0, width))).cpu()
        return stack.torch.cat(outputs, dim=1)

    def _representations(self, index: int) -> Representations:
        """Read the last hidden layer of one trial; its network is taken out of the stack while it is read."""
        stack, dataset, trial = self.stack, self.dataset, self.trials[index]
        stack.running = [index]
        stack.network.set_values([values[index : index + 1] for values in self.best_values])

        def hidden(split: str) -> NDArray[np.float32]:
            inputs = dataset.train.inputs[trial.rows] if split == "train" else getattr(dataset, split).inputs
            parts = [layer(layer_inputs)[0].cpu() for _, _, layer_inputs in stack.read(None, stack.tensor(inputs))]
            joined: NDArray[np.float32] = stack.torch.cat(parts).float().numpy()
            return joined

        return representations_of(dataset, trial, stack.settings, hidden)


def _values(output: Any, task: str) -> NDArray[Any]:
    """Return class codes, or the (standardised) numbers of a regression, ``[trial, row]``, or labels."""
    values: NDArray[Any] = (output[..., 0] if task == "regression" else codes_of(output, task)).cpu().numpy()
    return values
