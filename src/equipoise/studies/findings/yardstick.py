"""The yardstick of a study: what a constant prediction gets, and which runs and cells do no better than one.

A constant prediction treats all groups alike, so fairness alone rewards it. Whether a run has collapsed is decided on
dev rows only, by the rules of ``measures.trivial``; the numbers that are shown are those of the test rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.measures.trivial import constant_prediction, has_collapsed, has_collapsed_regression
from equipoise.studies.findings.data import DEV, TEST, Attribute, Codes, Floats, Layout, StudyData
from equipoise.studies.findings.quantities import MainMeasures, Quantity, measured
from equipoise.studies.findings.scoring import CONSTANT_AUC, fill_in, needs_scores
from equipoise.tallies.confusion import ratio
from equipoise.tallies.residuals import moments
from equipoise.tallies.residuals import quantities as summed

Flags = NDArray[np.bool_]

# A cell has collapsed where at least this share of its runs has.
COLLAPSED_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantValue:
    """One number of the constant prediction on the test rows; NaN where a constant has none."""

    measure: str
    alias: str | None
    attribute: tuple[str, ...]
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantRecord:
    """What a model that predicts the same for everybody gets on the test rows.

    ``prediction`` is the most frequent class of the original training rows (``basis`` says where it was counted), or
    in a regression their mean. ``share`` is how many of those rows have that class. ``reason`` says why a number is
    undefined.
    """

    prediction: str
    share: float | None
    basis: str
    attribute: tuple[str, ...]
    performance: float
    fairness: float
    distance: float
    values: tuple[ConstantValue, ...] = ()
    reason: str | None = None


NO_CORRELATION = "a constant prediction has no correlation with the target"
NO_GROUPS = "no class has rows in two groups or more"
TRAINING, DEV_ROWS = "original training rows", "dev rows"


def constant_record(
    data: StudyData, quantities: tuple[Quantity, ...], main: MainMeasures, attribute: Attribute
) -> ConstantRecord | None:
    """Return what a constant prediction gets on the test rows; None where no row of them can be predicted."""
    layout, test = data.layout, data.tables[TEST][:1]
    if not _can_be_right(data):
        return None
    if layout.task == "regression":
        tables, basis = _constant_sums(data)
        prediction, share = "the mean", None
    else:
        place, share, basis = _majority(data)
        tables, prediction = constant_prediction(test, place), layout.classes[place]
    if not np.nansum(tables):
        return None
    computed = measured(quantities, tables, layout)
    if needs_scores(main):
        fill_in(computed, quantities, main, lambda attribute: np.full((1, 2), CONSTANT_AUC))
    values = computed[0]
    found = {(own.measure, own.attribute): float(value) for own, value in zip(quantities, values, strict=True)}
    performance, fairness = found[main.performance, ()], found[main.fairness, attribute]
    distance = found[main.distance, attribute]
    reason = None
    if np.isnan(distance):
        reason = NO_CORRELATION if layout.task == "regression" else NO_GROUPS
    return ConstantRecord(
        prediction=prediction, share=share, basis=basis, attribute=attribute, performance=performance,
        fairness=fairness, distance=distance, reason=reason,
        values=tuple(
            ConstantValue(measure=own.measure, alias=own.alias, attribute=own.attribute, value=float(value))
            for own, value in zip(quantities, values, strict=True)
        ),
    )  # fmt: skip


def _majority(data: StudyData) -> tuple[int, float | None, str]:
    """Return the place of the most frequent class, its share, and in which rows it was counted."""
    if data.training_rows is not None and any(data.training_rows):
        rows, basis = np.asarray(data.training_rows, dtype=np.float64), TRAINING
    else:
        rows, basis = data.tables[DEV][0].sum(axis=(0, 2)), DEV_ROWS
    place = int(rows.argmax())
    total = float(rows.sum())
    return place, float(rows[place]) / total if total else None, basis


def _constant_sums(data: StudyData) -> tuple[Floats, str]:
    """Return the sums ``[1, group, sum]`` of a regression that predicts one number for every test row, and its basis.

    Without the rows themselves, sums of absolute errors and of fourth powers are not known, so they are undefined.
    """
    pivot, tables = data.layout.pivot, data.tables[TEST][:1]
    if data.training_mean is not None:
        mean, basis = data.training_mean, TRAINING
    else:
        dev = data.tables[DEV][0].sum(axis=0)
        mean, basis = pivot.target + float(ratio(dev[3:4], dev[1:2])[0]), DEV_ROWS
    made = np.array(tables, dtype=np.float64)
    if data.rows is not None:
        target = np.asarray(data.rows.target, dtype=np.float64)
        known = np.isfinite(target)
        group, number = data.rows.group[known], made.shape[1]
        sums = summed(target[known], np.full(int(known.sum()), mean), pivot)
        made[0, :, 3:] = np.stack([np.bincount(group, weights=one, minlength=number) for one in sums], axis=-1)
        return made, basis
    away, weight, y, yy = mean - pivot.prediction, made[..., 1], made[..., 3], made[..., 5]
    shift = mean - pivot.target
    made[..., 4], made[..., 6], made[..., 7] = away * weight, away**2 * weight, away * y
    made[..., 8] = made[..., 10] = np.nan
    made[..., 9] = shift**2 * weight - 2 * shift * y + yy
    return made, basis


def collapsed_runs(data: StudyData) -> Flags:
    """Tell of each trial whether it has collapsed, from its dev rows alone."""
    return collapsed_tables(data.tables[DEV], data.layout, _can_be_right(data))


def collapsed_cells(data: StudyData, runs: Flags, members: list[Codes]) -> Flags:
    """Tell of each cell whether it has collapsed: by the mean of its runs' dev counts, or half of its runs or more."""
    if not members:
        return np.zeros(0, dtype=bool)
    tables = data.tables[DEV]
    means = np.stack([tables[places].mean(axis=0) for places in members])
    shares = np.array([runs[places].mean() for places in members])
    return collapsed_tables(means, data.layout, _can_be_right(data)) | (shares >= COLLAPSED_SHARE)


def collapsed_tables(tables: Floats, layout: Layout, can_be_right: bool = True) -> Flags:
    """Tell of each table ``[..., group, ...]`` whether what it counts is no better than a constant prediction."""
    if layout.task == "regression":
        told = moments(tables.sum(axis=-2, keepdims=True), ("everyone",), layout.pivot)
        r_squared = 1.0 - ratio(told.mean_squared_error, told.variance_target)[..., 0]
        return has_collapsed_regression(r_squared)
    if not can_be_right:
        return np.zeros(tables.shape[:-3], dtype=bool)
    return has_collapsed(tables.sum(axis=-3))


def _can_be_right(data: StudyData) -> bool:
    """Tell whether dev rows have classes that can be predicted; where they were kept from training, none can."""
    if data.layout.task == "regression":
        return True
    return bool(np.trace(data.tables[DEV].sum(axis=(0, 1))))
