"""Sums of a regression: moments of target, prediction and error in each group."""

from __future__ import annotations

import numpy as np

from equipoise.audits._spec import AuditSpec
from equipoise.audits.axes import axes_of, named, notes_on_clusters
from equipoise.audits.checks import check_counts
from equipoise.audits.number_rows import fits, number_rows
from equipoise.audits.tallies import Tallies
from equipoise.cohorts.tables import Axis
from equipoise.foundation.errors import BadInput
from equipoise.tallies.counts import CLUSTER
from equipoise.tallies.residuals import Pivot


def sum_numbers(spec: AuditSpec) -> Tallies:
    """Sum a regression's numbers by group (and by cluster, where rows belong together)."""
    axes, words = axes_of(spec)
    everyone = named(spec.table.count(axes, spec.weight), spec, words)
    check_counts(spec, everyone)
    target, prediction = spec.target[0], spec.prediction[0]
    for column in (target, prediction):
        span = spec.table.span(column)
        if np.isnan(span.low):
            raise BadInput(f"Every value of the column {column!r} is missing", help="name another column.")
        if not np.isfinite([span.low, span.high]).all():
            raise BadInput(f"The column {column!r} has infinite values", available="finite numbers")
    pivot = Pivot(*spec.table.means([target, prediction]))
    summed = axes if spec.cluster is None else {**axes, CLUSTER: Axis(spec.cluster)}
    sums = named(spec.table.sum_residuals(summed, target, prediction, pivot, spec.weight), spec, words)
    lost = everyone.rows - sums.rows
    dropped = {"target or prediction": lost} if lost else {}
    if not sums.rows:
        raise BadInput("No row has both a target and a prediction", help="check that the columns belong together.")
    notes = () if spec.cluster is None else tuple(notes_on_clusters(sums))
    rows = number_rows(spec, axes, words) if fits(spec, everyone.rows) else None
    return Tallies(notes=notes, residuals=sums, pivot=pivot, everyone=everyone, dropped=dropped, number_rows=rows)
