"""What names the data of a study: equal values in equal order give an equal fingerprint, whatever file they were in."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts.cohort import Cohort
from equipoise.foundation.provenance import fingerprint_of
from equipoise.tallies.factorise import factorise


def trained_fingerprint(cohort: Cohort) -> str:
    """Name what a trial is trained and judged on: features, target, groups and splits, row by row."""
    assert cohort.split is not None, "splits are settled first"
    parts = [cohort.task.encode(), cohort.target.encode(), *(name.encode() for name in cohort.groups)]
    columns = dict.fromkeys((*cohort.features, cohort.target, *cohort.groups))
    # The splits by what they are, not by the name of the column they stand in.
    return fingerprint_of([*parts, *_columns(cohort, columns), *_values(cohort[cohort.split])])


# Columns of these that are no features stay as they are.
LISTS = (list, tuple, set, frozenset, dict, np.ndarray)


def data_fingerprint(cohort: Cohort) -> str:
    """Name all columns that a cohort came with, so that a file that changed under its name is noticed."""
    return fingerprint_of(_columns(cohort, cohort.columns))


def _columns(cohort: Cohort, names: Iterable[str]) -> Iterable[bytes]:
    for name in names:
        yield name.encode("utf-8", "surrogatepass")
        yield from _values(cohort[name])


def _values(column: NDArray[Any]) -> Iterable[bytes]:
    """Give the values in one spelling: numbers as float64, everything else as sorted labels and codes into them.

    Of pictures the bytes themselves are hashed: as float64 they would take eight times the memory.
    """
    array = np.asarray(column)
    if array.ndim > 1:
        yield str(array.shape).encode()
    if array.ndim > 2 and array.dtype == np.uint8:
        yield b"pictures"
        yield hashlib.sha256(np.ascontiguousarray(array).data).digest()
        return
    if array.dtype.kind in "iuf" or (array.dtype.kind == "O" and array.ndim == 1 and _all_numbers(array)):
        yield b"numbers"
        # None becomes NaN.
        yield (np.array(array.tolist(), dtype="<f8") if array.dtype.kind == "O" else array.astype("<f8")).tobytes()
        return
    if array.dtype.kind == "O" and any(isinstance(value, LISTS) for value in array.flat):
        yield b"lists"
        for value in array.flat:
            yield repr(_listed(value)).encode("utf-8", "surrogatepass")
        return
    yield b"labels"
    coded = factorise(array.reshape(-1))
    order = sorted(range(len(coded.labels)), key=lambda place: (coded.labels[place] is not None, coded.labels[place]))
    ranks = np.empty(len(order), dtype="<i8")
    ranks[order] = np.arange(len(order))
    for place in order:
        label = coded.labels[place]
        yield b"" if label is None else b"=" + label.encode("utf-8", "surrogatepass")
    yield ranks[coded.codes].tobytes()


def _listed(value: object) -> object:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value


def _all_numbers(array: NDArray[Any]) -> bool:
    kinds = set(map(type, array.tolist())) - {type(None)}
    return bool(kinds) and kinds <= {int, float}
