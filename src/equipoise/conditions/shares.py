"""Counts of classes by groups, checked, and as the probabilities P(y, z)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.foundation.errors import BadInput, listing
from equipoise.tallies.labels import label_of

Floats = NDArray[np.float64]

# How far from what it should be a sum of shares may lie: rounding, and nothing more.
ROUNDING = 1e-9


def shares_of(counts: ArrayLike, *, empty: bool = False) -> Floats:
    """Return P(y, z) of counts ``[class, group]``; a class or group without rows is refused unless ``empty``."""
    try:
        table = np.asarray(counts, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(
            f"The counts are not numbers ({error})", available="a table, one row per class, one column per group"
        ) from error
    if table.ndim != 2 or 0 in table.shape:
        raise BadInput(f"The counts have the shape {table.shape}", available="one row per class, one column per group")
    _refuse(~np.isfinite(table), table, "missing or infinite")
    _refuse(table < 0, table, "negative")
    for axis, what in () if empty else ((1, "class"), (0, "group")):
        without = np.flatnonzero(table.sum(axis=axis) == 0)
        if without.size:
            raise BadInput(
                f"There are no rows of {what} {listing(without.tolist())} (counted from 0)",
                available=f"at least one row of each {what}: shares inside an empty {what} are not defined",
                help=f"leave the empty {what} out of the table.",
            )
    if not table.any():
        raise BadInput("There are no rows in any class and group", available="at least one row")
    shares: Floats = table / table.sum()
    return shares


def _refuse(bad: NDArray[np.bool_], table: Floats, what: str) -> None:
    if bad.any():
        row, column = (int(place) for place in np.argwhere(bad)[0])
        raise BadInput(
            f"The count of class {row}, group {column} is {table[row, column]:g}, which is {what}",
            available="finite numbers of 0 and above",
        )


def names_of(names: Sequence[object] | None, length: int, what: str) -> tuple[str, ...]:
    """Return the names of classes or groups; without names they are called 0, 1, 2 and so on."""
    if names is None:
        return tuple(str(place) for place in range(length))
    labels = tuple(str(label_of(name)) for name in names)
    if len(labels) != length or len(set(labels)) != length:
        raise BadInput(
            f"There are {length:,} {what} in the counts and the names {listing(labels)}",
            available="one name each, no name twice",
        )
    return labels


def checked_share(value: object, what: str) -> float:
    """Return a share as a float, or refuse what is not between 0 and 1."""
    try:
        share = float(value)  # type: ignore[arg-type]  # what cannot be a float is refused here
    except (TypeError, ValueError):
        share = float("nan")
    if isinstance(value, bool) or not 0.0 <= share <= 1.0:
        raise BadInput(f"{what} is {value!r}", available="a number from 0 to 1")
    return share
