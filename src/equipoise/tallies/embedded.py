"""An embedding with its classes and groups, and the work that several measures share, done once and only when asked."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.errors import BadInput, unknown_name
from equipoise.foundation.reproducibility import stream
from equipoise.tallies.arrays import Column, as_column, as_columns, same_length
from equipoise.tallies.cells import Cells
from equipoise.tallies.counts import group_axis, group_labels, group_name
from equipoise.tallies.factorise import Coded, Codes, classes_of, factorise
from equipoise.tallies.labels import label_of
from equipoise.tallies.moments import Moments
from equipoise.tallies.neighbours import Search, average_precisions, hits
from equipoise.tallies.points import Points, as_points, lengths, mean_of, rows_of

Floats = NDArray[np.float64]
Metric = Literal["euclidean", "cosine"]
METRICS: tuple[Metric, ...] = ("euclidean", "cosine")

# As many as the paper's code makes; more change little.
CLUSTER_ITERATIONS = 20
CHUNK = 4096


@dataclass(frozen=True)
class Options:
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
class Space:
    """Points and their classes. What is computed here serves the groups of every attribute."""

    points: Points
    classes: Coded
    options: Options = field(default_factory=Options)

    def __len__(self) -> int:
        return len(self.classes)

    @functools.cached_property
    def norms(self) -> Floats | None:
        """What each row is divided by; None where rows are taken as they are."""
        return lengths(self.points) if self.options.metric == "cosine" else None

    def rows(self, places: Codes) -> Floats:
        """Return some rows in float64, as the metric sees them."""
        return rows_of(self.points, places, self.norms)

    def search(self) -> Search:
        """Return a search for neighbours among all rows. It is not kept: it holds a copy of them."""
        return Search(self.points, self.norms)

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
        for start in range(0, len(self), CHUNK):
            places = np.arange(start, min(start + CHUNK, len(self)))
            keys[places] = self.rows(places) @ direction
        return np.argsort(keys, kind="stable")

    @functools.cached_property
    def clusters(self) -> Codes:
        """The k-means cluster of every row, from one random start."""
        import warnings

        from sklearn.cluster import KMeans
        from sklearn.exceptions import ConvergenceWarning

        order = self.canonical
        points, centre = np.empty(self.points.shape, dtype=np.float32), mean_of(self.points, self.norms)
        for start in range(0, len(self), CHUNK):
            points[start : start + CHUNK] = self.rows(order[start : start + CHUNK]) - centre
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
            found = means.fit(points).labels_
        clusters = np.empty(len(self), dtype=np.int64)
        clusters[order] = found
        return clusters

    def moments(self, groups: Coded, *, classes: Coded | None = None, second: bool = False) -> Moments:
        """Return the sums of the points as the metric sees them."""
        return Moments.of(self.points, classes or self.classes, groups, norms=self.norms, second=second)


@dataclass(frozen=True, eq=False)
class Embedded:
    """The rows of a space in their groups: the tally of every measure of an embedding. A row of no group has code -1.

    ``unit`` says which rows belong together (a person's pictures), where the caller knows; intervals and tests then
    draw whole units. ``dropped`` is how many rows had no class. ``majoritised`` and ``minoritised`` name the groups
    that gaps compare; without them the largest group is compared with the others.
    """

    space: Space
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
    def options(self) -> Options:
        """How the embedding is read."""
        return self.space.options

    @functools.cached_property
    def everyone(self) -> Embedded:
        """The same space with all rows in one group."""
        return Embedded(self.space, np.zeros(len(self.space), dtype=np.int64), ("everyone",), self.unit, self.dropped)

    @functools.cached_property
    def people(self) -> Floats:
        """How many rows each group has."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.groups)).astype(np.float64)

    @functools.cached_property
    def moments(self) -> Moments:
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
) -> Embedded:
    """Build the tally of an embedding ``[rows, dimensions]`` from a class and (crossed) groups a row.

    Rows without a class are dropped. Rows without a group stay among the neighbours, but are in no group unless
    ``include_missing``. ``cluster`` says which rows belong together. ``k``, ``metric`` and ``seed`` are ``Options``.
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
    space = Space(array, truth, Options(**_known(options)))
    return Embedded(space, codes, groups, unit, dropped, _names(majoritised), _names(minoritised))


def _known(options: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in options:
        if name not in ("k", "metric", "seed"):
            raise unknown_name("option", name, ("k", "metric", "seed", "cluster", "majoritised", "minoritised"),
                               "the options of an embedding")  # fmt: skip
    return options


def _names(given: object) -> tuple[str, ...]:
    several = given if isinstance(given, Sequence) and not isinstance(given, str) else (given,)
    return tuple(label for label in map(label_of, several) if label is not None)


def _grouped(columns: Mapping[str, Column], rows: int, include_missing: bool) -> tuple[Codes, tuple[str, ...]]:
    if not columns:
        return np.zeros(rows, dtype=np.int64), ("everyone",)
    coded = {group_axis(name): factorise(column) for name, column in columns.items()}
    found = group_labels(Cells.from_codes(coded, None), list(columns), include_missing=include_missing)
    joint = np.zeros(rows, dtype=np.int64)
    for column in coded.values():
        joint = joint * len(column.labels) + column.codes
    values, inverse = np.unique(joint, return_inverse=True)
    place = np.full(len(values), -1, dtype=np.int64)
    for number, labels in enumerate(found):
        code = 0
        for column, label in zip(coded.values(), labels, strict=True):
            code = code * len(column.labels) + column.labels.index(label)
        place[np.searchsorted(values, code)] = number
    return place[inverse.reshape(-1)], tuple(group_name(labels) for labels in found)
