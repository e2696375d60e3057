"""Native, jitter and deterministic: what each changes, and what none of them may change."""

from __future__ import annotations

import os
import warnings
from typing import Any, get_args

import numpy as np
import pytest

from equipoise.training import (
    NETWORK,
    Rounding,
    Settings,
    ask_for_workspace,
    deterministic_algorithms,
    is_deterministic,
    is_jittered,
    train,
)
from equipoise.training._numerics import CUBLAS, deterministic_note, jittered
from equipoise.training.learners import mlp
from helpers.cases.training import Learns, Rival, jobs_of, planted, stack_of

torch = pytest.importorskip("torch")

SMALL = Learns("mlp", {"width": 16, "batch_size": 64, "epochs": 4})


def test_jitter_permutes_inside_each_batch_and_by_seed_and_repeat() -> None:
    places = np.random.default_rng(0).permutation(100)
    moved = jittered(places, 32, seed=1, repeat=0, epoch=1)
    for begin in range(0, 100, 32):
        assert sorted(moved[begin : begin + 32]) == sorted(places[begin : begin + 32])
    others = [jittered(places, 32, *key) for key in [(1, 0, 1), (1, 1, 1), (2, 0, 1), (1, 0, 2)]]
    assert others[0].tolist() == moved.tolist() != places.tolist()
    assert len({tuple(other) for other in others}) == 4


def first_gradient(precision: str, rounding: str, repeat: int, treatments: Any = ()) -> Any:
    dataset = planted(512)
    settings = Settings(rounding=rounding, precision=precision)  # type: ignore[arg-type]
    jobs = jobs_of(dataset, [0], treatments, repeat=repeat)
    stack = stack_of(dataset, jobs, settings, width=32, batch_size=256)
    taken: list[Any] = []
    stack.optimisers[NETWORK].step = lambda: taken.append(
        [parameter.grad.clone() for parameter in stack.network.parameters]
    )
    stack.follow(stack.arranged(1), 1)
    return taken[0]


@pytest.mark.parametrize("treatments", [(), (Rival(),)])
def test_jitter_leaves_the_gradient_unchanged_in_float64_and_rounds_otherwise_in_float32(treatments: Any) -> None:
    plain, jitter = (first_gradient("float64", rounding, 3, treatments) for rounding in ("native", "jitter"))
    for one, other in zip(plain, jitter, strict=True):
        assert (one - other).abs().max() <= 1e-12
        assert one.abs().max() > 1e-3
    plain, jitter = (first_gradient("float32", rounding, 3, treatments) for rounding in ("native", "jitter"))
    assert any(not torch.equal(one, other) for one, other in zip(plain, jitter, strict=True))
    for one, other in zip(plain, jitter, strict=True):
        assert (one - other).abs().max() <= 1e-5


def test_the_same_seed_gives_the_same_result_and_jitter_another_rounding() -> None:
    dataset = planted()
    jobs = [*jobs_of(dataset, [0, 1]), *jobs_of(dataset, [0, 1], repeat=1)]
    first, again = (train(dataset, SMALL, jobs) for _ in range(2))
    for one, other in zip(first, again, strict=True):
        assert np.array_equal(one.test.scores, other.test.scores)  # type: ignore[union-attr]
        assert one.history == other.history
    assert np.array_equal(first[0].test.scores, first[2].test.scores)  # type: ignore[union-attr]  # a repeat is the same run
    moved = train(dataset, SMALL, jobs, Settings(rounding="jitter"))
    gap = np.abs(moved[0].test.scores - moved[2].test.scores).max()  # type: ignore[union-attr]
    assert 0 < gap < 1e-2
    assert not np.array_equal(moved[0].test.scores, moved[1].test.scores)  # type: ignore[union-attr]


def test_deterministic_says_its_overhead_and_gives_the_same_result_twice() -> None:
    dataset = planted()
    jobs = jobs_of(dataset, [0, 1], [Rival()])
    fixed = Settings(rounding="deterministic")
    first, again = (train(dataset, SMALL, jobs, fixed) for _ in range(2))
    assert all(np.array_equal(a.test.scores, b.test.scores) for a, b in zip(first, again, strict=True))  # type: ignore[union-attr]
    assert "times as long as native" in first[0].notes[-1]
    assert "every operation has one" in first[0].notes[-1]
    assert not torch.are_deterministic_algorithms_enabled()


def test_deterministic_jitter_differs_by_its_permutations_and_comes_out_the_same_again() -> None:
    told = {name: (is_deterministic(name), is_jittered(name)) for name in get_args(Rounding)}
    assert told == {
        "native": (False, False), "jitter": (False, True), "deterministic": (True, False),
        "deterministic jitter": (True, True),
    }  # fmt: skip
    dataset = planted()
    jobs = [*jobs_of(dataset, [0]), *jobs_of(dataset, [0], repeat=1)]
    both = Settings(rounding="deterministic jitter")
    first, again = (train(dataset, SMALL, jobs, both) for _ in range(2))
    assert all(np.array_equal(a.test.scores, b.test.scores) for a, b in zip(first, again, strict=True))  # type: ignore[union-attr]
    assert 0 < np.abs(first[0].test.scores - first[1].test.scores).max() < 1e-2  # type: ignore[union-attr]
    assert "every operation has one" in first[0].notes[-1]
    # The permutations are those of jitter, so a CPU that repeats itself rounds as jitter alone does.
    alone = train(dataset, SMALL, jobs, Settings(rounding="jitter"))
    assert np.allclose(alone[1].test.scores, first[1].test.scores, atol=1e-2)  # type: ignore[union-attr]


def test_an_operation_without_a_deterministic_form_is_named_and_other_warnings_pass() -> None:
    threads = torch.get_num_threads()

    def warned() -> list[str]:
        with deterministic_algorithms() as without:
            assert torch.get_num_threads() == 1
            warnings.warn("cumsum_cuda does not have a deterministic implementation, but you set ...", stacklevel=1)
            warnings.warn("something else", stacklevel=1)
        return without

    with pytest.warns(UserWarning, match="something else"):
        without = warned()
    assert without == ["cumsum_cuda"]
    assert torch.get_num_threads() == threads
    assert deterministic_note(1.26, without).endswith("(4 steps); without a deterministic form: cumsum_cuda.")
    assert "0.0 times as long" not in deterministic_note(0.02, [])
    assert "could not be measured on this busy machine" in deterministic_note(0.02, [])


def test_cublas_is_asked_for_its_workspace_before_anything_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CUBLAS, raising=False)
    ask_for_workspace.cache_clear()
    seen: list[str | None] = []
    built = mlp.stacked_mlp

    def spy(*given: Any, **more: Any) -> Any:
        seen.append(os.environ.get(CUBLAS))
        return built(*given, **more)

    monkeypatch.setattr(mlp, "stacked_mlp", spy)
    dataset = planted()
    train(dataset, SMALL, jobs_of(dataset, [0]))
    (ended,) = train(dataset, SMALL, jobs_of(dataset, [0]), Settings(rounding="deterministic"))
    assert seen == [None, ":4096:8", ":4096:8"]  # native; rehearsed and trained
    assert ended.failure is None
    assert "CUDA had started" not in ended.notes[-1]


def test_a_cuda_that_started_too_early_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CUBLAS, raising=False)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    ask_for_workspace.cache_clear()
    try:
        assert [ask_for_workspace(), ask_for_workspace()] == [False, False]
    finally:
        ask_for_workspace.cache_clear()
    assert "CUDA had started before CUBLAS_WORKSPACE_CONFIG was set" in deterministic_note(1.0, [], in_time=False)
