"""Contrasts of a multi-label task over all its labels: a row has many labels, so whole rows are drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from equipoise.audits.cluster_counts import NO_SPREAD, cluster_counts
from equipoise.audits.contrasts import (
    Contrast,
    clusters_behind,
    drawn_contrast,
    normal_p,
    opponents,
    too_few_clusters,
)
from equipoise.audits.view import View
from equipoise.measures.measure import get_measure
from equipoise.results import Reason, Record, Status
from equipoise.stats import spread_of, unit_totals
from equipoise.tallies.confusion import ratio
from equipoise.tallies.counts import group_name
from equipoise.tallies.factorise import Coded

Floats = NDArray[np.float64]
CONTRASTED = ("selection_rate", "true_positive_rate", "false_positive_rate")


@dataclass(frozen=True, eq=False)
class LabelRows:
    """Rows whose labels are all known: what is true and what was predicted ``[row, label]``, groups and clusters."""

    target: NDArray[np.bool_]
    prediction: NDArray[np.bool_]
    groups: Mapping[str, Coded]
    cluster: NDArray[np.int64] | None = None


def label_contrasts(rows: LabelRows, view: View, generator: np.random.Generator, draws: int) -> Iterator[Contrast]:
    """Yield, for each main rate, the mean over labels of the difference between groups, with rows drawn again."""
    groups = view.compared.groups
    if len(groups) < 2:
        return
    place = _group_of_each_row(rows, view.attribute, groups)
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
            few: Reason | str | None = (
                "too few people" if min(people[group], people[others].sum()) < view.least_people else None
            )
            few = few or (None if clusters is None else too_few_clusters(clusters))
            undefined = np.isnan(value) or np.isnan(spread)
            untested = few or (NO_SPREAD if spread == 0 else None)
            record = Record(
                measure=name,
                alias=get_measure(name).alias,
                kind="contrast",
                group=groups[group],
                against=called,
                value=value,
                status=Status.UNDEFINED if undefined else Status.TOO_SMALL if few else Status.OK,
                reason="no label is defined on both sides" if undefined else untested,
                **view.place(),
            )
            if clusters is not None:
                made = drawn_contrast(record, spread, clusters)
            else:
                made = Contrast(record, normal_p(value, spread), None, spread if spread > 0 else np.nan, "bootstrap")
            yield replace(made, p=float("nan")) if undefined or few else made


def _group_of_each_row(rows: LabelRows, attribute: tuple[str, ...], groups: tuple[str, ...]) -> NDArray[np.int64]:
    """Return the place of each row's group; -1 where it is in none of those compared."""
    columns = [rows.groups[name] for name in attribute]
    index = {group: place for place, group in enumerate(groups)}
    if len(columns) == 1:
        names = np.array([index.get(group_name([label]), -1) for label in columns[0].labels], dtype=np.int64)
        return names[columns[0].codes]
    labels = zip(*[[column.labels[code] for code in column.codes] for column in columns], strict=True)
    return np.array([index.get(group_name(label), -1) for label in labels], dtype=np.int64)


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
