"""Columns to codes: each row's value becomes a small number, by the fastest way its frame offers.

A column of classes is refused where every value would be a class of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.errors import BadInput
from equipoise.tallies.arrays import as_column
from equipoise.tallies.labels import Label, label_of

if TYPE_CHECKING:
    import narwhals as nw

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
    given = str(native.type).startswith("dictionary")  # which may have values that no row has
    encoded = native if given else native.dictionary_encode()
    unified = encoded.unify_dictionaries().combine_chunks() if hasattr(encoded, "unify_dictionaries") else encoded
    if hasattr(unified, "num_chunks"):  # a chunked array stays chunked where it has no rows
        unified = unified.chunk(0) if unified.num_chunks else encoded.type.wrap_array([])
    indices = unified.indices
    places = indices.cast("int64").fill_null(-1) if indices.null_count else indices
    codes = places.to_numpy(zero_copy_only=False).astype(np.int64)
    return _Coding(codes, unified.dictionary.to_pylist(), complete=not given)


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
    known: dict[tuple[type, object], int] = {}
    # True and 1 are equal keys in a dictionary, but not the same value: the type keeps them apart.
    codes = [known.setdefault((type(item), item), len(known)) for item in items]
    return _Coding(np.asarray(codes, dtype=np.int64), [value for _, value in known])


def _compact(coding: _Coding) -> Coded:
    """Merge values of one label, drop values no row has, and give missing rows the label None."""
    codes, values = coding.codes, coding.values
    present = _present(coding)
    recode = np.full(len(values) + 1, -1, dtype=np.int64)
    known: dict[Label, int] = {}
    for position in np.flatnonzero(present).tolist():
        label = None if position == 0 else label_of(values[position - 1])
        recode[position] = known.setdefault(label, len(known))
    if not present[0] and np.array_equal(recode[1:], np.arange(len(values))):
        return Coded(codes, tuple(known))
    # A missing value has the code -1, which picks the last.
    return Coded(np.roll(recode, -1)[codes], tuple(known))


def _present(coding: _Coding) -> NDArray[np.bool_]:
    """Tell whether any row is missing, and for each value whether any row has it."""
    codes, values = coding.codes, len(coding.values)
    has_missing = len(codes) > 0 and int(codes.min()) < 0
    if coding.complete and len(codes):
        return np.concatenate([[has_missing], np.ones(values, dtype=np.bool_)])
    counts = np.bincount(codes[codes >= 0] if has_missing else codes, minlength=values)
    return np.concatenate([[has_missing], counts > 0])


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
        "a numeric target needs --task regression (task='regression').",
    )
