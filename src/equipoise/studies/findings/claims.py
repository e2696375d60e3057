"""What may be said first of a study: typed claims, each resting on confirmed findings.

Every function here is a pure function of records. Nothing is named best, fairer or worse unless a corrected test of the
test rows supports it; where nothing is confirmed, that is the claim, with what would be needed. Words are made from
claims afterwards (``sayings``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import median
from typing import TYPE_CHECKING

from equipoise.studies.findings.deciding import SeedsNeeded, least_seeds, seeds_needed
from equipoise.studies.findings.units import SEEDS

if TYPE_CHECKING:
    from equipoise.studies.findings.result import CellRecord, RankRecord, StudyRecord, StudyResult

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
class Claim:
    """One thing that a report may say.

    ``treatments`` are those it is about (of ``AMONG``, the set that contains the nearest), ``conditions`` and
    ``learners`` what it holds under, ``changes`` from the baseline under each of them. ``runs`` is how many seeds (or
    identical runs, as ``unit`` says) it rests on, ``needed`` how many would detect a change worth detecting, and
    ``least`` how many there must be before any difference can be confirmed.
    """

    kind: ClaimKind
    treatments: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    learners: tuple[str, ...] = ()
    measure: str | None = None
    changes: tuple[float, ...] = ()
    unit: str | None = None
    runs: int | None = None
    least: int | None = None
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
    if all(one.kind is ClaimKind.UNDEFINED for one in standings):
        return (Claim(kind=ClaimKind.UNDEFINED), *collapsed, *change_claims(result))
    if not any(record.verdict is not None for record in result.records):
        return (Claim(kind=ClaimKind.NO_BASELINE), *collapsed, *standings)
    changes = tuple(change_claims(result))
    main = (result.performance[0], result.fairness, result.distance)
    shown = any(one.measure in main for one in changes)
    if not shown and not any(one.kind in (ClaimKind.NEAREST, ClaimKind.AMONG) for one in standings):
        return (nothing_confirmed(result), *changes, *collapsed, *standings)
    return (*changes, *collapsed, *standings)


def change_claims(result: StudyResult) -> Iterator[Claim]:
    """Yield confirmed changes, for the better first, performance, fairness and distance before other measures.

    A change for the better of a cell that has collapsed is none: a constant prediction is fair to everybody.
    """
    collapsed = {_cell_key(cell) for cell in result.cells if cell.chosen and cell.collapsed}
    main = (result.fairness, result.performance[0], result.distance)
    found: dict[tuple[bool, str, str], list[StudyRecord]] = {}
    for record in result.records:
        if not record.chosen or record.attribute not in ((), result.attribute):
            continue
        if record.good is None or (record.good and _record_key(record) in collapsed):
            continue
        found.setdefault((record.good, record.treatment, record.measure), []).append(record)
    place = {measure: at for at, measure in enumerate(main)}
    order = sorted(found, key=lambda key: (not key[0], key[2] not in main, -len(found[key]), place.get(key[2], 0)))
    for good, treatment, measure in order:
        own = found[good, treatment, measure]
        yield Claim(
            kind=ClaimKind.BETTER if good else ClaimKind.WORSE, treatments=(treatment,), measure=measure,
            conditions=tuple(one.condition for one in own), learners=tuple(one.learner for one in own),
            changes=tuple(one.change or 0.0 for one in own), unit=own[0].unit, runs=_runs(own[0]),
        )  # fmt: skip


def collapsed_claims(result: StudyResult) -> Iterator[Claim]:
    """Yield which treatments have collapsed to a constant prediction on dev rows, and where."""
    found: dict[str, list[CellRecord]] = {}
    for cell in result.cells:
        if cell.chosen and cell.collapsed:
            found.setdefault(cell.treatment, []).append(cell)
    for treatment, own in found.items():
        yield Claim(
            kind=ClaimKind.COLLAPSED, treatments=(treatment,), conditions=tuple(cell.condition for cell in own),
            learners=tuple(cell.learner for cell in own),
        )  # fmt: skip


def standing_of(result: StudyResult, under: Under) -> Claim:
    """Say which treatment comes nearest to the optimum under a condition, or that none is separable from the rest.

    A treatment is nearest where its distance is confirmed to be less than the baseline's and it is the nearest in all
    but 5% of draws of runs and people (divided by the number of conditions). The baseline is where every other
    treatment is confirmed to be further away. A confirmed treatment that is not separable from others is named with
    them: the least set that contains the nearest in as many draws.
    """
    here = Claim(
        kind=ClaimKind.UNDEFINED, conditions=(under[0],), learners=(under[1],), measure=result.distance
    )  # fmt: skip
    ranks = sorted(ranks_under(result, under), key=lambda rank: rank.rank)
    records = {record.treatment: record for record in _distances(result, under)}
    if not ranks:
        cells = result.chosen_cells.get(under, [])
        gone = bool(cells) and all(cell.collapsed for cell in cells)
        return replace(here, kind=ClaimKind.ALL_COLLAPSED) if gone else here
    compared = [record for record in records.values() if record.verdict is not None]
    if not compared:
        return replace(here, kind=ClaimKind.NO_BASELINE)
    best = ranks[0]
    here = replace(here, kind=ClaimKind.NOT_SEPARABLE, unit=compared[0].unit, runs=_runs(compared[0]))
    if best.treatment == result.baseline:
        further = [record.treatment for record in compared if record.good is False]
        rivals = {rank.treatment for rank in ranks} - {result.baseline}
        if rivals and rivals <= set(further):
            return replace(here, kind=ClaimKind.NEAREST, treatments=(best.treatment,))
        return here
    confirmed = {record.treatment: record for record in compared if record.good}
    if best.treatment not in confirmed:
        return here
    sure = 1.0 - _threshold(result) / max(len(result.unders), 1)
    among = _credible([rank for rank in ranks if rank.treatment != result.baseline], sure)
    kind = ClaimKind.NEAREST if best.prob_best >= sure else ClaimKind.AMONG
    named = (best.treatment,) if kind is ClaimKind.NEAREST else among
    changes = (confirmed[best.treatment].change or 0.0,)
    return replace(here, kind=kind, treatments=named, changes=changes)


def nothing_confirmed(result: StudyResult) -> Claim:
    """Say that no treatment differs from the baseline on the main measures, and what would be needed to tell."""
    judged = [record for record in result.records if record.verdict is not None]
    comparisons = sum(record.p is not None and not math.isnan(record.p) for record in judged)
    main = (result.performance[0], result.fairness, result.distance)
    elsewhere = sum(record.good is not None and record.measure not in main for record in judged)
    runs = [_runs(record) for record in judged]
    unit = judged[0].unit if len({record.unit for record in judged}) == 1 else SEEDS
    needed = None
    if unit == SEEDS:
        needed = seeds_needed(
            list(_spreads(result)), comparisons=comparisons, measure=result.fairness, threshold=_threshold(result)
        )
    return Claim(
        kind=ClaimKind.NOTHING_CONFIRMED, treatments=(result.baseline,), unit=unit,
        runs=round(median(runs)) if runs else None, least=least_seeds(comparisons, _threshold(result)), needed=needed,
        elsewhere=elsewhere,
    )  # fmt: skip


def _spreads(result: StudyResult) -> Iterator[tuple[str, float, float, float]]:
    """Yield of each comparison on fairness: treatment, its spread over seeds, the baseline's, and that of people.

    Nothing is yielded where either side has collapsed, or where fairness was not tested over people.
    """
    collapsed = {_cell_key(cell) for cell in result.cells if cell.chosen and cell.collapsed}
    own = [
        record
        for record in result.records
        if (record.measure, record.attribute) == (result.fairness, result.attribute) and record.chosen
    ]
    spread = {_record_key(record): record.stdev for record in own}
    for record in own:
        under = (record.condition, record.learner)
        named = (*under, str(record.baseline))
        above = named if named in spread else (*under, result.baseline)
        base = spread.get(above)
        if record.verdict is None or record.people_untested or base is None:
            continue
        if _record_key(record) not in collapsed and above not in collapsed:
            people = record.spread_change_people
            yield record.treatment, record.stdev, base, 0.0 if people is None or math.isnan(people) else people


def ranks_under(result: StudyResult, under: Under) -> list[RankRecord]:
    """Return the ranks by distance to the optimum under a condition, of those that have one."""
    return [rank for rank in result.distance_ranks.get(under, ()) if not math.isnan(rank.rank)]


def _distances(result: StudyResult, under: Under) -> Iterator[StudyRecord]:
    for cell in result.chosen_cells.get(under, ()):
        found = result.spoken_for.get((*under, cell.treatment, result.distance, result.attribute))
        if found is not None:
            yield found[1]


def _credible(ranks: Sequence[RankRecord], sure: float) -> tuple[str, ...]:
    """Return the fewest treatments that together are the nearest in this share of the draws that name one of them."""
    order = sorted(ranks, key=lambda rank: -rank.prob_best)
    total = sum(rank.prob_best for rank in order)
    named: list[str] = []
    so_far = 0.0
    for rank in order:
        named.append(rank.treatment)
        so_far += rank.prob_best
        if so_far >= sure * total:
            break
    return tuple(named)


def _threshold(result: StudyResult) -> float:
    options = result.provenance.get("options")
    value = options.get("threshold") if isinstance(options, dict) else None
    return float(value) if isinstance(value, (int, float)) else 0.05


def _runs(record: StudyRecord) -> int:
    """Return how many seeds a comparison rests on, or identical runs of one."""
    return record.seeds if record.unit == SEEDS else record.runs


def _names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _cell_key(cell: CellRecord) -> tuple[str, str, str]:
    return cell.condition, cell.learner, cell.treatment


def _record_key(record: StudyRecord) -> tuple[str, str, str]:
    return record.condition, record.learner, record.treatment
