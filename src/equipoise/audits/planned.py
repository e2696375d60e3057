"""How many tests an audit will make: known before anything is drawn, so that the number of draws can be fixed."""

from __future__ import annotations

from collections.abc import Iterator

from equipoise.audits._multiple_testing import hypotheses
from equipoise.audits._spec import AuditSpec
from equipoise.audits._tallies import Tallies
from equipoise.audits.contrasts import CONTRASTED
from equipoise.audits.records import measures_for
from equipoise.audits.residual_evidence import CONTRASTED as CONTRASTED_VALUES
from equipoise.results import Record
from equipoise.tallies.counts import CONTROL, SPLIT, group_labels
from equipoise.tallies.labels import Label

COMPARING = ("gap", "ratio")


def planned_tests(spec: AuditSpec, tallies: Tallies, favourable: str | None) -> int:
    """Return how many tests the report will have at the most: gaps and contrasts of every attribute, split and label.

    Tests that say the same twice count once, as in the correction.
    """
    cells = tallies.card_cells
    splits, strata = (
        max(1, len([label for label in cells.axis(axis) if label is not None])) if axis in cells.axes else 1
        for axis in (SPLIT, CONTROL)
    )
    # Within a control column every stratum has its tests, and so has the mean over strata.
    views = splits * (1 if strata == 1 else 2 + strata)
    gaps = {label: len(set(hypotheses(list(_gaps(spec, tallies, label))))) for label in tallies.counts}
    rates, values = (sum(map(spec.reports, names)) for names in (CONTRASTED, CONTRASTED_VALUES))
    total = 0
    for attributes in spec.attributes:
        groups = len(group_labels(cells, attributes, include_missing=spec.include_missing))
        named = len(attributes) == 1 and attributes[0] in spec.reference
        contrasts = 0 if groups < 2 else 1 if groups == 2 else groups - 1 if named else groups
        for label in tallies.counts:
            classes = len(tallies.classes_of(label))
            single = favourable is not None or classes == 2 or label is not None
            total += gaps[label] + rates * contrasts * (1 if single else classes)
        if tallies.label_rows is not None:
            total += rates * contrasts
        if tallies.scores is not None:
            total += _compared(spec, "scores") + contrasts * spec.reports("auc")
            total += groups * spec.reports("calibration_error")
        if tallies.residuals is not None:
            total += _compared(spec, "residuals") + values * contrasts
    return max(1, total * views)


def _compared(spec: AuditSpec, needs: str) -> int:
    return len([m for m in measures_for((needs,)) if m.kind in COMPARING and spec.reports(m.name)])


def _gaps(spec: AuditSpec, tallies: Tallies, label: Label) -> Iterator[Record]:
    """Yield a record for every gap of a table, whatever its value."""
    classes = tallies.classes_of(label)
    for measure in measures_for(("predictions", "counts")):
        if measure.kind not in COMPARING or not spec.reports(measure.name):
            continue
        for name in (None, *(classes if measure.classwise else ())):
            yield Record(measure=measure.name, kind=measure.kind, value=0.0, class_=name, label=label)
