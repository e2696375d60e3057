"""A grid of cells: a name on top of each column, and lines with heads between them."""

from __future__ import annotations

from dataclasses import dataclass, field

import altair as alt

from equipoise.reports.charts.chart import ROWS

CELL = 84


@dataclass
class Lines:
    """The lines of a grid from top to bottom; a head names what the lines below it share."""

    names: list[str] = field(default_factory=list)
    heads: list[bool] = field(default_factory=list)

    def add(self, name: str, *, head: bool = False) -> int:
        """Add a line below the others, and return its place."""
        self.names.append(name)
        self.heads.append(head)
        return len(self.names) - 1

    def labels(self, columns: list[object]) -> dict[str, list[object]]:
        """Return the labels of the grid, as its axes look them up."""
        return {"labels": list(self.names), "heads": list(self.heads), "columns": columns}


def grid(lines: int, width: int = CELL) -> alt.Chart:
    """Return a chart with a cell for each row of its data: ``line`` and ``column`` are its place."""
    bold = alt.condition("heads[datum.value]", alt.value("bold"), alt.value("normal"))
    return alt.Chart(alt.NamedData(ROWS)).encode(
        x=alt.X("column:O").axis(
            title=None, orient="top", labelExpr="columns[datum.value]", labelAngle=0, labelLimit=width - 2,
            labelFontWeight="bold", domain=False, ticks=False,
        ),
        y=alt.Y("line:O").scale(domain=list(range(lines))).axis(
            title=None, labelExpr="labels[datum.value]", labelFontWeight=bold, domain=False, ticks=False
        ),
    )  # fmt: skip
