"""Figures 1 and 2 of paper 003 from the JSON of ``examples/paper_003_lfr.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair as alt

from equipoise.reports.charts import COLOURS, ROWS, WORSE, Chart, Row, small_svg, titled
from equipoise.reports.charts import draw as chart_of
from paper_003.measured import EDGES

ARMS = {
    "group": "+ group", "individual": "+ individual", "both": "+ both", "shuffled": "+ group, shuffled",
    "restart": "utility, other start",
}  # fmt: skip
DATA = {"compas": "COMPAS (race)", "adult": "Adult (sex)"}


def draw(found: dict[str, Any], folder: Path) -> list[Path]:
    """Write every figure as SVG and return the files."""
    made = []
    for setting in ("matched", "aif360"):
        for kernel in ("linear", "rbf"):
            for kind, chart in (("scores", scores), ("lowest", most_changed)):
                path = folder / f"lfr-{kind}-{setting}-{kernel}.svg"
                path.write_text(small_svg(titled(chart(found, setting, kernel))) + "\n", encoding="utf-8")
                made.append(path)
    return made


def _panels(found: dict[str, Any], setting: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Return what is drawn: (data set, what was changed, numbers of all starts together)."""
    return [
        (DATA[name], ARMS[arm], one["settings"][setting]["changes"][arm])
        for name, one in found["datasets"].items()
        for arm in ARMS
        if arm in one["settings"][setting]["changes"]
    ]


def scores(found: dict[str, Any], setting: str, kernel: str) -> Chart:
    """Figure 1: how PNKA is spread over people, with CKA as a line."""
    rows: list[Row] = []
    for data, arm, change in _panels(found, setting):
        numbers = change[kernel]
        for low, high, share in zip(EDGES[:-1], EDGES[1:], numbers["histogram"], strict=True):
            rows.append({"data": data, "arm": arm, "low": low, "high": high, "share": share, "cka": numbers["cka"]})
    base = alt.Chart(alt.NamedData(ROWS))
    bars = base.mark_bar(color=COLOURS[0], binSpacing=0).encode(
        x=alt.X("low:Q").bin("binned").title("PNKA").axis(values=[-1, 0, 1]), x2="high:Q",
        y=alt.Y("share:Q").title("share of people").axis(format="%"),
    )  # fmt: skip
    line = base.mark_rule(color=WORSE, strokeDash=[4, 3], strokeWidth=2).encode(x="mean(cka):Q")
    plot = _faceted(alt.layer(bars, line).properties(width=130, height=110), list(_order(rows)))
    words = f"Histograms of PNKA ({kernel} kernel) for each data set and objective; a dashed line is CKA."
    title = f"PNKA against the utility-only baseline, {kernel} kernel ({_called(setting)}); dashed: CKA"
    return chart_of(plot, rows, {}, name=f"scores {kernel}", title=title, caption=words, words=words, where="")


def most_changed(found: dict[str, Any], setting: str, kernel: str) -> Chart:
    """Figure 2: who the lowest 10 % are, with everyone's share as a tick."""
    rows: list[Row] = []
    for data, arm, change in _panels(found, setting):
        for groups in change[kernel]["lowest"].values():
            for group, share in groups.items():
                rows.append({"data": data, "arm": arm, "group": group, **share})
    base = alt.Chart(alt.NamedData(ROWS)).encode(y=alt.Y("group:N").sort(None).title(None))
    bars = base.mark_bar(color=COLOURS[0], height={"band": 0.7}).encode(
        x=alt.X("of_lowest:Q").title("share of the lowest 10 %").axis(format="%", values=[0, 0.5, 1])
    )
    ticks = base.mark_tick(color=WORSE, thickness=3, size=22).encode(x="of_everyone:Q")
    plot = _faceted(alt.layer(bars, ticks).properties(width=130, height=alt.Step(24)), list(_order(rows)), free="y")
    words = (
        f"Bars: each group's share of the 10 % of people with the lowest PNKA ({kernel} kernel); ticks: its share of "
        "everyone."
    )
    title = f"The 10 % most changed, {kernel} kernel ({_called(setting)}); tick: everyone"
    return chart_of(plot, rows, {}, name=f"lowest {kernel}", title=title, caption=words, words=words, where="")


def _called(setting: str) -> str:
    return "matched utility" if setting == "matched" else "as AIF360 runs it"


def _order(rows: list[Row]) -> dict[str, None]:
    return dict.fromkeys(str(row["arm"]) for row in rows)


def _faceted(plot: alt.LayerChart, arms: list[str], free: str = "") -> alt.TopLevelMixin:
    faceted = plot.facet(
        column=alt.Column("arm:N").sort(arms).title(None), row=alt.Row("data:N").sort(list(DATA.values())).title(None),
    ).properties(data=alt.NamedData(ROWS))  # fmt: skip
    return faceted.resolve_scale(y="independent") if free else faceted
