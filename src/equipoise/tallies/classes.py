"""Columns of classes: coded, and refused where every value would be a class of its own."""

from __future__ import annotations

import numpy as np

from equipoise.foundation.errors import BadInput
from equipoise.tallies.arrays import as_column
from equipoise.tallies.factorise import Coded, factorise


def classes_of(given: object, what: str) -> Coded:
    """Code a column of classes; numbers with decimals are refused."""
    column = as_column(given, what)
    coded = factorise(column)
    numeric = column.dtype.kind == "f" if isinstance(column, np.ndarray) else column.dtype.is_float()
    fraction = next((label for label in coded.labels if label is not None and is_fraction(label)), None)
    if numeric and fraction is not None:
        raise continuous_classes(what, fraction)
    return coded


def is_fraction(label: str) -> bool:
    """Tell whether a label is a number with decimals."""
    try:
        return not float(label).is_integer()
    except ValueError:
        return False


def continuous_classes(what: str, example: str) -> BadInput:
    """Build the error for scores or measurements where classes are expected."""
    return BadInput(
        f"The {what} holds continuous values such as {example}, where classes are expected",
        available="class labels (text, whole numbers, true/false)",
        help="a score goes to --score (score=) with its threshold; "
        "a number to be predicted needs --task regression (task='regression').",
    )
