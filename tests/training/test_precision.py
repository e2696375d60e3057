"""Precision: what parameters are kept in, and that a card's settings are as they were afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from helpers.cases.training import Learns, jobs_of, planted

torch = pytest.importorskip("torch", reason="needs equipoise[train]")

from equipoise.training import (  # noqa: E402
    Settings,
    dtype_of,
    product_precision,
    train,
)
from equipoise.training._numerics import casting_of, layout_of  # noqa: E402


@pytest.mark.parametrize(
    ("precision", "kept"),
    [("float32", torch.float32), ("tf32", torch.float32), ("bfloat16", torch.float32), ("float64", torch.float64)],
)
def test_parameters_are_kept_whole(precision: Any, kept: Any) -> None:
    assert dtype_of(Settings(precision=precision)) is kept


@pytest.mark.parametrize(("precision", "wanted"), [("tf32", "tf32"), ("float32", "ieee"), ("float64", "ieee")])
def test_only_tf32_shortens_products_and_the_settings_come_back(precision: Any, wanted: str) -> None:
    backends = (torch.backends.cudnn.conv, torch.backends.cuda.matmul)
    before = [backend.fp32_precision for backend in backends]
    with product_precision(Settings(precision=precision)):
        assert [backend.fp32_precision for backend in backends] == [wanted, wanted]
    assert [backend.fp32_precision for backend in backends] == before


def test_bfloat16_casts_products_and_nothing_else_is_cast() -> None:
    layer, row = torch.nn.Linear(4, 2), torch.ones(1, 4)
    for precision, expected in (("bfloat16", torch.bfloat16), ("tf32", torch.float32)):
        with casting_of(Settings(precision=precision))():  # type: ignore[arg-type]
            assert layer(row).dtype is expected


def test_on_a_cpu_tf32_is_float32() -> None:
    dataset = planted()
    learner = Learns("mlp", {"width": 5, "batch_size": 32, "epochs": 2})
    plain, short = (
        train(dataset, learner, jobs_of(dataset, [0]), Settings(precision=precision))[0]  # type: ignore[arg-type]
        for precision in ("float32", "tf32")
    )
    assert plain.failure is None
    assert np.array_equal(plain.test.scores, short.test.scores)


@pytest.mark.parametrize(
    ("device", "precision", "last"),
    [("cpu", "float32", True), ("cuda", "tf32", True), ("cuda", "bfloat16", True), ("cuda", "float32", False)],
)
def test_channels_lie_last_where_that_is_faster(device: str, precision: Any, last: bool) -> None:
    found = layout_of(Settings(device=device, precision=precision))
    assert found is (torch.channels_last if last else torch.contiguous_format)
