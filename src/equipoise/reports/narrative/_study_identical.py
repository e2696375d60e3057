"""Identical runs of a study: how much they differ, who is on both sides of the rule, what choosing a run is worth."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from equipoise.audits.evidence import RULE
from equipoise.foundation.errors import listing
from equipoise.foundation.text import fitting, plural, points
from equipoise.reports import formats
from equipoise.reports._cells import Write
from equipoise.reports._document import Block, Bullets, Cell, ChartBlock, Column, Details, Meaning, Name, Row, Section
from equipoise.reports.narrative._study_cells import (
    cell_of,
    first_rows,
    interval_of,
    treatment_cell,
    under_cell,
)
from equipoise.reports.study_terms import title_of_measure
from equipoise.studies.findings import (
    IMPACT,
    BothSides,
    ClassFailure,
    FairestRecord,
    RunsRecord,
    StudyResult,
    chosen_fairest,
    under_phrase,
)
from equipoise.training.rounding import is_jittered

PERCENT = f"{100 * RULE:.0f}%"
FEW = 4
MOST_RUNS, MOST_SIDES, MOST_FAIREST = 200, 60, 80
Technique = RunsRecord | BothSides | ClassFailure | FairestRecord


def identical_words(result: StudyResult) -> Iterator[str]:
    """Yield the sentences; nothing where there are no identical runs."""
    if not result.identical_runs:
        return
    yield from _spread_words(result)
    yield from _class_words(result)
    yield from _rule_words(result)
    yield from _fairest_words(result)


def _technique(result: StudyResult, one: Technique) -> str:
    """Name a technique; with several conditions, by both."""
    if len(result.unders) < 2:
        return one.treatment
    return f"{one.treatment} {under_phrase(result, (one.condition, one.learner))}"


def _spread_words(result: StudyResult) -> Iterator[str]:
    biases = [one for one in result.identical_runs if one.better == "low" and not math.isnan(one.maxdiff)]
    performance = [
        one for one in result.identical_runs if one.measure == result.performance[0] and not math.isnan(one.maxdiff)
    ]
    if not biases:
        return
    most = max(biases, key=lambda one: one.maxdiff)
    if most.maxdiff == 0 and all(one.maxdiff == 0 for one in performance):
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
        widest = max(performance, key=lambda one: one.maxdiff)
        sentence += f"; {widest.measure.replace('_', ' ')} differs by up to {points(widest.maxdiff)}"
    yield sentence + "."


def _jittered(result: StudyResult) -> bool:
    """Tell whether every run of the study was made with a rounding of its own."""
    options = result.provenance.get("options")
    roundings = options.get("rounding") if isinstance(options, dict) else None
    return bool(roundings) and all(is_jittered(str(one)) for one in roundings or ())


def _class_words(result: StudyResult) -> Iterator[str]:
    varied = [one for one in result.identical_runs if one.class_maxdiff is not None]
    if not varied:
        return
    most = max(varied, key=lambda one: one.class_maxdiff or 0.0)
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
    if not any(one.measure == IMPACT for one in result.identical_runs):
        return
    whole = dict.fromkeys(_technique(result, one) for one in result.both_sides if one.class_ is None)
    classes = sum(one.class_ is not None for one in result.both_sides)
    if whole:
        yield (
            f"One run says fair, another unfair: {listing(whole, FEW)} {fitting(len(whole), 'has', 'have')} identical "
            f"runs on both sides of the {PERCENT} rule for disparate impact."
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
    gain = sum(one.apparent for one in chosen)
    if not chosen or gain <= 0:
        return
    left = sum(one.honest for one in chosen)
    numbers = sorted({one.n for one in chosen})
    of = str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
    name = chosen[0].alias or chosen[0].measure
    yield (
        f"Keeping the fairest of {of} identical runs by {name} seems to gain {points(gain / len(chosen))} on the "
        f"people it is chosen on (mean over {plural(len(chosen), 'technique')}); on new people "
        f"{points(left / len(chosen))} remain."
    )


def identical_section(result: StudyResult, charts: Mapping[str, tuple[str, ...]]) -> Section | None:
    """Return the section on identical runs: words, charts, and tables folded away; None where there are none."""
    if not result.identical_runs:
        return None
    seeds = len({one.seed for one in result.identical_runs})
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


def _several(result: StudyResult) -> bool:
    return len(result.unders) > 1


def _heads(result: StudyResult) -> list[Column]:
    return [*([Column("Condition")] if _several(result) else []), Column("Technique", kept=True)]


def _who(result: StudyResult, one: Technique) -> list[Cell]:
    where = [under_cell(result, (one.condition, one.learner))] if _several(result) else []
    return [*where, treatment_cell(one.treatment, one.setting)]


def _measure(one: RunsRecord | FairestRecord) -> Cell:
    return Cell(one.alias or title_of_measure(one.measure))


def _numbers(source: str, place: int, one: Technique, fields: Sequence[str]) -> list[Cell]:
    return [cell_of(source, place, one, field) for field in fields]


def _optional(source: str, place: int, one: Technique, field: str, write: Write = formats.fine) -> Cell:
    """Return a number that some records do not have."""
    return (
        Cell("–", meaning=Meaning.QUIET) if getattr(one, field) is None else cell_of(source, place, one, field, write)
    )


def _folded(summary: str, lines: int, *blocks: Block) -> Details:
    return Details(f"{summary} ({plural(lines, 'row')})", blocks)


def _runs(result: StudyResult) -> Details:
    by_class = any(one.class_ is not None for one in result.identical_runs)
    titles = ("Seed", "Runs", "Mean", "Lowest", "Highest", "MaxDiff", "of the mean", "STDEV")
    columns = [*_heads(result), Column("Measure"), *(Column(title, number=True) for title in titles)]
    if by_class:
        columns += [
            Column("Class that varies most"),
            Column("its MaxDiff", number=True),
            Column("its STDEV", number=True),
        ]
    source, rows = "identical_runs", []
    for place, one in enumerate(result.identical_runs[:MOST_RUNS]):
        cells = [
            *_who(result, one), _measure(one), Cell(str(one.seed)), cell_of(source, place, one, "runs", formats.count),
            *_numbers(source, place, one, ("mean", "min", "max", "maxdiff")),
            cell_of(source, place, one, "relative_maxdiff", formats.percent), *_numbers(source, place, one, ("stdev",)),
        ]  # fmt: skip
        if by_class:
            cells.append(Cell("" if one.class_ is None else Name(one.class_)))
            cells += [_optional(source, place, one, field) for field in ("class_maxdiff", "class_stdev")]
        rows.append(Row(tuple(cells)))
    total = len(result.identical_runs)
    caption = (
        "Spread over identical runs of one seed (Qian et al. 2021, Tables 2 and 4): MaxDiff is the highest run minus "
        "the lowest"
    )
    return _folded("The spread of identical runs as a table", total, first_rows(caption, columns, rows, MOST_RUNS))


def _sides(result: StudyResult) -> Details | None:
    if not result.both_sides:
        return None
    titles = ("Seed", "Runs within", "Runs above", "Lowest", "in run", "Highest", "in run")
    columns = [*_heads(result), Column("Class"), *(Column(title, number=True) for title in titles)]
    source, rows = "both_sides", []
    for place, one in enumerate(result.both_sides):
        of = Cell("overall", meaning=Meaning.QUIET) if one.class_ is None else Cell(Name(one.class_))
        counts = [cell_of(source, place, one, field, formats.count) for field in ("within", "broken")]
        rows.append(Row((
            *_who(result, one), of, Cell(str(one.seed)), *counts, cell_of(source, place, one, "min"),
            Cell(str(one.lowest_run)), cell_of(source, place, one, "max"), Cell(str(one.highest_run)),
        )))  # fmt: skip
    caption = f"Identical runs on both sides of the {PERCENT} rule for disparate impact"
    return _folded("One run says fair, another unfair", len(rows), first_rows(caption, columns, rows, MOST_SIDES))


def _failures(result: StudyResult) -> Details | None:
    if not result.class_failures:
        return None
    titles = ("Seed", "Worst run", "Class in that run", "Mean over classes", "Class in its best run", "Fails in")
    columns = [*_heads(result), Column("Class"), *(Column(title, number=True) for title in titles)]
    source, rows = "class_failures", []
    for place, one in enumerate(result.class_failures):
        failed = cell_of(source, place, one, "failed", formats.count)
        rows.append(Row((
            *_who(result, one), Cell(Name(one.class_)), Cell(str(one.seed)), Cell(str(one.run)),
            *_numbers(source, place, one, ("value", "overall", "lowest")),
            Cell(failed.text, (f"of {plural(one.runs, 'run')}",)),
        )))  # fmt: skip
    caption = "Classes whose disparate impact is 20 points or more above the mean over classes of the same run"
    return _folded("Classes that fail on their own", len(rows), first_rows(caption, columns, rows, MOST_SIDES))


def _fairest(result: StudyResult) -> Details | None:
    shown = chosen_fairest(result)
    placed = [
        (place, one) for place, one in enumerate(result.fairest_of_n) if shown and one.measure == shown[0].measure
    ]  # fmt: skip
    if not placed:
        return None
    titles = (
        "Fairest of", "Gain where chosen", "Gain on new people", "Interval", "Remaining", "Performance, new people",
        "Chosen on dev rows: there", "on test rows",
    )  # fmt: skip
    columns = [*_heads(result), Column("Measure"), *(Column(title, number=True) for title in titles)]
    source, rows = "fairest_of_n", []
    for place, one in placed:
        rows.append(Row((
            *_who(result, one), _measure(one), cell_of(source, place, one, "n", formats.count),
            *(cell_of(source, place, one, field, formats.signed_fine) for field in ("apparent", "honest")),
            Cell(interval_of(source, place, one, ("honest_low", "honest_high"))),
            _optional(source, place, one, "survives", formats.percent),
            *(_optional(source, place, one, field, formats.signed_fine)
              for field in ("performance", "dev_apparent", "dev_honest")),
        )))  # fmt: skip
    halves = max(one.halves for one in result.fairest_of_n)
    clusters = max(one.clusters for one in result.fairest_of_n)
    caption = (
        "How much lower the bias of the chosen run is than the mean of the runs to choose from. Means over "
        f"{halves:,} random halves of {clusters:,} people (or clusters, such as the versions of one image), with the "
        "middle 95% of halves. The last two columns choose among all runs on dev rows and evaluate on the test set"
    )
    return _folded("The fairest of n runs as a table", len(rows), first_rows(caption, columns, rows, MOST_FAIREST))
