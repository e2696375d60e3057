"""Whom did a change touch: points before and after, person by person, group by group (Kolling et al. 2025)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from equipoise.audits._multiple_testing import corrected_together
from equipoise.audits._options import COMPARE_OPTIONS
from equipoise.audits.compare._description import describe as describe_changed
from equipoise.audits.compare._groups import (
    Cut,
    Scored,
    change_records,
    floor_records,
    histograms,
    lowest,
    rings,
    scored,
)
from equipoise.audits.compare._outcomes import link_of, outcome_records, outcomes_of
from equipoise.audits.compare._projection import direction_of, projected, projection_records
from equipoise.audits.compare._result import (
    SCHEMA,
    CompareResult,
    Description,
    FloorRecord,
    OutcomeLink,
    OutcomeRecord,
    ProjectionRecord,
    RowRecord,
    Similarity,
)
from equipoise.audits.compare._spec import (
    LABEL,
    CompareRows,
    Options,
    Spaces,
    Wanted,
    have_no_ids,
    options_of,
    rows_of,
    spaces_of,
    units_of,
)
from equipoise.cohorts.binning import Bins, bins_of
from equipoise.cohorts.pairing import listed
from equipoise.foundation.options import documented
from equipoise.foundation.provenance import fingerprint_of, provenance
from equipoise.foundation.seeds import stream
from equipoise.foundation.text import fitting, percent, plural
from equipoise.results import Reason, Status
from equipoise.stats import Units, is_finding, limited_by_draws
from equipoise.tallies.labels import Label, label_of

if TYPE_CHECKING:
    import os
    from typing import TypeAlias

    from numpy.typing import ArrayLike

    from equipoise.cohorts.cohort import Cohort
    from equipoise.cohorts.embeddings import Embedding
    from equipoise.cohorts.tables import ColumnLike, ColumnsLike, TableLike

    PointsLike: TypeAlias = str | os.PathLike[str] | ArrayLike | Embedding

Progress = Callable[[str, float], None]
MOST_ROWS = 1_000


@documented(COMPARE_OPTIONS)
def compare(  # noqa: D417 - the other parameters are written from their declarations
    before: PointsLike,
    after: PointsLike,
    *,
    rows: TableLike | Cohort | None = None,
    sensitive_features: ColumnsLike | None = None,
    embedding: str | None = None,
    id: str | None = None,
    drop: bool = False,
    share: float = 0.1,
    ties: Literal["whole", "fractional"] = "whole",
    kernel: Literal["linear", "rbf"] = "linear",
    bandwidth: float | None = None,
    self_term: bool = True,
    describe: ColumnsLike = (),
    direction: str | os.PathLike[str] | ArrayLike | Mapping[str, ArrayLike] | None = None,
    prediction_before: ColumnLike | None = None,
    prediction_after: ColumnLike | None = None,
    rerun: PointsLike | None = None,
    cluster: ColumnLike | None = None,
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

    Each person's score is PNKA (1: kept its place among the others). The people with the lowest scores are the most
    changed. Tests permute groups over distinct profiles (rows equal before and after) or clusters, never over copies.

    Parameters
    ----------
    before, after : path, array or Embedding
        The points: ``.npy``, ``.npz``, ``.safetensors``, a table with a column of lists, or an array (numpy, torch).
        Their rows are the same people in the same order, or matched by ``id``. Without ``rows`` the other arguments
        are arrays, or columns of the file ``before``.
    {parameters}
    progress : callable, optional
        Is told what is being done, and how much of everything is done.
    command : list of str, optional
        The command line, for the provenance.

    Returns
    -------
    CompareResult
        A record for everyone and for each group, the similarity of the spaces, findings, words and provenance. Points
        that are not finite and ids that are not in every file are refused; with ``drop`` they are left out and noted.

    Examples
    --------
    >>> import numpy
    >>> from equipoise import compare
    >>> draw, sex = numpy.random.default_rng(0), numpy.repeat(["Female", "Male"], 100)
    >>> before = draw.normal(size=(200, 4))
    >>> after = before + draw.normal(size=(200, 4)) * numpy.where(sex == "Female", 0.8, 0.1)[:, None]
    >>> result = compare(before, after, sensitive_features={"sex": sex}, draws=200)
    >>> [women] = result.find(group="Female")
    >>> women.share_population, women.share_changed, women.finding
    (0.5, 1.0, True)
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
    undescribed: Reason | None
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
        records, descriptions, outcomes, link, floor = _corrected(
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


@dataclass(frozen=True, eq=False)
class Case:
    """Everything that is known once everybody has a score."""

    spaces: Spaces
    people: CompareRows
    units: Units
    scores: Scored
    floor: Scored | None
    options: Options

    @property
    def cut(self) -> Cut:
        """Who is among the most changed."""
        return lowest(self.scores.ranked, self.options.share, self.options.ties)


def similarity_of(case: Case, cut: Cut, kernel: str) -> Similarity:
    """Return how alike the spaces are over everyone, and where the most changed were cut off."""
    scores, floor = case.scores, case.floor
    return Similarity(
        measure="pnka",
        kernel=kernel,
        pnka=scores.mean,
        cka=scores.cka,
        rows=len(scores.values),
        undefined=int((~scores.known).sum()),
        units=case.units.number,
        unit="distinct profiles" if case.people.cluster is None else "clusters",
        share=cut.share,
        share_reached=cut.reached if cut.tells_apart else math.nan,
        changed=cut.changed if cut.tells_apart else math.nan,
        cutoff=cut.cutoff if cut.tells_apart else math.nan,
        ties=cut.ties,
        tied=cut.tied,
        overlap=scores.overlap,
        neighbours=scores.neighbours,
        rerun_pnka=None if floor is None else floor.mean,
        rerun_cka=None if floor is None else floor.cka,
        rerun_overlap=None if floor is None else floor.overlap,
    )


def individuals(case: Case, cut: Cut) -> list[RowRecord]:
    """List the most changed, the most changed first."""
    rows = np.flatnonzero(case.scores.known)[cut.weights > 0]
    order = rows[np.argsort(case.scores.values[rows], kind="stable")][:MOST_ROWS]
    before = case.spaces.before
    ids: Sequence[Label] | None = before.ids
    labels = case.people.further.get(LABEL)
    if labels is not None:
        ids = [label_of(value) for value in listed(labels)]
    return [
        RowRecord(
            row=row if before.source_rows is None else int(before.source_rows[row]),
            id=None if ids is None else ids[row],
            score=float(case.scores.values[row]),
            groups=tuple(one.groups[one.codes[row]] for one in case.people.attributes),
        )
        for row in order.tolist()
    ]


def provenance_of(
    case: Case, settings: Mapping[str, Any], direction: object, command: Iterable[str] | None
) -> dict[str, object]:
    """Describe how the result was made."""
    spaces, options = case.spaces, case.options
    prints = [space.fingerprint for space in (spaces.before, spaces.after, spaces.rerun) if space is not None]
    # Half a character in a name is hashed like any other.
    names = ["\0".join(one.groups).encode("utf-8", "surrogatepass") for one in case.people.attributes]
    codes = [one.codes.tobytes() for one in case.people.attributes]
    return provenance(
        fingerprint=fingerprint_of([*(text.encode() for text in prints), *names, *codes]),
        command=command,
        data=f"{spaces.before.name} and {spaces.after.name}",
        rows=len(spaces.before),
        columns=dict(case.people.columns),
        options={
            "before": {"name": spaces.before.name, "key": spaces.before.key, "dimensions": spaces.before.width},
            "after": {"name": spaces.after.name, "key": spaces.after.key, "dimensions": spaces.after.width},
            "rerun": None if spaces.rerun is None else spaces.rerun.name,
            "rows": case.people.name,
            **settings,
            "share": options.share,
            "ties": options.ties,
            "direction": direction if isinstance(direction, str) else None if direction is None else "given",
            "include_missing": options.include_missing,
            "drop": spaces.dropped is not None,
            "dropped": None if spaces.dropped is None else spaces.dropped.as_json(),
            "suppress_below": options.least,
            "draws": options.draws,
        },
    )


def _corrected(*lists: Sequence[Any], draws: int = 0) -> tuple[list[Any], ...]:
    """Return the lists with ``p_adjusted`` and ``finding`` filled in wherever there is a ``p``.

    The two groups of a binary attribute are one test: what one has more of, the other has less of. A p that rests on
    fewer than 20 extreme of the ``draws``, where the tests of the report need more draws, is limited by them.
    """
    keys: list[tuple[int, object]] = []
    for number, records in enumerate(lists):
        twins = mirrored(records)
        for place, record in enumerate(records):
            attribute = getattr(record, "attribute", None)
            keys.append((number, attribute if attribute in twins else place))
    p = np.array([np.nan if record.p is None else record.p for records in lists for record in records])
    adjusted, _, tests = corrected_together(p, keys)
    values = iter(adjusted.tolist())
    return tuple([_decided(record, next(values), draws, tests) for record in records] for records in lists)


def _decided(record: Any, adjusted: float, draws: int, tests: int) -> Any:
    if math.isnan(adjusted):
        return record
    null = getattr(record, "NULL", 0.0)
    finding = is_finding(adjusted, getattr(record, "low", None), getattr(record, "high", None), null=null)
    record = replace(record, p_adjusted=adjusted, finding=finding)
    if not hasattr(record, "limited_by_draws"):
        return record
    return replace(record, limited_by_draws=bool(limited_by_draws(record.p, draws, tests)))


def mirrored(records: Sequence[Any]) -> set[object]:
    """Return the attributes whose two groups are one test: two were tested, with one p and opposite differences."""
    by_attribute: dict[object, list[tuple[float, float]]] = {}
    for record in records:
        if record.p is not None and getattr(record, "attribute", None) is not None:
            tested = (record.p, getattr(record, "difference", math.nan))
            by_attribute.setdefault(record.attribute, []).append(tested)
    return {name for name, tests in by_attribute.items() if len(tests) == 2 and _are_mirrored(*tests)}


def _are_mirrored(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return math.isclose(one[0], other[0], rel_tol=1e-9) and math.isclose(one[1], -other[1], rel_tol=1e-6, abs_tol=1e-12)


def notes_of(
    result: CompareResult, others: Iterable[str], *, draws: int, clusters: bool, undescribed: Reason | None
) -> Iterator[str]:
    """Yield what a reader must know to read the numbers."""
    similarity = result.similarity
    unit = "clusters" if clusters else "distinct profiles (rows that are equal before and after)"
    if draws:
        yield (
            f"Tests permute groups over {similarity.units:,} {unit}, not over {similarity.rows:,} people: copies are "
            f"not independent. Permutation tests use {plural(draws, 'draw')}; p-values are corrected for every test of "
            "this report (Benjamini-Hochberg); an interval excludes 0 where its test, before correction, has p of at "
            "most 0.05."
        )
    if abs(similarity.share_reached - similarity.share) > 0.0005:
        yield (
            f"The most changed are {percent(similarity.share_reached)} instead of the {percent(similarity.share)} "
            f"asked for: {plural(similarity.tied, 'person has', 'people share')} the score at the cut, and ties are "
            "included or excluded together; --ties fractional counts each by a fraction."
        )
    if similarity.undefined:
        whose = fitting(similarity.undefined, "the point lies", "their points lie")
        yield f"{plural(similarity.undefined, 'person has', 'people have')} no score: {whose} at the mean of a space."
    hidden = sum(record.status == Status.TOO_SMALL for record in result.records)
    if hidden:
        why = next(record.reason for record in result.records if record.status == Status.TOO_SMALL)
        yield f"{plural(hidden, 'group is', 'groups are')} hidden: {why}."
    if result.outcomes and result.link is not None and result.link.reason is not None:
        yield f"Scores and predictions: {result.link.reason}."
    if result.floor:
        yield (
            "One rerun is one sample of the noise: intervals of the noise floor are about other people, not about "
            "other reruns."
        )
    if result.projections:
        yield (
            "omega = (p' - p) / |p| has no limit where p is near 0; the bounded form (p' - p) / (|p'| + |p|) lies "
            "between -1 and 1. Both compare lengths: a space that is only scaled up has larger projections."
        )
    if undescribed is not None and similarity.share_reached == similarity.share_reached:
        yield f"No rule describes the most changed taken together: {undescribed}."
    yield from others
    yield (
        "A score says how much a person's similarities to all others changed, not whether that is good for them. A "
        "different share among the most changed is not by itself unfair: a treatment may be meant for them."
    )
