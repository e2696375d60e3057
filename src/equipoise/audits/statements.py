"""What an audit states: contrasts between groups, gaps over all groups, and changes since earlier, as findings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from equipoise.audits.change.result import Change
from equipoise.measures.measure import Better, get_measure
from equipoise.results import Direction, Finding, Record, direction_of
from equipoise.tallies.labels import MISSING

GAPS = ("gap", "ratio")
Subject = tuple[object, ...]


def audit_statements(records: Sequence[Record], changes: Iterable[Change]) -> Iterator[Finding]:
    """Yield a finding for each contrast and gap that was tested or could not be, then for each change."""
    people = _people(records)
    for place, record in enumerate(records):
        if record.kind == "contrast" or (record.kind in GAPS and record.finding is not None):
            yield _of_record(record, place, people)
    for place, change in enumerate(changes):
        yield _of_change(change, place)


def _subject(record: Record) -> Subject:
    return (
        record.measure, record.variant, record.scope, record.class_, record.label, record.attribute, record.control,
        record.split,
    )  # fmt: skip


def _people(records: Iterable[Record]) -> dict[Subject, dict[str, float]]:
    """Return the denominators of groups, by what their rates are of."""
    found: dict[Subject, dict[str, float]] = {}
    for record in records:
        if record.kind in ("rate", "value") and record.group is not None and record.denominator is not None:
            found.setdefault(_subject(record), {})[record.group] = record.denominator
    return found


def _of_record(record: Record, place: int, people: Mapping[Subject, Mapping[str, float]]) -> Finding:
    groups = people.get(_subject(record), {})
    own, other = record.group, record.against
    n_against = groups.get(str(other))
    if n_against is None and other is not None and groups:
        n_against = sum(number for group, number in groups.items() if group not in (own, MISSING))
    if record.kind in GAPS and record.pair is not None:
        own, other = record.pair
        n_against = groups.get(other)
    better: Better = get_measure(record.measure).better if record.kind == "contrast" else "none"
    return Finding(
        kind="contrast" if record.kind == "contrast" else "gap",
        measure=record.measure, alias=record.alias, attribute=record.attribute, group=own, against=other,
        class_=record.class_, label=record.label, split=record.split, control=record.control, estimate=record.value,
        low=record.low, high=record.high, level=record.level, p=record.p, p_adjusted=record.p_adjusted,
        n=groups.get(str(own)), n_against=n_against, status=record.status, reason=record.reason,
        direction=direction_of(
            record.value, significant=record.finding, better=better, equivalent=record.equivalent
        ),
        source="records", place=place,
    )  # fmt: skip


def _of_change(change: Change, place: int) -> Finding:
    """Return what changed: a rate, by which values are better; a difference between groups, by whether it shrank."""
    if change.kind == "rate":
        direction = direction_of(change.change, significant=change.finding, better=get_measure(change.measure).better)
    elif not change.finding:
        direction = Direction.INCONCLUSIVE
    else:
        direction = Direction.BETTER if abs(change.after) < abs(change.before) else Direction.WORSE
    return Finding(
        kind="change", measure=change.measure, alias=change.alias, attribute=change.attribute, group=change.group,
        against=change.against, class_=change.class_, split=change.split, estimate=change.change,
        low=_known(change.low), high=_known(change.high), p=change.p, p_adjusted=change.p_adjusted,
        n=change.denominator_after, n_against=change.denominator_before, status=change.status, reason=change.reason,
        direction=direction, source="changes", place=place,
    )  # fmt: skip


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value
