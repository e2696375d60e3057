"""What changed: every rate before and after, and whether differences between groups became larger or smaller."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.audits._multiple_testing import RATE
from equipoise.audits._spec import AuditSpec
from equipoise.audits.change._earlier import Before
from equipoise.audits.change._sides import Side, Sides, sides_of
from equipoise.audits.contrasts import CONTRASTED, class_places, opponents
from equipoise.measures.measure import Measure, get_measure
from equipoise.results import Direction, Finding, Scope, Status, direction_of
from equipoise.stats import benjamini_hochberg, difference_interval, difference_p, is_finding, pair_interval, pair_p
from equipoise.tallies.cells import Cells

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A rate of a group, or its contrast to others, before and after. What is undefined is NaN.

    ``design`` says whether the same rows were judged twice (paired) or other rows (independent).
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
    p: float | None = None
    p_adjusted: float | None = None
    finding: bool | None = None
    numerator_before: float | None = None
    denominator_before: float | None = None
    numerator_after: float | None = None
    denominator_after: float | None = None
    status: Status = Status.OK
    reason: str | None = None


def change_statements(changes: Iterable[Change]) -> Iterator[Finding]:
    """Yield what changed: a rate, by which values are better; a difference between groups, by whether it shrank."""
    for place, change in enumerate(changes):
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
            low=_known(change.low), high=_known(change.high), p=change.p, p_adjusted=change.p_adjusted,
            n=change.denominator_after, n_against=change.denominator_before, status=change.status,
            reason=change.reason, direction=direction, source="changes", place=place,
        )  # fmt: skip


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


@dataclass(frozen=True)
class Pending:
    """A change whose interval waits until all changes are tested; ``sides`` is one of a rate, two of a contrast."""

    change: Change
    sides: tuple[Side, ...]
    p: float


def _of_sides(sides: Sides, *, everyone: bool) -> Iterator[Pending]:
    """Yield the changes of one attribute: of each group's rates, then of the contrasts between groups.

    With ``everyone`` the changes over all groups are told first.
    """
    lost = sides.view.reference is not None and sides.view.reference not in sides.groups
    pairs = [] if lost else opponents(sides.view.compared.groups, sides.view.reference, sides.people)
    for name in CONTRASTED:
        measure = get_measure(name)
        if measure.needs == "counts" and not sides.has_target:
            continue
        for place in class_places(sides.view, measure):
            if everyone:
                yield _rate(sides, measure, place, None, sides.whole(measure, place))
            for number, group in enumerate(sides.groups):
                yield _rate(sides, measure, place, group, sides.side(measure, place, [number]))
            for group, (status, reason) in sides.absent.items():
                yield _absent(sides, measure, place, group, status, reason)
            for number, others, called in pairs:
                yield _contrast(sides, measure, place, number, others, called)


def _rate(sides: Sides, measure: Measure, place: int | None, group: str | None, side: Side) -> Pending:
    untold = _untold(sides, measure, [side])
    change = replace(
        _blank(sides, measure, place, group),
        kind="rate",
        before=side.before,
        after=side.after,
        change=side.after - side.before,
        numerator_before=side.successes[1],
        denominator_before=side.trials[1],
        numerator_after=side.successes[0],
        denominator_after=side.trials[0],
        status=untold[0],
        reason=untold[1],
    )
    if untold[0] != "ok" or not sides.tested:
        return Pending(change, (side,), float("nan"))
    if side.pairs is not None:
        p = pair_p(*side.pairs)
    elif side.samples is not None:
        p = difference_p(*side.samples)
    else:
        p = side.estimate.p
    return Pending(change, (side,), float(p))


def _contrast(
    sides: Sides, measure: Measure, place: int | None, number: int, others: Sequence[int], called: str
) -> Pending:
    own, other = sides.side(measure, place, [number]), sides.side(measure, place, others)
    before, after = own.before - other.before, own.after - other.after
    untold = _untold(sides, measure, [own, other])
    change = replace(
        _blank(sides, measure, place, sides.groups[number]),
        kind="contrast",
        against=called,
        before=before,
        after=after,
        change=after - before,
        status=untold[0],
        reason=untold[1],
    )
    tested = untold[0] == "ok" and sides.tested
    return Pending(change, (own, other), float(own.estimate.minus(other.estimate).p) if tested else float("nan"))


def _absent(sides: Sides, measure: Measure, place: int | None, group: str, status: Status, reason: str) -> Pending:
    before, after = sides.lone(measure, place, group)
    change = replace(
        _blank(sides, measure, place, group), before=before, after=after, change=float("nan"),
        status=status, reason=reason,
    )  # fmt: skip
    return Pending(change, (), float("nan"))


def _blank(sides: Sides, measure: Measure, place: int | None, group: str | None) -> Change:
    view = sides.view
    name = None if place is None else view.compared.classes[place]
    scope: Scope = "overall" if name is None else "favourable" if name == view.favourable else "class"
    return Change(
        measure=measure.name,
        alias=measure.alias,
        kind="rate",
        design=sides.design,
        scope=scope,
        class_=name,
        attribute=view.attribute if group is not None else (),
        group=group,
        split=view.split,
        before=float("nan"),
        after=float("nan"),
        change=float("nan"),
    )


def _untold(sides: Sides, measure: Measure, parts: Sequence[Side]) -> tuple[Status, str | None]:
    """Return the status of a change, and the reason where it cannot be told."""
    if any(np.isnan(part.before) or np.isnan(part.after) for part in parts):
        return Status.UNDEFINED, f"there are no {measure.denominator} before or after"
    least, wanted = min(part.people for part in parts), sides.view.least_people
    if least < wanted:
        return Status.TOO_SMALL, f"{least:,.0f} people before or after: fewer than {wanted:,}"
    return Status.OK, None


def corrected(pending: Sequence[Pending]) -> tuple[Change, ...]:
    """Correct all changes together, and give them intervals that agree with their verdicts.

    They are a family of their own: were they corrected with the tests of the audit, many differences between groups
    would make it easier to call a change real.
    """
    p = np.array([item.p for item in pending], dtype=np.float64)
    adjusted = benjamini_hochberg(p)
    number, found = int((~np.isnan(p)).sum()), int((adjusted <= RATE).sum())
    level = 1.0 - RATE * max(found, 1) / max(number, 1)
    made = []
    for item, value, (low, high, how) in zip(pending, adjusted.tolist(), _intervals(pending, level), strict=True):
        if np.isnan(item.p):
            made.append(item.change)
            continue
        made.append(
            replace(
                item.change,
                p=item.p,
                p_adjusted=value,
                finding=is_finding(value, low, high),
                low=low,
                high=high,
                interval=how,
            )
        )
    return tuple(made)


def _intervals(pending: Sequence[Pending], level: float) -> list[tuple[float, float, str]]:
    """Return every interval at one level: by score for a rate, by the normal estimate for the rest."""
    found = [(float("nan"), float("nan"), "normal")] * len(pending)
    rates = [(place, item.sides[0]) for place, item in enumerate(pending) if len(item.sides) == 1]
    paired = {place: side.pairs for place, side in rates if side.pairs is not None}
    sampled = {place: side.samples for place, side in rates if side.samples is not None}
    if paired:
        gained, lost, rows = np.array(list(paired.values())).T
        found = _placed(found, paired, pair_interval(gained, lost, rows, level))
    if sampled:
        x1, n1, x2, n2 = np.array(list(sampled.values())).T
        found = _placed(found, sampled, difference_interval(x1, n1, x2, n2, level))
    for place, item in enumerate(pending):
        if item.sides and place not in paired and place not in sampled:
            own = item.sides[0].estimate
            low, high = (own if len(item.sides) == 1 else own.minus(item.sides[1].estimate)).interval(level)
            found[place] = (float(low), float(high), "normal")
    return found


def _placed(
    found: list[tuple[float, float, str]], places: Iterable[int], ends: tuple[Floats, Floats]
) -> list[tuple[float, float, str]]:
    told = {place: (float(low), float(high), "score") for place, low, high in zip(places, *ends, strict=True)}
    return [told.get(place, old) for place, old in enumerate(found)]


def changes_of(
    spec: AuditSpec, counts: Cells, before: Before, favourable: str | None, splits: Sequence[str | None]
) -> tuple[Change, ...]:
    """Return the changes of a report, of the measures that it reports: all attributes and splits corrected together."""
    pending: list[Pending] = []
    told: set[str | None] = set()
    for sides in sides_of(spec, counts, before, favourable, splits):
        pending += _of_sides(sides, everyone=sides.view.split not in told)
        told.add(sides.view.split)
    return corrected([one for one in pending if spec.reports(one.change.measure)])
