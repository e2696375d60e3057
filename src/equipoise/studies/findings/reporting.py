"""From a study's arrays to its result: measure everything once, then judge, rank, choose and say it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from equipoise.foundation.errors import BadInput, unknown_name
from equipoise.studies.findings.cells import UNTREATED, baselines_of, cells_of
from equipoise.studies.findings.claims import claims_of
from equipoise.studies.findings.data import DEV, TEST, Codes, StudyData, attributes_of
from equipoise.studies.findings.flips import flips_of
from equipoise.studies.findings.identical.parts import identical_parts
from equipoise.studies.findings.identical.sets import untold_note
from equipoise.studies.findings.judging import Case, Judged, judge
from equipoise.studies.findings.measuring import Measured
from equipoise.studies.findings.pareto import EQUAL_WITHIN
from equipoise.studies.findings.people import NO_PREDICTIONS, NOT_DRAWN, Redrawn, redrawn
from equipoise.studies.findings.quantities import asked_for, batched, main_measures_of, quantities_of
from equipoise.studies.findings.ranking import Ranked, ranked
from equipoise.studies.findings.remarks import differences, notes_of
from equipoise.studies.findings.result import SCHEMA, StudyResult
from equipoise.studies.findings.result_parts import (
    alternatives_of,
    cell_records_of,
    conditions_of,
    failures_of,
    provenance_of,
    rank_records_of,
    records_of,
)
from equipoise.studies.findings.sayings import words_of
from equipoise.studies.findings.scoring import fill_in, needs_scores
from equipoise.studies.findings.spaces.choosing import DEFAULT as DEFAULT_CHOICE
from equipoise.studies.findings.spaces.choosing import rechosen
from equipoise.studies.findings.spaces.measuring import Progress
from equipoise.studies.findings.spaces.parts import chosen_by_spaces, space_parts
from equipoise.studies.findings.spaces.words import choice_notes, space_notes
from equipoise.studies.findings.undefined import undefined_notes
from equipoise.studies.findings.units import units_of
from equipoise.studies.findings.yardstick import collapsed_cells, collapsed_runs, constant_record


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
        failed = f"; {len(data.failures):,} failed: {data.failures[0].reason}" if data.failures else ""
        again = (
            "mend the cause, then equipoise study run PLAN --retry-failed (in Python: raise version, or another store)."
        )
        raise BadInput(
            f"No trial of the study {data.name!r} is done{failed}",
            way_out=again if failed else "run it first: equipoise study run PLAN",
        )
    layout = data.layout
    main = data.trials[0].groups
    attributes = attributes_of(layout, main)
    deciding = main_measures_of(layout.task, performance, fairness)
    quantities = quantities_of(layout, attributes, measures, deciding)
    values = {split: batched(quantities, tables, layout) for split, tables in data.tables.items()}
    if needs_scores(deciding):
        if data.aucs is None:
            raise BadInput(f"The study {data.name!r} is decided by the AUC, and its scores are not at hand")
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
    seed: int = 0,
    command: Iterable[str] | None = None,
    progress: Progress | None = None,
) -> StudyResult:
    """Report a study.

    ``baseline`` is the treatment that others are held against. Of several settings of a treatment one is chosen on dev
    rows, unless ``every_setting`` makes each a treatment of its own; where trials embed rows, by ``choose_by`` of the
    worst group. Without ``people`` a verdict is about these test
    rows only. ``show_rows`` lists whose predictions flip between identical runs. ``margin`` is how near performances
    are on dev rows to be called equal. ``progress`` hears how far the spaces of trials are, which take longest.
    ``performance`` and ``fairness`` are the measures that the distance to the optimum, the front, ranks and
    alternatives are made of.
    """
    study = measure_study(
        data, baseline=baseline, measures=measures, every_setting=every_setting, choose_by=choose_by,
        performance=performance, fairness=fairness,
    )  # fmt: skip
    drawn = redrawn(data, study.cells, study.quantities, seed=seed)
    people = people and drawn.drawn
    judged = _judged(study, drawn, people=people, threshold=threshold)
    ranks = _ranked(study, drawn if people else None, seed)
    records = tuple(records_of(study, drawn, judged, ranks))
    cells = tuple(cell_records_of(study))
    alternatives = tuple(alternatives_of(study, records, margin))
    conditions = tuple(conditions_of(study))
    flips, flip_rows = flips_of(data, study.cells, study.attributes, show_rows=show_rows)
    result = StudyResult(
        schema=SCHEMA,
        records=records,
        provenance=provenance_of(study, baseline, threshold, command),
        words=(),
        notes=(),
        attribute=study.attribute,
        performance=study.main.performances,
        fairness=study.main.fairness,
        distance=study.main.distance,
        baseline=baseline,
        cells=cells,
        ranks=tuple(rank_records_of(study, ranks)),
        alternatives=alternatives,
        conditions=conditions,
        flips=flips,
        failures=tuple(failures_of(study)),
        environments=tuple(dict(one) for one in data.environments),
        flip_rows=flip_rows,
        constant=constant_record(data, study.quantities, study.main, study.attribute),
        measures=asked_for(study.quantities, measures),
        **identical_parts(study, seed=seed),
        **space_parts(study, threshold=threshold, progress=progress),
    )
    result = replace(result, differences=tuple(differences(result)))
    result = replace(result, claims=claims_of(result))
    notes = [*notes_of(result, data, joint=drawn.joint, people=people, threshold=threshold)]
    notes += [] if drawn.drawn else [NO_PREDICTIONS if data.layout.task == "regression" else NOT_DRAWN]
    notes += undefined_notes(result)
    notes += [*untold_note(study), *space_notes(result), *choice_notes(study.choosings)]
    return replace(result, words=tuple(words_of(result)), notes=tuple(notes))


def _judged(study: Measured, drawn: Redrawn, *, people: bool, threshold: float) -> dict[int, list[Judged]]:
    """Judge every cell that has a baseline."""
    places = {id(cell): place for place, cell in enumerate(study.cells)}
    cases: dict[int, Case] = {}
    for place, (cell, above) in enumerate(zip(study.cells, study.baselines, strict=True)):
        if above is not None:
            spread = drawn.spread_of_change(place, places[id(above)]) if people else None
            cases[place] = Case(cell, above, units_of(study.values[TEST], cell, above), spread)
    found = judge(list(cases.values()), study.quantities, study.main.performances, threshold=threshold)
    return dict(zip(cases, found, strict=True))


def _ranked(study: Measured, drawn: Redrawn | None, seed: int) -> list[tuple[list[int], Ranked]]:
    """Rank the chosen cells of each condition and learner; return their places and ranks.

    What has collapsed to a constant prediction is not ranked: it can be best at nothing.
    """
    made = []
    higher = [quantity.better == "high" for quantity in study.quantities]
    for under in study.unders:
        places = [p for p, cell in enumerate(study.cells) if cell.under == under and cell.chosen and not cell.collapsed]
        if not places:
            continue
        moves = None if drawn is None else drawn.together[places]
        own = [study.cells[place] for place in places]
        made.append((places, ranked(study.values[TEST], own, higher, moves, seed=seed)))
    return made
