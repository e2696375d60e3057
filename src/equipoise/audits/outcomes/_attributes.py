"""Everything told of one attribute: its records, their intervals and tests, and how many tests there will be.

Of a multi-label task also the means over labels, and their contrasts with whole rows drawn again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats

from equipoise.audits._contrasts import (
    CONTRASTED,
    Contrast,
    clusters_behind,
    contrast_by_error,
    number_of_contrasts,
    opponents,
    rate_contrasts,
    too_few_clusters,
    too_few_people,
)
from equipoise.audits._gap_tests import gap_tests
from equipoise.audits._multiple_testing import MultipleTesting, hypotheses
from equipoise.audits._reasons import AuditReason
from equipoise.audits._records import measures_for, overall_records, records_of, with_bootstrap_intervals
from equipoise.audits._scores import STATISTICS as SCORES
from equipoise.audits._scores import clustered_score_evidence, score_evidence, with_calibration
from equipoise.audits._spec import AuditSpec
from equipoise.audits._tallies import (
    ClusterCounts,
    LabelRows,
    Tallies,
    View,
    big_enough,
    cluster_counts,
    marked_approximate,
    suppressed,
)
from equipoise.audits._values import value_records
from equipoise.audits.outcomes._residuals import CONTRASTED as CONTRASTED_VALUES
from equipoise.audits.outcomes._residuals import STATISTICS as REGRESSION
from equipoise.audits.outcomes._residuals import clustered_residual_evidence, residual_evidence
from equipoise.foundation import Floats, ratio, stream
from equipoise.measures import get_measure
from equipoise.results import (
    Record,
    Status,
    all_reasons,
    because,
    without_tests,
)
from equipoise.stats import (
    bootstrap_totals,
    standard_deviation_of_draws,
)
from equipoise.tallies import (
    CLUSTER_AXIS,
    CONTROL_AXIS,
    PREDICTION_AXIS,
    ROWS,
    SPLIT_AXIS,
    SQUARES,
    TARGET_AXIS,
    WEIGHT,
    Cells,
    Confusion,
    Label,
    confusion_of,
    group_labels,
    group_name,
    is_missing,
    label_text,
    ordered,
    residuals_of,
    row_group_codes,
)

# So many numbers of drawn tables are held at once; beyond, fewer tables are drawn, but not fewer than this.
MOST_NUMBERS = 50_000_000
FEWEST_DRAWS = 200
# How often a lower bound may miss.
RISK = 0.05


def records_of_attribute(
    spec: AuditSpec, tallies: Tallies, attributes: list[str], favourable: str | None, split: str | None,
    testing: MultipleTesting, tests: int, control: str | None = None, strata: int = 1,
) -> list[Record]:  # fmt: skip
    """Return every record of one attribute (or of several crossed), and add its contrasts to the tests.

    ``tests`` is how many tests the report has in all.
    """
    first = attributes == spec.attributes[0] and control is None
    where = Scope(tuple(attributes), favourable, split, control, RISK / strata, tests)
    by_label = {
        label: _of_counts(spec, tallies, cells, where, label, testing, first=first)
        for label, cells in tallies.counts.items()
    }
    records = [record for of_label in by_label.values() for record in of_label]
    if tallies.multilabel:
        records += over_labels(by_label, strict=spec.strict)
    if tallies.label_rows is not None:
        label = next(iter(tallies.counts))
        generator = stream(spec.seed, "labels", *attributes)
        view = _count_view(spec, tallies, tallies.counts[label], where, label, generator, by_class=False)
        view = replace(view, label=None)
        testing.add(label_contrasts(tallies.label_rows, view, generator, spec.draws))
    if tallies.scores is not None and control is None:
        records += _of_scores(spec, tallies, where, testing, first=first)
    if tallies.residuals is not None:
        records += _of_residuals(spec, tallies, where, testing, first=first)
    return records


@dataclass(frozen=True)
class Scope:
    """Which attribute, class, split and stratum is told of."""

    attributes: tuple[str, ...]
    favourable: str | None
    split: str | None
    control: str | None
    risk: float
    tests: int = 1

    def view(self, spec: AuditSpec, reported: Any, compared: Any, **rest: Any) -> View:
        """Return the view of a tally, all groups and those that are compared."""
        reference = spec.reference.get(self.attributes[0]) if len(self.attributes) == 1 else None
        return View(
            attribute=self.attributes, reported=reported, compared=compared, split=self.split, control=self.control,
            reference=reference, least_people=spec.least_people, risk=self.risk, tests=self.tests, **rest,
        )  # fmt: skip


def _of_counts(
    spec: AuditSpec,
    tallies: Tallies,
    cells: Cells,
    where: Scope,
    label: Label,
    testing: MultipleTesting,
    *,
    first: bool,
) -> list[Record]:
    """Measures of predictions alone, then those that need the target: small classes hide more groups from those."""
    records: list[Record] = []
    generator = stream(spec.seed, "audit", *where.attributes, label, where.split, where.control)
    for needs in ("predictions", "counts") if TARGET_AXIS in cells.axes else ("predictions",):
        view = _count_view(spec, tallies, cells, where, label, generator, by_class=needs == "counts")
        measured = _measured_records(spec, view, needs, first=first)
        if spec.draws:
            measured = testing.add_gaps(gap_tests(measured, view, generator, spec.draws, where.tests), view.risk)
            measured = list(with_bootstrap_intervals(measured, view, generator, spec.draws))
            testing.add(rate_contrasts(view, needs))
        measured = list(marked_approximate(measured, view.behind))
        visible = big_enough(view.rows, spec.suppress_below, by_class=needs == "counts") if view.rows else []
        records += suppressed(measured, visible, spec.suppress_below)
    return records


def _measured_records(spec: AuditSpec, view: View, needs: str, *, first: bool) -> list[Record]:
    """Return the records of a view, of the measures that are reported; with those of everyone for the first."""
    every = [*records_of(view, (needs,)), *(overall_records(view, (needs,)) if first else ())]
    return [record for record in every if spec.reports(record.measure)]


def _count_view(
    spec: AuditSpec, tallies: Tallies, cells: Cells, where: Scope, label: Label, generator: np.random.Generator, *,
    by_class: bool,
) -> View:  # fmt: skip
    attributes, classes = list(where.attributes), tallies.classes_of(label)
    everybody, rows, squares = (
        confusion_of(cells, attributes, include_missing=True, classes=classes, column=column)
        for column in (WEIGHT, ROWS, SQUARES)
    )
    confusion = confusion_of(cells, attributes, include_missing=spec.include_missing, classes=classes)
    visible = big_enough(rows, spec.suppress_below, by_class=by_class)
    compared = confusion.only([group for group in confusion.groups if group in visible])
    samples, behind = _resampled_tables(tallies, where, label, everybody, generator, spec.draws)
    return where.view(
        spec, everybody, compared, rows=rows, squares=squares, resampled=samples, behind=behind, label=label,
        favourable=where.favourable, strict=spec.strict, variant=spec.variant,
    )  # fmt: skip


def _resampled_tables(
    tallies: Tallies, where: Scope, label: Label, shown: Confusion, generator: np.random.Generator, draws: int
) -> tuple[Confusion | None, ClusterCounts | None]:
    """Return the tables of clusters drawn with replacement, ``[draw, group, true, predicted]``, and their counts."""
    clusters = tallies.clusters.get(label)
    if clusters is None or not draws:
        return None, None
    axes = [f"group:{attribute}" for attribute in where.attributes]
    groups = group_labels(clusters, where.attributes, include_missing=True, only=shown.groups)
    outcome = [TARGET_AXIS, PREDICTION_AXIS] if shown.has_target else [PREDICTION_AXIS]
    units = clusters.crossed_by(CLUSTER_AXIS, axes, groups, outcome, [shown.classes] * len(outcome))
    number = max(FEWEST_DRAWS, min(draws, MOST_NUMBERS // max(shown.cells.size, 1)))
    totals = bootstrap_totals(units, generator, number).reshape(number, *shown.cells.shape)
    return replace(shown, cells=totals), cluster_counts(units, shown.groups)


def visible_groups(spec: AuditSpec, tallies: Tallies, attributes: Sequence[str]) -> list[str]:
    """Return the groups with enough rows to be shown."""
    rows = tallies.card_cells.marginal([f"group:{attribute}" for attribute in attributes])
    groups = group_labels(rows, attributes, include_missing=True)
    sizes = rows.crossed(rows.axes, groups, [], [])[:, ROWS]
    return [group_name(g) for g, size in zip(groups, sizes, strict=True) if size >= spec.suppress_below]


def _of_scores(
    spec: AuditSpec, tallies: Tallies, where: Scope, testing: MultipleTesting, *, first: bool
) -> list[Record]:
    assert tallies.scores is not None
    assert tallies.score_class is not None
    visible = visible_groups(spec, tallies, where.attributes)
    view = where.view(
        spec,
        tallies.histogram(where.attributes, include_missing=True),
        tallies.histogram(where.attributes, include_missing=spec.include_missing, only=visible),
    )
    measured = _measured_records(spec, view, "scores", first=first)
    generator = stream(spec.seed, "scores", *where.attributes, where.split)
    if spec.draws and spec.cluster is not None:
        evidence = clustered_score_evidence(view, tallies.scores, tallies.score_class, generator, spec.draws)
        measured = value_records(measured, view, SCORES, evidence, testing)
    elif spec.draws:
        measured = value_records(measured, view, SCORES, score_evidence(view, generator, spec.draws), testing)
        measured = list(with_calibration(measured, view, generator))
    return list(suppressed(measured, visible, spec.suppress_below))


def _of_residuals(
    spec: AuditSpec, tallies: Tallies, where: Scope, testing: MultipleTesting, *, first: bool
) -> list[Record]:
    assert tallies.residuals is not None
    of = (tallies.residuals, where.attributes, tallies.pivot)
    visible = visible_groups(spec, tallies, where.attributes)
    view = where.view(
        spec,
        residuals_of(*of, include_missing=True),
        residuals_of(*of, include_missing=spec.include_missing, only=visible),
    )
    measured = _measured_records(spec, view, "residuals", first=first)
    generator = stream(spec.seed, "residuals", *where.attributes, where.split, where.control)
    if spec.draws:
        evidence = (
            residual_evidence(view, tallies.number_rows, generator, spec.draws)
            if spec.cluster is None
            else clustered_residual_evidence(view, tallies.residuals, generator, spec.draws)
        )
        measured = value_records(measured, view, REGRESSION, evidence, testing)
    return list(suppressed(measured, visible, spec.suppress_below))


def records_of_control(
    spec: AuditSpec, tallies: Tallies, attributes: list[str], favourable: str | None, split: str | None,
    testing: MultipleTesting, tests: int,
) -> list[Record]:  # fmt: skip
    """Every gap within each value of the control column, and their mean weighted by the people in it."""
    cells = tallies.card_cells
    name = (spec.control or CONTROL_AXIS).removeprefix("group:")
    strata: dict[str, tuple[float, list[Record]]] = {}
    values = ordered({label for label in cells.axis(CONTROL_AXIS) if label is not None})
    for value in values:
        part = tallies.where(CONTROL_AXIS, value)
        control = f"{name}={value}"
        measured = records_of_attribute(spec, part, attributes, favourable, split, testing, tests, control, len(values))
        strata[control] = (float(part.card_cells.rows), measured)
    each = [record for _, measured in strata.values() for record in measured]
    return [*each, *_over_strata(name, strata)]


def _over_strata(control: str, strata: Mapping[str, tuple[float, Sequence[Record]]]) -> Iterator[Record]:
    """Yield each gap's mean over the strata where it is defined, weighted by the people in them.

    Strata have no row in common, so their p-values are put together by Fisher's method: groups were permuted within
    each. The bounds of the strata hold all together, and so does their mean.
    """
    by_test: dict[tuple[object, ...], list[tuple[str, float, Record]]] = {}
    for stratum, (people, records) in strata.items():
        for record in records:
            if record.kind in ("gap", "ratio"):
                key = (record.measure, record.attribute, record.scope, record.class_, record.label, record.split)
                by_test.setdefault(key, []).append((stratum, people, record))
    for stratum_records in by_test.values():
        defined = [(people, record.value) for _, people, record in stratum_records if record.defined]
        total = sum(people for people, _ in defined)
        value = sum(people * value for people, value in defined) / total if total else float("nan")
        lost = [stratum for stratum, _, record in stratum_records if not record.defined]
        low = _mean_bound([(people, record) for _, people, record in stratum_records if record.defined])
        yield replace(
            without_tests(stratum_records[0][2]),
            control=control,
            group=None,
            against=None,
            value=value,
            numerator=None,
            denominator=None,
            low=low,
            interval=None if low is None else "lower-bound",
            p=_together([record.p for _, _, record in stratum_records if record.p is not None]),
            status=Status.OK if defined else Status.UNDEFINED,
            reason=all_reasons(
                [
                    because(
                        AuditReason.MEAN_OVER_STRATA, kept=len(defined), total=len(stratum_records), control=control
                    ),
                    because(AuditReason.STRATA_LEFT_OUT, names=tuple(lost)) if lost else None,
                ]
            ),
        )


def _mean_bound(strata: Sequence[tuple[float, Record]]) -> float | None:
    """Return the weighted mean of the strata's lower bounds, where each has one."""
    bounds = [(people, record.low) for people, record in strata]
    defined = [(people, low) for people, low in bounds if low is not None]
    if not defined or len(defined) < len(bounds):
        return None
    return sum(people * low for people, low in defined) / sum(people for people, _ in defined)


def _together(p_values: Sequence[float]) -> float | None:
    """Return one p-value for independent ones (Fisher)."""
    return float(stats.combine_pvalues(p_values, method="fisher").pvalue) if p_values else None


COMPARING = ("gap", "ratio")


def planned_tests(spec: AuditSpec, tallies: Tallies, favourable: str | None) -> int:
    """Return how many tests the report will have at the most: gaps and contrasts of every attribute, split and label.

    Tests that say the same twice count once, as in the correction.
    """
    cells = tallies.card_cells
    splits, strata = (
        max(1, len([label for label in cells.axis(axis) if label is not None])) if axis in cells.axes else 1
        for axis in (SPLIT_AXIS, CONTROL_AXIS)
    )
    # Within a control column every stratum has its tests, and so has the mean over strata.
    views = splits * (1 if strata == 1 else 2 + strata)
    gaps = {label: len(set(hypotheses(list(_gaps(spec, tallies, label))))) for label in tallies.counts}
    rates, values = (sum(map(spec.reports, names)) for names in (CONTRASTED, CONTRASTED_VALUES))
    total = 0
    for attributes in spec.attributes:
        groups = len(group_labels(cells, attributes, include_missing=spec.include_missing))
        named = len(attributes) == 1 and attributes[0] in spec.reference
        contrasts = number_of_contrasts(groups, named=named)
        for label in tallies.counts:
            classes = len(tallies.classes_of(label))
            single = favourable is not None or classes == 2 or label is not None
            total += gaps[label] + rates * contrasts * (1 if single else classes)
        if tallies.label_rows is not None:
            total += rates * contrasts
        if tallies.scores is not None:
            total += _number_compared(spec, "scores") + contrasts * spec.reports("auc")
            total += groups * spec.reports("calibration_error")
        if tallies.residuals is not None:
            total += _number_compared(spec, "residuals") + values * contrasts
    return max(1, total * views)


def _number_compared(spec: AuditSpec, needs: str) -> int:
    return len([m for m in measures_for((needs,)) if m.kind in COMPARING and spec.reports(m.name)])


def _gaps(spec: AuditSpec, tallies: Tallies, label: Label) -> Iterator[Record]:
    """Yield a record for every gap of a table, whatever its value."""
    classes = tallies.classes_of(label)
    for measure in measures_for(("predictions", "counts")):
        if measure.kind not in COMPARING or not spec.reports(measure.name):
            continue
        for name in (None, *(classes if measure.classwise else ())):
            yield Record(measure=measure.name, kind=measure.kind, value=0.0, class_=name, label=label)


CONTRASTED_LABELS = ("selection_rate", "true_positive_rate", "false_positive_rate")


def label_contrasts(rows: LabelRows, view: View, generator: np.random.Generator, draws: int) -> Iterator[Contrast]:
    """Yield, for each main rate, the mean over labels of the difference between groups, with rows drawn again."""
    groups = view.compared.groups
    if len(groups) < 2:
        return
    group_codes = row_group_codes(rows.axes, view.attribute, groups)
    has_group = group_codes >= 0
    people = np.bincount(group_codes[has_group], minlength=len(groups)).astype(np.float64)
    units = _units(rows, group_codes, has_group, len(groups))
    totals = np.asarray(units.sum(axis=0), dtype=np.float64)[None]
    behind = None if rows.cluster is None else cluster_counts(units[:, : len(groups)], groups)
    resampled = bootstrap_totals(units, generator, draws)
    pairs = opponents(view.compared.groups, view.reference, people)
    observed, samples = (_differences(sums, len(groups), rows.target.shape[1], pairs) for sums in (totals, resampled))
    for name in CONTRASTED_LABELS:
        for number, (group, others, called) in enumerate(pairs):
            value = float(observed[name][0, number])
            spread = float(standard_deviation_of_draws(samples[name][:, [number]])[0])
            clusters = None if behind is None else clusters_behind(behind, group, others, groups)
            few = too_few_people(min(people[group], people[others].sum()), view.least_people)
            undefined = np.isnan(value) or np.isnan(spread)
            about = {
                "measure": name, "alias": get_measure(name).alias, "group": groups[group], "against": called,
                **view.record_fields(),
            }  # fmt: skip
            yield contrast_by_error(
                about, value, spread, undefined=because(AuditReason.NO_COMMON_LABEL) if undefined else None,
                few=few or (None if clusters is None else too_few_clusters(clusters)), clusters=clusters,
                method="bootstrap",
            )  # fmt: skip


def _units(
    rows: LabelRows, group_codes: NDArray[np.int64], has_group: NDArray[np.bool_], groups: int
) -> sparse.csc_array:
    """Return a sparse row a unit (a row, or a cluster): its groups, and what is predicted, true and both, by label."""
    number, labels = int(has_group.sum()), rows.target.shape[1]
    target, guess, codes = rows.target[has_group], rows.prediction[has_group], group_codes[has_group]
    parts = [sparse.csc_array((np.ones(number), (np.arange(number), codes)), shape=(number, groups))]
    for truth in (guess, target, target & guess):
        unit, label = np.nonzero(truth)
        columns = codes[unit] * labels + label
        parts.append(sparse.csc_array((np.ones(len(unit)), (unit, columns)), shape=(number, groups * labels)))
    units = sparse.csc_array(sparse.hstack(parts, format="csc"))
    if rows.cluster is None:
        return units
    clusters, of_row = np.unique(rows.cluster[has_group], return_inverse=True)
    together = sparse.csr_array((np.ones(number), (of_row, np.arange(number))), shape=(len(clusters), number))
    return sparse.csc_array(together @ units)


def _differences(sums: Floats, groups: int, labels: int, pairs: list[tuple[int, list[int], str]]) -> dict[str, Floats]:
    """Return each rate's mean difference over labels, ``[draw, pair]``."""
    people = sums[:, :groups, None]
    predicted, positives, hits = (
        sums[:, groups + part * groups * labels : groups + (part + 1) * groups * labels].reshape(-1, groups, labels)
        for part in range(3)
    )
    parts = {
        "selection_rate": (predicted, np.broadcast_to(people, predicted.shape)),
        "true_positive_rate": (hits, positives),
        "false_positive_rate": (predicted - hits, people - positives),
    }
    differences: dict[str, Floats] = {}
    for name, (numerator, denominator) in parts.items():
        columns = []
        for group, others, _ in pairs:
            rates = ratio(numerator[:, group], denominator[:, group])
            rest = ratio(numerator[:, others].sum(axis=1), denominator[:, others].sum(axis=1))
            difference = rates - rest
            is_defined = ~np.isnan(difference)
            columns.append(
                ratio(np.where(is_defined, difference, 0.0).sum(axis=1), is_defined.sum(axis=1).astype(np.float64))
            )
        differences[name] = np.stack(columns, axis=1)
    return differences


# The rates that are also pooled over labels before they are divided.
MICRO = ("positive_predictive_value", "true_positive_rate", "f1", "accuracy")


def over_labels(by_label: Mapping[Label, Sequence[Record]], *, strict: bool) -> Iterator[Record]:
    """Yield the mean over labels of everything that is told label by label, and pooled (micro) rates."""
    together: dict[tuple[object, ...], list[Record]] = {}
    for records in by_label.values():
        for record in records:
            if _one_per_label(record):
                key = (record.measure, record.kind, record.attribute, record.group if _of_group(record) else None)
                together.setdefault((*key, record.split, record.control), []).append(record)
    untold = _labels_untold(together.values())
    for records in together.values():
        yield _mean(records, untold.get(records[0].measure, set()), strict=strict)
        if records[0].measure in MICRO and records[0].kind == "rate":
            yield _pooled(records)


def _labels_untold(together: Iterable[Sequence[Record]]) -> dict[str, set[Label]]:
    """Return, for each rate, the labels that are undefined in some group: no group's mean takes them."""
    untold: dict[str, set[Label]] = {}
    for records in together:
        if records[0].kind == "rate" and records[0].group is not None and not is_missing(records[0].group):
            untold.setdefault(records[0].measure, set()).update(r.label for r in records if not r.defined)
    return untold


def _one_per_label(record: Record) -> bool:
    """Classwise numbers speak of the label's presence; a summary over both classes of a label is not averaged."""
    return record.kind in ("rate", "gap", "ratio") and (
        get_measure(record.measure).classwise or record.measure.startswith("accuracy")
    )


def _of_group(record: Record) -> bool:
    return record.kind == "rate"


def _mean(records: Sequence[Record], untold: set[Label], *, strict: bool) -> Record:
    left_out = untold if records[0].kind == "rate" else set()
    defined = [record.value for record in records if record.defined and record.label not in left_out]
    lost = [label_text(record.label) for record in records if not record.defined or record.label in left_out]
    undefined = not defined or (strict and bool(lost))
    return replace(
        without_tests(records[0]),
        scope="overall",
        class_=None,
        label=None,
        group=records[0].group if _of_group(records[0]) else None,
        against=None,
        numerator=None,
        denominator=None,
        value=float("nan") if undefined else sum(defined) / len(defined),
        status=Status.UNDEFINED if undefined else Status.OK,
        reason=because(AuditReason.LABELS_LEFT_OUT, kept=len(defined), total=len(records), names=tuple(lost))
        if lost
        else None,
    )


def _pooled(records: Sequence[Record]) -> Record:
    numerator = sum(record.numerator or 0.0 for record in records)
    denominator = sum(record.denominator or 0.0 for record in records)
    return replace(
        without_tests(records[0]),
        variant="micro",
        scope="overall",
        class_=None,
        label=None,
        numerator=numerator,
        denominator=denominator,
        value=numerator / denominator if denominator else float("nan"),
        status=Status.OK if denominator else Status.UNDEFINED,
        reason=None if denominator else because(AuditReason.NO_LABEL_HAS_ANYBODY),
    )
