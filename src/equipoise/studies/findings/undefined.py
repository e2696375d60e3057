"""What no run of a study has a number of: charts and columns of it would be empty."""

from __future__ import annotations

from collections.abc import Iterator

from equipoise.studies.findings.result import StudyResult


def undefined_everywhere(result: StudyResult, attribute: tuple[str, ...]) -> set[str]:
    """Return the measures of everyone or of an attribute that are undefined for every treatment and condition."""
    own = [record for record in result.records if record.attribute in ((), attribute)]
    return {record.measure for record in own} - {record.measure for record in own if record.mean == record.mean}


def undefined_notes(result: StudyResult) -> Iterator[str]:
    """Say once which of the main measures is nowhere to be seen, and why."""
    found = undefined_everywhere(result, result.attribute)
    left_out = [measure for measure in (*result.performance, result.fairness, result.distance) if measure in found]
    if not left_out:
        return
    reasons = (
        record.reason for record in result.records
        if record.measure in left_out and record.attribute in ((), result.attribute) and record.reason
    )  # fmt: skip
    names = " and ".join(measure.replace("_", " ") for measure in left_out)
    reason = next(reasons, None)
    yield (
        f"Undefined under every condition: {names} on {' & '.join(result.attribute)}"
        f"{f' ({reason})' if reason else ''}. Ranks, charts and columns that would show nothing else are left out."
    )
