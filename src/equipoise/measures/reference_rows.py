"""The rows among which a row is placed: all of them, some of them, or others."""

from __future__ import annotations

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.errors import BadInput
from equipoise.foundation.text import plural
from equipoise.measures.representations import LEAST_ROWS, Array, Pair, as_pair, like


def reference_rows(scored: Pair, reference: object) -> tuple[Pair, Array | float]:
    """Return the reference rows, and how often each scored row is one of them."""
    if reference is None:
        return scored, 1.0
    if _is_pair(reference):
        return _others(scored, reference), 0.0
    index = _index(reference, len(scored))
    times = np.bincount(index, minlength=len(scored))
    sample = scored.before.sample
    return scored.only(like(sample, index, "int64")), like(sample, times, "float64")


def _is_pair(reference: object) -> bool:
    if not isinstance(reference, (tuple, list)) or len(reference) != 2:
        return False
    return all(getattr(part, "ndim", 0) >= 2 for part in reference)


def _others(scored: Pair, reference: object) -> Pair:
    assert isinstance(reference, (tuple, list))
    pair = as_pair(*reference)
    for rows, others, what in zip(scored.sides, pair.sides, ("before", "after"), strict=True):
        if type(rows.array) is not type(others.array) or rows.sample.device != others.sample.device:
            raise BadInput(
                f"The reference rows {what} are a {type(others.array).__name__}, those scored are not",
                available="the same kind of array, on the same device",
            )
        if rows.width != others.width:
            raise BadInput(
                f"The reference rows {what} are {others.width:,} wide and those scored {rows.width:,}",
                available="rows of the same representation",
                help="give reference=(before, after), each made by the same model as the rows scored.",
            )
    return pair


def _index(reference: object, rows: int) -> NDArray[np.int64]:
    """Return row numbers from numbers or from a mask."""
    held = array_api_compat.is_array_api_obj(reference)
    given = np.asarray(array_api_compat.to_device(reference, "cpu") if held else reference)
    if given.ndim != 1 or given.dtype.kind not in "iub":
        raise BadInput(
            f"The reference is an array of {given.dtype} with {plural(given.ndim, 'dimension')}",
            available="row numbers, a mask of the rows, or a pair of arrays (before, after) of other rows",
        )
    if given.dtype.kind == "b":
        if len(given) != rows:
            raise BadInput(f"The mask of the reference has {plural(len(given), 'value')} for {plural(rows, 'row')}")
        given = np.flatnonzero(given)
    index = given.astype(np.int64)
    if len(index) and (index.min() < 0 or index.max() >= rows):
        wrong = index[(index < 0) | (index >= rows)]
        raise BadInput(f"The reference names row {wrong[0]:,}", available=f"rows from 0 to {rows - 1:,}")
    if len(np.unique(index)) < LEAST_ROWS:
        raise BadInput(f"The reference has {plural(len(np.unique(index)), 'row')}", available="at least 2 rows")
    return index
