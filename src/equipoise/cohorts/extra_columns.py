"""Further columns for a cohort from a table of the same rows in the same order, such as ``equipoise label`` writes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts.cohort import Cohort
from equipoise.cohorts.loading import read_columns
from equipoise.foundation.errors import BadInput, listing, unknown_name
from equipoise.foundation.tabular import FORMULA, csv_text
from equipoise.tallies.labels import Label, label_of

# The column that counts rows from 0, where there is one.
ROW = "row"


def with_extra_columns(cohort: Cohort, path: str | os.PathLike[str]) -> Cohort:
    """Return a cohort with the columns of a table that it does not have; none of them is a feature.

    Rows are matched by position: there must be as many, a column ``row`` must count them from 0, and columns that both
    have must agree in every row. A table of other rows, or of the same rows in another order, is refused so.
    """
    name, read = Path(path).name, read_columns(path)
    found = {column: np.asarray(values, dtype=object) for column, values in read.items()}
    number = len(next(iter(found.values()))) if found else 0
    if number != len(cohort):
        raise BadInput(
            f"{name} has {number:,} rows and the cohort {cohort.name!r} has {len(cohort):,}",
            available="one row per row of the cohort, in the same order",
            help="create the table again from this cohort, with the same options.",
        )
    if ROW in found and ROW not in cohort.columns:
        _check_same(found.pop(ROW), np.arange(number), ROW, name)
    for column in [column for column in found if column in cohort.columns]:
        _check_same(found.pop(column), cohort[column], column, name)
    if not found:
        raise BadInput(f"{name} has no column that the cohort {cohort.name!r} does not have", available="at least one")
    return replace(cohort, columns={**cohort.columns, **found})


def columns_text(cohort: Cohort, extra: Mapping[str, NDArray[Any]]) -> str:
    """Return a cohort's columns (but for pictures and matrices) and further ones as CSV, for ``with_extra_columns``."""
    own = {name: column for name, column in cohort.columns.items() if column.ndim == 1 and name not in extra}
    columns = {**({} if ROW in own else {ROW: np.arange(len(cohort))}), **own, **extra}
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return csv_text(list(columns), rows)


def with_parts(
    cohort: Cohort, *, target: str | None = None, groups: Sequence[str] = (), favourable: str | None = None
) -> Cohort:
    """Return a cohort in which other columns than its own are the target or the groups."""
    for column in (*(() if target is None else (target,)), *groups):
        if column not in cohort.columns:
            raise unknown_name("column", column, cohort.columns, f"the cohort {cohort.name!r}")
    if target is not None and target in cohort.features:
        raise BadInput(
            f"The target {target!r} is a feature of the cohort {cohort.name!r}",
            available=listing(column for column in cohort.columns if column not in cohort.features),
        )
    wanted = target or cohort.target
    kept = tuple(groups) or tuple(column for column in cohort.groups if column != wanted)
    own = cohort.favourable if wanted == cohort.target else None
    return replace(cohort, target=wanted, groups=kept, favourable=own if favourable is None else favourable)


def _check_same(given: NDArray[Any], own: NDArray[Any], column: str, name: str) -> None:
    if own.ndim > 1:
        raise BadInput(f"{name} has a column {column!r}, which has several numbers per row in the cohort")
    labels: dict[tuple[object, object], bool] = {}
    for row, pair in enumerate(zip(given.tolist(), own.tolist(), strict=True)):
        if pair not in labels:
            labels[pair] = _same(label_of(pair[0]), label_of(pair[1]))
        if not labels[pair]:
            raise BadInput(
                f"Row {row:,} of {name} (counted from 0) has {pair[0]!r} in the column {column!r} and not {pair[1]!r}",
                available="the same rows in the same order as in the cohort",
                help="create the table again from this cohort, or leave that column out.",
            )


def _same(given: Label, own: Label) -> bool:
    """Tell whether two labels are one, after what a CSV file does to text and numbers."""
    if given == own or (given is None and not own):
        return True
    if given is None or own is None:
        return False
    if own.startswith(FORMULA) and given == f"'{own}":
        return True
    try:
        return float(given) == float(own)
    except ValueError:
        return given.casefold() == own.casefold() and given.casefold() in ("true", "false")
