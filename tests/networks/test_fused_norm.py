"""Normalisation with what follows it: as torch's own where kernels are not used, and the kernels against float64."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="needs equipoise[train]")

from equipoise.networks import _norms as fused_norm  # noqa: E402
from equipoise.networks import _norms as norms  # noqa: E402
from equipoise.networks import build  # noqa: E402
from equipoise.networks._norms import MOST_CHANNELS, PARTS, chain_kind, norm_kind, normed, plan_of  # noqa: E402
from helpers.cases import norm as norm_cases  # noqa: E402

on_a_card = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a graphics card")
# What is computed in float32, and half a unit in the last place of bfloat16 as a share of a number.
WHOLE, ROUNDED = 5e-5, 1.01 * 2**-8
SHORT = ("y", "x", "past")
# How often a network normalises in each way: (something came past, negatives are cut off).
CALLS = {
    "resnet18": {(False, True): 9, (True, True): 8, (False, False): 3},
    "resnet50": {(False, True): 33, (True, True): 16, (False, False): 4},
    "small": {(False, True): 4},
}


def norm_of(width: int, dtype: Any = torch.float32) -> Any:
    norm = norm_kind()(width)
    with torch.no_grad():
        norm.weight.copy_(torch.linspace(-1, 2, width))
        norm.bias.copy_(torch.linspace(1, -1, width))
    return norm.to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(("added", "relu"), norm_cases.WAYS)
def test_on_a_cpu_it_is_torchs_own_to_the_last_bit(dtype: Any, training: bool, added: bool, relu: bool) -> None:
    kept = torch.float64 if dtype == torch.float64 else torch.float32
    ours, theirs = norm_of(16, kept).train(training), norm_of(16, kept).train(training)
    x, past, *_ = norm_cases.batch((3, 16, 5, 5), dtype, "cpu")
    found = normed(ours, x, past if added else None, relu=relu)
    expected = theirs(x) + past if added else theirs(x)
    assert torch.equal(found, torch.relu(expected) if relu else expected)
    for name, value in theirs.state_dict().items():
        assert torch.equal(ours.state_dict()[name], value)


def test_a_chain_is_a_sequence_with_the_same_names() -> None:
    parts = {"conv": torch.nn.Conv2d(3, 8, 3), "norm": norm_of(8), "relu": torch.nn.ReLU()}
    chain, sequence = chain_kind()(), torch.nn.Sequential()
    for name, part in parts.items():
        chain.add_module(name, part)
        sequence.add_module(name, part)
    x = torch.randn(4, 3, 6, 6)
    assert isinstance(chain, torch.nn.Sequential)
    assert list(chain.state_dict()) == list(sequence.state_dict())
    assert torch.equal(chain(x), sequence(x))


def by_torch(
    x: Any, past: Any, weight: Any, bias: Any, mean: Any, variance: Any, counted: Any, momentum: float, epsilon: float,
    relu: bool,
) -> Any:  # fmt: skip
    """What the kernels are for, by torch's own operations."""
    counted += 1
    y = torch.nn.functional.batch_norm(x, mean, variance, weight, bias, True, momentum, epsilon)
    y = y if past is None else y + past
    return y.relu() if relu else y


@pytest.mark.parametrize("name", CALLS)
def test_a_network_gives_the_kernels_what_they_stand_for(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[bool, bool]] = []

    class Stand:
        @staticmethod
        def apply(*given: Any) -> Any:
            calls.append((given[1] is not None, given[-1]))
            return by_torch(*given)

    torch.manual_seed(0)
    network = build(name, 3)[0].train()
    torch.manual_seed(0)
    other = build(name, 3)[0].train()
    x = torch.randn(4, 3, 16, 16)
    expected = other(x)
    for module in (fused_norm, norms):
        monkeypatch.setattr(module, "fits", lambda norm, *_: norm.training)
    monkeypatch.setattr(fused_norm, "norm_function", lambda: Stand)
    assert torch.equal(network(x), expected)
    for key, value in other.state_dict().items():
        assert torch.equal(network.state_dict()[key], value)
    assert {way: calls.count(way) for way in set(calls)} == CALLS[name]


def test_hooks_on_a_normalisation_see_what_leaves_it() -> None:
    block = build("resnet18", 3)[0].stage1[0].train()  # type: ignore[union-attr, index]
    seen: list[Any] = []
    assert not fused_norm.hooked(block.norm1)
    block.norm1.register_forward_hook(lambda _, __, output: seen.append(output))
    assert fused_norm.hooked(block.norm1)
    block(torch.randn(2, 64, 4, 4))
    assert float(seen[0].detach().min()) < 0


@given(rows=st.integers(2, 10**6), channels=st.integers(1, MOST_CHANNELS // 8).map(lambda one: 8 * one))
def test_every_row_lies_in_one_part_and_every_channel_in_one_block(rows: int, channels: int) -> None:
    plan = plan_of(rows, channels)
    assert (plan.parts - 1) * plan.rows_each < rows <= plan.parts * plan.rows_each
    assert (plan.blocks - 1) * plan.block_channels < channels <= plan.blocks * plan.block_channels
    assert 1 <= plan.parts <= PARTS
    assert plan.rows_each % plan.summed_rows == 0
    for size in (plan.summed_rows, plan.written_rows, plan.block_channels):
        assert size & (size - 1) == 0


def check(cases: list[dict[str, Any]], rounded: float) -> None:
    assert len(cases) == len(norm_cases.SHAPES) * 3 * len(norm_cases.WAYS)
    for case in cases:
        for name, error in case["errors"].items():
            limit = rounded if "bfloat16" in case["dtype"] and name in SHORT else WHOLE
            assert error <= (0 if name == "counted" else limit), (name, case)


def test_the_kernels_agree_with_float64_by_tritons_interpreter() -> None:
    pytest.importorskip("triton", reason="needs triton, which comes with torch's builds for graphics cards")
    if tuple(map(int, version("triton").split(".")[:2])) < (3, 9):
        pytest.skip("the interpreter of older tritons needs an older numpy")
    done = subprocess.run(
        [sys.executable, norm_cases.__file__ or ""], capture_output=True, text=True, check=False,
        env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(Path(fused_norm.__file__).parents[2])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    # The interpreter cuts numbers to bfloat16 where a card rounds them: twice the error.
    check(json.loads(done.stdout), 2 * ROUNDED)


@on_a_card
def test_the_kernels_agree_with_float64_on_a_card() -> None:
    assert fused_norm.usable()
    check(norm_cases.all_errors("cuda"), ROUNDED)


@on_a_card
def test_the_kernels_say_the_same_to_the_last_bit_every_time() -> None:
    given = norm_cases.batch((128, 64, 16, 16), torch.bfloat16, "cuda")
    for added, relu in norm_cases.WAYS:
        first, *others = (norm_cases.fused(*given, added, relu) for _ in range(4))
        assert all(torch.equal(first[name], other[name]) for other in others for name in first)


@on_a_card
def test_a_recorded_step_moves_statistics_as_one_that_is_taken() -> None:
    norm, other = norm_of(64).cuda(), norm_of(64).cuda()
    x, past, *_ = norm_cases.batch((16, 64, 8, 8), torch.bfloat16, "cuda")
    assert fused_norm.fits(norm, x, past)
    normed(other, x, past)
    kept = {name: value.clone() for name, value in norm.state_dict().items()}
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        normed(norm, x, past)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        y = normed(norm, x, past)
    norm.load_state_dict(kept)
    for _ in range(3):
        graph.replay()
    for _ in range(2):
        expected = normed(other, x, past)
    torch.cuda.synchronize()
    assert torch.equal(y, expected)
    assert int(norm.num_batches_tracked) == 3
    for name, value in other.state_dict().items():
        assert torch.equal(norm.state_dict()[name], value)


@on_a_card
def test_what_is_no_number_stays_none_and_zero_has_no_gradient() -> None:
    x = torch.zeros((4, 8, 2, 2), dtype=torch.bfloat16, device="cuda").contiguous(memory_format=torch.channels_last)
    x.requires_grad_()
    norm = norm_kind()(8).cuda()
    y = normed(norm, x)
    y.sum().backward()
    assert torch.equal(y, torch.zeros_like(y))
    assert torch.equal(norm.bias.grad, torch.zeros_like(norm.bias))
    assert normed(norm, x * torch.nan).isnan().all()


@on_a_card
def test_with_statistics_that_stand_still_the_kernels_say_what_torch_says() -> None:
    norm = norm_of(72).cuda()
    x, past, *_ = norm_cases.batch((5, 72, 7, 3), torch.bfloat16, "cuda")
    for _ in range(3):
        norm(x)
    norm.eval()
    kept = {name: value.clone() for name, value in norm.state_dict().items()}
    with torch.inference_mode():
        assert fused_norm.fits(norm, x, past)
        for added, relu in norm_cases.WAYS:
            exact = norm.double()(x.double()) + (past.double() if added else 0)
            exact = exact.relu() if relu else exact
            y = normed(norm.float(), x, past if added else None, relu=relu)
            assert float((y.double() - exact).abs().max() / exact.abs().max()) <= ROUNDED
    assert all(torch.equal(kept[name], value) for name, value in norm.state_dict().items())


@on_a_card
def test_the_kernels_take_bfloat16_with_channels_last_and_nothing_else() -> None:
    norm = norm_of(16).cuda()
    x, past, *_ = norm_cases.batch((4, 16, 3, 3), torch.bfloat16, "cuda")
    assert fused_norm.fits(norm, x, past)
    assert not fused_norm.fits(norm, x.float())
    assert not fused_norm.fits(norm, x.contiguous())
    assert not fused_norm.fits(norm, x, past.contiguous())
    assert not fused_norm.fits(norm, x[:1, :, :1, :1].contiguous(memory_format=torch.channels_last))
    assert not fused_norm.fits(norm_kind(True)(16).cuda(), x)
    # Gradients through statistics that stand still are left to torch.
    assert not fused_norm.fits(norm.eval(), x)
    with torch.no_grad():
        assert fused_norm.fits(norm, x)
