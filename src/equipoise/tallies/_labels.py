"""Labels: one spelling for every value, and columns as codes of labels, by the fastest way their frame offers.

1, 1.0, "1" and a category "1" are the same class in any kind of frame. Yes and no have many spellings: true/false in
one column and 1/0 in another are the same classes. A column of classes is refused where every value would be a class of
its own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput, as_column, listing

if TYPE_CHECKING:
    import narwhals as nw

    from equipoise.tallies._cells import Cells


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


def label_text(label: Label) -> str:
    """Write a label for a person; the missing one has a name of its own."""
    if label is None:
        return MISSING
    return f"{MISSING} as text" if label == MISSING else label


# How different programs write yes and no for a class, and the numbers they stand for.
BOOLEAN_LABELS = {"True": "1", "False": "0", "true": "1", "false": "0", "TRUE": "1", "FALSE": "0"}
_PAIRS = (("0", "1"), ("False", "True"), ("false", "true"), ("FALSE", "TRUE"))


def boolean_spellings(cells: Cells, axes: Sequence[str] = ("target", "prediction")) -> dict[Label, Label]:
    """Return the names to change where yes and no have several spellings: 1/0 and true/false, or TRUE and True.

    Columns may differ, and so may the files or batches that one column was put together from.
    """
    labels = {label for axis in axes if axis in cells.axes for label in cells.axis(axis) if label is not None}
    one_spelling = any(labels <= set(pair) for pair in _PAIRS)
    return (
        {name: BOOLEAN_LABELS[name] for name in BOOLEAN_LABELS}
        if labels <= {*BOOLEAN_LABELS, "0", "1"} and not one_spelling
        else {}
    )


def unify_booleans(cells: Cells, names: Mapping[Label, Label], axes: Sequence[str] = ("target", "prediction")) -> Cells:
    """Give both columns the same spelling."""
    for axis in axes:
        if names and axis in cells.axes:
            cells = cells.relabel(axis, names)
    return cells


def match_class(requested: str, classes: Sequence[str]) -> str | None:
    """Return the class that is meant: as it is written, as the same number (1.0 for 1) or the same truth (1 for True).

    None where no class, or more than one, is meant.
    """
    if requested in classes:
        return requested
    try:
        number = label_of(float(requested))
    except ValueError:
        number = None
    meant = {BOOLEAN_LABELS.get(requested, requested), number} - {None}
    matches = [name for name in classes if name in meant or BOOLEAN_LABELS.get(name) in meant]
    return matches[0] if len(matches) == 1 else None


def check_same_classes(cells: Cells, target: str, prediction: str) -> None:
    """Refuse predictions none of which is a class of the target: every rate of right answers would be 0.

    0 and 1 (or false and true) belong together even where a small file has only 0 in one column and only 1 in the
    other. ``target`` and ``prediction`` say in words which columns these are.
    """
    if "target" not in cells.axes or "prediction" not in cells.axes:
        return
    true, predicted = ({label for label in cells.axis(axis) if label is not None} for axis in ("target", "prediction"))
    if not true or not predicted or true & predicted or any(true | predicted <= set(pair) for pair in _PAIRS):
        return
    raise BadInput(
        f"No prediction is a class of the target: {target} holds {listing(map(repr, ordered(true)), 5)}, and "
        f"{prediction} holds {listing(map(repr, ordered(predicted)), 5)}",
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


def presence_classes(classes: Sequence[str]) -> list[str]:
    """Return a label's classes, absent before present, also where only one of them occurs."""
    for pair in _PAIRS:
        if set(classes) <= set(pair):
            return list(pair)
    return list(classes)


Codes = NDArray[np.int64]

# A whole-number column whose values span no more than this is coded by subtraction instead of hashing.
NARROW = 100_000


@dataclass(frozen=True)
class Coded:
    """A column as codes into its labels. A missing value has the label None."""

    codes: Codes
    labels: tuple[Label, ...]

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True)
class _Coding:
    """Codes into values, -1 where a value is missing; ``complete`` where every value is known to occur."""

    codes: Codes
    values: Sequence[object]
    complete: bool = True


def factorise(column: nw.Series[Any] | NDArray[Any]) -> Coded:
    """Code a column of any kind of frame, or an array."""
    if isinstance(column, np.ndarray):
        return _compact(_codes_of_array(column))
    native = column.to_native()
    implementation = column.implementation
    if implementation.is_pandas_like():
        return _compact(_codes_of_pandas(native))
    if implementation.is_polars():
        return _compact(_codes_of_polars(native))
    if implementation.is_pyarrow():
        return _compact(_codes_of_arrow(native))
    return _compact(_codes_of_array(column.to_numpy()))


def _codes_of_pandas(native: Any) -> _Coding:
    if native.dtype.kind in "iub" and isinstance(native.dtype, np.dtype):
        return _codes_of_array(native.to_numpy())
    if getattr(native.dtype, "storage", None) == "pyarrow":  # text
        return _codes_of_arrow(native.array.__arrow_array__())
    codes, values = native.factorize(use_na_sentinel=True)
    return _Coding(np.asarray(codes, dtype=np.int64), list(values))


def _codes_of_polars(native: Any) -> _Coding:
    if native.dtype.is_integer() and not native.null_count():
        return _codes_of_array(native.to_numpy())
    if native.dtype.is_float():
        return _codes_of_array(native.to_numpy())
    values = native.unique(maintain_order=False).drop_nulls()
    if not len(values):
        return _Coding(np.full(len(native), -1, dtype=np.int64), [])
    codes = native.replace_strict(values, range(len(values)), default=-1)
    return _Coding(codes.to_numpy().astype(np.int64), values.to_list())


def _codes_of_arrow(native: Any) -> _Coding:
    is_dictionary = str(native.type).startswith("dictionary")  # which may have values that no row has
    encoded = native if is_dictionary else native.dictionary_encode()
    unified = encoded.unify_dictionaries().combine_chunks() if hasattr(encoded, "unify_dictionaries") else encoded
    if hasattr(unified, "num_chunks"):  # a chunked array stays chunked where it has no rows
        unified = unified.chunk(0) if unified.num_chunks else encoded.type.wrap_array([])
    indices = unified.indices
    filled = indices.cast("int64").fill_null(-1) if indices.null_count else indices
    codes = filled.to_numpy(zero_copy_only=False).astype(np.int64)
    return _Coding(codes, unified.dictionary.to_pylist(), complete=not is_dictionary)


def _codes_of_array(array: NDArray[Any]) -> _Coding:
    if array.dtype.kind == "b":
        return _Coding(array.astype(np.int64), [False, True], complete=False)
    if array.dtype.kind in "iu" and len(array):
        low, high = int(array.min()), int(array.max())
        if high - low <= NARROW and high < 1 << 63:
            codes = array.astype(np.int64, copy=False)
            return _Coding(codes - low if low else codes, range(low, high + 1), complete=high - low < 2)
    if array.dtype == np.dtype("datetime64[ns]"):  # of nanoseconds numpy hands out numbers, of microseconds dates
        array = array.astype("datetime64[us]")
    if array.dtype.kind in "OT":
        return _codes_of_objects(array.tolist())
    values, codes = np.unique(array, return_inverse=True)
    return _Coding(codes.astype(np.int64).reshape(-1), values.tolist())


def _codes_of_objects(items: list[object]) -> _Coding:
    code_of: dict[tuple[type, object], int] = {}
    # True and 1 are equal keys in a dictionary, but not the same value: the type keeps them apart.
    codes = [code_of.setdefault((type(item), item), len(code_of)) for item in items]
    return _Coding(np.asarray(codes, dtype=np.int64), [value for _, value in code_of])


def _compact(coding: _Coding) -> Coded:
    """Merge values of one label, drop values no row has, and give missing rows the label None."""
    codes, values = coding.codes, coding.values
    present = _present(coding)
    recode = np.full(len(values) + 1, -1, dtype=np.int64)
    code_of: dict[Label, int] = {}
    for position in np.flatnonzero(present).tolist():
        label = None if position == 0 else label_of(values[position - 1])
        recode[position] = code_of.setdefault(label, len(code_of))
    if not present[0] and np.array_equal(recode[1:], np.arange(len(values))):
        return Coded(codes, tuple(code_of))
    # A missing value has the code -1, which picks the last.
    return Coded(np.roll(recode, -1)[codes], tuple(code_of))


def _present(coding: _Coding) -> NDArray[np.bool_]:
    """Tell whether any row is missing, and for each value whether any row has it."""
    codes, values = coding.codes, len(coding.values)
    has_missing = len(codes) > 0 and int(codes.min()) < 0
    if coding.complete and len(codes):
        return np.concatenate([[has_missing], np.ones(values, dtype=np.bool_)])
    counts = np.bincount(codes[codes >= 0] if has_missing else codes, minlength=values)
    return np.concatenate([[has_missing], counts > 0])


def classes_of(classes: object, what: str) -> Coded:
    """Code a column of classes; numbers with decimals are refused."""
    column = as_column(classes, what)
    coded = factorise(column)
    numeric = column.dtype.kind == "f" if isinstance(column, np.ndarray) else column.dtype.is_float()
    fraction = next((label for label in coded.labels if label is not None and is_fraction(label)), None)
    if numeric and fraction is not None:
        raise continuous_classes_error(what, fraction)
    return coded


def presence_codes(labels: object, what: str) -> Codes:
    """Return 1 where a label is present, 0 where it is absent and -1 where that is missing.

    >>> presence_codes(np.array(["yes", "no", None], dtype=object), "label 'cat'").tolist()
    [1, 0, -1]
    """
    coded = classes_of(labels, what)
    folded = [None if label is None else label.casefold() for label in coded.labels]
    pair = next((pair for pair in YES_OR_NO if {name for name in folded if name is not None} <= set(pair)), None)
    if pair is None:
        raise BadInput(
            f"The {what} holds {listing((repr(label) for label in coded.labels if label is not None), 4)}",
            available="0 and 1, true and false, or yes and no: absent and present",
            help="a column of several classes becomes one such column for each of them first.",
        )
    return np.array([-1 if name is None else pair.index(name) for name in folded], dtype=np.int64)[coded.codes]


def is_fraction(label: str) -> bool:
    """Tell whether a label is a number with decimals."""
    try:
        return not float(label).is_integer()
    except ValueError:
        return False


def continuous_classes_error(what: str, example: str) -> BadInput:
    """Build the error for scores or measurements where classes are expected."""
    return BadInput(
        f"The {what} holds continuous values such as {example}, where classes are expected",
        available="class labels (text, whole numbers, true/false)",
        help="a score goes to --score (score=) with its threshold; "
        "a numeric target needs --task regression (task='regression').",
    )
