"""The paper's nine combinations by name; every name is found, and what does not fit together is refused."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from equipoise.foundation import BadInput, registry
from equipoise.testing import check
from equipoise.training.metric import get_preset, make_loss, make_miner, make_sampler, uniforms_of_epoch

PRESETS = [entry.name for entry in registry.entries("metric_preset") if entry.module.startswith("equipoise.")]
KINDS = ("metric_loss", "miner", "sampler", "metric_preset")


def test_there_are_the_nine_of_the_papers_tables() -> None:
    combinations = {(preset.loss, preset.miner) for preset in map(get_preset, PRESETS)}
    assert combinations == {
        ("margin", "distance_weighted"), ("margin", "semi_hard"), ("triplet", "distance_weighted"),
        ("triplet", "semi_hard"), ("contrastive", "distance_weighted"), ("multi_similarity", None),
        ("proxy_nca", None), ("arcface", None), ("n_pair", "n_pair"),
    }  # fmt: skip
    assert len(PRESETS) == 9


@pytest.mark.parametrize("kind", KINDS)
def test_everything_registered_passes_the_shared_checks(kind: str) -> None:
    for entry in registry.entries(kind):
        check(kind, entry.name)


def test_nothing_of_it_imports_torch() -> None:
    code = f"""
import sys
from equipoise.foundation import registry
assert all(registry.entries(kind) for kind in {KINDS!r})
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_learns_to_part_classes(name: str) -> None:
    torch = pytest.importorskip("torch", reason="needs equipoise[train]")
    loss, miner, sampler = get_preset(name).make()
    generator = np.random.default_rng(0)
    classes, heads = 6, 2
    labels = np.arange(120) % classes
    inputs = torch.from_numpy((np.eye(classes)[labels] @ generator.standard_normal((classes, 10))
                               + 1.5 * generator.standard_normal((120, 10))).astype(np.float32))  # fmt: skip
    weights = torch.from_numpy(generator.standard_normal((heads, 10, 4)).astype(np.float32) / 3).requires_grad_()
    learnt = loss.start([1, 2], classes, 4)
    optimiser = torch.optim.Adam([{"params": [weights], "lr": 0.02}, *({"params": [one], "lr": 0.02} for one in
                                                                      learnt.values())])  # fmt: skip

    def embedded(rows: object) -> object:
        points = inputs[rows] @ weights
        return torch.nn.functional.normalize(points, dim=-1) if loss.unit_length else points

    def likeness() -> float:
        """Return how much nearer, in cosine, two rows of a class are than two of different classes."""
        points = torch.nn.functional.normalize(embedded(torch.arange(120).expand(heads, 120)).detach(), dim=-1)
        cosines = (points @ points.mT).numpy()
        same = labels[:, None] == labels
        return float((cosines[:, same].mean(1) - cosines[:, ~same].mean(1)).min())

    before = likeness()
    for epoch in range(1, 25):
        batches = torch.from_numpy(np.stack([sampler.batches(labels, 24, seed, epoch) for seed in (1, 2)], axis=1))
        numbers = uniforms_of_epoch([1, 2], epoch, len(batches), 24)
        for rows, uniforms in zip(batches, numbers, strict=True):
            told, points = torch.from_numpy(labels)[rows], embedded(rows)
            mined = None if miner is None else miner(points, told, uniforms)
            optimiser.zero_grad()
            loss(points, told, mined, learnt).sum().backward()
            optimiser.step()
    assert likeness() > before + 0.1


def test_what_does_not_fit_together_is_refused() -> None:
    with pytest.raises(BadInput, match="it needs no triplets"):
        make_miner("semi_hard", make_loss("arcface"))
    with pytest.raises(BadInput, match="was given no miner"):
        make_miner(None, make_loss("margin"))
    with pytest.raises(BadInput, match="finds pairs"):
        make_miner("n_pair", make_loss("triplet"))
    with pytest.raises(BadInput, match="did you mean 'semi_hard'"):
        make_miner("semihard", make_loss("triplet"))
    with pytest.raises(BadInput, match="equipoise list metric_losses"):
        make_loss("marginal_loss_of_mine")
    assert make_sampler("SPC", per_class=4).values == {"per_class": 4}
    assert make_miner("semi_hard", make_loss("margin"), slack=0.1).values == {"slack": 0.1}
    assert make_miner("random", make_loss("n_pair")).gives == "triplets"
