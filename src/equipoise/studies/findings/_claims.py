"""What may be said first of a study: typed claims, each resting on confirmed findings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import median
from typing import TYPE_CHECKING

from equipoise.stats import LimitedBy
from equipoise.studies.analysis import SEEDS

if TYPE_CHECKING:
    from equipoise.studies.findings._result import CellRecord, RankRecord, StudyRecord, StudyResult


Under = tuple[str, str]


class ClaimKind(StrEnum):
    """What a claim says."""

    # Of the whole study.
    ALL_COLLAPSED = "all collapsed"
    NO_BASELINE = "no baseline"
    UNDEFINED = "distance undefined"
    NOTHING_CONFIRMED = "nothing confirmed"
    # Of a treatment, on a measure.
    BETTER = "better"
    WORSE = "worse"
    COLLAPSED = "collapsed"
    # Of a condition: which treatment comes nearest to the optimum.
    NEAREST = "nearest"
    AMONG = "nearest is among"
    NOT_SEPARABLE = "nearest not separable"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedsNeeded:
    """How many seeds of each treatment would detect a change with a power of 0.8 at the level that decides.

    ``seeds`` is the median over the comparisons on a measure, ``most`` that of the treatment that needs most. Both are
    None where no number of seeds would do, and ``limited_by`` says what most comparisons lack.
    """

    change: float
    measure: str
    comparisons: int
    seeds: int | None
    most: int | None = None
    most_of: str | None = None
    limited_by: LimitedBy = LimitedBy.SEEDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One thing that a report may say.

    ``treatments`` are those it is about (of ``AMONG``, the set that contains the nearest), ``conditions`` and
    ``learners`` what it holds under, ``changes`` from the baseline under each of them. ``runs`` is how many seeds (or
    identical runs, as ``unit`` says) it rests on, ``needed`` how many would detect a change worth detecting.
    """

    kind: ClaimKind
    treatments: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    learners: tuple[str, ...] = ()
    measure: str | None = None
    changes: tuple[float, ...] = ()
    unit: str | None = None
    runs: int | None = None
    needed: SeedsNeeded | None = None
    elsewhere: int = 0

    @property
    def unders(self) -> tuple[Under, ...]:
        """The conditions, each with its learner."""
        return tuple(zip(self.conditions, self.learners, strict=True))


def claims_of(result: StudyResult) -> tuple[Claim, ...]:
    """Return everything that may be said, in the order in which it is said."""
    cells = [cell for cell in result.cells if cell.chosen]
    if cells and all(cell.collapsed for cell in cells):
        return (Claim(kind=ClaimKind.ALL_COLLAPSED, treatments=_names(cell.treatment for cell in cells)),)
    standings = tuple(standing_of(result, under) for under in result.unders)
    collapsed = tuple(collapsed_claims(result))
    if all(standing.kind is ClaimKind.UNDEFINED for standing in standings):
        return (Claim(kind=ClaimKind.UNDEFINED), *collapsed, *change_claims(result))
    if not any(record.verdict is not None for record in result.records):
        return (Claim(kind=ClaimKind.NO_BASELINE), *collapsed, *standings)
    changes = tuple(change_claims(result))
    main = (result.performance[0], result.fairness, result.distance)
    shown = any(change.measure in main for change in changes)
    if not shown and not any(standing.kind in (ClaimKind.NEAREST, ClaimKind.AMONG) for standing in standings):
        return (nothing_confirmed(result), *changes, *collapsed, *standings)
    return (*changes, *collapsed, *standings)


def change_claims(result: StudyResult, attribute: tuple[str, ...] | None = None) -> Iterator[Claim]:
    """Yield confirmed changes, for the better first, performance, fairness and distance before other measures.

    They are about the study's main attribute and performance, or about another ``attribute``.

    A change for the better of a cell that has collapsed is none: a constant prediction is fair to everybody.
    """
    collapsed = {_cell_key(cell) for cell in result.cells if cell.chosen and cell.collapsed}
    main = (result.fairness, result.performance[0], result.distance)
    about = ((), result.attribute) if attribute is None else (attribute,)
    records_by_change: dict[tuple[bool, str, str], list[StudyRecord]] = {}
    for record in result.records:
        if not record.chosen or record.attribute not in about:
            continue
        if record.good is None or (record.good and _record_key(record) in collapsed):
            continue
        records_by_change.setdefault((record.good, record.treatment, record.measure), []).append(record)
    rank = {measure: at for at, measure in enumerate(main)}
    order = sorted(
        records_by_change,
        key=lambda key: (not key[0], key[2] not in main, -len(records_by_change[key]), rank.get(key[2], 0)),
    )
    for good, treatment, measure in order:
        same_change = records_by_change[good, treatment, measure]
        yield Claim(
            kind=ClaimKind.BETTER if good else ClaimKind.WORSE, treatments=(treatment,), measure=measure,
            conditions=tuple(changed.condition for changed in same_change),
            learners=tuple(changed.learner for changed in same_change),
            changes=tuple(changed.change or 0.0 for changed in same_change), unit=same_change[0].unit,
            runs=_runs(same_change[0]),
        )  # fmt: skip


def collapsed_claims(result: StudyResult) -> Iterator[Claim]:
    """Yield which treatments have collapsed to a constant prediction on dev rows, and where."""
    cells_by_treatment: dict[str, list[CellRecord]] = {}
    for cell in result.cells:
        if cell.chosen and cell.collapsed:
            cells_by_treatment.setdefault(cell.treatment, []).append(cell)
    for treatment, collapsed_cells in cells_by_treatment.items():
        yield Claim(
            kind=ClaimKind.COLLAPSED, treatments=(treatment,),
            conditions=tuple(cell.condition for cell in collapsed_cells),
            learners=tuple(cell.learner for cell in collapsed_cells),
        )  # fmt: skip


def standing_of(result: StudyResult, under: Under) -> Claim:
    """Say which treatment comes nearest to the optimum under a condition, or that none is separable from the rest.

    A treatment is nearest where its distance is confirmed to be less than the baseline's and it alone may be the best
    (Hsu's comparisons, at the threshold divided by the number of conditions). The baseline is where every other
    treatment is confirmed to be further away. A confirmed treatment that is not separable from others is named with
    them: the set that contains the nearest.
    """
    claim = Claim(
        kind=ClaimKind.UNDEFINED, conditions=(under[0],), learners=(under[1],), measure=result.distance
    )  # fmt: skip
    ranks = sorted(ranks_under(result, under), key=lambda rank: rank.rank)
    records = {record.treatment: record for record in _distances(result, under)}
    if not ranks:
        cells = result.chosen_cells.get(under, [])
        all_collapsed = bool(cells) and all(cell.collapsed for cell in cells)
        return replace(claim, kind=ClaimKind.ALL_COLLAPSED) if all_collapsed else claim
    compared = [record for record in records.values() if record.verdict is not None]
    if not compared:
        return replace(claim, kind=ClaimKind.NO_BASELINE)
    best = ranks[0]
    claim = replace(claim, kind=ClaimKind.NOT_SEPARABLE, unit=compared[0].unit, runs=_runs(compared[0]))
    if best.treatment == result.baseline:
        further = [record.treatment for record in compared if record.good is False]
        rivals = {rank.treatment for rank in ranks} - {result.baseline}
        if rivals and rivals <= set(further):
            return replace(claim, kind=ClaimKind.NEAREST, treatments=(best.treatment,))
        return claim
    confirmed = {record.treatment: record for record in compared if record.good}
    if best.treatment not in confirmed:
        return claim
    among = tuple(
        rank.treatment for rank in ranks
        if rank is best or (rank.may_be_best is not False and rank.treatment != result.baseline)
    )  # fmt: skip
    kind = ClaimKind.NEAREST if among == (best.treatment,) and best.may_be_best else ClaimKind.AMONG
    named = among
    changes = (confirmed[best.treatment].change or 0.0,)
    return replace(claim, kind=kind, treatments=named, changes=changes)


def nothing_confirmed(result: StudyResult) -> Claim:
    """Say that no treatment differs from the baseline on the main measures, and what would be needed to tell."""
    judged = [record for record in result.records if record.verdict is not None]
    main = (result.performance[0], result.fairness, result.distance)
    elsewhere = sum(record.good is not None and record.measure not in main for record in judged)
    runs = [_runs(record) for record in judged]
    unit = judged[0].unit if len({record.unit for record in judged}) == 1 else SEEDS
    return Claim(
        kind=ClaimKind.NOTHING_CONFIRMED, treatments=(result.baseline,), unit=unit,
        runs=round(median(runs)) if runs else None, needed=seeds_needed(result) if unit == SEEDS else None,
        elsewhere=elsewhere,
    )  # fmt: skip


def seeds_needed(result: StudyResult) -> SeedsNeeded | None:
    """Say how many seeds would detect a change of fairness of the relevant size; None where nothing tells it.

    Comparisons in which either side has collapsed do not count.
    """
    collapsed = {_cell_key(cell) for cell in result.cells if cell.chosen and cell.collapsed}
    needs: list[tuple[float, StudyRecord]] = []
    for record in result.records:
        is_fairness = (record.measure, record.attribute) == (result.fairness, result.attribute) and record.chosen
        base = (record.condition, record.learner, str(record.baseline))
        above = base if base in {_cell_key(cell) for cell in result.cells} else (*base[:2], result.baseline)
        if not is_fairness or record.smallest_effect is None or _record_key(record) in collapsed or above in collapsed:
            continue
        needs.append((math.inf if record.runs_needed is None else float(record.runs_needed), record))
    if not needs:
        return None
    order = sorted(needs, key=lambda need: need[0])
    middle, most = order[(len(order) - 1) // 2], order[-1]
    limits = Counter(record.limited_by or LimitedBy.NOTHING for _, record in needs)
    seeds, largest = (None if math.isinf(need[0]) else int(need[0]) for need in (middle, most))
    assert middle[1].smallest_effect is not None
    return SeedsNeeded(
        change=middle[1].smallest_effect, measure=result.fairness, comparisons=len(needs), seeds=seeds,
        most=None if seeds is None else largest, most_of=None if seeds is None else most[1].treatment,
        limited_by=middle[1].limited_by or limits.most_common(1)[0][0],
    )  # fmt: skip


def ranks_under(result: StudyResult, under: Under) -> list[RankRecord]:
    """Return the ranks by distance to the optimum under a condition, of those that have one."""
    return [rank for rank in result.distance_ranks.get(under, ()) if not math.isnan(rank.rank)]


def _distances(result: StudyResult, under: Under) -> Iterator[StudyRecord]:
    for cell in result.chosen_cells.get(under, ()):
        spoken = result.spoken_for.get((*under, cell.treatment, result.distance, result.attribute))
        if spoken is not None:
            yield spoken[1]


def _runs(record: StudyRecord) -> int:
    """Return how many seeds a comparison rests on, or identical runs of one."""
    if record.unit != SEEDS:
        return record.runs
    return record.seeds if record.pairs is None else record.pairs


def _names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _cell_key(cell: CellRecord) -> tuple[str, str, str]:
    return cell.condition, cell.learner, cell.treatment


def _record_key(record: StudyRecord) -> tuple[str, str, str]:
    return record.condition, record.learner, record.treatment
