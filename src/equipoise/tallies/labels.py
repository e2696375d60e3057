"""One spelling for every value, so that 1, 1.0, "1" and a category "1" are the same class in any kind of frame."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import date
from decimal import Decimal

# A missing value has no label.
Label = str | None

MISSING = "(missing)"


def label_of(value: object) -> Label:
    """Return the label of a value, or None where the value is missing (null, NaN, NaT)."""
    if value is None:
        return None
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if isinstance(value, date):  # datetimes too
        return value.isoformat() if value == value else None
    item = getattr(value, "item", None)  # numpy scalars
    if callable(item):
        return label_of(item())
    if isinstance(value, (float, Decimal)):
        number = float(value)
        if math.isnan(number):
            return None
        return str(int(number)) if number.is_integer() else repr(number)
    # pandas says "missing" with objects of its own, which are not equal to themselves or refuse to say
    try:
        if value != value:
            return None
    except TypeError:
        return None
    text = str(value)
    return None if text in ("<NA>", "NaT") else text


def ordered(labels: Iterable[str]) -> list[str]:
    """Sort labels as a person would: numbers by size, then text, then nothing by chance."""
    return sorted(labels, key=_order)


# Groups cut from a number sort by where they begin: "under 25", "25 to under 45", "45 and over".
_CUT = re.compile(r"(?P<under>under )?(?P<edge>\S+?)(?: to under \S+| and over)?")


def _order(label: str) -> tuple[int, float, int, str]:
    cut = _CUT.fullmatch(label)
    try:
        number = float(cut["edge"]) if cut else math.nan
    except ValueError:
        number = math.nan
    if cut is None or not math.isfinite(number):
        return (1, 0.0, 0, label)
    return (0, number, -1 if cut["under"] else 0, label)


def shown(label: Label) -> str:
    """Write a label for a person; the missing one has a name of its own."""
    if label is None:
        return MISSING
    return f"{MISSING} as text" if label == MISSING else label
