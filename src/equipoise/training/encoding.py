"""A cohort as numbers: categories one-hot, numbers standardised, fitted on the original training rows and nothing else.

No condition changes the encoding, so that all trials of a study see the same inputs. A missing value has an indicator
of its own where training rows have missing values. A matrix of numbers (an embedding) passes as it is, and so do
pictures, which are the only feature then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts.cohort import Cohort
from equipoise.cohorts.ids import looks_like_id
from equipoise.foundation.errors import BadInput, listing, unknown_name
from equipoise.foundation.text import plural
from equipoise.tallies.counts import group_name
from equipoise.tallies.labels import Coded, factorise, label_of, ordered, shown
from equipoise.training.material import Codes, Material, Rows

SPLITS = ("train", "dev", "test")
QUARTERS = ("lowest quarter", "second quarter", "third quarter", "highest quarter")
MOST_CATEGORIES = 1_000
# None and NaN are missing values of a column of these.
PLAIN_NUMBERS = {int, float, bool, type(None)}
# A column of text is categories while it has up to this many values, or training rows share them: two or more rows have
# a value, on average. Otherwise it is free text, or names the rows.
FEW_CATEGORIES = 20
ROWS_PER_CATEGORY = 2

# A matrix of float32, or pictures of uint8.
Inputs = NDArray[Any]


def material_of(
    cohort: Cohort, group: str | Sequence[str] | None = None, *, groups_at_prediction: bool = False
) -> Material:
    """Return what trials may see of a cohort with the splits train, dev and test.

    ``group`` names the group column (several are crossed). Classes and groups are those of the training rows; a row of
    another one, or of none, has the code -1. Test targets are left out, and test groups too unless
    ``groups_at_prediction`` asks for them.
    """
    rows = _rows_of_splits(cohort)
    train = rows["train"]
    inputs = _inputs(cohort, train)
    target, cell, classes = _numbers(cohort, train) if cohort.task == "regression" else _class_codes(cohort, train)
    attributes = _group_columns(cohort, group)
    codes, groups = _group_codes(cohort, attributes, train)
    parts, values = _parts(cohort, attributes, codes, len(groups), train)

    def split(name: str) -> Rows:
        places = rows[name]
        seen, grouped = name != "test", name != "test" or groups_at_prediction
        return Rows(
            inputs=np.ascontiguousarray(inputs[places]),
            ids=places,
            target=target[places] if seen else None,
            group=codes[places] if grouped else None,
            cell=cell[places] if seen else None,
        )

    return Material(
        split("train"), split("dev"), split("test"), classes, groups,
        "regression" if cohort.task == "regression" else "class", attributes, values, parts,
    )  # fmt: skip


def _rows_of_splits(cohort: Cohort) -> dict[str, Codes]:
    if cohort.task == "multilabel":
        raise BadInput(
            f"The cohort {cohort.name!r} has several labels a row", available="one class or one number per row"
        )
    coded = None if cohort.split is None else factorise(cohort[cohort.split])
    found = {} if coded is None else {shown(label): place for place, label in enumerate(coded.labels)}
    absent = [name for name in SPLITS if name not in found]
    if coded is None or absent:
        raise BadInput(
            f"The cohort {cohort.name!r} has no {listing(absent)} split",
            available="a split column with train to learn from, dev to select on and test to evaluate on"
            + (f"; here are {listing(found)}" if found else ""),
            help="take shares of the training rows: equipoise.studies.plans._rows.with_splits(cohort, dev=0.2).",
        )
    return {name: np.flatnonzero(coded.codes == found[name]) for name in SPLITS}


def _inputs(cohort: Cohort, train: Codes) -> Inputs:
    if not cohort.features:
        raise BadInput(f"The cohort {cohort.name!r} has no feature columns", help="name them with features=.")
    pictures = [name for name in cohort.features if cohort[name].ndim > 2]
    if pictures:
        return _pictures(cohort, pictures[0])
    return np.concatenate([_columns(name, cohort[name], train) for name in cohort.features], axis=1)


def _pictures(cohort: Cohort, name: str) -> Inputs:
    column = cohort[name]
    if column.ndim != 4 or column.dtype != np.uint8 or 0 in column.shape:
        raise BadInput(
            f"The column {name!r} holds {column.dtype} of the shape {column.shape}",
            available="one value per row, a matrix of numbers, or pictures: uint8 [row, height, width, channel]",
            help="pictures without a channel get one by array[..., None]; from 0..1 by (255 * array).astype('u1').",
        )
    others = [one for one in cohort.features if one != name]
    if others:
        raise BadInput(
            f"The feature {name!r} holds pictures, and there are other features: {listing(others)}",
            available="pictures as the only feature",
            help=f"features=({name!r},).",
        )
    return column


def _columns(name: str, column: NDArray[Any], train: Codes) -> Inputs:
    if column.ndim == 2:
        return _matrix(name, column)
    numbers = _as_numbers(column)
    if numbers is not None and looks_like_id(name) and _names_rows(numbers):
        raise BadInput(
            f"The column {name!r} has a different whole number in every row: it identifies rows",
            available="features that describe a row",
            help="name the features without it (features =), or rename the column if it is a quantity.",
        )
    return _one_hot(name, column, train) if numbers is None else _standardised(numbers, train)


def _names_rows(numbers: NDArray[np.float64]) -> bool:
    whole = len(numbers) > FEW_CATEGORIES and bool((numbers == np.floor(numbers)).all())
    return whole and len(np.unique(numbers)) == len(numbers)


def _matrix(name: str, column: NDArray[Any]) -> Inputs:
    if column.dtype.kind not in "fiub" or not np.isfinite(column).all():
        raise BadInput(
            f"The column {name!r} is a matrix of {column.dtype} that is not all finite numbers",
            help="drop or fill what is missing.",
        )
    return column.astype(np.float32)


def _as_numbers(column: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return a column of numbers with NaN where one is missing; None where it holds text or anything else."""
    if column.dtype.kind in "fiub":
        return column.astype(np.float64)
    if column.dtype.kind != "O":
        return None
    values = column.tolist()
    if set(map(type, values)) <= PLAIN_NUMBERS:  # a file's columns, without a look at every value
        found = np.array(values, dtype=np.float64)
        return None if np.isnan(found).all() else found
    missing = np.array([label_of(value) is None for value in column.tolist()])
    if missing.all() or not all(isinstance(value, int | float | np.number) for value in column[~missing].tolist()):
        return None
    numbers = np.full(len(column), np.nan)
    numbers[~missing] = column[~missing].astype(np.float64)
    return numbers


def _standardised(numbers: NDArray[np.float64], train: Codes) -> Inputs:
    """Mean 0 and standard deviation 1 on the training rows; a missing value is the mean, and says so."""
    numbers = np.where(np.isfinite(numbers), numbers, np.nan)
    missing = np.isnan(numbers)
    known = numbers[train][~missing[train]]
    mean, spread = (known.mean(), known.std()) if known.size else (0.0, 0.0)
    # A constant column says nothing about training rows; elsewhere it is left in its own units.
    scaled = (numbers - mean) / (spread if spread > 1e-12 * max(abs(mean), 1e-300) else 1.0)
    columns = [np.where(missing, 0.0, scaled)]
    if missing[train].any():
        columns.append(missing.astype(np.float64))
    return np.stack(columns, axis=1).astype(np.float32)


def _one_hot(name: str, column: NDArray[Any], train: Codes) -> Inputs:
    """A column for each value that training rows have, the missing one included; another value is 0 in all of them."""
    coded = factorise(column)
    present = np.unique(coded.codes[train])
    if len(present) > max(FEW_CATEGORIES, min(MOST_CATEGORIES, len(train) / ROWS_PER_CATEGORY)):
        raise BadInput(
            f"The column {name!r} has {len(present):,} different texts in {plural(len(train), 'training row')}: it is "
            "free text or identifies the rows, and each text would become a feature",
            available=f"categories: at most {MOST_CATEGORIES:,}, with {ROWS_PER_CATEGORY} training rows on average",
            help="name the features without it (features =), merge its values, or embed the text first "
            "and give its numbers as a column of lists.",
        )
    names = {shown(coded.labels[code]): code for code in present.tolist()}
    recode = np.full(len(coded.labels), -1, dtype=np.int64)
    for place, label in enumerate(ordered(names)):
        recode[names[label]] = place
    places = recode[coded.codes]
    inputs = np.zeros((len(column), len(present)), dtype=np.float32)
    known = np.flatnonzero(places >= 0)
    inputs[known, places[known]] = 1.0
    return inputs


def _class_codes(cohort: Cohort, train: Codes) -> tuple[NDArray[Any], Codes, tuple[str, ...]]:
    codes, names = _crossed([factorise(cohort[cohort.target])], train)
    if not names:
        raise BadInput(f"No training row of the cohort {cohort.name!r} has a class")
    if len(names) < 2:
        raise BadInput(
            f"The training rows of the cohort {cohort.name!r} have one class of {cohort.target} ({names[0]})",
            available="two classes or more",
            help="check the target column and the split.",
        )
    return codes, codes, names


def _numbers(cohort: Cohort, train: Codes) -> tuple[NDArray[Any], Codes, tuple[str, ...]]:
    """Return the targets, and the quarter of the training targets that each falls into."""
    numbers = _as_numbers(cohort[cohort.target])
    if numbers is None or not np.isfinite(numbers[train]).any():
        raise BadInput(
            f"The target {cohort.target!r} of a regression holds no numbers", available="a column of numbers"
        )
    known = np.isfinite(numbers)
    trained = numbers[train][known[train]]
    edges = np.quantile(trained, [0.25, 0.5, 0.75])
    cell = np.where(known, np.searchsorted(edges, numbers, side="right"), -1)
    # Many equal targets may leave a quarter without rows.
    present = np.unique(cell[train][known[train]])
    recode = np.searchsorted(present, np.arange(len(QUARTERS))).clip(max=len(present) - 1)
    return (
        np.where(known, numbers, np.nan).astype(np.float32),
        np.where(known, recode[cell], -1).astype(np.int64),
        tuple(QUARTERS[one] for one in present.tolist()),
    )


def _group_columns(cohort: Cohort, group: str | Sequence[str] | None) -> tuple[str, ...]:
    if group is None and len(cohort.groups) > 1:
        raise BadInput(
            f"The cohort {cohort.name!r} has several group columns ({listing(cohort.groups)})",
            help=f"name one, such as group={cohort.groups[0]!r}, or several to cross them.",
        )
    names = cohort.groups if group is None else (group,) if isinstance(group, str) else tuple(group)
    for name in names:
        if name not in cohort.groups:
            raise unknown_name("group column", name, cohort.groups, f"the cohort {cohort.name!r}")
    if not names:
        raise BadInput("No group column is named", available=listing(cohort.groups))
    return names


def _group_codes(cohort: Cohort, names: Sequence[str], train: Codes) -> tuple[Codes, tuple[str, ...]]:
    codes, groups = _crossed([factorise(cohort[name]) for name in names], train)
    if len(groups) < 2:
        raise BadInput(
            f"The training rows of the cohort {cohort.name!r} have {len(groups)} group of {listing(names)}",
            available="two groups or more",
            help="check the group column and the split, or name another group column.",
        )
    return codes, groups


def _parts(
    cohort: Cohort, names: Sequence[str], codes: Codes, groups: int, train: Codes
) -> tuple[Codes, tuple[tuple[str, ...], ...]]:
    """Return the value that each crossed group has in each column, as codes ``[group, column]``, and the values."""
    grouped = train[codes[train] >= 0]
    first = grouped[np.unique(codes[grouped], return_index=True)[1]]
    columns = [_crossed([factorise(cohort[name])], grouped) for name in names]
    parts = np.stack([own[first] for own, _ in columns], axis=1)
    assert parts.shape == (groups, len(names))
    return parts, tuple(values for _, values in columns)


def _crossed(columns: Sequence[Coded], train: Codes) -> tuple[Codes, tuple[str, ...]]:
    """Number the values that training rows have, columns crossed, in the order of their names; -1 for all else."""
    shape = tuple(len(column.labels) for column in columns)
    flat = np.ravel_multi_index([column.codes for column in columns], shape)
    names: dict[str, int] = {}
    for place in np.unique(flat[train]).tolist():
        labels = [column.labels[code] for column, code in zip(columns, np.unravel_index(place, shape), strict=True)]
        if None not in labels:
            names[group_name(labels)] = place
    recode = np.full(int(np.prod(shape)), -1, dtype=np.int64)
    order = ordered(names)
    for code, name in enumerate(order):
        recode[names[name]] = code
    return recode[flat], tuple(order)
