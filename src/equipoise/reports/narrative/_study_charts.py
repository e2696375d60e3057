"""Which charts a study has, in the order in which they are read; those of its identical runs are drawn as evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from equipoise.audits.evidence import SCHEMA, EvidenceRecord, EvidenceResult, RunValues, Straddle
from equipoise.reports._study_terms import attributes_of, placed
from equipoise.reports.charts import Chart
from equipoise.reports.charts.bars import flips
from equipoise.reports.charts.curves import alpha_curves, space_curves, space_sweep
from equipoise.reports.charts.heatmap import space_settings
from equipoise.reports.charts.intervals import fairest, study_spreads, study_values
from equipoise.reports.charts.maps import sensitive_maps, study_space_maps
from equipoise.reports.charts.matrix import classes, costs, ranks, study_effects, study_variances
from equipoise.reports.charts.scatter import front, space_scatter
from equipoise.reports.charts.strips import MOST_LINES, straddles, strips
from equipoise.reports.narrative._story import part_names
from equipoise.studies.findings import RunsRecord, StudyResult, told_of_one_seed, under_name

WHOLE = "as a whole"


def as_evidence(result: StudyResult) -> EvidenceResult:
    """Return the identical runs of one seed of every technique, with the verdicts of the study."""
    told = _of_the_first(told_of_one_seed(result.identical_runs))
    return EvidenceResult(
        schema=SCHEMA,
        records=tuple(_record(result, one) for one in told),
        provenance={},
        notes=(),
        performance=tuple(dict.fromkeys(metric_of(one) for one in told if one.better == "high")),
        straddling=tuple(
            Straddle(
                _technique(result, one.condition, one.learner, one.treatment), one.alias or one.measure,
                WHOLE if one.class_ is None else one.class_, one.runs, one.within, one.broken, one.min, one.max,
                one.complete,
            )
            for one in result.both_sides
        ),
        runs=tuple(_values(result, one) for one in told),
    )  # fmt: skip


def _of_the_first(told: Sequence[RunsRecord]) -> list[RunsRecord]:
    """Return what is told of as many techniques as a chart has lines; tables and JSON have the others."""
    lines = list(dict.fromkeys((one.condition, one.learner, one.treatment) for one in told))
    chosen = set(lines[:MOST_LINES])
    return [one for one in told if (one.condition, one.learner, one.treatment) in chosen]


def metric_of(one: RunsRecord) -> str:
    """Return how a chart names a measure."""
    return one.alias or one.measure.replace("_", " ")


def _technique(result: StudyResult, condition: str, learner: str, treatment: str) -> str:
    """Name a technique; with several conditions, by both."""
    return treatment if len(result.unders) < 2 else f"{treatment}, {under_name(result, (condition, learner))}"


def _record(result: StudyResult, one: RunsRecord) -> EvidenceRecord:
    found = placed(result, (one.condition, one.learner), one.treatment, one.measure)
    judged = None if found is None else found[1]
    above = None if judged is None or judged.verdict is None else judged.baseline
    return EvidenceRecord(
        technique=_technique(result, one.condition, one.learner, one.treatment),
        baseline=None if above is None else _technique(result, one.condition, one.learner, _treatment(result, above)),
        metric=metric_of(one), runs=one.runs, baseline_runs=None, mean=one.mean, stdev=one.stdev,
        maxdiff=one.maxdiff, min=one.min, max=one.max, d=None if judged is None else judged.d,
        verdict=None if judged is None else judged.verdict,
    )  # fmt: skip


def _treatment(result: StudyResult, name: str) -> str:
    """Return the treatment of a baseline, which records name together with its setting."""
    cells = (cell for cell in result.cells if cell.chosen)
    return next(
        (cell.treatment for cell in cells if name in (cell.treatment, f"{cell.treatment} ({cell.setting})")), name
    )


def _values(result: StudyResult, one: RunsRecord) -> RunValues:
    known = [(str(run), value) for run, value in zip(one.repeats, one.values, strict=True) if value == value]
    name = _technique(result, one.condition, one.learner, one.treatment)
    return RunValues(name, metric_of(one), tuple(run for run, _ in known), tuple(value for _, value in known))


# Maps of effects are drawn for so many attributes; the table has all.
MOST_ATTRIBUTES = 3


def study_charts(result: StudyResult) -> dict[str, Chart]:
    """Draw a study: the charts by name."""
    charts: dict[str, Chart] = {}
    for part, drawn in _parts(result):
        charts |= zip(part_names(part), (chart for chart in drawn if chart is not None), strict=False)
    return charts


def _parts(result: StudyResult) -> Iterator[tuple[str, Iterable[Chart | None]]]:
    attributes = attributes_of(result)[:MOST_ATTRIBUTES]
    repeated = as_evidence(result)
    yield "front", [front(result)]
    yield "space_curves", [space_curves(result)]
    yield "space_sweep", [space_sweep(result)]
    yield "space_scatter", [space_scatter(result)]
    yield "space_settings", space_settings(result)
    yield "space_maps", [study_space_maps(result)]
    yield "sensitive_maps", sensitive_maps(result)
    yield "values", [study_values(result)]
    yield "ranks", [ranks(result)]
    yield "curves", [alpha_curves(result)]
    yield "effects", [study_effects(result, attribute) for attribute in attributes]
    yield "costs", [costs(result)]
    yield "variances", [study_variances(result, attribute) for attribute in attributes[:1]]
    yield "spreads", [study_spreads(result)]
    yield "runs", strips(repeated) if repeated.runs else []
    yield "classes", [classes(result)]
    yield "sides", [_retitled(straddles(repeated), "One run says fair, another unfair: both sides of the 20% rule")]
    yield "fairest", [fairest(result)]
    yield "flips", [flips(result)]


def _retitled(chart: Chart | None, title: str) -> Chart | None:
    return None if chart is None else replace(chart, title=title)
