"""The verdict on a comparison: its headline, the other sentences, and how many groups were tested."""

from __future__ import annotations

from equipoise.audits.compare.headlines import headline_of_result
from equipoise.audits.compare.result import CompareResult
from equipoise.reports.plain_tables import Table
from equipoise.results import Status


def verdict_of(result: CompareResult) -> Table:
    """Return the headline, the sentences, and how many groups were tested."""
    made = headline_of_result(result)
    headline, *sentences = result.words
    return {
        "headline": headline,
        "tone": "findings" if made.claims and made.beyond is not False else "none",
        "sentences": sentences,
        "tested": made.tested,
        "findings": made.findings,
        "hidden": sum(1 for record in result.records if record.status == Status.TOO_SMALL),
    }
