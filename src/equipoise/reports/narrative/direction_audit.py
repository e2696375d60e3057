"""What the audit of a discovered direction says: whether the gap on real rows is significant, and beyond chance."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from equipoise.cohorts import (
    LOWER_HALF,
    UPPER_HALF,
)
from equipoise.discovery import MIDDLE, THRESHOLD, DirectionAudit
from equipoise.foundation import (
    plural,
    points,
    report,
)
from equipoise.reports._document import (
    Bullets,
    DataTable,
    Document,
    Meaning,
    Name,
    Section,
    Statements,
    Text,
    Tile,
)
from equipoise.reports.narrative._report import Field, Report, document_provenance, record_table
from equipoise.results import GapVerdict, Record

# A cosine to the target from which on the gap may be the target's.
CLOSE = 0.1
PREDICTED = "The sides are predicted from pictures: they say nothing about a person."


@report("direction_audit")
class DirectionAuditReport(Report):
    """The report of an audit of a direction."""

    def document(self, result: DirectionAudit) -> Document:
        """Return everything that is said about it."""
        is_gap = result.verdict == GapVerdict.GAP
        numbers = tuple(_numbers(result))
        return Document(
            title=("Does the classifier treat the two sides of ", Name(result.name), " differently?"),
            facts=_rows(result),
            answer=_answer(result),
            meaning=Meaning.NEUTRAL if is_gap else Meaning.QUIET,
            lead=(Statements("", numbers),) if is_gap else (),
            tiles=_tiles(result),
            inconclusive=()
            if is_gap
            else (Statements(Name(result.name), (f"No gap is shown: {result.reason}.", *numbers)),),
            caution=PREDICTED,
            sections=(
                Section("rates", "Rates of the upper side less those of the lower", (_table(result),), short="Rates"),
                *(
                    (Section("context", "What else differs", (Bullets(context),), short="Context", essential=True),)
                    if (context := tuple(_context(result)))
                    else ()
                ),
            ),
            notes=result.notes,
            provenance=document_provenance(result, "equipoise.discovery.audit_direction"),
        )

    def words(self, result: DirectionAudit) -> Iterator[str]:
        """Yield the sentences of the terminal and of the JSON."""
        yield f"{result.name}: {_rows(result)}"
        yield from _rates(result)
        yield from _numbers(result)
        yield "A gap is shown." if result.reason is None else f"No gap is shown: {result.reason}."
        yield from _context(result)
        yield from result.notes


def _answer(audit: DirectionAudit) -> Text:
    if audit.verdict == GapVerdict.GAP:
        return (
            "The error rates differ between the two sides of ", Name(audit.name),
            f": by {points(audit.gap)}, more than along random directions.",
        )  # fmt: skip
    return ("No gap is confirmed between the two sides of ", Name(audit.name), f": {audit.reason}.")


def _rows(audit: DirectionAudit) -> str:
    lower, upper, middle = (audit.rows[side] for side in (LOWER_HALF, UPPER_HALF, MIDDLE))
    left_out = f" ({middle:,} in the middle are left out)" if middle else ""
    return (
        f"{plural(lower, 'row')} of the split {audit.split!r} on the lower, {upper:,} on the upper side{left_out}, "
        f"as estimated by {audit.how}."
    )


def _rates(audit: DirectionAudit) -> Iterator[str]:
    for record in audit.contrasts:
        if record.defined:
            between = f" [{_interval(record)}]" if _interval(record) else ""
            change = f"{100 * record.value:+.1f} points from lower to upper{between}"
        else:
            change = f"undefined ({record.reason})"
        yield f"{_rate(record)} of {record.class_!r}: {change}."


def _numbers(audit: DirectionAudit) -> Iterator[str]:
    if np.isfinite(audit.gap):
        median = 100 * float(np.median(audit.chance))
        yield (
            f"The gap given the true label is {100 * audit.gap:.1f} points; the median of {len(audit.chance):,} random "
            f"directions is {median:.1f} (rank {audit.rank_among_random:,} of {len(audit.chance) + 1:,})."
        )


def _context(audit: DirectionAudit) -> Iterator[str]:
    tracked = audit.association
    if tracked.defined:
        differs = f"The share of true labels differs by {100 * tracked.value:.1f} points between the sides"
        if tracked.p is not None and tracked.p <= THRESHOLD:
            yield (
                f"{differs}, significantly: the direction goes with the label, so rates given the label may differ "
                "because the rows of one side are harder."
            )
        else:
            yield f"{differs}, not significantly."
    for name, cosine in audit.cosines.items():
        if abs(cosine) > CLOSE:
            yield f"The direction has a cosine of {cosine:.2f} to {name!r}; random directions have none."


def _tiles(audit: DirectionAudit) -> tuple[Tile, ...]:
    gap = "undefined" if not np.isfinite(audit.gap) else points(audit.gap)
    rank = "–" if audit.rank_among_random is None else f"{audit.rank_among_random:,} of {len(audit.chance) + 1:,}"
    p = "not tested" if not np.isfinite(audit.people) else f"p = {audit.people:.2g}"
    return (
        Tile("gap given the true label", gap, None, f"over rows: {p}"),
        Tile("rank among random directions", rank, None, "1: none has as large a gap"),
        Tile("rows", f"{sum(audit.rows.values()):,}", None, f"split {audit.split}"),
    )


def _table(audit: DirectionAudit) -> DataTable:
    fields = (
        Field("Rate", lambda _, record: _rate(record)), Field("Class", lambda _, record: Name(str(record.class_))),
        Field("Upper less lower", lambda _, record: f"{100 * record.value:+.1f} points" if record.defined
              else f"undefined ({record.reason})", True),
        Field("Interval", lambda _, record: _interval(record) or "–", True),
    )  # fmt: skip
    return record_table(
        "Rates of the upper side less those of the lower", fields, enumerate(audit.contrasts), what="rates"
    )


def _rate(record: Record) -> str:
    return record.measure.replace("_", " ")


def _interval(record: Record) -> str:
    if record.low is None or record.high is None:
        return ""
    return f"{100 * record.low:.1f} to {100 * record.high:.1f}"
