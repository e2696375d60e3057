"""Hiding small cells: numbers about fewer than N people are not shown, and such groups enter no gap.

What is hidden here can sometimes be worked out from totals; see docs/measures.md for what that means.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from equipoise.cohorts.card import Card
from equipoise.results import Record, Status, without_tests
from equipoise.tallies.confusion import Confusion


def big_enough(rows: Confusion, least: int, *, by_class: bool) -> list[str]:
    """Return the groups with at least so many rows; with ``by_class`` in each true class.

    A group with a small class is left out of everything that needs the target: from its other rates and counts the
    small one could be worked out.
    """
    smallest = rows.positives.min(axis=1) if by_class and rows.has_target else rows.people[:, 0]
    return [group for group, people in zip(rows.groups, smallest, strict=True) if people >= least]


def suppressed(records: Iterable[Record], kept: Collection[str], least: int) -> Iterator[Record]:
    """Yield the records, those about groups that are not kept emptied."""
    for record in records:
        own = record.kind in ("rate", "value") and record.group is not None
        yield _hidden(record, least) if least and own and record.group not in kept else record


def _hidden(record: Record, least: int) -> Record:
    return replace(
        without_tests(record),
        value=float("nan"),
        numerator=None,
        denominator=None,
        group=record.group if record.kind in ("rate", "value") else None,
        against=None,
        status=Status.TOO_SMALL,
        reason=f"fewer than {least:,} people",
    )


def suppressed_card(card: Card, least: int) -> Card:
    """Return the card with small groups and small classes emptied."""
    if not least:
        return card
    rows = []
    for row in card.groups:
        if row.rows is not None and row.rows < least:
            rows.append(replace(row, rows=None, share=None, classes=None))
        elif row.classes is not None and min(row.classes.values(), default=least) < least:
            rows.append(replace(row, classes=None))
        else:
            rows.append(row)
    return replace(card, groups=tuple(rows))
