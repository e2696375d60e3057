"""The parts of a result of a study: records of cells and measures, ranks, alternatives, conditions and failures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from equipoise.foundation.reproducibility import fingerprint_of, provenance
from equipoise.results import Reason, Verdict, because
from equipoise.stats import band_of, sources_interval
from equipoise.studies.findings._cells import MEAN_LEVEL, Cell, mean_intervals, nested, units_of
from equipoise.studies.findings._data import DEV, TEST, Composition, Floats, cell_end
from equipoise.studies.findings._measuring import Measured
from equipoise.studies.findings._names import condition_titles, with_symbol
from equipoise.studies.findings._notes import alternative_words, composition_words
from equipoise.studies.findings._people import Redrawn
from equipoise.studies.findings._ranking import RankedUnder, alternative_to, front_of
from equipoise.studies.findings._reasons import StudyReason
from equipoise.studies.findings._result import (
    Alternative,
    AlternativeOutcome,
    CellRecord,
    ConditionRecord,
    ContrastRecord,
    EqualCondition,
    FailureRecord,
    RankRecord,
    StudyRecord,
)
from equipoise.studies.findings._verdicts import Case, Judged, Rules
from equipoise.studies.plans import alpha_of, condition_text
from equipoise.studies.trial import Named
from equipoise.tallies.scores import moments


def rank_records_of(
    study: Measured, ranks: Sequence[RankedUnder], judged: Mapping[int, Sequence[Judged]], threshold: float
) -> Iterable[RankRecord]:
    """Yield the rank of every chosen cell on every measure that has a better direction; collapsed ones have none."""
    ranked = {place: (at, own) for own in ranks for at, place in enumerate(own.places)}
    for under in study.unders:
        for place, cell in enumerate(study.cells):
            if cell.under != under or not cell.chosen:
                continue
            at, own = ranked.get(place, (0, None))
            found = None if own is None else own.ranked
            for number, quantity in enumerate(study.quantities):
                if quantity.better == "none":
                    continue
                yield RankRecord(
                    condition=cell.under.condition, learner=cell.under.learner, treatment=cell.treatment,
                    setting=cell.setting, measure=quantity.measure, alias=quantity.alias,
                    attribute=quantity.attribute,
                    value=study.mean(cell, TEST, quantity.measure, quantity.attribute),
                    rank=math.nan if found is None else float(found.rank[at, number]),
                    prob_best=math.nan if found is None else float(found.best[at, number]),
                    prob_best_single=math.nan if found is None else float(found.best_single[at, number]),
                    prob_best_if_equal=math.nan if found is None else float(found.if_equal[number]),
                    **({} if own is None else _with_best(own, at, number)),
                    **({} if own is None or place not in judged
                       else _simultaneous(judged[place][number], own, number, threshold)),
                )  # fmt: skip


def _with_best(own: RankedUnder, at: int, number: int) -> dict[str, Any]:
    """Return what Hsu's comparisons say of a cell, of the measures that they are made of."""
    if own.best is None or number not in own.columns:
        return {}
    column = own.columns.index(number)
    return {
        "may_be_best": bool(own.best.may_be_best[at, column]), "better_low": float(own.best.low[at, column]),
        "better_high": float(own.best.high[at, column]), "level": own.best.level,
    }  # fmt: skip


def _simultaneous(judged: Judged, own: RankedUnder, number: int, threshold: float) -> dict[str, Any]:
    """Return the interval of a change that holds for all treatments of the condition together (Bonferroni)."""
    if number not in own.columns or math.isnan(judged.p):
        return {}
    low, high = sources_interval(judged.change, *judged.sources, threshold / max(len(own.places) - 1, 1))
    return {"change": judged.change, "change_low": float(low), "change_high": float(high)}


def records_of(
    study: Measured, drawn: Redrawn, judged: Mapping[int, Sequence[Judged]], ranks: Sequence[RankedUnder]
) -> Iterable[StudyRecord]:
    """Yield a record for each cell and quantity."""
    spreads = drawn.spread()
    best = {place: own.ranked.best[at] for own in ranks for at, place in enumerate(own.places)}
    for place, cell in enumerate(study.cells):
        own = study.values[TEST][cell.places]
        # An identical run is one of the same environment: the same seed elsewhere counts as another.
        same = cell.seeds * (len(study.data.environments) + 1) + cell.environments
        apart = nested(own, same)
        units = units_of(study.values[TEST], cell)
        means = mean_intervals(units.values[0]).T.tolist()
        above = study.baselines[place]
        varied = not _does_not_vary(study, cell)
        undefined = because(StudyReason.NO_ROWS if varied else StudyReason.PREDICTIONS_DO_NOT_VARY)
        for number, quantity in enumerate(study.quantities):
            mean, stdev, low, high = means[number]
            known = own[:, number][~np.isnan(own[:, number])]
            found = judged[place][number] if place in judged else None
            yield StudyRecord(
                condition=cell.under.condition, learner=cell.under.learner, treatment=cell.treatment,
                setting=cell.setting, chosen=cell.chosen, baseline=None if above is None else above.name,
                measure=quantity.measure, alias=quantity.alias, better=quantity.better, class_=quantity.class_,
                attribute=quantity.attribute, unit=units.unit, runs=len(known), seeds=len(cell.distinct_seeds),
                mean=mean, stdev=stdev, low=low, high=high, mean_level=None if math.isnan(low) else MEAN_LEVEL,
                min=float(known.min()) if len(known) else math.nan,
                max=float(known.max()) if len(known) else math.nan,
                spread_people=float(spreads[place, number]), spread_reruns=float(apart.reruns[number]),
                spread_seeds=float(apart.seeds[number]), spread_note=apart.notes[number],
                spread_reruns_low=float(apart.reruns_low[number]), spread_reruns_high=float(apart.reruns_high[number]),
                spread_seeds_low=float(apart.seeds_low[number]), spread_seeds_high=float(apart.seeds_high[number]),
                prob_best=float(best[place][number]) if place in best and quantity.better != "none" else None,
                **_told(found, cell, len(known), undefined),
            )  # fmt: skip


def contrast_records_of(
    study: Measured, cases: Sequence[Case], judged: Sequence[Sequence[Judged]]
) -> Iterable[ContrastRecord]:
    """Yield a record for each pair of treatments and quantity."""
    for case, own in zip(cases, judged, strict=True):
        for quantity, one in zip(study.quantities, own, strict=True):
            yield ContrastRecord(
                condition=case.cell.under.condition, learner=case.cell.under.learner, treatment=case.cell.treatment,
                against=case.baseline.treatment, measure=quantity.measure, alias=quantity.alias,
                better=quantity.better, attribute=quantity.attribute, test=one.test.value, pairs=one.units,
                change=one.change, change_low=one.low, change_high=one.high, level=one.level, p=one.p,
                p_adjusted=one.p_adjusted, p_rank=one.p_rank, verdict=one.verdict, undecided=one.undecided,
                limited_by=one.limited_by, power=one.power, runs_needed=one.needed, few_seeds=one.few_seeds,
                margin=one.margin, equivalent=one.equivalent,
                equivalence_p=None if one.margin is None else one.equivalence_p, reason=one.reason,
            )  # fmt: skip


def _does_not_vary(study: Measured, cell: Cell) -> bool:
    """Tell whether every run of a regression predicts one number for all test rows, which has no correlation."""
    layout = study.data.layout
    if layout.task != "regression":
        return False
    told = moments(study.data.tables[TEST][cell.places].sum(axis=-2, keepdims=True), ("everyone",), layout.pivot)
    # What rounding leaves of equal predictions is no variance.
    return bool((told.variance_prediction <= 1e-12 * told.variance_target).all())


def _told(judged: Judged | None, cell: Cell, runs: int, undefined: Reason) -> dict[str, Any]:
    """Return what a comparison adds to a record; a cell without one says why where it is not the baseline."""
    if judged is None:
        reason = None if cell.chosen else because(StudyReason.NOT_CHOSEN)
        return {"reason": reason if runs else undefined}
    found, variance = judged.found, judged.variance
    return {
        "change": judged.change, "change_low": judged.low, "change_high": judged.high, "test": judged.test.value,
        "p_runs": judged.p_runs, "p_people": judged.p_people, "p": judged.p, "p_adjusted": judged.p_adjusted,
        "p_rank": judged.p_rank, "rank_test": judged.rank_test, "level": judged.level, "pairs": judged.units,
        "undecided": judged.undecided, "limited_by": judged.limited_by, "power": judged.power,
        "smallest_effect": judged.smallest_effect, "few_seeds": judged.few_seeds, "spread_pair": judged.single,
        "margin": judged.margin, "margin_recorded": judged.margin_recorded, "equivalent": judged.equivalent,
        "equivalence_p": None if judged.margin is None else judged.equivalence_p,
        "p_equivalence_adjusted": None if judged.margin is None else judged.p_equivalence_adjusted,
        "d": found.d, "band": band_of(found.d), "levene_p": found.levene_p,
        "levene_p_adjusted": found.levene_adjusted, "variance_ratio": variance.ratio,
        "variance_change": variance.change, "overlap": found.overlap, "prob_single_run_misleads": found.misleads,
        "verdict": judged.verdict, "reason": judged.reason, "costs": judged.costs, "scope": judged.scope,
        "runs_needed": judged.needed, "spread_change_people": judged.people,
        "people_untested": judged.people_untested,
    }  # fmt: skip


def cell_records_of(study: Measured) -> Iterable[CellRecord]:
    """Yield what each cell took, and where it stands on dev and on test rows."""
    main = study.main
    names = ((main.performance, ()), (main.fairness, study.attribute), (main.distance, study.attribute))
    on_front = _fronts(study)
    seconds = {id(cell): float(study.data.seconds[cell.places].mean()) for cell in study.cells}
    ends = study.data.training_ends
    for place, (cell, above) in enumerate(zip(study.cells, study.baselines, strict=True)):
        ended = cell_end([ends[run] for run in cell.places.tolist()] if ends else [])
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
            collapsed=cell.collapsed, collapsed_runs=cell.collapsed_runs,
            collapsed_share=cell.collapsed_runs / len(cell.places),
            unfinished_training=ended.reasons, unfinished_runs=ended.runs, late_decline=ended.late_decline,
            constraint_residual=ended.residual,
        )  # fmt: skip


def _dev_points(study: Measured, places: Sequence[int]) -> tuple[Floats, Floats]:
    cells = [study.cells[place] for place in places]
    performance = np.array([study.mean(cell, DEV, study.main.performance) for cell in cells])
    return performance, np.array([study.mean(cell, DEV, study.main.fairness, study.attribute) for cell in cells])


def _fronts(study: Measured) -> set[int]:
    """Return the places of the cells that no other under the same condition beats on dev rows; none has collapsed."""
    found: set[int] = set()
    for under in study.unders:
        places = [place for place, cell in enumerate(study.cells) if cell.under == under and not cell.collapsed]
        front = front_of(*_dev_points(study, places))
        found |= {place for place, on in zip(places, front.tolist(), strict=True) if on}
    return found


def alternatives_of(
    study: Measured, records: Sequence[StudyRecord], margin: float, phrases: Mapping[str, str]
) -> Iterable[Alternative]:
    """Yield the less discriminatory alternative under each condition with a baseline that tells how fair it is.

    There is none to a baseline that has collapsed.

    The candidate is chosen on dev rows, among the settings that speak for their treatments and have not collapsed; it
    is named where the test rows confirm it.
    """
    fairness, performance = study.main.fairness, study.main.performance
    found = {(r.condition, r.learner, r.treatment, r.setting, r.measure, r.attribute): r for r in records}
    for under in study.unders:
        places = [place for place, cell in enumerate(study.cells) if cell.under == under]
        above = next((one for place in places if (one := study.baselines[place]) is not None), None)
        # A model that has collapsed is no reference: fairer than it at an equal performance would say nothing.
        if above is None or above.collapsed:
            continue
        own = [place for place in places if study.cells[place] is above or _may_be_named(study, place)]
        start = next(at for at, place in enumerate(own) if study.cells[place] is above)
        points = _dev_points(study, own)
        # Where the fairness of the baseline is undefined, that none is fairer would say more than is known.
        if np.isnan(points[1][start]):
            continue
        chosen = alternative_to(start, *points, margin)
        cell = None if chosen is None else study.cells[own[chosen]]
        numbers = [
            None if one is None else study.mean(one, TEST, name, attribute)
            for name, attribute in ((performance, ()), (fairness, study.attribute))
            for one in (cell, above)
        ]
        fair, cost = (
            None if cell is None else found[under.condition, under.learner, cell.treatment, cell.setting, *name]
            for name in ((fairness, study.attribute), (performance, ()))
        )
        outcome = outcome_of(fair, cost, margin)
        named = cell if outcome == "confirmed" else None
        made = Alternative(
            condition=under.condition, learner=under.learner, attribute=study.attribute, baseline=above.name,
            treatment=None if named is None else named.treatment, setting=None if named is None else named.setting,
            margin=margin, performance=numbers[0], baseline_performance=numbers[1], fairness=numbers[2],
            baseline_fairness=numbers[3], verdict=None if fair is None else fair.verdict, words="",
            candidate=None if cell is None else cell.treatment,
            candidate_setting=None if cell is None else cell.setting,
            performance_verdict=None if cost is None else cost.verdict, outcome=outcome,
        )  # fmt: skip
        yield replace(made, words=alternative_words(made, performance, phrases[under.condition]))


def _may_be_named(study: Measured, place: int) -> bool:
    """Tell whether a cell was compared with the baseline and has not collapsed."""
    return study.baselines[place] is not None and not study.cells[place].collapsed


def outcome_of(fairness: StudyRecord | None, performance: StudyRecord | None, margin: float) -> AlternativeOutcome:
    """Say what the test rows make of a candidate: it must be fairer there, and not lose more than the margin.

    Parameters
    ----------
    fairness, performance : StudyRecord or None
        The candidate's records on the test rows; None where there is no candidate.
    margin : float
        How much performance may be lost and still be called equal.
    """
    if fairness is None:
        return "no candidate"
    if fairness.change is not None and fairness.change <= 0:
        return "less fair" if fairness.change < 0 else "not confirmed"
    if fairness.verdict != Verdict.HIGHER:
        return "not confirmed"
    lost = performance is None or not (performance.change or 0.0) >= -margin
    return "less performance" if lost else "confirmed"


def conditions_of(study: Measured) -> Iterable[ConditionRecord]:
    """Yield each condition once, with what it made of the training rows."""
    made = list(_condition_records(study))
    titles = condition_titles([one for one, _ in made])
    first = next((composition for _, composition in made if composition is not None), None)
    for one, composition in made:
        name = with_symbol(titles[one.condition], one.condition)
        yield replace(one, words=composition_words(name, composition, first))


def _condition_records(study: Measured) -> Iterable[tuple[ConditionRecord, Composition | None]]:
    seen: dict[str, Cell] = {}
    for cell in study.cells:
        seen.setdefault(cell.under.condition, cell)
    for name, cell in seen.items():
        named = cell.described["condition"]
        composition = study.data.compositions.get(condition_text(named))
        mode, alpha = alpha_of(named) or (None, None)
        yield ConditionRecord(
            condition=name, mode=mode, alpha=alpha, size=int(cell.described["size"]),
            classes=composition.classes if composition else (), groups=composition.groups if composition else (),
            rows=composition.rows if composition else (),
            equal=tuple(_equal(one) for one in study.data.equal_conditions.get(condition_text(named), ())),
        ), composition  # fmt: skip


def _equal(named: Named) -> EqualCondition:
    mode, alpha = alpha_of(named) or (None, None)
    return EqualCondition(condition=condition_text(named), mode=mode, alpha=alpha)


def failures_of(study: Measured) -> Iterable[FailureRecord]:
    """Yield failed trials, those of one cell and error together."""
    found: dict[tuple[str, str, str, str, bool], list[int]] = {}
    traces: dict[tuple[str, str, str, str, bool], str] = {}
    for failure in study.data.failures:
        trial = failure.trial
        key = (condition_text(trial.condition), trial.learner.name, trial.treatment, failure.error, failure.damaged)
        found.setdefault(key, []).append(trial.seed)
        if failure.traceback is not None:
            traces.setdefault(key, failure.traceback)
    for key, seeds in found.items():
        condition, learner, treatment, error, damaged = key
        yield FailureRecord(
            condition=condition, learner=learner, treatment=treatment, trials=len(seeds),
            seeds=tuple(sorted(set(seeds))), error=error, traceback=traces.get(key), damaged=damaged,
        )  # fmt: skip


def provenance_of(
    study: Measured, baseline: str, rules: Rules, looks: int, command: Iterable[str] | None
) -> dict[str, object]:
    """Say where the result comes from."""
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
            "threshold": rules.threshold * looks,
            "looks": looks,
            "smallest_effect": rules.smallest_effect,
            "equivalence_margin": rules.margin,
            "correction": "bh",
            "environments": len(data.environments),
        },
    )
