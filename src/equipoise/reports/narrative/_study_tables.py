"""The sections of a study's report: the main numbers, who is best, contrasts, spreads, flips, and every number."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from equipoise.foundation import plural
from equipoise.reports import formats
from equipoise.reports._comparisons import (
    READING,
    UNDEFINED,
    Charts,
    cell_of,
    changed_cell,
    chosen_cells,
    heading_of,
    interval_of,
    listed,
    main_measures,
    marks_text,
    placed,
    plain_columns,
    requested_measures,
    spread_measures,
    title_of_measure,
    treatment_cell,
    under_cell,
    under_of,
    verdict_cell,
)
from equipoise.reports._document import (
    Block,
    Bullets,
    Cell,
    ChartBlock,
    Code,
    Column,
    DataTable,
    Details,
    Heading,
    Meaning,
    Name,
    Paragraph,
    Row,
    Section,
    Terms,
)
from equipoise.reports._records import finite, limited_table
from equipoise.reports.narrative._report import Field, ends, if_judged, record_table, value
from equipoise.reports.narrative._study_standings import condition_field
from equipoise.reports.narrative._study_words import contrast_words, fairness_by, unknown
from equipoise.studies import StudyResult
from equipoise.studies.findings import (
    CellRecord,
    LabelRecord,
    RankRecord,
    StudyRecord,
    baseline_name,
    with_symbol,
)

UNCERTAINTIES = (
    "Three things change a number: other test people, another run of the same training, another seed. They are "
    "separated below; each verdict names those it holds for."
)
SECONDS = (
    "Seconds are wall-clock times on a shared machine, not a result: the mean over runs; runs that train together "
    "share their time equally; each readout of a training costs all of it."
)
SPREADS = {"spread_people": "Other people", "spread_reruns": "Identical reruns", "spread_seeds": "Other seeds"}
MOST_COSTS = 100
# Columns of a table of measures that were asked for.
MOST_COLUMNS = 4


def numbers_section(result: StudyResult, charts: Charts) -> Section:
    """Return the main numbers of every treatment, with their changes from the baseline, and what was asked for."""
    blocks: list[Block] = [ChartBlock(charts["values"]), _main_table(result)]
    requested = [measure for measure in requested_measures(result) if measure not in main_measures(result)]
    blocks += [
        _measures_table(result, requested[at : at + MOST_COLUMNS]) for at in range(0, len(requested), MOST_COLUMNS)
    ]  # fmt: skip
    fair = any(measure == result.fairness for measure in main_measures(result))
    explained = (
        f"Fairness is {fairness_by(result)}, higher is better; DTO is the distance to full performance and full "
        "fairness, lower is better. "
        if fair
        else ""
    )
    return Section(
        "numbers", f"Performance{' and fairness' if fair else ''} of each treatment", tuple(blocks), short="Numbers",
        essential=True,
        intro=(
            f"Means on the test rows, with the change from {baseline_name(result)} under the same condition "
            f"({READING}). {explained}{SECONDS}"
        ),
    )  # fmt: skip


def _measure_columns(result: StudyResult, measures: list[str]) -> list[Column]:
    """Return a column for each measure; the main ones stay where a medium is narrow."""
    main = (result.performance[0], result.fairness, *requested_measures(result))
    return [
        Column(title_of_measure(measure).replace(" (1 − GAP)", ""), number=True, always_shown=measure in main)
        for measure in measures
    ]


def _main_table(result: StudyResult) -> DataTable:
    """Effects and costs: one row per treatment and condition, and what a constant prediction gets."""
    measures, cells = main_measures(result), chosen_cells(result)
    ranked = result.distance in measures
    columns = [*plain_columns("Condition", "Treatment"), *_measure_columns(result, measures)]
    columns += [Column("P(best)", number=True)] if ranked else []
    columns += [Column("Varies more on"), Column("Seconds", number=True, hint="per run")]
    places = {id(cell): index for index, cell in enumerate(result.cells)}
    rows = []
    for cell in cells[:MOST_COSTS]:
        entries = {measure: _entry(result, cell, measure) for measure in measures}
        row = [
            _condition_cell(result, cell),
            _treatment(cell),
            *(changed_cell(entries[measure]) for measure in measures),
        ]
        row += [_best(entries[result.distance])] if ranked else []
        rows.append(Row((*row, _varying(result, cell), _seconds(places[id(cell)], cell))))
    rows += _constant_rows(result, measures, len(columns) - 2 - len(measures))
    caption = "Effects and costs, one row per treatment and condition"
    if result.constant is not None:
        caption += f"; the last row always predicts what is most frequent in the {result.constant.basis}"
    return DataTable(caption, tuple(columns), tuple(rows), len(cells) + (result.constant is not None))


def _measures_table(result: StudyResult, measures: list[str]) -> DataTable:
    columns = [*plain_columns("Condition", "Treatment"), *_measure_columns(result, measures)]
    rows = [
        Row(
            (
                _condition_cell(result, cell),
                _treatment(cell),
                *(changed_cell(_entry(result, cell, name)) for name in measures),
            )
        )
        for cell in chosen_cells(result)
    ]
    rows += _constant_rows(result, measures, 0)
    return limited_table("Measures that were asked for", columns, rows, most=MOST_COSTS)


MOST_LABELS = 200
LABELS_READING = (
    "Each label by itself: present or absent. Numbers of all labels together are means over the labels for which they "
    "are defined; a gap is undefined where a group has no test row that it is counted on. These numbers are not tested."
)


def labels_section(result: StudyResult) -> Section | None:
    """Return what each label by itself has, where rows have several labels; else None."""
    measures = {
        record.measure: record for record in result.labels if record.attribute in ((), result.attribute)
    }  # fmt: skip
    if not measures:
        return None
    labels: dict[tuple[str, str, str, str, str], dict[str, tuple[int, LabelRecord]]] = {}
    for index, record in enumerate(result.labels):
        if record.chosen and record.attribute in ((), result.attribute):
            key = (record.condition, record.learner, record.treatment, record.setting, record.label)
            labels.setdefault(key, {})[record.measure] = (index, record)
    columns = [
        *plain_columns("Condition", "Treatment", "Label"), Column("Rows", number=True, hint="test rows with the label"),
        *(
            Column(title_of_measure(measure) if record.alias is None else record.alias, number=True, always_shown=True)
            for measure, record in measures.items()
        ),
    ]  # fmt: skip
    rows = []
    for (condition, learner, treatment, setting, label), records in labels.items():
        index, first = next(iter(records.values()))
        rows.append(Row((
            under_cell(result, (condition, learner)), treatment_cell(treatment, setting), Cell(Name(label)),
            cell_of("labels", index, first, "rows", formats.digits),
            *(cell_of("labels", *records[measure], "mean") for measure in measures),
        )))  # fmt: skip
    caption = "Each label by itself: means over runs on the test rows"
    return Section(
        "labels", "Which label is predicted how well, and for whom?",
        (limited_table(caption, columns, rows, most=MOST_LABELS),), short="Labels", intro=LABELS_READING,
    )  # fmt: skip


def _entry(result: StudyResult, cell: CellRecord, measure: str) -> tuple[int, StudyRecord] | None:
    return placed(result, under_of(cell), cell.treatment, measure)


def _constant_rows(result: StudyResult, measures: list[str], empty: int) -> list[Row]:
    """Return the row of a model that always predicts the same, with so many empty cells at its end."""
    constant = result.constant
    if constant is None:
        return []
    known_values = {
        record.measure: record.value for record in constant.values if record.attribute in ((), result.attribute)
    }
    values = [known_values.get(measure) for measure in measures]
    cells = [UNDEFINED if finite(mean) is None else Cell(formats.fine(mean)) for mean in values]
    return [Row((Cell("any"), Cell(("always ", Name(constant.prediction))), *cells, *[Cell()] * empty))]


def _condition_cell(result: StudyResult, record: CellRecord | StudyRecord | RankRecord) -> Cell:
    return under_cell(result, under_of(record))


def _treatment(cell: CellRecord) -> Cell:
    return treatment_cell(cell.treatment, cell.setting, marks_text(cell))


def _best(entry: tuple[int, StudyRecord] | None) -> Cell:
    if entry is None or finite(entry[1].prob_best) is None:
        return Cell()
    return cell_of("records", *entry, "prob_best", formats.percent)


def _varying(result: StudyResult, cell: CellRecord) -> Cell:
    """Name the measures on which runs of a cell vary more than the baseline's."""
    if cell.treatment == result.baseline:
        return Cell("baseline", meaning=Meaning.QUIET)
    names = []
    for record in result.records:
        same = (*under_of(record), record.treatment) == (*under_of(cell), cell.treatment)
        if same and record.chosen and record.variance_change == "higher":
            other = record.attribute not in ((), result.attribute)
            names.append(heading_of(record) + (f" ({' & '.join(record.attribute)})" if other else ""))
    if not names:
        return Cell("–", meaning=Meaning.QUIET)
    more = (", ".join(names[1:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else ""),) if names[1:] else ()
    return Cell(names[0], more, meaning=Meaning.WORSE)


def _seconds(index: int, cell: CellRecord) -> Cell:
    if finite(cell.seconds) is None:
        return Cell("unknown", meaning=Meaning.QUIET)
    return cell_of("cells", index, cell, "seconds", formats.digits)


def contrasts_section(result: StudyResult) -> Section | None:
    """Return treatments compared with one another; None where that was not asked for."""
    if not result.contrasts:
        return None
    several = len({contrast.attribute for contrast in result.contrasts if contrast.attribute}) > 1
    source = "contrasts"
    fields = (
        condition_field(result),
        Field("Treatment", lambda _, contrast: treatment_cell(contrast.treatment), always_shown=True),
        Field("Against", lambda _, contrast: treatment_cell(contrast.against)),
        Field("Measure", lambda _, contrast: (
            title_of_measure(contrast.measure) if contrast.alias is None else contrast.alias
        )),
        *([Field("Attribute", lambda _, contrast: Name(" & ".join(contrast.attribute)))] if several else []),
        Field("Verdict", lambda _, contrast: verdict_cell(contrast)),
        value("Change", "change", formats.signed_fine, source),
        ends("Interval", formats.signed_fine, source, ("change_low", "change_high")),
        value("p, corrected", "p_adjusted", formats.p_value, source),
        value("p of ranks", "p_rank", formats.p_value, source), value("Pairs of seeds", "pairs", formats.count, source),
        value("Power", "power", formats.percent, source),
        value("Seeds needed", "runs_needed", formats.count, source, unknown=""),
    )  # fmt: skip
    # Significant ones first; the correction goes over all of them.
    order = sorted(enumerate(result.contrasts), key=lambda item: not item[1].verdict.significant)
    table = record_table("Treatments against treatments", fields, order, what="contrasts")
    words = (*contrast_words(result, found=True), *contrast_words(result, found=False))
    return Section(
        "contrasts", "Treatments compared with one another", (Bullets(words), table) if words else (table,),
        short="Contrasts",
        intro=(
            "Each treatment against another one under the same condition, paired by seed; a change is the first minus "
            "the second. The correction goes over all of these contrasts, separately from the comparisons with the "
            "baseline. Power is that of the smallest change worth detecting."
        ),
    )  # fmt: skip


def effect_sections(result: StudyResult, charts: Charts) -> Iterator[Section]:
    """Yield curves over conditions, effect sizes, spreads of runs and costs: charts of every treatment."""
    baseline = baseline_name(result)
    yield Section("curves", "From condition to condition", (ChartBlock(charts["curves"]),), short="Curves")
    yield Section(
        "effects", "How large is each effect?", (ChartBlock(charts["effects"]),), short="Effects",
        intro=(
            f"Each treatment against {baseline} under the same condition. Only changes that are significant over seeds "
            "(or reruns) and people, after correction for the number of tests, are coloured."
        ),
    )  # fmt: skip
    yield Section("costs", "What does lowering each bias cost?", (ChartBlock(charts["costs"]),), short="Costs")
    yield Section(
        "variances", "Do runs vary more?", (ChartBlock(charts["variances"]),), short="Variance",
        intro=(
            "A treatment that improves a number on average may make it less predictable: the next training can turn "
            f"out worse than {baseline}."
        ),
    )  # fmt: skip


def alternatives_section(result: StudyResult) -> Section | None:
    """Return the less discriminatory alternatives; None where there is neither baseline nor fairness."""
    if not result.alternatives:
        return None
    words = Bullets(tuple(alternative.words for alternative in result.alternatives))
    return Section(
        "alternatives", "Less discriminatory alternatives at equal performance", (words,), short="Alternatives",
        intro="A treatment is named only where the test rows confirm that it is fairer at equal performance.",
    )  # fmt: skip


def spreads_section(result: StudyResult, charts: Charts) -> Section | None:
    """Return what changes each number: people, reruns, seeds; None where no spread is known."""
    entries = [
        entry for cell in chosen_cells(result) for measure in spread_measures(result)
        if (entry := placed(result, under_of(cell), cell.treatment, measure)) is not None
    ]  # fmt: skip
    fields = [field for field in SPREADS if any(finite(getattr(record, field)) is not None for _, record in entries)]
    if not fields:
        return None
    table = record_table(
        "Standard deviations by what changes the number; below those of reruns and seeds, their 95% intervals",
        (
            condition_field(result),
            Field("Treatment", lambda _, record: treatment_cell(record.treatment), always_shown=True),
            Field("Measure", lambda _, record: heading_of(record)), value("Mean", "mean"),
            *(Field(SPREADS[field], functools.partial(_spread, field=field), True) for field in fields),
            Field("Note", lambda _, record: record.spread_note or ""),
        ),
        entries,
    )  # fmt: skip
    folded = Details(f"The spreads as a table ({plural(len(entries), 'row')})", (table,))
    return Section(
        "spreads", "Would a rerun say the same?", (ChartBlock(charts["spreads"]), folded), short="Spreads",
        intro=UNCERTAINTIES,
    )  # fmt: skip


def _spread(index: int, record: StudyRecord, field: str) -> Cell:
    """Return a standard deviation with its interval below, where there is one."""
    cell, ends_of = cell_of("records", index, record, field), (f"{field}_low", f"{field}_high")
    around = interval_of("records", index, record, ends_of, formats.digits) if hasattr(record, ends_of[0]) else ""
    return Cell(cell.text, (around,) if around else (), meaning=cell.meaning)


def conditions_section(result: StudyResult) -> Section | None:
    """Return what differs between the conditions; None where there is nothing to say."""
    if not result.differences:
        return None
    titles = result.condition_titles.items()
    symbols = ", ".join(with_symbol(title, name) for name, title in titles if title != name)
    return Section(
        "conditions", "How the conditions differ", (Bullets(result.differences),), short="Conditions",
        intro=f"Distributions of the training data: {symbols}." if symbols else "",
    )  # fmt: skip


def table_section(result: StudyResult) -> Section:
    """Return every number of every treatment, condition, measure and attribute."""
    compared = any(record.verdict is not None for record in result.records)
    judged = (
        value("Change", "change"), ends("Interval", fields=("change_low", "change_high")),
        value("p over seeds", "p_runs", formats.p_value), value("p over people", "p_people", formats.p_value),
        value("p, corrected", "p_adjusted", formats.p_value), value("p of ranks", "p_rank", formats.p_value),
        Field("d", _effect_size, True),
    ) if compared else ()  # fmt: skip
    fields = (
        condition_field(result),
        Field("Treatment", lambda _, record: treatment_cell(record.treatment, record.setting), always_shown=True),
        Field("Measure", lambda _, record: heading_of(record)),
        Field("Attribute", lambda _, record: listed([(Name(name),) for name in record.attribute])),
        Field("Verdict", lambda _, record: verdict_cell(record, "baseline" if record.chosen else "not chosen")),
        value("Runs", "runs", formats.count), value("Mean", "mean"), value("SD", "stdev"), value("Lowest", "min"),
        value("Highest", "max"), *map(if_judged, judged), value("P(best)", "prob_best", formats.percent, unknown=""),
        *([Field("Costs", lambda _, record: ", ".join(map(str, record.costs)))] if compared else []),
        Field("Reason", lambda _, record: str(record.reason or "")),
    )  # fmt: skip
    explained = (
        " The interval is that of the change over seeds and people, at the level that decided: the same test as the "
        "verdict. p over seeds and p over people are those of each alone; the rank test is a check and decides "
        "nothing. d is Cohen's, below 0 where the treatment is lower."
        if compared
        else ""
    )
    caption = "One row per treatment, condition, measure and attribute"
    table = record_table(caption, fields, enumerate(result.records))
    return Section(
        "table", "Every number", (table,), short="Every number",
        intro=(
            "Mean and SD are over seeds (each the mean of its identical runs), or over the identical runs of one seed."
            f"{explained} P(best) is the probability of being best under that condition."
        ),
    )  # fmt: skip


def _effect_size(index: int, record: StudyRecord) -> Cell:
    d = cell_of("records", index, record, "d")
    return Cell(d.text, (str(record.band),) if record.band else (), meaning=d.meaning)


def unknown_section(result: StudyResult) -> Section:
    """Return what failed or is not known and why, and the environments that trials ran in."""
    blocks: list[Block] = []
    if result.failures:
        titles = result.condition_titles
        fields = (
            Field("Condition", lambda _, failure: Name(titles.get(failure.condition, failure.condition))),
            Field("Treatment", lambda _, failure: treatment_cell(failure.treatment), always_shown=True),
            value("Trials", "trials", formats.count, "failures"), Field("Error", lambda _, failure: failure.error),
        )  # fmt: skip
        caption = "Failed trials: they are in no number of this page"
        blocks.append(record_table(caption, fields, enumerate(result.failures)))
        traces = [failure.traceback for failure in result.failures if failure.traceback][:20]
        blocks += [Details("Traceback", (Code(trace),)) for trace in traces]
    reasons = tuple(unknown(result))
    if reasons:
        blocks.append(Bullets(reasons))
    elif not result.failures:
        every = "No trial failed, every number that was asked for could be computed, and every comparison was decided."
        blocks.append(Paragraph(every))
    mixed = (
        "A comparison takes the runs of a seed from one of them only."
        if len(result.environments) > 1
        else "There is one: nothing is mixed."
    )
    blocks += [Heading("Environments"), Paragraph(f"Packages and hardware that trials ran with. {mixed}")]
    blocks += [
        Terms(tuple((name, _setting(value)) for name, value in described.items()))
        for described in result.environments[:20]
    ]  # fmt: skip
    return Section("untold", "What failed or is not known, and why", tuple(blocks), short="Not known")


def _setting(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {item}" for name, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
