"""Identical runs of a study as evidence over runs, so that the charts of evidence draw them."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.audits.evidence import SCHEMA, EvidenceRecord, EvidenceResult, RunValues, Straddle
from equipoise.reports.charts.strips import MOST_LINES
from equipoise.reports.study_terms import placed
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
