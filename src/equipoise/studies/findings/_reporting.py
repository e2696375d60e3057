"""From a study's arrays to its result: measure once, then judge, rank and choose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from equipoise.foundation.errors import BadInput, unknown_name
from equipoise.foundation.long_work import Progress
from equipoise.studies.findings._cells import SEEDS, UNTREATED, Cell, baselines_of, cells_of, units_of
from equipoise.studies.findings._claims import claims_of
from equipoise.studies.findings._data import DEV, TEST, Codes, Floats, StudyData, attributes_of
from equipoise.studies.findings._measuring import Measured
from equipoise.studies.findings._names import condition_phrases
from equipoise.studies.findings._notes import differences, notes_of, undefined_notes
from equipoise.studies.findings._parts import (
    alternatives_of,
    cell_records_of,
    conditions_of,
    contrast_records_of,
    failures_of,
    provenance_of,
    rank_records_of,
    records_of,
)
from equipoise.studies.findings._people import NO_PREDICTIONS, NOT_DRAWN, Redrawn, flips_of, redrawn
from equipoise.studies.findings._quantities import (
    asked_for,
    batched,
    collapsed_cells,
    collapsed_runs,
    constant_record,
    fill_in,
    is_bounded,
    main_measures_of,
    needs_scores,
    quantities_of,
)
from equipoise.studies.findings._ranking import EQUAL_WITHIN, RankedUnder, ranked, with_best
from equipoise.studies.findings._result import SCHEMA, StudyResult
from equipoise.studies.findings._verdicts import SMALLEST_EFFECT, Case, Judged, Rules, judge
from equipoise.studies.findings.identical._fairest import identical_parts
from equipoise.studies.findings.identical._runs import untold_note
from equipoise.studies.findings.spaces._choosing import DEFAULT as DEFAULT_CHOICE
from equipoise.studies.findings.spaces._choosing import rechosen
from equipoise.studies.findings.spaces._parts import choice_notes, chosen_by_spaces, space_notes, space_parts
from equipoise.studies.plans import ALL


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
            fill_in(own_values, quantities, deciding, partial(data.aucs, split))
    place = next(
        place for place, own in enumerate(quantities) if (own.measure, own.attribute) == (deciding.distance, main)
    )
    cells = cells_of(data, values[DEV][:, place], every_setting=every_setting, collapsed=partial(_collapsed, data))
    choosings = () if every_setting else chosen_by_spaces(data, cells, main, choose_by)
    cells = rechosen(cells, choosings)
    names = list(dict.fromkeys(cell.treatment for cell in cells))
    if baseline not in names and baseline != UNTREATED:
        raise unknown_name("treatment", baseline, names, f"the study {data.name!r}, to be the baseline")
    baselines = baselines_of(cells, baseline)
    return Measured(data, main, attributes, quantities, values, cells, baselines, deciding, choosings)


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
    often verdicts were read with data of their own.
    """
    study = measure_study(
        data, baseline=baseline, measures=measures, every_setting=every_setting, choose_by=choose_by,
        performance=performance, fairness=fairness,
    )  # fmt: skip
    drawn = redrawn(data, study.cells, study.quantities, seed=seed)
    people = people and drawn.drawn
    threshold /= looks
    rules = Rules(
        threshold=threshold, smallest_effect=smallest_effect, margin=equivalence_margin, bounded=is_bounded,
        margin_recorded=margin_recorded,
    )  # fmt: skip
    couples = _contrasted(study, drawn if people else None, against, baseline)
    contrasts = judge(couples, study.quantities, study.main.performances, rules)
    judged = _judged(study, drawn, rules, people=people)
    ranks = _ranked(study, drawn if people else None, threshold, seed)
    records = tuple(records_of(study, drawn, judged, ranks))
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
        ranks=tuple(rank_records_of(study, ranks, judged, threshold)),
        alternatives=alternatives,
        conditions=conditions,
        flips=flips,
        failures=tuple(failures_of(study)),
        environments=tuple(dict(one) for one in data.environments),
        flip_rows=flip_rows,
        constant=constant_record(data, study.quantities, study.main, study.attribute),
        measures=asked_for(study.quantities, measures),
        contrasts=tuple(contrast_records_of(study, couples, contrasts)),
        **identical_parts(study, seed=seed),
        **space_parts(study, threshold=threshold, progress=progress),
    )
    result = replace(result, differences=tuple(differences(result)))
    result = replace(result, claims=claims_of(result))
    notes = [*notes_of(result, data, joint=drawn.joint, people=people, threshold=threshold)]
    notes += [] if drawn.drawn else [NO_PREDICTIONS if data.layout.task == "regression" else NOT_DRAWN]
    notes += undefined_notes(result)
    notes += [*untold_note(study), *space_notes(result), *choice_notes(study.choosings)]
    return replace(result, notes=tuple(notes))


def _judged(study: Measured, drawn: Redrawn, rules: Rules, *, people: bool) -> dict[int, list[Judged]]:
    """Judge every cell that has a baseline."""
    places = {id(cell): place for place, cell in enumerate(study.cells)}
    cases: dict[int, Case] = {}
    for place, (cell, above) in enumerate(zip(study.cells, study.baselines, strict=True)):
        if above is not None:
            cases[place] = _case(study, drawn if people else None, (cell, above), (place, places[id(above)]))
    found = judge(list(cases.values()), study.quantities, study.main.performances, rules)
    return dict(zip(cases, found, strict=True))


def _case(study: Measured, drawn: Redrawn | None, cells: tuple[Cell, Cell], places: tuple[int, int]) -> Case:
    """Return the comparison of two cells, with what people add to it where they were drawn."""
    units = units_of(study.values[TEST], *cells)
    seeds = len(units.names[0]) if units.unit == SEEDS else 1
    return Case(*cells, units, None if drawn is None else drawn.variance_of_change(*places, seeds))


def _contrasted(study: Measured, drawn: Redrawn | None, against: str | Sequence[str], baseline: str) -> list[Case]:
    """Return the treatments that are compared with one another, under each condition: none with the baseline."""
    wanted = (against,) if isinstance(against, str) else tuple(against)
    names = list(dict.fromkeys(cell.treatment for cell in study.cells if cell.chosen))
    for name in wanted:
        if name not in (*names, ALL):
            raise unknown_name(
                "treatment", name, [*names, ALL], f"the study {study.data.name!r}, to compare others with"
            )
    made = []
    for under in study.unders:
        own = [
            (place, cell) for place, cell in enumerate(study.cells)
            if cell.under == under and cell.chosen and cell.treatment != baseline
        ]  # fmt: skip
        for at, (place, cell) in enumerate(own):
            for before, (other_place, other) in enumerate(own):
                asked = other.treatment in wanted or (ALL in wanted and before < at)
                # Of two that are both asked for, one is compared with the other, once.
                if before != at and asked and not (cell.treatment in wanted and before > at):
                    made.append(_case(study, drawn, (cell, other), (place, other_place)))
    return made


def _ranked(study: Measured, drawn: Redrawn | None, threshold: float, seed: int) -> list[RankedUnder]:
    """Rank the chosen cells of each condition and learner, and say which of them may be the best.

    What has collapsed to a constant prediction is not ranked: it can be best at nothing.
    """
    made = []
    higher = [quantity.better == "high" for quantity in study.quantities]
    main = study.main
    columns = (
        study.place(main.performance), study.place(main.fairness, study.attribute),
        study.place(main.distance, study.attribute),
    )  # fmt: skip
    values, level = study.values[TEST], threshold / max(len(study.unders), 1)
    for under in study.unders:
        places = [p for p, cell in enumerate(study.cells) if cell.under == under and cell.chosen and not cell.collapsed]
        if not places:
            continue
        own = [study.cells[place] for place in places]
        moves = None if drawn is None else drawn.moves[places]

        def people(first: Codes, second: Codes, seeds: int, places: list[int] = places) -> Floats:
            assert drawn is not None
            there = np.array(places)
            return drawn.variances_of_changes(there[first], there[second], seeds, columns)

        best = with_best(
            values[:, columns], own, [higher[at] for at in columns], None if drawn is None else people, level
        )
        made.append(RankedUnder(places, ranked(values, own, higher, moves, seed=seed), best, columns))
    return made
