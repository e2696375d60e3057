"""Multi-label tasks: means over labels, and their contrasts between groups with whole rows drawn again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from equipoise.audits._contrasts import (
    Contrast,
    clusters_behind,
    contrast_by_error,
    opponents,
    too_few_clusters,
    too_few_people,
)
from equipoise.audits._reasons import AuditReason
from equipoise.audits._small_groups import cluster_counts
from equipoise.audits._tallies import LabelRows
from equipoise.audits._view import View
from equipoise.foundation.arrays import ratio
from equipoise.measures.measure import get_measure
from equipoise.results import Record, Status, because, without_tests
from equipoise.stats import spread_of, unit_totals
from equipoise.tallies.counts import group_places
from equipoise.tallies.labels import Label, is_missing, shown

Floats = NDArray[np.float64]
CONTRASTED = ("selection_rate", "true_positive_rate", "false_positive_rate")


def label_contrasts(rows: LabelRows, view: View, generator: np.random.Generator, draws: int) -> Iterator[Contrast]:
    """Yield, for each main rate, the mean over labels of the difference between groups, with rows drawn again."""
    groups = view.compared.groups
    if len(groups) < 2:
        return
    place = group_places(rows.axes, view.attribute, groups)
    kept = place >= 0
    people = np.bincount(place[kept], minlength=len(groups)).astype(np.float64)
    units = _units(rows, place, kept, len(groups))
    totals = np.asarray(units.sum(axis=0), dtype=np.float64)[None]
    behind = None if rows.cluster is None else cluster_counts(units[:, : len(groups)], groups)
    drawn = unit_totals(units, generator, draws)
    pairs = opponents(view.compared.groups, view.reference, people)
    observed, samples = (_differences(sums, len(groups), rows.target.shape[1], pairs) for sums in (totals, drawn))
    for name in CONTRASTED:
        for number, (group, others, called) in enumerate(pairs):
            value = float(observed[name][0, number])
            spread = float(spread_of(samples[name][:, [number]])[0])
            clusters = None if behind is None else clusters_behind(behind, group, others, groups)
            few = too_few_people(min(people[group], people[others].sum()), view.least_people)
            undefined = np.isnan(value) or np.isnan(spread)
            about = {
                "measure": name, "alias": get_measure(name).alias, "group": groups[group], "against": called,
                **view.place(),
            }  # fmt: skip
            yield contrast_by_error(
                about, value, spread, undefined=because(AuditReason.NO_COMMON_LABEL) if undefined else None,
                few=few or (None if clusters is None else too_few_clusters(clusters)), clusters=clusters,
                how="bootstrap",
            )  # fmt: skip


def _units(rows: LabelRows, place: NDArray[np.int64], kept: NDArray[np.bool_], groups: int) -> sparse.csc_array:
    """Return a sparse row a unit (a row, or a cluster): its groups, and what is predicted, true and both, by label."""
    number, labels = int(kept.sum()), rows.target.shape[1]
    target, guess, own = rows.target[kept], rows.prediction[kept], place[kept]
    parts = [sparse.csc_array((np.ones(number), (np.arange(number), own)), shape=(number, groups))]
    for truth in (guess, target, target & guess):
        unit, label = np.nonzero(truth)
        columns = own[unit] * labels + label
        parts.append(sparse.csc_array((np.ones(len(unit)), (unit, columns)), shape=(number, groups * labels)))
    units = sparse.csc_array(sparse.hstack(parts, format="csc"))
    if rows.cluster is None:
        return units
    clusters, of_row = np.unique(rows.cluster[kept], return_inverse=True)
    together = sparse.csr_array((np.ones(number), (of_row, np.arange(number))), shape=(len(clusters), number))
    return sparse.csc_array(together @ units)


def _differences(sums: Floats, groups: int, labels: int, pairs: list[tuple[int, list[int], str]]) -> dict[str, Floats]:
    """Return each rate's mean difference over labels, ``[draw, pair]``."""
    people = sums[:, :groups, None]
    predicted, positives, found = (
        sums[:, groups + part * groups * labels : groups + (part + 1) * groups * labels].reshape(-1, groups, labels)
        for part in range(3)
    )
    parts = {
        "selection_rate": (predicted, np.broadcast_to(people, predicted.shape)),
        "true_positive_rate": (found, positives),
        "false_positive_rate": (predicted - found, people - positives),
    }
    made: dict[str, Floats] = {}
    for name, (numerator, denominator) in parts.items():
        columns = []
        for group, others, _ in pairs:
            own = ratio(numerator[:, group], denominator[:, group])
            rest = ratio(numerator[:, others].sum(axis=1), denominator[:, others].sum(axis=1))
            difference = own - rest
            known = ~np.isnan(difference)
            columns.append(ratio(np.where(known, difference, 0.0).sum(axis=1), known.sum(axis=1).astype(np.float64)))
        made[name] = np.stack(columns, axis=1)
    return made


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
    lost = [shown(record.label) for record in records if not record.defined or record.label in left_out]
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
