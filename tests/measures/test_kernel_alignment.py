"""CKA against its definition by whole kernels, and its relation to PNKA."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from equipoise.foundation import BadInput
from equipoise.measures import (
    aggregate_pnka,
    cka,
)
from helpers.oracles import comparison as oracle

KINDS: list[dict[str, Any]] = [{"kernel": "linear"}, {"kernel": "rbf"}, {"kernel": "rbf", "bandwidth": 1.5}]


def pair(seed: int, rows: int = 40) -> tuple[Any, Any]:
    generator = np.random.default_rng(seed)
    before = generator.normal(1.0, 1.0, (rows, 4))
    return before, before @ generator.normal(size=(4, 7)) + generator.normal(size=(rows, 7))


@pytest.mark.parametrize("debiased", [False, True])
@pytest.mark.parametrize("options", KINDS, ids=str)
def test_cka_is_what_its_definition_says(options: dict[str, Any], debiased: bool) -> None:
    for seed in range(5):
        before, after = pair(seed)
        expected = oracle.cka(before, after, debiased=debiased, **options)
        assert cka(before, after, debiased=debiased, **options) == pytest.approx(expected, abs=1e-12)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("debiased", [False, True])
def test_many_blocks_give_what_one_block_gives(debiased: bool) -> None:
    before, after = pair(0, 53)
    for options in KINDS:
        expected = oracle.cka(before, after, debiased=debiased, **options)
        assert cka(before, after, debiased=debiased, **options) == pytest.approx(expected, abs=1e-12)


def test_unrelated_representations_are_apart_only_without_the_bias() -> None:
    generator = np.random.default_rng(0)
    pairs = [(generator.normal(size=(60, 50)), generator.normal(size=(60, 50))) for _ in range(40)]
    plain = np.array([cka(*given) for given in pairs])
    debiased = np.array([cka(*given, debiased=True) for given in pairs])
    assert plain.mean() > 0.4
    assert abs(debiased.mean()) < 4 * debiased.std() / np.sqrt(40)
    assert (debiased < 0).any()


@pytest.mark.parametrize("debiased", [False, True])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_representation_is_fully_aligned_with_itself_however_it_is_turned(kernel: Any, debiased: bool) -> None:
    before, after = pair(0)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    turned = 3.0 * before @ turn - 2.0
    assert cka(before, turned, kernel=kernel, debiased=debiased) == pytest.approx(1.0)
    assert cka(turned, after, kernel=kernel, debiased=debiased) == pytest.approx(
        cka(before, after, kernel=kernel, debiased=debiased)
    )
    assert cka(before, before * [5.0, 1.0, 1.0, 0.2], kernel=kernel) < 0.99


def test_the_mean_of_pnka_is_close_to_cka() -> None:
    before, after = pair(0, 300)
    assert aggregate_pnka(before, after) == pytest.approx(cka(before, after), abs=0.05)


def test_a_point_at_the_mean_does_not_spoil_the_sum() -> None:
    before = np.array([[1.0, 2.0], [-1.0, -2.0], [3.0, -1.0], [-3.0, 1.0], [0.0, 0.0]])
    after = np.array([[1.0], [2.0], [0.0], [5.0], [3.0]])
    assert cka(before, after) == pytest.approx(oracle.cka(before, after), abs=1e-12)


def test_a_debiased_cka_of_noise_that_has_no_size_is_undefined() -> None:
    # Corners of a simplex: no pair of them is more alike than another, so there is nothing to align with.
    assert np.isnan(cka(np.eye(6), pair(0, 6)[0], debiased=True))


def test_bad_questions_are_refused() -> None:
    with pytest.raises(BadInput, match="A debiased CKA of 3 rows"):
        cka(*pair(0, 3), debiased=True)
    with pytest.raises(BadInput, match="A linear kernel has no bandwidth"):
        cka(*pair(0), bandwidth=2.0)
    with pytest.raises(BadInput, match="did you mean 'rbf'"):
        cka(*pair(0), kernel="rfb")  # type: ignore[arg-type]


def test_tensors_and_single_precision_are_read() -> None:
    before, after = pair(0)
    single = before.astype(np.float32), after.astype(np.float32)
    assert cka(*single) == pytest.approx(cka(before, after), abs=1e-6)
    torch = pytest.importorskip("torch")
    tensors = torch.tensor(before), torch.tensor(after)
    for debiased in (False, True):
        for kernel in ("linear", "rbf"):
            found = cka(*tensors, kernel=kernel, debiased=debiased)
            assert found == pytest.approx(cka(before, after, kernel=kernel, debiased=debiased), abs=1e-12)
