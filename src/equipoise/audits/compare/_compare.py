"""Whom did a change touch: points before and after, person by person, group by group (Kolling et al. 2025).

Beside it stands the link to outcomes: whose predictions moved, and whether the score foretells it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from equipoise.audits._multiple_testing import corrected_together
from equipoise.audits._options import COMPARE_OPTIONS
from equipoise.audits.compare._description import describe as describe_changed
from equipoise.audits.compare._groups import (
    Cut,
    Scored,
    change_records,
    cut_lowest,
    floor_records,
    histograms,
    rings,
    scored,
)
from equipoise.audits.compare._projection import direction_of, projection_records
from equipoise.audits.compare._result import (
    CONFIDENCE,
    SCHEMA,
    CompareReason,
    CompareResult,
    Move,
    OutcomeLink,
    OutcomeRecord,
    RowRecord,
    Similarity,
    few_or_nobody,
)
from equipoise.audits.compare._spec import LABEL, CompareSpec, resolve_comparison
from equipoise.cohorts import Bins, column_values
from equipoise.foundation import (
    BadInput,
    Floats,
    as_floats,
    document_options,
    fingerprint_of,
    fitting,
    percent,
    plural,
    provenance,
    stream,
)
from equipoise.results import Reason, Status, because
from equipoise.stats import (
    auc_interval,
    clustered_auc,
    compare_with_null,
    is_finding,
    limited_by_draws,
    share_interval,
    shares_of_groups,
    weighted_mean_shift,
)
from equipoise.tallies import (
    Codes,
    Label,
    factorise,
    is_fraction,
    label_of,
    ordered,
)

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike

    from equipoise.cohorts import (
        Cohort,
        ColumnLike,
        ColumnsLike,
        PointsLike,
        TableLike,
    )


MOST_CLASSES = 100
# Below so many units a side, the normal interval of an AUC is not to be trusted.
LEAST_UNITS = 10
LEAST_EFFECTIVE = 2


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Predictions before and after, as codes into classes or as numbers. ``is_known``: the rows that have both."""

    is_known: NDArray[np.bool_]
    moved: Floats
    classes: tuple[str, ...] = ()
    before: Codes | None = None
    after: Codes | None = None
    shift: Floats | None = None


def outcomes_of(before: Any, after: Any) -> Outcomes:
    """Tell classes from numbers, and who moved by how much."""
    coded = [factorise(column) for column in (before, after)]
    labels = {label for part in coded for label in part.labels if label is not None}
    if not labels:
        raise BadInput("Every prediction is missing", help="name other columns.")
    if len(labels) > MOST_CLASSES or any(is_fraction(label) for label in labels):
        return _of_numbers(before, after)
    names = tuple(ordered(labels))
    code_of = {label: number for number, label in enumerate(names)}
    first, second = (
        np.array([-1 if label is None else code_of[label] for label in part.labels], dtype=np.int64)[part.codes]
        for part in coded
    )
    is_known = (first >= 0) & (second >= 0)
    if not is_known.any():
        raise BadInput("No row has a prediction before and one after", help="check that the columns belong together.")
    return Outcomes(is_known, (first != second).astype(np.float64), names, first, second)


def _of_numbers(before: Any, after: Any) -> Outcomes:
    first, second = as_floats(before, "the prediction before"), as_floats(after, "the prediction after")
    is_known = np.isfinite(first) & np.isfinite(second)
    if not is_known.any():
        raise BadInput("No row has a prediction before and one after", help="check that the columns belong together.")
    shift = np.where(is_known, second - first, 0.0)
    return Outcomes(is_known, (shift != 0).astype(np.float64), shift=shift)


def outcome_records(outcomes: Outcomes, spec: CompareSpec) -> Iterator[OutcomeRecord]:
    """Yield a record for everyone, then for each group against everyone."""
    rows, least, draws = outcomes.is_known, spec.suppress_below, spec.draws
    held, generator = spec.units.only(rows), stream(spec.seed, "outcomes")
    amounts = outcomes.moved if outcomes.shift is None else np.abs(outcomes.shift)
    overall = float(amounts[rows].mean())
    yield _record(outcomes, None, None, rows, least)
    for attribute in spec.people.attributes:
        number, codes = len(attribute.groups), attribute.codes[rows]
        people = np.bincount(codes, minlength=number)
        observed = np.bincount(codes, weights=amounts[rows], minlength=number) / np.maximum(people, 1) - overall
        # Tested is a group's share of all that moved, against its share of people; shown is its mean minus theirs.
        scale = overall * len(codes) / np.maximum(people, 1)
        null = np.empty((0, number))
        if overall > 0:
            null = shares_of_groups(held, amounts[rows], codes, number, draws, generator).null
        tested = compare_with_null(observed / scale if overall > 0 else observed, null)
        tested_groups = [group_index for group_index in attribute.tested(include_missing=spec.include_missing)
                if draws and overall > 0 and max(least, 1) <= people[group_index] < len(codes)]  # fmt: skip
        for index, group in enumerate(attribute.groups):
            record = _record(outcomes, attribute.name, group, rows & (attribute.codes == index), least)
            if index not in tested_groups:
                yield record
                continue
            ends = share_interval(
                float(observed[index] / scale[index]), float(people[index] / len(codes)), float(tested.half[index])
            )
            yield replace(
                record,
                difference=float(observed[index]),
                low=ends[0] * float(scale[index]),
                high=ends[1] * float(scale[index]),
                interval="permutation",
                level=CONFIDENCE,
                p=float(tested.p[index]),
            )


def _record(
    outcomes: Outcomes, attribute: str | None, group: str | None, rows: NDArray[np.bool_], least: int
) -> OutcomeRecord:
    people = int(rows.sum())
    named: dict[str, Any] = {"attribute": attribute, "group": group}
    if people < max(least, 1):
        status, reason = few_or_nobody(least, CompareReason.NO_TWO_PREDICTIONS)
        return OutcomeRecord(
            **named, people=None if least > 1 else 0, moved=None, share_moved=math.nan,
            status=status, reason=reason,
        )  # fmt: skip
    moved = float(outcomes.moved[rows].sum())
    shift = None if outcomes.shift is None else outcomes.shift[rows]
    return OutcomeRecord(
        **named,
        people=people,
        moved=moved,
        share_moved=moved / people,
        mean_shift=None if shift is None else float(shift.mean()),
        mean_absolute_shift=None if shift is None else float(np.abs(shift).mean()),
        moves=tuple(_moves(outcomes, rows, least)),
    )


def _moves(outcomes: Outcomes, rows: NDArray[np.bool_], least: int) -> Iterator[Move]:
    if outcomes.before is None or outcomes.after is None:
        return
    number = len(outcomes.classes)
    cells = np.bincount(outcomes.before[rows] * number + outcomes.after[rows], minlength=number**2)
    for cell in np.flatnonzero(cells):
        first, second = divmod(int(cell), number)
        if first != second:
            people = int(cells[cell])
            yield Move(
                before=outcomes.classes[first],
                after=outcomes.classes[second],
                people=people if people >= least else None,
            )


def link_of(outcomes: Outcomes, scores: Floats, spec: CompareSpec) -> OutcomeLink:
    """Ask whether a low score foretells that a prediction moves; whether they moved is permuted over units."""
    rows = outcomes.is_known & ~np.isnan(scores)
    held, score, moved = spec.units.only(rows), scores[rows], outcomes.moved[rows] > 0
    amount = outcomes.moved[rows] if outcomes.shift is None else np.abs(outcomes.shift[rows])
    varied = len(score) > 1 and np.ptp(score) > 0 and np.ptp(amount) > 0
    correlation = float(stats.spearmanr(-score, amount).statistic) if varied else math.nan
    estimates: dict[str, Any] = {
        "people": int(rows.sum()), "moved": int(moved.sum()), "rank_correlation": correlation,
    }  # fmt: skip
    auc, spread = clustered_auc(held, -score, moved)
    if math.isnan(auc):
        why = because(CompareReason.ALL_MOVED if moved.all() else CompareReason.NONE_MOVED)
        return OutcomeLink(**estimates, auc=auc, low=None, high=None, status=Status.UNDEFINED, reason=why)
    sides = [int((held.sums(side) > 0).sum()) for side in (moved, ~moved)]
    if min(sides) < LEAST_UNITS or spread == 0:
        why = because(CompareReason.FEW_MOVED_OR_STAYED, least=LEAST_UNITS)
        return OutcomeLink(**estimates, auc=auc, low=None, high=None, status=Status.TOO_SMALL, reason=why)
    level = CONFIDENCE if 0 < auc < 1 and held.effective > LEAST_EFFECTIVE else None
    low, high = (None, None) if level is None else map(float, auc_interval(auc, spread, level, held.effective - 1))
    # With midranks, AUC - 1/2 is the mean rank of the movers, minus that of all, over the number that stayed.
    ranks = weighted_mean_shift(
        held, moved.astype(np.float64), stats.rankdata(-score), spec.draws, stream(spec.seed, "link")
    )
    tested = compare_with_null(ranks.observed, ranks.null)
    p = float(tested.p[0]) if spec.draws else None
    return OutcomeLink(**estimates, auc=auc, low=low, high=high, level=level, p=p)


Progress = Callable[[str, float], None]
MOST_ROWS = 1_000
# Options that the provenance keeps as they are.
PROVENANCE_OPTIONS = (
    "kernel", "bandwidth", "self_term", "seed", "share", "ties", "include_missing", "suppress_below", "draws",
)  # fmt: skip


@document_options(COMPARE_OPTIONS)
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
    elsewhere = ("before", "after", "progress", "command")
    arguments = {name: value for name, value in locals().items() if name not in elsewhere}
    tell = progress or (lambda what, done: None)
    tell("Reading", 0.0)
    spec = resolve_comparison(before, after, arguments)
    concept = None if direction is None else direction_of(spec)
    tell("Comparing", 0.15)
    scores = scored(spec.before, spec.after, None if spec.clustered else spec.units, spec)
    tell("Comparing the rerun", 0.5)
    floor = None if spec.rerun is None else scored(spec.after, spec.rerun, None, spec)
    tell("Testing", 0.6)
    cut = cut_lowest(scores.ranked, spec.share, spec.ties)
    tested, undescribed = _tested_records(spec, scores, cut, floor)
    if concept is not None:
        tell("Projecting", 0.95)
        tested["projections"] = tuple(projection_records(spec, concept))
    has_score = scores.is_scored
    attributes = tuple(attribute.only(has_score) for attribute in spec.people.attributes)
    result = CompareResult(
        schema=SCHEMA,
        provenance=_provenance(spec, command),
        notes=(),
        similarity=_similarity(spec, scores, cut, floor),
        attributes=tuple(attribute.name for attribute in attributes),
        histograms=tuple(histograms(scores.values[has_score], attributes, spec.suppress_below)),
        rings=tuple(rings(attributes, cut.weights, spec.suppress_below)) if cut.separates else (),
        rows=tuple(_individuals(spec, scores, cut)) if spec.show_rows and cut.separates else (),
        **tested,
    )
    return replace(result, notes=tuple(_notes(result, spec, scores, undescribed)))


def _tested_records(
    spec: CompareSpec, scores: Scored, cut: Cut, floor: Scored | None
) -> tuple[dict[str, Any], Reason | None]:
    """Return every record that has a test, all tests of the report corrected at once, and why no rule was found."""
    is_known = scores.is_scored
    records = change_records(spec, scores, cut, floor)
    columns = [column.only(is_known) for column in (*spec.people.attributes, *spec.people.described)]
    descriptions, why = describe_changed(
        columns, cut, spec.units.only(is_known), least=spec.suppress_below, draws=spec.draws,
        generator=stream(spec.seed, "description"),
    )  # fmt: skip
    outcomes: list[OutcomeRecord] = []
    links: list[OutcomeLink] = []
    if spec.people.predictions is not None:
        moved = outcomes_of(*spec.people.predictions)
        outcomes += outcome_records(moved, spec)
        links.append(link_of(moved, scores.values, spec))
    noise = [] if floor is None else list(floor_records(spec, scores.values, floor.values))
    if spec.draws:
        records, descriptions, outcomes, links, noise = _corrected(
            records, descriptions, outcomes, links, noise, draws=spec.draws
        )
    tested = {
        "records": tuple(records), "descriptions": tuple(descriptions), "outcomes": tuple(outcomes),
        "link": links[0] if links else None, "floor": tuple(noise),
    }  # fmt: skip
    return tested, why


def _similarity(spec: CompareSpec, scores: Scored, cut: Cut, floor: Scored | None) -> Similarity:
    """Return how alike the spaces are over everyone, and where the most changed were cut off."""
    return Similarity(
        measure="pnka",
        kernel=spec.kernel,
        pnka=scores.mean,
        cka=scores.cka,
        rows=len(scores.values),
        undefined=int((~scores.is_scored).sum()),
        units=spec.units.number,
        unit="clusters" if spec.clustered else "distinct profiles",
        share=cut.share,
        share_reached=cut.reached if cut.separates else math.nan,
        changed=cut.changed if cut.separates else math.nan,
        cutoff=cut.cutoff if cut.separates else math.nan,
        ties=cut.ties,
        tied=cut.tied,
        overlap=scores.overlap,
        neighbours=scores.neighbours,
        rerun_pnka=None if floor is None else floor.mean,
        rerun_cka=None if floor is None else floor.cka,
        rerun_overlap=None if floor is None else floor.overlap,
    )


def _individuals(spec: CompareSpec, scores: Scored, cut: Cut) -> list[RowRecord]:
    """List the most changed, the most changed first."""
    rows = np.flatnonzero(scores.is_scored)[cut.weights > 0]
    order = rows[np.argsort(scores.values[rows], kind="stable")][:MOST_ROWS]
    ids: Sequence[Label] | None = spec.before.ids
    labels = spec.people.further.get(LABEL)
    if labels is not None:
        ids = [label_of(value) for value in column_values(labels)]
    return [
        RowRecord(
            row=row if spec.before.source_rows is None else int(spec.before.source_rows[row]),
            id=None if ids is None else ids[row],
            score=float(scores.values[row]),
            groups=tuple(attribute.groups[attribute.codes[row]] for attribute in spec.people.attributes),
        )
        for row in order.tolist()
    ]


def _provenance(spec: CompareSpec, command: Iterable[str] | None) -> dict[str, object]:
    """Describe how the result was made."""
    prints = [space.fingerprint for space in spec.spaces]
    # Half a character in a name is hashed like any other.
    names = ["\0".join(attribute.groups).encode("utf-8", "surrogatepass") for attribute in spec.people.attributes]
    codes = [attribute.codes.tobytes() for attribute in spec.people.attributes]
    direction = spec.direction
    return provenance(
        fingerprint=fingerprint_of([*(text.encode() for text in prints), *names, *codes]),
        command=command,
        data=f"{spec.before.name} and {spec.after.name}",
        rows=len(spec.before),
        columns=dict(spec.people.columns),
        options={
            "before": {"name": spec.before.name, "key": spec.before.key, "dimensions": spec.before.width},
            "after": {"name": spec.after.name, "key": spec.after.key, "dimensions": spec.after.width},
            "rerun": None if spec.rerun is None else spec.rerun.name,
            "rows": spec.people.name,
            **{name: getattr(spec, name) for name in PROVENANCE_OPTIONS},
            "direction": direction if isinstance(direction, str) else None if direction is None else "given",
            "drop": spec.dropped is not None,
            "dropped": None if spec.dropped is None else spec.dropped.as_json(),
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
        for index, record in enumerate(records):
            attribute = getattr(record, "attribute", None)
            keys.append((number, attribute if attribute in twins else index))
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


def _are_mirrored(pair: tuple[float, float], other: tuple[float, float]) -> bool:
    return math.isclose(pair[0], other[0], rel_tol=1e-9) and math.isclose(
        pair[1], -other[1], rel_tol=1e-6, abs_tol=1e-12
    )


def _notes(result: CompareResult, spec: CompareSpec, scores: Scored, undescribed: Reason | None) -> Iterator[str]:
    """Yield what a reader must know to read the numbers."""
    similarity = result.similarity
    unit = "clusters" if spec.clustered else "distinct profiles (rows that are equal before and after)"
    if spec.draws:
        yield (
            f"Tests permute groups over {similarity.units:,} {unit}, not over {similarity.rows:,} people: copies are "
            f"not independent. Permutation tests use {plural(spec.draws, 'draw')}; p-values are corrected for every "
            "test of this report (Benjamini-Hochberg); an interval excludes 0 where its test, before correction, has p "
            "of at most 0.05."
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
    yield from () if spec.dropped is None else spec.dropped.notes
    for space in spec.spaces:
        yield from space.notes
    yield from scores.notes
    if LABEL in spec.people.columns:
        yield (
            f"The points have no ids: rows were taken in their order, and {spec.people.columns[LABEL]!r} of "
            f"{spec.people.name} only labels the rows that are listed. Nothing was matched by it."
        )
    yield (
        "A score says how much a person's similarities to all others changed, not whether that is good for them. A "
        "different share among the most changed is not by itself unfair: a treatment may be meant for them."
    )
