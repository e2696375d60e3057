"""Bars: shares of people, and how well groups can be read from an embedding."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from equipoise.audits import AuditResult
from equipoise.audits.leakage import LeakageRecord
from equipoise.foundation import plural
from equipoise.reports._comparisons import nearest_treatments, title_of_under
from equipoise.reports._formats import safe_name
from equipoise.reports._spaces import learner_title
from equipoise.reports.charts.chart import (
    INK,
    LETTER,
    LINE,
    OPEN,
    REFERENCE,
    SIGNIFICANT,
    UNDECIDED,
    Chart,
    Fit,
    Lines,
    Look,
    Row,
    by_look,
    draw,
    fit,
    in_panels,
    line_axis,
    rounded,
    tips,
    used,
)
from equipoise.studies import StudyResult

MOST_ATTRIBUTES = 12
FINDING, NO_FINDING, UNTESTED = "confirmed", "not significant", "not tested"
SHUFFLED = "shuffled groups (control)"
PROBE_LOOKS = {FINDING: SIGNIFICANT, NO_FINDING: OPEN, UNTESTED: UNDECIDED, SHUFFLED: REFERENCE}
BAR = "#B7D4EA"
MOST_LINES = 45


def _bar_panel(layers: Sequence[alt.Chart]) -> alt.FacetChart:
    return in_panels(layers, columns=1, width=460, height=alt.Step(24), axes="")


def _bar(x: alt.X, y: alt.Y, tooltip: Sequence[alt.Tooltip]) -> alt.Chart:
    plot: alt.Chart = alt.Chart().mark_bar(height=14, color=BAR).encode(x=x, x2=alt.datum(0), y=y, tooltip=tooltip)
    return plot


def leakage(result: AuditResult) -> Chart | None:
    """Draw the balanced accuracy of every probe of every attribute."""
    attributes = list(dict.fromkeys(record.attribute for record in result.leakage))[:MOST_ATTRIBUTES]
    if not attributes:
        return None
    lines = Lines()
    panels: dict[str, list[object]] = {"panels": ["Balanced accuracy"]}
    rows: list[Row] = []
    for attribute in attributes:
        lines.add(safe_name(attribute, 30), head=True)
        for index, record in enumerate(result.leakage):
            if record.attribute == attribute:
                rows += _probe_rows(index, record, lines.add(learner_title(record.probe)))
    records = [record for record in result.leakage if record.attribute in attributes]
    confirmed = sum(1 for record in records if record.finding)
    words = f"Balanced accuracy of {plural(len(records), 'probe')} for {plural(len(attributes), 'attribute')}."
    looks = used(PROBE_LOOKS, rows)
    many = len({record.attribute for record in result.leakage}) - len(attributes)
    return draw(
        _probe_plot(looks, len(lines.names)),
        rows,
        lines.labels([]) | panels,
        name="leakage",
        title="Balanced accuracy of the probes",
        caption=(
            f"A bar is a probe's balanced accuracy out of fold, the line its 95% interval; {confirmed} of "
            f"{plural(len(records), 'probe')} read the group better than chance, after correction. The black stroke is "
            "chance, one over the number of groups; the upright bar is the same probe with permuted groups."
        ),
        words=words,
        fit=fit(1, lines.names, looks, columns=1, widest=620),
        notes=(f"{plural(many, 'more attribute')} in the table.",) if many > 0 else (),
        marks=4,
    )


def _probe_rows(index: int, record: LeakageRecord, line: int) -> Sequence[Row]:
    confirmed = record.finding
    common: Row = {"leakage": index, "line": line, "panel": 0, "of": safe_name(record.attribute)}
    return [
        {
            **common, "what": SHUFFLED, "value": rounded(record.shuffled_balanced),
        },
        {
            **common, "what": UNTESTED if confirmed is None else FINDING if confirmed else NO_FINDING,
            "value": rounded(record.balanced), "balanced": rounded(record.balanced),
            "low": rounded(record.balanced_low), "high": rounded(record.balanced_high),
            "chance": rounded(record.chance), "p": rounded(record.balanced_p_adjusted),
        },
    ]  # fmt: skip


def _probe_plot(looks: dict[str, Look], lines: int) -> alt.FacetChart:
    base, y, looked = alt.Chart(), line_axis(lines, heads=True), by_look(looks)
    x = alt.X("balanced:Q").title(None).scale(domain=[0, 1]).axis(tickCount=5, format=".1f", gridColor=LINE)
    tooltip = tips(
        of="of", what="what", value=("balanced accuracy", ".3f"), low=("from", ".3f"), high=("to", ".3f"),
        chance=("chance", ".3f"), p=("p, corrected", ".3g"),
    )  # fmt: skip
    return _bar_panel([
        _bar(x, y, tooltip),
        base.mark_tick(color=INK, thickness=2.5, size=20).encode(x="chance:Q", y=y),
        base.mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q", y=y, color=looked["color"], tooltip=tooltip),
        base.mark_point(size=75, opacity=1, strokeWidth=1.5).encode(x="value:Q", y=y, **looked, tooltip=tooltip),
    ])  # fmt: skip


def flips(result: StudyResult) -> Chart | None:
    """Draw the share of people whose predictions differ between identical runs: one line per treatment."""
    shares: dict[tuple[tuple[str, str], str], list[float]] = {}
    chosen = {(c.condition, c.learner, c.treatment, c.setting) for c in result.cells if c.chosen}
    for flip in result.flips:
        if flip.group is None and (flip.condition, flip.learner, flip.treatment, flip.setting) in chosen:
            shares.setdefault(((flip.condition, flip.learner), flip.treatment), []).append(flip.share)
    treatments, left_out = nearest_treatments(result, 12)
    unders = result.unders[: max(1, MOST_LINES // (len(treatments) + 1))]
    lines, rows = Lines(), []
    for under in unders:
        names = [name for name in treatments if (under, name) in shares]
        if names:
            lines.add(title_of_under(result, under), head=True)
        for name in names:
            seed_shares = shares[under, name]
            share = sum(seed_shares) / len(seed_shares)
            rows.append(_flip_row(lines.add(safe_name(name, 40)), name, share, len(seed_shares)))
    if not rows:
        return None
    words = f"Share of people whose prediction flips between identical runs, for {plural(len(rows), 'cell')}."
    labels = lines.labels([]) | {"panels": ["People whose prediction flips"]}
    return draw(
        _flip_plot(len(lines.names), _longest_axis(rows)),
        rows,
        labels,
        name="flips",
        title="Same seed, same data, another answer",
        caption=(
            "The share of test people whose predicted class is not the same in all identical runs (mean over seeds). "
            "With more runs there is more room to differ."
        ),
        words=words,
        fit=Fit(1, 200, 620, min(250, 24 + LETTER * max(map(len, lines.names)))),
        notes=(left_out,) if left_out else (),
        marks=2,
        room=True,
    )


def _longest_axis(rows: list[Row]) -> float:
    """Return where the axis ends: there is room for the number beside the longest bar."""
    return 1.15 * max(max(float(str(row["share"])) for row in rows), 0.001)


def _flip_row(line: int, name: str, share: float, seeds: int) -> Row:
    return {
        "line": line, "panel": 0, "share": rounded(share), "text": f"{100 * share:.1f}%", "of": safe_name(name),
        "seeds": seeds,
    }  # fmt: skip


def _flip_plot(lines: int, most: float) -> alt.FacetChart:
    y = line_axis(lines, heads=True)
    x = alt.X("share:Q").title(None).scale(domain=[0, most]).axis(tickCount=5, format=".1~%", gridColor=LINE)
    text = alt.Chart().mark_text(align="left", dx=4, fontSize=12, color=INK).encode(x=x, y=y, text="text:N")
    return _bar_panel([_bar(x, y, tips(of="treatment", share=("flipped", ".2%"), seeds=("seeds", ""))), text])
