"""What tests of representations share."""

from __future__ import annotations

import pytest

from equipoise.measures import (
    _comparison as comparison,
)
from equipoise.measures import (
    _kernels as kernels,
)
from equipoise.measures import (
    _neighbours as neighbours,
)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work on a few rows at a time, so that a small input has many blocks and an incomplete last one."""
    monkeypatch.setattr(comparison, "BLOCK_NUMBERS", 1)
    monkeypatch.setattr(comparison, "BLOCK_ROWS", 7)
    monkeypatch.setattr(kernels, "MOMENT_NUMBERS", 1)
    monkeypatch.setattr(kernels, "PANEL", 2)
    monkeypatch.setattr(kernels, "TILE", 11)
    monkeypatch.setattr(neighbours, "DISTANCES_AT_ONCE", 1)
    monkeypatch.setattr(neighbours, "TILE", 1)
    monkeypatch.setattr(neighbours, "TILE_ROWS", 5)
