"""A study as one plain dictionary: everything its page says, before any of it is HTML."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from equipoise.foundation.errors import listing
from equipoise.reports._cells import known
from equipoise.reports.plain_tables import Table, limited
from equipoise.reports.provenance import NOT_CERTIFIED, provenance_of
from equipoise.reports.study_identical import identical_summary
from equipoise.reports.study_spaces import spaces_summary
from equipoise.reports.study_terms import (
    heading_of,
    main_measures,
    marks_text,
    placed,
    ranks_of,
    spread_measures,
    title_of_measure,
    title_of_under,
    treatments_of,
)
from equipoise.results import Verdict, record_as_json
from equipoise.stats import LimitedBy
from equipoise.studies.findings.judging import limit_words
from equipoise.studies.findings.result import CellRecord, StudyRecord, StudyResult
from equipoise.studies.findings.sayings import condition_words, constant_words, flip_words, headline, shown_words
from equipoise.studies.findings.yardstick import ConstantRecord

UNCERTAINTIES = (
    "Three things move a number: other people in the test, another run of the same training, another seed. They are "
    "told apart below; a verdict names those it holds for."
)
SPREADS = {"spread_people": "Other people", "spread_reruns": "Identical reruns", "spread_seeds": "Other seeds"}
MOST_CONDITIONS = 40
MOST_FLIPS = 120
MOST_COSTS = 100


def summarise(result: StudyResult) -> Table:
    """Return what the page says, as plain data."""
    scopes = list(dict.fromkeys(record.scope for record in result.records if record.scope))
    return {
        "title": f"Study of {result.provenance.get('data')}",
        "call": "equipoise.Study",
        "created": result.provenance.get("created"),
        "verdict": _verdict(result),
        "scopes": scopes[:3],
        "not_certified": NOT_CERTIFIED,
        "uncertainties": UNCERTAINTIES,
        "attribute": " & ".join(result.attribute),
        "baseline": result.baseline,
        "distance": title_of_measure(result.distance),
        "main": [title_of_measure(measure).replace(" (1 − GAP)", "") for measure in main_measures(result)],
        "performance": [title_of_measure(measure) for measure in result.performance],
        "ranks": _ranks(result),
        "costs": _costs(result),
        "constant": None if result.constant is None else _constant(result, result.constant),
        "grid": _grid(result),
        "alternatives": [one.words for one in result.alternatives],
        "differences": list(result.differences),
        "spreads": _spreads(result),
        "identical": identical_summary(result),
        "spaces": spaces_summary(result),
        "flips": _flips(result),
        "flip_rows": limited([record_as_json(row) for row in result.flip_rows]),
        "table": limited([_line(result, place, record) for place, record in enumerate(result.records)]),
        "compared": any(record.verdict is not None for record in result.records),
        "failures": limited([record_as_json(failure) for failure in result.failures]),
        "untold": list(_untold(result)),
        "notes": list(result.notes),
        "environments": [_environment(one) for one in result.environments[:20]],
        "provenance": provenance_of(result),
    }


def _verdict(result: StudyResult) -> Table:
    """Say what is best, then condition by condition; tiles count what was shown."""
    judged = [r for r in result.records if r.verdict is not None]
    collapsed = {(c.condition, c.learner, c.treatment) for c in result.cells if c.chosen and c.collapsed}
    # A constant prediction is fair to everybody, which is no improvement.
    good = Counter(r.good for r in judged if not (r.good and (r.condition, r.learner, r.treatment) in collapsed))
    return {
        "headline": headline(result),
        "constant": list(constant_words(result)),
        "shown": list(shown_words(result)),
        "tone": "findings" if good[False] else "none",
        "sentences": list(condition_words(result, MOST_CONDITIONS)),
        "more": max(len(result.unders) - MOST_CONDITIONS, 0),
        "alternatives": [one.words for one in result.alternatives if one.treatment is not None][:2],
        "flips": list(flip_words(result)),
        "conditions": len(result.unders),
        "treatments": len(treatments_of(result)),
        "trials": sum(cell.runs for cell in result.cells),
        "better": good[True],
        "worse": good[False],
        "unshown": sum(r.verdict == Verdict.NONE for r in judged),
        "undecided": sum(r.verdict == Verdict.UNDECIDED for r in judged),
        "failed": sum(failure.trials for failure in result.failures),
        "collapsed": sum(cell.collapsed for cell in result.cells if cell.chosen),
    }


def _cell(result: StudyResult, cell: CellRecord, measure: str) -> Table | None:
    found = placed(result, (cell.condition, cell.learner), cell.treatment, measure)
    return None if found is None else _line(result, *found)


def _line(result: StudyResult, place: int, record: StudyRecord) -> Table:
    """Return a record as a line of a table; what is undefined is None."""
    return {
        "record": place, "under": title_of_under(result, (record.condition, record.learner)),
        "heading": heading_of(record), "good": record.good, **record_as_json(record),
    }  # fmt: skip


def _chosen(result: StudyResult) -> list[CellRecord]:
    return [cell for cell in result.cells if cell.chosen]


def _ranks(result: StudyResult) -> Table:
    """Treatments by condition, in the order of their ranks."""
    places = {id(rank): place for place, rank in enumerate(result.ranks)}
    order = {under: place for place, under in enumerate(result.unders)}
    own = sorted(
        (rank for rank in ranks_of(result) if not math.isnan(rank.rank)),
        key=lambda rank: (order[rank.condition, rank.learner], rank.rank),
    )
    collapsed = {(cell.condition, cell.learner, cell.treatment): marks_text(cell) for cell in _chosen(result)}
    return limited([
        {"place": places[id(rank)], "collapsed": collapsed.get((rank.condition, rank.learner, rank.treatment), ""),
         "under": title_of_under(result, (rank.condition, rank.learner)),
         **record_as_json(rank)}
        for rank in own
    ])  # fmt: skip


def _costs(result: StudyResult) -> Table:
    """What each treatment does to performance, fairness and distance, what varies more, and how long a run takes."""
    places = {id(cell): place for place, cell in enumerate(result.cells)}
    measures = main_measures(result)
    rows: list[Table] = [
        {
            "place": places[id(cell)], "under": title_of_under(result, (cell.condition, cell.learner)),
            "treatment": cell.treatment, "setting": cell.setting, "is_baseline": cell.treatment == result.baseline,
            "cells": [_cell(result, cell, measure) for measure in measures],
            "seconds": known(cell.seconds), "runs": cell.runs, "collapsed": marks_text(cell),
            "vary": _varying(result, cell),
        }
        for cell in _chosen(result)[:MOST_COSTS]
    ]  # fmt: skip
    return {**limited(rows, MOST_COSTS), "total": len(_chosen(result)), "left_out": len(_chosen(result)) - len(rows)}


def _constant(result: StudyResult, constant: ConstantRecord) -> Table:
    """Return what a constant prediction gets, for the tables of ranks and costs."""
    values = {one.measure: one.value for one in constant.values if one.attribute in ((), result.attribute)}
    return {
        "prediction": constant.prediction, "basis": constant.basis, "distance": known(constant.distance),
        "values": [known(values[measure]) if measure in values else None for measure in main_measures(result)],
    }  # fmt: skip


def _varying(result: StudyResult, cell: CellRecord) -> list[str]:
    """Return the measures on which runs of a cell vary more than the baseline's."""
    found = []
    for record in result.records:
        same = (record.condition, record.learner, record.treatment) == (cell.condition, cell.learner, cell.treatment)
        if same and record.chosen and record.variance_change == "higher":
            other = record.attribute not in ((), result.attribute)
            found.append(heading_of(record) + (f" ({' & '.join(record.attribute)})" if other else ""))
    return found


def _grid(result: StudyResult) -> list[Table]:
    """Return the main numbers alone, a line a cell: what a notebook has room for."""
    measures = main_measures(result)
    return [
        {
            "under": title_of_under(result, (cell.condition, cell.learner)), "treatment": cell.treatment,
            "cells": [_cell(result, cell, measure) for measure in measures], "collapsed": marks_text(cell),
        }
        for cell in _chosen(result)[:40]
    ]  # fmt: skip


def _spreads(result: StudyResult) -> Table:
    """What moves each number; columns in which nothing stands are left out."""
    rows = _spread_rows(result)
    columns = [[field, title] for field, title in SPREADS.items() if any(row[field] is not None for row in rows)]
    return {**limited(rows), "columns": columns}


def _spread_rows(result: StudyResult) -> list[Table]:
    measures = spread_measures(result)
    rows = []
    for cell in _chosen(result):
        for measure in measures:
            line = _cell(result, cell, measure)
            if line is not None:
                rows.append(line)
    return rows


def _flips(result: StudyResult) -> Table:
    """Flips over seeds: everyone, and the groups of the main attribute beside each other."""
    found: dict[tuple[str, str, str, str], dict[str | None, list[tuple[int, int, float]]]] = {}
    for flip in result.flips:
        if flip.attribute in ((), result.attribute):
            key = (flip.condition, flip.learner, flip.treatment, flip.setting)
            found.setdefault(key, {}).setdefault(flip.group, []).append((flip.flipped, flip.people, flip.pair_share))
    groups = list(dict.fromkeys(group for own in found.values() for group in own if group is not None))[:8]
    rows: list[Table] = [
        {"under": title_of_under(result, key[:2]), "treatment": key[2], "setting": key[3],
         "runs": max(flip.runs for flip in result.flips), "everyone": _share(own[None]),
         "groups": [_share(own.get(group, [])) for group in groups]}
        for key, own in found.items()
    ]  # fmt: skip
    return {**limited(rows, MOST_FLIPS), "groups": groups}


def _share(own: list[tuple[int, int, float]]) -> Table | None:
    people = sum(number for _, number, _ in own)
    if not people:
        return None
    return {
        "flipped": sum(flipped for flipped, _, _ in own), "people": people,
        "share": sum(flipped for flipped, _, _ in own) / people,
        "pairs": sum(number * pairs for _, number, pairs in own) / people,
    }  # fmt: skip


def _untold(result: StudyResult) -> Iterator[str]:
    """Yield what was undecided or is undefined, and why; those with the same reason together."""
    reasons: dict[str, list[str]] = {}
    for record in result.records:
        undefined = math.isnan(record.mean)
        if record.verdict == Verdict.UNDECIDED or (undefined and record.reason):
            where = title_of_under(result, (record.condition, record.learner))
            on = f" ({' & '.join(record.attribute)})" if record.attribute else ""
            reasons.setdefault(_why(record), []).append(f"{record.treatment} on {heading_of(record)}{on} under {where}")
    for reason, cells in reasons.items():
        yield f"{listing(cells, 4)}: {reason}."


def _why(record: StudyRecord) -> str:
    """Say why a comparison is undecided: what limits it, where it was tested; those limited alike stand together."""
    if record.limited_by is None or record.smallest_effect is None:
        return record.reason or ""
    if record.limited_by is not LimitedBy.SEEDS:
        return limit_words(record.limited_by, None, record.smallest_effect, record.unit)
    return f"limited by {record.unit}: more would detect a change of {record.smallest_effect:g}"


def _environment(described: dict[str, object]) -> list[Table]:
    return [{"name": str(name), "value": _plainly(value)} for name, value in described.items()]


def _plainly(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {one}" for name, one in value.items())
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
