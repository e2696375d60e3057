"""Stacked heads: each is what it is alone, and what a plain loop with torch's own parts makes of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from equipoise.foundation import BadInput  # noqa: E402
from equipoise.training import (  # noqa: E402
    Batch,
    Part,
    Settings,
    Stack,
    TrainingCallback,
    TrainingContext,
    Treatment,
)
from equipoise.training.learners.metric_learner import MetricLearning  # noqa: E402
from equipoise.training.metric import (  # noqa: E402
    head_stack,
    recipe_of,
    uniforms_of_epoch,
)
from equipoise.training.metric._objective import miner_of  # noqa: E402
from helpers.cases.space import CLASSES, FEATURES, clustered, trials_of  # noqa: E402

EXACT = Settings(precision="float64")
SMALL = {"embedding_size": 5, "batch_size": 16}
LOSSES = ("margin", "triplet", "contrastive", "n_pair", "multi_similarity", "arcface", "proxy_nca")


def stack_of(dataset: Any, seeds: Any, settings: Settings = EXACT, treatments: Any = (), **values: Any) -> Stack:
    trials = trials_of(dataset, MetricLearning, seeds, treatments, **{**SMALL, **values})
    return head_stack(trials, dataset, recipe_of(trials), settings)


def leaves_of(stack: Stack) -> list[Any]:
    """All that is trained: the heads, and what their loss and treatments add."""
    return [leaf for optimiser in stack.optimisers.values() for leaf in optimiser.parameters]


@pytest.mark.parametrize("loss", LOSSES)
def test_a_head_in_a_stack_is_the_head_alone(loss: str) -> None:
    dataset, _ = clustered()
    rates, decays = [1e-2, 3e-3, 1e-3], [0.0, 4e-4, 1e-2]
    together = stack_of(dataset, (3, 1, 2), loss=loss, learning_rate=rates, weight_decay=decays)
    losses = torch.cat([together.epoch(1), together.epoch(2)])
    assert len(losses) == 20
    for index, seed in enumerate((3, 1, 2)):
        alone = stack_of(dataset, (seed,), loss=loss, learning_rate=rates[index], weight_decay=decays[index])
        found = torch.cat([alone.epoch(1), alone.epoch(2)])
        torch.testing.assert_close(losses[:, index], found[:, 0], rtol=0, atol=1e-10)
        for many, one in zip(leaves_of(together), leaves_of(alone), strict=True):
            torch.testing.assert_close(many[index], one[0], rtol=0, atol=1e-10)


@pytest.mark.parametrize("loss", ["margin", "n_pair", "proxy_nca"])
def test_a_head_is_what_a_plain_loop_makes_of_it(loss: str) -> None:
    dataset, _ = clustered()
    stack = stack_of(dataset, (4,), loss=loss, learning_rate=1e-2)
    recipe, (weight, bias) = recipe_of(stack.trials), stack.network.parameters
    head = torch.nn.Linear(FEATURES, 5, dtype=torch.float64)
    with torch.no_grad():
        head.weight.copy_(weight[0].T)
        head.bias.copy_(bias[0, 0])
    own, miner = recipe.make_loss(), recipe.make_miner()
    learnt = own.start(4, CLASSES, 5, dtype="float64")
    optimisers = [torch.optim.Adam(head.parameters(), lr=1e-2, weight_decay=4e-4)]
    if learnt:
        optimisers.append(torch.optim.Adam(learnt.values(), lr=own.rate))
    expected = []
    for epoch in (1, 2):
        batches = recipe.make_sampler().batches(dataset.train.target, 16, 4, epoch)
        numbers = uniforms_of_epoch(4, epoch, len(batches), 16)
        for step, rows in enumerate(batches):
            embedding = head(torch.from_numpy(dataset.train.inputs[rows]).double())
            if own.unit_length:
                embedding = embedding / embedding.norm(dim=1, keepdim=True)
            labels = torch.from_numpy(dataset.train.target[rows])
            mined = None if miner is None else miner(embedding, labels, numbers[step])
            value = own(embedding, labels, mined, learnt)
            for optimiser in optimisers:
                optimiser.zero_grad()
            value.backward()
            for optimiser in optimisers:
                optimiser.step()
            expected.append(value.item())
    found = torch.cat([stack.epoch(1), stack.epoch(2)])[:, 0]
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-10)
    np.testing.assert_allclose(weight[0].T.detach(), head.weight.detach(), atol=1e-10)


class Pulled(TrainingCallback):
    """A second head for the group that learns at its own rate, and pulls on the embedding."""

    def __init__(self, context: TrainingContext, strengths: list[float]) -> None:
        self.context = context
        self.strengths = torch.tensor(strengths, dtype=torch.float64)
        self.centres = torch.zeros(
            (len(context.seeds), len(context.values[0]), context.width),
            dtype=torch.float64,
            requires_grad=True,
        )

    def parts(self) -> dict[str, Part]:
        return {"centres": Part([self.centres], 0.05)}

    def penalty(self, batch: Batch) -> Any:
        context, rows = self.context, batch.positions.shape[1]
        assert context.draws is not None
        groups = context.codes[0].gather(1, batch.positions)
        own = self.centres.gather(1, groups[..., None].expand(batch.output.shape))
        numbers = context.draws("one", batch.step, rows)
        assert not torch.equal(numbers, context.draws(None, batch.step, rows))
        assert torch.equal(numbers, context.draws("one", batch.step, rows))
        return self.strengths * (batch.output - own).square().sum(-1).mean(-1)


class Pulling(Treatment):
    strength = 1.0

    @classmethod
    def during(cls, trials: Any, context: TrainingContext) -> Pulled:
        return Pulled(context, [trial.strength for trial in trials])


def test_what_a_treatment_adds_is_trained_beside_the_heads_and_mixes_none() -> None:
    dataset, _ = clustered()
    together = stack_of(dataset, (0, 1), treatments=(Pulling(),))
    plain = stack_of(dataset, (0, 1))
    first = together.epoch(1)
    assert not torch.equal(first[1:], plain.epoch(1)[1:])
    (_, acting) = together.callbacks
    assert acting.centres.abs().min() > 0
    alone = stack_of(dataset, (1,), treatments=(Pulling(),))
    torch.testing.assert_close(alone.epoch(1)[:, 0], first[:, 1], rtol=0, atol=1e-10)


def test_other_numbers_of_a_name_are_the_same_whichever_heads_stand_beside() -> None:
    several = uniforms_of_epoch([5, 7], 2, 3, 4, name="sensitive")
    assert torch.equal(several[:, 1], uniforms_of_epoch(7, 2, 3, 4, name="sensitive"))
    assert not torch.equal(several, uniforms_of_epoch([5, 7], 2, 3, 4))


def test_jitter_permutes_batches_and_leaves_losses_that_mine_nothing_as_they_were() -> None:
    dataset, _ = clustered()
    plain = stack_of(dataset, (0,), loss="proxy_nca").epoch(1)
    moved = stack_of(dataset, (0,), Settings(precision="float64", rounding="jitter"), loss="proxy_nca").epoch(1)
    torch.testing.assert_close(plain, moved, rtol=0, atol=1e-10)


def test_the_usual_miner_is_that_of_the_first_preset() -> None:
    assert [miner_of(loss, "usual") for loss in ("margin", "triplet", "n_pair", "arcface")] == [
        "distance_weighted", "distance_weighted", "n_pair", None,
    ]  # fmt: skip
    assert miner_of("margin", "semi_hard") == "semi_hard"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"batch_size": 161}, "a batch size of 160 would fit"),
        ({"batch_size": 400}, "a batch size of 160 would fit"),
        ({"per_class": 8, "batch_size": 8}, "two classes"),
    ],
)
def test_a_batch_that_cannot_be_made_says_what_would_fit(values: dict[str, Any], words: str) -> None:
    dataset, _ = clustered()
    with pytest.raises(BadInput, match=words):
        stack_of(dataset, (0,), **values).epoch(1)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("loss", LOSSES)
def test_a_card_trains_the_same_heads(loss: str) -> None:
    dataset, _ = clustered()
    here = stack_of(dataset, (0, 1), loss=loss)
    there = stack_of(dataset, (0, 1), Settings(precision="float64", device="cuda"), loss=loss)
    for epoch in (1, 2):
        torch.testing.assert_close(here.epoch(epoch), there.epoch(epoch).cpu(), rtol=0, atol=1e-8)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_nothing_is_read_back_inside_an_epoch() -> None:
    dataset, _ = clustered()
    stack = stack_of(dataset, (0, 1), Settings(device="cuda"))
    stack.epoch(1)
    batches = stack.arranged(2)
    torch.cuda.set_sync_debug_mode("error")
    try:
        stack.follow(batches)
    finally:
        torch.cuda.set_sync_debug_mode("default")
