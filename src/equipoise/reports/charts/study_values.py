"""The main numbers of every treatment: a mark on a line with the range of its runs, a panel a measure."""

from __future__ import annotations

from collections.abc import Iterator

from equipoise.reports._formats import plural, safe_name
from equipoise.reports.charts.chart import BETTER, INK, QUIET, STRONG, WORSE, Chart, Row, finish, rounded
from equipoise.reports.charts.dumbbells import Look
from equipoise.reports.charts.grid import Lines
from equipoise.reports.charts.intervals import fit, interval_panels, with_room
from equipoise.reports.study_terms import (
    main_measures,
    nearest_treatments,
    placed,
    spread_measures,
    title_of_measure,
    title_of_under,
)
from equipoise.results import Verdict
from equipoise.studies.findings import StudyRecord, StudyResult

MOST_LINES = 32
BASELINE, UNCOMPARED = "baseline", "not compared"
LOOKS = {
    BASELINE: Look(INK, INK, "diamond"),
    "lower, better": Look(BETTER, BETTER, "triangle-down"),
    "higher, better": Look(BETTER, BETTER, "triangle-up"),
    "lower, worse": Look(WORSE, WORSE, "triangle-down"),
    "higher, worse": Look(WORSE, WORSE, "triangle-up"),
    "not significant": Look(QUIET, QUIET, "circle"),
    "inconclusive": Look(QUIET, "#FFFFFF", "circle"),
    UNCOMPARED: Look(INK, "#FFFFFF", "square"),
}
NUMBERS = {"value": ("mean", ".4f"), "from": ("lowest run", ".4f"), "to": ("highest run", ".4f"), "runs": ("runs", "d")}
SPREADS = {
    "other people (test sample)": ("spread_people", Look("#0072B2", "#0072B2", "circle")),
    "identical reruns": ("spread_reruns", Look(STRONG, STRONG, "triangle-up")),
    "other seeds": ("spread_seeds", Look(INK, "#FFFFFF", "square")),
}


def values(result: StudyResult) -> Chart | None:
    """Draw performance, fairness and distance of every treatment, a block a condition."""
    lines, notes, cells = _lines(result)
    measures = main_measures(result)
    rows: list[Row] = []
    for line, under, treatment in cells:
        for panel, measure in enumerate(measures):
            found = placed(result, under, treatment, measure)
            if found is None or found[1].mean != found[1].mean:
                continue
            place, record = found
            rows.append({
                "record": place, "line": line, "panel": panel, "of": safe_name(treatment),
                "what": _what(result, record), "value": rounded(record.mean),
                "from": rounded(record.min), "to": rounded(record.max), "runs": record.runs,
            })  # fmt: skip
    if not rows:
        return None
    looks = {name: look for name, look in LOOKS.items() if any(row["what"] == name for row in rows)}
    words = f"{', '.join(map(title_of_measure, measures))} of {plural(len(cells), 'cell')}: mean and range of the runs."
    plot = interval_panels(looks, NUMBERS, panels=len(measures), lines=len(lines.names), heads=True)
    labels = lines.labels([]) | {"panels": [_panel(result, measure) for measure in measures]}
    return Chart(
        name="values",
        title=f"Performance{' and fairness' if result.fairness in measures else ''} of every treatment",
        caption=(
            "The mark is the mean on the test rows, the line goes from the lowest run to the highest. Triangles are "
            "significantly lower or higher than the baseline under the same condition, after correction; their colour "
            "says whether that is better or worse."
        ),
        alt=words + " The numbers are in the table below.",
        spec=with_room(finish(plot, rows, labels, alt=words)),
        fit=fit(len(measures), lines.names, looks, columns=4),
        notes=notes,
        rows=2 * len(rows),
    )


def _what(result: StudyResult, record: StudyRecord) -> str:
    if record.verdict is None:
        return BASELINE if record.treatment == result.baseline else UNCOMPARED
    if record.good is None:
        return "inconclusive" if record.verdict == Verdict.UNDECIDED else "not significant"
    return f"{record.verdict}, {'better' if record.good else 'worse'}"


def spreads(result: StudyResult) -> Chart | None:
    """Draw how far each number moves with other people, identical reruns and other seeds."""
    lines, notes, cells = _lines(result)
    measures = spread_measures(result)
    rows = [row for panel, measure in enumerate(measures) for row in _spread_rows(result, cells, panel, measure)]
    if not rows:
        return None
    looks = {name: look for name, (_, look) in SPREADS.items() if any(row["what"] == name for row in rows)}
    words = f"Three spreads of {', '.join(map(title_of_measure, measures))} for {plural(len(cells), 'cell')}."
    plot = interval_panels(
        looks, {"value": ("standard deviation", ".4f")}, panels=len(measures), lines=len(lines.names), heads=True,
        zero=True,
    )  # fmt: skip
    labels = lines.labels([]) | {"panels": [title_of_measure(measure) for measure in measures]}
    return Chart(
        name="spreads",
        title="What moves the numbers: people, reruns or seeds?",
        caption=(
            "Standard deviations of one run's number: drawing other people of the same kind for the test, running the "
            "same seed again, or taking another seed (what reruns alone would do taken off). Where the "
            "square is at 0, reruns vary as much as seeds do."
        ),
        alt=words + " The numbers are in the table below.",
        spec=with_room(finish(plot, rows, labels, alt=words)),
        fit=fit(len(measures), lines.names, looks, columns=3),
        notes=notes,
        rows=2 * len(rows),
    )


def _spread_rows(
    result: StudyResult, cells: list[tuple[int, tuple[str, str], str]], panel: int, measure: str
) -> Iterator[Row]:
    for line, under, treatment in cells:
        found = placed(result, under, treatment, measure)
        if found is None:
            continue
        for what, (name, _) in SPREADS.items():
            value = getattr(found[1], name)
            if value == value:
                number = rounded(value)
                yield {
                    "record": found[0], "field": name, "line": line, "panel": panel, "of": safe_name(treatment),
                    "what": what, "value": number, "from": number, "to": number,
                }  # fmt: skip


def _lines(result: StudyResult) -> tuple[Lines, tuple[str, ...], list[tuple[int, tuple[str, str], str]]]:
    """Return the lines: a head for each condition, and its treatments below."""
    treatments, left_out = nearest_treatments(result, 12)
    notes = [left_out] if left_out else []
    unders = result.unders[: max(1, MOST_LINES // (len(treatments) + 1))]
    if len(unders) < len(result.unders):
        notes.append(f"Shown are {len(unders)} of {len(result.unders)} conditions; the table has all of them.")
    lines, cells = Lines(), []
    for under in unders:
        lines.add(title_of_under(result, under), head=True)
        own = {cell.treatment for cell in result.cells if (cell.condition, cell.learner) == under and cell.chosen}
        cells += [(lines.add(safe_name(name, 40)), under, name) for name in treatments if name in own]
    return lines, tuple(notes), cells


def _panel(result: StudyResult, measure: str) -> str:
    return title_of_measure(measure) + (" (low is good)" if measure == result.distance else "")
