"""A card that is lost stops the study; a trial that fails by its own fault does not."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.cases.training import Learns, jobs_of, planted

torch = pytest.importorskip("torch", reason="needs equipoise[train]")

from equipoise.training import (  # noqa: E402
    LostDevice,
    Settings,
    train,
)
from equipoise.training.learners.mlp import MultilayerPerceptron  # noqa: E402

LEARNER = Learns("mlp", {"width": 5})


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A learner that always fails, on what looks like a card; the list says how many trials were tried together."""
    asked: list[int] = []

    def broken(self: Any, dataset: Any, stack: Any, *_: Any) -> Any:
        asked.append(len(stack))
        raise RuntimeError("CUDA error: an illegal memory access was encountered\nand much more")

    monkeypatch.setattr(MultilayerPerceptron, "train", broken)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    return asked


def test_nothing_more_is_tried_on_a_card_that_is_lost(tried: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    def lost() -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered\nand much more")

    monkeypatch.setattr(torch.cuda, "synchronize", lost)
    dataset = planted()
    with pytest.raises(LostDevice, match=r"(?s)illegal memory access was encountered\); .*help: run the study"):
        train(dataset, LEARNER, jobs_of(dataset, [0, 1, 2, 3]), Settings(device="cuda"), stack=4)
    assert tried == [4]


def test_a_card_that_still_works_and_a_processor_go_on_by_halves(
    tried: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    dataset = planted()
    for device in ("cuda", "cpu"):
        tried.clear()
        found = train(dataset, LEARNER, jobs_of(dataset, [0, 1, 2, 3]), Settings(device=device), stack=4)
        assert tried == [4, 2, 1, 1, 2, 1, 1]
        assert all("illegal memory access" in str(one.failure) for one in found)
