"""From a study's arrays to its result: measure everything once, then judge, rank, choose and say it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import special

from equipoise.evidence.effect import band_of
from equipoise.foundation.errors import BadInput, unknown_name
from equipoise.foundation.provenance import fingerprint_of, provenance
from equipoise.studies.cells import UNTREATED, Cell, Under, alpha_of, baselines_of, cells_of, condition_text
from equipoise.studies.data import DEV, TEST, Attribute, Floats, StudyData
from equipoise.studies.flips import flips_of
from equipoise.studies.judging import Case, Judged, judge, mean_over, units_of
from equipoise.studies.pareto import EQUAL_WITHIN, alternative_to, front_of
from equipoise.studies.people import Redrawn, redrawn
from equipoise.studies.quantities import DISTANCE, FAIRNESS, PERFORMANCE, Quantity, batched, quantities_of
from equipoise.studies.ranking import Ranked, ranked
from equipoise.studies.result import (
    SCHEMA,
    Alternative,
    CellRecord,
    ConditionRecord,
    FailureRecord,
    RankRecord,
    StudyRecord,
    StudyResult,
)
from equipoise.studies.sayings import alternative_words, composition_words, differences, notes_of, words_of
from equipoise.studies.spreads import nested
from equipoise.tallies.confusion import ratio


@dataclass(frozen=True, eq=False)
class Measured:
    """A study with its cells and every number of every trial, by split ``[trial, quantity]``."""

    data: StudyData
    attribute: Attribute
    attributes: tuple[Attribute, ...]
    quantities: tuple[Quantity, ...]
    values: dict[str, Floats]
    cells: list[Cell]
    baselines: list[Cell | None]
    means: dict[tuple[int, str], Floats] = field(default_factory=dict)

    def place(self, measure: str, attribute: Attribute = ()) -> int:
        """Return where a quantity stands."""
        return next(
            place for place, own in enumerate(self.quantities) if (own.measure, own.attribute) == (measure, attribute)
        )

    def mean(self, cell: Cell, split: str, measure: str, attribute: Attribute = ()) -> float:
        """Return a cell's mean, in which every seed counts the same."""
        key = (id(cell), split)
        if key not in self.means:
            own = [mean_over(self.values[split][cell.places[cell.runs_of(seed)]]) for seed in cell.distinct_seeds]
            self.means[key] = mean_over(np.stack(own))
        return float(self.means[key][self.place(measure, attribute)])

    @property
    def unders(self) -> list[Under]:
        """The conditions and learners, in order."""
        return list(dict.fromkeys(cell.under for cell in self.cells))


def measure_study(
    data: StudyData, *, baseline: str = UNTREATED, measures: Sequence[str] | None = None, every_setting: bool = False
) -> Measured:
    """Compute every number of every trial, and gather trials into cells."""
    if not len(data):
        raise BadInput(
            f"No trial of the study {data.name!r} is done"
            + (f"; {len(data.failures):,} failed: {data.failures[0].reason}" if data.failures else ""),
            way_out="run it first: equipoise study run PLAN",
        )
    layout = data.layout
    main = data.trials[0].groups
    attributes = tuple(dict.fromkeys([main, *((name,) for name in layout.attributes)]))
    quantities = quantities_of(layout, attributes, measures)
    values = {split: batched(quantities, tables, layout) for split, tables in data.tables.items()}
    place = next(
        place for place, own in enumerate(quantities) if (own.measure, own.attribute) == (DISTANCE[layout.task], main)
    )
    cells = cells_of(data, values[DEV][:, place], every_setting=every_setting)
    names = list(dict.fromkeys(cell.treatment for cell in cells))
    if baseline not in names and baseline != UNTREATED:
        raise unknown_name("treatment", baseline, names, f"the study {data.name!r}, to be the baseline")
    baselines = baselines_of(cells, baseline)
    return Measured(data, main, attributes, quantities, values, cells, baselines)


def result_of(
    data: StudyData,
    *,
    baseline: str = UNTREATED,
    measures: Sequence[str] | None = None,
    every_setting: bool = False,
    people: bool = True,
    show_rows: bool = False,
    threshold: float = 0.05,
    margin: float = EQUAL_WITHIN,
    seed: int = 0,
    command: Iterable[str] | None = None,
) -> StudyResult:
    """Report a study.

    ``baseline`` is the treatment that others are held against. Of several settings of a treatment one is chosen on dev
    rows, unless ``every_setting`` makes each a treatment of its own. Without ``people`` a verdict is about these test
    rows only. ``show_rows`` lists whose predictions flip between identical runs. ``margin`` is how near performances
    are on dev rows to be called equal.
    """
    study = measure_study(data, baseline=baseline, measures=measures, every_setting=every_setting)
    drawn = redrawn(data, study.cells, study.quantities, seed=seed)
    judged = _judged(study, drawn, people=people, threshold=threshold)
    ranks = _ranked(study, drawn if people else None, seed)
    records = tuple(_records(study, drawn, judged, ranks))
    cells = tuple(_cell_records(study))
    alternatives = tuple(_alternatives(study, records, margin))
    conditions = tuple(_conditions(study))
    flips, flip_rows = flips_of(data, study.cells, study.attributes, show_rows=show_rows)
    task = data.layout.task
    result = StudyResult(
        schema=SCHEMA,
        records=records,
        provenance=_provenance(study, baseline, threshold, command),
        words=(),
        notes=(),
        attribute=study.attribute,
        performance=PERFORMANCE[task],
        fairness=FAIRNESS[task],
        distance=DISTANCE[task],
        baseline=baseline,
        cells=cells,
        ranks=tuple(_rank_records(study, ranks)),
        alternatives=alternatives,
        conditions=conditions,
        flips=flips,
        failures=tuple(_failures(study)),
        environments=tuple(dict(one) for one in data.environments),
        flip_rows=flip_rows,
    )
    result = replace(result, differences=tuple(differences(result)))
    notes = notes_of(result, data, joint=drawn.joint, people=people, threshold=threshold)
    return replace(result, words=tuple(words_of(result)), notes=tuple(notes))


def _judged(study: Measured, drawn: Redrawn, *, people: bool, threshold: float) -> dict[int, list[Judged]]:
    """Judge every cell that has a baseline."""
    places = {id(cell): place for place, cell in enumerate(study.cells)}
    cases: dict[int, Case] = {}
    for place, (cell, above) in enumerate(zip(study.cells, study.baselines, strict=True)):
        if above is not None:
            spread = drawn.spread_of_change(place, places[id(above)]) if people else None
            cases[place] = Case(cell, above, units_of(study.values[TEST], cell, above), spread)
    performance = PERFORMANCE[study.data.layout.task]
    found = judge(list(cases.values()), study.quantities, performance, threshold=threshold)
    return dict(zip(cases, found, strict=True))


def _ranked(study: Measured, drawn: Redrawn | None, seed: int) -> list[tuple[list[int], Ranked]]:
    """Rank the chosen cells of each condition and learner; yield their places and ranks."""
    made = []
    higher = [quantity.better == "high" for quantity in study.quantities]
    for under in study.unders:
        places = [p for p, cell in enumerate(study.cells) if cell.under == under and cell.chosen]
        moves = None if drawn is None else drawn.together[places]
        own = [study.cells[place] for place in places]
        made.append((places, ranked(study.values[TEST], own, higher, moves, seed=seed)))
    return made


def _rank_records(study: Measured, ranks: Sequence[tuple[list[int], Ranked]]) -> Iterable[RankRecord]:
    for places, found in ranks:
        for at, place in enumerate(places):
            cell = study.cells[place]
            for number, quantity in enumerate(study.quantities):
                if quantity.better == "none":
                    continue
                yield RankRecord(
                    condition=cell.under.condition, learner=cell.under.learner, treatment=cell.treatment,
                    setting=cell.setting, measure=quantity.measure, alias=quantity.alias,
                    attribute=quantity.attribute,
                    value=study.mean(cell, TEST, quantity.measure, quantity.attribute),
                    rank=float(found.rank[at, number]), prob_best=float(found.best[at, number]),
                    prob_best_single=float(found.best_single[at, number]),
                )  # fmt: skip


def _records(
    study: Measured, drawn: Redrawn, judged: dict[int, list[Judged]], ranks: Sequence[tuple[list[int], Ranked]]
) -> Iterable[StudyRecord]:
    spreads = drawn.spread()
    best = {place: found.best[at] for places, found in ranks for at, place in enumerate(places)}
    for place, cell in enumerate(study.cells):
        own = study.values[TEST][cell.places]
        # An identical run is one of the same environment: the same seed elsewhere counts as another.
        same = cell.seeds * (len(study.data.environments) + 1) + cell.environments
        apart = nested(own, same)
        units = units_of(study.values[TEST], cell)
        means = _mean_intervals(units.values[0]).T.tolist()
        above = study.baselines[place]
        for number, quantity in enumerate(study.quantities):
            mean, stdev, low, high = means[number]
            known = own[:, number][~np.isnan(own[:, number])]
            found = judged[place][number] if place in judged else None
            yield StudyRecord(
                condition=cell.under.condition, learner=cell.under.learner, treatment=cell.treatment,
                setting=cell.setting, chosen=cell.chosen, baseline=None if above is None else above.name,
                measure=quantity.measure, alias=quantity.alias, better=quantity.better, class_=quantity.class_,
                attribute=quantity.attribute, unit=units.unit, runs=len(known), seeds=len(cell.distinct_seeds),
                mean=mean, stdev=stdev, low=low, high=high,
                min=float(known.min()) if len(known) else math.nan,
                max=float(known.max()) if len(known) else math.nan,
                spread_people=float(spreads[place, number]), spread_reruns=float(apart.reruns[number]),
                spread_seeds=float(apart.seeds[number]), spread_note=apart.notes[number],
                prob_best=float(best[place][number]) if place in best and quantity.better != "none" else None,
                **_told(found, cell, len(known)),
            )  # fmt: skip


def _mean_intervals(values: Floats, level: float = 0.95) -> Floats:
    """Return mean, standard deviation and Student's interval of the mean over units, ``[4, quantity]``."""
    known = ~np.isnan(values)
    number = known.sum(axis=0).astype(np.float64)
    mean = ratio(np.where(known, values, 0.0).sum(axis=0), number)
    variance = ratio(np.where(known, (values - mean) ** 2, 0.0).sum(axis=0), number - 1)
    # Equal values have no spread; what rounding makes of it is none.
    stdev = np.where(variance < (1e-12 * mean) ** 2, 0.0, np.sqrt(variance))
    half = special.stdtrit(np.maximum(number - 1, 1), (1 + level) / 2) * stdev / np.sqrt(np.maximum(number, 1))
    return np.stack([mean, stdev, mean - half, mean + half])


def _told(judged: Judged | None, cell: Cell, runs: int) -> dict[str, Any]:
    """Return what a comparison adds to a record; a cell without one says why where it is not the baseline."""
    if judged is None:
        reason = None if cell.chosen else "another setting of this treatment was chosen on the dev rows"
        return {"reason": reason if runs else "undefined in every run: a group or class has no rows to compare"}
    found, variance = judged.found, judged.variance
    return {
        "change": found.difference, "change_low": judged.low, "change_high": judged.high, "test": judged.test,
        "p_runs": judged.p_runs, "p_people": judged.p_people, "p": found.p, "p_adjusted": found.p_adjusted,
        "d": found.d, "band": band_of(found.d), "levene_p": found.levene_p,
        "levene_p_adjusted": found.levene_adjusted, "variance_ratio": variance.ratio,
        "variance_change": variance.change, "overlap": found.overlap, "prob_single_run_misleads": found.misleads,
        "verdict": judged.verdict, "reason": judged.reason, "costs": judged.costs, "scope": judged.scope,
    }  # fmt: skip


def _cell_records(study: Measured) -> Iterable[CellRecord]:
    task = study.data.layout.task
    names = ((PERFORMANCE[task][0], ()), (FAIRNESS[task], study.attribute), (DISTANCE[task], study.attribute))
    on_front = _fronts(study)
    seconds = {id(cell): float(study.data.seconds[cell.places].mean()) for cell in study.cells}
    for place, (cell, above) in enumerate(zip(study.cells, study.baselines, strict=True)):
        dev = [study.mean(cell, DEV, *name) for name in names]
        test = [study.mean(cell, TEST, *name) for name in names]
        counts = np.unique(cell.seeds, return_counts=True)[1]
        base = None if above is None else seconds[id(above)]
        yield CellRecord(
            condition=cell.under.condition, learner=cell.under.learner, treatment=cell.treatment,
            setting=cell.setting, chosen=cell.chosen, size=int(cell.described["size"]), runs=len(cell.places),
            seeds=len(cell.distinct_seeds), repeats=int(counts.max()), seconds=seconds[id(cell)],
            seconds_ratio=seconds[id(cell)] / base if base else None, attribute=study.attribute,
            dev_performance=dev[0], dev_fairness=dev[1], dev_distance=dev[2], test_performance=test[0],
            test_fairness=test[1], test_distance=test[2], on_front=place in on_front,
            environments=len(set(cell.environments.tolist())),
            settings={named.name: dict(named.settings) for named in cell.described["treatments"]},
        )  # fmt: skip


def _dev_points(study: Measured, places: Sequence[int]) -> tuple[Floats, Floats]:
    task = study.data.layout.task
    cells = [study.cells[place] for place in places]
    performance = np.array([study.mean(cell, DEV, PERFORMANCE[task][0]) for cell in cells])
    return performance, np.array([study.mean(cell, DEV, FAIRNESS[task], study.attribute) for cell in cells])


def _fronts(study: Measured) -> set[int]:
    """Return the places of the cells that no other under the same condition beats on dev rows."""
    found: set[int] = set()
    for under in study.unders:
        places = [place for place, cell in enumerate(study.cells) if cell.under == under]
        front = front_of(*_dev_points(study, places))
        found |= {place for place, on in zip(places, front.tolist(), strict=True) if on}
    return found


def _alternatives(study: Measured, records: Sequence[StudyRecord], margin: float) -> Iterable[Alternative]:
    task = study.data.layout.task
    fairness, performance = FAIRNESS[task], PERFORMANCE[task][0]
    verdicts = {
        (r.condition, r.learner, r.treatment, r.setting): r.verdict
        for r in records
        if (r.measure, r.attribute) == (fairness, study.attribute)
    }
    for under in study.unders:
        places = [place for place, cell in enumerate(study.cells) if cell.under == under]
        above = next((one for place in places if (one := study.baselines[place]) is not None), None)
        if above is None:
            continue
        start = next(at for at, place in enumerate(places) if study.cells[place] is above)
        chosen = alternative_to(start, *_dev_points(study, places), margin)
        cell = None if chosen is None else study.cells[places[chosen]]
        numbers = [
            None if one is None else study.mean(one, TEST, name, attribute)
            for name, attribute in ((performance, ()), (fairness, study.attribute))
            for one in (cell, above)
        ]
        made = Alternative(
            condition=under.condition, learner=under.learner, attribute=study.attribute, baseline=above.name,
            treatment=None if cell is None else cell.treatment, setting=None if cell is None else cell.setting,
            margin=margin, performance=numbers[0], baseline_performance=numbers[1], fairness=numbers[2],
            baseline_fairness=numbers[3],
            verdict=None if cell is None else verdicts[under.condition, under.learner, cell.treatment, cell.setting],
            words="",
        )  # fmt: skip
        yield replace(made, words=alternative_words(made, performance))


def _conditions(study: Measured) -> Iterable[ConditionRecord]:
    seen: dict[str, Cell] = {}
    for cell in study.cells:
        seen.setdefault(cell.under.condition, cell)
    first = None
    for name, cell in seen.items():
        named = cell.described["condition"]
        composition = study.data.compositions.get(condition_text(named))
        first = first or composition
        mode, alpha = alpha_of(named) or (None, None)
        yield ConditionRecord(
            condition=name, mode=mode, alpha=alpha, size=int(cell.described["size"]),
            classes=composition.classes if composition else (), groups=composition.groups if composition else (),
            rows=composition.rows if composition else (), words=composition_words(name, composition, first),
        )  # fmt: skip


def _failures(study: Measured) -> Iterable[FailureRecord]:
    found: dict[tuple[str, str, str, str], list[int]] = {}
    for failure in study.data.failures:
        trial = failure.trial
        key = (condition_text(trial.condition), trial.learner.name, trial.treatment, failure.reason)
        found.setdefault(key, []).append(trial.seed)
    for (condition, learner, treatment, reason), seeds in found.items():
        yield FailureRecord(
            condition=condition, learner=learner, treatment=treatment, trials=len(seeds),
            seeds=tuple(sorted(set(seeds))), reason=reason,
        )  # fmt: skip


def _provenance(study: Measured, baseline: str, threshold: float, command: Iterable[str] | None) -> dict[str, object]:
    data = study.data
    parts = [key.encode() for key in data.keys or (trial.key for trial in data.trials)]
    parts += [np.ascontiguousarray(data.tables[split]).tobytes() for split in sorted(data.tables)]
    first = data.trials[0]
    return provenance(
        fingerprint=fingerprint_of(parts),
        command=command,
        data=data.name,
        rows=int(data.tables[TEST][0].sum()) if data.layout.task == "class" else int(data.tables[TEST][0, :, 0].sum()),
        columns={"groups": list(data.layout.attributes)},
        options={
            "cohort": first.cohort,
            "group": list(study.attribute),
            "baseline": baseline,
            "favourable": data.layout.favourable,
            "trials": len(data),
            "rounding": sorted({trial.rounding for trial in data.trials}),
            "precision": sorted({trial.precision for trial in data.trials}),
            "device": sorted({trial.device for trial in data.trials}),
            "selection": sorted({trial.selection for trial in data.trials}),
            "threshold": threshold,
            "correction": "bh",
            "environments": len(data.environments),
        },
    )
