"""Embedding spaces of a study in the terminal: gaps side by side, one small table a kind of comparison."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from equipoise.foundation.text import printable
from equipoise.reports.study_spaces import comparisons, furthest
from equipoise.reports.terminal_lines import BLUE, ORANGE
from equipoise.studies.findings.result import StudyResult
from equipoise.studies.findings.spaces.result import EMBEDDING, SpaceContrast
from equipoise.studies.findings.spaces.words import SPOKEN, source_title, title_of, training_title

MOST_ROWS = 24
# Beside these of the space, one measure of each classifier.
UPSTREAM = ("recall_at_k", "adjusted_mutual_information", "uniformity")
# A cell is so wide, and the name of a learner at least.
CELL, NAME = 20, 26
Column = tuple[str, str | None, str]
SIGNS = {"lower": "▼", "higher": "▲", "none": "○", "undecided": "?"}


def space_tables(result: StudyResult, width: int) -> Iterator[Table]:
    """Yield a table of gaps for each kind of comparison that the study allows, with the columns there is room for."""
    for comparison in comparisons(result):
        found = [item for item in comparison.contrasts if item[1].of == "gap"]
        own = [one for _, one in furthest(found) if _is_shown(one)]
        if own:
            columns = list(dict.fromkeys(map(_column, own)))[: max(1, (width - NAME) // CELL)]
            yield _table(own, columns, f"{comparison.title}; ▲ ▼ more than chance, ○ none shown, ? undecided")


def _is_shown(one: SpaceContrast) -> bool:
    return one.measure in UPSTREAM if one.source == EMBEDDING else one.measure == SPOKEN


def _column(one: SpaceContrast) -> Column:
    return one.source, one.training, one.measure


def _table(own: list[SpaceContrast], columns: list[Column], title: str) -> Table:
    table = Table(title=Text(title, style="bold"), title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("learner", overflow="fold")
    for source, training, measure in columns:
        rows = training_title(training).removesuffix(" rows")
        name = title_of(measure) if source == EMBEDDING else f"{source_title(source)} {rows}"
        table.add_column(printable(name.strip()), justify="right", overflow="fold", min_width=CELL - 2)
    lines: dict[tuple[str, ...], dict[Column, SpaceContrast]] = {}
    for one in own:
        key = (one.condition, one.learner, one.treatment, one.setting, one.attribute)
        lines.setdefault(key, {})[_column(one)] = one
    several = len({key[0] for key in lines}) > 1
    for (condition, learner, treatment, setting, _), cells in list(lines.items())[:MOST_ROWS]:
        parts = [learner, treatment if treatment != "untreated" else "", setting, condition if several else ""]
        line = Text(printable(" · ".join(part for part in parts if part)))
        table.add_row(line, *(_cell(cells[column]) if column in cells else Text("") for column in columns))
    return table


def _cell(one: SpaceContrast) -> Text:
    style = {True: f"bold {BLUE}", False: f"bold {ORANGE}", None: ""}[one.good]
    return Text(f"{one.against_value:+.3f} → {one.value:+.3f} ") + Text(SIGNS[one.verdict], style=style)
