"""Architectures: shapes and sizes."""

from __future__ import annotations

import pytest

from equipoise.networks.resnet import resnet18

torch = pytest.importorskip("torch")


def test_resnet18_for_small_pictures_has_the_known_number_of_weights() -> None:
    network = resnet18(10)
    assert sum(p.numel() for p in network.parameters()) == 11_173_962
    assert network(torch.zeros(2, 3, 32, 32)).shape == (2, 10)
    assert network[:-1](torch.zeros(2, 3, 32, 32)).shape == (2, 512)
