"""Nested rings (paper 003, figures 12 and 13): a ring an attribute, the most changed beside the population."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import altair as alt

from equipoise.audits.compare.result import CompareResult, RingPart
from equipoise.reports.charts.chart import INK, ROWS, Chart, Fit, Row, finish, rounded
from equipoise.reports.formats import percent, safe_name

MOST_RINGS = 6
MOST_PARTS = 40
# In pixels, as a phone has room for: a radius that grows with the page is not drawn in panels.
RADIUS = 145
NARROWEST, WIDEST = 2 * RADIUS, 360
HOLE = 0.9
# What a letter takes, and the fewest that still say something.
LETTER, LEAST_LETTERS = 6.2, 4
LONGEST = 18
# Light enough for dark letters; neighbours in a ring also have a white line between them, and a name where it fits.
TINTS = ("#A9D3EA", "#F9C9A3", "#A9DEC9", "#E9C7DC", "#D5DBE1", "#F6E3A1", "#C7C2E8")
WHOM = {"changed": "the most changed", "population": "everyone"}


def rings(result: CompareResult) -> Chart | None:
    """Draw the shares of each attribute's groups as a ring, the first attribute innermost."""
    every = list(dict.fromkeys(part.attribute for part in result.rings))
    attributes = every[:MOST_RINGS]
    if not attributes:
        return None
    rows = [row for part in result.rings if part.attribute in attributes for row in _rows(part, result, attributes)]
    named: list[Row] = [
        {"panel": panel, "name": safe_name(attribute, LONGEST), "at": _pixels(place + 0.5, len(attributes)), "top": 0}
        for panel in range(len(WHOM))
        for place, attribute in enumerate(attributes)
    ]
    inside_out = ", ".join(safe_name(attribute) for attribute in attributes)
    words = f"Nested rings of {inside_out}: shares among the most changed beside those of everyone."
    left = len(every) - len(attributes)
    spec = finish(_plot(), [*rows, *named], {"panels": list(WHOM.values())}, alt=words)
    spec["config"]["view"] = {"stroke": None}
    return Chart(
        name="rings",
        title="Nested rings of attributes",
        caption=(
            f"From the inside out: {inside_out}. The parts of a ring are the groups, from the top clockwise, in the "
            "same order and colours on both sides. Small parts have no name; the table has all of them."
        ),
        alt=f"{words} The numbers are in the table below.",
        spec=spec,
        fit=Fit(len(WHOM), NARROWEST, WIDEST, 0),
        notes=(f"Shown are the first {len(attributes)} of {len(every)} attributes.",) if left else (),
        rows=2 * len(rows) + len(named),
    )  # fmt: skip


def _rows(part: RingPart, result: CompareResult, attributes: Sequence[str]) -> Iterator[Row]:
    """Yield a part of a ring with what is written along it."""
    if part.share <= 0:
        return
    place, panel = attributes.index(part.attribute), list(WHOM).index(part.whom)
    own = [one.group for one in result.rings if one.attribute == part.attribute and one.whom == part.whom]
    if own.index(part.group) >= MOST_PARTS:
        return
    radius = _pixels(place + 0.5, len(attributes))
    free = _free(part, radius)
    middle = sum(free) / 2
    yield {
        "panel": panel,
        "start": rounded(part.start),
        "end": rounded(part.end),
        "inner": _pixels(place, len(attributes)),
        "outer": _pixels(place + 1, len(attributes)),
        "tint": own.index(part.group) % len(TINTS),
        "attribute": safe_name(part.attribute),
        "group": safe_name(part.group),
        "share": rounded(part.share, 100),
        "text": _text(safe_name(part.group), part.share, free[1] - free[0], radius),
        "middle": rounded(middle),
        "radius": radius,
        # Along the ring, and never upside down.
        "turn": rounded(360 * middle + (180 if 0.25 < middle < 0.75 else 0)),
    }


def _pixels(ring: float, number: int) -> float:
    """Return how far from the middle a ring lies."""
    return round(RADIUS * (HOLE + ring) / (HOLE + number), 1)


def _free(part: RingPart, radius: float) -> tuple[float, float]:
    """Return the part of a ring that can be written on: at the top stands the name of the ring."""
    taken = LETTER * (len(safe_name(part.attribute, LONGEST)) + 1) / 2 / (2 * math.pi * radius)
    start, end = max(part.start, taken), min(part.end, 1 - taken)
    return (start, end) if start < end else (part.start, part.start)


def _text(group: str, share: float, free: float, radius: float) -> str:
    """Return as much of a name and its share as fits along the part."""
    letters = int(2 * radius * math.sin(min(math.pi * free, 0.9)) / LETTER)
    number = percent(share).replace(".0 %", " %")
    for text in (f"{group} {number}", group):
        if len(text) <= letters:
            return text
    return f"{group[: letters - 1]}…" if letters >= LEAST_LETTERS else ""


def _plot() -> alt.FacetChart:
    base = alt.Chart()
    turn = alt.Scale(domain=[0, 1], range=[0, 2 * math.pi])
    colour = alt.Color("tint:O").scale(domain=list(range(len(TINTS))), range=list(TINTS)).legend(None)
    tooltip = [
        alt.Tooltip("attribute:N", title="attribute"),
        alt.Tooltip("group:N", title="group"),
        alt.Tooltip("share:Q", title="share, %", format=".2f"),
    ]
    parts = base.mark_arc(stroke="white", strokeWidth=1.5).encode(
        theta=alt.Theta("start:Q").scale(turn).stack(None), theta2="end:Q",
        radius=alt.Radius("inner:Q").scale(None), radius2="outer:Q", color=colour, tooltip=tooltip,
    )  # fmt: skip
    written = base.mark_text(fontSize=11, color=INK).encode(
        theta=alt.Theta("middle:Q").scale(turn).stack(None), radius=alt.Radius("radius:Q").scale(None).stack(None),
        angle=alt.Angle("turn:Q").scale(None), text="text:N", tooltip=tooltip,
    )  # fmt: skip
    # The name of a ring stands at its top, where its first part begins, with a white edge around the letters.
    names = [
        base.mark_text(fontSize=11, fontWeight="bold", **edge).encode(
            theta=alt.Theta("top:Q").scale(turn).stack(None), radius=alt.Radius("at:Q").scale(None).stack(None),
            text="name:N",
        )
        for edge in ({"stroke": "white", "strokeWidth": 4, "color": "white"}, {"color": INK})
    ]  # fmt: skip
    plot: alt.FacetChart = (
        alt.layer(parts, written, *names)
        .properties(width=NARROWEST, height=NARROWEST)
        .facet(
            data=alt.NamedData(ROWS),
            facet=alt.Facet("panel:O").header(title=None, labelExpr="panels[datum.value]"),
            columns=len(WHOM),
        )
    )
    return plot
