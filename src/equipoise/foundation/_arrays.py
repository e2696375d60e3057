"""Whatever a user holds (list, array, Series, tensor, frame) as columns, and division that knows undefined from 0."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation._errors import BadInput
from equipoise.foundation._text import (
    listing,
    plural,
)

Floats = NDArray[np.float64]
# Up to so many numbers in a row numpy adds one by one; for fewer tables than this slices do not pay.
FEW, MANY_TABLES = 8, 1_024


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide; without a denominator the answer is undefined (NaN), never 0.

    Examples
    --------
    >>> ratio(np.array([1.0, 2.0]), np.array([4.0, 0.0])).tolist()
    [0.25, nan]
    """
    out = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), np.nan)
    np.divide(numerator, denominator, out=out, where=denominator > 0)
    return out


def reduce_axis(axis: int, values: NDArray[Any], combine: np.ufunc = np.add) -> NDArray[Any]:
    """Return the sums (or the largest values, with ``np.maximum``) over one of the last axes, counted from the end.

    Where that axis or what lies behind it is short, as in very many drawn tables of 2 x 2 classes, numpy reduces number
    by number. Taking slice by slice is up to 60 times as fast and adds in the same order.

    Examples
    --------
    >>> over(-1, np.arange(4_096.0).reshape(2_048, 2))[:3].tolist()
    [1.0, 5.0, 9.0]
    """
    number, behind = values.shape[axis], math.prod(values.shape[values.ndim + axis + 1 :])
    if not (number < FEW or 1 < behind < 2 * FEW) or values.size < MANY_TABLES * max(number, 1):
        return np.asarray(combine.reduce(values, axis=axis))
    slices = np.moveaxis(values, axis, 0)
    total: NDArray[Any] = slices[0].astype(np.int64 if values.dtype == np.bool_ else values.dtype)
    for part in slices[1:]:
        combine(total, part, out=total)
    return total


# A column is a narwhals Series or a numpy array of one dimension.
Column = Any


def as_column(values: object, what: str) -> Column:
    """Return a one-dimensional column; a column of shape (n, 1) counts as one."""
    import narwhals as nw

    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return series
    array = _cells(values) if _holds_lists(values) else as_array(values, what)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise BadInput(
            f"{what} has {plural(array.ndim, 'dimension')} (shape {array.shape})",
            available="one value per row",
            help="pass one column, or task='multilabel' for several labels a row.",
        )
    return array


def _holds_lists(values: object) -> bool:
    """Tell whether a plain sequence holds lists of different lengths: then each is one row's labels."""
    if not isinstance(values, Sequence) or isinstance(values, str):
        return False
    lengths = {len(item) for item in values if isinstance(item, (list, tuple, set, frozenset))}
    return len(lengths) > 1 or any(isinstance(item, (set, frozenset)) for item in values)


def _cells(values: object) -> NDArray[Any]:
    assert isinstance(values, Sequence)
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    return array


def as_array(values: object, what: str) -> NDArray[Any]:
    """Return a numpy array; tensors come to the host first."""
    detach = getattr(values, "detach", None)
    host = detach().cpu().numpy() if callable(detach) else values
    if isinstance(host, np.ma.MaskedArray):  # what is masked is missing
        mask, host = np.ma.getmaskarray(host), np.ma.getdata(host).astype(object)
        host[mask] = None
    if isinstance(host, Sequence) and any(item is None or isinstance(item, str) for item in host):
        return np.asarray(host, dtype=object)
    try:
        return np.asarray(host)
    except ValueError as error:
        raise BadInput(f"{what} could not be read as an array ({error})", available="one value per row") from error


def as_columns(data: object, what: str = "sensitive_features") -> dict[str, Column]:
    """Return named columns from a mapping, a frame, one array, a list of them, or an array with a column an attribute.

    A list that holds fewer sequences than each has values is a list of columns, otherwise a list of rows.
    """
    import narwhals as nw

    if isinstance(data, Mapping):
        return {str(name): as_column(values, f"{what}[{name!r}]") for name, values in data.items()}
    frame = nw.from_native(data, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return {str(name): frame.get_column(name) for name in frame.columns}
    series = nw.from_native(data, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return {str(series.name or "group"): series}
    if isinstance(data, (list, tuple)) and _lists_columns(data):
        named = [(getattr(column, "name", None), as_column(column, f"{what}[{n}]")) for n, column in enumerate(data)]
        names = [str(name or f"group_{index}") for index, (name, _) in enumerate(named)]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise BadInput(
                f"{what} has several columns called {listing(twice, 5)}",
                available="a different name for each",
                help=f"rename them, or pass a mapping of names to columns: {what}={{'sex': ..., 'age': ...}}.",
            )
        return dict(zip(names, (column for _, column in named), strict=True))
    array = as_array(data, what)
    if array.ndim == 2:
        return {f"group_{position}": array[:, position] for position in range(array.shape[1])}
    return {"group": as_column(array, what)}


def _lists_columns(columns: Sequence[object]) -> bool:
    sizes = {
        len(column) if hasattr(column, "__len__") and not isinstance(column, (str, bytes)) else 0 for column in columns
    }
    return len(sizes) == 1 and max(sizes) > len(columns)


def same_length(columns: Mapping[str, Column]) -> int:
    """Return the common length of the columns, or refuse."""
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        described = listing((f"{name} has {length:,}" for name, length in lengths.items()), 6)
        raise BadInput(
            f"The columns have different lengths: {described}",
            available="one value per row in each",
            help="check that they were made from the same rows, in the same order.",
        )
    return next(iter(lengths.values()), 0)


def as_weights(values: object) -> Floats:
    """Return weights as numbers that are neither negative nor missing."""
    weights = as_floats(values, "the weights")
    bad = int((~np.isfinite(weights) | (weights < 0)).sum())
    if bad:
        raise bad_weights_error(bad)
    if len(weights) and not weights.any():
        raise no_weight_error()
    return weights


def no_weight_error() -> BadInput:
    """Build the error for weights that leave nothing to count."""
    return BadInput("Every weight is 0", available="at least one weight above zero")


def bad_weights_error(number: int) -> BadInput:
    """Build the error for weights that cannot be summed."""
    return BadInput(
        f"{number:,} {'weight is' if number == 1 else 'weights are'} negative, missing or not finite",
        available="numbers of 0 or more",
        help="drop those rows or fix the weight column first.",
    )


def as_floats(numbers: object, what: str) -> Floats:
    """Return numbers; a missing one is NaN."""
    column = as_column(numbers, what)
    try:
        values = column.to_numpy() if not isinstance(column, np.ndarray) else column
        return np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise BadInput(
            f"{what[:1].upper()}{what[1:]} must be numbers, and this is not one: {_culprit(column)!r}",
            available="numbers such as 0.25 (a decimal point, not a comma)",
            help="convert the column to numbers first.",
        ) from error


def _culprit(column: Column) -> object:
    for value in column:
        try:
            float(value)
        except (TypeError, ValueError):
            if value is not None:
                return value
    return None


def distinct_rows(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the distinct rows and, for each row, which of them it is: by a hash, far faster than sorting rows."""
    bits = np.ascontiguousarray(rows + 0.0).view(np.uint64)  # adding 0 makes -0.0 the same as 0.0
    odd = np.random.default_rng(0).integers(0, 2**63, rows.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    hashed = ((bits ^ (bits >> np.uint64(29))) * odd).sum(axis=1, dtype=np.uint64)
    _, first, inverse = np.unique(hashed, return_index=True, return_inverse=True)
    distinct = rows[first]
    if not np.array_equal(distinct[inverse], rows):  # two different rows share a hash
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
    return distinct, inverse.reshape(-1)
