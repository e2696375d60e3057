"""Maps of technique by metric: effect sizes, and changes of the variance. Colour is better or worse, arrows the way."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol, get_args

import altair as alt

from equipoise.audits.evidence import EvidenceResult, VarianceChange
from equipoise.measures.measure import Better
from equipoise.reports._formats import p_value, plural, safe_name, signed_short, times
from equipoise.reports.charts.chart import INK, QUIET, Chart, Row, finish, rounded
from equipoise.reports.charts.grid import CELL, Lines, grid
from equipoise.reports.techniques import Cell, by_cell, metrics_of, with_largest_effects
from equipoise.results import Verdict
from equipoise.stats import Band

MOST_TECHNIQUES = 40
MOST_METRICS = 12
# With more columns, cells are made narrower so that the page is wide enough.
MANY_COLUMNS, NARROW_CELL = 8, 70
# From negligible to huge, light enough at the end for dark letters; grey is not significant, white is undecided.
BLUES = ("#EAF5FC", "#D2EAF9", "#B5DDF5", "#97CFF1", "#78C2ED", "#56B4E9")
ORANGES = ("#FDF3E0", "#FBE6BE", "#F7D695", "#F2C46A", "#ECB238", "#E69F00")
GREY, WHITE, NEUTRAL = "#DDE2E7", "#FFFFFF", "#D8D3E6"
NO_DIFFERENCE, UNDECIDED, NO_BAND, NEITHER = "not significant", "undecided", "d undefined", "neither better nor worse"
LESS, MORE, NO_CHANGE, UNDEFINED = "varies less", "varies more", "not significant", "undefined"
SIGNS = {"lower": "▼ ", "higher": "▲ "}

BANDS = (*get_args(Band), NO_BAND)
EFFECTS = {
    **{f"better, {band}": colour for band, colour in zip(reversed(BANDS), (BLUES[-1], *reversed(BLUES)), strict=True)},
    NO_DIFFERENCE: GREY,
    **{f"worse, {band}": colour for band, colour in zip(BANDS, (*ORANGES, ORANGES[-1]), strict=True)},
    NEITHER: NEUTRAL,
    UNDECIDED: WHITE,
}
CHANGES = {LESS: BLUES[-1], NO_CHANGE: GREY, MORE: ORANGES[-1], UNDEFINED: WHITE}


class Effect(Protocol):
    """What a comparison says of its effect, whichever result it belongs to."""

    @property
    def verdict(self) -> Verdict | None:
        """Lower, higher, none or undecided."""

    @property
    def d(self) -> float | None:
        """Cohen's d."""

    @property
    def band(self) -> Band | None:
        """What an effect of that size is called."""

    @property
    def p_adjusted(self) -> float | None:
        """The p after correction."""

    @property
    def costs(self) -> tuple[str, ...]:
        """What it costs besides."""


def effects(result: EvidenceResult) -> Chart | None:
    """Draw the size of each effect: blue where the technique is better, orange where it is worse, else grey."""
    cells = {
        cell: effect_cell(place, record, "high" if record.metric in result.performance else "low")
        for cell, (place, record) in by_cell(result).items()
        if record.verdict
    }
    return _map(
        result, cells, EFFECTS,
        name="effects",
        title="Effect of each technique on each metric",
        what="effect sizes",
        caption=(
            "Cohen's d, compared with the baseline. Blue is better, orange is worse; the deeper the colour, the larger "
            "the effect. ▼: lower, ▲: higher. Grey: not significant after correction. A question mark in a dashed "
            "frame: too few runs to decide."
        ),
    )  # fmt: skip


def variances(result: EvidenceResult) -> Chart | None:
    """Draw whether the runs of each technique vary more or less than the baseline's."""
    cells = {(own.technique, own.metric): change_cell(place, own) for place, own in enumerate(result.variances)}
    relative = ", both relative to their means" if any(own.spread == "relative" for own in result.variances) else ""
    return _map(
        result, cells, CHANGES,
        name="variances",
        title="Does each technique vary more between runs?",
        what="changes of the variance",
        caption=(
            f"Spread of the runs divided by that of the baseline's runs{relative} (Levene's test): at 2 × "
            "they lie twice as far from their median. ▼ blue: they vary less; ▲ orange: more, which is a cost; grey: "
            "not significant. A question mark in a dashed frame: undefined."
        ),
    )  # fmt: skip


def effect_cell(place: int, record: Effect, better: Better) -> Row:
    """Return what the cell of a comparison shows of its effect on a measure that is better low, high or neither."""
    known = record.d is not None and not math.isnan(record.d)
    if record.verdict in (Verdict.LOWER, Verdict.HIGHER):
        way = "better" if (record.verdict == Verdict.LOWER) == (better == "low") else "worse"
        step = NEITHER if better == "none" else f"{way}, {record.band or NO_BAND}"
    else:
        step = UNDECIDED if record.verdict == Verdict.UNDECIDED else NO_DIFFERENCE
    number = signed_short(record.d) if known else ""
    return {
        "record": place,
        "step": step,
        "text": "?" if step == UNDECIDED else (SIGNS.get(str(record.verdict), "") + number).strip() or "–",
        "found": record.verdict in SIGNS,
        "open": step == UNDECIDED,
        "d": rounded(record.d),
        "told": f"p {p_value(record.p_adjusted)}" + (f"; cost: {', '.join(record.costs)}" if record.costs else ""),
    }


def change_cell(place: int, change: VarianceChange) -> Row:
    """Return what the cell of a comparison shows of its variance."""
    number, p, way = change.counted
    step = {"lower": LESS, "higher": MORE, "none": NO_CHANGE, None: UNDEFINED}[way]
    ratio = "" if math.isnan(number) else f"{times(number)} ×"
    return {
        "variance": place,
        "step": step,
        "text": "?" if way is None else (SIGNS.get(way, "") + ratio).strip() or "–",
        "found": way in SIGNS,
        "open": way is None,
        "ratio": rounded(number),
        "told": f"p {p_value(p)}",
    }


def _map(
    result: EvidenceResult, cells: Mapping[Cell, Row], steps: Mapping[str, str], *, name: str, title: str, what: str,
    caption: str,
) -> Chart | None:  # fmt: skip
    """Draw cells of technique by metric, one block per baseline."""
    every_metric = metrics_of(result)
    metrics = every_metric[:MOST_METRICS]
    families, left_out = with_largest_effects(result, MOST_TECHNIQUES, metrics)
    lines, rows = Lines(), []
    for family in families:
        lines.add(f"compared with {safe_name(family.baseline, 30)}", head=True)
        for technique in family.techniques:
            line = lines.add(safe_name(technique, 40))
            own = ((column, cells.get((technique, metric))) for column, metric in enumerate(metrics))
            names = {"technique": safe_name(technique), "line": line}
            rows += [
                {**cell, **names, "column": column, "metric": safe_name(metrics[column])}
                for column, cell in own
                if cell is not None
            ]
    if not rows:
        return None
    words = f"Heat map of {what}: {plural(lines.heads.count(False), 'technique')} by {plural(len(metrics), 'metric')}."
    columns: list[object] = [
        [safe_name(metric, 24), "better high"] if metric in result.performance else [safe_name(metric, 24)]
        for metric in metrics
    ]
    used = {step: colour for step, colour in steps.items() if any(row["step"] == step for row in rows)}
    spec = finish(cells_plot(used, len(lines.names), len(metrics)), rows, lines.labels(columns), alt=words)
    spec["config"]["view"] = {"stroke": None}
    notes = [left_out] if left_out else []
    if len(metrics) < len(every_metric):
        notes.append(f"Shown are {len(metrics)} of {len(every_metric)} metrics; the table has all of them.")
    return Chart(
        name=name, title=title, caption=caption, alt=words + " The numbers are in the table below.", spec=spec,
        notes=tuple(notes), rows=2 * len(rows),
    )  # fmt: skip


def cells_plot(steps: Mapping[str, str], lines: int, columns: int) -> alt.TopLevelMixin:
    """Draw cells in the colours of their steps, each with its sign and number."""
    width = CELL if columns <= MANY_COLUMNS else NARROW_CELL
    base = grid(lines, width)
    colour = (
        alt.Color("step:N")
        .scale(domain=list(steps), range=list(steps.values()))
        .legend(title=None, orient="bottom", symbolType="square", symbolStrokeColor=QUIET, symbolStrokeWidth=1)
    )
    tooltip = [
        alt.Tooltip("technique:N", title="technique"),
        alt.Tooltip("metric:N", title="metric"),
        alt.Tooltip("step:N", title="verdict"),
        alt.Tooltip("text:N", title="size"),
        alt.Tooltip("told:N", title="corrected"),
    ]
    box = base.mark_rect(stroke="white", strokeWidth=2).encode(color=colour, tooltip=tooltip)
    frame = base.mark_rect(filled=False, stroke=QUIET, strokeDash=[3, 3]).transform_filter("datum.open")
    # Vega-Lite has no channel for the weight of letters: what was found is written in a layer of its own.
    plain = base.mark_text(fontSize=12, color=INK).encode(text="text:N").transform_filter("!datum.found")
    bold = (
        base.mark_text(fontSize=12, color=INK, fontWeight="bold").encode(text="text:N").transform_filter("datum.found")
    )
    return alt.layer(box, frame, plain, bold).properties(width=columns * width, height=alt.Step(26))
