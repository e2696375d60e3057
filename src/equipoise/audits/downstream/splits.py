"""Folds: every row is tested once, classes spread evenly, and the rows of one unit (a person) never parted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.errors import BadInput
from equipoise.foundation.text import plural

Codes = NDArray[np.int64]

# Units carry a value where so many of the rows have the value that most rows of their unit have.
AGREEING = 0.9
# A value has units of its own where so many of its rows are in them: of two values at least, or none is carried.
AT_HOME = 0.5


def dealt_folds(classes: Codes, units: Codes | None, folds: int, generator: np.random.Generator) -> Codes:
    """Return each row's fold. Units are sorted by class, then size, then chance, and dealt out one after the other.

    A class of no more units than folds so has each of them in a fold of its own. A unit with several classes counts
    as of the class that most of its rows have.
    """
    unit_of_row = np.arange(len(classes)) if units is None else np.unique(units, return_inverse=True)[1].reshape(-1)
    number = int(unit_of_row.max()) + 1 if len(unit_of_row) else 0
    if not 2 <= folds <= number:
        kind = "rows" if units is None else "clusters"
        raise BadInput(
            f"{plural(folds, 'fold was', 'folds were')} asked of {number:,} {kind}",
            available=f"from 2 to {max(number, 2):,}",
        )
    sizes = np.bincount(unit_of_row, minlength=number)
    order = np.lexsort((generator.random(number), -sizes, most_common(unit_of_row, classes, number)))
    fold_of_unit = np.empty(number, dtype=np.int64)
    fold_of_unit[order] = np.arange(number) % folds
    return fold_of_unit[unit_of_row]


def most_common(units: Codes, values: Codes, number: int) -> Codes:
    """Return for each unit the value that most of its rows have; of equals the lowest."""
    pairs, times = np.unique(np.stack([units, values], axis=1), axis=0, return_counts=True)
    order = np.lexsort((-pairs[:, 1], times))  # the last one written stays
    found = np.zeros(number, dtype=np.int64)
    found[pairs[order, 0]] = pairs[order, 1]
    return found


def constant_in(units: Codes, values: Codes) -> bool:
    """Tell whether all rows of a unit have the same value."""
    return len(np.unique(np.stack([units, values], axis=1), axis=0)) == len(np.unique(units))


def carried_by(units: Codes, values: Codes) -> bool:
    """Tell whether units carry the value: it is constant in them, but for a few rows that say otherwise.

    A rare value that is spread over all units is in few rows too, and yet no unit carries it.
    """
    agree = agreeing(units, values)
    sizes, own = np.bincount(values), np.bincount(values, weights=agree)
    at_home = (sizes > 0) & (own >= AT_HOME * sizes)
    return bool(agree.all() or (agree.mean() >= AGREEING and at_home.sum() > 1))


def agreeing(units: Codes, values: Codes) -> NDArray[np.bool_]:
    """Tell which rows have the value that most rows of their unit have."""
    _, of_row = np.unique(units, return_inverse=True)
    of_row = of_row.reshape(-1)
    return np.asarray(most_common(of_row, values, int(of_row.max(initial=-1)) + 1)[of_row] == values)
