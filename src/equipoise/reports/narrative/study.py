"""What a study says: which treatment changed what, whether that is confirmed, and what would decide the rest."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from equipoise.audits.evidence import SCHEMA, EvidenceRecord, EvidenceResult, RunValues, Straddle
from equipoise.foundation import plural, report
from equipoise.reports._comparisons import READING, attributes_of, main_measures, placed, treatments_of
from equipoise.reports._document import NOT_CERTIFIED, Document, Meaning, Section, Tile
from equipoise.reports.narrative._report import Report, document_provenance, part_names
from equipoise.reports.narrative._study_identical import flips_section, identical_section
from equipoise.reports.narrative._study_search import search_section, search_words
from equipoise.reports.narrative._study_spaces import spaces_section
from equipoise.reports.narrative._study_standings import ranks_section
from equipoise.reports.narrative._study_tables import (
    UNCERTAINTIES,
    alternatives_section,
    conditions_section,
    contrasts_section,
    effect_sections,
    labels_section,
    numbers_section,
    spreads_section,
    table_section,
    unknown_section,
)
from equipoise.reports.narrative._study_words import (
    answer,
    answered_treatment,
    confirmed,
    fairness_by,
    inconclusive,
    look_words,
    orientation,
    study_words,
)
from equipoise.results import Verdict
from equipoise.stats import LimitedBy
from equipoise.studies import StudyResult
from equipoise.studies.findings import (
    ClaimKind,
    RunsRecord,
    records_of_one_seed,
    seeds_needed,
    under_name,
    with_symbol,
)

if TYPE_CHECKING:
    from equipoise.reports.narrative._report import Parts

# Maps of effects are drawn for so many attributes; the table has all.
MOST_ATTRIBUTES = 3
PARTS = (
    "front", "space_curves", "space_sweep", "space_scatter", "space_settings", "space_maps", "sensitive_maps", "values",
    "curves", "ranks", "effects", "costs", "variances", "spreads", "runs", "classes", "sides", "fairest", "flips",
    "tried",
)  # fmt: skip
# So many conditions are named above the answer.
FEW_CONDITIONS = 4


@report("study")
class StudyReport(Report):
    """The report of a study."""

    def document(self, result: StudyResult) -> Document:
        """Return everything that is said about a study."""
        return Document(
            title=("Study of ", str(result.provenance.get("data"))),
            facts=_facts(result),
            answer=answer(result),
            context=orientation(result),
            meaning=_meaning(result),
            lead=tuple(confirmed(result)),
            picture=_picture(result),
            tiles=_tiles(result),
            inconclusive=tuple(inconclusive(result)),
            next_steps=tuple(_next_steps(result)),
            caution=_caution(result),
            sections=tuple(_sections(result)),
            notes=(*look_words(result), *_searched(result), *result.notes, *_reading(result)),
            provenance=document_provenance(result, "equipoise.Study"),
        )

    def parts(self, result: StudyResult) -> Parts:
        """Draw what the study has: spaces, identical runs and flips only where there are any."""
        from equipoise.reports.charts.curves import alpha_curves
        from equipoise.reports.charts.intervals import study_spreads, study_values
        from equipoise.reports.charts.matrix import costs, ranks, study_effects, study_variances
        from equipoise.reports.charts.scatter import front

        attributes = attributes_of(result)[:MOST_ATTRIBUTES]
        yield "front", [front(result)]
        if result.spaces or result.space_settings or result.space_maps:
            yield from _of_spaces(result)
        yield "values", [study_values(result)]
        yield "ranks", [ranks(result)]
        yield "curves", [alpha_curves(result)]
        yield "effects", [study_effects(result, attribute) for attribute in attributes]
        yield "costs", [costs(result)]
        yield "variances", [study_variances(result, attribute) for attribute in attributes[:1]]
        yield "spreads", [study_spreads(result)]
        if result.identical_runs:
            yield from _of_identical_runs(result)
        if result.flips:
            from equipoise.reports.charts.bars import flips

            yield "flips", [flips(result)]
        if result.search is not None:
            from equipoise.reports.charts.scatter import tried

            yield "tried", [tried(result)]

    def words(self, result: StudyResult) -> Iterable[str]:
        """Return the study in sentences, as its JSON has them."""
        return study_words(result)


def _of_spaces(result: StudyResult) -> Parts:
    from equipoise.reports.charts.curves import space_curves, space_sweep
    from equipoise.reports.charts.heatmap import space_settings
    from equipoise.reports.charts.maps import sensitive_maps, study_space_maps
    from equipoise.reports.charts.scatter import space_scatter

    yield "space_curves", [space_curves(result)]
    yield "space_sweep", [space_sweep(result)]
    yield "space_scatter", [space_scatter(result)]
    yield "space_settings", space_settings(result)
    yield "space_maps", [study_space_maps(result)]
    yield "sensitive_maps", sensitive_maps(result)


def _of_identical_runs(result: StudyResult) -> Parts:
    """Draw identical runs; most of them as evidence is drawn."""
    from equipoise.reports.charts.intervals import fairest
    from equipoise.reports.charts.matrix import classes
    from equipoise.reports.charts.strips import MOST_LINES, straddles, strips

    repeated = as_evidence(result, MOST_LINES)
    sides = straddles(repeated)
    yield "runs", strips(repeated) if repeated.runs else []
    yield "classes", [classes(result)]
    yield "sides", [sides and replace(sides, title="One run says fair, another unfair: both sides of the 20% rule")]
    yield "fairest", [fairest(result)]


def _facts(result: StudyResult) -> str:
    names = [with_symbol(title, name) for name, title in result.condition_titles.items()]
    conditions = plural(len(result.unders), "condition")
    named = f" Conditions: {'; '.join(names)}." if 1 < len(names) <= FEW_CONDITIONS else ""
    runs = plural(sum(cell.runs for cell in result.cells), "training run")
    treatments = plural(len(treatments_of(result)), "treatment")
    about = " & ".join(result.attribute)
    return f"{treatments} under {conditions}, {runs}; fairness is measured between groups of {about}.{named}"


def _reading(result: StudyResult) -> Iterator[str]:
    """Say what fairness is and what the marks in the tables mean: a terminal has no room for what stands above them."""
    if result.fairness in main_measures(result):
        yield f"Fairness is {fairness_by(result)}, higher is better. In tables: {READING}."


def _searched(result: StudyResult) -> list[str]:
    """Return the budget of the search, where there was one."""
    return [] if result.search is None else [f"Settings were searched. {next(search_words(result.search))}"]


def _next_steps(result: StudyResult) -> Iterator[str]:
    """Yield what would decide what is inconclusive."""
    needed = seeds_needed(result)
    runs = max((record.runs for record in result.records), default=0)
    if needed is not None:
        change = f"a change of {100 * needed.change:g} points in fairness"
        if needed.seeds is None:
            yield f"Add test people: no number of seeds would detect {change} with these."
        elif needed.seeds > runs:
            setting = f"seeds = {needed.seeds}" if result.stopping is None else "more looks under [stopping]"
            yield (
                f"Add seeds: about {needed.seeds:,} per treatment would detect {change} ({setting} in the plan; study "
                "run keeps what is trained)."
            )
        if needed.seeds is not None and needed.limited_by is LimitedBy.BOTH:
            yield "Add test people as well: the people who were counted limit some comparisons."
    limited = sum(
        record.verdict == Verdict.UNDECIDED and record.limited_by in (LimitedBy.PEOPLE, LimitedBy.BOTH)
        for record in result.records
        if record.measure == result.fairness and record.attribute in ((), result.attribute)
    )
    if limited and (needed is None or (needed.seeds is not None and needed.limited_by is not LimitedBy.BOTH)):
        yield f"Add test people: more seeds alone cannot decide {plural(limited, 'comparison')} of fairness."
    if not result.flips:
        yield "Run one seed twice (repeats = 2): how much identical runs differ is not known yet."


def _meaning(result: StudyResult) -> Meaning:
    """Return what the answer means for the treatment it is about: better, worse, or both; quiet without a finding."""
    kinds = {claim.kind for claim in result.claims if claim.treatments[:1] == answered_treatment(result)}
    better, worse = ClaimKind.BETTER in kinds, ClaimKind.WORSE in kinds
    if not kinds:
        counted = _counted(result) if not any(record.verdict is not None for record in result.records) else Counter()
        better, worse = bool(counted["better"]), bool(counted["worse"])
    if better and worse:
        return Meaning.NEUTRAL
    return Meaning.BETTER if better else Meaning.WORSE if worse else Meaning.QUIET


def _counted(result: StudyResult) -> Counter[str]:
    """Count comparisons by their outcome; where treatments are not compared, those of embedding spaces.

    A cell that has collapsed is not counted as better: a constant prediction is fair, which is no improvement.
    """
    collapsed = {
        (cell.condition, cell.learner, cell.treatment) for cell in result.cells if cell.chosen and cell.collapsed
    }
    judged = [record for record in result.records if record.verdict is not None]
    counted: Counter[str] = Counter()
    for record in judged or result.space_contrasts:
        good = record.good
        if good and (record.condition, record.learner, record.treatment) in collapsed:
            continue
        if good is not None:
            counted["better" if good else "worse"] += 1
        elif record.verdict in (Verdict.NONE, Verdict.UNDECIDED):
            counted[record.verdict] += 1
    counted["all"] = len(judged or result.space_contrasts)
    return counted


def _tiles(result: StudyResult) -> tuple[Tile, ...]:
    counted = _counted(result)
    better, worse, unshown, undecided = (
        counted[outcome] for outcome in ("better", "worse", Verdict.NONE, Verdict.UNDECIDED)
    )
    collapsed = sum(cell.collapsed for cell in result.cells if cell.chosen)
    failed = sum(failure.trials for failure in result.failures)
    of = f"of {plural(counted['all'], 'comparison')}"
    tiles = [
        Tile("significantly better", f"{better:,}", Meaning.BETTER if better else None, of),
        Tile("significantly worse", f"{worse:,}", Meaning.WORSE if worse else None, of),
        Tile("not significant", f"{unshown:,}", None, "a change worth detecting would have shown"),
        Tile("inconclusive", f"{undecided:,}", None, "too few seeds or people to tell"),
    ]
    if collapsed:
        tiles.append(Tile("collapsed to a constant", f"{collapsed:,}", Meaning.WORSE))
    if failed:
        tiles.append(Tile("failed trials", f"{failed:,}", Meaning.WORSE))
    return tuple(tiles)


def _picture(result: StudyResult) -> str:
    """Return the name of the chart that shows the answer: the trade-off where fairness is known."""
    has_points = any(
        not math.isnan(cell.test_fairness) and not math.isnan(cell.test_performance) for cell in result.cells
    )
    if has_points:
        return "front"
    if not result.spaces:
        return "values"
    return "space_curves" if any(space.degree is not None for space in result.spaces) else "space_scatter"


def _caution(result: StudyResult) -> str:
    scopes = list(dict.fromkeys(record.scope for record in result.records if record.scope))[:3]
    return " ".join((*(f"Scope: a verdict {scope}." for scope in scopes), UNCERTAINTIES, NOT_CERTIFIED))


def _sections(result: StudyResult) -> Iterator[Section]:
    picture = _picture(result)
    charts = {part: tuple(name for name in part_names(part) if name != picture) for part in PARTS}
    sections = (
        spaces_section(result, charts) if result.spaces else None,
        numbers_section(result, charts), labels_section(result), contrasts_section(result),
        ranks_section(result, charts),
        *effect_sections(result, charts), alternatives_section(result), spreads_section(result, charts),
        identical_section(result, charts) if result.identical_runs else None,
        flips_section(result, charts) if result.flips else None, search_section(result, charts),
        conditions_section(result), table_section(result),
        unknown_section(result),
    )  # fmt: skip
    yield from (section for section in sections if section is not None)


# Identical runs as evidence, for the charts of evidence.

OVERALL = "as a whole"


def as_evidence(result: StudyResult, most: int) -> EvidenceResult:
    """Return the identical runs of one seed of as many techniques as a chart has lines, with the study's verdicts."""
    runs_records = _of_the_first(records_of_one_seed(result.identical_runs), most)
    return EvidenceResult(
        schema=SCHEMA,
        records=tuple(_record(result, record) for record in runs_records),
        provenance={},
        notes=(),
        performance=tuple(dict.fromkeys(metric_of(record) for record in runs_records if record.better == "high")),
        straddling=tuple(
            Straddle(
                _technique(result, sides.condition, sides.learner, sides.treatment), sides.alias or sides.measure,
                OVERALL if sides.class_ is None else sides.class_, sides.runs, sides.within, sides.broken, sides.min,
                sides.max, sides.complete,
            )
            for sides in result.both_sides
        ),
        runs=tuple(_values(result, record) for record in runs_records),
    )  # fmt: skip


def _of_the_first(records: Sequence[RunsRecord], most: int) -> list[RunsRecord]:
    """Return what is told of as many techniques as a chart has lines; tables and JSON have the others."""
    lines = list(dict.fromkeys((record.condition, record.learner, record.treatment) for record in records))
    chosen = set(lines[:most])
    return [record for record in records if (record.condition, record.learner, record.treatment) in chosen]


def metric_of(record: RunsRecord) -> str:
    """Return how a chart names a measure."""
    return record.alias or record.measure.replace("_", " ")


def _technique(result: StudyResult, condition: str, learner: str, treatment: str) -> str:
    """Name a technique; with several conditions, by both."""
    return treatment if len(result.unders) < 2 else f"{treatment}, {under_name(result, (condition, learner))}"


def _record(result: StudyResult, record: RunsRecord) -> EvidenceRecord:
    entry = placed(result, (record.condition, record.learner), record.treatment, record.measure)
    judged = None if entry is None else entry[1]
    above = None if judged is None or judged.verdict is None else judged.baseline
    return EvidenceRecord(
        technique=_technique(result, record.condition, record.learner, record.treatment),
        baseline=None if above is None
        else _technique(result, record.condition, record.learner, _treatment(result, above)),
        metric=metric_of(record), runs=record.runs, baseline_runs=None, mean=record.mean, stdev=record.stdev,
        maxdiff=record.maxdiff, min=record.min, max=record.max, d=None if judged is None else judged.d,
        verdict=None if judged is None else judged.verdict,
    )  # fmt: skip


def _treatment(result: StudyResult, name: str) -> str:
    """Return the treatment of a baseline, which records name together with its setting."""
    cells = (cell for cell in result.cells if cell.chosen)
    return next(
        (cell.treatment for cell in cells if name in (cell.treatment, f"{cell.treatment} ({cell.setting})")), name
    )


def _values(result: StudyResult, record: RunsRecord) -> RunValues:
    defined = [(str(run), value) for run, value in zip(record.repeats, record.values, strict=True) if value == value]
    name = _technique(result, record.condition, record.learner, record.treatment)
    return RunValues(name, metric_of(record), tuple(run for run, _ in defined), tuple(value for _, value in defined))
