"""Scores of an audit, binned so that the AUC is exact wherever that is feasible.

Rows in memory, and files of up to a million rows, are ranked one by one where bins alone are not exact. Larger files
are counted inside the engine, in bins fitted to a sample of the scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from equipoise.audits._columns import finite_span, named_cells
from equipoise.audits._spec import AuditSpec
from equipoise.audits._tallies import Tallies, can_be_read
from equipoise.cohorts.tables import Axis, LazyTable, Span
from equipoise.tallies.cells import Cells
from equipoise.tallies.counts import TARGET, group_axis
from equipoise.tallies.labels import Label, same_truths
from equipoise.tallies.scores import (
    BIN,
    BINS,
    RankedScores,
    Scale,
    fitted_scale,
    range_of,
    scale_of_rows,
    scores_of,
    with_cuts,
)

# So many different scores of a larger file are sampled to fit its bins.
SAMPLED = 50_000
# A histogram of all groups has at most so many bins in all, but each group has at least the fewest.
MOST_CELLS = 2_000_000
FEWEST_BINS = 500
# A bin that can move the AUC by more than this is looked into for a score that many rows share.
LOOKED_INTO = 1e-5
MOST_RANGES = 100


@dataclass(frozen=True)
class BinnedScores:
    """Counts by group, target and bin; the bins; and rows by rank where bins alone would not give the exact AUC."""

    cells: Cells | None = None
    scale: Scale = field(default_factory=Scale)
    ranked: RankedScores | None = None


def bin_scores(
    spec: AuditSpec, keys: Mapping[str, Axis], words: Mapping[str, dict[Label, Label]],
    truths: Mapping[Label, Label], of_class: str, counted: Cells,
) -> BinnedScores:  # fmt: skip
    """Count the scores of an audit by these axes; ``counted`` are its rows by group."""
    assert spec.score is not None
    span = finite_span(
        spec.table, spec.score, "score column",
        help="replace them by the largest and the smallest finite score: ranks, and so the AUC, stay the same.",
    )  # fmt: skip
    bins = _affordable_bins(spec, counted)
    if can_be_read(spec.table, counted.rows):
        return _in_memory(spec, keys, words, truths, of_class, bins)
    scale = _fitted(spec, span, truths, of_class, bins, counted)
    cells = _tidy(spec.table.count_scores(keys, spec.score, scale, spec.weight), spec, words, truths)
    finer = _with_frequent_scores(spec, scale, cells, of_class)
    if finer is not scale:
        counts = spec.table.count_scores(keys, spec.score, finer, spec.weight)
        cells = _tidy(counts, spec, words, truths)
    return BinnedScores(cells, finer)


def auc_error(spec: AuditSpec, tallies: Tallies) -> tuple[int, float]:
    """Return how many bins the scores are counted in, and how far any AUC can be off for it: 0 where all are exact."""
    if tallies.scores is None or tallies.score_class is None:
        return 0, 0.0
    if tallies.scale.exact or tallies.ranked is not None:
        return len(tallies.scale.edges), 0.0
    worst = 0.0
    for attributes in spec.attributes:
        scores = scores_of(tallies.scores, attributes, tallies.score_class, tallies.scale, include_missing=True)
        worst = max(worst, float(scores.auc_bound().max()), float(scores.everyone.auc_bound().max()))
    return len(tallies.scale.edges), worst


def _affordable_bins(spec: AuditSpec, counted: Cells) -> int:
    """Return how many bins every group may have: fewer with very many groups."""
    groups = max(
        len(counted.marginal([group_axis(attribute) for attribute in attributes]).sums)
        for attributes in spec.attributes
    )
    return int(np.clip(MOST_CELLS // groups, FEWEST_BINS, BINS))


def _tidy(
    cells: Cells, spec: AuditSpec, words: Mapping[str, dict[Label, Label]], truths: Mapping[Label, Label]
) -> Cells:
    return same_truths(named_cells(cells, spec, words), truths)


def _in_memory(
    spec: AuditSpec, keys: Mapping[str, Axis], words: Mapping[str, dict[Label, Label]],
    truths: Mapping[Label, Label], of_class: str, bins: int,
) -> BinnedScores:  # fmt: skip
    assert spec.score is not None
    rows = spec.table.score_rows(keys, spec.score, spec.weight)
    ranked = RankedScores.from_rows(rows.axes, rows.scores, rows.weights)
    target = ranked.axes[TARGET]
    member = np.array([truths.get(label, label) == of_class for label in target.labels], dtype=bool)[target.codes]
    scale = scale_of_rows(ranked, member, bins)
    cells = _tidy(ranked.cells(scale), spec, words, truths)
    if scale.exact:
        return BinnedScores(cells, scale)
    for axis in rows.axes:
        names = {**words.get(axis, {}), **(truths if axis == TARGET else {})}
        ranked = ranked.renamed(axis, names).renamed(axis, dict.fromkeys(spec.missing))
    return BinnedScores(cells, scale, ranked)


def _fitted(
    spec: AuditSpec, span: Span, truths: Mapping[Label, Label], of_class: str, bins: int, counted: Cells
) -> Scale:
    """Return bins fitted to a sample of the scores; equally wide ones where the engine cannot sample."""
    assert isinstance(spec.table, LazyTable)
    assert spec.score is not None
    labels = {label for label in counted.axis(TARGET) if label is not None}
    sides = [[label for label in labels if (label == of_class) == member] for member in (False, True)]
    rare = min(sides, key=lambda side: counted.where(TARGET, side).rows)
    few = counted.where(TARGET, rare).rows <= bins // 2
    spelled = [label for label in (*truths, *rare) if truths.get(label, label) in rare] if few else []
    sample = spec.table.score_sample(spec.score, spec.target[0], SAMPLED, spelled)
    if not sample:
        return range_of(span.low, span.high)
    values, places = np.unique([score for _, score, _ in sample], return_inverse=True)
    member = np.array([truths.get(label, label) == of_class for label, _, _ in sample])
    rows = np.array([number for _, _, number in sample], dtype=np.float64)
    others, members = (
        np.bincount(places, weights=np.where(chosen, rows, 0.0), minlength=len(values)).astype(np.float64)
        for chosen in (~member, member)
    )
    return replace(fitted_scale(span.low, span.high, values, others, members, bins), exact=False)


def _with_frequent_scores(spec: AuditSpec, scale: Scale, cells: Cells, of_class: str) -> Scale:
    """Give scores that many rows share bins to themselves, where they blur the AUC; a sample can miss them."""
    if scale.cuts is None or scale.single is None:
        return scale
    assert isinstance(spec.table, LazyTable)
    assert spec.score is not None
    labels = [label for label in cells.axis(TARGET) if label is not None]
    bins = [str(place) for place in range(len(scale.cuts))]
    rows = cells.crossed([], [()], [TARGET, BIN], [labels, bins])[0, ..., 0]
    member = np.array([label == of_class for label in labels], dtype=bool)
    others, members = rows[~member].sum(axis=0), rows[member].sum(axis=0)
    tied = np.where(scale.single, 0.0, others * members) / max(2 * others.sum() * members.sum(), 1.0)
    blurred = [place for place in np.argsort(-tied)[:MOST_RANGES].tolist() if tied[place] > LOOKED_INTO]
    if not blurred:
        return scale
    ends = np.append(scale.cuts[1:], np.nextafter(scale.high, np.inf))
    least = max(2, int((others + members)[blurred].min() / 10))
    ranges = [(float(scale.cuts[place]), float(ends[place])) for place in blurred]
    frequent = spec.table.frequent_scores(spec.score, ranges, least)
    if not frequent:
        return scale
    alone = np.union1d(scale.cuts[scale.single], frequent)
    cuts = np.concatenate([scale.cuts, np.nextafter(frequent, np.inf)])
    return with_cuts(range_of(scale.low, scale.high), cuts, alone)
