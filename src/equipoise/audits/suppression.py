"""Hiding small cells: numbers about fewer than N people are not shown, and such groups enter no gap.

What is hidden here can sometimes be worked out from totals; see docs/measures.md for what that means.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from equipoise.cohorts.card import Card
from equipoise.foundation.results import Record
from equipoise.measures.measure import Floats, get_measure
from equipoise.tallies.confusion import Confusion


def big_enough(groups: Sequence[str], rows: Confusion, least: int) -> list[str]:
    """Return the groups with at least so many rows."""
    if not least:
        return list(groups)
    return [group for group in groups if rows.people[rows.groups.index(group), 0] >= least]


def suppressed(records: Iterable[Record], rows: Confusion | None, least: int) -> Iterator[Record]:
    """Yield the records, with those about too few people emptied."""
    for record in records:
        yield _hidden(record, least) if least and _too_small(record, rows, least) else record


def _too_small(record: Record, rows: Confusion | None, least: int) -> bool:
    if rows is None:  # scores and residuals carry the size of their group
        return record.denominator is not None and record.denominator < least
    measure = get_measure(record.measure)
    if record.kind == "rate":
        table = rows if record.group is not None else rows.everyone
        place = rows.groups.index(record.group) if record.group is not None else 0
        if table.people[place, 0] < least:
            return True
        return record.class_ is not None and _denominators(record.measure, table, record.class_)[place] < least
    if measure.of is None or record.class_ is None:
        return False
    table = rows.only(big_enough(rows.groups, rows, least))
    return bool((_denominators(measure.of, table, record.class_) < least).any())


def _denominators(rate: str, rows: Confusion, name: str) -> Floats:
    _, denominators = get_measure(rate).function(rows)
    return denominators[:, rows.classes.index(name)]  # type: ignore[no-any-return]


def _hidden(record: Record, least: int) -> Record:
    return replace(
        record,
        value=float("nan"),
        numerator=None,
        denominator=None,
        group=record.group if record.kind in ("rate", "value") else None,
        against=None,
        status="too small",
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
