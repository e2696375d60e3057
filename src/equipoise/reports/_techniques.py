"""Evidence as a chart or a table needs it: families of techniques, metrics in order, and the largest effects."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from equipoise.audits.evidence import EvidenceRecord, EvidenceResult
from equipoise.results import Verdict

# A record and its place among the records of the result: every number on a page can be traced to its JSON.
Placed = tuple[int, EvidenceRecord]
Cell = tuple[str, str]


@dataclass(frozen=True)
class Family:
    """A baseline and the techniques that are compared with it."""

    baseline: str
    techniques: tuple[str, ...]


def families_of(result: EvidenceResult) -> list[Family]:
    """Return every baseline with its techniques, in the order of the records."""
    found: dict[str, dict[str, None]] = {}
    for record in result.records:
        if record.baseline is not None:
            found.setdefault(record.baseline, {})[record.technique] = None
    return [Family(baseline, tuple(techniques)) for baseline, techniques in found.items()]


def metrics_of(result: EvidenceResult) -> list[str]:
    """Return the metrics, those that are better high last."""
    metrics = dict.fromkeys(record.metric for record in result.records)
    return sorted(metrics, key=lambda metric: metric in result.performance)


def by_cell(result: EvidenceResult) -> dict[Cell, Placed]:
    """Return the record of each technique and metric, with its place."""
    return {(record.technique, record.metric): (place, record) for place, record in enumerate(result.records)}


def with_largest_effects(
    result: EvidenceResult, most: int, metrics: Collection[str]
) -> tuple[list[Family], str | None]:
    """Return the families with as many techniques as there is room for, and a word about those left out."""
    families = families_of(result)
    size: dict[str, float] = {}
    for record in result.records:
        if record.baseline is not None:
            told = (
                abs(record.d or 0.0)
                if record.metric in metrics and record.verdict in (Verdict.LOWER, Verdict.HIGHER)
                else 0.0
            )
            size[record.technique] = max(size.get(record.technique, 0.0), 0.0 if math.isnan(told) else told)
    if len(size) <= most:
        return families, None
    chosen = set(sorted(size, key=lambda technique: -size[technique])[:most])
    kept = [Family(f.baseline, tuple(t for t in f.techniques if t in chosen)) for f in families]
    note = f"Shown are the {most} of {len(size)} techniques with the largest effects."
    return [family for family in kept if family.techniques], note
