"""What a study says of its search: ranges and budget, what was chosen, what was tried, and which setting mattered."""

from __future__ import annotations

import math
from collections.abc import Iterator

from equipoise.foundation import plural
from equipoise.reports import formats
from equipoise.reports._comparisons import Charts, treatment_cell
from equipoise.reports._document import Bullets, Cell, ChartBlock, Section
from equipoise.reports.narrative._report import Field, quiet, record_table
from equipoise.reports.narrative._study_standings import condition_field
from equipoise.studies import StudyResult
from equipoise.studies.findings import SearchedRange, StudySearch


def search_section(result: StudyResult, charts: Charts) -> Section | None:
    """Return the search; None where the plan has none."""
    search = result.search
    if search is None:
        return None
    fields = (
        condition_field(result),
        Field("Treatment", lambda _, record: treatment_cell(record.treatment), always_shown=True),
        Field("Hyper-parameter", lambda _, record: record.name.replace("_", " ")),
        Field("Range", lambda _, record: f"{record.low:g} to {record.high:g} ({record.scale})"),
        Field("Default", lambda _, record: f"{record.start:g}", True),
        Field("Chosen", lambda _, record: f"{record.chosen:g}", True, always_shown=True),
        Field("Importance", lambda _, record: _share(record), True),
        Field("Rank correlation", lambda _, record: _correlation(record), True),
    )  # fmt: skip
    table = record_table(
        "What was searched, and what was chosen", fields, enumerate(search.ranges), what="hyper-parameters"
    )
    blocks = (Bullets(tuple(search_words(search))), ChartBlock(charts["tried"]), table)
    return Section(
        "search", "How were settings chosen?", blocks, short="Search",
        intro=(
            "Before the trials that give the verdicts, settings of every treatment were tried on other seeds and "
            "compared on dev rows by their distance to the optimum. Settings that collapsed to a constant prediction "
            "were not chosen. Importance is the share of a hyper-parameter in what the better settings have in common "
            "(PED-ANOVA, Watanabe et al. 2023; with few settings it is rough); a rank correlation below 0 says that "
            "larger values came nearer to the optimum."
        ),
    )  # fmt: skip


def search_words(search: StudySearch) -> Iterator[str]:
    """Yield the budget, and what did not go as planned."""
    seeds = f"{plural(len(search.seeds), 'seed')} from {search.seeds[0]:,} on"
    where = "under each condition" if search.per_condition else "under the first condition, for use under all"
    yield (
        f"Every treatment, the baseline too, had {plural(search.trials, 'setting')} {where}, "
        f"{search.generation:,} at a time, with {seeds} ({search.sampler}); the first has the defaults."
    )
    pruned = sum(setting.pruned for setting in search.settings)
    if pruned:
        yield f"{plural(pruned, 'setting')} in the worse half of a generation did not go on to the next seed."
    collapsed = sum(setting.collapsed and not setting.failed for setting in search.settings)
    failed = sum(setting.failed for setting in search.settings)
    if collapsed:
        yield f"{plural(collapsed, 'setting')} collapsed to a constant prediction."
    if failed:
        yield f"{plural(failed, 'setting')} failed to train."
    yield from _at_the_edge(search)


def _at_the_edge(search: StudySearch) -> Iterator[str]:
    """Yield choices at an end of their range: beyond it may be better ones."""
    ends = [
        f"{searched.name.replace('_', ' ')} of {searched.treatment}"
        for searched in search.ranges
        if searched.chosen != searched.start and _share_of_range(searched) in (0.0, 1.0)
    ]
    if ends:
        yield f"Chosen at an end of the range, beyond which may be better values: {', '.join(dict.fromkeys(ends))}."


def _share_of_range(searched: SearchedRange) -> float:
    """Return where the chosen value stands in its range, 0 or 1 within a twentieth of an end."""
    low, high, chosen = (
        (math.log(value) if searched.scale == "log" else value)
        for value in (searched.low, searched.high, searched.chosen)
    )
    share = (chosen - low) / (high - low)
    return 0.0 if share < 0.05 else 1.0 if share > 0.95 else share


def _share(record: SearchedRange) -> Cell | str:
    return quiet() if record.importance is None else formats.percent(record.importance)


def _correlation(record: SearchedRange) -> Cell | str:
    return quiet() if record.correlation is None else f"{record.correlation:+.2f}".replace("-", "−")
