"""What must be true of a cohort: it loads twice the same, and its columns play the parts they were given."""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise.cohorts import Cohort, load


def check_cohort(name: str, **options: Any) -> None:
    """Check a registered cohort; options go to its loader (such as ``path=``)."""
    cohort = load(name, **options)
    assert isinstance(cohort, Cohort), f"{name} returns a {type(cohort).__name__}, not a Cohort"
    _check_roles(cohort)
    _check_groups(cohort)
    again = load(name, **options)
    for column in cohort.columns:
        if cohort[column].ndim > 1:
            assert np.array_equal(cohort[column], again[column]), f"{column!r} of {name} differs between two loads"
            continue
        equal = [(a is None and b is None) or a == b or (a != a and b != b)
                for a, b in zip(cohort[column].tolist(), again[column].tolist(), strict=True)]  # fmt: skip
        assert all(equal), f"the column {column!r} of {name} differs between two loads"


def _check_roles(cohort: Cohort) -> None:
    assert cohort.datasheet, f"{cohort.name} has no datasheet"
    outcomes = {cohort.target, cohort.prediction, cohort.score}
    assert not outcomes & set(cohort.features), f"an outcome of {cohort.name} is among its features"
    assert not set(cohort.groups) & set(cohort.features), f"a group of {cohort.name} is among its features"
    lengths = {len(column) for column in cohort.columns.values()}
    assert lengths == {len(cohort)}, f"the columns of {cohort.name} have different lengths"


def _check_groups(cohort: Cohort) -> None:
    card = cohort.card()
    for attribute in cohort.groups:
        rows = [row for row in card.groups if row.attribute == attribute]
        assert len({row.group for row in rows}) >= 2, f"{attribute!r} of {cohort.name} has one group only"
        assert sum(row.rows or 0 for row in rows) == len(cohort), f"{attribute!r} of {cohort.name} loses rows"
    if cohort.task == "class" and cohort.favourable is not None:
        assert cohort.favourable in card.classes, f"{cohort.favourable!r} is no class of {cohort.name}"
    if cohort.task == "regression":
        assert np.asarray(cohort[cohort.target], dtype=float).size == len(cohort)
