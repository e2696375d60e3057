"""One spelling for every value, so that 1, 1.0, "1" and a category "1" are the same class in any kind of frame.

Yes and no have many: true/false in one column and 1/0 in another are the same classes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from equipoise.tallies.cells import Cells

from equipoise.foundation.errors import BadInput, listing

# A missing value has no label.
Label = str | None

MISSING = "(missing)"


def is_missing(group: str) -> bool:
    """Tell whether a group, or a part of crossed groups, is of people without one.

    >>> is_missing("(missing)"), is_missing("A & (missing)"), is_missing("A & B")
    (True, True, False)
    """
    return MISSING in group.split(" & ")


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


# How different programs write yes and no for a class, and the numbers they stand for.
TRUTHS = {"True": "1", "False": "0", "true": "1", "false": "0", "TRUE": "1", "FALSE": "0"}
_PAIRS = (("0", "1"), ("False", "True"), ("false", "true"), ("FALSE", "TRUE"))


def truth_names(cells: Cells, axes: Sequence[str] = ("target", "prediction")) -> dict[Label, Label]:
    """Return the names to change where yes and no have several spellings: 1/0 and true/false, or TRUE and True.

    Columns may differ, and so may the files or batches that one column was put together from.
    """
    seen = {label for axis in axes if axis in cells.axes for label in cells.axis(axis) if label is not None}
    one_spelling = any(seen <= set(pair) for pair in _PAIRS)
    return {name: TRUTHS[name] for name in TRUTHS} if seen <= {*TRUTHS, "0", "1"} and not one_spelling else {}


def same_truths(cells: Cells, names: Mapping[Label, Label], axes: Sequence[str] = ("target", "prediction")) -> Cells:
    """Give both columns the same spelling."""
    for axis in axes:
        if names and axis in cells.axes:
            cells = cells.relabel(axis, names)
    return cells


def match_class(wanted: str, classes: Sequence[str]) -> str | None:
    """Return the class that is meant: as it is written, as the same number (1.0 for 1) or the same truth (1 for True).

    None where no class, or more than one, is meant.
    """
    if wanted in classes:
        return wanted
    try:
        number = label_of(float(wanted))
    except ValueError:
        number = None
    meant = {TRUTHS.get(wanted, wanted), number} - {None}
    found = [name for name in classes if name in meant or TRUTHS.get(name) in meant]
    return found[0] if len(found) == 1 else None


def check_same_classes(cells: Cells, target: str, prediction: str) -> None:
    """Refuse predictions none of which is a class of the target: every rate of right answers would be 0.

    0 and 1 (or false and true) belong together even where a small file has only 0 in one column and only 1 in the
    other. ``target`` and ``prediction`` say in words which columns these are.
    """
    if "target" not in cells.axes or "prediction" not in cells.axes:
        return
    true, said = ({label for label in cells.axis(axis) if label is not None} for axis in ("target", "prediction"))
    if not true or not said or true & said or any(true | said <= set(pair) for pair in _PAIRS):
        return
    raise BadInput(
        f"No prediction is a class of the target: {target} holds {listing(map(repr, ordered(true)), 5)}, and "
        f"{prediction} holds {listing(map(repr, ordered(said)), 5)}",
        available="the same names for the same classes in both columns",
        help="rename the values of one of them, for example 1 to 'yes' and 0 to 'no', and try again.",
    )


# How yes and no are written where a class is one or the other, in small letters: the positive one last.
YES_OR_NO = (("0", "1"), ("false", "true"), ("no", "yes"))


def positive_class(classes: Sequence[str]) -> str | None:
    """Return the positive one of two classes that are 0/1, true/false or yes/no; None where they are not."""
    folded = {name.casefold(): name for name in classes}
    if len(classes) != 2:
        return None
    return next((folded[yes] for no, yes in YES_OR_NO if set(folded) == {no, yes}), None)


def presence_of(classes: Sequence[str]) -> list[str]:
    """Return a label's classes, absent before present, also where only one of them occurs."""
    for pair in _PAIRS:
        if set(classes) <= set(pair):
            return list(pair)
    return list(classes)
