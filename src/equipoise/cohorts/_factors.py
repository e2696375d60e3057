"""Factors of variation: what pictures drawn or taken by plan differ in, and the one way each is cut in two."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput

FactorCodes = NDArray[np.int64]
LOWER_HALF, UPPER_HALF = "lower", "upper"


@dataclass(frozen=True)
class Factor:
    """A factor with its values in order; a picture has the code (place) of one of them.

    ``circular`` values are angles in radians: the last is a neighbour of the first.
    """

    name: str
    values: tuple[Any, ...]
    circular: bool = False

    def upper(self, codes: FactorCodes) -> NDArray[np.bool_]:
        """Return which codes are in the upper half: the first ``size // 2`` values are the lower one.

        This is the only binarisation of a factor there is, for classifiers, for skewed samples and for ground truth
        alike. Of three shapes it parts the first from the other two.
        """
        values: NDArray[np.bool_] = np.asarray(codes) >= len(self.values) // 2
        return values

    def each(self, codes: FactorCodes) -> NDArray[Any]:
        """Return the value of each code: numbers as float64, words as objects."""
        worded = isinstance(self.values[0], str)
        values: NDArray[Any] = np.array(self.values, dtype=object if worded else np.float64)[codes]
        return values

    @property
    def half(self) -> str:
        """The name of the column that says which half a picture is in."""
        return f"{self.name}_half"


def number_of_cells(factors: Sequence[Factor]) -> int:
    """Return how many combinations of values there are."""
    return math.prod(len(factor.values) for factor in factors)


def codes_of_cells(cells: NDArray[Any], factors: Sequence[Factor]) -> dict[str, FactorCodes]:
    """Return the codes of combinations by their numbers; the last factor changes fastest."""
    cell_codes = np.unravel_index(np.asarray(cells, dtype=np.int64), [len(factor.values) for factor in factors])
    return {factor.name: codes.astype(np.int64) for factor, codes in zip(factors, cell_codes, strict=True)}


def factor_columns(codes: Mapping[str, FactorCodes], factors: Sequence[Factor]) -> dict[str, NDArray[Any]]:
    """Return the columns of a cohort: the value of every factor, and which half it is in."""
    halves = np.array([LOWER_HALF, UPPER_HALF], dtype=object)
    values = {factor.name: factor.each(codes[factor.name]) for factor in factors}
    return values | {factor.half: halves[factor.upper(codes[factor.name]).astype(np.int64)] for factor in factors}


def chosen_rows(rows: int | None, available_rows: int, generator: np.random.Generator, what: str) -> FactorCodes:
    """Draw so many of the rows that there are, each at most once and in their order; None takes all."""
    if rows is None:
        return np.arange(available_rows, dtype=np.int64)
    if isinstance(rows, bool) or not isinstance(rows, int) or not 0 < rows <= available_rows:
        raise BadInput(f"{rows!r} rows of {what} are asked for", available=f"1 to {available_rows:,}")
    return np.sort(generator.choice(available_rows, size=rows, replace=False)).astype(np.int64)
