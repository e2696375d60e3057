"""Identical runs of a study: how much they differ, who is on both sides of the rule, what choosing a run is worth."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from equipoise.audits.evidence import RULE
from equipoise.foundation import (
    fitting,
    listing,
    plural,
    points,
)
from equipoise.reports import formats
from equipoise.reports._comparisons import (
    Charts,
    listed,
    plain_columns,
    title_of_measure,
    treatment_cell,
    under_cell,
)
from equipoise.reports._document import (
    Block,
    Bullets,
    Cell,
    ChartBlock,
    Column,
    DataTable,
    Details,
    Meaning,
    Name,
    Paragraph,
    Row,
    Section,
    Text,
)
from equipoise.reports._records import Write, limited_table, number
from equipoise.reports.narrative._report import (
    Field,
    ends,
    quiet,
    record_table,
    value,
)
from equipoise.studies import StudyResult
from equipoise.studies.findings import (
    IMPACT,
    BothSides,
    ClassFailure,
    FairestRecord,
    RunsRecord,
    chosen_fairest,
    under_phrase,
)
from equipoise.training import is_jittered

PERCENT = f"{100 * RULE:.0f}%"
FEW = 4
MOST_RUNS, MOST_SIDES, MOST_FAIREST, MOST_FLIPS, MOST_GROUPS = 200, 60, 80, 120, 8
Technique = RunsRecord | BothSides | ClassFailure | FairestRecord


def identical_words(result: StudyResult) -> Iterator[str]:
    """Yield the sentences; nothing where there are no identical runs."""
    if not result.identical_runs:
        return
    yield from _spread_words(result)
    yield from _class_words(result)
    yield from _rule_words(result)
    yield from _fairest_words(result)


def _technique(result: StudyResult, technique: Technique) -> str:
    """Name a technique; with several conditions, by both."""
    if len(result.unders) < 2:
        return technique.treatment
    return f"{technique.treatment} {under_phrase(result, (technique.condition, technique.learner))}"


def _spread_words(result: StudyResult) -> Iterator[str]:
    biases = [
        identical_run
        for identical_run in result.identical_runs
        if identical_run.better == "low" and not math.isnan(identical_run.maxdiff)
    ]
    performance = [
        identical_run
        for identical_run in result.identical_runs
        if identical_run.measure == result.performance[0] and not math.isnan(identical_run.maxdiff)
    ]
    if not biases:
        return
    most = max(biases, key=lambda record: record.maxdiff)
    if most.maxdiff == 0 and all(record.maxdiff == 0 for record in performance):
        same = "Identical runs gave identical results, to the last digit"
        if _jittered(result):
            yield f"{same}, although every repeat was rounded differently (jitter): rounding changes nothing here."
        else:
            yield (
                f'{same}. A deterministic machine is no proof of stability: rounding = "jitter" shows what another '
                "rounding would do."
            )
        return
    sentence = (
        f"Repeating the same training: {most.alias or most.measure} of {_technique(result, most)} varies from "
        f"{formats.percent(most.min)} to {formats.percent(most.max)} over {plural(most.runs, 'identical run')} "
        f"({points(most.maxdiff)})"
    )
    if performance:
        widest = max(performance, key=lambda record: record.maxdiff)
        sentence += f"; {widest.measure.replace('_', ' ')} differs by up to {points(widest.maxdiff)}"
    yield sentence + "."


def _jittered(result: StudyResult) -> bool:
    """Tell whether every run of the study was made with a rounding of its own."""
    options = result.provenance.get("options")
    roundings = options.get("rounding") if isinstance(options, dict) else None
    return bool(roundings) and all(is_jittered(str(rounding)) for rounding in roundings or ())


def _class_words(result: StudyResult) -> Iterator[str]:
    varied = [identical_run for identical_run in result.identical_runs if identical_run.class_maxdiff is not None]
    if not varied:
        return
    most = max(varied, key=lambda record: record.class_maxdiff or 0.0)
    yield (
        f"A single class varies more: {most.alias or most.measure} of {most.class_!r} with {_technique(result, most)} "
        f"differs by {points(most.class_maxdiff or 0.0)} between identical runs."
    )
    failures = result.class_failures
    if failures:
        worst = failures[0]
        yield (
            f"{plural(len(failures), 'class fails', 'classes fail')} on its own: the worst is {worst.class_!r} with "
            f"{_technique(result, worst)}, at {formats.percent(worst.value)} in run {worst.run} where the mean over "
            f"classes is {formats.percent(worst.overall)}, and at {formats.percent(worst.lowest)} in its best run."
        )


def _rule_words(result: StudyResult) -> Iterator[str]:
    if not any(identical_run.measure == IMPACT for identical_run in result.identical_runs):
        return
    techniques = dict.fromkeys(_technique(result, sides) for sides in result.both_sides if sides.class_ is None)
    classes = sum(sides.class_ is not None for sides in result.both_sides)
    if techniques:
        yield (
            f"One run says fair, another unfair: {listing(techniques, FEW)} {fitting(len(techniques), 'has', 'have')} "
            f"identical runs on both sides of the {PERCENT} rule for disparate impact."
        )
    elif not classes:
        yield f"No technique has identical runs on both sides of the {PERCENT} rule for disparate impact."
    if classes:
        yield (
            f"A single class has identical runs on both sides of the {PERCENT} rule in {plural(classes, 'case')} (one "
            "technique and one class each)."
        )


def _fairest_words(result: StudyResult) -> Iterator[str]:
    chosen = chosen_fairest(result)
    gain = sum(record.apparent for record in chosen)
    if not chosen or gain <= 0:
        return
    remaining = sum(record.honest for record in chosen)
    numbers = sorted({record.n for record in chosen})
    of = str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
    name = chosen[0].alias or chosen[0].measure
    yield (
        f"Keeping the fairest of {of} identical runs by {name} seems to gain {points(gain / len(chosen))} on the "
        f"people it is chosen on (mean over {plural(len(chosen), 'technique')}); on new people "
        f"{points(remaining / len(chosen))} remain."
    )


def identical_section(result: StudyResult, charts: Mapping[str, tuple[str, ...]]) -> Section:
    """Return the section on identical runs: words, charts, and tables folded away."""
    seeds = len({identical_run.seed for identical_run in result.identical_runs})
    blocks: list[Block] = [Bullets(tuple(identical_words(result)))]
    blocks += [ChartBlock(charts[part]) for part in ("runs", "classes", "sides", "fairest")]
    blocks.append(_runs(result))
    blocks += [block for block in (_sides(result), _failures(result), _fairest(result)) if block is not None]
    return Section(
        "identical", "Identical runs: how much is luck?", tuple(blocks), short="Identical runs", essential=True,
        intro=(
            "Same seed, same data, same settings, same machine: only rounding differs between these runs, so a single "
            "run is one draw from what is shown here."
            + (" Of several seeds the charts show the first with the most runs, the tables all." if seeds > 1 else "")
        ),
    )  # fmt: skip


def _fields(result: StudyResult) -> list[Field]:
    """Return the condition, where there are several, and the technique."""
    where = [Field("Condition", lambda _, record: under_cell(result, (record.condition, record.learner)))]
    technique = Field(
        "Technique", lambda _, record: treatment_cell(record.treatment, record.setting), always_shown=True
    )
    return [*(where if len(result.unders) > 1 else []), technique]


def _measure(_: int, record: RunsRecord | FairestRecord) -> Text:
    return record.alias or title_of_measure(record.measure)


def _optional(title: str, field: str, source: str, write: Write = formats.fine) -> Field:
    """Return a column of numbers that some records do not have."""
    column = value(title, field, write, source)
    return replace(
        column, cell=lambda index, record: quiet() if getattr(record, field) is None else column.cell(index, record)
    )


def _folded(summary: str, table: DataTable) -> Details:
    return Details(f"{summary} ({plural(table.every, 'row')})", (table,))


def _runs(result: StudyResult) -> Details:
    source = "identical_runs"
    fields = [
        *_fields(result), Field("Measure", _measure), Field("Seed", lambda _, record: str(record.seed), True),
        value("Runs", "runs", formats.count, source), value("Mean", "mean", source=source),
        value("Lowest", "min", source=source), value("Highest", "max", source=source),
        value("MaxDiff", "maxdiff", source=source),
        value("of the mean", "relative_maxdiff", formats.percent, source), value("STDEV", "stdev", source=source),
    ]  # fmt: skip
    if any(identical_run.class_ is not None for identical_run in result.identical_runs):
        fields += [
            Field("Class that varies most", lambda _, record: "" if record.class_ is None else Name(record.class_)),
            _optional("its MaxDiff", "class_maxdiff", source), _optional("its STDEV", "class_stdev", source),
        ]  # fmt: skip
    caption = (
        "Spread over identical runs of one seed (Qian et al. 2021, Tables 2 and 4): MaxDiff is the highest run minus "
        "the lowest"
    )
    table = record_table(caption, fields, enumerate(result.identical_runs), most=MOST_RUNS)
    return _folded("The spread of identical runs as a table", table)


def _sides(result: StudyResult) -> Details | None:
    if not result.both_sides:
        return None
    source = "both_sides"
    fields = (
        *_fields(result),
        Field("Class", lambda _, record: quiet("overall") if record.class_ is None else Name(record.class_)),
        Field("Seed", lambda _, record: str(record.seed), True), value("Runs within", "within", formats.count, source),
        value("Runs above", "broken", formats.count, source), value("Lowest", "min", source=source),
        Field("in run", lambda _, record: str(record.lowest_run), True), value("Highest", "max", source=source),
        Field("in run", lambda _, record: str(record.highest_run), True),
    )  # fmt: skip
    caption = f"Identical runs on both sides of the {PERCENT} rule for disparate impact"
    table = record_table(caption, fields, enumerate(result.both_sides), most=MOST_SIDES)
    return _folded("One run says fair, another unfair", table)


def _failures(result: StudyResult) -> Details | None:
    if not result.class_failures:
        return None
    source = "class_failures"
    failed = value("Fails in", "failed", formats.count, source)
    fields = (
        *_fields(result), Field("Class", lambda _, record: Name(record.class_)),
        Field("Seed", lambda _, record: str(record.seed), True),
        Field("Worst run", lambda _, record: str(record.run), True),
        value("Class in that run", "value", source=source), value("Mean over classes", "overall", source=source),
        value("Class in its best run", "lowest", source=source),
        replace(failed, cell=lambda index, record: Cell(
            number(index, record.failed, formats.count, "failed", source), (f"of {plural(record.runs, 'run')}",)
        )),
    )  # fmt: skip
    caption = "Classes whose disparate impact is 20 points or more above the mean over classes of the same run"
    table = record_table(caption, fields, enumerate(result.class_failures), most=MOST_SIDES)
    return _folded("Classes that fail on their own", table)


def _fairest(result: StudyResult) -> Details | None:
    chosen = chosen_fairest(result)
    placed = [
        (index, record) for index, record in enumerate(result.fairest_of_n) if chosen
        and record.measure == chosen[0].measure
    ]  # fmt: skip
    if not placed:
        return None
    source, signed = "fairest_of_n", formats.signed_fine
    fields = (
        *_fields(result), Field("Measure", _measure), value("Fairest of", "n", formats.count, source),
        value("Gain where chosen", "apparent", signed, source), value("Gain on new people", "honest", signed, source),
        ends("Interval", source=source, fields=("honest_low", "honest_high")),
        _optional("Remaining", "survives", source, formats.percent),
        _optional("Performance, new people", "performance", source, signed),
        _optional("Chosen on dev rows: there", "dev_apparent", source, signed),
        _optional("on test rows", "dev_honest", source, signed),
    )  # fmt: skip
    halves = max(record.halves for record in result.fairest_of_n)
    clusters = max(record.clusters for record in result.fairest_of_n)
    caption = (
        "How much lower the bias of the chosen run is than the mean of the runs to choose from. Means over "
        f"{halves:,} random halves of {clusters:,} people (or clusters, such as the versions of one image), with the "
        "middle 95% of halves. The last two columns choose among all runs on dev rows and evaluate on the test set"
    )
    return _folded("The fairest of n runs as a table", record_table(caption, fields, placed, most=MOST_FAIREST))


def flip_words(result: StudyResult) -> Iterator[str]:
    """Say how many predictions flip between identical runs."""
    overall = [flip for flip in result.flips if flip.group is None]
    if not overall:
        return
    worst = max(overall, key=lambda flip: flip.share)
    if worst.flipped == 0:
        yield f"No prediction differs between identical runs ({max(flip.runs for flip in overall)} of a seed)."
        return
    yield (
        f"Predictions that flip between identical runs: most for {worst.treatment} "
        f"{under_phrase(result, (worst.condition, worst.learner))}, {worst.flipped:,} of {worst.people:,} test rows "
        f"({100 * worst.share:.1f}%) over {worst.runs} runs."
    )


def flips_section(result: StudyResult, charts: Charts) -> Section | None:
    """Return whose predictions flip between identical runs; None where that is not known."""
    flips: dict[tuple[str, str, str, str], dict[str | None, list[tuple[int, int, float]]]] = {}
    for flip in result.flips:
        if flip.attribute in ((), result.attribute):
            key = (flip.condition, flip.learner, flip.treatment, flip.setting)
            flips.setdefault(key, {}).setdefault(flip.group, []).append((flip.flipped, flip.people, flip.pair_share))
    if not flips:
        return None
    groups = list(dict.fromkeys(group for shares in flips.values() for group in shares if group is not None))[
        :MOST_GROUPS
    ]
    columns = [
        *plain_columns("Condition", "Treatment", numbers=("Everyone", "Between two runs")),
        *(Column(Name(group), number=True) for group in groups),
    ]  # fmt: skip
    rows = []
    for (condition, learner, treatment, setting), shares in flips.items():
        people = sum(number for _, number, _ in shares[None])
        pairs = sum(number * share for _, number, share in shares[None]) / people if people else None
        rows.append(Row((
            under_cell(result, (condition, learner)), treatment_cell(treatment, setting), _flipped(shares[None]),
            Cell(formats.percent(pairs)), *(_flipped(shares.get(group, [])) for group in groups),
        )))  # fmt: skip
    caption = "People whose prediction is not the same in all identical runs, summed over seeds"
    table = limited_table(caption, columns, rows, most=MOST_FLIPS)
    blocks: list[Block] = [Bullets(tuple(flip_words(result))), ChartBlock(charts["flips"]), table]
    blocks += _flip_rows(result)
    return Section(
        "flips", "Whose prediction flips between identical runs?", tuple(blocks), short="Flips",
        intro=(
            "Same seed, same training rows, same environment: only rounding differs. For these people the prediction "
            "is a matter of luck."
        ),
    )  # fmt: skip


def _flipped(shares: list[tuple[int, int, float]]) -> Cell:
    people = sum(number for _, number, _ in shares)
    if not people:
        return Cell("–", meaning=Meaning.QUIET)
    flipped = sum(number for number, _, _ in shares)
    return Cell(formats.percent(flipped / people), (f"{formats.count(flipped)} / {formats.count(people)}",))


def _flip_rows(result: StudyResult) -> Iterator[Block]:
    if not result.flip_rows:
        yield Paragraph("Add --show-rows to list them.")
        return
    titles = result.condition_titles
    fields = (
        Field("Row", lambda _, row: str(row.row)),
        Field("Condition", lambda _, row: Name(titles.get(row.condition, row.condition)), always_shown=True),
        Field("Treatment", lambda _, row: treatment_cell(row.treatment)), Field("Seed", lambda _, row: str(row.seed)),
        Field("Groups", lambda _, row: listed([(Name(group),) for group in row.groups])),
        Field("Predictions of the runs", lambda _, row: listed([
            (Name(name), f" {times} times") for name, times in row.said
        ])),
    )  # fmt: skip
    caption = "Single people, those on whom most pairs of runs differ first"
    table = record_table(caption, fields, enumerate(result.flip_rows), what="people")
    yield Details(f"Who ({plural(len(result.flip_rows), 'row')})", (table,))
