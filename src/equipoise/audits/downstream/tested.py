"""The test rows of one learner and one attribute, and what of them is drawn and permuted whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.audits.downstream.settings import Value
from equipoise.audits.downstream.splits import Codes
from equipoise.audits.downstream.table_draws import Units


@dataclass(frozen=True, eq=False)
class Tested:
    """The test rows of one learner and one attribute. ``units`` are drawn and permuted whole; None: rows."""

    learner: str
    settings: Mapping[str, Value]
    training: str
    attribute: str | None
    truth: Codes
    guess: Codes
    classes: int
    groups: Codes
    names: tuple[str, ...]
    compared: tuple[int, ...]
    reference: str | None
    units: Codes | None
    unit_name: str
    variant: str
    draws: int
    least: int
    generator: np.random.Generator
    # How many tests the report makes.
    tests: int = 1

    def whole(self, rows: NDArray[np.bool_]) -> Units | None:
        """Return the units of some rows; None where rows stand for themselves."""
        if self.units is None:
            return None
        found, codes = np.unique(self.units[rows], return_inverse=True)
        return Units(codes.reshape(-1).astype(np.int64), self.groups[rows], len(found))

    @property
    def plural(self) -> str:
        """What is drawn, in the plural."""
        return "classes" if self.unit_name == "class" else f"{self.unit_name}s"
