"""Runs side by side are the runs alone; a run is what a plain loop does; killed ones go on; memory that runs out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers import squares as cases
from helpers.cases.training import Learns

torch = pytest.importorskip("torch", reason="needs equipoise[train]")

from equipoise.networks import build  # noqa: E402
from equipoise.training import (  # noqa: E402  # noqa: E402
    EncodedDataset,
    Job,
    Outcome,
    Settings,
    copies_of,
    fix_seeds,
    learner_of,
    prepare_job,
    sample_keys,
    train,
)
from equipoise.training.images import (  # noqa: E402
    Pictures,
    Run,
    Steps,
    rates,
)
from equipoise.training.images import (  # noqa: E402
    _checkpoints as checkpoints,
)
from equipoise.training.images import (  # noqa: E402
    _side_by_side as fitting,
)
from equipoise.training.images import (  # noqa: E402
    _side_by_side as side_by_side,
)

VALUES: dict[str, Any] = {"network": "small", "epochs": 3, "batch_size": 16, "schedule": "triangle"}
LEARNER = Learns("image_network", VALUES)
WHOLE = Settings(precision="float64", selection="last")
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
DEVICES = ["cpu", pytest.param("cuda", marks=needs_cuda)]


def prepared_run(dataset: EncodedDataset, job: Job, settings: Settings, pieces: int = 1) -> Run:
    trial = prepare_job(job, dataset, learner_of("image_network").with_defaults({**VALUES, **job.learner}))
    return Run(trial, dataset, Pictures(dataset.train.inputs, settings.device), settings, pieces)


def scores(outcomes: list[Outcome]) -> list[np.ndarray]:
    assert [outcome.failure for outcome in outcomes] == [None] * len(outcomes)
    return [outcome.test.scores for outcome in outcomes]


@pytest.mark.parametrize("device", DEVICES)
def test_side_by_side_is_alone(device: str) -> None:
    dataset = cases.dataset()
    jobs = cases.jobs(dataset, [0, 1, 2])
    settings = replace(WHOLE, device=device, rounding="deterministic")
    together = scores(train(dataset, LEARNER, jobs, settings, stack=3))
    alone = scores(train(dataset, LEARNER, jobs, settings, stack=1))
    for one, other in zip(together, alone, strict=True):
        assert np.array_equal(one, other)
    assert not np.array_equal(together[0], together[1])


@pytest.mark.parametrize("device", DEVICES)
def test_a_run_is_what_a_plain_loop_does(device: str) -> None:
    dataset = cases.dataset()
    (job,) = cases.jobs(dataset, [4], augmentation=False, weight_decay=1e-3)
    run = prepared_run(dataset, job, replace(WHOLE, device=device))
    steps = Steps(run)
    for epoch in (1, 2):
        steps.begin(epoch)
        for _ in range(run.steps):
            steps.take("all")
    steps.wait()
    expected = plain_loop(dataset, job, epochs=2)
    found = {name: value.cpu() for name, value in run.parts["network"].state_dict().items()}
    for name, value in expected.items():
        assert torch.allclose(found[name].double(), value.double(), atol=1e-9), name


def plain_loop(dataset: EncodedDataset, job: Job, epochs: int) -> dict[str, Any]:
    """The same training as most people would write it."""
    fix_seeds(job.seed)
    network, features = build("small", 3)
    head = torch.nn.Linear(features, 3)
    model = torch.nn.Sequential(network, head).double()
    inputs = dataset.train.inputs.astype(float)
    pixels = torch.tensor((inputs - inputs.mean(axis=(0, 1, 2))) / inputs.std(axis=(0, 1, 2))).permute(0, 3, 1, 2)
    target = torch.tensor(dataset.train.target)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3)
    number = len(target) // 16
    for epoch in range(1, epochs + 1):
        ids = dataset.train.ids
        order = np.argsort(sample_keys(job.seed, epoch, ids, copies_of(ids), "order"))
        speeds = rates("triangle", 0.1, (epoch - 1) * number, number, number * VALUES["epochs"])
        for step in range(number):
            chosen = order[16 * step : 16 * (step + 1)]
            optimiser.param_groups[0]["lr"] = float(speeds[step])
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(model(pixels[chosen]), target[chosen]).backward()
            optimiser.step()
    return network.state_dict()


def test_pieces_of_a_batch_add_up_to_its_gradient_where_no_statistics_are_taken() -> None:
    dataset = cases.dataset()
    (job,) = cases.jobs(dataset)
    runs = [prepared_run(dataset, job, WHOLE, pieces) for pieces in (1, 3)]
    for run in runs:
        # Statistics of a batch are those of its pieces: they are held fixed for this comparison.
        run.parts["network"].eval()
        run.begin(1)
        run.step("all")
    whole, pieced = ([parameter.grad for parameter in run.parts["network"].parameters()] for run in runs)
    for one, other in zip(whole, pieced, strict=True):
        assert torch.allclose(one, other, atol=1e-12)


def test_jitter_permutes_inside_batches_and_leaves_the_first_gradient() -> None:
    dataset = cases.dataset()
    job, again = cases.jobs(dataset, repeats=2)
    runs = [prepared_run(dataset, one, replace(WHOLE, rounding="jitter")) for one in (job, again)]
    for run in runs:
        run.begin(1)
    first, second = (run.positions.clone() for run in runs)
    assert not torch.equal(first, second)
    assert torch.equal(first.sort(1).values, second.sort(1).values)
    for run in runs:
        run.step("all")
    for one, other in zip(*(run.parts["network"].parameters() for run in runs), strict=True):
        assert torch.allclose(one.grad, other.grad, atol=1e-12)


def test_a_killed_training_goes_on_where_it_was(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = cases.dataset()
    jobs = cases.jobs(dataset, [0, 1])
    monkeypatch.setattr(side_by_side, "EVERY", 0.0)
    monkeypatch.setattr(side_by_side, "TIMES", 0.0)
    settings = replace(WHOLE, selection="dto", checkpoints=str(tmp_path))
    expected = train(dataset, LEARNER, jobs, replace(settings, checkpoints=None), stack=2)

    def kill(progress: Any) -> None:
        if progress.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(dataset, LEARNER, jobs, settings, kill, stack=2)
    assert len(list(tmp_path.iterdir())) == 2
    epochs: list[int] = []
    found = train(dataset, LEARNER, jobs, settings, lambda progress: epochs.append(progress.epoch), stack=2)
    assert epochs == [3]
    assert not list(tmp_path.iterdir())
    for one, other in zip(expected, found, strict=True):
        assert np.array_equal(one.test.scores, other.test.scores)
        assert one.history == other.history
        assert one.best_epoch == other.best_epoch


def test_a_training_that_was_killed_by_force_goes_on_and_ends_as_it_would_have(tmp_path: Path) -> None:
    dataset = cases.dataset()
    learner = Learns("image_network", {"network": "small", "epochs": 60, "batch_size": 16})
    script = [sys.executable, str(Path(__file__).with_name("killed_training.py")), str(tmp_path), "60"]
    tests = str(Path(__file__).parents[2])
    process = subprocess.Popen(script, env={**os.environ, "PYTHONPATH": tests, "OMP_NUM_THREADS": "1"})
    while not list(tmp_path.glob("*.safetensors")):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    settings = Settings(selection="last", checkpoints=str(tmp_path))
    epochs: list[int] = []
    (found,) = train(dataset, learner, cases.jobs(dataset), settings, lambda progress: epochs.append(progress.epoch))
    (expected,) = train(dataset, learner, cases.jobs(dataset), replace(settings, checkpoints=None))
    assert epochs[0] > 1
    assert found.history == expected.history
    assert np.array_equal(found.test.scores, expected.test.scores)


def test_a_checkpoint_of_another_plan_is_refused(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = cases.dataset()
    monkeypatch.setattr(side_by_side, "EVERY", 0.0)
    monkeypatch.setattr(side_by_side, "TIMES", 0.0)
    settings = replace(WHOLE, checkpoints=str(tmp_path))
    names = []
    for seed in (0, 1):
        with pytest.raises(KeyboardInterrupt):
            train(dataset, LEARNER, cases.jobs(dataset, [seed]), settings, interrupt)
        names += [path for path in tmp_path.iterdir() if path not in names]
    names[1].write_bytes(names[0].read_bytes())
    (refused,) = train(dataset, LEARNER, cases.jobs(dataset, [1]), settings)
    assert refused.failure is not None
    assert "is of another plan or trial" in refused.failure
    assert "remove the file" in refused.failure


def interrupt(progress: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("content", [b"", b"\x00" * 20, b"not a checkpoint at all, but a text of some length"])
def test_a_damaged_checkpoint_is_named(tmp_path: Any, content: bytes) -> None:
    dataset = cases.dataset()
    settings = replace(WHOLE, checkpoints=str(tmp_path))
    (job,) = cases.jobs(dataset)
    trial = prepare_job(job, dataset, learner_of("image_network").with_defaults(VALUES))
    named = learner_of("image_network").described(trial.values)
    name = checkpoints.training_name([trial], settings, checkpoints.data_name(dataset), 1, named)
    checkpoints.path_of(str(tmp_path), name).write_bytes(content)
    (refused,) = train(dataset, LEARNER, [job], settings)
    assert refused.failure is not None
    assert "cannot be read" in refused.failure


def test_a_training_is_named_by_what_it_means() -> None:
    dataset = cases.dataset()
    values = learner_of("image_network").with_defaults(VALUES)
    data = checkpoints.data_name(dataset)

    def name(job: Job, settings: Settings = WHOLE, **more: Any) -> str:
        return checkpoints.training_name([prepare_job(job, dataset, {**values, **more})], settings, data, 1)

    first, second = cases.jobs(dataset, repeats=2)
    others = {
        name(second),
        name(replace(first, seed=9)),
        name(first, epochs=7),
        name(first, replace(WHOLE, precision="tf32")),
    }
    assert len(others | {name(first)}) == 5
    assert name(first) == name(first, replace(WHOLE, checkpoints="elsewhere"))


def test_memory_that_runs_out_halves_the_batch_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = cases.dataset()
    batch = Run._batch

    def small_memory(self: Run, phase: str, places: Any, repeat: int) -> Any:
        if len(places) > 4:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9.00 GiB.")
        return batch(self, phase, places, repeat)

    monkeypatch.setattr(Run, "_batch", small_memory)
    found = train(dataset, LEARNER, cases.jobs(dataset, [0, 1]), WHOLE, stack=2)
    for one in found:
        assert one.failure is None
        assert any("4 pieces of 4 rows" in note for note in one.notes)


def test_memory_that_never_suffices_is_said_with_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = cases.dataset()

    def no_memory(self: Run, phase: str, places: Any, repeat: int) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9.00 GiB.")

    monkeypatch.setattr(Run, "_batch", no_memory)
    (one,) = train(dataset, LEARNER, cases.jobs(dataset), WHOLE)
    assert one.failure is not None
    assert "even 2 rows at once (CUDA out of memory. Tried to allocate 9.00 GiB.)" in one.failure


def test_a_loss_that_is_no_number_stops_the_run_and_names_the_step() -> None:
    dataset = cases.dataset()
    (one,) = train(dataset, LEARNER, cases.jobs(dataset, learning_rate=1e30), Settings(selection="last"))
    assert one.failure is not None
    assert "no longer a finite number in epoch 1, step" in one.failure


def test_pictures_of_another_size_in_a_split_are_refused() -> None:
    dataset = cases.dataset()
    odd = replace(dataset, dev=replace(dataset.dev, inputs=dataset.dev.inputs[:, :6]))
    (one,) = train(odd, LEARNER, cases.jobs(odd), WHOLE)
    assert one.failure is not None
    assert "the dev rows have the shape (6, 8, 3)" in one.failure


def test_a_table_is_no_picture() -> None:
    dataset = cases.dataset()
    flat = replace(dataset, train=replace(dataset.train, inputs=np.zeros((96, 4), dtype=np.float32)))
    (one,) = train(flat, LEARNER, cases.jobs(flat), WHOLE)
    assert one.failure is not None
    assert "pictures: uint8" in one.failure


def test_selection_last_keeps_the_last_epoch_and_tells_all() -> None:
    dataset = cases.dataset()
    (one,) = train(dataset, LEARNER, cases.jobs(dataset), WHOLE)
    assert one.best_epoch == VALUES["epochs"]
    assert [epoch.number for epoch in one.history] == [1, 2, 3]


def test_deterministic_rounding_says_its_cost() -> None:
    dataset = cases.dataset()
    (one,) = train(dataset, LEARNER, cases.jobs(dataset), Settings(rounding="deterministic"))
    assert any(note.startswith("Deterministic algorithms took") and "(20 steps)" in note for note in one.notes)
    assert fitting.TIMED_STEPS == 20


def test_on_a_cpu_one_network_trains_at_a_time_and_eight_on_a_card() -> None:
    values = {"network": "resnet18"}
    assert fitting.side_by_side_of(values, Settings()) == 1
    assert fitting.side_by_side_of(values, Settings(device="cuda")) == 8


@needs_cuda
@pytest.mark.parametrize("precision", ["float32", "tf32", "bfloat16"])
def test_recorded_steps_are_the_steps_themselves(precision: Any) -> None:
    dataset = cases.dataset()
    (job,) = cases.jobs(dataset)
    settings = Settings(device="cuda", precision=precision, selection="last")
    ended = []
    for record in (False, True):
        torch.use_deterministic_algorithms(True)
        run = prepared_run(dataset, job, settings)
        steps = Steps(run, record=record)
        for epoch in (1, 2):
            steps.begin(epoch)
            for _ in range(run.steps):
                steps.take("all")
        steps.wait()
        torch.use_deterministic_algorithms(False)
        ended.append({name: value.cpu() for name, value in run.parts["network"].state_dict().items()})
    for name, value in ended[0].items():
        assert torch.equal(value, ended[1][name]), name


@needs_cuda
def test_a_card_and_a_cpu_take_the_same_training() -> None:
    dataset = cases.dataset()
    here, there = (
        scores(train(dataset, LEARNER, cases.jobs(dataset, [0, 1]), replace(WHOLE, device=device), stack=2))
        for device in ("cpu", "cuda")
    )
    for one, other in zip(here, there, strict=True):
        assert np.allclose(one, other, atol=1e-6)
