"""Rates of the same rows, judged twice: one table of everything that both predictions say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.audits._spec import AuditSpec
from equipoise.audits.change.earlier import EARLIER
from equipoise.audits.change.side import Side, Sides
from equipoise.audits.view import View
from equipoise.measures.measure import Measure
from equipoise.results import Status
from equipoise.stats import CASES, pair_estimate
from equipoise.tallies.cells import Cells
from equipoise.tallies.counts import PREDICTION, ROWS, SQUARES, TARGET, WEIGHT, group_axis, group_name

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Codes = NDArray[np.int64]

# Of every case: is a row counted, and is it a success, after and before?
COUNTED = np.array([case[:2] for case in CASES], dtype=bool)
SUCCESS = np.array([case[2:] for case in CASES], dtype=bool)
AFTER, BEFORE = 0, 1


class PairedSides(Sides):
    """The same rows, judged twice."""

    design = "paired"

    def __init__(self, spec: AuditSpec, view: View, absent: Mapping[str, tuple[Status, str]], cells: Cells) -> None:
        super().__init__(spec, view, absent, view.compared.people[:, 0])
        self._rows = _Rows.of(cells, view)
        self._tables: dict[tuple[str, int | None], Floats] = {}

    def side(self, measure: Measure, place: int | None, groups: Sequence[int]) -> Side:  # noqa: D102
        return _side(self._table(measure, place)[list(groups)].sum(axis=0))

    def whole(self, measure: Measure, place: int | None) -> Side:  # noqa: D102
        return _side(self._table(measure, place).sum(axis=0))

    def _table(self, measure: Measure, place: int | None) -> Floats:
        key = (measure.name, place)
        if key not in self._tables:
            self._tables[key] = self._rows.table(*key)
        return self._tables[key]


def _side(table: Floats) -> Side:
    """Read a table ``[case, sum]``; weighted rows count as so many as their squared weights allow."""
    rows, weight, squares = table[:, ROWS], table[:, WEIGHT], table[:, SQUARES]
    any_time = COUNTED.any(axis=1)
    scale = weight[any_time].sum() / squares[any_time].sum() if squares[any_time].any() else 1.0
    counts = weight * scale
    pairs = None
    if not counts[COUNTED[:, AFTER] != COUNTED[:, BEFORE]].any():
        gained = counts[SUCCESS[:, AFTER] & ~SUCCESS[:, BEFORE]].sum()
        lost = counts[SUCCESS[:, BEFORE] & ~SUCCESS[:, AFTER]].sum()
        pairs = (float(gained), float(lost), float(counts[any_time].sum()))
    return Side(
        successes=(float(weight[SUCCESS[:, AFTER]].sum()), float(weight[SUCCESS[:, BEFORE]].sum())),
        trials=(float(weight[COUNTED[:, AFTER]].sum()), float(weight[COUNTED[:, BEFORE]].sum())),
        people=float(min(rows[COUNTED[:, AFTER]].sum(), rows[COUNTED[:, BEFORE]].sum())),
        estimate=pair_estimate(counts),
        pairs=pairs,
    )


@dataclass(frozen=True)
class _Rows:
    """Every observed combination of group, truth and both predictions, as numbers; those without a group come last."""

    group: Codes
    truth: Codes | None
    after: Codes
    before: Codes
    sums: Floats
    groups: int

    @classmethod
    def of(cls, cells: Cells, view: View) -> _Rows:
        axes = [group_axis(attribute) for attribute in view.attribute]
        outcome = [axis for axis in (TARGET, PREDICTION, EARLIER) if axis in cells.axes]
        joint = cells.marginal([*outcome, *axes])
        place = {name: number for number, name in enumerate(view.compared.classes)}
        codes = {
            axis: np.array([place.get(str(label), -1) for label in joint.labels[number]], dtype=np.int64)[
                joint.codes[:, number]
            ]
            for number, axis in enumerate(outcome)
        }
        known = {name: number for number, name in enumerate(view.compared.groups)}
        names = (
            group_name([labels[code] for labels, code in zip(joint.labels[len(outcome) :], row, strict=True)])
            for row in joint.codes[:, len(outcome) :].tolist()
        )
        group = np.array([known.get(name, len(known)) for name in names], dtype=np.int64)
        return cls(group, codes.get(TARGET), codes[PREDICTION], codes[EARLIER], joint.sums[:, :3], len(known))

    def table(self, measure: str, place: int | None) -> Floats:
        """Return ``[group, case, sum]``: whether a row is counted, and is a success, after and before."""
        parts = [_parts(measure, self.truth, said, place) for said in (self.after, self.before)]
        (success_after, counted_after), (success_before, counted_before) = parts
        case = np.zeros(len(self.group), dtype=np.int64)
        for bit in (counted_after, counted_before, success_after, success_before):
            case = 2 * case + bit
        flat, size = self.group * len(CASES) + case, (self.groups + 1) * len(CASES)
        columns = [np.bincount(flat, weights=column, minlength=size) for column in self.sums.T]
        return np.stack(columns, axis=-1).astype(np.float64).reshape(self.groups + 1, len(CASES), 3)


def _parts(measure: str, truth: Codes | None, said: Codes, place: int | None) -> tuple[Bools, Bools]:
    """Tell of each row whether it is a success of a rate, and whether it is counted at all."""
    everybody = np.ones(len(said), dtype=bool)
    if measure == "selection_rate":
        return said == place, everybody
    assert truth is not None
    if measure == "accuracy":
        return said == truth, everybody
    among = {"true_positive_rate": truth == place, "false_positive_rate": truth != place,
             "positive_predictive_value": said == place}[measure]  # fmt: skip
    wanted = truth == place if measure == "positive_predictive_value" else said == place
    return wanted & among, among
