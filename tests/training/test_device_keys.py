"""Numbers of samples made by torch have the very bits of those made by numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="needs equipoise[train]")

from equipoise.training import (  # noqa: E402
    device_keys,
    prepare_job,
    sample_keys,
)
from equipoise.training._seeding import Orders  # noqa: E402
from helpers.cases.training import jobs_of, planted  # noqa: E402

whole = st.integers(0, 2**31)


@given(
    seed=whole, epoch=st.integers(1, 500), purpose=st.sampled_from(["order", "augmentation"]),
    ids=st.lists(st.integers(0, 2**62), min_size=1, max_size=20),
)  # fmt: skip
def test_the_same_bits_as_numpy(seed: int, epoch: int, purpose: str, ids: list[int]) -> None:
    samples = np.array(ids, dtype=np.int64)
    copies = np.arange(len(ids), dtype=np.int64)
    expected = sample_keys(seed, epoch, samples, copies, purpose)
    found = device_keys(seed, epoch, torch.from_numpy(samples), torch.from_numpy(copies), purpose)
    assert found.dtype == torch.int64
    assert np.array_equal(found.numpy(), expected)


def test_several_seeds_at_once_are_each_by_itself() -> None:
    ids, copies = torch.arange(60).view(3, 20), torch.zeros(3, 20, dtype=torch.int64)
    together = device_keys([5, 0, 2**40], 7, ids, copies, "order")
    for index, seed in enumerate([5, 0, 2**40]):
        assert torch.equal(together[index], device_keys(seed, 7, ids[index], copies[index], "order"))


def test_orders_made_there_are_those_made_here() -> None:
    dataset = planted()
    trials = [prepare_job(job, dataset, {}) for job in jobs_of(dataset, [3, 1, 3])]
    orders = Orders(trials, dataset.train.ids, "cpu")
    for running in ([0, 1, 2], [2]):
        assert torch.equal(orders._device_positions(4, running), orders.positions(4, running))
