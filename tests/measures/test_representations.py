"""What two representations must be, and what is said where they are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from equipoise.foundation import BadInput
from equipoise.measures import _comparison as comparison
from equipoise.measures import (
    aggregate_pnka,
    cka,
    neighbour_overlap,
    pnka,
)

GOOD = np.random.default_rng(0).normal(size=(30, 4))
COMPARED: dict[str, Any] = {
    "pnka": pnka,
    "aggregate_pnka": aggregate_pnka,
    "cka": cka,
    "neighbour_overlap": lambda before, after: neighbour_overlap(before, after, 3),
}


def with_values(*values: tuple[int, int, float]) -> Any:
    array = GOOD.copy()
    for row, column, value in values:
        array[row, column] = value
    return array


BAD: dict[str, tuple[Any, str]] = {
    "too few rows": (GOOD[:-1], r"before has 30 rows and after has 29"),
    "NaN": (with_values((7, 2, np.nan)), r"1 value of after is missing or infinite, the first in row 7, column 2"),
    "infinite": (
        with_values((9, 3, np.inf), (9, 1, -np.inf), (20, 0, np.nan)),
        r"3 values of after are missing or infinite, the first in row 9, column 1",
    ),
    "masked": (
        np.ma.masked_array(GOOD, mask=np.arange(120).reshape(30, 4) == 5),
        r"1 value of after is missing or infinite, the first in row 1, column 1",
    ),
    "constant": (np.full((30, 4), 0.1), r"after is constant: all its 30 rows are the same"),
    "one dimension": (GOOD[:, 0], r"after has 1 dimension \(shape \(30,\)\)"),
    "a number": (3.0, r"after has 0 dimensions"),
    "no width": (GOOD[:, :0], r"after has rows of width 0"),
    "no width in more dimensions": (np.zeros((30, 2, 0)), r"after has rows of width 0"),
    "objects": (GOOD.astype(object), r"after has the type object: any Python objects, in a file a pickle"),
    "text": (GOOD.astype(str), r"after has the type <U"),
    "complex": (GOOD + 0j, r"after has the type complex128"),
    "ragged": ([[1.0, 2.0], [3.0]], r"after could not be read as an array"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("name", COMPARED)
def test_what_cannot_be_compared_is_refused_with_its_place(name: str, case: str) -> None:
    after, complaint = BAD[case]
    with pytest.raises(BadInput, match=complaint):
        COMPARED[name](GOOD, after)


@pytest.mark.parametrize("name", COMPARED)
def test_one_row_or_none_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="before has 1 row"):
        COMPARED[name](GOOD[:1], GOOD[:1])
    with pytest.raises(BadInput, match="before has 0 rows"):
        COMPARED[name](GOOD[:0], GOOD[:0])


@pytest.mark.usefixtures("small_blocks")
def test_places_are_right_beyond_the_first_block() -> None:
    after = with_values((29, 3, np.nan), (23, 1, np.inf))
    with pytest.raises(BadInput, match="2 values of after are missing or infinite, the first in row 23, column 1"):
        pnka(GOOD, after)
    constant = np.ones((30, 4))
    constant[29, 3] = 2.0
    assert np.isfinite(pnka(GOOD, constant)).sum() == 30


def test_large_finite_numbers_are_not_called_infinite() -> None:
    large = (GOOD * 1e37).astype(np.float32)  # their sum is infinite in single precision
    assert np.isfinite(large).all()
    np.testing.assert_allclose(pnka(GOOD.astype(np.float32), large), 1.0, atol=1e-5)


def test_an_array_and_a_tensor_are_not_mixed() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(BadInput, match="before is a ndarray on cpu and after is a Tensor on cpu"):
        pnka(GOOD, torch.tensor(GOOD))
    with pytest.raises(BadInput, match="The reference rows before are a Tensor"):
        pnka(GOOD, GOOD, reference=(torch.tensor(GOOD), torch.tensor(GOOD)))
    with pytest.raises(BadInput, match="after has complex numbers"):
        pnka(torch.tensor(GOOD), torch.tensor(GOOD + 0j))


def test_blocks_cover_every_row_once() -> None:
    spans = list(comparison.blocks(1000, 10, 3000))
    assert spans == [(0, 300), (300, 600), (600, 900), (900, 1000)]
