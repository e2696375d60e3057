"""Table 4 of Qian et al. (2021) beside a study: how far identical runs lie apart on disparate impact."""

from __future__ import annotations

from equipoise.reports.charts.chart import INK, Chart, Row, finish, rounded
from equipoise.reports.charts.dumbbells import Look
from equipoise.reports.charts.grid import Lines
from equipoise.reports.charts.intervals import fit, interval_panels, with_room
from equipoise.studies.findings import Reproduction

PAPER, HERE = "the paper", "here"
LOOKS = {PAPER: Look(INK, "#FFFFFF", "circle"), HERE: Look("#0072B2", "#0072B2", "diamond")}
PANELS = {"maxdiff": "MaxDiff, mean over classes", "class_maxdiff": "MaxDiff of the most variable class"}


def table_4(result: Reproduction) -> Chart | None:
    """Draw both ranges of every technique, in percentage points."""
    lines, rows = Lines(), []
    for place, one in enumerate(result.techniques):
        line = lines.add(f"{one.technique}  {one.treatment}")
        for panel, name in enumerate(PANELS):
            for what, value in ((PAPER, getattr(one, f"paper_{name}")), (HERE, getattr(one, name))):
                if value is not None:
                    number = rounded(value, 100)
                    row: Row = {
                        "technique": place, "line": line, "panel": panel, "of": one.technique, "what": what,
                        "value": number, "from": number, "to": number,
                    }  # fmt: skip
                    rows.append(row)
    if not rows:
        return None
    looks = {name: look for name, look in LOOKS.items() if any(row["what"] == name for row in rows)}
    words = f"Largest difference in disparate impact between identical runs of {len(lines.names)} techniques."
    plot = interval_panels(looks, {"value": ("points", ".1f")}, panels=2, lines=len(lines.names), zero=True)
    labels = lines.labels([]) | {"panels": list(PANELS.values())}
    return Chart(
        name="table 4",
        title="How far identical runs lie apart (disparate impact)",
        caption=(
            "In percentage points: the highest of the identical runs minus the lowest. Images, epochs and number of "
            "runs differ from the paper's unless the study says so: the marks are for orientation, not a test."
        ),
        alt=words + " The numbers are in the table below.",
        spec=with_room(finish(plot, rows, labels, alt=words)),
        fit=fit(2, lines.names, looks, columns=2, widest=360),
        rows=2 * len(rows),
    )
