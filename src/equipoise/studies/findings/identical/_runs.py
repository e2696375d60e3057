"""Identical runs (one cell, seed and environment): values, spreads by class, pairwise experiments, and the 20% rule."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.audits.evidence import RULE, EvidenceRecord, Series, SpreadChange, evidence
from equipoise.foundation import Floats
from equipoise.measures import (
    Better,
    get_measure,
)
from equipoise.results import Verdict
from equipoise.stats import EffectBand
from equipoise.studies.analysis import (
    TEST,
    Attribute,
    Cell,
    Codes,
    Measured,
)
from equipoise.tallies import Confusion

# So many sets are told one by one: a reader takes in fewer, and a page has to stay small.
MOST_SETS = 100


@dataclass(frozen=True, eq=False)
class IdenticalSet:
    """Identical runs: ``indices`` are their positions in the study, ``repeats`` what tells them apart."""

    cell: Cell
    seed: int
    environment: int
    indices: Codes
    repeats: tuple[int, ...]

    @property
    def record_fields(self) -> dict[str, str]:
        """Which technique it is, as a record says it."""
        cell = self.cell
        return {
            "condition": cell.under.condition, "learner": cell.under.learner, "treatment": cell.treatment,
            "setting": cell.setting,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class OfIdenticalRuns:
    """What records about one set of identical runs have in common: which runs, and which number of theirs."""

    condition: str
    learner: str
    treatment: str
    setting: str
    seed: int
    environment: int
    measure: str
    alias: str | None
    attribute: Attribute


def sets_of(study: Measured) -> list[IdenticalSet]:
    """Return the sets of identical runs of every cell that speaks for its treatment."""
    sets = []
    for cell in study.cells:
        for seed, environment, runs in cell.identical() if cell.chosen else ():
            if len(runs) > 1:
                places = cell.indices[runs]
                repeats = tuple(study.data.trials[place].repeat for place in places.tolist())
                sets.append(IdenticalSet(cell, seed, environment, places, repeats))
    return sets


def listed_sets(sets: Sequence[IdenticalSet]) -> list[IdenticalSet]:
    """Return the sets that are listed one by one: of a large study the first seeds of each cell, one at least."""
    cells = by_cell(sets)
    each = max(MOST_SETS // max(len(cells), 1), 1)
    return [member for members in cells for member in members[:each]]


def by_cell(sets: Sequence[IdenticalSet]) -> list[list[IdenticalSet]]:
    """Return the sets of each cell, in order."""
    cells: dict[int, list[IdenticalSet]] = {}
    for identical in sets:
        cells.setdefault(id(identical.cell), []).append(identical)
    return list(cells.values())


def unlisted_note(study: Measured) -> tuple[str, ...]:
    """Say how many sets of identical runs are listed one by one, where it is not all of them."""
    sets = sets_of(study)
    listed = listed_sets(sets)
    if len(listed) == len(sets):
        return ()
    return (f"Identical runs are listed for the first seeds of each treatment: {len(listed):,} of {len(sets):,} "
            "sets.",)  # fmt: skip


def bias_indices(study: Measured) -> list[int]:
    """Return the quantities that are biases: gaps between the groups that the study is about, better low."""
    distance = study.main.distance
    return [
        index
        for index, quantity in enumerate(study.quantities)
        if quantity.attribute == study.attribute and quantity.better == "low" and quantity.measure != distance
    ]


def performance_index(study: Measured) -> int:
    """Return the quantity that is the performance."""
    return study.quantity_index(study.main.performance)


def one_of_each(sets: Sequence[IdenticalSet]) -> list[IdenticalSet]:
    """Return one set of each cell, of the seed and environment that most cells have, with the most runs.

    Techniques are then compared over identical runs of the same seed; a cell without it is left out.
    """
    tried: dict[tuple[int, int], list[IdenticalSet]] = {}
    for identical in sets:
        tried.setdefault((identical.seed, identical.environment), []).append(identical)
    if not tried:
        return []
    return max(
        tried.values(),
        key=lambda group: (len(group), sum(len(identical.indices) for identical in group), -group[0].seed),
    )


IMPACT = "disparate_impact"
# So far above the mean over classes of its run a class must lie to have failed: as much as the rule allows in all.
FAR = RULE


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassRecord(OfIdenticalRuns):
    """One class on one bias over identical runs: the lowest and the highest run, and which runs these are."""

    class_: str
    runs: int
    mean: float
    min: float
    max: float
    maxdiff: float
    stdev: float
    lowest_run: int | None
    highest_run: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassFailure(OfIdenticalRuns):
    """A class that is treated far worse than the others: in its worst run, and in how many of the identical runs.

    ``overall`` is the mean over classes of the worst run, ``lowest`` the class's value in its best run.
    """

    class_: str
    run: int
    value: float
    overall: float
    lowest: float
    failed: int
    runs: int


def class_values(study: Measured) -> dict[int, Floats]:
    """Return every bias that is a mean over classes, class by class: ``[trial, class]`` by the quantity's place."""
    layout = study.data.layout
    places = [column for column in bias_indices(study) if _is_mean(study, column)]
    if layout.task != "class" or not places:
        return {}
    cells, groups = layout.folded(study.data.tables[TEST], study.attribute)
    if len(groups) < 2:
        return {}
    tally = Confusion(cells, groups, layout.classes)
    return {column: get_measure(study.quantities[column].measure).by_class(tally) for column in places}


def _is_mean(study: Measured, column: int) -> bool:
    quantity = study.quantities[column]
    return quantity.class_ is None and study.data.layout.task == "class" and get_measure(quantity.measure).classwise


def classes_of(study: Measured, sets: Sequence[IdenticalSet], values: Mapping[int, Floats]) -> Iterator[ClassRecord]:
    """Yield what each class does over identical runs, on each bias; a class that is never defined is left out."""
    for identical in sets:
        for column, every in values.items():
            quantity = study.quantities[column]
            for number, name in enumerate(study.data.layout.classes):
                series, repeats = known_series(every[identical.indices, number], identical.repeats)
                if not len(series):
                    continue
                yield ClassRecord(
                    **identical.record_fields, seed=identical.seed, environment=identical.environment,
                    measure=quantity.measure,
                    alias=quantity.alias, attribute=quantity.attribute, class_=name, runs=len(series),
                    mean=series.mean, min=series.min, max=series.max, maxdiff=series.maxdiff, stdev=series.stdev,
                    lowest_run=repeats[int(series.values.argmin())], highest_run=repeats[int(series.values.argmax())],
                )  # fmt: skip


def known_series(values: Floats, repeats: Sequence[int]) -> tuple[Series, list[int]]:
    """Return the runs that are defined as a series, and which they are."""
    defined = np.flatnonzero(~np.isnan(values))
    runs = [repeats[index] for index in defined.tolist()]
    return Series("", "", tuple(map(str, runs)), values[defined]), runs


def failures_of(study: Measured, sets: Sequence[IdenticalSet], values: Mapping[int, Floats]) -> Iterator[ClassFailure]:
    """Yield the classes that fail alone on disparate impact, the furthest above the mean first."""
    column = next((value for value in values if study.quantities[value].measure == IMPACT), None)
    if column is None:
        return
    quantity, failures = study.quantities[column], []
    for identical in sets:
        by_class, overall = values[column][identical.indices], study.values[TEST][identical.indices, column]
        with np.errstate(invalid="ignore"):
            # A rounding in the last digit does not decide.
            far = by_class - overall[:, None] >= FAR - 1e-12
        for number in np.flatnonzero(far.any(axis=0)).tolist():
            above = np.where(np.isnan(by_class[:, number]), -np.inf, by_class[:, number] - overall)
            worst = int(above.argmax())
            failures.append((float(above[worst]), ClassFailure(
                **identical.record_fields, seed=identical.seed, environment=identical.environment,
                measure=quantity.measure,
                alias=quantity.alias, attribute=quantity.attribute, class_=study.data.layout.classes[number],
                run=identical.repeats[worst], value=float(by_class[worst, number]), overall=float(overall[worst]),
                lowest=float(np.nanmin(by_class[:, number])), failed=int(far[:, number].sum()),
                runs=len(identical.indices),
            )))  # fmt: skip
    yield from (failure for _, failure in sorted(failures, key=lambda pair: -pair[0]))


@dataclass(frozen=True, slots=True, kw_only=True)
class BothSides(OfIdenticalRuns):
    """Identical runs of which some are within the rule and others break it, as a whole (no class) or on one class.

    ``complete`` is the paper's worst case: one run at 0 and another at 1.
    """

    class_: str | None
    runs: int
    within: int
    broken: int
    min: float
    max: float
    lowest_run: int
    highest_run: int
    complete: bool


def both_sides_of(
    study: Measured, sets: Sequence[IdenticalSet], classes: Mapping[int, Floats]
) -> tuple[BothSides, ...]:
    """Return what lies on both sides: whole techniques first, then classes, those that move furthest first."""
    found = list(_classes_on_both_sides(study, sets, classes))
    return tuple(sorted(found, key=lambda record: (record.class_ is not None, record.min - record.max)))


def _classes_on_both_sides(
    study: Measured, sets: Sequence[IdenticalSet], classes: Mapping[int, Floats]
) -> Iterator[BothSides]:
    bias_column = next(
        (bias_place for bias_place in bias_indices(study) if study.quantities[bias_place].measure == IMPACT), None
    )
    if bias_column is None:
        return
    for identical in sets:
        values: list[tuple[str | None, Floats]] = [(None, study.values[TEST][:, bias_column])]
        if bias_column in classes:
            values += [(name, classes[bias_column][:, number]) for number, name in enumerate(study.data.layout.classes)]
        for name, every in values:
            both_sides = _judged(study, identical, bias_column, name, every[identical.indices])
            if both_sides is not None:
                yield both_sides


def _judged(
    study: Measured, identical: IdenticalSet, column: int, name: str | None, values: Floats
) -> BothSides | None:
    """Return the runs of a technique or class if they fall on both sides; a run where it is undefined is on none."""
    defined = np.flatnonzero(~np.isnan(values))
    broken = int((values[defined] > RULE).sum())
    if broken in (0, len(defined)):
        return None
    quantity = study.quantities[column]
    low, high = defined[values[defined].argmin()], defined[values[defined].argmax()]
    return BothSides(
        **identical.record_fields, seed=identical.seed, environment=identical.environment, measure=quantity.measure,
        alias=quantity.alias,
        attribute=quantity.attribute, class_=name, runs=len(defined), within=len(defined) - broken, broken=broken,
        min=float(values[low]), max=float(values[high]), lowest_run=identical.repeats[low],
        highest_run=identical.repeats[high],
        complete=bool(values[low] == 0 and values[high] == 1),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsRecord(OfIdenticalRuns):
    """One technique on one number over identical runs. What is undefined is NaN; without classes there is no class."""

    better: Better
    runs: int
    mean: float
    min: float
    max: float
    maxdiff: float
    relative_maxdiff: float
    stdev: float
    class_: str | None
    class_maxdiff: float | None
    class_stdev: float | None
    repeats: tuple[int, ...]
    values: tuple[float, ...]


def runs_of(study: Measured, sets: Sequence[IdenticalSet], classes: Mapping[int, Floats]) -> Iterator[RunsRecord]:
    """Yield a record for each set of identical runs, on each bias and on performance."""
    for identical in sets:
        for column in (*bias_indices(study), performance_index(study)):
            quantity = study.quantities[column]
            values = study.values[TEST][identical.indices, column]
            series, _ = known_series(values, identical.repeats)
            relative = series.maxdiff / series.mean if len(series) and series.mean != 0 else math.nan
            name, spread, stdev = _most_varied(study, identical, classes.get(column))
            yield RunsRecord(
                **identical.record_fields, seed=identical.seed, environment=identical.environment,
                measure=quantity.measure,
                alias=quantity.alias, better=quantity.better, attribute=quantity.attribute, runs=len(series),
                mean=series.mean, min=series.min, max=series.max, maxdiff=series.maxdiff, relative_maxdiff=relative,
                stdev=series.stdev, class_=name, class_maxdiff=spread, class_stdev=stdev, repeats=identical.repeats,
                values=tuple(values.tolist()),
            )  # fmt: skip


def _most_varied(
    study: Measured, identical: IdenticalSet, every: Floats | None
) -> tuple[str | None, float | None, float | None]:
    """Return the class that moves furthest between identical runs, its MaxDiff and its STDEV."""
    if every is None:
        return None, None, None
    class_series = [
        known_series(every[identical.indices, number], identical.repeats)[0] for number in range(every.shape[1])
    ]
    spreads = np.array([series.maxdiff if len(series) > 1 else -1.0 for series in class_series])
    most = int(spreads.argmax())
    if spreads[most] < 0:
        return None, None, None
    return study.data.layout.classes[most], class_series[most].maxdiff, class_series[most].stdev


def records_of_one_seed(records: tuple[RunsRecord, ...]) -> list[RunsRecord]:
    """Return of each technique and measure the records of one seed: the first that has the most runs."""
    best: dict[tuple[str, str, str, str], RunsRecord] = {}
    for record in records:
        key = (record.condition, record.learner, record.treatment, record.measure)
        if key not in best or record.runs > best[key].runs:
            best[key] = record
    return list(best.values())


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
    band: EffectBand | None
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

    record: EvidenceRecord
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
    performance_names = [performance] if performance in metric else []
    judged = evidence(
        technique=list(technique), baseline_column=list(baseline), metric=list(metric), run=list(run),
        value=list(value), performance=performance_names, test="mann-whitney", alternative="observed",
        correction="none",
        threshold=THRESHOLD, spread="relative",
    )  # fmt: skip
    records = {(record.technique, record.metric): record for record in judged.records}
    changes = {(variance.technique, variance.metric): variance.change for variance in judged.variances}
    return {
        (name, on): Compared(
            compared_record, records[compared_record.baseline, on], changes[name, on],
            records[name, performance].verdict if (name, performance) in records else None,
            changes.get((name, performance)),
        )
        for (name, on), compared_record in records.items()
        if compared_record.baseline is not None and on != performance and (compared_record.baseline, on) in records
    }  # fmt: skip


def experiments_of(study: Measured, sets: Sequence[IdenticalSet]) -> Iterator[Experiment]:
    """Yield the experiments of every condition that has a baseline, over identical runs of the same seed."""
    above = {id(cell): base for cell, base in zip(study.cells, study.baselines, strict=True)}
    biases, performance = bias_indices(study), performance_index(study)
    for under in study.unders:
        representatives = one_of_each([identical for identical in sets if identical.cell.under == under])
        place_of = {id(identical.cell): str(index) for index, identical in enumerate(representatives)}
        baselines = {
            place_of[id(identical.cell)]: place_of[id(base)]
            for identical in representatives
            if (base := above[id(identical.cell)]) is not None and id(base) in place_of
        }
        if not baselines:
            continue
        compared_names = set(baselines) | set(baselines.values())
        table = {
            str(index): {
                str(number): study.values[TEST][identical.indices, number].tolist() for number in (*biases, performance)
            }
            for index, identical in enumerate(representatives)
            if str(index) in compared_names
        }
        for (name, on), comparison in compared(table, baselines, str(performance)).items():
            yield _experiment(
                study, representatives[int(name)], representatives[int(baselines[name])], int(on), comparison
            )


def _experiment(
    study: Measured, identical: IdenticalSet, base: IdenticalSet, column: int, compared_runs: Compared
) -> Experiment:
    quantity, experiment = study.quantities[column], compared_runs.record
    assert experiment.verdict is not None
    return Experiment(
        **identical.record_fields, baseline=base.cell.name, seed=identical.seed, measure=quantity.measure,
        alias=quantity.alias,
        attribute=quantity.attribute, runs=experiment.runs, baseline_runs=compared_runs.baseline.runs,
        mean=experiment.mean,
        baseline_mean=compared_runs.baseline.mean, verdict=experiment.verdict, p=_number(experiment.p),
        d=_number(experiment.d),
        band=experiment.band, levene_p=_number(experiment.levene_p), variance_change=compared_runs.variance,
        overlap=experiment.overlap,
        one_run_lower=experiment.mean > compared_runs.baseline.mean and experiment.min < compared_runs.baseline.max,
        prob_single_run_misleads=_number(experiment.prob_single_run_misleads),
        performance_verdict=compared_runs.performance,
        performance_variance_change=compared_runs.performance_variance, costs=experiment.costs,
    )  # fmt: skip


def _number(value: float | None) -> float:
    return np.nan if value is None else value
