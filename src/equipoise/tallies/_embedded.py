"""An embedding with its classes and groups, its sums, and the work that several measures share, done once when asked.

Alignment over all pairs and linear kernels are functions of sums, so that no pair is formed. Per class and group: how
many rows, their sum and the sum of their squared norms. Per group: one d x d matrix of second moments. One pass over
blocks of rows, in float64, for numpy arrays (memory-mapped ones too) and tensors by one code. Shards add up. Sums are
taken about a pivot near the points, so that an embedding far from 0 loses no digits.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import array_api_compat as compat
import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import (
    BadInput,
    Column,
    Floats,
    as_column,
    as_columns,
    plural,
    same_length,
    stream,
    unknown_name,
)
from equipoise.tallies._cells import Cells
from equipoise.tallies._counts import (
    group_axis,
    group_labels,
    group_name,
)
from equipoise.tallies._labels import (
    Coded,
    Codes,
    Label,
    classes_of,
    factorise,
    label_of,
)
from equipoise.tallies._neighbours import (
    NeighbourSearch,
    Points,
    as_points,
    average_precisions,
    hits,
    lengths,
    mean_of,
    rows_of,
)

# An array of any library that the array API covers, in float64.
Sums = Any

# Numbers in a block: small enough to stay in the cache of a core.
BLOCK = 1 << 18


@dataclass(frozen=True, eq=False)
class EmbeddingMoments:
    """Sums about ``pivot``. A cell is a class and a group that occur together; cells without rows are not kept.

    ``cells`` has a pair of codes (class, group) a row; ``number``, ``total`` and ``square`` are their sums. ``second``
    is ``[group, d, d]``, or None where it was not asked for. Sums stay where the points are: on the host or a device.
    """

    cells: Codes
    number: Floats
    total: Sums
    square: Sums
    second: Sums | None
    pivot: Sums
    classes: tuple[Label, ...]
    groups: tuple[Label, ...]

    @classmethod
    def of(
        cls,
        points: Any,
        classes: Coded,
        groups: Coded,
        *,
        norms: Floats | None = None,
        pivot: Any = None,
        second: bool = True,
    ) -> EmbeddingMoments:
        """Sum the rows of ``points`` ``[n, d]`` in one pass. A negative code leaves its row out.

        With ``norms`` each row is divided by its own first. Without a ``pivot`` it is the mean of the first block.
        ``second=False`` leaves out the d x d matrices, which are most of the work.
        """
        if not len(points) == len(classes) == len(groups):
            raise BadInput(
                f"There are {plural(len(points), 'point')}, {plural(len(classes), 'class', 'classes')} and "
                f"{plural(len(groups), 'group')}",
                available="one class and one group per point",
            )
        xp, like = _home(points)
        rows, width = points.shape
        step = max(1, BLOCK // max(width, 1))
        is_known = (classes.codes >= 0) & (groups.codes >= 0)
        number_of_groups = len(groups.labels)
        present, cell_of = _cells(classes.codes * number_of_groups + groups.codes, is_known)
        if pivot is None:
            pivot = xp.mean(_block(points, norms, 0, step), axis=0) if rows else xp.zeros(width, **like)
        pivot = xp.asarray(pivot, **like)
        total, square = xp.zeros((len(present), width), **like), xp.zeros((len(present), 1), **like)
        matrices = xp.zeros((number_of_groups, width, width), **like) if second else None
        room = np.empty((min(step, rows), width)) if isinstance(points, np.ndarray) else None
        for start in range(0, rows, step):
            block, cell_codes = _shifted(points, norms, start, step, pivot, room), cell_of[start : start + step]
            if (cell_codes < 0).any():
                block, cell_codes = _rows(block, cell_codes >= 0), cell_codes[cell_codes >= 0]
            _add(total, cell_codes, block)
            _add(square, cell_codes, xp.vecdot(block, block)[:, None])
            if matrices is not None:
                _add_second(matrices, present[cell_codes] % number_of_groups, block)
        return cls(
            cells=np.stack([present // number_of_groups, present % number_of_groups], axis=1).reshape(-1, 2),
            number=np.bincount(cell_of[is_known], minlength=len(present)).astype(np.float64),
            total=total,
            square=square[:, 0],
            second=matrices,
            pivot=pivot,
            classes=classes.labels,
            groups=groups.labels,
        )

    def by_group(self) -> tuple[Sums, Sums]:
        """Return each group's sum ``[group, d]`` and number of rows ``[group]``."""
        xp, like = _home(self.total)
        sums = xp.zeros((len(self.groups), self.total.shape[1]), **like)
        _add(sums, self.cells[:, 1], self.total)
        sizes = np.bincount(self.cells[:, 1], weights=self.number, minlength=len(self.groups))
        return sums, xp.asarray(sizes, **like)

    def about(self, pivot: Any) -> EmbeddingMoments:
        """Return the same sums about another point: about 0 they are those of the points themselves."""
        xp, like = _home(self.total)
        pivot = xp.asarray(pivot, **like)
        shift, number = self.pivot - pivot, xp.asarray(self.number, **like)
        square = self.square + 2 * (self.total @ shift) + number * (shift @ shift)
        second = self.second
        if second is not None:
            sums, sizes = self.by_group()
            cross = sums[:, :, None] * shift[None, None, :]
            second = second + cross + xp.matrix_transpose(cross)
            second = second + sizes[:, None, None] * (shift[:, None] * shift[None, :])
        return replace(self, total=self.total + number[:, None] * shift, square=square, second=second, pivot=pivot)

    def merge(self, other: EmbeddingMoments) -> EmbeddingMoments:
        """Add another shard's sums; classes and groups that only one of them knows are kept."""
        if self.total.shape[1] != other.total.shape[1]:
            raise BadInput(
                f"One shard has {plural(self.total.shape[1], 'dimension')} and the other {other.total.shape[1]:,}",
                available="shards of one embedding",
            )
        if (self.second is None) != (other.second is None):
            raise BadInput("Only one of the shards has second moments", help="sum both with the same second=.")
        xp, like = _home(self.total)
        shards = (self, other.about(self.pivot))
        classes, groups = _united(self.classes, other.classes), _united(self.groups, other.groups)
        cells = np.concatenate([_recoded(shard, classes, groups) for shard in shards])
        merged, inverse = np.unique(cells, axis=0, return_inverse=True)
        total, square = xp.zeros((len(merged), self.total.shape[1]), **like), xp.zeros((len(merged), 1), **like)
        _add(total, inverse.reshape(-1), xp.concat([shard.total for shard in shards]))
        _add(square, inverse.reshape(-1), xp.concat([shard.square for shard in shards])[:, None])
        second = None
        if self.second is not None:
            second = xp.zeros((len(groups), *self.second.shape[1:]), **like)
            for shard in shards:
                second[[groups[label] for label in shard.groups]] += shard.second
        return replace(
            self,
            cells=merged,
            number=np.bincount(
                inverse.reshape(-1), weights=np.concatenate([shard.number for shard in shards]), minlength=len(merged)
            ).astype(np.float64),
            total=total,
            square=square[:, 0],
            second=second,
            classes=tuple(classes),
            groups=tuple(groups),
        )


def _home(array: Any) -> tuple[Any, dict[str, Any]]:
    """Return the library of an array, and what makes float64 arrays beside it."""
    xp = compat.array_namespace(array)
    return xp, {"dtype": xp.float64, "device": compat.device(array)}


def _block(points: Any, norms: Floats | None, start: int, step: int) -> Sums:
    xp, like = _home(points)
    block = xp.astype(xp.asarray(points[start : start + step]), xp.float64, copy=False)
    return block if norms is None else block / xp.asarray(norms[start : start + step], **like)[:, None]


def _shifted(points: Any, norms: Floats | None, start: int, step: int, pivot: Sums, room: Floats | None) -> Sums:
    """Return a block of rows about the pivot; on the host in the same room each time, which spares most of the time."""
    if room is None:
        return _block(points, norms, start, step) - pivot
    block = points[start : start + step] if norms is None else _block(points, norms, start, step)
    return np.subtract(block, pivot, out=room[: len(block)])


def _cells(codes: Codes, is_known: NDArray[np.bool_]) -> tuple[Codes, Codes]:
    """Return the codes that occur, and each row's place among them (-1 where the row is not known)."""
    cell_of = np.full(len(codes), -1, dtype=np.int64)
    used = codes if is_known.all() else codes[is_known]
    highest = int(used.max(initial=-1))
    if highest < 8 * len(codes):  # counting is faster than sorting where there are few empty cells
        present = np.flatnonzero(np.bincount(used, minlength=highest + 1))
        cell_codes = np.zeros(highest + 1, dtype=np.int64)
        cell_codes[present] = np.arange(len(present))
        cell_of[is_known] = cell_codes[used]
    else:
        present, inverse = np.unique(used, return_inverse=True)
        cell_of[is_known] = inverse.reshape(-1)
    return present, cell_of


def _rows(block: Sums, chosen: NDArray[np.bool_]) -> Sums:
    xp = compat.array_namespace(block)
    return xp.take(block, xp.asarray(np.flatnonzero(chosen), device=compat.device(block)), axis=0)


def _add(sums: Sums, cell_codes: Codes, rows: Sums) -> None:
    """Add each row to the sum at its place."""
    if compat.is_torch_array(sums):
        xp = compat.array_namespace(sums)
        sums.index_add_(0, xp.asarray(cell_codes, device=compat.device(sums)), rows)
        return
    from scipy import sparse

    # A sparse matrix of ones adds rows up in the order they are read; np.add.at takes ten times as long.
    ones, columns = np.ones(len(cell_codes)), np.arange(len(cell_codes) + 1)
    if len(sums) <= len(cell_codes):
        sums += sparse.csc_array((ones, cell_codes, columns), shape=(len(sums), len(cell_codes))) @ rows
        return
    local, where = np.unique(cell_codes, return_inverse=True)
    sums[local] += sparse.csc_array((ones, where.reshape(-1), columns), shape=(len(local), len(cell_codes))) @ rows


def _add_second(matrices: Sums, groups: Codes, block: Sums) -> None:
    xp = compat.array_namespace(block)
    present = np.unique(groups).tolist()
    for group in present:
        rows = block if len(present) == 1 else _rows(block, groups == group)
        matrices[group, ...] += xp.matrix_transpose(rows) @ rows


def _united(first: tuple[Label, ...], second: tuple[Label, ...]) -> dict[Label, int]:
    return {label: index for index, label in enumerate(dict.fromkeys([*first, *second]))}


def _recoded(shard: EmbeddingMoments, classes: dict[Label, int], groups: dict[Label, int]) -> Codes:
    by_class = np.array([classes[label] for label in shard.classes], dtype=np.int64)
    by_group = np.array([groups[label] for label in shard.groups], dtype=np.int64)
    return np.stack([by_class[shard.cells[:, 0]], by_group[shard.cells[:, 1]]], axis=1)


Metric = Literal["euclidean", "cosine"]
METRICS: tuple[Metric, ...] = ("euclidean", "cosine")

# As many as the paper's code makes; more change little.
CLUSTER_ITERATIONS = 20
CHUNK_ROWS = 4096


@dataclass(frozen=True)
class EmbeddingOptions:
    """How an embedding is read. With the cosine every point is first brought to length 1, for every measure.

    ``clusters`` is how many k-means makes, by default as many as there are classes among the rows.
    """

    k: int = 1
    metric: Metric = "euclidean"
    seed: int = 0
    clusters: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, (int, np.integer)) or self.k < 1:
            raise BadInput(f"k is {self.k!r}", available="a whole number of neighbours, 1 or more")
        if self.metric not in METRICS:
            raise unknown_name("metric", str(self.metric), METRICS, "the distances of an embedding")


@dataclass(frozen=True, eq=False)
class EmbeddingSpace:
    """Points and their classes. What is computed here serves the groups of every attribute."""

    points: Points
    classes: Coded
    options: EmbeddingOptions = field(default_factory=EmbeddingOptions)

    def __len__(self) -> int:
        return len(self.classes)

    @functools.cached_property
    def norms(self) -> Floats | None:
        """What each row is divided by; None where rows are taken as they are."""
        return lengths(self.points) if self.options.metric == "cosine" else None

    def rows(self, indices: Codes) -> Floats:
        """Return some rows in float64, as the metric sees them."""
        return rows_of(self.points, indices, self.norms)

    def search(self) -> NeighbourSearch:
        """Return a search for neighbours among all rows. It is not kept: it holds a copy of them."""
        return NeighbourSearch(self.points, self.norms)

    @functools.cached_property
    def hits(self) -> Floats:
        """For every row whether one of its k nearest is of its class; NaN for the only member of a class."""
        return hits(self.search(), self.classes.codes, self.options.k)

    @functools.cached_property
    def average_precisions(self) -> Floats:
        """For every row its average precision at R; NaN for the only member of a class."""
        return average_precisions(self.search(), self.classes.codes)

    @functools.cached_property
    def canonical(self) -> Codes:
        """The rows in an order that their values decide, so that what is drawn does not depend on how they came."""
        direction = stream(0, "canonical order").standard_normal(self.points.shape[1])
        keys = np.empty(len(self))
        for start in range(0, len(self), CHUNK_ROWS):
            positions = np.arange(start, min(start + CHUNK_ROWS, len(self)))
            keys[positions] = self.rows(positions) @ direction
        return np.argsort(keys, kind="stable")

    @functools.cached_property
    def clusters(self) -> Codes:
        """The k-means cluster of every row, from one random start."""
        import warnings

        from sklearn.cluster import KMeans
        from sklearn.exceptions import ConvergenceWarning

        order = self.canonical
        points, centre = np.empty(self.points.shape, dtype=np.float32), mean_of(self.points, self.norms)
        for start in range(0, len(self), CHUNK_ROWS):
            points[start : start + CHUNK_ROWS] = self.rows(order[start : start + CHUNK_ROWS]) - centre
        number = self.options.clusters or len(np.unique(self.classes.codes))
        means = KMeans(
            min(number, len(self)),
            init="random",
            n_init=1,
            max_iter=CLUSTER_ITERATIONS,
            random_state=int(stream(self.options.seed, "clusters").integers(2**31)),
            copy_x=False,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than classes
            fitted = means.fit(points).labels_
        clusters = np.empty(len(self), dtype=np.int64)
        clusters[order] = fitted
        return clusters

    def moments(self, groups: Coded, *, classes: Coded | None = None, second: bool = False) -> EmbeddingMoments:
        """Return the sums of the points as the metric sees them."""
        return EmbeddingMoments.of(self.points, classes or self.classes, groups, norms=self.norms, second=second)


@dataclass(frozen=True, eq=False)
class EmbeddingTally:
    """The rows of a space in their groups: the tally of every measure of an embedding. A row of no group has code -1.

    ``unit`` says which rows belong together (a person's pictures), where the caller knows; intervals and tests then
    draw whole units. ``dropped`` is how many rows had no class. ``majoritised`` and ``minoritised`` name the groups
    that gaps compare; without them the largest group is compared with the others.
    """

    space: EmbeddingSpace
    codes: Codes
    groups: tuple[str, ...]
    unit: Coded | None = None
    dropped: int = 0
    majoritised: tuple[str, ...] = ()
    minoritised: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in (*self.majoritised, *self.minoritised):
            if name not in self.groups:
                raise unknown_name("group", name, self.groups, "the groups of this embedding")
        both = sorted(set(self.majoritised) & set(self.minoritised))
        if both:
            raise BadInput(
                f"{both[0]!r} is named as majoritised and as minoritised", available="two sets without overlap"
            )

    @property
    def options(self) -> EmbeddingOptions:
        """How the embedding is read."""
        return self.space.options

    @functools.cached_property
    def overall(self) -> EmbeddingTally:
        """The same space with all rows in one group."""
        return EmbeddingTally(
            self.space, np.zeros(len(self.space), dtype=np.int64), ("everyone",), self.unit, self.dropped
        )

    @functools.cached_property
    def people(self) -> Floats:
        """How many rows each group has."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.groups)).astype(np.float64)

    @functools.cached_property
    def moments(self) -> EmbeddingMoments:
        """The sums per class and group. Rows of no group are one of their own: they are in pairs with the others."""
        codes = np.where(self.codes < 0, len(self.groups), self.codes)
        return self.space.moments(Coded(codes, (*self.groups, None)))

    def members(self, group: int) -> Codes:
        """Return the rows of a group, in the canonical order."""
        order = self.space.canonical
        return np.asarray(order[self.codes[order] == group])

    def sample(self, group: int, size: int, *names: object) -> Codes:
        """Return a seeded sample of a group's rows, without replacement; all of them where there are no more."""
        members = self.members(group)
        if len(members) <= size:
            return members
        # The group's name is no part of the stream: renaming a group must not change a number.
        return members[stream(self.options.seed, *names).permutation(len(members))[:size]]


def embed(
    points: object,
    target: object,
    sensitive_features: object = None,
    *,
    cluster: object = None,
    include_missing: bool = False,
    majoritised: object = (),
    minoritised: object = (),
    **options: Any,
) -> EmbeddingTally:
    """Build the tally of an embedding ``[rows, dimensions]`` from a class and (crossed) groups a row.

    Rows without a class are dropped. Rows without a group stay among the neighbours, but are in no group unless
    ``include_missing``. ``cluster`` says which rows belong together. ``k``, ``metric`` and ``seed`` are
    ``EmbeddingOptions``.
    """
    array = as_points(points)
    truth = classes_of(target, "target")
    features = as_columns(sensitive_features) if sensitive_features is not None else {}
    unit = None if cluster is None else factorise(as_column(cluster, "cluster"))
    columns: dict[str, Any] = {"the embedding": array, "target": truth, **features}
    same_length({**columns, **({} if unit is None else {"cluster": unit})})
    codes, groups = _grouped(features, len(array), include_missing)
    keep = np.array([label is not None for label in truth.labels], dtype=bool)[truth.codes]
    dropped = int((~keep).sum())
    if not keep.any():
        raise BadInput("No row has a class", available="a class for at least one row")
    if dropped:
        array, codes = array[keep], codes[keep]
        unit = None if unit is None else Coded(unit.codes[keep], unit.labels)
        truth = Coded(truth.codes[keep], truth.labels)
    space = EmbeddingSpace(array, truth, EmbeddingOptions(**_known(options)))
    return EmbeddingTally(space, codes, groups, unit, dropped, _names(majoritised), _names(minoritised))


def _known(options: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in options:
        if name not in ("k", "metric", "seed"):
            raise unknown_name("option", name, ("k", "metric", "seed", "cluster", "majoritised", "minoritised"),
                               "the options of an embedding")  # fmt: skip
    return options


def _names(columns: object) -> tuple[str, ...]:
    several = columns if isinstance(columns, Sequence) and not isinstance(columns, str) else (columns,)
    return tuple(label for label in map(label_of, several) if label is not None)


def _grouped(columns: Mapping[str, Column], rows: int, include_missing: bool) -> tuple[Codes, tuple[str, ...]]:
    if not columns:
        return np.zeros(rows, dtype=np.int64), ("everyone",)
    coded = {group_axis(name): factorise(column) for name, column in columns.items()}
    combinations = group_labels(Cells.from_codes(coded, None), list(columns), include_missing=include_missing)
    joint = np.zeros(rows, dtype=np.int64)
    for column in coded.values():
        joint = joint * len(column.labels) + column.codes
    values, inverse = np.unique(joint, return_inverse=True)
    group_codes = np.full(len(values), -1, dtype=np.int64)
    for number, labels in enumerate(combinations):
        code = 0
        for column, label in zip(coded.values(), labels, strict=True):
            code = code * len(column.labels) + column.labels.index(label)
        group_codes[np.searchsorted(values, code)] = number
    return group_codes[inverse.reshape(-1)], tuple(group_name(labels) for labels in combinations)
