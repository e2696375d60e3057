"""A study in the terminal: plain words, then a table of the main numbers by condition, then the notes."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from equipoise.foundation.text import printable
from equipoise.reports.space_terminal import space_tables
from equipoise.reports.study_terms import (
    asked_measures,
    main_measures,
    marks_text,
    placed,
    spread_measures,
    title_of_measure,
    title_of_under,
)
from equipoise.reports.terminal_lines import BLUE, GREY, ORANGE, bullet, more
from equipoise.studies.findings.result import CellRecord, StudyRecord, StudyResult
from equipoise.studies.findings.sayings import Section, sections_of

WIDE = 110
MOST_LINES = 16
MOST_ROWS = 60
# Columns of a table of measures that were asked for.
MOST_COLUMNS = 4
SECONDS = "s/run: wall-clock on a shared machine, not a result"
SHORT = {"balanced_accuracy": "balanced", "accuracy": "accuracy", "fairness": "fairness"}


def show(result: StudyResult, console: Console) -> None:
    """Print a study."""
    console.print(Group(*_parts(result, console.width)))


def _parts(result: StudyResult, width: int) -> Iterator[RenderableType]:
    yield Rule(Text(printable(f"Study of {result.provenance.get('data')}")), style=GREY)
    sentences = list(sections_of(result))
    words, repeated, of_spaces = (
        [sentence for section, sentence in sentences if section == wanted]
        for wanted in (Section.MAIN, Section.IDENTICAL_RUNS, Section.SPACES)
    )
    yield from (bullet(sentence) for sentence in words[:MOST_LINES])
    yield more(len(words) - MOST_LINES)
    if repeated:
        yield Text("\nIdentical runs", style="bold")
        yield from (bullet(sentence) for sentence in repeated)
    if of_spaces:
        yield Text("\nEmbedding spaces", style="bold")
        yield from (bullet(sentence) for sentence in of_spaces[:MOST_LINES])
        yield more(len(of_spaces) - MOST_LINES)
        yield from (Padding(table, (1, 0, 0, 0)) for table in space_tables(result, width))
    main = main_measures(result) if width >= WIDE else spread_measures(result)
    title = "Means on test rows; ▼ lower, ▲ higher than the baseline of the condition, ○ none shown, ? undecided"
    yield Padding(_table(result, title, main), (1, 0, 0, 0))
    yield more(sum(cell.chosen for cell in result.cells) - MOST_ROWS)
    yield Text(SECONDS, style=GREY)
    asked = [measure for measure in asked_measures(result) if measure not in main]
    for first in range(0, len(asked), MOST_COLUMNS):
        own = asked[first : first + MOST_COLUMNS]
        yield Padding(_table(result, "Measures that were asked for, as above", own, beside=False), (1, 0, 0, 0))
    if result.differences:
        yield Text("\nWhat differs between the conditions", style="bold")
        yield from (bullet(line) for line in result.differences[:MOST_LINES])
    yield Text("\nNotes", style="bold")
    yield from (bullet(note) for note in result.notes)


def _table(result: StudyResult, title: str, measures: list[str], *, beside: bool = True) -> Table:
    """One row per condition and treatment: means on test rows, ▼ and ▲ where they differ from the baseline's.

    With ``beside`` the probability of being best and the seconds of a run stand beside them.
    """
    table = Table(title=Text(title, style="bold"), title_justify="left", box=None, pad_edge=False, padding=(0, 1, 0, 0))
    ranked = beside and result.distance in measures
    for heading in ("condition", "treatment"):
        table.add_column(heading, overflow="fold")
    for measure in measures:
        table.add_column(SHORT.get(measure, title_of_measure(measure)), justify="right")
    for heading in (*(("best",) if ranked else ()), *(("s/run",) if beside else ())):
        table.add_column(heading, justify="right")
    before = None
    for cell in [cell for cell in result.cells if cell.chosen][:MOST_ROWS]:
        under = (cell.condition, cell.learner)
        table.add_row(
            Text(printable(title_of_under(result, under)) if under != before else ""),
            *_cells(result, cell, measures, ranked=ranked, beside=beside),
            style=GREY if cell.treatment == result.baseline else "",
        )
        before = under
    if result.constant is not None:
        table.add_row(
            Text("any"), Text(printable(f"always {result.constant.prediction}")),
            *(_constant(result, measure) for measure in measures), style=GREY,
        )  # fmt: skip
    return table


def _constant(result: StudyResult, measure: str) -> Text:
    """Return what a constant prediction gets on a measure."""
    assert result.constant is not None
    values = [one.value for one in result.constant.values if one.measure == measure
              and one.attribute in ((), result.attribute)]  # fmt: skip
    return Text("undefined" if not values or math.isnan(values[0]) else f"{values[0]:.3f}  ")


def _cells(result: StudyResult, cell: CellRecord, measures: list[str], *, ranked: bool, beside: bool) -> Iterator[Text]:
    name = Text(printable(cell.treatment + (f" ({cell.setting})" if cell.setting else "")))
    collapsed = marks_text(cell)
    yield name + Text(f" [{collapsed}]", style=f"bold {ORANGE}") if collapsed else name
    best = None
    for measure in measures:
        found = placed(result, (cell.condition, cell.learner), cell.treatment, measure)
        yield Text("") if found is None else _number(found[1])
        if measure == result.distance:
            best = None if found is None else found[1].prob_best
    if ranked:
        yield Text("" if best is None or math.isnan(best) else f"{100 * best:.0f} %")
    if beside:
        yield Text(f"{cell.seconds:.3g}")


def _number(record: StudyRecord) -> Text:
    if math.isnan(record.mean):
        return Text("undefined", style=GREY)
    sign = {"lower": "▼", "higher": "▲", "none": "○", "undecided": "?"}.get(str(record.verdict), " ")
    style = {True: f"bold {BLUE}", False: f"bold {ORANGE}", None: ""}[record.good]
    return Text(f"{record.mean:.3f} ") + Text(sign, style=style)
