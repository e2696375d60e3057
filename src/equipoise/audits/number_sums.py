"""Sums of a regression: moments of target, prediction and error in each group."""

from __future__ import annotations

import numpy as np

from equipoise.audits.axes import axes_of, named, notes_on_clusters
from equipoise.audits.checks import check_counts
from equipoise.audits.number_rows import fits, number_rows
from equipoise.audits.question import Question
from equipoise.audits.tallies import Tallies
from equipoise.cohorts.tables import Axis
from equipoise.foundation.errors import BadInput
from equipoise.tallies.counts import CLUSTER
from equipoise.tallies.residuals import Pivot


def sum_numbers(question: Question) -> Tallies:
    """Sum a regression's numbers by group (and by cluster, where rows belong together)."""
    axes, words = axes_of(question)
    everyone = named(question.table.count(axes, question.weight), question, words)
    check_counts(question, everyone)
    target, prediction = question.target[0], question.prediction[0]
    for column in (target, prediction):
        span = question.table.span(column)
        if np.isnan(span.low):
            raise BadInput(f"Every value of the column {column!r} is missing", help="name another column.")
        if not np.isfinite([span.low, span.high]).all():
            raise BadInput(f"The column {column!r} has infinite values", available="finite numbers")
    pivot = Pivot(*question.table.means([target, prediction]))
    summed = axes if question.cluster is None else {**axes, CLUSTER: Axis(question.cluster)}
    sums = named(question.table.sum_residuals(summed, target, prediction, pivot, question.weight), question, words)
    lost = everyone.rows - sums.rows
    dropped = {"target or prediction": lost} if lost else {}
    if not sums.rows:
        raise BadInput("No row has both a target and a prediction", help="check that the columns belong together.")
    notes = () if question.cluster is None else tuple(notes_on_clusters(sums))
    rows = number_rows(question, axes, words) if fits(question, everyone.rows) else None
    return Tallies(notes=notes, residuals=sums, pivot=pivot, everyone=everyone, dropped=dropped, number_rows=rows)
