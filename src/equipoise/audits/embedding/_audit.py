"""The audit of an embedding: is the space as good for every group, and what carries over (paper 000).

Its records are every measure for each group, and its gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.audits import SCHEMA, AuditResult, SpaceMap
from equipoise.audits._counting import dropped_rows
from equipoise.audits._multiple_testing import MultipleTesting
from equipoise.audits._options import AUDIT_OPTIONS, EMBEDDING
from equipoise.audits._records import measures_for
from equipoise.audits._tallies import suppressed_card
from equipoise.audits._units import carried_by
from equipoise.audits.downstream import Downstream, PropagationPoint, downstream, propagation
from equipoise.audits.embedding._evidence import EMBEDDING_EVIDENCE, EmbeddingEvidence, EmbeddingReason, evidence_of
from equipoise.audits.embedding._intervals import LEVEL
from equipoise.audits.embedding._map import embedding_map
from equipoise.audits.embedding._spec import (
    OPTIONS,
    EmbeddingAuditSpec,
    compared_space,
    grouped,
    majoritised,
    overall_space,
    resolve_embedding,
    sizes_of,
)
from equipoise.audits.leakage import Leakage, leakage
from equipoise.cohorts import (
    Bins,
    CohortCard,
    cohort_card,
)
from equipoise.foundation import (
    Progress,
    document_options,
    fingerprint_of,
    fitting,
    plural,
    provenance,
    stream,
)
from equipoise.measures import (
    GAP_VARIANTS,
    NO_LARGEST_GROUP_HINT,
    PAPER_SIGN,
    Measure,
    compared_groups,
    get_measure,
)
from equipoise.results import Reason, Record, Status, because
from equipoise.tallies import (
    TARGET_AXIS,
    Cells,
    EmbeddingTally,
    factorise,
    group_axis,
    label_text,
)

if TYPE_CHECKING:
    from equipoise.audits.downstream._classifiers import Learner
    from equipoise.cohorts import Cohort, ColumnLike, ColumnsLike, LabelLike, PointsLike, TableLike

    pass


# A jackknife of these is off where classes are small: intervals of their gaps cover about 84%.
JACKKNIFED = ("normalised_mutual_information", "adjusted_mutual_information")
# Rules that compare three groups or more; of two, they equal the plain gap.
MULTIGROUP_RULES = ("best_minus_worst", "each_against_worst", "halves")


@dataclass(frozen=True)
class Context:
    """Which attribute the records are about, and how its numbers are tested."""

    attribute: str
    least_people: int
    draws: int
    seed: int
    progress: Callable[[str], None]
    # How many gaps the report tests.
    tests: int = 1


def tests_of(embedded: EmbeddingTally) -> int:
    """Return how many gaps of an attribute are tested."""
    gaps = sum(measure.kind == "gap" for measure in measures_for(("embedding",)))
    return gaps * sum(variant != PAPER_SIGN for variant in _variants(embedded))


def overall_records(embedded: EmbeddingTally, context: Context) -> Iterator[Record]:
    """Yield every value over all rows together."""
    for measure in _values_of_spaces():
        for record in _values(measure, embedded.overall, _evidence(measure, embedded.overall, (), context)[0], context):
            yield replace(record, attribute=(), group=None)


def attribute_records(embedded: EmbeddingTally, context: Context) -> Iterator[Record]:
    """Yield the values of each group of an attribute, and the gaps between them."""
    gaps = {measure.of: measure for measure in measures_for(("embedding",)) if measure.kind == "gap"}
    for measure in _values_of_spaces():
        context.progress(measure.title)
        gap = gaps.get(measure.name)
        variants = () if gap is None else _variants(embedded)
        # The paper's sign turns the same gap round: it is shown, and not tested a second time.
        tested = tuple(variant for variant in variants if variant != PAPER_SIGN)
        value, evidence = _evidence(measure, embedded, tested, context)
        yield from _values(measure, embedded, value, context)
        if gap is not None:
            for variant in variants:
                yield _gap(gap, embedded, variant, evidence.get(variant), context)


def small_records(embedded: EmbeddingTally, context: Context) -> Iterator[Record]:
    """Yield the values of groups that are too small to be compared, without intervals."""
    for measure in _values_of_spaces():
        yield from _values(measure, embedded, None, context)


def _values_of_spaces() -> list[Measure]:
    return [measure for measure in measures_for(("embedding",)) if measure.kind in ("rate", "value")]


def _evidence(
    measure: Measure, embedded: EmbeddingTally, variants: tuple[str, ...], context: Context
) -> tuple[EmbeddingEvidence | None, dict[str, EmbeddingEvidence]]:
    if measure.name not in EMBEDDING_EVIDENCE or not context.draws:
        return None, {}
    generator = stream(context.seed, "embedding", context.attribute, measure.name)
    return evidence_of(measure.name, embedded, generator, context.draws, variants, context.tests)


def _variants(embedded: EmbeddingTally) -> list[str]:
    return [variant for variant in GAP_VARIANTS if variant not in MULTIGROUP_RULES or len(embedded.groups) > 2]


def _has_majority(embedded: EmbeddingTally) -> bool:
    return all(side.any() for side in compared_groups(embedded))


def _values(
    measure: Measure, embedded: EmbeddingTally, evidence: EmbeddingEvidence | None, context: Context
) -> Iterator[Record]:
    values = measure.by_class(embedded) if evidence is None else evidence.value
    numerators, denominators = measure.function(embedded) if measure.kind == "rate" else (None, None)
    for at, group in enumerate(embedded.groups):
        people, reason = int(embedded.people[at]), None
        if np.isnan(values[at]):
            reason = because(EmbeddingReason.UNDEFINED, why=measure.undefined)
        elif people < context.least_people:
            reason = because(EmbeddingReason.FEW_ROWS, rows=people, least=context.least_people)
        record = Record(
            measure=measure.name, alias=measure.alias, kind=measure.kind, attribute=(context.attribute,), group=group,
            value=float(values[at]),
            numerator=None if numerators is None else float(numerators[at]),
            denominator=None if denominators is None else float(denominators[at]),
            status=_status(reason), reason=reason,
        )  # fmt: skip
        yield record if evidence is None else _with_interval(record, evidence, at, measure.name)


def _gap(
    measure: Measure, embedded: EmbeddingTally, variant: str, evidence: EmbeddingEvidence | None, context: Context
) -> Record:
    value = float(measure.by_class(embedded, variant) if evidence is None else evidence.value)
    reason = None
    if np.isnan(value):
        reason = _undefined(measure, embedded, variant)
    elif embedded.people.min() < context.least_people:
        reason = because(EmbeddingReason.SMALL_GROUP, least=context.least_people)
    record = Record(
        measure=measure.name, alias=measure.alias, kind="gap", variant=variant, attribute=(context.attribute,),
        value=value, status=_status(reason), reason=reason,
    )  # fmt: skip
    if evidence is None:
        return record
    if not np.isnan(evidence.p) and record.status != Status.TOO_SMALL:
        record = replace(record, p=evidence.p, limited_by_draws=evidence.limited)
    return _with_interval(record, evidence, 0, measure.of)


def _status(reason: Reason | None) -> Status:
    """Return the status of a number; what has neither of these reasons is undefined."""
    if reason is None:
        return Status.OK
    small = reason.has(EmbeddingReason.FEW_ROWS) or reason.has(EmbeddingReason.SMALL_GROUP)
    return Status.TOO_SMALL if small else Status.UNDEFINED


def _with_interval(record: Record, evidence: EmbeddingEvidence, at: int, value: str | None) -> Record:
    """Return a record of a value's group (or of a gap) with its interval, or with the reason why it has none."""
    if record.reason is None and evidence.reasons:
        record = replace(record, reason=evidence.reasons[at])
    low, high = np.atleast_1d(evidence.low)[at], np.atleast_1d(evidence.high)[at]
    if np.isnan(low) or evidence.method is None or not record.defined:
        return record
    return replace(
        record, low=float(low), high=float(high), interval=evidence.method.kind, level=LEVEL,
        approximate=value in JACKKNIFED,
    )  # fmt: skip


def _undefined(measure: Measure, embedded: EmbeddingTally, variant: str) -> Reason:
    if variant not in MULTIGROUP_RULES and not _has_majority(embedded):
        return because(EmbeddingReason.NO_LARGEST_GROUP, why=NO_LARGEST_GROUP_HINT)
    return because(EmbeddingReason.UNDEFINED_IN_A_GROUP, why=get_measure(measure.of or measure.name).undefined)


# The upstream number whose gap is compared with the gaps downstream.
UPSTREAM = "recall_at_k"
# Fewer classes cannot be assigned to folds whole.
MANY_CLASSES = 10
# A card and a map name classes where there are no more than this; a person's name is not shown.
MOST_NAMED = 20


@document_options(AUDIT_OPTIONS, EMBEDDING)
def audit_embedding(  # noqa: D417 - the other parameters are written from their declarations
    points: PointsLike,
    *,
    target: ColumnLike | None = None,
    sensitive_features: ColumnsLike | None = None,
    rows: TableLike | Cohort | None = None,
    embedding: str | None = None,
    id: str | None = None,
    drop: bool = False,
    cluster: ColumnLike | None = None,
    k: int = 1,
    metric: str = "euclidean",
    majoritised: Mapping[str, LabelLike | Sequence[LabelLike]] | None = None,
    minoritised: Mapping[str, LabelLike | Sequence[LabelLike]] | None = None,
    downstream: str | Sequence[str | Learner] | Mapping[str, str | Learner] = (),
    downstream_target: ColumnLike | None = None,
    rebalance: bool | str = False,
    macro: str = "default",
    train: ColumnLike | None = None,
    leakage: bool = False,
    map: str = "pca",
    bins: Mapping[str, str | Sequence[float] | Bins] | None = None,
    categorical: str | Sequence[str] = (),
    missing: str | Sequence[str] = (),
    include_missing: bool = False,
    suppress_below: int = 0,
    least_people: int = 30,
    draws: int = 2_000,
    seed: int = 0,
    progress: Progress | None = None,
    command: Iterable[str] | None = None,
) -> AuditResult:
    """Audit an embedding: is the space as good for every group, can groups be read from it, and what carries over?

    Parameters
    ----------
    points : path or array
        A file (``.npy``, ``.npz``, ``.safetensors``, or a table with a column of lists; ``embedding`` then names the
        array or column), or an array of numpy or torch. Without ``rows`` the other arguments are arrays; with it (a
        path, a frame or a Cohort) they name its columns, and rows are taken in their order or matched by ``id``.
    target : column name or array
        The class of every point: who is on the picture, or which word it is. It has to be given.
    embedding : str, optional
        The array or column of a file that holds the points.
    downstream : True, or names, tables or objects
        Classifiers to train on the points: True for all of them, names with settings where wanted
        (``"logistic_regression:C=0.1,1,10"``), or objects with fit and predict.
    {parameters}
    progress : callable, optional
        Called with the stage and the share of the audit that is done.

    Returns
    -------
    AuditResult
        Records, leakage, downstream classifiers, a map and notes. Groups under ``least_people`` are shown, and left out
        of gaps. Without ``cluster`` rows of one class are sampled together where the class has one group.

    Examples
    --------
    >>> import numpy as np
    >>> from equipoise import audit_embedding
    >>> identity, sex = np.arange(80) % 4, np.where(np.arange(80) < 40, "man", "woman")
    >>> noise = np.random.default_rng(0).normal(size=(80, 3)) * np.where(sex == "woman", 2.0, 0.1)[:, None]
    >>> result = audit_embedding(5.0 * np.eye(4)[identity][:, :3] + noise, target=identity, sensitive_features=sex)
    >>> result.value("recall_at_k_gap", attribute="group") > 0.2
    True
    """
    arguments = {name: value for name, value in locals().items() if name not in ("points", "progress", "command")}
    return _audited(resolve_embedding(points, arguments), progress or (lambda stage, done: None), command)


def _audited(spec: EmbeddingAuditSpec, progress: Progress, command: Iterable[str] | None) -> AuditResult:
    progress("Measuring the space", 0.02)
    whole_tally = overall_space(spec)
    spaces = {attribute.name: compared_space(whole_tally, spec, attribute) for attribute in spec.attributes}
    records = MultipleTesting().finish(list(_records(spec, whole_tally, spaces, progress)))
    progress("Probing the embedding for groups", 0.6)
    leaked = _leakage(spec)
    progress("Training classifiers", 0.75)
    trained = _downstream(spec, progress)
    progress("Drawing the map", 0.97)
    return AuditResult(
        schema=SCHEMA,
        records=(*_row_records(spec, whole_tally.dropped), *records),
        provenance=_provenance(spec, command),
        card=suppressed_card(_card(spec), spec.suppress_below),
        notes=tuple(_notes(spec, spaces, leaked, trained)),
        classes=_named_classes(spec),
        favourable=None,
        downstream=() if trained is None else trained.records,
        leakage=() if leaked is None else leaked.records,
        propagation=() if trained is None else _propagation(records, trained),
        map=_map(spec),
    )


def _records(
    spec: EmbeddingAuditSpec, whole_tally: EmbeddingTally, spaces: Mapping[str, EmbeddingTally], progress: Progress
) -> Iterator[Record]:
    tests = sum(tests_of(space) for space in spaces.values())
    for number, attribute in enumerate(spec.attributes):
        embedded, share = spaces[attribute.name], 0.05 + 0.55 * number / len(spaces)
        measuring = partial(_measuring, progress, attribute.name, share)
        context = Context(attribute.name, spec.least_people, spec.draws, spec.seed, measuring, tests)
        if number == 0:
            yield from overall_records(whole_tally, context)
        yield from attribute_records(embedded, context)
        small = [group for group in sizes_of(spec, attribute) if group not in embedded.groups]
        if small:
            yield from small_records(grouped(whole_tally, spec, attribute, small), context)


def _measuring(progress: Progress, attribute: str, share: float, measure: str) -> None:
    progress(f"{attribute}: {measure}", share)


def _visible_groups(spec: EmbeddingAuditSpec) -> dict[str, NDArray[np.object_]]:
    """Return the group of every row; of groups that are too small to be shown, None."""
    groups = spec.groups()
    for attribute in spec.attributes:
        sizes = np.bincount(attribute.codes, minlength=len(attribute.groups))
        groups[attribute.name][sizes[attribute.codes] < spec.suppress_below] = None
    return groups


def _downstream(spec: EmbeddingAuditSpec, progress: Progress) -> Downstream | None:
    """Train the classifiers that were asked for."""
    if not spec.learners:
        return None
    target = spec.target if spec.downstream_target is None else spec.downstream_target
    result = downstream(
        spec.embedding,
        target,
        _visible_groups(spec),
        learners=spec.learners,
        train=spec.train,
        cluster=_split_units(spec, None if spec.downstream_target is None else [target]),
        rebalance=spec.rebalance,
        variant=spec.macro,
        seed=spec.seed,
        draws=spec.draws,
        reference={a.name: sides[0] for a in spec.attributes if len(sides := majoritised(spec, a)) == 1},
        progress=lambda stage, done: progress(stage, 0.75 + 0.22 * done),
    )
    visible = (r for r in result.records if r.kind != "group" or r.people >= spec.suppress_below)
    return replace(result, records=tuple(visible))


def _leakage(spec: EmbeddingAuditSpec) -> Leakage | None:
    """Probe the points for the groups, if that was asked for."""
    if not spec.leakage:
        return None
    groups = _visible_groups(spec)
    cluster = _split_units(spec, list(groups.values()))
    return leakage(spec.embedding, groups, cluster=cluster, seed=spec.seed, draws=spec.draws)


def _split_units(spec: EmbeddingAuditSpec, columns: Sequence[Any] | None) -> NDArray[np.int64] | None:
    """Return which rows must not be on both sides of a split: clusters, else classes that carry what is to be learnt.

    A probe that has seen a person would recognise the person, not the group.
    """
    if spec.cluster is not None or columns is None:
        return spec.cluster
    codes = spec.classes.codes
    several = MANY_CLASSES <= len(np.unique(codes)) < len(codes)
    return codes if several and any(carried_by(codes, factorise(column).codes) for column in columns) else None


def _propagation(records: Iterable[Record], trained: Downstream) -> tuple[PropagationPoint, ...]:
    """Pair the gap of the space with every gap downstream."""
    gaps = [record for record in records if record.measure == f"{UPSTREAM}_gap" and record.defined]
    upstream = {
        gap.attribute[0]: gap.value for gap in gaps if gap.variant in ("paper", _widest(gap.attribute[0], trained))
    }
    return propagation(upstream, trained, measure=UPSTREAM) if upstream else ()


def _widest(attribute: str, trained: Downstream) -> str | None:
    """Return the rule whose gap is paired: of three groups or more the widest, with the widest downstream."""
    return "best_minus_worst" if trained.find(kind="largest gap", attribute=attribute) else None


def _row_records(spec: EmbeddingAuditSpec, dropped: int) -> Iterator[Record]:
    """Yield how many rows there were, and how many had to be dropped."""
    total = len(spec.embedding)
    yield Record(measure="rows", kind="count", value=float(total))
    if dropped:
        yield dropped_rows(dropped, total, "target")


def _named_classes(spec: EmbeddingAuditSpec) -> tuple[str, ...]:
    """Return the classes, where there are few."""
    labels = [label for label in spec.classes.labels if label is not None]
    return tuple(labels) if len(labels) <= MOST_NAMED else ()


def _card(spec: EmbeddingAuditSpec) -> CohortCard:
    """Return who was counted."""
    columns = {group_axis(name): factorise(groups) for name, groups in spec.groups().items()}
    if _named_classes(spec):
        columns[TARGET_AXIS] = spec.classes
    return cohort_card(Cells.from_codes(columns), [a.name for a in spec.attributes])


def _map(spec: EmbeddingAuditSpec) -> SpaceMap | None:
    """Return the map that was asked for; none where small groups are hidden."""
    if spec.map == "none" or spec.suppress_below:
        return None
    picture = embedding_map(spec.embedding, spec.map, seed=spec.seed)
    rows = list(picture.rows)
    classes, named = spec.classes, set(_named_classes(spec))
    labels = [classes.labels[code] for code in classes.codes[rows].tolist()]
    groups = {name: tuple(label_text(values[row]) for row in rows) for name, values in spec.groups().items()}
    return SpaceMap(
        method=picture.method,
        x=tuple(picture.x),
        y=tuple(picture.y),
        explained=picture.explained,
        of=picture.of,
        classes=tuple(label_text(label) for label in labels) if named else (),
        groups=groups,
    )


def _notes(
    spec: EmbeddingAuditSpec, spaces: Mapping[str, EmbeddingTally], leaked: Leakage | None, trained: Downstream | None
) -> Iterator[str]:
    """Yield notes on the rows, the compared groups and the splits."""
    yield from spec.embedding.notes
    if spec.dropped is not None:
        yield from spec.dropped.notes
    first = next(iter(spaces.values()))
    if first.dropped:
        yield (
            f"{first.dropped:,} of {len(spec.embedding):,} rows "
            f"{fitting(first.dropped, 'was dropped: it has', 'were dropped: they have')} no target."
        )
    sizes = np.bincount(first.space.classes.codes)
    if (sizes == 1).any():
        alone = int((sizes == 1).sum())
        yield (
            f"{alone:,} of {int((sizes > 0).sum()):,} classes {fitting(alone, 'has', 'have')} one row only, which is "
            "not a query of recall: its class has no other row."
        )
    for attribute in spec.attributes:
        name, embedded = attribute.name, spaces[attribute.name]
        lost = int((embedded.codes < 0).sum())
        if lost:
            hidden = lost < spec.suppress_below
            many = f"Fewer than {spec.suppress_below:,} rows" if hidden else plural(lost, "row")
            has, stay = ("has", "it stays") if lost == 1 and not hidden else ("have", "they stay")
            yield f"{many} {has} no group of {name} that is compared: {stay} among the neighbours."
        people = sizes_of(spec, attribute)
        tied = [group for group in embedded.groups if people[group] == max(people.values())]
        if len(tied) > 1 and name not in spec.majoritised and name not in spec.minoritised:
            yield f"{name}: no group is the largest; gaps compare the others with {tied[0]!r} (name it to change that)."
    if leaked is not None and spec.cluster is None and _split_units(spec, list(spec.groups().values())) is not None:
        yield "Probes kept the rows of a class on one side of each split: a class nearly always has one group."
    if spec.draws:
        yield (
            "Intervals of mutual information and its gaps are approximate (a jackknife on the contingency table): "
            "those of gaps cover about 84% instead of 95%. Read their tests."
        )
    if spec.metric == "cosine":
        yield "Every point was scaled to length 1 first (cosine)."
    if leaked is not None:  # the number of rows of a hidden group stays hidden here too
        yield from leaked.remarks if spec.suppress_below else leaked.notes
    if trained is not None:
        yield from trained.notes


def _provenance(spec: EmbeddingAuditSpec, command: Iterable[str] | None) -> dict[str, object]:
    """Describe how the result was made."""
    # Half a character in a name is hashed like any other.
    names = ["\0".join([a.name, *a.groups]).encode("utf-8", "surrogatepass") for a in spec.attributes]
    codes = [*(a.codes.tobytes() for a in spec.attributes), spec.classes.codes.tobytes()]
    return provenance(
        fingerprint=fingerprint_of([spec.embedding.fingerprint.encode(), *names, *codes]),
        command=command,
        data=spec.embedding.name,
        rows=len(spec.embedding),
        columns={"embedding": spec.embedding.key, "rows": spec.table, **spec.columns},
        options={
            **{name: getattr(spec, name) for name in OPTIONS},
            "width": spec.embedding.width,
            "drop": spec.dropped is not None,
            "dropped": None if spec.dropped is None else spec.dropped.as_json(),
            "majoritised": {a.name: list(majoritised(spec, a)) for a in spec.attributes},
            "minoritised": {name: list(groups) for name, groups in spec.minoritised.items()},
            "learners": [str(name) for name in spec.learners],
        },
    )
