"""A study with its cells and every number of every trial: what verdicts, ranks and fronts are made from."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from equipoise.studies.findings._cells import Cell, Under, mean_over
from equipoise.studies.findings._data import Attribute, Floats, StudyData
from equipoise.studies.findings._quantities import MainMeasures, Quantity
from equipoise.studies.findings.spaces._choosing import Choosing


@dataclass(frozen=True, eq=False)
class Measured:
    """A study with its cells and every number of every trial, by split ``[trial, quantity]``."""

    data: StudyData
    attribute: Attribute
    attributes: tuple[Attribute, ...]
    quantities: tuple[Quantity, ...]
    values: dict[str, Floats]
    cells: list[Cell]
    baselines: list[Cell | None]
    main: MainMeasures
    # How settings were chosen by the spaces of dev rows, where trials kept them.
    choosings: tuple[Choosing, ...] = ()
    means: dict[tuple[int, str], Floats] = field(default_factory=dict)

    def place(self, measure: str, attribute: Attribute = ()) -> int:
        """Return where a quantity stands."""
        return next(
            place for place, own in enumerate(self.quantities) if (own.measure, own.attribute) == (measure, attribute)
        )

    def mean(self, cell: Cell, split: str, measure: str, attribute: Attribute = ()) -> float:
        """Return a cell's mean, in which every seed counts the same."""
        key = (id(cell), split)
        if key not in self.means:
            own = [mean_over(self.values[split][cell.places[cell.runs_of(seed)]]) for seed in cell.distinct_seeds]
            self.means[key] = mean_over(np.stack(own))
        return float(self.means[key][self.place(measure, attribute)])

    @property
    def unders(self) -> list[Under]:
        """The conditions and learners, in order."""
        return list(dict.fromkeys(cell.under for cell in self.cells))
