"""What scores add: every measure as a function of the threshold, and calibration per group."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from equipoise.audits.records import measures_for
from equipoise.audits.result import CalibrationPoint, Curve
from equipoise.measures.measure import Floats, Measure
from equipoise.measures.ranking import CALIBRATION_BINS, calibration_curve
from equipoise.tallies.confusion import ratio
from equipoise.tallies.scores import Scores

POINTS = 101


def threshold_curves(
    scores: Scores, attribute: tuple[str, ...], split: str | None, classes: tuple[str, str], member: str
) -> Iterator[Curve]:
    """Yield the curve of every measure of counts, for the class the score speaks for."""
    thresholds = np.linspace(scores.scale.low, scores.scale.high, POINTS)
    if scores.scale.probabilities:
        thresholds = np.arange(POINTS) / (POINTS - 1)
    table = scores.confusion_at(thresholds, classes)
    place = classes.index(member)
    for measure in measures_for(("predictions", "counts")):
        values = _values(measure, table, place)
        groups = table.groups if measure.kind == "rate" else (None,)
        for column, group in enumerate(groups):
            line = values[:, column] if measure.kind == "rate" else values
            yield Curve(
                measure.name,
                measure.alias,
                attribute,
                group,
                member,
                split,
                tuple(thresholds.tolist()),
                tuple(line.tolist()),
            )


def _values(measure: Measure, table: object, place: int) -> Floats:
    computed = measure.compute(table)
    values = ratio(*computed) if measure.kind == "rate" else np.asarray(computed)
    return values[..., place] if measure.classwise else values


def calibration_points(scores: Scores, attribute: tuple[str, ...], split: str | None) -> Iterator[CalibrationPoint]:
    """Yield the calibration of each group, where scores are probabilities; bins without anybody are left out."""
    if not scores.scale.probabilities:
        return
    curve = calibration_curve(scores)
    for place, group in enumerate(scores.groups):
        for step in range(CALIBRATION_BINS):
            weight = float(curve.weight[place, step])
            if weight > 0:
                yield CalibrationPoint(
                    attribute=attribute,
                    group=group,
                    split=split,
                    low=step / CALIBRATION_BINS,
                    high=(step + 1) / CALIBRATION_BINS,
                    mean_score=float(curve.mean_score[place, step]),
                    observed=float(curve.observed[place, step]),
                    weight=weight,
                )
