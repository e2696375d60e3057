"""The table of the evidence that a paper shows: a line a technique and metric."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from equipoise.results import Table

if TYPE_CHECKING:
    from equipoise.audits.evidence._result import EvidenceRecord

HEADINGS = (
    "technique", "metric", "runs", "mean", "stdev", "MaxDiff", "baseline", "p, corrected", "d", "verdict", "costs",
)  # fmt: skip


def evidence_table(records: Iterable[EvidenceRecord]) -> Table:
    """Return the table; a baseline is held against nothing."""
    rows = tuple(
        (
            r.technique, r.metric, r.runs, r.mean, r.stdev, r.maxdiff, r.baseline, r.p_adjusted, r.d, r.verdict,
            "; ".join(r.costs) or None,
        )
        for r in records
    )  # fmt: skip
    return Table("evidence", "Techniques over repeated runs", HEADINGS, rows)
