"""The verdict on a comparison: its headline, held against the noise floor where an identical rerun was given."""

from __future__ import annotations

import math

from equipoise.audits.compare.result import CompareResult
from equipoise.audits.compare.words import beyond_floor, percent
from equipoise.reports.audit_tables import Table
from equipoise.reports.formats import plural, safe_name


def verdict_of(result: CompareResult) -> Table:
    """Return the headline, the sentences, and how many groups were tested."""
    tested = [record for record in result.records if record.finding is not None]
    findings = sum(1 for record in tested if record.finding)
    return {
        "headline": _headline(result, len(tested), findings),
        "tone": "findings" if findings and beyond_floor(result) is not False else "none",
        "sentences": list(result.words),
        "tested": len(tested),
        "findings": findings,
        "hidden": sum(1 for record in result.records if record.status == "too small"),
    }


def _headline(result: CompareResult, tested: int, findings: int) -> str:
    reached = result.similarity.share_reached
    if math.isnan(reached):
        return "Nobody changed more than the others: every score is the same."
    most = f"the {percent(reached)} most changed"
    floor = _floor(result, most)
    if not tested:
        return f"{floor}Who is among {most} was not tested; the shares are shown as they are."
    if not findings:
        return f"{floor}No group is shown to be more or less common among {most} than in the population."
    counted = (
        f"of {plural(tested, 'group')} that could be tested, {plural(findings, 'group is', 'groups are')} more or less "
        f"common among {most} than in the population{_foremost(result)}."
    )
    if beyond_floor(result) is False:
        return f"{floor}{counted[:1].upper()}{counted[1:]}"
    return f"{floor}The change did not touch everybody alike: {counted}"


def _floor(result: CompareResult, most: str) -> str:
    """Say first whether the change goes beyond what an identical rerun changes; nothing where there is no rerun."""
    if not result.floor or math.isnan(result.floor[0].excess):
        return ""
    everyone, beyond = result.floor[0], beyond_floor(result)
    scores = f"mean score {everyone.mean:.3f}; of an identical rerun {everyone.floor_mean:.3f}"
    if beyond is None:
        return f"Whether the change goes beyond an identical rerun was not tested ({scores}). "
    if not beyond:
        return (
            f"The change is not shown to go beyond what an identical rerun changes ({scores}): who is among {most} may "
            "be that noise. "
        )
    return f"The change goes beyond what an identical rerun changes ({scores}). "


def _foremost(result: CompareResult) -> str:
    """Name the finding that stands out most among the most changed, beside what a rerun alone would make it."""
    more = [record for record in result.records if record.finding and record.difference > 0]
    if not more:
        return ""
    one = max(more, key=lambda record: record.difference)
    rerun = one.share_changed_rerun
    noise = "" if rerun is None or math.isnan(rerun) else f" ({percent(rerun)} by a rerun alone)"
    name = f"{safe_name(str(one.attribute))} {safe_name(str(one.group))}"
    return f"; most of all {name}, {percent(one.share_changed)}{noise} against {percent(one.share_population)}"
