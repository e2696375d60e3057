"""FairBatch: shares against a worked example and the authors' loop, and the batches that are dealt out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from equipoise.treatments import FairBatch
from equipoise.treatments.fairbatch import moved_shares
from helpers.cases.treatment import context, one_of

torch = pytest.importorskip("torch")


def test_a_worked_example() -> None:
    counts = np.array([[30, 10], [20, 20]])
    shares = counts / counts.sum(axis=1, keepdims=True)
    # Class 0: losses 1 and 3, its mean 1.5: group 1 is furthest (+1.5), so its share goes up by 0.1.
    # Class 1: losses 2 and 1, its mean 1.5: equally far, the last is taken, its loss is below: down by 0.1.
    sums = np.array([[30.0, 30.0], [40.0, 20.0]])
    found = moved_shares(shares, sums, counts, 0.1)
    assert found == pytest.approx(np.array([[0.65, 0.35], [0.6, 0.4]]), abs=1e-12)
    # Again with a step of 1: 0.35 + 1 and 0.65 - 1 = -0.35, which is raised to 0: 1.7 and 0.
    assert moved_shares(found, sums, counts, 1.0)[0] == pytest.approx([0.0, 1.0])
    # A group that was given nothing can come back: its loss is still measured on all rows.
    assert moved_shares(np.array([[0.0, 1.0], [0.5, 0.5]]), np.array([[60.0, 5.0], [40.0, 20.0]]), counts, 0.1)[
        0
    ] == pytest.approx([0.1, 0.9])


def test_three_groups_share_what_one_gains() -> None:
    counts = np.array([[10, 10, 10]])
    found = moved_shares(counts / 30, np.array([[10.0, 20.0, 60.0]]), counts, 0.1)
    assert found == pytest.approx(np.array([[1 / 3 - 0.05, 1 / 3 - 0.05, 1 / 3 + 0.1]]))


def by_the_authors(shares: Any, losses: Any, class_losses: Any, step: float) -> Any:
    """The released sampler, cell by cell."""
    classes, groups = shares.shape
    lb = {(y, g): shares[y, g] for y in range(classes) for g in range(groups)}
    for y in range(classes):
        largest, which = 0, None
        for g in range(groups):
            difference = abs(losses[y, g] - class_losses[y])
            if difference >= largest:
                largest, which = difference, g
        signed = step if losses[y, which] > class_losses[y] else -step
        lb[y, which] += (1 + 1 / (groups - 1)) * signed
        for g in range(groups):
            lb[y, g] -= (1 / (groups - 1)) * signed
        least = min(lb[y, g] for g in range(groups))
        if least < 0:
            for g in range(groups):
                lb[y, g] -= least
        total = sum(lb[y, g] for g in range(groups))
        for g in range(groups):
            lb[y, g] /= total
    return np.array([[lb[y, g] for g in range(groups)] for y in range(classes)])


TABLES = st.tuples(st.integers(1, 4), st.integers(2, 4)).flatmap(
    lambda shape: st.tuples(
        arrays(np.int64, shape, elements=st.integers(1, 30)),
        arrays(np.float64, shape, elements=st.integers(1, 1000).map(float), unique=True),
        st.sampled_from([0.001, 0.1, 1.0, 10.0]),
    )
)


@given(TABLES)
def test_shares_move_as_in_the_authors_code_where_no_cell_is_empty(table: Any) -> None:
    counts, losses, step = table
    sums = losses * counts
    class_losses = sums.sum(axis=1) / counts.sum(axis=1)
    apart = np.sort(np.abs(losses - class_losses[:, None]), axis=1)
    # Which of two that lie equally far is furthest is a matter of the last bits.
    if (np.abs(apart[:, -1] - apart[:, -2]) < 1e-9).any() or (apart[:, -1] < 1e-9).any():
        return
    shares = counts / counts.sum(axis=1, keepdims=True)
    assert moved_shares(shares, sums, counts, step) == pytest.approx(
        by_the_authors(shares, losses, class_losses, step), abs=1e-9
    )


def test_an_empty_cell_has_no_share_and_a_class_of_one_group_does_not_move() -> None:
    counts = np.array([[10, 0, 10], [0, 8, 0], [0, 0, 0]])
    sums = np.array([[10.0, 0.0, 30.0], [0.0, 8.0, 0.0], [0.0, 0.0, 0.0]])
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    found = moved_shares(shares, sums, counts, 0.1)
    assert found == pytest.approx(np.array([[0.4, 0.0, 0.6], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]))


def test_batches_have_the_shares_of_the_cells_and_use_rows_in_turn() -> None:
    stack = context((5, 6), rows=203, classes=3, groups=2, batch_size=32)
    part = FairBatch.during([FairBatch(step=0.05), FairBatch(step=0.3)], stack)
    losses = torch.rand(2, 203, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for epoch in (1, 2):
        before = part.shares.copy()
        dealt = part.batches(epoch, losses)
        assert dealt.shape == (2, 203 // 32, 32)
        for trial in range(2):
            cell, group = stack.cell[trial].numpy(), stack.group[trial].numpy()
            counts = np.array([[((cell == c) & (group == g)).sum() for g in range(2)] for c in range(3)])
            sums = np.array([[losses[trial][(cell == c) & (group == g)].sum() for g in range(2)] for c in range(3)])
            shares = moved_shares(before[trial], sums, counts, [0.05, 0.3][trial])
            assert part.shares[trial] == pytest.approx(shares)
            wanted = 32 * shares * counts.sum(axis=1, keepdims=True) / 203
            times = np.bincount(dealt[trial].reshape(-1).numpy(), minlength=203)
            for c in range(3):
                for g in range(2):
                    inside = (cell == c) & (group == g)
                    for rows in dealt[trial].numpy():
                        assert abs(inside[rows].sum() - wanted[c, g]) < 1
                    assert np.ptp(times[inside]) <= 1


def test_a_batch_larger_than_the_data_is_one_batch_of_all_rows() -> None:
    stack = context((1,), rows=20, batch_size=1024)
    part = FairBatch.during([FairBatch(step=0.0)], stack)
    dealt = part.batches(1, torch.ones(1, 20))
    assert sorted(dealt.reshape(-1).tolist()) == list(range(20))


def test_a_stack_is_its_trials_one_at_a_time_also_after_some_have_stopped() -> None:
    stack = context((5, 6, 7), rows=100, classes=2, groups=3, batch_size=16)
    trials = [FairBatch(step=step) for step in (0.01, 0.1, 1.0)]
    part = FairBatch.during(trials, stack)
    lone = [FairBatch.during([trial], one_of(stack, index)) for index, trial in enumerate(trials)]
    running = [0, 1, 2]
    for epoch in range(1, 5):
        losses = torch.rand(3, 100, generator=torch.Generator().manual_seed(epoch))
        if epoch == 3:
            part.select_trials(torch.tensor([2, 1]))
            running = [2, 1]
        dealt = part.batches(epoch, losses[running])
        for index, was in enumerate(running):
            assert torch.equal(dealt[index], lone[was].batches(epoch, losses[was : was + 1])[0])
    again = FairBatch.during([FairBatch(step=0.1)], context((6,), rows=100, classes=2, groups=3))
    first = again.batches(1, torch.ones(1, 100)).tolist()
    assert first != again.batches(2, torch.ones(1, 100)).tolist()
