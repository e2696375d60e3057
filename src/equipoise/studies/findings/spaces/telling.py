"""Records of cells: the mean of every number of their spaces over seeds, with its interval over them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from equipoise.audits.downstream.settings import from_source
from equipoise.studies.findings.cells import Cell
from equipoise.studies.findings.spaces.groups import degree_of
from equipoise.studies.findings.spaces.measuring import SpaceQuantity, Spaces
from equipoise.studies.findings.spaces.result import EMBEDDING, HALVES, NEAREST, SpaceRecord
from equipoise.studies.findings.spaces.values import NMI, NMI_BY_CHANCE, RECALL, UNIFORMITY, better_of
from equipoise.studies.findings.spreads import mean_intervals
from equipoise.studies.findings.units import units_of

POSITIVE = (
    "the halves are chosen by how well they fare, so it is above 0 by construction and has no interval: read its "
    "difference from another cell instead"
)
UNDEFINED = {
    RECALL: "no row of the group has another row of its class",
    NMI: "the group has one class only",
    NMI_BY_CHANCE: "the group has one class only",
    UNIFORMITY: "the group's rows do not span min(rows, dimensions) directions",
}
NO_VALUE = "the group has no rows or no class with a denominator"


def cells_with_spaces(spaces: Spaces) -> list[Cell]:
    """Return the cells of which a trial kept its space."""
    there = np.array(spaces.places, dtype=np.int64)
    return [cell for cell in spaces.study.cells if np.isin(cell.places, there).any()]


def records_of(spaces: Spaces) -> Iterator[SpaceRecord]:
    """Yield a record for each cell and number that any of its trials has."""
    for cell in cells_with_spaces(spaces):
        own = spaces.values[cell.places]
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
                reason=POSITIVE if untold else _reason(quantity, mean),
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
    return {} if source in (EMBEDDING, NEAREST) else from_source(source).settings


def _sources(spaces: Spaces, cell: Cell) -> set[tuple[str, str, str | None]]:
    """Return what a cell has numbers from: a classifier that was not asked for is no undefined number."""
    known = np.flatnonzero((~np.isnan(spaces.values[cell.places])).any(axis=0)).tolist()
    return {(own.attribute, own.source, own.training) for own in (spaces.quantities[place] for place in known)}


def _reason(quantity: SpaceQuantity, mean: float) -> str | None:
    return None if not np.isnan(mean) else UNDEFINED.get(quantity.measure, NO_VALUE)
