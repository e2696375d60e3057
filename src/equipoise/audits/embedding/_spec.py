"""What an audit of an embedding needs to know, checked: the points, whose they are, the options and who is compared."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.audits._options import AUDIT_OPTIONS, EMBEDDING
from equipoise.audits._units import Attribute
from equipoise.audits.compare import ColumnRoles, rows_of
from equipoise.audits.downstream import CLASSIFIER_SETTINGS, roles_of
from equipoise.cohorts import (
    NPY,
    DroppedRows,
    Embedding,
    drop_unusable,
    file_ending,
    open_embedding,
    parse_bins,
    read_row_ids,
)
from equipoise.foundation import (
    BadInput,
    check_options,
    fitting,
    plural,
    unknown_name,
)
from equipoise.tallies import (
    Coded,
    EmbeddingTally,
    classes_of,
    embed,
    factorise,
    label_of,
)

# Squares of larger (or smaller) numbers leave what float32 can hold.
SMALLEST, LARGEST = 1e-15, 1e15
# The options that are taken as they are given.
OPTIONS = (
    "k", "metric", "rebalance", "macro", "leakage", "map", "include_missing", "suppress_below", "least_people", "draws",
    "seed",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class EmbeddingAuditSpec:
    """Everything an audit of an embedding needs to know. Columns have a value a point, in the order of the points."""

    embedding: Embedding
    dropped: DroppedRows | None
    table: str
    target: Any
    attributes: tuple[Attribute, ...]
    cluster: NDArray[np.int64] | None
    downstream_target: Any
    # What each row is for: "train", "dev" or "test".
    train: NDArray[np.str_] | None
    columns: Mapping[str, object]
    majoritised: Mapping[str, tuple[str, ...]]
    minoritised: Mapping[str, tuple[str, ...]]
    learners: Any
    # The options, as they are declared.
    k: int
    metric: str
    rebalance: bool | str
    macro: str
    leakage: bool
    map: str
    include_missing: bool
    suppress_below: int
    least_people: int
    draws: int
    seed: int

    @cached_property
    def classes(self) -> Coded:
        """The class of every row."""
        return classes_of(self.target, "target")

    @property
    def has_class(self) -> NDArray[np.bool_]:
        """Tell which rows have a class: the others are dropped."""
        return np.array([label is not None for label in self.classes.labels], dtype=bool)[self.classes.codes]

    def groups(self) -> dict[str, NDArray[np.object_]]:
        """Return the group of every row, by attribute; None where a row has none."""
        groups = {}
        for attribute in self.attributes:
            names = attribute.groups[: len(attribute.groups) - attribute.has_missing]
            groups[attribute.name] = np.array([*names, None], dtype=object)[attribute.codes]
        return groups


def resolve_embedding(points: object, arguments: Mapping[str, Any]) -> EmbeddingAuditSpec:
    """Return the spec of what a caller gave: a file with points and a table of rows, or arrays."""
    if arguments["target"] is None:
        raise BadInput(
            "No target was given", available="the class of every point", help="name it with --target (target=)."
        )
    options = {name: arguments[name] for name in OPTIONS}
    check_options((option for option in AUDIT_OPTIONS if option.used_by(EMBEDDING)), options, "audit")
    drop, row_id, missing = arguments["drop"], arguments["id"], _names(arguments["missing"])
    opened = _opened(points, arguments["embedding"], row_id, drop=drop)
    dropped = None
    if drop:
        rows = arguments["rows"]
        row_ids = None if row_id is None or rows is None else read_row_ids(rows, row_id, missing)
        usable, dropped = drop_unusable({"points": opened}, by_id=row_id is not None, row_ids=row_ids)
        opened = usable["points"]
    request = ColumnRoles(
        sensitive_features=arguments["sensitive_features"],
        cluster=arguments["cluster"],
        id=row_id,
        drop=drop,
        bins=parse_bins(arguments["bins"]),
        categorical=_names(arguments["categorical"]),
        missing=missing,
        further={
            role: arguments[role] for role in ("target", "train", "downstream_target") if arguments[role] is not None
        },
    )
    _check_points(opened, arguments["k"])
    people = rows_of(opened, arguments["rows"], request)
    _check_classes(people.further["target"])
    train, downstream = people.further.get("train"), arguments["downstream"]
    return EmbeddingAuditSpec(
        embedding=opened,
        dropped=dropped,
        table=people.name,
        target=people.further["target"],
        attributes=people.attributes,
        cluster=None if people.cluster is None else people.cluster.codes,
        downstream_target=people.further.get("downstream_target"),
        train=None if train is None else roles_of(train),
        columns=people.columns,
        majoritised=_sides("majoritised", arguments["majoritised"], people.attributes),
        minoritised=_sides("minoritised", arguments["minoritised"], people.attributes),
        learners=tuple(CLASSIFIER_SETTINGS) if downstream is True else downstream or (),
        **options,
    )


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _opened(points: object, key: str | None, id: str | None, *, drop: bool) -> Embedding:
    """Open a file (an array alone in its file needs no name), or take an array as it is."""
    if not isinstance(points, (str, os.PathLike)):
        if key is not None:
            raise BadInput(
                f"The embedding is named {key!r}, but points are no file",
                available="a path (.npy, .npz, .safetensors, or a table with a column of lists) and name, or an array",
            )
        return open_embedding(points, drop=drop)
    return open_embedding(points, None if file_ending(Path(points)) == NPY else key, id=id, drop=drop)


def _sides(side: str, value: object, attributes: Sequence[Attribute]) -> dict[str, tuple[str, ...]]:
    """Return the groups on one side of the gap, for each attribute that has some named."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise BadInput(f"{side} is {value!r}", available="a mapping such as {'race': ['White']}")
    groups = {attribute.name: attribute.groups for attribute in attributes}
    sides: dict[str, tuple[str, ...]] = {}
    for name, chosen in value.items():
        if name not in groups:
            raise unknown_name("attribute", str(name), groups, "the groups of this audit")
        several = list(chosen) if isinstance(chosen, Iterable) and not isinstance(chosen, str) else [chosen]
        sides[str(name)] = tuple(str(label_of(group)) for group in several)
        for group in sides[str(name)]:
            if group not in groups[name]:
                raise unknown_name("group", group, groups[name], f"the groups of {name}")
        if set(sides[str(name)]) >= set(groups[name]):
            raise BadInput(f"All groups of {name} were named as {side}", available="some, so that others are left")
    return sides


def _check_points(points: Embedding, k: int) -> None:
    """Refuse points that no distance can tell apart, and neighbours that are not there."""
    low, high, size = np.inf, -np.inf, 0.0
    first, same = None, True
    for block in points.blocks():
        first = block[0] if first is None else first
        same = same and bool((block == first).all())
        low, high = min(low, float(block.min())), max(high, float(block.max()))
        size = max(size, float(np.abs(block).max()))
    if same:
        raise BadInput(f"All points of {points.name} are the same", help="check the layer that they were read from.")
    if not SMALLEST <= size <= LARGEST:
        raise BadInput(
            f"The points of {points.name} reach from {low:.3g} to {high:.3g}: no distance can be computed",
            available=f"numbers between {SMALLEST:g} and {LARGEST:g} in size",
            help="divide them by one number first.",
        )
    if k >= len(points):
        raise BadInput(
            f"k is {k:,} and there {fitting(len(points), 'is', 'are')} {plural(len(points), 'point')}",
            available=f"1 to {len(points) - 1:,} neighbours",
        )


def _check_classes(target: Any) -> None:
    coded = factorise(target)
    present = np.bincount(coded.codes, minlength=len(coded.labels)) * np.array(
        [label is not None for label in coded.labels]
    )
    classes = int((present > 0).sum())
    if classes < 2 or present.max() < 2:
        few = "one class only" if classes else "no values: every one is missing"
        raise BadInput(
            f"The target has {few if classes < 2 else 'a class of its own for every row'}",
            available="at least two classes, one of them with several rows",
            help="name the column whose classes the points should show.",
        )


def sizes_of(spec: EmbeddingAuditSpec, attribute: Attribute) -> dict[str, int]:
    """Return how many rows the groups of an attribute have, those that may be compared and shown."""
    rows = np.bincount(attribute.codes, minlength=len(attribute.groups))
    tested = attribute.tested(include_missing=spec.include_missing)
    least = max(spec.suppress_below, 1)
    return {attribute.groups[code]: int(rows[code]) for code in tested if rows[code] >= least}


def compared_groups(spec: EmbeddingAuditSpec, attribute: Attribute) -> tuple[str, ...]:
    """Return the groups that are large enough; all of them where that leaves nothing to compare."""
    sizes = sizes_of(spec, attribute)
    large = tuple(group for group, rows in sizes.items() if rows >= spec.least_people)
    return large if len(large) > 1 else tuple(sizes)


def majoritised(spec: EmbeddingAuditSpec, attribute: Attribute) -> tuple[str, ...]:
    """Return the groups that others are compared with: those named, else the largest (the first of equals)."""
    named = spec.majoritised.get(attribute.name, ())
    if named or spec.minoritised.get(attribute.name):
        return named
    sizes = sizes_of(spec, attribute)
    return (max(compared_groups(spec, attribute), key=lambda group: sizes[group]),)


def overall_space(spec: EmbeddingAuditSpec) -> EmbeddingTally:
    """Return all rows as one group. Neighbours and clusters are found here once, for every attribute."""
    return embed(
        spec.embedding.numbers(), spec.target, cluster=spec.cluster, k=spec.k, metric=spec.metric,
        seed=spec.seed,
    )  # fmt: skip


def grouped(
    tally: EmbeddingTally, spec: EmbeddingAuditSpec, attribute: Attribute, groups: Collection[str]
) -> EmbeddingTally:
    """Return the same space in some groups of an attribute; rows of other groups are in none."""
    present = tuple(group for group in attribute.groups if group in groups)
    code = np.array([present.index(group) if group in present else -1 for group in attribute.groups], dtype=np.int64)
    return replace(tally, codes=code[attribute.codes][spec.has_class], groups=present)


def compared_space(tally: EmbeddingTally, spec: EmbeddingAuditSpec, attribute: Attribute) -> EmbeddingTally:
    """Return the space in the groups that are compared, with the sides of their gaps."""
    space = grouped(tally, spec, attribute, compared_groups(spec, attribute))
    sides = (majoritised(spec, attribute), spec.minoritised.get(attribute.name, ()))
    first, second = (tuple(group for group in side if group in space.groups) for side in sides)
    return replace(space, majoritised=first, minoritised=second)
