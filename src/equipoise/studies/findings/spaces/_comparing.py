"""Means of spaces over seeds, and differences seed by seed: imbalance and its control, treatments and the baseline."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from equipoise.audits.downstream import classifier_from_source
from equipoise.audits.evidence import WILCOXON, Plan, Series, compare, within
from equipoise.foundation import Floats, plural
from equipoise.results import Reason, Verdict, because
from equipoise.stats import (
    CORRECTIONS,
    MIN_SEEDS,
    Change,
    banerjee_p,
    paired_change,
    sources_interval,
)
from equipoise.studies.analysis import (
    SEEDS,
    Cell,
    SpaceReason,
    StudyReason,
    StudyTest,
    Units,
    deciding_level,
    mean_intervals,
    units_of,
)
from equipoise.studies.findings.spaces._result import (
    BALANCED,
    EMBEDDING,
    HALVES,
    NEAREST,
    OWN_ROWS,
    ContrastKind,
    Side,
    SpaceContrast,
    SpaceRecord,
)
from equipoise.studies.findings.spaces._values import (
    NMI,
    NMI_BY_CHANCE,
    RECALL,
    UNIFORMITY,
    SpaceQuantity,
    Spaces,
    better_of,
    degree_of,
)
from equipoise.studies.plans import canonical

UNDEFINED = {
    RECALL: SpaceReason.NO_OTHER_ROW_OF_CLASS,
    NMI: SpaceReason.ONE_CLASS,
    NMI_BY_CHANCE: SpaceReason.ONE_CLASS,
    UNIFORMITY: SpaceReason.ROWS_DO_NOT_SPAN,
}


def cells_with_spaces(spaces: Spaces) -> list[Cell]:
    """Return the cells of which a trial kept its space."""
    there = np.array(spaces.trials, dtype=np.int64)
    return [cell for cell in spaces.study.cells if np.isin(cell.indices, there).any()]


def records_of(spaces: Spaces) -> Iterator[SpaceRecord]:
    """Yield a record for each cell and number that any of its trials has."""
    for cell in cells_with_spaces(spaces):
        own = spaces.values[cell.indices]
        units = units_of(spaces.values, cell)
        means = mean_intervals(units.values[0]).T.tolist()
        sources = _sources(spaces, cell)
        for number, quantity in enumerate(spaces.quantities):
            if (quantity.attribute, quantity.source, quantity.training) not in sources:
                continue
            mean, stdev, low, high = means[number]
            untold = quantity.rule == HALVES
            yield SpaceRecord(
                condition=cell.under.condition, learner=cell.under.learner, treatment=cell.treatment,
                setting=cell.setting, chosen=cell.chosen, degree=degree_of(cell.described["condition"]),
                **described(quantity), kind=quantity.kind, unit=units.unit,
                runs=int((~np.isnan(own[:, number])).sum()), seeds=len(cell.distinct_seeds), mean=mean, stdev=stdev,
                low=None if untold else low, high=None if untold else high,
                reason=because(SpaceReason.POSITIVE_BY_CONSTRUCTION) if untold else _reason(quantity, mean),
            )  # fmt: skip


def described(quantity: SpaceQuantity) -> dict[str, Any]:
    """Return what a record says of its number."""
    return {
        "attribute": quantity.attribute, "source": quantity.source, "source_settings": settings_of(quantity.source),
        "training": quantity.training,
        "measure": quantity.measure, "better": better_of(quantity.measure), "group": quantity.group,
        "against": quantity.against, "rule": quantity.rule,
    }  # fmt: skip


def settings_of(source: str) -> dict[str, Any]:
    """Return the settings of a classifier; nothing for the space itself and the nearest training row."""
    return {} if source in (EMBEDDING, NEAREST) else classifier_from_source(source).settings


def _sources(spaces: Spaces, cell: Cell) -> set[tuple[str, str, str | None]]:
    """Return what a cell has numbers from: a classifier that was not asked for is no undefined number."""
    defined = np.flatnonzero((~np.isnan(spaces.values[cell.indices])).any(axis=0)).tolist()
    return {
        (quantity.attribute, quantity.source, quantity.training)
        for quantity in (spaces.quantities[column] for column in defined)
    }


def _reason(quantity: SpaceQuantity, mean: float) -> Reason | None:
    if not np.isnan(mean):
        return None
    return because(UNDEFINED.get(quantity.measure, SpaceReason.NO_DENOMINATOR))


CONTROL = 0.5


@dataclass(frozen=True, eq=False)
class _Case:
    """One number of a cell and what it is compared with, by seed."""

    cell: Cell
    versus: str
    quantity: SpaceQuantity
    seeds: tuple[str, ...]
    values: Floats  # [seed, side]


def contrasts_of(spaces: Spaces, *, threshold: float = 0.05) -> Iterator[SpaceContrast]:
    """Yield every paired difference; the correction goes over those of one table: a kind, and gaps or values."""
    cells = cells_with_spaces(spaces)
    chosen = [cell for cell in cells if cell.chosen]
    families: list[tuple[ContrastKind, Iterator[_Case]]] = [
        ("imbalance", _between(spaces, [(cell, control_of(cells, cell)) for cell in chosen])),
        ("treatment", _between(spaces, _treatments(spaces, cells))),
    ]
    for training in _trainings(spaces):
        kind: ContrastKind = "balanced training" if training == BALANCED else "other training"
        families.append((kind, _trained(spaces, chosen, training)))
    for kind, family_cases in families:
        cases = list(family_cases)
        for of in dict.fromkeys(case.quantity.kind for case in cases):
            yield from _contrasts(kind, [case for case in cases if case.quantity.kind == of], threshold)


def control_of(cells: Sequence[Cell], cell: Cell) -> Cell | None:
    """Return the same cell under the balanced control of its condition; None for the control itself."""
    condition = cell.described["condition"]
    degree = degree_of(condition)
    if degree is None or degree == CONTROL:
        return None
    control_condition = (condition.name, canonical({**condition.settings, "degree": CONTROL}))
    for other in cells:
        other_condition = other.described["condition"]
        same = (other.under.learner, other.treatment, other.setting) == (
            cell.under.learner, cell.treatment, cell.setting,
        )  # fmt: skip
        if same and (other_condition.name, canonical(dict(other_condition.settings))) == control_condition:
            return other
    return None


def _treatments(spaces: Spaces, cells: Sequence[Cell]) -> list[tuple[Cell, Cell | None]]:
    above = {id(cell): base for cell, base in zip(spaces.study.cells, spaces.study.baselines, strict=True)}
    return [(cell, above[id(cell)]) for cell in cells]


def _between(spaces: Spaces, couples: Sequence[tuple[Cell, Cell | None]]) -> Iterator[_Case]:
    """Yield the main numbers of cells and of what they are compared with."""
    for cell, other in couples:
        if other is None:
            continue
        units = units_of(spaces.values, cell, other)
        name = other.name if other.under == cell.under else other.under.condition
        for number, quantity in enumerate(spaces.quantities):
            if quantity.main and better_of(quantity.measure) != "none":
                yield from _case(cell, name, quantity, units, (number, number))


def _trainings(spaces: Spaces) -> list[str]:
    """Return how classifiers were trained other than on own rows, balanced rows first."""
    names = {quantity.training for quantity in spaces.quantities} - {None, OWN_ROWS}
    return sorted(map(str, names), key=lambda name: (name != BALANCED, name))


def _trained(spaces: Spaces, cells: Sequence[Cell], training: str) -> Iterator[_Case]:
    """Yield each number of a classifier that was trained in one way, and the same of one on the trial's own rows.

    What was trained otherwise on balanced rows is compared with plain training on balanced rows.
    """
    places = {quantity: number for number, quantity in enumerate(spaces.quantities)}
    versus = BALANCED if training.startswith(f"{BALANCED}_") else OWN_ROWS
    for cell in cells:
        units = units_of(spaces.values, cell)
        for quantity, number in places.items():
            compared_with = places.get(replace(quantity, training=versus))
            if quantity.training == training and quantity.main and compared_with is not None:
                yield from _case(cell, versus, quantity, units, (number, compared_with))


def _case(cell: Cell, versus: str, quantity: SpaceQuantity, units: Units, places: tuple[int, int]) -> Iterator[_Case]:
    """Yield the case where any seed has both numbers; identical runs of one seed are not pairs."""
    if units.unit != SEEDS:
        return
    columns = [dict(zip(units.names[side], units.values[side][:, places[side]], strict=True)) for side in (0, 1)]
    seeds = [s for s in columns[0] if s in columns[1] and not math.isnan(columns[0][s] + columns[1][s])]
    if seeds:
        values = np.array([[column[seed] for column in columns] for seed in seeds])
        yield _Case(cell, versus, quantity, tuple(seeds), values)


def _contrasts(kind: ContrastKind, cases: Sequence[_Case], threshold: float) -> Iterator[SpaceContrast]:
    changes = [paired_change(case.values[:, 0], case.values[:, 1]) for case in cases]
    p = np.array([_p(change) for change in changes])
    adjusted = CORRECTIONS["bh"](p)
    level = deciding_level(adjusted, threshold)
    plan = Plan(test=WILCOXON, alternative="two-sided", correction="none", threshold=threshold, pair="seed")
    ranks = compare([(_series(case, 0), _series(case, 1)) for case in cases], plan)
    for index, (case, change, rank) in enumerate(zip(cases, changes, ranks, strict=True)):
        number, difference = len(case.seeds), float(change.change)
        value, other = case.values.mean(axis=0).tolist()
        verdict, reason = _verdict(number, difference, float(adjusted[index]), (value, other), threshold)
        ends = sources_interval(change.change, change.variances, change.degrees, level)
        low, high = (math.nan if number < 2 else float(end) for end in ends)
        quantity = case.quantity
        yield SpaceContrast(
            kind=kind, condition=case.cell.under.condition, learner=case.cell.under.learner,
            treatment=case.cell.treatment, setting=case.cell.setting, versus=case.versus,
            degree=degree_of(case.cell.described["condition"]), **described(quantity), of=quantity.kind, value=value,
            against_value=other, difference=difference, low=low, high=high, pairs=number, test=StudyTest.PAIRED.value,
            p=float(p[index]), p_adjusted=float(adjusted[index]), verdict=verdict, reason=reason,
            larger=_larger(value, other) if quantity.kind == "gap" else None, level=level, p_rank=rank.p,
        )  # fmt: skip


def _p(change: Change) -> float:
    """Return Student's p of the mean difference of pairs; NaN of fewer than three."""
    if change.units < MIN_SEEDS:
        return math.nan
    return float(banerjee_p(change.change, change.variances, change.degrees))


def _verdict(
    pairs: int, difference: float, adjusted: float, values: tuple[float, float], threshold: float
) -> tuple[Verdict, Reason]:
    if math.isnan(adjusted):
        return Verdict.UNDECIDED, because(StudyReason.TOO_FEW_PAIRS, pairs=pairs, least=MIN_SEEDS)
    numbers = {"mean": values[0], "against": values[1], "units": plural(pairs, "pair"), "p": adjusted}
    if not within(adjusted, threshold):
        return Verdict.NONE, because(StudyReason.NOT_SIGNIFICANT, **numbers)
    return (Verdict.LOWER if difference < 0 else Verdict.HIGHER), because(StudyReason.SIGNIFICANT, **numbers)


def _series(case: _Case, side: int) -> Series:
    name = case.cell.name if side == 0 else case.versus
    return Series(name, case.quantity.measure, case.seeds, case.values[:, side], case.seeds)


def _larger(value: float, other: float) -> Side | None:
    if math.isclose(abs(value), abs(other), rel_tol=1e-9, abs_tol=1e-12):
        return None
    return "this" if abs(value) > abs(other) else "against"
