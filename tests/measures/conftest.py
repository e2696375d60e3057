"""What tests of representations share."""

from __future__ import annotations

import pytest

from equipoise.measures import linear_kernel, neighbourhoods, neighbours, radial_kernel, representations


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work on a few rows at a time, so that a small input has many blocks and an incomplete last one."""
    monkeypatch.setattr(representations, "BLOCK_NUMBERS", 1)
    monkeypatch.setattr(representations, "BLOCK_ROWS", 7)
    monkeypatch.setattr(linear_kernel, "MOMENT_NUMBERS", 1)
    monkeypatch.setattr(linear_kernel, "PANEL", 2)
    monkeypatch.setattr(radial_kernel, "TILE", 11)
    monkeypatch.setattr(neighbours, "HELD", 1)
    monkeypatch.setattr(neighbours, "TILE", 1)
    monkeypatch.setattr(neighbours, "TILE_ROWS", 5)
    monkeypatch.setattr(neighbourhoods, "HELD", 1)
