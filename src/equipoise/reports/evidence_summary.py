"""Evidence over runs as one plain dictionary: everything its page says, before any of it is HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from equipoise.audits.evidence import (
    EvidenceRecord,
    EvidenceResult,
    SpreadChange,
    say_overall,
    say_techniques,
    worst_first,
)
from equipoise.foundation.errors import listing
from equipoise.reports.formats import plural
from equipoise.reports.plain_tables import Table, limited
from equipoise.reports.provenance import NOT_CERTIFIED, provenance_of
from equipoise.reports.techniques import Cell, Placed, by_cell, families_of, metrics_of
from equipoise.results import Verdict, record_as_json

TWO_UNCERTAINTIES = (
    "Tests here are about training: would another run of the same training give the same picture? Whether other "
    "people would give it is another question; it needs the predictions (equipoise audit)."
)
# Lines of costs are long: they name metrics.
MOST_COSTS = 80
# What every comparison of a result shares.
SAME = ("test", "alternative", "correction", "level", "error_rate", "spread_rule")
# What may be undefined of a comparison, and must then be explained.
EXPLAINED = {
    "stdev": "STDEV", "p": "p", "d": "d", "spread_p": "Levene's p", "levene_p": "Levene's p of relative values",
    "prob_single_run_misleads": "how often one run misleads",
}  # fmt: skip


def summarise(result: EvidenceResult) -> Table:
    """Return what the page says, as plain data."""
    judged = [record for record in result.records if record.verdict is not None]
    any_judged = judged[0] if judged else None
    return {
        "title": f"Evidence from {result.provenance.get('data')}",
        "call": "equipoise.evidence",
        "created": result.provenance.get("created"),
        "verdict": _verdict(result, judged),
        "scope": result.records[0].scope if result.records else "",
        "not_certified": NOT_CERTIFIED,
        "two_uncertainties": TWO_UNCERTAINTIES,
        "metrics": metrics_of(result),
        "performance": list(result.performance),
        "grid": _grid(result),
        "costs": _costs(result),
        "straddling": _straddling(result),
        "table": limited([_line(placed) for placed in enumerate(result.records)]),
        "same": {name: getattr(any_judged, name, None) for name in SAME},
        "untold": list(_untold(result)),
        "notes": list(result.notes),
        "provenance": provenance_of(result),
    }


def _verdict(result: EvidenceResult, judged: list[EvidenceRecord]) -> Table:
    """Say how many comparisons came out which way; the performance is not counted among them, as in the words."""
    effects = [record for record in judged if record.metric not in result.performance] or judged
    times = Counter(record.verdict for record in effects)
    headline, *sentences = say_overall(result.records, result.performance, result.straddling)
    runs = [record.runs for record in result.records]
    costly = sum(bool(record.costs) for record in effects if record.verdict == Verdict.LOWER)
    return {
        "headline": headline,
        "tone": "findings" if times[Verdict.HIGHER] or costly else "none",
        "sentences": sentences,
        "techniques": list(say_techniques(result.records)),
        "families": len(families_of(result)),
        "runs": plural(max(runs), "run") if min(runs) == max(runs) else f"{min(runs):,} to {max(runs):,} runs",
        "times": {verdict: times[verdict] for verdict in Verdict},
        "costly": costly,
    }


def _grid(result: EvidenceResult) -> list[Table]:
    """Return the verdicts alone, a line a technique: what a notebook has room for."""
    cells, metrics = by_cell(result), metrics_of(result)
    return [
        {
            "technique": technique,
            "baseline": family.baseline,
            "cells": [_line(cells[technique, m]) if (technique, m) in cells else None for m in metrics],
        }
        for family in families_of(result)
        for technique in family.techniques
    ]


def _line(placed: Placed) -> Table:
    """Return a record as a line of a table; what is undefined is None."""
    place, record = placed
    return {"record": place, **record_as_json(record)}


def _costs(result: EvidenceResult) -> Table:
    """What each technique does to the metrics, and what it costs: a line a technique."""
    cells, metrics = by_cell(result), metrics_of(result)
    changes = {(own.technique, own.metric): own.counted[2] for own in result.variances}
    rows: list[Table] = []
    for family in families_of(result):
        for technique in family.techniques:
            own = [cells[technique, m][1] for m in metrics if m not in result.performance and (technique, m) in cells]
            rows.append({
                "technique": technique,
                "baseline": family.baseline,
                "of": len(own),
                "lower": [record.metric for record in own if record.verdict == Verdict.LOWER],
                "higher": [record.metric for record in own if record.verdict == Verdict.HIGHER],
                "performance": [
                    _performance(cells, technique, family.baseline, metric, changes.get((technique, metric)))
                    for metric in result.performance
                ],
                "vary": [record.metric for record in own if changes[technique, record.metric] == "higher"],
            })  # fmt: skip
    return limited(rows, MOST_COSTS)


def _performance(
    cells: dict[Cell, Placed], technique: str, baseline: str, metric: str, change: SpreadChange | None
) -> Table | None:
    if (technique, metric) not in cells:
        return None
    return {**_line(cells[technique, metric]), "against": _line(cells[baseline, metric]), "varies": change == "higher"}


def _straddling(result: EvidenceResult) -> Table:
    places = {straddle: place for place, straddle in enumerate(result.straddling)}
    return limited([{"place": places[own], **record_as_json(own)} for own in worst_first(result.straddling)])


def _untold(result: EvidenceResult) -> Iterator[str]:
    """Yield what was undecided or is undefined, and why; those with the same reason together."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for record in result.records:
        if record.verdict is None or not record.reason:
            continue
        plain = record_as_json(record)
        undefined = [title for name, title in EXPLAINED.items() if plain[name] is None]
        if record.verdict == Verdict.UNDECIDED or undefined:
            lead = "undecided" if record.verdict == Verdict.UNDECIDED else f"{', '.join(undefined)} undefined"
            reasons.setdefault((lead, record.reason), []).append(f"{record.technique} on {record.metric}")
    for (lead, reason), cells in reasons.items():
        start = "" if reason.startswith(lead) else f"{lead}: "
        yield f"{listing(cells, 6)}: {start}{reason}."
