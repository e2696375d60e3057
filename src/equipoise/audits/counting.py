"""The tallies of an audit's rows: which rows are counted how."""

from __future__ import annotations

from equipoise.audits._spec import AuditSpec
from equipoise.audits.axes import without_missing
from equipoise.audits.checks import check_before_counting, check_counts
from equipoise.audits.class_counts import count_classes
from equipoise.audits.label_counts import count_labels
from equipoise.audits.number_sums import sum_numbers
from equipoise.audits.tallies import Tallies
from equipoise.foundation.errors import BadInput
from equipoise.tallies.counts import Counts
from equipoise.tallies.truths import check_same_classes, same_truths, truth_names


def tally(spec: AuditSpec) -> Tallies:
    """Count the rows that an audit is about."""
    check_before_counting(spec)
    if spec.task == "regression":
        return sum_numbers(spec)
    if spec.task == "multilabel":
        return count_labels(spec)
    return count_classes(spec)


def tallies_of_counts(spec: AuditSpec, counts: Counts) -> Tallies:
    """Take counts that a user tallied elsewhere."""
    if not counts.tables:
        raise BadInput("Nothing was counted yet", help="call update() with at least one batch first.")
    for cells in counts.tables.values():
        check_counts(spec, cells)
    named = {label: same_truths(cells, truth_names(cells)) for label, cells in counts.tables.items()}
    kept = {label: without_missing(cells) for label, cells in named.items()}
    for cells, _ in kept.values():
        check_same_classes(cells, "the target", "the prediction")
    dropped = next(iter(kept.values()))[1]
    return Tallies(
        counts={label: cells for label, (cells, _) in kept.items()},
        everyone=next(iter(named.values())),
        dropped=dropped,
    )
