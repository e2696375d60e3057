"""What changed: every rate before and after, and whether differences between groups became larger or smaller."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from equipoise.audits._contrasts import CONTRASTED, Contrast, class_indices, opponents
from equipoise.audits._multiple_testing import MultipleTesting
from equipoise.audits._spec import AuditSpec
from equipoise.audits.change._sides import Before, ChangeReason, Side, Sides, sides_of
from equipoise.measures import (
    Measure,
    get_measure,
)
from equipoise.results import Direction, Finding, Reason, Record, Scope, Status, because, direction_of
from equipoise.stats import Estimate, difference_p, pair_p
from equipoise.tallies import Cells

# What the correction of all changes together says of each.
DECIDED = ("low", "high", "interval", "level", "p", "p_adjusted", "finding")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A rate of a group, or its contrast to others, before and after. What is undefined is NaN.

    ``design`` says whether the same rows were judged twice (paired) or other rows (independent). ``low`` and ``high``
    hold at ``level``, the level that decides.
    """

    measure: str
    alias: str | None
    kind: Literal["rate", "contrast"]
    design: Literal["paired", "independent"]
    scope: Scope
    class_: str | None
    attribute: tuple[str, ...]
    group: str | None
    against: str | None = None
    split: str | None = None
    before: float
    after: float
    change: float
    low: float | None = None
    high: float | None = None
    interval: str | None = None
    level: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    finding: bool | None = None
    numerator_before: float | None = None
    denominator_before: float | None = None
    numerator_after: float | None = None
    denominator_after: float | None = None
    status: Status = Status.OK
    reason: Reason | None = None


def change_statements(changes: Iterable[Change]) -> Iterator[Finding]:
    """Yield what changed: a rate, by which values are better; a difference between groups, by whether it shrank."""
    for index, change in enumerate(changes):
        if change.kind == "rate":
            better = get_measure(change.measure).better
            direction = direction_of(change.change, significant=change.finding, better=better)
        elif not change.finding:
            direction = Direction.INCONCLUSIVE
        else:
            direction = Direction.BETTER if abs(change.after) < abs(change.before) else Direction.WORSE
        yield Finding(
            kind="change", measure=change.measure, alias=change.alias, attribute=change.attribute, group=change.group,
            against=change.against, class_=change.class_, split=change.split, estimate=change.change,
            low=change.low, high=change.high, level=change.level, p=change.p, p_adjusted=change.p_adjusted,
            n=change.denominator_after, n_against=change.denominator_before, status=change.status,
            reason=change.reason, direction=direction, source="changes", index=index,
        )  # fmt: skip


@dataclass(frozen=True)
class _Tested:
    """A change, and its test; without one nothing was tested."""

    change: Change
    test: Contrast | None = None


def _of_sides(sides: Sides, *, with_overall: bool) -> Iterator[_Tested]:
    """Yield the changes of one attribute: of each group's rates, then of the contrasts between groups.

    With ``with_overall`` the changes over all groups come first.
    """
    lost = sides.view.reference is not None and sides.view.reference not in sides.groups
    pairs = [] if lost else opponents(sides.view.compared.groups, sides.view.reference, sides.people)
    for name in CONTRASTED:
        measure = get_measure(name)
        if measure.needs == "counts" and not sides.has_target:
            continue
        for class_index in class_indices(sides.view, measure):
            if with_overall:
                yield _rate(sides, measure, class_index, None, sides.overall(measure, class_index))
            for number, group in enumerate(sides.groups):
                yield _rate(sides, measure, class_index, group, sides.side(measure, class_index, [number]))
            for group, (status, reason) in sides.absent.items():
                before, after = sides.lone(measure, class_index, group)
                yield _Tested(_change(sides, measure, class_index, group, "rate", (before, after), (status, reason)))
            for number, others, called in pairs:
                yield _contrast(sides, measure, class_index, number, others, called)


def _rate(sides: Sides, measure: Measure, class_index: int | None, group: str | None, side: Side) -> _Tested:
    status = _status(sides, measure, [side])
    change = replace(
        _change(sides, measure, class_index, group, "rate", (side.before, side.after), status),
        numerator_before=side.successes[1], denominator_before=side.trials[1],
        numerator_after=side.successes[0], denominator_after=side.trials[0],
    )  # fmt: skip
    return _with_test(sides, change, side.estimate, side)


def _contrast(
    sides: Sides, measure: Measure, class_index: int | None, number: int, others: Sequence[int], called: str
) -> _Tested:
    side, other = sides.side(measure, class_index, [number]), sides.side(measure, class_index, others)
    differences = (side.before - other.before, side.after - other.after)
    status = _status(sides, measure, [side, other])
    change = _change(sides, measure, class_index, sides.groups[number], "contrast", differences, status)
    return _with_test(sides, replace(change, against=called), side.estimate.minus(other.estimate))


def _change(
    sides: Sides, measure: Measure, class_index: int | None, group: str | None, kind: Literal["rate", "contrast"],
    values: tuple[float, float], status: tuple[Status, Reason | None],
) -> Change:  # fmt: skip
    view = sides.view
    name = None if class_index is None else view.compared.classes[class_index]
    before, after = values
    return Change(
        measure=measure.name, alias=measure.alias, kind=kind, design=sides.design,
        scope="overall" if name is None else "favourable" if name == view.favourable else "class", class_=name,
        attribute=view.attribute if group is not None else (), group=group, split=view.split,
        before=before, after=after, change=after - before, status=status[0], reason=status[1],
    )  # fmt: skip


def _status(sides: Sides, measure: Measure, parts: Sequence[Side]) -> tuple[Status, Reason | None]:
    """Return the status of a change, and the reason where there is no test."""
    if any(math.isnan(part.before) or math.isnan(part.after) for part in parts):
        return Status.UNDEFINED, because(ChangeReason.NO_DENOMINATOR, of=measure.denominator)
    least, least_people = min(part.people for part in parts), sides.view.least_people
    if least < least_people:
        return Status.TOO_SMALL, because(ChangeReason.FEW_PEOPLE, people=least, least=least_people)
    return Status.OK, None


def _with_test(sides: Sides, change: Change, estimate: Estimate, rate: Side | None = None) -> _Tested:
    """Test a change: a rate by its score test where it has one, everything else by the normal estimate."""
    if change.status != Status.OK or not sides.tested:
        return _Tested(change)
    pairs, samples = (None, None) if rate is None else (rate.pairs, rate.samples)
    p = pair_p(*pairs) if pairs is not None else difference_p(*samples) if samples is not None else estimate.p
    record = Record(
        measure=change.measure, kind=f"change of {change.kind}", value=float(estimate.centre), class_=change.class_,
        attribute=change.attribute, group=change.group, against=change.against, split=change.split,
    )  # fmt: skip
    return _Tested(change, Contrast(record, float(p), samples, float(estimate.spread), pairs=pairs))


def _corrected(changes: Sequence[_Tested]) -> tuple[Change, ...]:
    """Correct all changes together, and give them intervals that agree with their verdicts.

    They are a family of their own: were they corrected with the tests of the audit, many differences between groups
    would make it easier to call a change real.
    """
    testing = MultipleTesting(contrasts=[change.test for change in changes if change.test is not None])
    records = iter(testing.finish([]))
    return tuple(
        change.change if change.test is None
        else replace(change.change, **{name: getattr(record, name) for name in DECIDED})
        for change in changes
        for record in [None if change.test is None else next(records)]
    )  # fmt: skip


def changes_of(
    spec: AuditSpec, counts: Cells, before: Before, favourable: str | None, splits: Sequence[str | None]
) -> tuple[Change, ...]:
    """Return the changes of a report, of the measures that it reports: all attributes and splits corrected together."""
    changes: list[_Tested] = []
    splits_done: set[str | None] = set()
    for sides in sides_of(spec, counts, before, favourable, splits):
        changes += _of_sides(sides, with_overall=sides.view.split not in splits_done)
        splits_done.add(sides.view.split)
    return _corrected([change for change in changes if spec.reports(change.change.measure)])
