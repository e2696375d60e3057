"""What a comparison needs to know, checked: its options, the points, and whose points they are."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.audits._columns import check_group, edges_of
from equipoise.audits._options import COMPARE_OPTIONS, TYPED
from equipoise.audits._units import Attribute as Attribute
from equipoise.cohorts import (
    NPY,
    Axis,
    Bins,
    Cohort,
    DroppedRows,
    EagerTable,
    Embedding,
    align_embeddings,
    bin_names,
    check_same_length,
    drop_unusable,
    file_ending,
    in_source_order,
    open_embedding,
    pair_rows,
    parse_bins,
    read_row_ids,
)
from equipoise.foundation import (
    BadInput,
    Floats,
    as_column,
    as_columns,
    as_floats,
    check_options,
)
from equipoise.stats import (
    Units,
    unit_profiles,
)
from equipoise.tallies import Label

TIES = ("whole", "fractional")
# The part of a column that only names the rows that are listed.
LABEL = "label"
PREDICTIONS = ("prediction_before", "prediction_after")
# A column of text with more values than this describes nobody in words.
MOST_DESCRIBED = 100


@dataclass(frozen=True, kw_only=True, eq=False)
class CompareSpec:
    """Everything a comparison needs to know, checked: points in one order, whose they are, and the options."""

    before: Embedding
    after: Embedding
    rerun: Embedding | None
    dropped: DroppedRows | None
    people: CompareRows
    direction: object
    # The options, as they are declared.
    share: float
    ties: str
    kernel: str
    bandwidth: float | None
    self_term: bool
    include_missing: bool
    show_rows: bool
    suppress_below: int
    draws: int
    seed: int

    @property
    def spaces(self) -> list[Embedding]:
        """The points before and after, and of a rerun where there is one."""
        return [space for space in (self.before, self.after, self.rerun) if space is not None]

    @property
    def clustered(self) -> bool:
        """Whether rows that belong together were named."""
        return self.people.cluster is not None

    @cached_property
    def units(self) -> Units:
        """What tests permute groups over: clusters where they were named, otherwise distinct profiles."""
        if self.people.cluster is not None:
            return Units.of_codes(self.people.cluster.codes)
        return unit_profiles(self.before.points, self.after.points)


OPTIONS = (
    "share", "ties", "kernel", "bandwidth", "self_term", "include_missing", "show_rows", "suppress_below", "draws",
    "seed",
)  # fmt: skip


def resolve_comparison(before: object, after: object, arguments: Mapping[str, Any]) -> CompareSpec:
    """Return the spec of what a caller gave; options that cannot be are refused before any file is opened."""
    options = {name: arguments[name] for name in OPTIONS}
    check_options(COMPARE_OPTIONS, options, "compare")
    share, least, row_id, rows = arguments["share"], arguments["suppress_below"], arguments["id"], arguments["rows"]
    if not isinstance(share, (int, float)) or not 0 < share < 1:
        raise BadInput(f"The share is {share!r}", available="a number between 0 and 1, such as 0.1")
    if arguments["show_rows"] and least > 1:
        raise BadInput(
            f"Rows of single people were asked for, and numbers about fewer than {least:,} people are to be hidden",
            help="leave out --show-rows (show_rows=) or --suppress-below (suppress_below=).",
        )
    labels_only = (
        arguments["show_rows"]
        and row_id is not None
        and rows is not None
        and _no_ids(before, after, arguments["rerun"])
    )
    request = ColumnRoles(
        **{name: arguments[name] for name in ("sensitive_features", "describe", *PREDICTIONS, "cluster", "drop")},
        id=None if labels_only else row_id,
        bins=parse_bins(arguments["bins"]),
        categorical=_texts(arguments["categorical"]),
        missing=_texts(arguments["missing"]),
        further={LABEL: row_id} if labels_only else {},
    )
    spaces, dropped = _opened(before, after, arguments["rerun"], arguments["embedding"], rows, request)
    return CompareSpec(
        before=spaces["before"], after=spaces["after"], rerun=spaces.get("rerun"), dropped=dropped,
        people=rows_of(spaces["before"], rows, request), direction=arguments["direction"], **options,
    )  # fmt: skip


def _texts(texts: str | Sequence[str]) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else tuple(texts)


def _opened(
    before: object, after: object, rerun: object, key: str | None, rows: object, request: ColumnRoles
) -> tuple[dict[str, Embedding], DroppedRows | None]:
    """Open the points and bring them into the order of the first; with ``drop``, only rows that all of them have."""
    by_id = request.id is not None
    spaces: dict[str, Embedding] = {}
    for role, source in (("before", before), ("after", after), ("rerun", rerun)):
        if role == "rerun":
            if source is None:
                continue
            _check_rerun(source, spaces)
        # Files are called by their names, arrays by the part they play.
        name = None if isinstance(source, str) or hasattr(source, "__fspath__") else role
        space = open_embedding(source, key, id=request.id, name=name, drop=request.drop)
        spaces[role] = space if request.drop or not spaces else align_embeddings(spaces["before"], space, by_id=by_id)
    if not request.drop:
        return spaces, None
    row_ids = None if request.id is None or rows is None else read_row_ids(rows, request.id, request.missing)
    usable, dropped = drop_unusable(spaces, by_id=by_id, row_ids=row_ids)
    return dict(usable), dropped


def _check_rerun(rerun: object, spaces: Mapping[str, Embedding]) -> None:
    for role in ("after", "before"):
        path = spaces[role].path
        if path is not None and isinstance(rerun, (str, os.PathLike)) and Path(rerun).samefile(path):
            raise BadInput(
                f"The rerun is the file {role.upper()} itself",
                available="what a second, identical run of the same change gave",
            )


def _no_ids(*points: object) -> bool:
    """Tell whether none of these can say which row is whose: arrays in memory, and files of one array."""
    return not any(
        source.ids is not None
        if isinstance(source, Embedding)
        else isinstance(source, (str, os.PathLike)) and file_ending(source) != NPY
        for source in points
        if source is not None
    )


@dataclass(frozen=True, eq=False)
class Quantity:
    """A column of numbers that describes people; a missing one is NaN."""

    name: str
    values: Floats

    def only(self, rows: NDArray[np.bool_]) -> Quantity:
        """Return the same for some rows."""
        return replace(self, values=self.values[rows])


@dataclass(frozen=True, eq=False)
class CompareRows:
    """The columns that say whose points they are, in the order of the points; ``further`` ones are kept as they are."""

    name: str
    attributes: tuple[Attribute, ...]
    described: tuple[Attribute | Quantity, ...] = ()
    predictions: tuple[Any, Any] | None = None
    cluster: Attribute | None = None
    columns: Mapping[str, object] = field(default_factory=dict)
    further: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ColumnRoles:
    """Which columns play which part: names with a table, arrays without one."""

    sensitive_features: object
    describe: object = ()
    prediction_before: object = None
    prediction_after: object = None
    cluster: object = None
    id: str | None = None
    drop: bool = False
    bins: Mapping[str, Bins] = field(default_factory=dict)
    categorical: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    further: Mapping[str, object] = field(default_factory=dict)

    @property
    def single(self) -> dict[str, object]:
        """The roles that one column each plays, where they were given."""
        roles = {role: getattr(self, role) for role in (*PREDICTIONS, "cluster")}
        return {role: column for role, column in {**roles, **self.further}.items() if column is not None}


def rows_of(embedding: Embedding, rows: object, request: ColumnRoles) -> CompareRows:
    """Read the columns and bring them into the order of the points; a cohort knows its own clusters."""
    if isinstance(rows, Cohort) and request.cluster is None:
        request = replace(request, cluster=rows.cluster)
    if request.sensitive_features is None:
        raise BadInput("No groups were given", help="name a column with --group (sensitive_features=).")
    if (request.prediction_before is None) != (request.prediction_after is None):
        raise BadInput("One prediction was given", available="the predictions before and after, or neither")
    if rows is not None or _are_names(request.sensitive_features, embedding):
        return _of_names(embedding, rows, request)
    return _of_arrays(embedding, request)


def _are_names(value: object, embedding: Embedding) -> bool:
    """Without a table, names are columns of the file that the points came from."""
    if embedding.path is None:
        return False
    several = isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value)
    return isinstance(value, str) or (several and len(value) != embedding.source_length)  # type: ignore[arg-type]


def _names(value: object, role: str) -> list[str]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise BadInput(
            f"{role} is {type(value).__name__} where the name of a column is expected",
            available="column names together with a table of rows, or arrays without one",
        )
    return list(dict.fromkeys(names))


def _of_names(embedding: Embedding, rows: object, request: ColumnRoles) -> CompareRows:
    groups, describe = _names(request.sensitive_features, "sensitive_features"), _names(request.describe, "describe")
    if not groups:
        raise BadInput("No groups were given", help="name a column with --group (sensitive_features=).")
    single: dict[str, str] = {}
    for role, name in request.single.items():
        if not isinstance(name, str):
            raise BadInput(f"{role} is {type(name).__name__}", available="the name of a column of the rows")
        single[role] = name
    named = {"sensitive_features": groups, "describe": describe, **{role: [name] for role, name in single.items()}}
    columns: dict[str, str] = {}
    for role, names in named.items():
        option = "id" if role in request.further else role  # what only labels rows is named by the id
        columns |= {name: TYPED[option] for name in names if name not in columns}
    table = pair_rows(embedding, rows, columns=columns, id=request.id, missing=request.missing, drop=request.drop)
    return _compare_rows(table, groups, describe, single, request)


def _of_arrays(embedding: Embedding, request: ColumnRoles) -> CompareRows:
    if request.id is not None:
        raise BadInput("An id needs a table of rows", help="give the table with rows=, or leave id= out.")
    if isinstance(request.sensitive_features, str):
        raise BadInput(
            f"sensitive_features is the name {request.sensitive_features!r}, and there is no table to find it in",
            help="give the table with rows=, or the groups as an array with one value a point.",
        )
    groups = as_columns(request.sensitive_features)
    nothing = isinstance(request.describe, (list, tuple)) and not request.describe
    describe = {} if nothing else as_columns(request.describe, "describe")
    columns = {**describe, **groups}
    single = {}
    for role, values in request.single.items():
        single[role] = f"{role.replace('_', ' ')} (given)"
        columns[single[role]] = as_column(values, role)
    table = EagerTable(columns, "the arrays")
    check_same_length({embedding.name: embedding.source_length, "sensitive_features": table.rows})
    return _compare_rows(in_source_order(table, embedding), list(groups), list(describe), single, request)


def _compare_rows(
    table: EagerTable, groups: Sequence[str], describe: Sequence[str], single: Mapping[str, str], request: ColumnRoles
) -> CompareRows:
    for name in request.bins:
        if name not in (*groups, *describe):
            raise BadInput(f"Bins were given for {name!r}, which is not a group column", available=", ".join(groups))
    attributes = tuple(_attribute(table, name, request, group=True) for name in groups)
    for attribute in attributes:
        if len(attribute.tested(include_missing=False)) < 2:
            present_groups = attribute.groups[: len(attribute.groups) - attribute.has_missing]
            only = f"one group only: {present_groups[0]!r}" if present_groups else "no values: every one is missing"
            raise BadInput(
                f"The group column {attribute.name!r} has {only}{' (in the rows that --drop left)' * request.drop}",
                available="at least two groups to compare",
                help="leave this column out, or name another.",
            )
    described = tuple(_described(table, name, request) for name in describe if name not in groups)
    predictions = None
    if PREDICTIONS[0] in single:
        predictions = (table.column(single[PREDICTIONS[0]]), table.column(single[PREDICTIONS[1]]))
    cluster = _attribute(table, single["cluster"], request, group=False) if "cluster" in single else None
    if cluster is not None and len(cluster.groups) < 2:
        raise BadInput(
            "The cluster column has one value only", available="an identifier shared by rows that belong together"
        )
    parts: dict[str, object] = {"groups": list(groups), "describe": list(describe), **single}
    further = {role: table.column(single[role]) for role in request.further}
    return CompareRows(table.name, attributes, described, predictions, cluster, parts, further)


def _attribute(table: EagerTable, name: str, request: ColumnRoles, *, group: bool) -> Attribute:
    cuts = request.bins.get(name) if group else None
    if group and cuts is None:
        check_group(table, name, table.peek(name), declared=name in request.categorical)
    edges = None if cuts is None else edges_of(table, name, cuts)
    coded = table.coded(Axis(name, edges))
    labels: list[Label] = list(coded.labels)
    if edges is not None:
        words = bin_names(edges)
        labels = [None if label is None else words[int(label)] for label in labels]
    labels = [None if label in request.missing else label for label in labels]
    return Attribute.of(name, coded.codes, labels)


def _described(table: EagerTable, name: str, request: ColumnRoles) -> Attribute | Quantity:
    if table.is_number(name) and name not in request.bins and name not in request.categorical:
        return Quantity(name, as_floats(table.column(name), f"the column {name!r}"))
    attribute = _attribute(table, name, request, group=name in request.bins)
    if len(attribute.groups) > MOST_DESCRIBED:
        raise BadInput(
            f"The column {name!r} has {len(attribute.groups):,} different values: too many to describe people by",
            available=f"numbers, or up to {MOST_DESCRIBED} values",
        )
    return attribute
