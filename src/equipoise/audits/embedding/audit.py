"""The audit of an embedding: is the space as good for every group, and what carries over (paper 000)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.audits.downstream.learners import LEARNERS
from equipoise.audits.downstream.propagation import PropagationPoint, propagation
from equipoise.audits.downstream.result import Downstream
from equipoise.audits.downstream.training import downstream as train_downstream
from equipoise.audits.embedding.maps import embedding_map
from equipoise.audits.embedding.question import EmbeddingQuestion, ask_embedding
from equipoise.audits.embedding.records import Where, attribute_records, everyone_records, small_records
from equipoise.audits.embedding.words import say_embedding
from equipoise.audits.leakage.probing import Leakage
from equipoise.audits.leakage.probing import leakage as probe
from equipoise.audits.proof import Proof
from equipoise.audits.result import SCHEMA, AuditResult, SpaceMap
from equipoise.audits.suppression import suppressed_card
from equipoise.audits.words import say_untold
from equipoise.cohorts.binning import Bins
from equipoise.cohorts.card import Card, card_of
from equipoise.foundation.provenance import fingerprint_of, provenance
from equipoise.foundation.results import Record
from equipoise.tallies.cells import Cells
from equipoise.tallies.counts import TARGET, group_axis
from equipoise.tallies.embedded import Embedded, embed
from equipoise.tallies.factorise import Coded, factorise
from equipoise.tallies.labels import shown

Progress = Callable[[str, float], None]
# A card and a map name classes where there are no more than this; a person's name is not shown.
MOST_NAMED = 20
# The upstream number whose gap is set against the gaps downstream.
UPSTREAM = "recall_at_k"
# So many classes can be dealt to folds, and so sure must a class be of a row's group to stand for it.
MANY_CLASSES = 10
NEARLY = 0.9


def audit_embedding(
    points: object,
    *,
    target: object = None,
    sensitive_features: object = None,
    rows: object = None,
    embedding: str | None = None,
    id: str | None = None,
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
    and are arrays without it. Rows are taken in their order, or matched by ``id``.

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
    learners = tuple(LEARNERS) if downstream is True else downstream or ()
    question = ask_embedding(
        points, embedding=embedding, rows=rows, id=id, target=target, sensitive_features=sensitive_features,
        cluster=cluster, train=train, downstream_target=downstream_target, majoritised=majoritised,
        minoritised=minoritised, rebalance=rebalance, macro=macro, bins=bins,
        categorical=_names(categorical), missing=_names(missing), k=k, metric=metric, learners=learners,
        leakage=leakage, map=map, include_missing=include_missing, suppress_below=suppress_below,
        least_people=least_people, draws=draws, seed=seed,
    )  # fmt: skip
    return _answer(question, progress or (lambda what, done: None), command)


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _answer(question: EmbeddingQuestion, tell: Progress, command: Iterable[str] | None) -> AuditResult:
    tell("Measuring the space", 0.02)
    spaces = {a.name: _embedded(question, a.name, _compared(question, a.name)) for a in question.attributes}
    records = Proof().finish(list(_records(question, spaces, tell)))
    tell("Reading the groups from the embedding", 0.6)
    leaked = _leakage(question)
    tell("Training classifiers", 0.75)
    carried = _downstream(question, tell)
    tell("Drawing the map", 0.97)
    return AuditResult(
        schema=SCHEMA,
        records=(*_rows(question, spaces), *records),
        provenance=_provenance(question, command),
        card=suppressed_card(_card(question), question.suppress_below),
        words=tuple(say_embedding(records, leaked, carried)),
        untold=tuple(say_untold(records)),
        notes=tuple(_notes(question, spaces, leaked, carried)),
        classes=_named_classes(question),
        favourable=None,
        downstream=() if carried is None else carried.records,
        leakage=() if leaked is None else leaked.records,
        propagation=() if carried is None else _propagation(records, carried),
        map=_map(question),
    )


def _sizes(question: EmbeddingQuestion, name: str) -> dict[str, int]:
    """How many rows the groups of an attribute have, those that may be compared and told."""
    attribute = next(a for a in question.attributes if a.name == name)
    rows = np.bincount(attribute.codes, minlength=len(attribute.groups))
    tested = attribute.tested(include_missing=question.include_missing)
    least = max(question.suppress_below, 1)
    return {attribute.groups[place]: int(rows[place]) for place in tested if rows[place] >= least}


def _compared(question: EmbeddingQuestion, name: str) -> tuple[str, ...]:
    """The groups that are large enough; all of them where that leaves nothing to compare."""
    sizes = _sizes(question, name)
    large = tuple(group for group, rows in sizes.items() if rows >= question.least_people)
    return large if len(large) > 1 else tuple(sizes)


def _majoritised(question: EmbeddingQuestion, name: str) -> tuple[str, ...]:
    """The groups that others are held against: those named, else the largest (the first, where several are)."""
    named = question.majoritised.get(name, ())
    if named or question.minoritised.get(name):
        return named
    sizes = _sizes(question, name)
    return (max(_compared(question, name), key=lambda group: sizes[group]),)


def _embedded(question: EmbeddingQuestion, name: str, groups: Collection[str], sides: bool = True) -> Embedded:
    attribute = next(a for a in question.attributes if a.name == name)
    names = np.array([group if group in groups else None for group in attribute.groups], dtype=object)
    return embed(
        question.embedding.numbers(),
        question.target,
        {name: names[attribute.codes]},
        cluster=question.cluster,
        majoritised=[group for group in _majoritised(question, name) if group in groups] if sides else (),
        minoritised=[group for group in question.minoritised.get(name, ()) if group in groups] if sides else (),
        k=question.k,
        metric=question.metric,
        seed=question.seed,
    )


def _records(question: EmbeddingQuestion, spaces: Mapping[str, Embedded], tell: Progress) -> Iterator[Record]:
    for number, (name, embedded) in enumerate(spaces.items()):
        share = 0.05 + 0.55 * number / len(spaces)
        where = Where(
            name, question.least_people, question.draws, question.seed,
            lambda what, done=share, name=name: tell(f"{name}: {what}", done),  # type: ignore[misc]
        )  # fmt: skip
        if number == 0:
            yield from everyone_records(embedded, where)
        yield from attribute_records(embedded, where)
        small = [group for group in _sizes(question, name) if group not in embedded.groups]
        if small:
            yield from small_records(_embedded(question, name, small, sides=False), where)


def _rows(question: EmbeddingQuestion, spaces: Mapping[str, Embedded]) -> Iterator[Record]:
    total = len(question.embedding)
    yield Record(measure="rows", kind="count", value=float(total))
    dropped = next(iter(spaces.values())).dropped
    if dropped:
        yield Record(
            measure="rows",
            kind="count",
            value=float(dropped),
            numerator=float(dropped),
            denominator=float(total),
            status="dropped",
            reason=f"{dropped:,} of {total:,} rows have no target",
        )


def _groups(question: EmbeddingQuestion) -> dict[str, NDArray[np.object_]]:
    """The groups of every row, by attribute; None where a row has none."""
    found = {}
    for attribute in question.attributes:
        known = attribute.groups[: len(attribute.groups) - attribute.has_missing]
        found[attribute.name] = np.array([*known, None], dtype=object)[attribute.codes]
    return found


def _told_groups(question: EmbeddingQuestion) -> dict[str, NDArray[np.object_]]:
    """The groups of every row, those that are too small to be told left out."""
    found = _groups(question)
    for attribute in question.attributes:
        sizes = np.bincount(attribute.codes, minlength=len(attribute.groups))
        found[attribute.name][sizes[attribute.codes] < question.suppress_below] = None
    return found


def _downstream(question: EmbeddingQuestion, tell: Progress) -> Downstream | None:
    if not question.learners:
        return None
    target = question.target if question.downstream_target is None else question.downstream_target
    found = train_downstream(
        question.embedding,
        target,
        _told_groups(question),
        learners=question.learners,
        train=question.train,
        cluster=_kept_together(question, None if question.downstream_target is None else [target]),
        rebalance=question.rebalance,
        variant=question.macro,
        seed=question.seed,
        draws=question.draws,
        reference={a.name: sides[0] for a in question.attributes if len(sides := _majoritised(question, a.name)) == 1},
        progress=lambda what, done, total: tell(what, 0.75 + 0.22 * done / total),
    )
    told = (record for record in found.records if record.kind != "group" or record.people >= question.suppress_below)
    return replace(found, records=tuple(told))


def _leakage(question: EmbeddingQuestion) -> Leakage | None:
    if not question.leakage:
        return None
    groups = _told_groups(question)
    cluster = _kept_together(question, list(groups.values()))
    return probe(question.embedding, groups, cluster=cluster, seed=question.seed, draws=question.draws)


def _kept_together(question: EmbeddingQuestion, columns: Sequence[Any] | None) -> NDArray[np.int64] | None:
    """Return which rows must not be on both sides of a split: clusters, else classes that tell what is to be learnt.

    A probe that has seen a person would recognise the person, not the group.
    """
    if question.cluster is not None or columns is None:
        return question.cluster
    classes = _classes(question).codes
    if len(np.unique(classes)) >= MANY_CLASSES and any(_told_by(classes, factorise(c).codes) for c in columns):
        return classes
    return None


def _told_by(classes: NDArray[np.int64], codes: NDArray[np.int64]) -> bool:
    """Tell whether the class of a row nearly always says its other value too, although rows share classes."""
    pairs = np.unique(np.stack([classes, codes], axis=1), axis=0, return_counts=True)
    most = np.zeros(classes.max() + 1, dtype=np.int64)
    np.maximum.at(most, pairs[0][:, 0], pairs[1])
    return bool(most.sum() >= NEARLY * len(classes) and len(np.unique(classes)) < len(classes))


def _propagation(records: Iterable[Record], carried: Downstream) -> tuple[PropagationPoint, ...]:
    gaps = [record for record in records if record.measure == f"{UPSTREAM}_gap" and record.defined]
    upstream = {
        gap.attribute[0]: gap.value for gap in gaps if gap.variant in ("paper", _widest(gap.attribute[0], carried))
    }
    return propagation(upstream, carried, measure=UPSTREAM) if upstream else ()


def _widest(attribute: str, carried: Downstream) -> str | None:
    """Of three groups or more the widest gap is set against the widest downstream; of two there is one."""
    return "best_minus_worst" if carried.find(kind="largest gap", attribute=attribute) else None


def _classes(question: EmbeddingQuestion) -> Coded:
    return factorise(question.target)


def _named_classes(question: EmbeddingQuestion) -> tuple[str, ...]:
    labels = [label for label in _classes(question).labels if label is not None]
    return tuple(labels) if len(labels) <= MOST_NAMED else ()


def _card(question: EmbeddingQuestion) -> Card:
    columns = {group_axis(name): factorise(groups) for name, groups in _groups(question).items()}
    if _named_classes(question):
        columns[TARGET] = _classes(question)
    return card_of(Cells.from_codes(columns), [a.name for a in question.attributes])


def _map(question: EmbeddingQuestion) -> SpaceMap | None:
    if question.map == "none" or question.suppress_below:
        return None
    drawn = embedding_map(question.embedding, question.map, seed=question.seed)
    places = list(drawn.rows)
    classes, named = _classes(question), set(_named_classes(question))
    labels = [classes.labels[code] for code in classes.codes[places].tolist()]
    groups = {name: tuple(shown(values[place]) for place in places) for name, values in _groups(question).items()}
    return SpaceMap(
        method=drawn.method,
        x=tuple(drawn.x),
        y=tuple(drawn.y),
        explained=drawn.explained,
        of=drawn.of,
        classes=tuple(shown(label) for label in labels) if named else (),
        groups=groups,
    )


def _notes(
    question: EmbeddingQuestion, spaces: Mapping[str, Embedded], leaked: Leakage | None, carried: Downstream | None
) -> Iterator[str]:
    yield from question.embedding.notes
    first = next(iter(spaces.values()))
    if first.dropped:
        yield f"{first.dropped:,} of {len(question.embedding):,} rows were dropped: they have no target."
    sizes = np.bincount(first.space.classes.codes)
    if (sizes == 1).any():
        alone = int((sizes == 1).sum())
        yield (
            f"{alone:,} of {int((sizes > 0).sum()):,} classes {'has' if alone == 1 else 'have'} one row only, which is "
            "no query of recall: nothing else of its class can be found."
        )
    for name, embedded in spaces.items():
        lost = int((embedded.codes < 0).sum())
        if lost:
            many = f"{lost:,}" if lost >= question.suppress_below else f"Fewer than {question.suppress_below:,}"
            yield f"{many} rows have no group of {name} that is compared: they stay among the neighbours."
        sizes_of = _sizes(question, name)
        tied = [group for group in embedded.groups if sizes_of[group] == max(sizes_of.values())]
        if len(tied) > 1 and name not in question.majoritised and name not in question.minoritised:
            yield f"{name}: no group is the largest; gaps hold the others against {tied[0]!r} (name it to change that)."
    if (
        leaked is not None
        and question.cluster is None
        and _kept_together(question, list(_groups(question).values())) is not None
    ):
        yield "Rows of one class were kept together when groups were read: a class nearly always has one group."
    if question.metric == "cosine":
        yield "Every point was brought to length 1 first (cosine)."
    for part in (leaked, carried):
        if part is not None:  # how many rows a hidden group has is not told here either
            yield from (note for note in part.notes if not question.suppress_below or "left out (rows:" not in note)


def _provenance(question: EmbeddingQuestion, command: Iterable[str] | None) -> dict[str, object]:
    columns: dict[str, Any] = dict(question.columns)
    # Half a character in a name is hashed like any other.
    names = ["\0".join([a.name, *a.groups]).encode("utf-8", "surrogatepass") for a in question.attributes]
    codes = [*(a.codes.tobytes() for a in question.attributes), _classes(question).codes.tobytes()]
    return provenance(
        fingerprint=fingerprint_of([question.embedding.fingerprint.encode(), *names, *codes]),
        command=command,
        data=question.embedding.name,
        rows=len(question.embedding),
        columns={"embedding": question.embedding.key, "rows": question.table, **columns},
        options={
            "k": question.k, "metric": question.metric, "width": question.embedding.width,
            "majoritised": {a.name: list(_majoritised(question, a.name)) for a in question.attributes},
            "minoritised": {name: list(groups) for name, groups in question.minoritised.items()},
            "rebalance": question.rebalance, "macro": question.macro,
            "learners": [str(name) for name in question.learners], "leakage": question.leakage, "map": question.map,
            "include_missing": question.include_missing, "suppress_below": question.suppress_below,
            "least_people": question.least_people, "draws": question.draws, "seed": question.seed,
        },
    )  # fmt: skip
