"""The backend of whatever has steps: turns, losses by name, reports, and steps whose losses are no numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs equipoise[train]")

from equipoise.foundation import BadInput  # noqa: E402
from equipoise.training import (  # noqa: E402
    Plain,
    PlainTraining,
    StepProgress,
    StepTraining,
    Trainer,
    descend,
    train_steps,
)


class Written(PlainTraining):
    """A training whose losses were written before: ``[epoch][step]``."""

    def __init__(self, losses: list[list[float]], log: list[tuple[str, int]] | None = None, name: str = "") -> None:
        self.losses, self.epochs, self.log, self.name = losses, len(losses), log, name
        self.kept: list[tuple[int, dict[str, float]]] = []

    def steps(self, epoch: int) -> Iterator[dict[str, Any]]:
        for step, loss in enumerate(self.losses[epoch - 1], start=1):
            if self.log is not None:
                self.log.append((self.name, step))
            yield {"loss": torch.tensor(loss), "other": torch.tensor(2 * loss)}

    def on_epoch_end(self, epoch: int, losses: Mapping[str, float]) -> None:
        self.kept.append((epoch, dict(losses)))


def test_trainings_take_turns_and_each_goes_on_for_as_long_as_it_is() -> None:
    log: list[tuple[str, int]] = []
    trainings = [Written([[1.0, 2.0], [5.0]], log, "a"), Written([[4.0, 5.0, 9.0]], log, "b"), Written([], log, "c")]
    trainer = Trainer(Plain(trainings))
    outcomes = trainer.run()
    assert log == [("a", 1), ("b", 1), ("a", 2), ("b", 2), ("b", 3), ("a", 1)]
    assert [training.kept for training in trainings] == [
        [(1, {"loss": 1.5, "other": 3.0}), (2, {"loss": 5.0, "other": 10.0})], [(1, {"loss": 6.0, "other": 12.0})], [],
    ]  # fmt: skip
    assert [[epoch.loss for epoch in outcome.history] for outcome in outcomes] == [[1.5, 5.0], [6.0], []]
    assert [outcome.best_epoch for outcome in outcomes] == [2, 1, 0]
    # No dev row was asked: what it would have said is not defined.
    assert all(np.isnan([epoch.performance, epoch.fairness]).all() for epoch in outcomes[0].history)
    assert outcomes[0].failure is None
    assert outcomes[0].notes == ()


def test_a_loss_that_breaks_ends_one_training_and_no_other() -> None:
    broken, sound = Written([[1.0], [2.0, float("inf"), 3.0], [4.0]]), Written([[1.0], [2.0], [3.0]])
    trainer = Trainer(Plain([broken, sound]))
    first, second = trainer.run()
    assert trainer.standings[0].broken == "The loss was no longer a finite number in epoch 2, step 2 of 3"
    assert first.best_epoch == 1
    assert first.notes == (f"{trainer.standings[0].broken}: training stopped. A lower learning_rate may help.",)
    assert [epoch for epoch, _ in broken.kept] == [1]
    assert [epoch for epoch, _ in sound.kept] == [1, 2, 3]
    assert second.notes == ()
    (never,) = Trainer(Plain([Written([[float("nan")]])])).run()
    assert never.failure is not None
    assert "in epoch 1, step 1 of 1: training stopped" in never.failure


def test_every_loss_has_to_be_finite_and_not_the_first_alone() -> None:
    values = {5: float("nan")}
    later = StepTraining(
        6, lambda step: {"a": torch.tensor(1.0), "b": torch.tensor(values.get(step, 0.0))}, report_every=3
    )
    with pytest.raises(BadInput, match=r"(?s)in step 5 of 6.*help.*a smaller one\."):
        train_steps([later], remedy="a smaller one.")
    assert [done.step for done in later.reports] == [3]


@pytest.mark.parametrize(
    ("steps", "every", "expected"),
    [(7, 3, [3, 6, 7]), (6, 3, [3, 6]), (1, 10, [1]), (3, None, [1, 2, 3]), (250, None, list(range(2, 251, 2)))],
)
def test_reports_come_when_they_are_due_and_at_the_end(steps: int, every: int | None, expected: list[int]) -> None:
    told: list[StepProgress] = []
    taken: list[int] = []

    def take(step: int) -> dict[str, Any]:
        taken.append(step)
        return {"loss": torch.tensor(float(step))}

    training = StepTraining(steps, take, report_every=every, report=told.append)
    train_steps([training], remedy="none.")
    assert taken == list(range(1, steps + 1))
    assert [done.step for done in told] == expected
    assert training.reports == told
    since = [0, *expected[:-1]]
    for done, before in zip(told, since, strict=True):
        assert done.steps == steps
        # The mean of whole numbers that follow on one another.
        assert done.losses == {"loss": (before + 1 + done.step) / 2}


def test_a_step_is_that_of_torch_written_out() -> None:
    def network() -> Any:
        torch.manual_seed(0)
        return torch.nn.Linear(3, 1)

    inputs, target = torch.randn(8, 3), torch.randn(8, 1)
    ours, theirs = network(), network()
    optimiser = torch.optim.SGD(ours.parameters(), lr=0.1)
    training = StepTraining(5, lambda step: _descended(optimiser, ((ours(inputs) - target) ** 2).mean()))
    train_steps([training], remedy="none.")
    losses = []
    for _ in range(5):
        loss = ((theirs(inputs) - target) ** 2).mean()
        gradients = torch.autograd.grad(loss, list(theirs.parameters()))
        losses.append(float(loss.detach()))
        with torch.no_grad():
            for parameter, gradient in zip(theirs.parameters(), gradients, strict=True):
                parameter -= 0.1 * gradient
    assert [done.losses["loss"] for done in training.reports] == pytest.approx(losses, rel=1e-6)
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-7)


def _descended(optimiser: Any, loss: Any) -> dict[str, Any]:
    descend(optimiser, loss)
    return {"loss": loss}


def test_an_error_in_a_step_goes_through_after_all_recorded_steps_have_ended() -> None:
    waited: list[str] = []

    class Waiting:
        def wait(self) -> None:
            waited.append("waited")

        def streamed(self) -> Any:
            return torch.no_grad()

    def fail(step: int) -> dict[str, Any]:
        raise KeyError("lost")

    training = StepTraining(3, fail, recorder=Waiting())  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="lost"):
        train_steps([training], remedy="none.")
    assert waited == ["waited"]


def test_a_recorded_step_may_write_its_losses_in_one_place() -> None:
    place = torch.zeros(())

    class Still:
        def wait(self) -> None:
            pass

        def streamed(self) -> Any:
            return torch.no_grad()

    def take(step: int) -> dict[str, Any]:
        place.fill_(step)
        return {"loss": place}

    training = StepTraining(4, take, report_every=4, recorder=Still())  # type: ignore[arg-type]
    train_steps([training], remedy="none.")
    assert training.reports == [StepProgress(4, 4, {"loss": 2.5})]
