"""An imbalanced cohort on which a strong adversary collapses: no constant model is kept while another is there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from equipoise.training import COLLAPSED, EncodedDataset, Rows, Scores, Settings, scores_of, train
from equipoise.training import _trainer as trainer
from equipoise.treatments import Adversarial
from helpers.cases.training import Learns, jobs_of

pytest.importorskip("torch")


def census(rows: int = 1500, *, seed: int = 0) -> EncodedDataset:
    """People of whom 6% are positive; the class can be told, and goes with the group."""
    generator = np.random.default_rng(seed)

    def split(number: int, seen: bool) -> Rows:
        group = generator.integers(0, 2, number)
        signal = generator.normal(size=(number, 8))
        wanted = signal[:, 0] + 0.5 * signal[:, 1] + 0.8 * group + 0.3 * generator.normal(size=number)
        target = (wanted > np.quantile(wanted, 0.94)).astype(np.int64)
        signal[:, -1] += 2.0 * group
        shown = signal.astype(np.float32)
        return Rows(shown, np.arange(number), target, group, target) if seen else Rows(shown, np.arange(number))

    return EncodedDataset(split(rows, True), split(rows, True), split(rows, False), ("no", "yes"), ("a", "b"))


def trained(monkeypatch: pytest.MonkeyPatch, strength: float, **values: Any) -> tuple[Any, list[bool]]:
    """Train one trial; return its outcome and which epochs had collapsed."""
    seen: list[bool] = []

    def spy(*given: Any, **more: Any) -> Scores:
        found = scores_of(*given, **more)
        seen.append(bool(found.has_collapsed[0]))
        return found

    monkeypatch.setattr(trainer, "scores_of", spy)
    dataset = census()
    settings = {"width": 16, "batch_size": 128, "epochs": 30, "learning_rate": 3e-3, **values}
    (ended,) = train(dataset, Learns("mlp", settings), jobs_of(dataset, [0], [Adversarial(strength=strength)]))
    assert ended.failure is None, ended.failure
    return ended, seen


def test_a_collapsed_epoch_is_not_kept_while_another_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    ended, collapsed = trained(monkeypatch, 10.0, patience=30)
    assert any(collapsed)
    assert not all(collapsed)
    losses = [np.hypot(1 - epoch.performance, 1 - epoch.fairness) for epoch in ended.history]
    assert collapsed[int(np.argmin(losses))]  # the distance alone would have taken a constant model
    assert not collapsed[ended.best_epoch - 1]
    assert len(np.unique(ended.dev.values)) == 2
    assert COLLAPSED not in ended.notes


def test_patience_counts_from_the_first_epoch_that_learnt_something(monkeypatch: pytest.MonkeyPatch) -> None:
    ended, collapsed = trained(monkeypatch, 0.0, learning_rate=1e-3, patience=2)
    first = collapsed.index(False)
    assert first >= 2  # so long the network predicted "no" for everyone: no epoch was better than the first
    assert ended.best_epoch > first
    assert len(ended.history) > first + 1


def test_a_model_that_never_learnt_says_so_and_trains_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    ended, collapsed = trained(monkeypatch, 0.0, learning_rate=1e-6, patience=2, epochs=7)
    assert all(collapsed)
    assert len(ended.history) == 7
    assert COLLAPSED in ended.notes


def test_the_last_epoch_stays_the_last_whatever_it_predicts() -> None:
    dataset = census(400)
    settings = Settings(selection="last")
    (ended,) = train(
        dataset, Learns("mlp", {"width": 8, "epochs": 3, "learning_rate": 1e-6}), jobs_of(dataset, [0]), settings
    )
    assert ended.best_epoch == 3
    assert COLLAPSED in ended.notes


def test_epochs_are_chosen_by_the_performance_and_the_fairness_that_are_asked_for() -> None:
    dataset = census()
    values = {"width": 16, "batch_size": 128, "epochs": 12, "learning_rate": 3e-3, "patience": 12}
    for performance, fairness in (("balanced_accuracy", "DP"), ("auc", "worst_group"), ("f1", "EO")):
        settings = Settings(performance=performance, fairness=fairness)  # type: ignore[arg-type]
        (ended,) = train(dataset, Learns("mlp", values), jobs_of(dataset, [0]), settings)
        found = scores_of(
            ended.dev.values[None], dataset.dev, 2, 2, "class", performance=performance, fairness=fairness,  # type: ignore
            scores=ended.dev.scores[None],  # type: ignore[union-attr,index]
        )  # fmt: skip
        kept = ended.history[ended.best_epoch - 1]
        assert (kept.performance, kept.fairness) == pytest.approx((found.performance[0], found.fairness[0]), abs=1e-6)
