"""From a study's arrays to its result: measure once, then judge, rank and choose."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from equipoise.foundation import (
    BadInput,
    Floats,
    Progress,
    fingerprint_of,
    provenance,
    unknown_name,
)
from equipoise.results import Reason, Verdict, because
from equipoise.stats import (
    effect_band,
    sources_interval,
)
from equipoise.studies.analysis import (
    DEV,
    EQUAL_WITHIN,
    MEAN_LEVEL,
    NO_LABELS,
    NO_PREDICTIONS,
    NOT_RESAMPLED,
    SEEDS,
    SMALLEST_EFFECT,
    TEST,
    UNTREATED,
    Attribute,
    Aucs,
    Case,
    Cell,
    Codes,
    Composition,
    Judged,
    Layout,
    Measured,
    RankedUnder,
    Resampled,
    Rules,
    StudyData,
    StudyReason,
    alternative_to,
    attributes_of,
    baselines_of,
    batched,
    cell_end,
    cells_of,
    collapsed_cells,
    collapsed_runs,
    constant_record,
    fill_in,
    flips_of,
    front_of,
    is_bounded,
    is_open,
    judge,
    label_quantities,
    main_measures_of,
    mean_intervals,
    needs_scores,
    nested,
    quantities_of,
    ranked,
    requested_measures,
    resample_people,
    units_of,
    with_best,
)
from equipoise.studies.findings._claims import claims_of
from equipoise.studies.findings._result import (
    SCHEMA,
    Alternative,
    AlternativeOutcome,
    CellRecord,
    ConditionRecord,
    ContrastRecord,
    EqualCondition,
    FailureRecord,
    LabelRecord,
    RankRecord,
    SeedsOfArm,
    StoppingRecord,
    StudyRecord,
    StudyResult,
)
from equipoise.studies.findings._words import (
    alternative_words,
    composition_words,
    condition_phrases,
    condition_titles,
    differences,
    label_notes,
    notes_of,
    undefined_notes,
    with_symbol,
)
from equipoise.studies.findings.identical import identical_parts, unlisted_note
from equipoise.studies.findings.spaces import DEFAULT as DEFAULT_CHOICE
from equipoise.studies.findings.spaces import (
    Choosing,
    choice_notes,
    chosen_by_spaces,
    rechosen,
    space_notes,
    space_parts,
)
from equipoise.studies.plans import ALL, Named, Stopping, StoppingRule, Trial, alpha_of, condition_text
from equipoise.tallies import residual_moments


def measure_study(
    data: StudyData,
    *,
    baseline: str = UNTREATED,
    measures: Sequence[str] | None = None,
    every_setting: bool = False,
    choose_by: str = DEFAULT_CHOICE,
    performance: str | None = None,
    fairness: str | None = None,
) -> Measured:
    """Compute every number of every trial, and gather trials into cells."""
    if not len(data):
        failed = f"; {len(data.failures):,} failed: {data.failures[0].error}" if data.failures else ""
        again = (
            "fix the cause, then equipoise study run PLAN --retry-failed (in Python: raise version, or another store)."
        )
        raise BadInput(
            f"No trial of the study {data.name!r} is done{failed}",
            help=again if failed else "run it first: equipoise study run PLAN",
        )
    layout = data.layout
    main = data.trials[0].groups
    attributes = attributes_of(layout, main)
    deciding = main_measures_of(layout.task, performance, fairness)
    quantities = quantities_of(layout, attributes, measures, deciding)
    values = {split: batched(quantities, tables, layout) for split, tables in data.tables.items()}
    if needs_scores(deciding):
        if data.aucs is None:
            raise BadInput(f"The study {data.name!r} is decided by the AUC, and its scores are not available")
        for split, own_values in values.items():
            fill_in(own_values, quantities, deciding, partial(_scored, data.aucs, split, deciding.by[0]))
    place = next(
        index
        for index, quantity in enumerate(quantities)
        if (quantity.measure, quantity.attribute) == (deciding.distance, main)
    )
    cells = cells_of(data, values[DEV][:, place], every_setting=every_setting, collapsed=partial(_collapsed, data))
    choosings: tuple[Choosing, ...] = ()
    if data.has_spaces and not every_setting:
        choosings = chosen_by_spaces(data, cells, main, choose_by)
    if choosings:
        cells = rechosen(cells, choosings)
    names = list(dict.fromkeys(cell.treatment for cell in cells))
    if baseline not in names and baseline != UNTREATED:
        raise unknown_name("treatment", baseline, names, f"the study {data.name!r}, to be the baseline")
    baselines = baselines_of(cells, baseline)
    return Measured(data, main, attributes, quantities, values, cells, baselines, deciding, choosings)


def _scored(aucs: Aucs, split: str, performance: str, attribute: Attribute) -> Floats:
    return aucs(split, attribute, performance)


def _collapsed(data: StudyData, members: list[Codes]) -> tuple[list[bool], list[int]]:
    """Tell of each cell whether it has collapsed, and how many of its runs have, from dev rows alone."""
    runs = collapsed_runs(data)
    flags = collapsed_cells(data, runs, members)
    return flags.tolist(), [int(runs[places].sum()) for places in members]


def result_of(
    data: StudyData,
    *,
    baseline: str = UNTREATED,
    measures: Sequence[str] | None = None,
    every_setting: bool = False,
    choose_by: str = DEFAULT_CHOICE,
    people: bool = True,
    show_rows: bool = False,
    performance: str | None = None,
    fairness: str | None = None,
    threshold: float = 0.05,
    margin: float = EQUAL_WITHIN,
    smallest_effect: float = SMALLEST_EFFECT,
    equivalence_margin: float | None = None,
    margin_recorded: bool | None = None,
    against: str | Sequence[str] = (),
    stopping: Stopping | None = None,
    looks: int = 1,
    seed: int = 0,
    command: Iterable[str] | None = None,
    progress: Progress | None = None,
) -> StudyResult:
    """Report a study.

    ``baseline`` is the treatment that others are compared with. Of several settings of a treatment one is chosen on dev
    rows, unless ``every_setting`` makes each a treatment of its own; where trials embed rows, by ``choose_by`` of the
    worst group. Without ``people`` a verdict is about these test
    rows only. ``show_rows`` lists whose predictions flip between identical runs. ``margin`` is how near performances
    are on dev rows to be called equal. ``progress`` hears how far the spaces of trials are, which take longest.
    ``performance`` and ``fairness`` are the measures that the distance to the optimum, the front, ranks and
    alternatives are made of.

    ``smallest_effect`` is the change that is worth detecting, ``equivalence_margin`` how far one may go and still be
    irrelevant; ``margin_recorded`` says whether that was fixed before results were read. ``against`` names treatments
    that others are compared with besides the baseline ("all": every pair). The threshold is divided by ``looks``, how
    often verdicts were read with data of their own. ``stopping`` says how seeds are added until comparisons are
    decided: their tests then take all looks into account themselves.
    """
    study = measure_study(
        data, baseline=baseline, measures=measures, every_setting=every_setting, choose_by=choose_by,
        performance=performance, fairness=fairness,
    )  # fmt: skip
    resampled = resample_people(data, study.cells, study.quantities, seed=seed)
    people = people and resampled.resampled
    threshold /= looks
    rules = Rules(
        threshold=threshold, smallest_effect=smallest_effect, margin=equivalence_margin, bounded=is_bounded,
        margin_recorded=margin_recorded, stopping=stopping,
    )  # fmt: skip
    couples = _contrasted(study, resampled if people else None, against, baseline)
    contrasts = judge(couples, study.quantities, study.main.performances, rules)
    judged = _judged(study, resampled, rules, people=people)
    ranks = _ranked(study, resampled if people else None, rules.single_look, seed)
    records = tuple(records_of(study, resampled, judged, ranks))
    cells = tuple(cell_records_of(study))
    conditions = tuple(conditions_of(study))
    alternatives = tuple(alternatives_of(study, records, margin, condition_phrases(conditions)))
    flips, flip_rows = flips_of(data, study.cells, study.attributes, show_rows=show_rows)
    result = StudyResult(
        schema=SCHEMA,
        records=records,
        provenance=provenance_of(study, baseline, rules, looks, command),
        notes=(),
        attribute=study.attribute,
        performance=study.main.performances,
        fairness=study.main.fairness,
        distance=study.main.distance,
        baseline=baseline,
        cells=cells,
        ranks=tuple(rank_records_of(study, ranks, judged, rules.single_look)),
        alternatives=alternatives,
        conditions=conditions,
        flips=flips,
        failures=tuple(failures_of(study)),
        environments=tuple(dict(environment) for environment in data.environments),
        flip_rows=flip_rows,
        constant=constant_record(data, study.quantities, study.main, study.attribute),
        measures=requested_measures(study.quantities, measures),
        contrasts=tuple(contrast_records_of(study, couples, contrasts)),
        labels=tuple(label_records_of(study)),
        **(identical_parts(study, seed=seed) if study.has_identical_runs else {}),
        stopping=None if stopping is None else _stopping_record(study, stopping, judged, couples, contrasts),
        **(space_parts(study, threshold=rules.single_look, progress=progress) if data.has_spaces else {}),
    )
    result = replace(result, differences=tuple(differences(result)))
    result = replace(result, claims=claims_of(result))
    notes = [*notes_of(result, data, joint=resampled.joint, people=people, threshold=threshold)]
    not_drawn = {"class": NOT_RESAMPLED, "regression": NO_PREDICTIONS, "multilabel": NO_LABELS}
    notes += [] if resampled.resampled else [not_drawn[data.layout.task]]
    notes += [*undefined_notes(result), *label_notes(result)]
    notes += unlisted_note(study) if study.has_identical_runs else ()
    notes += space_notes(result) if result.spaces else ()
    notes += choice_notes(study.choosings) if study.choosings else ()
    return replace(result, notes=tuple(notes))


def undecided_trials(
    data: StudyData,
    stopping: Stopping,
    *,
    baseline: str = UNTREATED,
    against: str | Sequence[str] = (),
    threshold: float = 0.05,
    smallest_effect: float = SMALLEST_EFFECT,
    equivalence_margin: float | None = None,
    seed: int = 0,
    **how: Any,
) -> list[Trial]:
    """Return the trials of arms that have an undecided comparison which more seeds may decide; ``how`` as above."""
    study = measure_study(data, baseline=baseline, **how)
    resampled = resample_people(data, study.cells, study.quantities, seed=seed)
    rules = Rules(
        threshold=threshold, smallest_effect=smallest_effect, margin=equivalence_margin, bounded=is_bounded,
        stopping=stopping,
    )  # fmt: skip
    couples = _contrasted(study, resampled if resampled.resampled else None, against, baseline)
    contrasts = judge(couples, study.quantities, study.main.performances, rules)
    judged = _judged(study, resampled, rules, people=resampled.resampled)
    open_cells = _open_cells(study, stopping, judged, couples, contrasts)
    # Of several settings of a treatment any may be chosen once there are more seeds.
    names = {(cell.under, cell.treatment) for cell in open_cells}
    return [
        data.trials[place] for cell in study.cells if (cell.under, cell.treatment) in names for place in cell.indices
    ]


def _open_cells(
    study: Measured, stopping: Stopping, judged: Mapping[int, Sequence[Judged]], couples: Sequence[Case],
    contrasts: Sequence[Sequence[Judged]],
) -> list[Cell]:  # fmt: skip
    """Return both sides of every comparison of the main measures that more seeds may decide."""
    main = study.main
    columns = {study.quantity_index(performance) for performance in main.performances}
    columns |= {
        study.quantity_index(main.fairness, study.attribute),
        study.quantity_index(main.distance, study.attribute),
    }
    cells: list[Cell] = []
    for index, judgments in judged.items():
        above = study.baselines[index]
        if above is not None and any(is_open(judgments[column], stopping) for column in columns):
            cells += [study.cells[index], above]
    for couple, judgments in zip(couples, contrasts, strict=True):
        if any(is_open(judgments[column], stopping) for column in columns):
            cells += [couple.cell, couple.baseline]
    return cells


def _stopping_record(
    study: Measured, stopping: Stopping, judged: Mapping[int, Sequence[Judged]], couples: Sequence[Case],
    contrasts: Sequence[Sequence[Judged]],
) -> StoppingRecord:  # fmt: skip
    """Say how seeds were added, and to what."""
    open_cells = {id(cell) for cell in _open_cells(study, stopping, judged, couples, contrasts)}
    return StoppingRecord(
        rule=stopping.rule,
        looks=stopping.looks,
        seeds_share=stopping.seeds_share if stopping.rule is StoppingRule.ANYTIME else None,
        arms=tuple(
            SeedsOfArm(
                treatment=cell.treatment, condition=cell.under.condition, learner=cell.under.learner,
                seeds=len(cell.distinct_seeds), undecided=id(cell) in open_cells,
            )
            for cell in study.cells
            if cell.chosen
        ),
    )  # fmt: skip


def _judged(study: Measured, resampled: Resampled, rules: Rules, *, people: bool) -> dict[int, list[Judged]]:
    """Judge every cell that has a baseline."""
    places = {id(cell): index for index, cell in enumerate(study.cells)}
    cases: dict[int, Case] = {}
    for index, (cell, above) in enumerate(zip(study.cells, study.baselines, strict=True)):
        if above is not None:
            cases[index] = _case(study, resampled if people else None, (cell, above), (index, places[id(above)]))
    judged = judge(list(cases.values()), study.quantities, study.main.performances, rules)
    return dict(zip(cases, judged, strict=True))


def _case(study: Measured, resampled: Resampled | None, cells: tuple[Cell, Cell], places: tuple[int, int]) -> Case:
    """Return the comparison of two cells, with what people add to it where they were drawn."""
    units = units_of(study.values[TEST], *cells)
    seeds = len(units.names[0]) if units.unit == SEEDS else 1
    return Case(*cells, units, None if resampled is None else resampled.variance_of_change(*places, seeds))


def _contrasted(
    study: Measured, resampled: Resampled | None, against: str | Sequence[str], baseline: str
) -> list[Case]:
    """Return the treatments that are compared with one another, under each condition: none with the baseline."""
    against_names = (against,) if isinstance(against, str) else tuple(against)
    names = list(dict.fromkeys(cell.treatment for cell in study.cells if cell.chosen))
    for name in against_names:
        if name not in (*names, ALL):
            raise unknown_name(
                "treatment", name, [*names, ALL], f"the study {study.data.name!r}, to compare others with"
            )
    cases = []
    for under in study.unders:
        treatment_cells = [
            (index, cell) for index, cell in enumerate(study.cells)
            if cell.under == under and cell.chosen and cell.treatment != baseline
        ]  # fmt: skip
        for at, (cell_index, cell) in enumerate(treatment_cells):
            for before, (other_place, other) in enumerate(treatment_cells):
                is_requested = other.treatment in against_names or (ALL in against_names and before < at)
                # Of two that are both asked for, one is compared with the other, once.
                if before != at and is_requested and not (cell.treatment in against_names and before > at):
                    cases.append(_case(study, resampled, (cell, other), (cell_index, other_place)))
    return cases


def _ranked(study: Measured, resampled: Resampled | None, threshold: float, seed: int) -> list[RankedUnder]:
    """Rank the chosen cells of each condition and learner, and say which of them may be the best.

    What has collapsed to a constant prediction is not ranked: it can be best at nothing.
    """
    ranked_unders = []
    higher = [quantity.better == "high" for quantity in study.quantities]
    main = study.main
    columns = (
        study.quantity_index(main.performance), study.quantity_index(main.fairness, study.attribute),
        study.quantity_index(main.distance, study.attribute),
    )  # fmt: skip
    values, level = study.values[TEST], threshold / max(len(study.unders), 1)
    for under in study.unders:
        places = [p for p, cell in enumerate(study.cells) if cell.under == under and cell.chosen and not cell.collapsed]
        if not places:
            continue
        ranked_cells = [study.cells[place] for place in places]
        moves = None if resampled is None else resampled.moves[places]

        def people(first: Codes, second: Codes, seeds: int, places: list[int] = places) -> Floats:
            assert resampled is not None
            positions = np.array(places)
            return resampled.variances_of_changes(positions[first], positions[second], seeds, columns)

        best = with_best(
            values[:, columns],
            ranked_cells,
            [higher[at] for at in columns],
            None if resampled is None else people,
            level,
        )
        ranked_unders.append(RankedUnder(places, ranked(values, ranked_cells, higher, moves, seed=seed), best, columns))
    return ranked_unders


def rank_records_of(
    study: Measured, ranks: Sequence[RankedUnder], judged: Mapping[int, Sequence[Judged]], threshold: float
) -> Iterable[RankRecord]:
    """Yield the rank of every chosen cell on every measure that has a better direction; collapsed ones have none."""
    ranked = {place: (at, rank) for rank in ranks for at, place in enumerate(rank.indices)}
    for under in study.unders:
        for index, cell in enumerate(study.cells):
            if cell.under != under or not cell.chosen:
                continue
            at, ranked_under = ranked.get(index, (0, None))
            ranking = None if ranked_under is None else ranked_under.ranked
            for number, quantity in enumerate(study.quantities):
                if quantity.better == "none":
                    continue
                yield RankRecord(
                    condition=cell.under.condition, learner=cell.under.learner, treatment=cell.treatment,
                    setting=cell.setting, measure=quantity.measure, alias=quantity.alias,
                    attribute=quantity.attribute,
                    value=study.mean(cell, TEST, quantity.measure, quantity.attribute),
                    rank=math.nan if ranking is None else float(ranking.rank[at, number]),
                    prob_best=math.nan if ranking is None else float(ranking.best[at, number]),
                    prob_best_single=math.nan if ranking is None else float(ranking.best_single[at, number]),
                    prob_best_if_equal=math.nan if ranking is None else float(ranking.if_equal[number]),
                    **({} if ranked_under is None else _with_best(ranked_under, at, number)),
                    **({} if ranked_under is None or index not in judged
                       else _simultaneous(judged[index][number], ranked_under, number, threshold)),
                )  # fmt: skip


def _with_best(ranked_under: RankedUnder, at: int, number: int) -> dict[str, Any]:
    """Return what Hsu's comparisons say of a cell, of the measures that they are made of."""
    if ranked_under.best is None or number not in ranked_under.columns:
        return {}
    column = ranked_under.columns.index(number)
    return {
        "may_be_best": bool(ranked_under.best.may_be_best[at, column]),
        "better_low": float(ranked_under.best.low[at, column]),
        "better_high": float(ranked_under.best.high[at, column]), "level": ranked_under.best.level,
    }  # fmt: skip


def _simultaneous(judged: Judged, ranked_under: RankedUnder, number: int, threshold: float) -> dict[str, Any]:
    """Return the interval of a change that holds for all treatments of the condition together (Bonferroni)."""
    if number not in ranked_under.columns or math.isnan(judged.p):
        return {}
    low, high = sources_interval(judged.change, *judged.sources, threshold / max(len(ranked_under.indices) - 1, 1))
    return {"change": judged.change, "change_low": float(low), "change_high": float(high)}


def records_of(
    study: Measured, resampled: Resampled, judged: Mapping[int, Sequence[Judged]], ranks: Sequence[RankedUnder]
) -> Iterable[StudyRecord]:
    """Yield a record for each cell and quantity."""
    spreads = resampled.spread()
    best = {place: rank.ranked.best[at] for rank in ranks for at, place in enumerate(rank.indices)}
    for index, cell in enumerate(study.cells):
        cell_values = study.values[TEST][cell.indices]
        # An identical run is one of the same environment: the same seed elsewhere counts as another.
        same = cell.seeds * (len(study.data.environments) + 1) + cell.environments
        spreads_of_runs = nested(cell_values, same)
        units = units_of(study.values[TEST], cell)
        means = mean_intervals(units.values[0]).T.tolist()
        above = study.baselines[index]
        varied = not _does_not_vary(study, cell)
        undefined = because(StudyReason.NO_ROWS if varied else StudyReason.PREDICTIONS_DO_NOT_VARY)
        for number, quantity in enumerate(study.quantities):
            mean, stdev, low, high = means[number]
            defined = cell_values[:, number][~np.isnan(cell_values[:, number])]
            verdicts = judged[index][number] if index in judged else None
            yield StudyRecord(
                condition=cell.under.condition, learner=cell.under.learner, treatment=cell.treatment,
                setting=cell.setting, chosen=cell.chosen, baseline=None if above is None else above.name,
                measure=quantity.measure, alias=quantity.alias, better=quantity.better, class_=quantity.class_,
                attribute=quantity.attribute, unit=units.unit, runs=len(defined), seeds=len(cell.distinct_seeds),
                mean=mean, stdev=stdev, low=low, high=high, mean_level=None if math.isnan(low) else MEAN_LEVEL,
                min=float(defined.min()) if len(defined) else math.nan,
                max=float(defined.max()) if len(defined) else math.nan,
                spread_people=float(spreads[index, number]), spread_reruns=float(spreads_of_runs.reruns[number]),
                spread_seeds=float(spreads_of_runs.seeds[number]), spread_note=spreads_of_runs.notes[number],
                spread_reruns_low=float(spreads_of_runs.reruns_low[number]),
                spread_reruns_high=float(spreads_of_runs.reruns_high[number]),
                spread_seeds_low=float(spreads_of_runs.seeds_low[number]),
                spread_seeds_high=float(spreads_of_runs.seeds_high[number]),
                prob_best=float(best[index][number]) if index in best and quantity.better != "none" else None,
                **_comparison_fields(verdicts, cell, len(defined), undefined),
            )  # fmt: skip


def contrast_records_of(
    study: Measured, cases: Sequence[Case], judged: Sequence[Sequence[Judged]]
) -> Iterable[ContrastRecord]:
    """Yield a record for each pair of treatments and quantity."""
    for case, verdicts in zip(cases, judged, strict=True):
        for quantity, verdict in zip(study.quantities, verdicts, strict=True):
            yield ContrastRecord(
                condition=case.cell.under.condition, learner=case.cell.under.learner, treatment=case.cell.treatment,
                against=case.baseline.treatment, measure=quantity.measure, alias=quantity.alias,
                better=quantity.better, attribute=quantity.attribute, test=verdict.test.value, pairs=verdict.units,
                change=verdict.change, change_low=verdict.low, change_high=verdict.high, level=verdict.level,
                p=verdict.p,
                p_adjusted=verdict.p_adjusted, p_rank=verdict.p_rank, verdict=verdict.verdict,
                undecided=verdict.undecided,
                limited_by=verdict.limited_by, power=verdict.power, runs_needed=verdict.needed,
                few_seeds=verdict.few_seeds,
                margin=verdict.margin, equivalent=verdict.equivalent,
                equivalence_p=None if verdict.margin is None else verdict.equivalence_p, reason=verdict.reason,
            )  # fmt: skip


def _does_not_vary(study: Measured, cell: Cell) -> bool:
    """Tell whether every run of a regression predicts one number for all test rows, which has no correlation."""
    layout = study.data.layout
    if layout.task != "regression":
        return False
    moments = residual_moments(
        study.data.tables[TEST][cell.indices].sum(axis=-2, keepdims=True), ("everyone",), layout.pivot
    )
    # What rounding leaves of equal predictions is no variance.
    return bool((moments.variance_prediction <= 1e-12 * moments.variance_target).all())


def _comparison_fields(judged: Judged | None, cell: Cell, runs: int, undefined: Reason) -> dict[str, Any]:
    """Return what a comparison adds to a record; a cell without one says why where it is not the baseline."""
    if judged is None:
        reason = None if cell.chosen else because(StudyReason.NOT_CHOSEN)
        return {"reason": reason if runs else undefined}
    comparison, variance = judged.comparison, judged.variance
    return {
        "change": judged.change, "change_low": judged.low, "change_high": judged.high, "test": judged.test.value,
        "p_runs": judged.p_runs, "p_people": judged.p_people, "p": judged.p, "p_adjusted": judged.p_adjusted,
        "p_rank": judged.p_rank, "rank_test": judged.rank_test, "level": judged.level, "pairs": judged.units,
        "undecided": judged.undecided, "limited_by": judged.limited_by, "power": judged.power,
        "smallest_effect": judged.smallest_effect, "few_seeds": judged.few_seeds, "spread_pair": judged.single,
        "margin": judged.margin, "margin_recorded": judged.margin_recorded, "equivalent": judged.equivalent,
        "equivalence_p": None if judged.margin is None else judged.equivalence_p,
        "p_equivalence_adjusted": None if judged.margin is None else judged.p_equivalence_adjusted,
        "d": comparison.d, "band": effect_band(comparison.d), "levene_p": comparison.levene_p,
        "levene_p_adjusted": comparison.levene_adjusted, "variance_ratio": variance.ratio,
        "variance_change": variance.change, "overlap": comparison.overlap,
        "prob_single_run_misleads": comparison.misleads,
        "verdict": judged.verdict, "reason": judged.reason, "costs": judged.costs, "scope": judged.scope,
        "runs_needed": judged.needed, "spread_change_people": judged.people,
        "people_untested": judged.people_untested,
    }  # fmt: skip


def cell_records_of(study: Measured) -> Iterable[CellRecord]:
    """Yield what each cell took, and where it stands on dev and on test rows."""
    main = study.main
    names = ((main.performance, ()), (main.fairness, study.attribute), (main.distance, study.attribute))
    on_front = _fronts(study)
    seconds = {id(cell): float(study.data.seconds[cell.indices].mean()) for cell in study.cells}
    ends = study.data.training_ends
    for index, (cell, above) in enumerate(zip(study.cells, study.baselines, strict=True)):
        ended = cell_end([ends[run] for run in cell.indices.tolist()] if ends else [])
        dev = [study.mean(cell, DEV, *name) for name in names]
        test = [study.mean(cell, TEST, *name) for name in names]
        counts = np.unique(cell.seeds, return_counts=True)[1]
        base = None if above is None else seconds[id(above)]
        yield CellRecord(
            condition=cell.under.condition, learner=cell.under.learner, treatment=cell.treatment,
            setting=cell.setting, chosen=cell.chosen, size=int(cell.described["size"]), runs=len(cell.indices),
            seeds=len(cell.distinct_seeds), repeats=int(counts.max()), seconds=seconds[id(cell)],
            seconds_ratio=seconds[id(cell)] / base if base else None, attribute=study.attribute,
            dev_performance=dev[0], dev_fairness=dev[1], dev_distance=dev[2], test_performance=test[0],
            test_fairness=test[1], test_distance=test[2], on_front=index in on_front,
            environments=len(set(cell.environments.tolist())),
            settings={named.name: dict(named.settings) for named in cell.described["treatments"]},
            collapsed=cell.collapsed, collapsed_runs=cell.collapsed_runs,
            collapsed_share=cell.collapsed_runs / len(cell.indices),
            unfinished_training=ended.reasons, unfinished_runs=ended.runs, late_decline=ended.late_decline,
            constraint_residual=ended.residual,
        )  # fmt: skip


def _dev_points(study: Measured, places: Sequence[int]) -> tuple[Floats, Floats]:
    cells = [study.cells[place] for place in places]
    performance = np.array([study.mean(cell, DEV, study.main.performance) for cell in cells])
    return performance, np.array([study.mean(cell, DEV, study.main.fairness, study.attribute) for cell in cells])


def _fronts(study: Measured) -> set[int]:
    """Return the places of the cells that no other under the same condition beats on dev rows; none has collapsed."""
    on_front: set[int] = set()
    for under in study.unders:
        places = [index for index, cell in enumerate(study.cells) if cell.under == under and not cell.collapsed]
        front = front_of(*_dev_points(study, places))
        on_front |= {cell_index for cell_index, on in zip(places, front.tolist(), strict=True) if on}
    return on_front


def alternatives_of(
    study: Measured, records: Sequence[StudyRecord], margin: float, phrases: Mapping[str, str]
) -> Iterable[Alternative]:
    """Yield the less discriminatory alternative under each condition with a baseline that tells how fair it is.

    There is none to a baseline that has collapsed.

    The candidate is chosen on dev rows, among the settings that speak for their treatments and have not collapsed; it
    is named where the test rows confirm it.
    """
    fairness, performance = study.main.fairness, study.main.performance
    record_of = {(r.condition, r.learner, r.treatment, r.setting, r.measure, r.attribute): r for r in records}
    for under in study.unders:
        places = [index for index, cell in enumerate(study.cells) if cell.under == under]
        above = next((baseline for cell_index in places if (baseline := study.baselines[cell_index]) is not None), None)
        # A model that has collapsed is no reference: fairer than it at an equal performance would say nothing.
        if above is None or above.collapsed:
            continue
        candidates = [
            cell_index for cell_index in places if study.cells[cell_index] is above or _may_be_named(study, cell_index)
        ]
        start = next(at for at, cell_index in enumerate(candidates) if study.cells[cell_index] is above)
        points = _dev_points(study, candidates)
        # Where the fairness of the baseline is undefined, that none is fairer would say more than is known.
        if np.isnan(points[1][start]):
            continue
        chosen = alternative_to(start, *points, margin)
        cell = None if chosen is None else study.cells[candidates[chosen]]
        numbers = [
            None if baseline is None else study.mean(baseline, TEST, name, attribute)
            for name, attribute in ((performance, ()), (fairness, study.attribute))
            for baseline in (cell, above)
        ]
        fair, cost = (
            None if cell is None else record_of[under.condition, under.learner, cell.treatment, cell.setting, *name]
            for name in ((fairness, study.attribute), (performance, ()))
        )
        outcome = outcome_of(fair, cost, margin)
        named = cell if outcome == "confirmed" else None
        alternative = Alternative(
            condition=under.condition, learner=under.learner, attribute=study.attribute, baseline=above.name,
            treatment=None if named is None else named.treatment, setting=None if named is None else named.setting,
            margin=margin, performance=numbers[0], baseline_performance=numbers[1], fairness=numbers[2],
            baseline_fairness=numbers[3], verdict=None if fair is None else fair.verdict, words="",
            candidate=None if cell is None else cell.treatment,
            candidate_setting=None if cell is None else cell.setting,
            performance_verdict=None if cost is None else cost.verdict, outcome=outcome,
        )  # fmt: skip
        yield replace(alternative, words=alternative_words(alternative, performance, phrases[under.condition]))


def _may_be_named(study: Measured, index: int) -> bool:
    """Tell whether a cell was compared with the baseline and has not collapsed."""
    return study.baselines[index] is not None and not study.cells[index].collapsed


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
    described = list(_condition_records(study))
    titles = condition_titles([record for record, _ in described])
    first = next((composition for _, composition in described if composition is not None), None)
    for record, composition in described:
        name = with_symbol(titles[record.condition], record.condition)
        yield replace(record, words=composition_words(name, composition, first))


def _condition_records(study: Measured) -> Iterable[tuple[ConditionRecord, Composition | None]]:
    cells: dict[str, Cell] = {}
    for cell in study.cells:
        cells.setdefault(cell.under.condition, cell)
    for name, cell in cells.items():
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
    seeds_by_failure: dict[tuple[str, str, str, str, bool], list[int]] = {}
    traces: dict[tuple[str, str, str, str, bool], str] = {}
    for failure in study.data.failures:
        trial = failure.trial
        key = (condition_text(trial.condition), trial.learner.name, trial.treatment, failure.error, failure.damaged)
        seeds_by_failure.setdefault(key, []).append(trial.seed)
        if failure.traceback is not None:
            traces.setdefault(key, failure.traceback)
    for key, seeds in seeds_by_failure.items():
        condition, learner, treatment, error, damaged = key
        yield FailureRecord(
            condition=condition, learner=learner, treatment=treatment, trials=len(seeds),
            seeds=tuple(sorted(set(seeds))), error=error, traceback=traces.get(key), damaged=damaged,
        )  # fmt: skip


def _rows_counted(table: Floats, layout: Layout) -> int:
    """Return how many rows the table of one trial counts."""
    if layout.task == "multilabel":
        # Each label counts every row.
        return int(table[:, 0].sum())
    return int(table.sum() if layout.task == "class" else table[:, 0].sum())


def label_records_of(study: Measured) -> Iterable[LabelRecord]:
    """Yield what each label by itself has, cell by cell: the mean over runs on the test rows."""
    layout = study.data.layout
    if layout.task != "multilabel":
        return
    quantities = label_quantities(layout, study.attributes)
    tables = study.data.tables[TEST]
    values = batched(quantities, tables, layout)
    present = tables[0].sum(axis=0)[:, 2:].sum(axis=-1).astype(int).tolist()
    rows = dict(zip(layout.classes, present, strict=True))
    for cell in study.cells:
        for number, quantity in enumerate(quantities):
            assert quantity.class_ is not None
            label_values = values[cell.indices, number]
            defined = label_values[~np.isnan(label_values)]
            yield LabelRecord(
                condition=cell.under.condition, learner=cell.under.learner, treatment=cell.treatment,
                setting=cell.setting, chosen=cell.chosen, label=quantity.class_, rows=rows[quantity.class_],
                measure=quantity.measure, alias=quantity.alias, better=quantity.better, attribute=quantity.attribute,
                runs=len(defined), mean=float(defined.mean()) if len(defined) else math.nan,
                min=float(defined.min()) if len(defined) else math.nan,
                max=float(defined.max()) if len(defined) else math.nan,
                reason=None if len(defined) else because(StudyReason.LABEL_UNDEFINED),
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
        rows=_rows_counted(data.tables[TEST][0], data.layout),
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
            "correction": "holm" if rules.stopping and rules.stopping.rule is StoppingRule.ANYTIME else "bh",
            **({} if rules.stopping is None else {"stopping": rules.stopping.described()}),
            "environments": len(data.environments),
        },
    )
