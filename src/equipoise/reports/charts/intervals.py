"""Values with intervals: a mark on a line for each value, a panel for each measure; alone, or of a study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from equipoise.discovery import Judged, PresentedDirection
from equipoise.foundation import plural
from equipoise.reports._comparisons import (
    main_measures,
    nearest_treatments,
    placed,
    spread_measures,
    title_of_measure,
    title_of_under,
)
from equipoise.reports._formats import decimal, safe_name
from equipoise.reports.charts.chart import (
    BAR,
    BETTER,
    INK,
    OPEN,
    QUIET,
    REFERENCE,
    SHAPES,
    SIGNIFICANT,
    STAR,
    STRONG,
    UNDECIDED,
    WORSE,
    Chart,
    Lines,
    Look,
    Row,
    alone,
    interval_chart,
    rounded,
    spanned,
)
from equipoise.results import SearchVerdict, Verdict
from equipoise.studies import StudyResult
from equipoise.studies.findings import (
    FairestRecord,
    Reproduction,
    StudyRecord,
    chosen_fairest,
)

CONFIRMED, NOT_CONFIRMED, BY_CHANCE = "confirmed", "not confirmed", "random: median to 95%"
DIRECTION_LOOKS = {CONFIRMED: SIGNIFICANT, NOT_CONFIRMED: OPEN, BY_CHANCE: Look(QUIET, QUIET, BAR)}
DIRECTION_NUMBERS = {"value": ("change per step", ".4g"), "low": ("from", ".4g"), "high": ("to", ".4g")}
TITLE = "change of the probability per step"
WIDEST_ALONE = 520
BASELINE, UNCOMPARED = "baseline", "not compared"
STUDY_LOOKS = {
    BASELINE: Look(INK, INK, STAR),
    "lower, better": Look(BETTER, BETTER, "triangle-down"),
    "higher, better": Look(BETTER, BETTER, "triangle-up"),
    "lower, worse": Look(WORSE, WORSE, "triangle-down"),
    "higher, worse": Look(WORSE, WORSE, "triangle-up"),
    "not significant": OPEN,
    "inconclusive": UNDECIDED,
    UNCOMPARED: Look(INK, "#FFFFFF", SHAPES[2]),
}
STUDY_NUMBERS = {
    "value": ("mean", ".4f"),
    "from": ("lowest run", ".4f"),
    "to": ("highest run", ".4f"),
    "runs": ("runs", "d"),
}
SPREADS = {
    "other people (test sample)": ("spread_people", Look("#0072B2", "#0072B2", "circle")),
    "identical reruns": ("spread_reruns", Look(STRONG, STRONG, SHAPES[1])),
    "other seeds": ("spread_seeds", Look(INK, "#FFFFFF", SHAPES[2])),
}
MOST_STUDY_LINES, MOST_PANELS = 32, 4
SELECTION_SAMPLE, FRESH = "on the people it was chosen on", "on fresh people"
FAIREST_LOOKS = {SELECTION_SAMPLE: REFERENCE, FRESH: Look("#0072B2", "#0072B2", "circle")}
FAIREST_NUMBERS = {
    "value": ("lower by (points)", ".2f"), "from": ("from", ".2f"), "to": ("to", ".2f"), "runs": ("runs", "d"),
}  # fmt: skip
PAPER, THIS_STUDY = "the paper", "here"
PAPER_LOOKS = {PAPER: REFERENCE, THIS_STUDY: Look("#0072B2", "#0072B2", "circle")}
PAPER_PANELS = {"maxdiff": "MaxDiff, mean over classes", "class_maxdiff": "MaxDiff of the most variable class"}


def against_chance(shown: PresentedDirection, name: str) -> Chart | None:
    """Draw the interval of one direction over the random ones that it is compared with."""
    judged = shown.judged
    if judged.variation != judged.variation or judged.chance != judged.chance:
        return None
    rows = [
        {"line": 0, "panel": 0, "of": safe_name(judged.name), "what": _confirmed(judged), **_measured(judged)},
        {"line": 1, "panel": 0, "of": "random directions", "what": BY_CHANCE, **_null(judged)},
    ]
    words = (
        f"The probability changes by {decimal(judged.variation)} per step ({decimal(judged.low)} to "
        f"{decimal(judged.high)}); random directions have a median of {decimal(judged.chance)}, and 95% of them are "
        f"below {decimal(judged.chance_high)}."
    )
    return _directions(
        name, f"{safe_name(judged.name, 40)} compared with random directions", words, rows,
        ["this direction", "random ones"],
        "Mean change of the probability per step on fresh latents, with its interval over them; below it that of "
        "random directions that are orthogonal to the same attributes, through the middle or as far off.",
    )  # fmt: skip


def methods_chart(methods: Sequence[tuple[str, PresentedDirection]]) -> Chart | None:
    """Draw every method's direction on one scale."""
    judgements = [(label, shown.judged) for label, shown in methods if shown.judged.variation == shown.judged.variation]
    if len(judgements) < 2:
        return None
    rows: list[Row] = [
        {"line": index, "panel": 0, "of": safe_name(label), "what": _confirmed(judged), **_measured(judged)}
        for index, (label, judged) in enumerate(judgements)
    ]
    words = f"Change of the probability along the directions of {plural(len(judgements), 'method')}, with intervals."
    return _directions(
        "methods", "Every method on one scale", words, rows, [safe_name(label, 32) for label, _ in judgements],
        "The direction of each method, measured on the same fresh latents. A baseline chose the one with the lowest "
        "loss among its own.",
    )  # fmt: skip


def _directions(name: str, title: str, words: str, rows: list[Row], labels: list[str], caption: str) -> Chart:
    lines = Lines(labels, [False] * len(labels))
    return alone(interval_chart(
        rows, lines, [""], DIRECTION_LOOKS, DIRECTION_NUMBERS, columns=1, unit=TITLE, zero=True, widest=WIDEST_ALONE,
        name=name, title=title, caption=caption, words=words, where="",
    ))  # fmt: skip


def _confirmed(judged: Judged) -> str:
    return CONFIRMED if judged.verdict == SearchVerdict.FOUND else NOT_CONFIRMED


def _measured(judged: Judged) -> Row:
    return spanned(judged.variation, judged.low, judged.high)


def _null(judged: Judged) -> Row:
    return spanned(judged.chance, judged.chance, judged.chance_high)


def study_values(result: StudyResult) -> Chart | None:
    """Draw performance, fairness and distance of every treatment, a block a condition."""
    lines, notes, cells = _study_lines(result)
    measures = main_measures(result)
    rows: list[Row] = []
    for line, under, treatment in cells:
        for panel, measure in enumerate(measures):
            entry = placed(result, under, treatment, measure)
            if entry is None or entry[1].mean != entry[1].mean:
                continue
            index, record = entry
            rows.append({
                "record": index, "line": line, "panel": panel, "of": safe_name(treatment),
                "what": _study_verdict(result, record), "value": rounded(record.mean),
                "from": rounded(record.min), "to": rounded(record.max), "runs": record.runs,
            })  # fmt: skip
    if not rows:
        return None
    return interval_chart(
        rows, lines, [_study_panel(result, measure) for measure in measures], STUDY_LOOKS, STUDY_NUMBERS, columns=4,
        marks=2, notes=notes, name="values",
        title=f"Performance{' and fairness' if result.fairness in measures else ''} of every treatment",
        caption=(
            "The mark is the mean on the test rows, the line goes from the lowest run to the highest. Triangles are "
            "significantly lower or higher than the baseline under the same condition, after correction; their colour "
            "says whether that is better or worse."
        ),
        words=(
            f"{', '.join(map(title_of_measure, measures))} of {plural(len(cells), 'cell')}: mean and range of the runs."
        ),
    )  # fmt: skip


def _study_verdict(result: StudyResult, record: StudyRecord) -> str:
    if record.verdict is None:
        return BASELINE if record.treatment == result.baseline else UNCOMPARED
    if record.good is None:
        return "inconclusive" if record.verdict == Verdict.UNDECIDED else "not significant"
    return f"{record.verdict}, {'better' if record.good else 'worse'}"


def study_spreads(result: StudyResult) -> Chart | None:
    """Draw how far each number moves with other people, identical reruns and other seeds."""
    lines, notes, cells = _study_lines(result)
    measures = spread_measures(result)
    rows = [row for panel, measure in enumerate(measures) for row in _spread_rows(result, cells, panel, measure)]
    if not rows:
        return None
    looks = {name: look for name, (_, look) in SPREADS.items()}
    return interval_chart(
        rows, lines, [title_of_measure(measure) for measure in measures], looks,
        {"value": ("standard deviation", ".4f")}, columns=3, zero=True, marks=2, notes=notes, name="spreads",
        title="What moves the numbers: people, reruns or seeds?",
        caption=(
            "Standard deviations of one run's number: drawing other people of the same kind for the test, running the "
            "same seed again, or taking another seed (what reruns alone would do taken off). Where the "
            "pentagon is at 0, reruns vary as much as seeds do."
        ),
        words=f"Three spreads of {', '.join(map(title_of_measure, measures))} for {plural(len(cells), 'cell')}.",
    )  # fmt: skip


def _spread_rows(
    result: StudyResult, cells: list[tuple[int, tuple[str, str], str]], panel: int, measure: str
) -> Iterator[Row]:
    for line, under, treatment in cells:
        entry = placed(result, under, treatment, measure)
        if entry is None:
            continue
        for spread, (name, _) in SPREADS.items():
            value = getattr(entry[1], name)
            if value == value:
                number = rounded(value)
                yield {
                    "record": entry[0], "field": name, "line": line, "panel": panel, "of": safe_name(treatment),
                    "what": spread, "value": number, "from": number, "to": number,
                }  # fmt: skip


def _study_lines(result: StudyResult) -> tuple[Lines, tuple[str, ...], list[tuple[int, tuple[str, str], str]]]:
    """Return the lines: a head for each condition, and its treatments below."""
    treatments, left_out = nearest_treatments(result, 12)
    notes = [left_out] if left_out else []
    unders = result.unders[: max(1, MOST_STUDY_LINES // (len(treatments) + 1))]
    if len(unders) < len(result.unders):
        notes.append(f"Shown are {len(unders)} of {len(result.unders)} conditions; the table has all of them.")
    lines, cells = Lines(), []
    for under in unders:
        lines.add(title_of_under(result, under), head=True)
        chosen = {cell.treatment for cell in result.cells if (cell.condition, cell.learner) == under and cell.chosen}
        cells += [(lines.add(safe_name(name, 40)), under, name) for name in treatments if name in chosen]
    return lines, tuple(notes), cells


def _study_panel(result: StudyResult, measure: str) -> str:
    return title_of_measure(measure) + (" (low is good)" if measure == result.distance else "")


def fairest(result: StudyResult) -> Chart | None:
    """Draw both gains of every technique, a panel for each number of runs to choose from."""
    displayed = chosen_fairest(result)
    if not displayed:
        return None
    measure = displayed[0].measure
    records = [record for record in result.fairest_of_n if record.measure == measure]
    numbers = sorted({record.n for record in records})[-MOST_PANELS:]
    treatments, left_out = nearest_treatments(result, 12)
    lines, rows = Lines(), []
    for under in result.unders[: max(1, MOST_STUDY_LINES // (len(treatments) + 1))]:
        under_records = [
            record
            for record in records
            if (record.condition, record.learner) == under and record.treatment in treatments
        ]
        if under_records and len(result.unders) > 1:
            lines.add(title_of_under(result, under), head=True)
        places = {
            name: lines.add(safe_name(name, 40)) for name in dict.fromkeys(record.treatment for record in under_records)
        }
        for record in under_records:
            if record.n in numbers and record.apparent == record.apparent:
                rows += _gains(
                    result.fairest_of_n.index(record), record, places[record.treatment], numbers.index(record.n)
                )
    if not rows:
        return None
    name = safe_name(displayed[0].alias or measure, 30)
    return interval_chart(
        rows, lines, [f"fairest of {number}" for number in numbers], FAIREST_LOOKS, FAIREST_NUMBERS, columns=4,
        zero=True, own_scales=False, marks=2, notes=(left_out,), name="fairest",
        title=f"What is keeping the fairest run worth? ({name})",
        caption=(
            f"How many points lower {name} is than the mean of the runs to choose from. Bar: on the half of the "
            "people it was chosen on; circle: on the other half, with the middle 95% of random halves. What lies "
            "between the two marks was luck."
        ),
        words=(
            f"Gains of choosing the fairest of n identical runs by {name}, for "
            f"{plural(len(lines.names), 'technique')}."
        ),
    )  # fmt: skip


def _gains(index: int, record: FairestRecord, line: int, panel: int) -> list[Row]:
    common: Row = {
        "fairest": index,
        "line": line,
        "panel": panel,
        "of": safe_name(record.treatment),
        "runs": record.runs,
    }
    apparent, fresh = rounded(record.apparent, 100), rounded(record.honest, 100)
    return [
        {**common, "what": SELECTION_SAMPLE, "value": apparent, "from": apparent, "to": apparent},
        {**common, "what": FRESH, "value": fresh, "from": rounded(record.honest_low, 100),
         "to": rounded(record.honest_high, 100)},
    ]  # fmt: skip


def table_4(result: Reproduction) -> Chart | None:
    """Draw both ranges of every technique, in percentage points."""
    lines, rows = Lines(), []
    for index, technique in enumerate(result.techniques):
        line = lines.add(f"{technique.technique}  {technique.treatment}")
        for panel, name in enumerate(PAPER_PANELS):
            for what, value in ((PAPER, getattr(technique, f"paper_{name}")), (THIS_STUDY, getattr(technique, name))):
                if value is not None:
                    number = rounded(value, 100)
                    row: Row = {
                        "technique": index, "line": line, "panel": panel, "of": technique.technique, "what": what,
                        "value": number, "from": number, "to": number,
                    }  # fmt: skip
                    rows.append(row)
    if not rows:
        return None
    return interval_chart(
        rows, lines, list(PAPER_PANELS.values()), PAPER_LOOKS, {"value": ("points", ".1f")}, columns=2, zero=True,
        widest=360, marks=2, name="table 4", title="How far identical runs lie apart (disparate impact)",
        caption=(
            "In percentage points: the highest of the identical runs minus the lowest. Images, epochs and number of "
            "runs differ from the paper's unless the study says so: the marks are for orientation, not a test."
        ),
        words=f"Largest difference in disparate impact between identical runs of {len(lines.names)} techniques.",
    )  # fmt: skip
