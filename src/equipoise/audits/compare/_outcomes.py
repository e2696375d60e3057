"""The link to outcomes: whose predictions moved from before to after, and whether the score foretells it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from equipoise.audits.compare._result import CONFIDENCE, CompareReason, Move, OutcomeLink, OutcomeRecord, few_or_nobody
from equipoise.audits.compare._spec import CompareSpec
from equipoise.foundation.arrays import Floats, as_floats
from equipoise.foundation.errors import BadInput
from equipoise.foundation.reproducibility import stream
from equipoise.results import Status, because
from equipoise.stats import (
    auc_interval,
    clustered_auc,
    compare_with_null,
    mean_of_values,
    share_interval,
    shares_of_groups,
)
from equipoise.tallies.labels import Codes, factorise, is_fraction, ordered

MOST_CLASSES = 100
# Below so many units a side, the normal interval of an AUC is not to be trusted.
LEAST_UNITS = 10
LEAST_EFFECTIVE = 2


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Predictions before and after, as codes into classes or as numbers. Rows without both are not ``known``."""

    known: NDArray[np.bool_]
    moved: Floats
    classes: tuple[str, ...] = ()
    before: Codes | None = None
    after: Codes | None = None
    shift: Floats | None = None


def outcomes_of(before: Any, after: Any) -> Outcomes:
    """Tell classes from numbers, and who moved by how much."""
    coded = [factorise(column) for column in (before, after)]
    labels = {label for part in coded for label in part.labels if label is not None}
    if not labels:
        raise BadInput("Every prediction is missing", help="name other columns.")
    if len(labels) > MOST_CLASSES or any(is_fraction(label) for label in labels):
        return _of_numbers(before, after)
    names = tuple(ordered(labels))
    place = {label: number for number, label in enumerate(names)}
    first, second = (
        np.array([-1 if label is None else place[label] for label in part.labels], dtype=np.int64)[part.codes]
        for part in coded
    )
    known = (first >= 0) & (second >= 0)
    if not known.any():
        raise BadInput("No row has a prediction before and one after", help="check that the columns belong together.")
    return Outcomes(known, (first != second).astype(np.float64), names, first, second)


def _of_numbers(before: Any, after: Any) -> Outcomes:
    first, second = as_floats(before, "the prediction before"), as_floats(after, "the prediction after")
    known = np.isfinite(first) & np.isfinite(second)
    if not known.any():
        raise BadInput("No row has a prediction before and one after", help="check that the columns belong together.")
    shift = np.where(known, second - first, 0.0)
    return Outcomes(known, (shift != 0).astype(np.float64), shift=shift)


def outcome_records(outcomes: Outcomes, spec: CompareSpec) -> Iterator[OutcomeRecord]:
    """Yield a record for everyone, then for each group against everyone."""
    rows, least, draws = outcomes.known, spec.suppress_below, spec.draws
    held, generator = spec.units.only(rows), stream(spec.seed, "outcomes")
    amounts = outcomes.moved if outcomes.shift is None else np.abs(outcomes.shift)
    overall = float(amounts[rows].mean())
    yield _record(outcomes, None, None, rows, least)
    for attribute in spec.people.attributes:
        number, codes = len(attribute.groups), attribute.codes[rows]
        people = np.bincount(codes, minlength=number)
        observed = np.bincount(codes, weights=amounts[rows], minlength=number) / np.maximum(people, 1) - overall
        # Tested is a group's share of all that moved, against its share of people; shown is its mean minus theirs.
        scale = overall * len(codes) / np.maximum(people, 1)
        null = np.empty((0, number))
        if overall > 0:
            null = shares_of_groups(held, amounts[rows], codes, number, draws, generator).null
        tested = compare_with_null(observed / scale if overall > 0 else observed, null)
        tested_groups = [place for place in attribute.tested(include_missing=spec.include_missing)
                if draws and overall > 0 and max(least, 1) <= people[place] < len(codes)]  # fmt: skip
        for place, group in enumerate(attribute.groups):
            made = _record(outcomes, attribute.name, group, rows & (attribute.codes == place), least)
            if place not in tested_groups:
                yield made
                continue
            ends = share_interval(
                float(observed[place] / scale[place]), float(people[place] / len(codes)), float(tested.half[place])
            )
            yield replace(
                made,
                difference=float(observed[place]),
                low=ends[0] * float(scale[place]),
                high=ends[1] * float(scale[place]),
                interval="permutation",
                level=CONFIDENCE,
                p=float(tested.p[place]),
            )


def _record(
    outcomes: Outcomes, attribute: str | None, group: str | None, rows: NDArray[np.bool_], least: int
) -> OutcomeRecord:
    people = int(rows.sum())
    named: dict[str, Any] = {"attribute": attribute, "group": group}
    if people < max(least, 1):
        status, reason = few_or_nobody(least, CompareReason.NO_TWO_PREDICTIONS)
        return OutcomeRecord(
            **named, people=None if least > 1 else 0, moved=None, share_moved=math.nan,
            status=status, reason=reason,
        )  # fmt: skip
    moved = float(outcomes.moved[rows].sum())
    shift = None if outcomes.shift is None else outcomes.shift[rows]
    return OutcomeRecord(
        **named,
        people=people,
        moved=moved,
        share_moved=moved / people,
        mean_shift=None if shift is None else float(shift.mean()),
        mean_absolute_shift=None if shift is None else float(np.abs(shift).mean()),
        moves=tuple(_moves(outcomes, rows, least)),
    )


def _moves(outcomes: Outcomes, rows: NDArray[np.bool_], least: int) -> Iterator[Move]:
    if outcomes.before is None or outcomes.after is None:
        return
    number = len(outcomes.classes)
    cells = np.bincount(outcomes.before[rows] * number + outcomes.after[rows], minlength=number**2)
    for place in np.flatnonzero(cells):
        first, second = divmod(int(place), number)
        if first != second:
            people = int(cells[place])
            yield Move(
                before=outcomes.classes[first],
                after=outcomes.classes[second],
                people=people if people >= least else None,
            )


def link_of(outcomes: Outcomes, scores: Floats, spec: CompareSpec) -> OutcomeLink:
    """Ask whether a low score foretells that a prediction moves; whether they moved is permuted over units."""
    rows = outcomes.known & ~np.isnan(scores)
    held, score, moved = spec.units.only(rows), scores[rows], outcomes.moved[rows] > 0
    amount = outcomes.moved[rows] if outcomes.shift is None else np.abs(outcomes.shift[rows])
    varied = len(score) > 1 and np.ptp(score) > 0 and np.ptp(amount) > 0
    correlation = float(stats.spearmanr(-score, amount).statistic) if varied else math.nan
    found: dict[str, Any] = {
        "people": int(rows.sum()), "moved": int(moved.sum()), "rank_correlation": correlation,
    }  # fmt: skip
    auc, spread = clustered_auc(held, -score, moved)
    if math.isnan(auc):
        why = because(CompareReason.ALL_MOVED if moved.all() else CompareReason.NONE_MOVED)
        return OutcomeLink(**found, auc=auc, low=None, high=None, status=Status.UNDEFINED, reason=why)
    sides = [int((held.sums(side) > 0).sum()) for side in (moved, ~moved)]
    if min(sides) < LEAST_UNITS or spread == 0:
        why = because(CompareReason.FEW_MOVED_OR_STAYED, least=LEAST_UNITS)
        return OutcomeLink(**found, auc=auc, low=None, high=None, status=Status.TOO_SMALL, reason=why)
    level = CONFIDENCE if 0 < auc < 1 and held.effective > LEAST_EFFECTIVE else None
    low, high = (None, None) if level is None else map(float, auc_interval(auc, spread, level, held.effective - 1))
    # With midranks, AUC - 1/2 is the mean rank of the movers, minus that of all, over the number that stayed.
    ranks = mean_of_values(
        held, moved.astype(np.float64), stats.rankdata(-score), spec.draws, stream(spec.seed, "link")
    )
    tested = compare_with_null(ranks.observed, ranks.null)
    return OutcomeLink(**found, auc=auc, low=low, high=high, level=level, p=float(tested.p[0]) if spec.draws else None)
