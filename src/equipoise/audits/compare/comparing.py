"""Whom did a change touch: points before and after, person by person, group by group (paper 003)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from equipoise.audits.compare.case import (
    LABEL,
    Case,
    have_no_ids,
    individuals,
    options_of,
    provenance_of,
    similarity_of,
    spaces_of,
    units_of,
)
from equipoise.audits.compare.correcting import corrected
from equipoise.audits.compare.description import describe as describe_changed
from equipoise.audits.compare.groups import change_records
from equipoise.audits.compare.noise_floor import floor_records
from equipoise.audits.compare.notes import notes_of
from equipoise.audits.compare.outcomes import link_of, outcome_records, outcomes_of
from equipoise.audits.compare.projection import direction_of, projected, projection_records
from equipoise.audits.compare.result import (
    SCHEMA,
    CompareResult,
    Description,
    FloorRecord,
    OutcomeLink,
    OutcomeRecord,
    ProjectionRecord,
)
from equipoise.audits.compare.rows import Wanted, rows_of
from equipoise.audits.compare.score_spread import histograms, rings
from equipoise.audits.compare.scores import scored
from equipoise.cohorts.binning import Bins, bins_of
from equipoise.foundation.seeds import stream

Progress = Callable[[str, float], None]


def compare(
    before: object,
    after: object,
    *,
    rows: object = None,
    sensitive_features: object = None,
    embedding: str | None = None,
    id: str | None = None,
    drop: bool = False,
    share: float = 0.1,
    ties: str = "whole",
    kernel: str = "linear",
    bandwidth: float | None = None,
    self_term: bool = True,
    describe: object = (),
    direction: object = None,
    prediction_before: object = None,
    prediction_after: object = None,
    rerun: object = None,
    cluster: object = None,
    bins: Mapping[str, str | Sequence[float] | Bins] | None = None,
    categorical: str | Sequence[str] = (),
    missing: str | Sequence[str] = (),
    include_missing: bool = False,
    show_rows: bool = False,
    suppress_below: int = 0,
    draws: int = 2_000,
    seed: int = 0,
    progress: Progress | None = None,
    command: Iterable[str] | None = None,
) -> CompareResult:
    """Compare two representations of the same people, and say whose changed.

    ``before`` and ``after`` are paths (``.npy``, ``.npz``, ``.safetensors``, or a table with a column of lists; then
    ``embedding`` names the array or column) or arrays of numpy or torch. ``rows`` says whose points they are: a path,
    a frame, a Cohort; ``sensitive_features``, ``describe``, ``prediction_before``, ``prediction_after`` and ``cluster``
    then name its columns. Without ``rows`` they are arrays, or columns of the file ``before``. Rows are taken in their
    order, or matched by ``id``. Points that are not finite and ids that are not in every file are refused; with
    ``drop`` those rows are left out of all, and a note says how many and why.

    Each person's score is PNKA (1: kept its place among the others), with a linear or an RBF ``kernel``. The ``share``
    with the lowest scores are the most changed; ``ties`` come in ``whole`` or ``fractional``. Tests deal groups out to
    distinct profiles (rows equal before and after), or to the values of ``cluster``, never to single copies.

    ``describe`` names further columns that may describe the most changed. ``direction`` is a concept to project on: a
    vector, a file, or ``"sex=Male,Female"``. ``rerun`` is a second, identical run of what made ``after``: the noise
    floor. ``show_rows`` lists individuals, by ``id``; where no points have ids, that column of ``rows`` only labels
    them, and rows are taken in their order. ``suppress_below`` hides numbers about fewer people. ``draws`` (0 for no
    tests) and ``seed`` govern what is drawn at random.
    """
    tell = progress or (lambda what, done: None)
    options = options_of(share, ties, suppress_below, draws, seed, include_missing=include_missing, show_rows=show_rows)
    tell("Reading", 0.0)
    labels_only = id is not None and show_rows and rows is not None and have_no_ids(before, after, rerun)
    matched_by = None if labels_only else id
    spaces = spaces_of(before, after, rerun, embedding, matched_by, rows=rows, missing=_texts(missing), drop=drop)
    wanted = Wanted(
        sensitive_features=sensitive_features,
        describe=describe,
        prediction_before=prediction_before,
        prediction_after=prediction_after,
        cluster=cluster,
        id=matched_by,
        drop=drop,
        bins=bins_of(bins),
        categorical=_texts(categorical),
        missing=_texts(missing),
        further={LABEL: id} if labels_only else {},
    )
    people = rows_of(spaces.before, rows, wanted)
    told = None if direction is None else direction_of(
        direction, spaces.before, spaces.after, people.attributes, suppress_below
    )  # fmt: skip
    tell("Comparing", 0.15)
    settings = {"kernel": kernel, "bandwidth": bandwidth, "self_term": self_term, "seed": seed}
    units = units_of(spaces, people)
    scores = scored(spaces.before, spaces.after, units if people.cluster is None else None, settings)
    tell("Comparing the rerun", 0.5)
    floor = None if spaces.rerun is None else scored(spaces.after, spaces.rerun, None, settings)
    case = Case(spaces, people, units, scores, floor, options)
    tell("Testing", 0.6)
    parts = _parts(case)
    if told is not None:
        tell("Projecting", 0.95)
        lost = told.lost
        sides = (
            projected(spaces.before, told.before, lost=lost[0]), projected(spaces.after, told.after, lost=lost[1])
        )  # fmt: skip
        parts = replace(parts, projections=tuple(projection_records(told, *sides, people.attributes, suppress_below)))
    return _result(case, parts, settings, direction, command)


def _texts(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


@dataclass(frozen=True)
class _Parts:
    records: tuple[Any, ...]
    descriptions: tuple[Description, ...]
    undescribed: str | None
    outcomes: tuple[OutcomeRecord, ...]
    link: OutcomeLink | None
    floor: tuple[FloorRecord, ...]
    projections: tuple[ProjectionRecord, ...] = ()


def _parts(case: Case) -> _Parts:
    """Make every record that has a test, and correct for all tests of the report at once."""
    options, people, scores = case.options, case.people, case.scores
    known, cut = scores.known, case.cut
    held = case.units.only(known)
    attributes = tuple(one.only(known) for one in people.attributes)
    records = change_records(
        case.scores, people.attributes, case.units, cut, case.floor,
        include_missing=options.include_missing, least=options.least, draws=options.draws, seed=options.seed,
    )  # fmt: skip
    descriptions, why = describe_changed(
        [*attributes, *(column.only(known) for column in people.described)], cut, held,
        least=options.least, draws=options.draws, generator=stream(options.seed, "description"),
    )  # fmt: skip
    outcomes: list[OutcomeRecord] = []
    link: list[OutcomeLink] = []
    if people.predictions is not None:
        moved = outcomes_of(*people.predictions)
        outcomes += outcome_records(
            moved, people.attributes, case.units, include_missing=options.include_missing, least=options.least,
            draws=options.draws, generator=stream(options.seed, "outcomes"),
        )  # fmt: skip
        link.append(link_of(moved, scores.values, case.units, options.draws, stream(options.seed, "link")))
    floor = [] if case.floor is None else list(
        floor_records(scores.values, case.floor.values, people.attributes, case.units, least=options.least)
    )  # fmt: skip
    if options.draws:
        records, descriptions, outcomes, link, floor = corrected(
            records, descriptions, outcomes, link, floor, draws=options.draws
        )
    return _Parts(tuple(records), tuple(descriptions), why, tuple(outcomes), link[0] if link else None, tuple(floor))


def _result(
    case: Case, parts: _Parts, settings: Mapping[str, Any], direction: object, command: Iterable[str] | None
) -> CompareResult:
    people, options, known, cut = case.people, case.options, case.scores.known, case.cut
    attributes = tuple(one.only(known) for one in people.attributes)
    similarity = similarity_of(case, cut, str(settings["kernel"]))
    result = CompareResult(
        schema=SCHEMA,
        records=parts.records,
        provenance=provenance_of(case, settings, direction, command),
        notes=(),
        similarity=similarity,
        attributes=tuple(attribute.name for attribute in attributes),
        histograms=tuple(histograms(case.scores.values[known], attributes, options.least)),
        rings=tuple(rings(attributes, cut.weights, options.least)) if cut.tells_apart else (),
        descriptions=parts.descriptions,
        projections=parts.projections,
        outcomes=parts.outcomes,
        link=parts.link,
        floor=parts.floor,
        rows=tuple(individuals(case, cut)) if options.show_rows and cut.tells_apart else (),
    )
    spaces = [space for space in (case.spaces.before, case.spaces.after, case.spaces.rerun) if space is not None]
    notes = [*(note for space in spaces for note in space.notes), *case.scores.notes]
    if case.spaces.dropped is not None:
        notes = [*case.spaces.dropped.notes, *notes]
    if LABEL in people.columns:
        notes.append(
            f"The points have no ids: rows were taken in their order, and {people.columns[LABEL]!r} of {people.name} "
            "only labels the rows that are listed. Nothing was matched by it."
        )
    clusters = people.cluster is not None
    every = notes_of(result, notes, draws=options.draws, clusters=clusters, undescribed=parts.undescribed)
    return replace(result, notes=tuple(every))
