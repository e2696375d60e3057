"""The audit of an embedding: is the space as good for every group, and what carries over (paper 000)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from equipoise.audits._multiple_testing import MultipleTesting
from equipoise.audits._small_groups import suppressed_card
from equipoise.audits.downstream.settings import RULES
from equipoise.audits.embedding._spec import EmbeddingAuditSpec, resolve_embedding
from equipoise.audits.embedding.carrying import Progress, carried_over, probed, trained
from equipoise.audits.embedding.records import Where, attribute_records, everyone_records, small_records, tests_of
from equipoise.audits.embedding.spaces import compared_space, grouped, sizes_of, whole_space
from equipoise.audits.embedding.telling import (
    card_for,
    map_for,
    named_classes,
    notes_on,
    provenance_of,
    row_records,
)
from equipoise.audits.result import SCHEMA, AuditResult
from equipoise.cohorts.binning import Bins
from equipoise.results import Record
from equipoise.tallies.embedded import Embedded


def audit_embedding(
    points: object,
    *,
    target: object = None,
    sensitive_features: object = None,
    rows: object = None,
    embedding: str | None = None,
    id: str | None = None,
    drop: bool = False,
    cluster: object = None,
    k: int = 1,
    metric: str = "euclidean",
    majoritised: Mapping[str, object] | None = None,
    minoritised: Mapping[str, object] | None = None,
    downstream: object = (),
    downstream_target: object = None,
    rebalance: bool | str = False,
    macro: str = "default",
    train: object = None,
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

    ``points`` is a path (``.npy``, ``.npz``, ``.safetensors``, or a table with a column of lists; ``embedding`` then
    names the array or column) or an array of numpy or torch. ``rows`` says whose points they are: a path, a frame or a
    Cohort; ``target``, ``sensitive_features``, ``cluster``, ``train`` and ``downstream_target`` then name its columns,
    and are arrays without it. Rows are taken in their order, or matched by ``id``. Points that are not finite and ids
    that are not in both files are refused; with ``drop`` those rows are left out, and a note says how many and why.

    ``k`` and ``metric`` say which neighbours count. ``majoritised`` names the groups that ``minoritised`` ones (by
    default all others) are held against, as in ``{"race": ["White"]}``; by default that is the largest. ``cluster``
    says which rows belong together; without it those of one class do where the class has one group. Groups under
    ``least_people`` are shown, and left out of gaps.

    ``downstream`` names classifiers to train on the points (``True`` for logistic regression, SVM, random forest and
    k-means; any objects with fit and predict), for the target or ``downstream_target``, with ``train`` rows or in
    folds, ``rebalance``d (``"up"``, ``"down"``, ``"weights"``) or as given; ``macro="paper"`` takes means over classes
    as the paper does. ``leakage`` asks how well the groups can be read from the points. ``map`` is ``pca``, ``tsne``,
    ``umap`` or ``none``.
    """
    learners = tuple(RULES) if downstream is True else downstream or ()
    spec = resolve_embedding(
        points, embedding=embedding, rows=rows, id=id, drop=drop, target=target, sensitive_features=sensitive_features,
        cluster=cluster, train=train, downstream_target=downstream_target, majoritised=majoritised,
        minoritised=minoritised, rebalance=rebalance, macro=macro, bins=bins,
        categorical=_names(categorical), missing=_names(missing), k=k, metric=metric, learners=learners,
        leakage=leakage, map=map, include_missing=include_missing, suppress_below=suppress_below,
        least_people=least_people, draws=draws, seed=seed,
    )  # fmt: skip
    return _answer(spec, progress or (lambda what, done: None), command)


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _answer(spec: EmbeddingAuditSpec, tell: Progress, command: Iterable[str] | None) -> AuditResult:
    tell("Measuring the space", 0.02)
    whole = whole_space(spec)
    spaces = {attribute.name: compared_space(whole, spec, attribute) for attribute in spec.attributes}
    records = MultipleTesting().finish(list(_records(spec, whole, spaces, tell)))
    tell("Reading the groups from the embedding", 0.6)
    leaked = probed(spec)
    tell("Training classifiers", 0.75)
    carried = trained(spec, tell)
    tell("Drawing the map", 0.97)
    return AuditResult(
        schema=SCHEMA,
        records=(*row_records(spec, whole.dropped), *records),
        provenance=provenance_of(spec, command),
        card=suppressed_card(card_for(spec), spec.suppress_below),
        notes=tuple(notes_on(spec, spaces, leaked, carried)),
        classes=named_classes(spec),
        favourable=None,
        downstream=() if carried is None else carried.records,
        leakage=() if leaked is None else leaked.records,
        propagation=() if carried is None else carried_over(records, carried),
        map=map_for(spec),
    )


def _records(
    spec: EmbeddingAuditSpec, whole: Embedded, spaces: Mapping[str, Embedded], tell: Progress
) -> Iterator[Record]:
    tests = sum(tests_of(space) for space in spaces.values())
    for number, attribute in enumerate(spec.attributes):
        embedded, share = spaces[attribute.name], 0.05 + 0.55 * number / len(spaces)
        say = partial(_tell_measure, tell, attribute.name, share)
        where = Where(attribute.name, spec.least_people, spec.draws, spec.seed, say, tests)
        if number == 0:
            yield from everyone_records(whole, where)
        yield from attribute_records(embedded, where)
        small = [group for group in sizes_of(spec, attribute) if group not in embedded.groups]
        if small:
            yield from small_records(grouped(whole, spec, attribute, small), where)


def _tell_measure(tell: Progress, attribute: str, share: float, measure: str) -> None:
    tell(f"{attribute}: {measure}", share)
