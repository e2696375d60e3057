"""Checkpoints of trainings that are read in several ways, what optimisers remember, and runs that cannot go on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from helpers import squares as cases
from helpers.cases.training import Learns

torch = pytest.importorskip("torch", reason="needs equipoise[train]")

from equipoise.training import (  # noqa: E402
    EncodedDataset,
    Job,
    Settings,
    Treatment,
    train,
)
from equipoise.training.images import (  # noqa: E402
    Steps,
    rates,
    state_of,
)
from equipoise.training.images import _pictures as reading  # noqa: E402
from equipoise.training.images import _side_by_side as side_by_side  # noqa: E402
from equipoise.training.images._optimisation import (  # noqa: E402
    SCHEDULES,
    Descent,
    load,
    optimiser_of,
)
from equipoise.treatments import (  # noqa: E402
    Adversarial,
    DiverseAdversarial,
    DomainDiscriminative,
    EqualOpportunityClass,
    FairALM,
    FairBatch,
    GradientProjection,
    GradientReversal,
    GroupDRO,
    SquaredGapPenalty,
    UniformConfusion,
)

LEARNER = Learns("image_network", {"network": "small", "epochs": 3, "batch_size": 16, "schedule": "triangle"})


def read_in(dataset: EncodedDataset, *readouts: str) -> list[Job]:
    return [cases.jobs(dataset, treatments=[DomainDiscriminative(readout=readout)])[0] for readout in readouts]


def killed(dataset: EncodedDataset, jobs: list[Job], settings: Settings, epoch: int = 2) -> None:
    def kill(progress: Any) -> None:
        if progress.epoch == epoch:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(dataset, LEARNER, jobs, settings, kill)


@pytest.fixture
def settings(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setattr(side_by_side, "EVERY", 0.0)
    monkeypatch.setattr(side_by_side, "TIMES", 0.0)
    return Settings(selection="performance", checkpoints=str(tmp_path))


def test_a_training_that_is_read_in_several_ways_goes_on_where_it_was(settings: Settings) -> None:
    dataset = cases.dataset()
    jobs = read_in(dataset, "sum", "sum_prior_shift")
    expected = train(dataset, LEARNER, jobs, replace(settings, checkpoints=None))
    killed(dataset, jobs, settings)
    epochs: list[int] = []
    found = train(dataset, LEARNER, jobs, settings, lambda progress: epochs.append(progress.epoch))
    assert epochs == [3]
    for one, other in zip(expected, found, strict=True):
        assert (one.history, one.best_epoch) == (other.history, other.best_epoch)
        assert np.array_equal(one.test.scores, other.test.scores)


@pytest.mark.parametrize("now", [("sum",), ("sum", "max_prior_shift"), ("sum", "sum_prior_shift", "max_prior_shift")])
def test_a_training_that_is_read_in_other_ways_begins_anew(settings: Settings, now: tuple[str, ...]) -> None:
    dataset = cases.dataset()
    killed(dataset, read_in(dataset, "sum", "sum_prior_shift"), settings)
    jobs = read_in(dataset, *now)
    epochs: list[int] = []
    found = train(dataset, LEARNER, jobs, settings, lambda progress: epochs.append(progress.epoch))
    expected = train(dataset, LEARNER, jobs, replace(settings, checkpoints=None))
    assert epochs == [1, 2, 3]
    for one, other in zip(expected, found, strict=True):
        assert (one.history, one.best_epoch) == (other.history, other.best_epoch)
        assert np.array_equal(one.test.scores, other.test.scores)


@pytest.mark.parametrize("kind", [UniformConfusion, GradientProjection])
@pytest.mark.parametrize("epoch", [1, 2, 4])
def test_adversaries_go_on_in_the_turn_they_were_in(settings: Settings, kind: Any, epoch: int) -> None:
    dataset = cases.dataset()
    jobs = cases.jobs(dataset, treatments=[kind(learning_rate=0.01)])
    expected = train(dataset, LEARNER, jobs, replace(settings, checkpoints=None))
    killed(dataset, jobs, settings, epoch)
    epochs: list[int] = []
    found = train(dataset, LEARNER, jobs, settings, lambda progress: epochs.append(progress.epoch))
    assert epochs[0] == epoch + 1
    assert expected[0].history == found[0].history
    assert np.array_equal(expected[0].test.scores, found[0].test.scores)


@pytest.mark.parametrize(
    "treatment",
    [
        Adversarial(width=8), DiverseAdversarial(width=8, conditional_on_class=True), FairBatch(step=0.3),
        GroupDRO(step=0.5),
        FairALM(strength=0.1), GradientReversal(layer="block2", width=8), EqualOpportunityClass(),
        SquaredGapPenalty(strength=0.1),
    ],
    ids=lambda treatment: type(treatment).__name__,
)  # fmt: skip
def test_a_treatment_goes_on_with_all_that_it_remembered(settings: Settings, treatment: Treatment) -> None:
    dataset = cases.dataset()
    jobs = cases.jobs(dataset, treatments=[treatment])
    expected = train(dataset, LEARNER, jobs, replace(settings, checkpoints=None))
    killed(dataset, jobs, settings)
    epochs: list[int] = []
    found = train(dataset, LEARNER, jobs, settings, lambda progress: epochs.append(progress.epoch))
    assert (expected[0].failure, found[0].failure) == (None, None)
    assert epochs == [3]
    assert expected[0].history == found[0].history
    assert np.array_equal(expected[0].test.scores, found[0].test.scores)


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_what_an_optimiser_remembered_lies_in_memory_as_its_parameters_do(optimiser: str) -> None:
    layer = torch.nn.Conv2d(3, 8, 3).to(memory_format=torch.channels_last)
    first, second = (
        optimiser_of(layer.parameters(), Descent(optimiser, 0.9, 0.0), torch.tensor(0.1)) for _ in range(2)
    )
    layer(torch.randn(4, 3, 8, 8).to(memory_format=torch.channels_last)).square().sum().backward()
    first.step()
    # As safetensors gives them back.
    load(second, {name: value.clone(memory_format=torch.contiguous_format) for name, value in state_of(first).items()})
    before, after = state_of(first), state_of(second)
    assert before.keys() == after.keys()
    for name, value in before.items():
        assert torch.equal(after[name], value), name
        assert after[name].stride() == value.stride(), name


def test_moments_of_another_shape_are_refused() -> None:
    layer = torch.nn.Linear(3, 2)
    made = optimiser_of(layer.parameters(), Descent("sgd", 0.9, 0.0), torch.tensor(0.1))
    with pytest.raises(ValueError, match=r"momentum_buffer has the shape \(5,\)"):
        load(made, {"0.momentum_buffer": torch.zeros(5)})


def test_a_checkpoint_that_cannot_be_written_stops_no_training(settings: Settings, tmp_path: Any) -> None:
    dataset = cases.dataset()
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    jobs = cases.jobs(dataset, [0, 1])
    found = train(dataset, LEARNER, jobs, replace(settings, checkpoints=str(tmp_path / "file")), stack=2)
    expected = train(dataset, LEARNER, jobs, replace(settings, checkpoints=None), stack=2)
    for one, other in zip(found, expected, strict=True):
        assert one.notes[-1].startswith("No checkpoint could be written, so a killed training starts again: ")
        assert np.array_equal(one.test.scores, other.test.scores)


def test_outputs_that_are_no_numbers_are_never_read(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = cases.dataset()
    plain, calls = side_by_side.logits_of, []

    def lost(run: Any, rows: Any, what: str) -> Any:
        calls.append(what)
        return plain(run, rows, what) * (np.nan if len(calls) == 3 else 1.0)

    monkeypatch.setattr(side_by_side, "logits_of", lost)
    (one,) = train(dataset, LEARNER, cases.jobs(dataset), Settings(selection="last"))
    assert calls == ["the dev rows"] * 3
    assert one.test is None
    assert "no longer finite after epoch 3" in str(one.failure)


def test_where_one_run_fails_all_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = cases.dataset()
    waited: list[int] = []
    monkeypatch.setattr(Steps, "wait", lambda self: waited.append(self.run.trial.seed))

    def broken(*_: Any) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr(side_by_side, "logits_of", broken)
    found = train(dataset, LEARNER, cases.jobs(dataset, [0, 1]), Settings(), stack=2)
    assert [one.failure for one in found] == ["RuntimeError: broken"] * 2
    # Both before they are judged, both because one failed, and the same of each when it was tried by itself.
    assert waited == [0, 1, 0, 1, 0, 0, 1, 1]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_steps_after_the_end_have_the_last_rate(schedule: str) -> None:
    found = rates(schedule, 0.1, 30, 20, 40)
    assert (found >= 0).all()
    assert np.array_equal(found[10:], np.full(10, found[9]))


def test_large_pictures_are_read_fewer_at_once_and_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [reading.at_once(side, side) for side in (8, 32, 224, 5_000)] == [1_000, 1_000, 79, 1]
    dataset = cases.dataset()
    exact = Settings(precision="float64")
    (whole,) = train(dataset, LEARNER, cases.jobs(dataset), exact)
    monkeypatch.setattr(reading, "PIXELS", 7 * 8 * 8)
    (in_parts,) = train(dataset, LEARNER, cases.jobs(dataset), exact)
    assert np.allclose(whole.test.scores, in_parts.test.scores, atol=1e-6)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("kinds", [(), (UniformConfusion,), (GradientProjection,)])
def test_on_a_card_a_killed_training_goes_on_where_it_was_too(settings: Settings, kinds: tuple[Any, ...]) -> None:
    dataset = cases.dataset()
    there = replace(settings, device="cuda", precision="float64", rounding="deterministic")
    jobs = cases.jobs(dataset, treatments=[kind(learning_rate=0.01) for kind in kinds])
    (expected,) = train(dataset, LEARNER, jobs, replace(there, checkpoints=None))
    killed(dataset, jobs, there)
    epochs: list[int] = []
    (found,) = train(dataset, LEARNER, jobs, there, lambda progress: epochs.append(progress.epoch))
    assert epochs[0] == 3
    assert found.failure is None
    assert np.allclose(expected.test.scores, found.test.scores, atol=1e-6)
