"""Figures 1, 2 and 3 of paper 004 as data, by the paper's own rule: one comparison of a technique on a bias each.

The paper's rule is a one-sided Mann-Whitney test in the direction that the means point to, over identical runs of one
seed, p up to 0.05, with no correction for how many tests there are; Levene's test for the variances, likewise. The
verdicts of the study itself (``records``) are more careful: two-sided, corrected, and over other people too.

Figure 1 is ``verdict``, ``d`` and ``band``; figure 2 ``variance_change`` where the bias is lower; figure 3
``performance_verdict`` and ``performance_variance_change`` of techniques that lower any bias.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.audits.evidence import EvidenceRecord, SpreadChange, evidence
from equipoise.results import Verdict
from equipoise.stats import Band
from equipoise.studies.findings.data import TEST, Attribute
from equipoise.studies.findings.identical.sets import IdenticalSet, bias_places, one_of_each, performance_place
from equipoise.studies.findings.measuring import Measured

# Values of the runs by technique and metric.
Table = Mapping[str, Mapping[str, Sequence[float]]]
THRESHOLD = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A technique on a bias against its baseline, by the paper's rule.

    ``one_run_lower`` tells that the mean is higher than the baseline's, yet some run is lower than some run of it: with
    one run of each, one could have called the technique the fairer one.
    """

    condition: str
    learner: str
    treatment: str
    setting: str
    baseline: str
    seed: int
    measure: str
    alias: str | None
    attribute: Attribute
    runs: int
    baseline_runs: int
    mean: float
    baseline_mean: float
    verdict: Verdict
    p: float
    d: float
    band: Band | None
    levene_p: float
    variance_change: SpreadChange | None
    overlap: bool | None
    one_run_lower: bool
    prob_single_run_misleads: float
    performance_verdict: Verdict | None
    performance_variance_change: SpreadChange | None
    costs: tuple[str, ...]


@dataclass(frozen=True)
class Compared:
    """What the paper's rule says of one technique on one metric, and of its performance."""

    found: EvidenceRecord
    baseline: EvidenceRecord
    variance: SpreadChange | None
    performance: Verdict | None
    performance_variance: SpreadChange | None


def compared(table: Table, baselines: Mapping[str, str], performance: str) -> dict[tuple[str, str], Compared]:
    """Compare every technique of a table with its baseline on every metric but performance, by the paper's rule."""
    rows = [
        (technique, baselines.get(technique, technique), metric, str(run), value)
        for technique, metrics in table.items()
        for metric, values in metrics.items()
        for run, value in enumerate(values)
        if value == value
    ]
    if not rows:
        return {}
    technique, baseline, metric, run, value = zip(*rows, strict=True)
    told = [performance] if performance in metric else []
    judged = evidence(
        technique=list(technique), baseline_column=list(baseline), metric=list(metric), run=list(run),
        value=list(value), performance=told, test="mann-whitney", alternative="observed", correction="none",
        threshold=THRESHOLD, spread="relative",
    )  # fmt: skip
    records = {(one.technique, one.metric): one for one in judged.records}
    changes = {(one.technique, one.metric): one.change for one in judged.variances}
    return {
        (name, on): Compared(
            found, records[found.baseline, on], changes[name, on],
            records[name, performance].verdict if (name, performance) in records else None,
            changes.get((name, performance)),
        )
        for (name, on), found in records.items()
        if found.baseline is not None and on != performance and (found.baseline, on) in records
    }  # fmt: skip


def experiments_of(study: Measured, sets: Sequence[IdenticalSet]) -> Iterator[Experiment]:
    """Yield the experiments of every condition that has a baseline, over identical runs of the same seed."""
    above = {id(cell): base for cell, base in zip(study.cells, study.baselines, strict=True)}
    biases, performance = bias_places(study), performance_place(study)
    for under in study.unders:
        own = one_of_each([one for one in sets if one.cell.under == under])
        place_of = {id(one.cell): str(place) for place, one in enumerate(own)}
        baselines = {
            place_of[id(one.cell)]: place_of[id(base)]
            for one in own
            if (base := above[id(one.cell)]) is not None and id(base) in place_of
        }
        if not baselines:
            continue
        kept = set(baselines) | set(baselines.values())
        table = {
            str(place): {
                str(number): study.values[TEST][one.places, number].tolist() for number in (*biases, performance)
            }
            for place, one in enumerate(own)
            if str(place) in kept
        }
        for (name, on), found in compared(table, baselines, str(performance)).items():
            yield _experiment(study, own[int(name)], own[int(baselines[name])], int(on), found)


def _experiment(study: Measured, own: IdenticalSet, base: IdenticalSet, place: int, told: Compared) -> Experiment:
    quantity, found = study.quantities[place], told.found
    assert found.verdict is not None
    return Experiment(
        **own.said, baseline=base.cell.name, seed=own.seed, measure=quantity.measure, alias=quantity.alias,
        attribute=quantity.attribute, runs=found.runs, baseline_runs=told.baseline.runs, mean=found.mean,
        baseline_mean=told.baseline.mean, verdict=found.verdict, p=_number(found.p), d=_number(found.d),
        band=found.band, levene_p=_number(found.levene_p), variance_change=told.variance, overlap=found.overlap,
        one_run_lower=found.mean > told.baseline.mean and found.min < told.baseline.max,
        prob_single_run_misleads=_number(found.prob_single_run_misleads), performance_verdict=told.performance,
        performance_variance_change=told.performance_variance, costs=found.costs,
    )  # fmt: skip


def _number(value: float | None) -> float:
    return np.nan if value is None else value
