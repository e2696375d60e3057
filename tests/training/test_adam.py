"""Stacked Adam against torch's own, one optimiser a trial."""

from __future__ import annotations

import pytest

from equipoise.training import StackedAdam

torch = pytest.importorskip("torch")

RATES, DECAYS = (1e-2, 1e-3, 1e-2, 1e-2, 0.1), (0.0, 0.0, 0.1, 0.0, 0.5)
SHAPES = ((3, 4), (1, 4))


@pytest.mark.parametrize("same", [False, True])
def test_every_trial_moves_as_with_an_optimiser_of_its_own(same: bool) -> None:
    torch.manual_seed(0)
    rates, decays = ((1e-2,) * 5, (0.01,) * 5) if same else (RATES, DECAYS)
    stacked = [torch.randn(5, *shape, dtype=torch.float64).requires_grad_() for shape in SHAPES]
    alone = [[one[trial].detach().clone().requires_grad_() for one in stacked] for trial in range(5)]
    ours = StackedAdam(stacked, 1e-2 if same else rates, 0.01 if same else decays)
    theirs = [
        torch.optim.Adam(own, lr=rate, weight_decay=decay)
        for own, rate, decay in zip(alone, rates, decays, strict=True)
    ]
    running = list(range(5))
    for step in range(30):
        for index, trial in enumerate(running):
            gradients = [torch.randn(shape, dtype=torch.float64) * (1 + trial) for shape in SHAPES]
            for one, gradient in zip(alone[trial], gradients, strict=True):
                one.grad = gradient
            for one, gradient in zip(stacked, gradients, strict=True):
                one.grad = torch.zeros_like(one) if one.grad is None else one.grad
                one.grad[index] = gradient
            theirs[trial].step()
        ours.step()
        assert all(one.grad is None for one in stacked)
        if step in (10, 20):  # trials stop
            kept = [0, 2, 4] if step == 10 else [1, 2]
            running = [running[place] for place in kept]
            stacked = [one.detach()[kept].requires_grad_() for one in stacked]
            ours.select_trials(torch.tensor(kept), stacked)
        for place, trial in enumerate(running):
            for one, own in zip(stacked, alone[trial], strict=True):
                assert torch.allclose(one[place], own, rtol=0, atol=1e-13)


def test_gradients_may_be_given_and_may_lie_otherwise_in_memory() -> None:
    torch.manual_seed(0)
    start = torch.randn(2, 3, 4, dtype=torch.float64)
    gradient = torch.randn(2, 4, 3, dtype=torch.float64)
    moved = []
    for given in (gradient.mT, gradient.mT.contiguous()):
        parameter = start.clone().requires_grad_()
        StackedAdam([parameter], 0.1).step([given])
        moved.append(parameter.detach())
    assert torch.equal(*moved)
    assert not torch.equal(moved[0], start)


def test_a_parameter_without_a_gradient_is_left_as_it_is_as_torch_leaves_it() -> None:
    torch.manual_seed(0)
    stacked = [torch.randn(2, *shape, dtype=torch.float64).requires_grad_() for shape in SHAPES]
    alone = [[one[trial].detach().clone().requires_grad_() for one in stacked] for trial in range(2)]
    theirs = [torch.optim.Adam(own, lr=rate, weight_decay=0.1) for own, rate in zip(alone, (0.1, 0.01), strict=True)]
    ours = StackedAdam(stacked, (0.1, 0.01), 0.1)
    for step in range(9):
        for one, *own in zip(stacked, *alone, strict=True):
            reached = one is stacked[0] or step % 3 == 2  # the second parameter takes part in every third step
            one.grad = torch.randn_like(one) if reached else None
            for trial, single in enumerate(own):
                single.grad = one.grad[trial].clone() if reached else None
        for each in (ours, *theirs):
            each.step()
        for trial, own in enumerate(alone):
            assert all(torch.allclose(a[trial], b, rtol=0, atol=1e-13) for a, b in zip(stacked, own, strict=True))
    before = [one.detach().clone() for one in stacked]
    ours.step()
    assert all(torch.equal(one, was) for one, was in zip(stacked, before, strict=True))
