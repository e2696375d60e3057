"""Own networks on a graphics card: recorded steps are the plain ones, and what cannot be recorded is taken plainly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from helpers import squares as cases
from helpers.cases.training import Learns

torch = pytest.importorskip("torch", reason="needs equipoise[train]")

from equipoise.training import (  # noqa: E402
    Settings,
    deterministic_algorithms,
    prepare_job,
    train,
)
from equipoise.training.images import (  # noqa: E402
    Pictures,
    Run,
    Steps,
)
from equipoise.training.learners.image_network import ImageNetwork  # noqa: E402

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

LAST = Settings(device="cuda", selection="last")
EXACT = Settings(device="cuda", selection="last", rounding="deterministic")


class Own(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A small network that does what a recorded step may not do, or draws."""

    def __init__(self, channels: int, does: str = "nothing") -> None:
        super().__init__()
        nn = torch.nn
        self.does = does
        self.parts = nn.Sequential(
            nn.Conv2d(channels, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.3 if does == "drop" else 0.0),
            nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        )  # fmt: skip

    def forward(self, pictures: Any) -> Any:
        features = self.parts(pictures)
        if self.does == "asks":
            features = features * (1.0 if features.sum().item() > -np.inf else 0.0)
        if self.does == "waits":
            torch.cuda.synchronize()
        if self.does == "draws outside":
            features = features * (1.0 + 0.1 * np.random.rand())
        return features


VALUES: dict[str, Any] = {
    "network": Own, "epochs": 3, "batch_size": 16, "augmentation": "resized_crop", "size": 12, "warm_up": 0.3,
    "backbone_learning_rate": 0.01, "schedule": "cosine",
}  # fmt: skip


def trained(does: str, how: Settings, seeds: tuple[int, ...] = (0, 1), stack: int | None = None) -> Any:
    dataset = cases.dataset()
    learner = Learns("image_network", {**VALUES, "settings": {"does": does}})
    ended = train(dataset, learner, cases.jobs(dataset, seeds), how, stack=stack)
    assert [one.failure for one in ended] == [None] * len(seeds)
    return ended


def equal(ended: Any, other: Any) -> bool:
    return all(np.array_equal(one.test.scores, two.test.scores) for one, two in zip(ended, other, strict=True))


def test_recorded_steps_are_plain_ones() -> None:
    dataset = cases.dataset()
    (job,) = cases.jobs(dataset)
    found = []
    with deterministic_algorithms():
        for record in (True, False):
            trial = prepare_job(job, dataset, ImageNetwork.with_defaults({**VALUES, "frozen_norm": True}))
            steps = Steps(Run(trial, dataset, Pictures(dataset.train.inputs, "cuda"), LAST), record=record)
            for epoch in (1, 2):
                steps.begin(epoch)
                for _ in range(steps.run.steps):
                    steps.take("all")
            steps.wait()
            found.append({name: value.clone() for name, value in steps.run.parts["network"].state_dict().items()})
    assert all(torch.equal(value, found[1][name]) for name, value in found[0].items())


@pytest.mark.parametrize(
    ("does", "why"),
    [("asks", "synchronizing"), ("waits", "captur"), ("draws outside", "Python's or numpy's generator")],
)
def test_what_cannot_be_recorded_is_taken_plainly_and_noted(does: str, why: str) -> None:
    ended = trained(does, EXACT)
    assert all(any("CUDA graph" in note and why in note for note in one.notes) for one in ended)
    if does != "draws outside":
        assert equal(ended, trained("nothing", EXACT, stack=1))
    assert not any("CUDA graph" in note for one in trained("nothing", LAST) for note in one.notes)


def test_own_networks_train_side_by_side_as_alone_and_dropout_repeats() -> None:
    assert equal(trained("nothing", EXACT, (0, 1, 2), 3), trained("nothing", EXACT, (0, 1, 2), 1))
    first = trained("drop", EXACT)
    assert equal(first, trained("drop", EXACT))
    assert not equal(first, trained("nothing", EXACT))
