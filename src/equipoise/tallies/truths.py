"""Yes and no in many spellings: true/false in one column and 1/0 in another are the same classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from equipoise.tallies.cells import Cells
from equipoise.tallies.labels import Label

# How different programs write yes and no for a class, and the numbers they stand for.
TRUTHS = {"True": "1", "False": "0", "true": "1", "false": "0", "TRUE": "1", "FALSE": "0"}
_PAIRS = (("0", "1"), ("False", "True"), ("false", "true"), ("FALSE", "TRUE"))


def truth_names(cells: Cells, axes: Sequence[str] = ("target", "prediction")) -> dict[Label, Label]:
    """Return the names to change where one column says true/false and the other 1/0."""
    seen = [set(cells.axis(axis)) - {None} for axis in axes if axis in cells.axes]
    truths = any(labels and labels <= set(TRUTHS) for labels in seen)
    numbers = any(labels and labels <= {"0", "1"} for labels in seen)
    return {name: TRUTHS[name] for name in TRUTHS} if truths and numbers else {}


def same_truths(cells: Cells, names: Mapping[Label, Label], axes: Sequence[str] = ("target", "prediction")) -> Cells:
    """Give both columns the same spelling."""
    for axis in axes:
        if names and axis in cells.axes:
            cells = cells.relabel(axis, names)
    return cells


def presence_of(classes: Sequence[str]) -> list[str]:
    """Return a label's classes, absent before present, also where only one of them occurs."""
    for pair in _PAIRS:
        if set(classes) <= set(pair):
            return list(pair)
    return list(classes)
