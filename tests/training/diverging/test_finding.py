"""Where two runs first differ: planted differences are named, and runs without one are the same."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from equipoise.foundation import BadInput
from equipoise.training.diverging import (
    ALL_LAYERS,
    Divergence,
    Flips,
    Growth,
    ModuleStepper,
    ObservedTensor,
    first_difference,
)
from equipoise.training.diverging._first_difference import _is_looked_at

torch = pytest.importorskip("torch")


class Noisy(torch.nn.Module):
    """Adds a little to what passes through it, at one step of one run."""

    def __init__(self, size: float, at: int | None) -> None:
        super().__init__()
        self.size, self.at, self.calls = size, at, 0

    def forward(self, x: Any) -> Any:
        self.calls += 1
        return x + self.size if self.calls == self.at else x


def loop(place: int, *, noise: float = 0.0, at: int | None = None, **spoilt: Any) -> ModuleStepper:
    """A plain loop of a network with a noisy layer in its middle; ``spoilt`` says what else the second run does."""
    torch.manual_seed(0)
    second = place == 1
    network = torch.nn.Sequential()
    network.add_module("first", torch.nn.Linear(4, 8))
    network.add_module("noisy", Noisy(noise, at if second else None))
    network.add_module("drop", torch.nn.Dropout(0.3))
    network.add_module("norm", torch.nn.BatchNorm1d(8))
    head = torch.nn.Linear(8, 2)
    if spoilt.get("start") and second:
        head.bias.data += 1e-3
    inputs, target = torch.randn(64, 4), torch.randint(0, 2, (64,))
    optimiser = torch.optim.SGD([*network.parameters(), *head.parameters()], lr=0.1, momentum=0.9)
    taken = 0

    def step() -> Any:
        nonlocal taken
        taken += 1
        rows = torch.randperm(64)[:16]
        if spoilt.get("data") == taken and second:
            rows = rows.flip(0)
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(head(network(inputs[rows])), target[rows])
        if spoilt.get("loss") == taken and second:
            loss = loss * (1 + 1e-6)
        loss.backward()
        if spoilt.get("gradient") == taken and second:
            network[0].weight.grad[1, 2] *= 1 + 1e-6
        optimiser.step()
        if spoilt.get("parameter") == taken and second:
            head.weight.data[0, 0] *= 1 + 1e-6
        return loss

    def predictions() -> Any:
        network.eval()
        with torch.no_grad():
            found = head(network(inputs)).argmax(1)
        network.train()
        return found

    return ModuleStepper({"network": network, "head": head}, step, predictions)


def test_two_runs_of_one_seed_are_the_same_though_both_draw_from_the_global_generators() -> None:
    before = torch.get_rng_state(), np.random.get_state()[1][0]
    found = first_difference(loop, 12)
    assert (found.step, found.kind, found.name, found.growth, found.flips) == (None, "none", None, (), ())
    assert found.words == ("The two runs were the same to the last bit for 12 steps.",)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.random.get_state()[1][0] == before[1]


def test_noise_in_a_layer_is_found_in_its_step_and_its_layer_and_grows() -> None:
    found = first_difference(lambda place: loop(place, noise=1e-7, at=5), 40)
    assert (found.step, found.kind, found.name) == (5, "activation", "noisy")
    assert 0 < found.largest < 1e-6
    assert 0 < found.relative < 1e-6
    assert found.units >= 1
    whole = [one for one in found.growth if one.layer == ALL_LAYERS]
    assert whole[0].step == 5
    assert whole[-1].step == 40
    assert whole[-1].relative > whole[0].relative > 0
    assert {one.layer for one in found.growth} == {ALL_LAYERS, "first", "norm", "head"}
    assert found.words[0] == "The two runs were the same to the last bit for 4 steps."
    assert found.words[1].startswith("In step 5 the output of layer noisy differed first, by ")
    assert "in the last place" in found.words[1]
    assert found.words[2].startswith("After step 40 everything learned differs by ")
    assert found.flips[-1].rows == 64


@pytest.mark.parametrize(
    ("spoilt", "expected"),
    [
        ({"data": 3}, (3, "input", "network input")),
        ({"loss": 3}, (3, "loss", "loss")),
        ({"gradient": 3}, (3, "gradient", "first.weight")),
        ({"parameter": 3}, (3, "parameter", "head.weight")),
        ({"start": True}, (0, "parameter", "head.bias")),
    ],
)
def test_the_first_tensor_that_differs_is_named_by_what_it_is(spoilt: Any, expected: Any) -> None:
    found = first_difference(lambda place: loop(place, **spoilt), 6)
    assert (found.step, found.kind, found.name) == expected


def test_a_permuted_batch_differs_in_rounding_and_not_in_its_inputs_where_orders_may_differ() -> None:
    def plain(place: int) -> ModuleStepper:
        torch.manual_seed(0)
        network = torch.nn.Linear(300, 3)
        inputs, target = torch.randn(512, 300), torch.randint(0, 3, (512,))

        def step() -> Any:
            rows = torch.arange(512).flip(0) if place else torch.arange(512)
            network.zero_grad()
            loss = torch.nn.functional.cross_entropy(network(inputs[rows]), target[rows])
            loss.backward()
            return loss

        return ModuleStepper({"network": network}, step)

    assert first_difference(plain, 2).kind == "input"
    found = first_difference(plain, 2, row_order_differs=True)
    assert found.kind in ("loss", "gradient")
    assert found.largest < 1e-6
    assert found.flips == ()


def test_growth_is_looked_at_less_and_less_often() -> None:
    looked = [since for since in range(1000) if _is_looked_at(since)]
    assert looked[:4] == [0, 1, 2, 3]
    assert len(looked) < 35
    assert max(later / earlier for earlier, later in pairwise(looked[4:])) < 1.5


def test_layers_that_are_called_twice_and_return_several_tensors_are_told_apart() -> None:
    class Twice(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            return {"a": self.inner(x), "b": [self.inner(2 * x)]}

    network = Twice()
    seen = ModuleStepper({"network": network}, lambda: network(torch.ones(1, 2))["a"].sum()).step(True)
    assert [(one.kind, one.name) for one in seen] == [
        ("input", "network input"), ("activation", "inner"), ("activation", "inner (call 2)"),
        ("activation", "network"), ("activation", "network"), ("loss", "loss"),
    ]  # fmt: skip
    assert not network._forward_hooks
    assert not network.inner._forward_hooks


def test_runs_that_compute_different_things_and_no_steps_are_refused() -> None:
    def odd(place: int) -> ModuleStepper:
        network = torch.nn.Linear(2, 2 + place)
        return ModuleStepper({f"network{place}": network}, lambda: network(torch.ones(1, 2)).sum())

    with pytest.raises(BadInput, match="did not compute the same things"):
        first_difference(odd, 2)
    with pytest.raises(BadInput, match="at least 1"):
        first_difference(loop, 0)


def test_a_stepper_of_ones_own_needs_three_methods() -> None:
    class Counter:
        def __init__(self, place: int) -> None:
            self.place, self.count = place, torch.zeros(3)

        def step(self, watched: bool) -> list[ObservedTensor]:
            self.count = self.count + 1
            if self.place and self.count[0] == 3:
                self.count = torch.zeros(2)
            return [ObservedTensor("loss", "loss", self.count.sum())] if watched else []

        def values(self) -> Any:
            return [("count", self.count)]

        def predictions(self) -> Any:
            return None

    found = first_difference(Counter, 4)
    assert (found.step, found.kind) == (3, "loss")


def test_words_for_every_way_to_differ() -> None:
    assert "did not start from the same state" in Divergence(5, 0, "parameter", "a", 0.5, 0.1, 7.0).words[0]
    assert Divergence(5, 1, "loss", "loss", 0.0, 0.0, 0.0).words == (
        "The two runs differed in their first step: the loss differed first, in the sign of a zero.",
    )
    assert "in its shape or in numbers that are not finite" in Divergence(5, 1, "loss", "loss").words[0]
    growth = (Growth(9, ALL_LAYERS, 0.042), Growth(9, "a", 3e-8), Growth(9, "b", 0.07))
    told = Divergence(9, 2, "gradient", "a.weight", 1e-9, 1e-8, 1.0, growth, (Flips(4, 100, 0.0), Flips(9, 100, 0.02)))
    assert told.words == (
        "The two runs were the same to the last bit for 1 step.",
        "In step 2 the gradient of a.weight differed first, by 1e-09 at most (1 unit in the last place).",
        "After step 9 everything learned differs by 4.2% between the runs, most in b (7%).",
        "Of 100 rows, 2% are predicted differently after step 9; the first was seen after step 9.",
    )
    growth = (Growth(9, ALL_LAYERS, 1 / 12_300_000),)
    tiny = Divergence(9, 2, "loss", "loss", 1e-9, 1e-8, 1.0, growth, (Flips(9, 3, 0.0),))
    assert tiny.words[-2:] == (
        "After step 9 everything learned differs by one part in 12,000,000 between the runs.",
        "None of 3 rows is predicted differently.",
    )
    same = Divergence(9, 2, "loss", "loss", 1e-9, 1e-8, 1.0, (Growth(9, ALL_LAYERS, 0.0),))
    assert same.words[-1] == "After step 9 everything learned is the same in both runs."


def test_it_becomes_plain_values() -> None:
    found = first_difference(lambda place: loop(place, noise=1e-7, at=1), 2).to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["kind"] == "activation"
    assert found["words"]
    nothing = Divergence(3).to_dict()
    assert nothing["largest"] is None
    assert not math.isnan(nothing["steps"])
