"""Dumbbells of a comparison, one row per group: the most changed, whose predictions changed, and projections."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from equipoise.audits.compare import ChangeRecord, CompareResult, OutcomeRecord, ProjectionRecord
from equipoise.reports._formats import safe_name, short_percent
from equipoise.reports.charts.chart import COLOURS, INK, QUIET, Chart, Row, finish, rounded
from equipoise.reports.charts.dumbbells import CHANCE, RING, Look, dumbbells, fit, pair
from equipoise.reports.charts.grid import Lines
from equipoise.results import Status

MOST_GROUPS = 40
WIDTH = {1: 400, 2: 260}
POPULATION, CONFIRMED, NOT_SIGNIFICANT, UNTESTED = "population", "confirmed", "not significant", "not tested"
RERUN, BEFORE, AFTER, EVERYONE = "by a rerun alone", "before", "after", "everyone"
# To be changed is neither better nor worse.
JUDGED = {CONFIRMED: Look(INK, INK, "diamond"), NOT_SIGNIFICANT: CHANCE, UNTESTED: Look(QUIET, "#FFFFFF", "square")}
SHARES = {POPULATION: RING, **JUDGED, RERUN: Look(COLOURS[0], "#FFFFFF", "cross")}
MOVES = {EVERYONE: RING, **JUDGED}
SIDES = {BEFORE: RING, AFTER: Look(COLOURS[0], COLOURS[0], "diamond")}
TESTED = {"low": ("difference, from", "+.2f"), "high": ("to", "+.2f"), "p": ("p, corrected", ".3g")}


@dataclass(frozen=True)
class _Line:
    """A group's line: what is drawn on it, and how much it matters where there is no room for all."""

    attribute: str | None
    group: str | None
    rows: Sequence[Row]
    size: float


def most_changed(result: CompareResult) -> Chart | None:
    """Draw each group's share of the population, and its share among the most changed."""
    one = result.similarity
    if math.isnan(one.share_reached):
        return None
    profiles = one.unit == "distinct profiles" and one.units < one.rows
    lines = [
        _Line(record.attribute, record.group, list(_shares(place, record, profiles=profiles)), abs(record.difference))
        for place, record in enumerate(result.records)
        if record.attribute is not None and not math.isnan(record.share_changed)
    ]
    findings = sum(1 for record in result.records if record.finding)
    rerun = any(record.share_changed_rerun is not None for record in result.records)
    return _chart(
        lines, SHARES,
        {"rate": ("share, %", ".2f"), "moved": ("difference, points", "+.2f"), **TESTED},
        name="most changed",
        title=f"Who are the {short_percent(one.share_reached)} most changed?",
        caption=(
            "The ring is a group's share of the population, the other mark its share among the most changed: to the "
            "right of the ring the group is more common among them, to the left less. Diamonds are significant after "
            "correction. The pale bar is the interval of one test, before correction."
            + (" Crosses: the share among the most changed if only an identical rerun had changed people." * rerun)
            + (" On the right every distinct profile is counted once." * profiles)
        ),
        words=f"Shares of groups among the most changed and in the population: {findings} confirmed.",
        panels=["people", "distinct profiles"] if profiles else ["people"],
        unit="% of them", zero=True,
    )  # fmt: skip


def _shares(place: int, record: ChangeRecord, *, profiles: bool) -> Iterator[Row]:
    common = _judged("record", place, record, 100)
    share, population = rounded(record.share_changed, 100), rounded(record.share_population, 100)
    yield from _with_interval(
        pair(common, (POPULATION, population), (_verdict(record.finding), share)), record, record.share_population, 100
    )
    if record.share_changed_rerun is not None:
        yield {**common, "rate": rounded(record.share_changed_rerun, 100), "what": RERUN}
    if profiles:
        start, end = record.share_population_profiles, record.share_changed_profiles
        bare: Row = {**common, "panel": 1, "moved": rounded(end - start, 100), "low": None, "high": None, "p": None}
        yield from pair(bare, (POPULATION, rounded(start, 100)), (UNTESTED, rounded(end, 100)))


def outcomes(result: CompareResult) -> Chart | None:
    """Draw how many of each group got another prediction (or how far it moved), beside everyone."""
    if not result.outcomes:
        return None
    everyone = result.outcomes[0]
    scale, field = (100.0, "share_moved") if everyone.mean_shift is None else (1.0, "mean_absolute_shift")
    base = getattr(everyone, field)
    lines = [
        _Line(record.attribute, record.group, _moved(place, record, field, base, scale), abs(record.difference))
        for place, record in enumerate(result.outcomes)
        if record.attribute is not None and record.status == Status.OK
    ]
    findings = sum(1 for record in result.outcomes if record.finding)
    what = "changed predictions" if scale > 1 else "how far predictions changed"
    return _chart(
        lines, MOVES, {"rate": (what, ".4~g"), **TESTED},
        name="outcomes",
        title="Changed predictions by group" if scale > 1 else "How far predictions changed, by group",
        caption=(
            f"The ring is everyone, the other mark the group: {what}"
            + (", in % of them" if scale > 1 else ", on average and without their sign")
            + ". Diamonds are significant after correction; the pale bar is the interval of one test, uncorrected."
        ),
        words=f"{what.capitalize()} by group, beside everyone: {findings} confirmed.",
        panels=[what],
        unit="% of them" if scale > 1 else "mean change", zero=True,
    )  # fmt: skip


def _moved(place: int, record: OutcomeRecord, field: str, base: float, scale: float) -> list[Row]:
    ends = (EVERYONE, rounded(base, scale)), (_verdict(record.finding), rounded(getattr(record, field), scale))
    return _with_interval(pair(_judged("outcome", place, record, scale), *ends), record, base, scale)


def projections(result: CompareResult) -> Chart | None:
    """Draw each group's mean projection on the concept's direction, before and after."""
    lines = [
        _Line(record.attribute, record.group, _sides(place, record), abs(record.mean_after - record.mean_before))
        for place, record in enumerate(result.projections)
        if record.status == Status.OK
    ]
    if not lines:
        return None
    direction = safe_name(result.projections[0].direction)
    return _chart(
        lines, SIDES, {"rate": ("mean projection", ".4~g"), "moved": ("after minus before", "+.3~g")},
        name="projection",
        title=f"Projection on {direction}",
        caption=(
            "The ring is the mean before, the diamond the mean after. A space that is only scaled up has larger "
            "projections: compare groups, not lengths. These means are not tested."
        ),
        words=f"Mean projections on {direction} before and after, by group.",
        panels=["mean projection"],
        unit="projection", zero=False,
    )  # fmt: skip


def _sides(place: int, record: ProjectionRecord) -> list[Row]:
    moved = rounded(record.mean_after - record.mean_before)
    common: Row = {"projection": place, "panel": 0, "group": _name(record.group), "moved": moved}
    return pair(common, (BEFORE, rounded(record.mean_before)), (AFTER, rounded(record.mean_after)))


def _judged(kind: str, place: int, record: ChangeRecord | OutcomeRecord, scale: float) -> Row:
    ends: Row = {name: rounded(getattr(record, name), scale) for name in ("low", "high")}
    moved, p = rounded(record.difference, scale), rounded(record.p_adjusted)
    return {kind: place, "panel": 0, "group": _name(record.group), "moved": moved, "p": p, **ends}


def _with_interval(rows: list[Row], record: ChangeRecord | OutcomeRecord, base: float, scale: float) -> list[Row]:
    """Give the second end of a dumbbell the interval of its difference, laid out from the first."""
    if record.low is not None and record.high is not None:
        rows[1] |= {"from": rounded(base + record.low, scale), "to": rounded(base + record.high, scale)}
    return rows


def _verdict(finding: bool | None) -> str:
    return UNTESTED if finding is None else CONFIRMED if finding else NOT_SIGNIFICANT


def _name(group: str | None) -> str:
    return EVERYONE if group is None else safe_name(group, 40)


def _chart(
    every: Sequence[_Line], looks: Mapping[str, Look], numbers: Mapping[str, tuple[str, str]], *, name: str, title: str,
    caption: str, words: str, panels: Sequence[str], unit: str, zero: bool,
) -> Chart | None:  # fmt: skip
    """Draw lines under the names of their attributes; where there are too many, those that matter most."""
    if not every:
        return None
    kept = sorted(every, key=lambda line: 0.0 if math.isnan(line.size) else -line.size)[:MOST_GROUPS]
    lines, rows, attribute = Lines(), [], None
    for line in every:
        if line not in kept:
            continue
        if line.attribute is not None and line.attribute != attribute:
            attribute = line.attribute
            lines.add(safe_name(attribute, 36), head=True)
        place = lines.add(_name(line.group))
        rows += [{**row, "line": place} for row in line.rows]
    used = {what: look for what, look in looks.items() if any(row["what"] == what for row in rows)}
    plot = dumbbells(
        used, numbers, panels=len(panels), lines=len(lines.names), unit=unit, heads=True,
        intervals=any("from" in row for row in rows), zero=zero, shared=True, width=WIDTH[len(panels)],
    )  # fmt: skip
    return Chart(
        name=name, title=title, caption=caption, alt=f"{words} The numbers are in the table below.",
        spec=finish(plot, rows, {"labels": lines.names, "heads": lines.heads, "panels": list(panels)}, alt=words),
        fit=fit(len(panels), lines.names, used, columns=len(panels), widest=700 // len(panels)),
        notes=(f"Shown are {len(kept)} of {len(every)} groups, those that differ most.",) * (len(kept) < len(every)),
        rows=3 * len(rows),
    )  # fmt: skip
