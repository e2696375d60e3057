"""Measures of an embedding: each is a value per group, and comes with the gap that compares groups (paper 000).

The gap rules (appendix D.4) take values ``[..., group]`` that are better high, so that a positive gap means that the
minoritised, or the worst, are worse off; where a value is better low, its negative is given. A gap is undefined as soon
as one of the values it compares is. The default compares the majoritised with the minoritised; ``variant="paper_sign"``
has the paper's sign, majoritised minus minoritised whatever is better; the other variants are the paper's other rules
(``best_minus_worst``, ``each_against_worst``, ``halves``).

The values: alignment (Definition 2), the mean squared distance over all pairs of a class, and over all other pairs;
how well clusters of the space agree with the classes; uniformity (Definition 3), whether a group's part of the space
uses all directions alike; and retrieval, whether a row finds its own class among its nearest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import Floats, ratio
from equipoise.measures._measure import (
    Better,
    Kind,
    Measure,
    measure,
)
from equipoise.tallies import (
    Codes,
    EmbeddingMoments,
    EmbeddingTally,
)

Mask = NDArray[np.bool_]


def sets_difference(values: Floats, first: Mask, second: Mask) -> Floats:
    """Return the mean over one set of groups minus the mean over another: majoritised minus minoritised, I-III minus
    IV-VI, or any two named sets. Undefined where a set is empty.
    """
    if not first.any() or not second.any():
        return np.full(values.shape[:-1], np.nan)
    return np.asarray(values[..., first].mean(axis=-1) - values[..., second].mean(axis=-1), dtype=np.float64)


def largest_and_others(people: Floats) -> tuple[Mask, Mask]:
    """Return the largest group and all others, as two sets; both are empty where no group is the largest."""
    largest = people == people.max(initial=0.0)
    if largest.sum() != 1:
        return np.zeros(len(people), dtype=bool), np.zeros(len(people), dtype=bool)
    return largest, ~largest


def best_minus_worst(values: Floats) -> Floats:
    """Return the best group's value minus the worst group's. It is never negative."""
    return np.asarray(values.max(axis=-1) - values.min(axis=-1), dtype=np.float64)


def against_worst(values: Floats) -> Floats:
    """Return each group's value minus the worst group's, ``[..., group]``."""
    return np.asarray(values - values.min(axis=-1, keepdims=True), dtype=np.float64)


def each_against_worst(values: Floats) -> Floats:
    """Return the mean, over the groups that are better than the worst, of their distance to it; 0 where none is."""
    differences = against_worst(values)
    better = (differences > 0).sum(axis=-1)
    return np.asarray(differences.sum(axis=-1) / np.maximum(better, 1), dtype=np.float64)


def halves_difference(values: Floats) -> Floats:
    """Return the mean of the top half of the groups minus that of the bottom half; a middle group is in neither."""
    half = values.shape[-1] // 2
    if not half:
        return np.full(values.shape[:-1], np.nan)
    ranked = np.sort(values, axis=-1)  # NaN comes last, and into the mean
    return np.asarray(ranked[..., -half:].mean(axis=-1) - ranked[..., :half].mean(axis=-1), dtype=np.float64)


# Five rules of paper 000 (appendix D.4); these by the name that ``variant=`` takes.
GAP_RULES = {
    "best_minus_worst": best_minus_worst,
    "each_against_worst": each_against_worst,
    "halves": halves_difference,
}


INFINITE = float("inf")

PAPER_SIGN = "paper_sign"
# Every way to compare groups, by the name that ``variant=`` takes; "paper" is the default, oriented.
GAP_VARIANTS = ("paper", PAPER_SIGN, *GAP_RULES)

NO_LARGEST_GROUP_HINT = "no group is the largest, so it is not clear which is majoritised: name it with majoritised="


def embedding_measure(
    name: str,
    *,
    better: Better,
    bounds: tuple[float, float],
    undefined: str,
    kind: Kind = "value",
    alias: str | None = None,
    gap_alias: str | None = None,
    paper: str = "000",
    denominator: str = "",
) -> Callable[[Callable[[EmbeddingTally], object]], Measure]:
    """Register a number per group of an embedding; where one end is better, its gap ``<name>_gap`` too."""

    def decorate(function: Callable[[EmbeddingTally], object]) -> Measure:
        value = measure(
            name, kind=kind, better=better, needs="embedding", paper=paper, alias=alias, bounds=bounds,
            classwise=False, denominator=denominator, undefined=undefined,
        )(function)  # fmt: skip
        if better != "none":
            _gap(value, gap_alias)
        return value

    return decorate


def _gap(value: Measure, alias: str | None) -> Measure:
    def gap(embedded: EmbeddingTally) -> Floats:
        return group_gap(value.by_class(embedded), embedded, value.better)

    gap.__doc__ = f"{value.title}: how much worse off the minoritised groups are than the majoritised."
    gap.__module__ = value.function.__module__
    reach = value.bounds[1] - value.bounds[0]
    registered = measure(
        f"{value.name}_gap", kind="gap", better="low", needs="embedding", paper=value.paper, alias=alias,
        bounds=(-reach, reach), classwise=False, of=value.name,
        undefined=f"a group has no value ({value.undefined}), or {NO_LARGEST_GROUP_HINT}",
    )(gap)  # fmt: skip
    for variant in GAP_VARIANTS[1:]:
        registered.variants[variant] = _by_variant(value, variant)
    return registered


def _by_variant(value: Measure, variant: str) -> Callable[[EmbeddingTally], Floats]:
    def gap(embedded: EmbeddingTally) -> Floats:
        return group_gap(value.by_class(embedded), embedded, value.better, variant)

    return gap


def group_gap(values: Floats, embedded: EmbeddingTally, better: Better, variant: str = "paper") -> Floats:
    """Return the gap of values ``[..., group]`` by one of ``GAP_VARIANTS``."""
    oriented = values if better == "high" else -values
    if variant in GAP_RULES:
        return GAP_RULES[variant](oriented)
    return sets_difference(values if variant == PAPER_SIGN else oriented, *compared_groups(embedded))


def compared_groups(embedded: EmbeddingTally) -> tuple[Mask, Mask]:
    """Return the majoritised and the minoritised groups: those named, and else the largest against all others.

    Where only one of the two sets is named, the other one is everybody else.
    """
    named = [np.isin(embedded.groups, names) for names in (embedded.majoritised, embedded.minoritised)]
    if not any(mask.any() for mask in named):
        return largest_and_others(embedded.people)
    majoritised, minoritised = (mask if mask.any() else ~other for mask, other in zip(named, named[::-1], strict=True))
    return majoritised, minoritised


def rows_by_group(embedded: EmbeddingTally, values: Floats) -> tuple[Floats, Floats]:
    """Return the sum of each group's values, and of how many rows: rows whose value is NaN are left out."""
    counted = (embedded.codes >= 0) & ~np.isnan(values)
    codes, number = embedded.codes[counted], len(embedded.groups)
    sums = np.bincount(codes, weights=values[counted], minlength=number)
    return sums.astype(np.float64), np.bincount(codes, minlength=number).astype(np.float64)


@dataclass(frozen=True)
class Pairs:
    """Per class and group that occur together: the squared distances of its pairs added up, and how many there are.

    A group's pairs are those in which at least one of the two is of the group. For n points with sum S and sum of
    squared norms Q the squared distances of all pairs add up to n Q - |S|^2, and those between two sets to
    n Q' + n' Q - 2 S.S': so all pairs are counted in closed form and none is formed.
    """

    total: Floats
    number: Floats
    cells: Codes

    def by_group(self, groups: int) -> tuple[Floats, Floats]:
        """Add up over classes."""
        total, number = (
            np.bincount(self.cells[:, 1], weights=weights, minlength=groups)[:groups].astype(np.float64)
            for weights in (self.total, self.number)
        )
        return total, number


def pairs_within(moments: EmbeddingMoments) -> Pairs:
    """Return the pairs of two different rows of one class of which at least one is of the group."""
    n, S, Q = moments.number, np.asarray(moments.total), np.asarray(moments.square)
    classes = moments.cells[:, 0]
    order = np.argsort(classes, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(classes[order]) != 0]) if len(order) else order
    cell_index = np.empty(len(order), dtype=np.int64)
    cell_index[order] = np.cumsum(np.isin(np.arange(len(order)), starts)) - 1
    # The others of the class: everybody of it who is not of the group.
    n_others, S_others, Q_others = (
        (np.add.reduceat(sums[order], starts, axis=0)[cell_index] if len(order) else sums) - sums for sums in (n, S, Q)
    )
    inside = n * Q - np.einsum("ij,ij->i", S, S)
    across = n * Q_others + n_others * Q - 2 * np.einsum("ij,ij->i", S, S_others)
    return Pairs(np.maximum(inside, 0.0) + np.maximum(across, 0.0), n * (n - 1) / 2 + n * n_others, moments.cells)


def pairs_of_all(moments: EmbeddingMoments) -> Pairs:
    """Return the pairs of two different rows of any classes of which at least one is of the group."""
    totals, sizes = moments.by_group()
    squares = np.bincount(moments.cells[:, 1], weights=moments.square, minlength=len(moments.groups))
    groups = np.arange(len(moments.groups))
    pooled = EmbeddingMoments(
        cells=np.stack([np.zeros_like(groups), groups], axis=1), number=sizes, total=totals, square=squares,
        second=None, pivot=moments.pivot, classes=("all",), groups=moments.groups,
    )  # fmt: skip
    return pairs_within(pooled)


def within_class_distance(moments: EmbeddingMoments, groups: int) -> Floats:
    """Return the mean squared distance over the pairs of one class, for each of so many groups."""
    return ratio(*pairs_within(moments).by_group(groups))


def across_class_distance(moments: EmbeddingMoments, groups: int) -> Floats:
    """Return the mean squared distance over the pairs of two classes, for each of so many groups."""
    of_all, within = (pairs(moments).by_group(groups) for pairs in (pairs_of_all, pairs_within))
    return ratio(of_all[0] - within[0], of_all[1] - within[1])


@embedding_measure(
    "intra_class_alignment",
    better="low",
    bounds=(0.0, INFINITE),
    undefined="no pair of rows of one class involves the group",
)
def intra_class_alignment(embedded: EmbeddingTally) -> Floats:
    """E |x - y|^2 over all pairs of two rows of one class, at least one of them of the group."""
    return within_class_distance(embedded.moments, len(embedded.groups))


@intra_class_alignment.variant("literal")
def _with_self_pairs(embedded: EmbeddingTally) -> Floats:
    """The pairs of Definition 2 to the letter: X x X, in which a row is also paired with itself, at distance 0."""
    total, number = pairs_within(embedded.moments).by_group(len(embedded.groups))
    return ratio(2 * total, 2 * number + embedded.people)


@embedding_measure(
    "inter_class_alignment",
    better="high",
    bounds=(0.0, INFINITE),
    undefined="no pair of rows of two classes involves the group",
)
def inter_class_alignment(embedded: EmbeddingTally) -> Floats:
    """E |x - y|^2 over all pairs of two rows of different classes, at least one of them of the group."""
    return across_class_distance(embedded.moments, len(embedded.groups))


ONE_CLASS = "the group has one class only"


@dataclass(frozen=True)
class Contingency:
    """How many rows have a class and a cluster: the cells that occur, and the sizes of classes and clusters.

    There is one clustering of everything; each group is read from its own rows. Mutual information is high by chance
    alone where classes are small (with 200 equal classes and clusters 0.38 at 30 rows a class, 0.79 at 3), so its
    chance level, and the adjusted number from which chance is taken off, stand beside it.
    """

    cells: Floats
    class_of: Codes
    cluster_of: Codes
    classes: Floats
    clusters: Floats

    @property
    def rows(self) -> float:
        """How many rows there are."""
        return float(self.cells.sum())

    @property
    def mutual(self) -> float:
        """The mutual information of class and cluster, in nats."""
        margins = self.classes[self.class_of] * self.clusters[self.cluster_of]
        return float((self.cells / self.rows * np.log(self.cells * self.rows / margins)).sum())

    @property
    def mean_entropy(self) -> float:
        """The mean of the entropies of class and cluster."""
        return (entropy(self.classes) + entropy(self.clusters)) / 2


def contingency(classes: Codes, clusters: Codes) -> Contingency:
    """Count rows by class and cluster."""
    width = int(clusters.max(initial=0)) + 1
    keys, cells = np.unique(classes * width + clusters, return_counts=True)
    return Contingency(
        cells=cells.astype(np.float64),
        class_of=keys // width,
        cluster_of=keys % width,
        classes=np.bincount(classes, minlength=1).astype(np.float64),
        clusters=np.bincount(clusters, minlength=1).astype(np.float64),
    )


def entropy(sizes: Floats) -> float:
    """Return the entropy of parts of these sizes, in nats."""
    shares = sizes[sizes > 0] / sizes.sum()
    return float(-(shares * np.log(shares)).sum())


def expected_mutual_information(classes: Floats, clusters: Floats) -> float:
    """Return the mutual information that parts of these sizes have by chance (Vinh et al., hypergeometric).

    Parts of the same size add the same, so each pair of sizes is looked at once.
    """
    from scipy.special import gammaln

    n = float(classes.sum())
    log_factorial = gammaln(np.arange(int(n) + 1) + 1.0)
    b, times_b = np.unique(clusters[clusters > 0].astype(np.int64), return_counts=True)
    total = 0.0
    for a, times_a in zip(*np.unique(classes[classes > 0].astype(np.int64), return_counts=True), strict=True):
        common = np.arange(1, int(min(a, b.max())) + 1)
        possible = (common <= b[:, None]) & (common >= a + b[:, None] - n)
        m = np.where(possible, common, np.maximum(a + b[:, None] - int(n), 0))
        log_chance = (
            log_factorial[a] + log_factorial[b][:, None]
            + log_factorial[int(n) - a] + log_factorial[int(n) - b][:, None]
            - log_factorial[int(n)] - log_factorial[m] - log_factorial[a - m] - log_factorial[b[:, None] - m]
            - log_factorial[np.maximum(int(n) - a - b[:, None] + m, 0)]
        )  # fmt: skip
        terms = common / n * np.log(n * common / (a * b[:, None].astype(np.float64))) * np.exp(log_chance)
        total += float(times_a) * float((times_b[:, None] * np.where(possible, terms, 0.0)).sum())
    return total


def contingency_tables(embedded: EmbeddingTally) -> list[Contingency | None]:
    """Return each group's table; None where a group has fewer than two classes, where nothing can be told."""
    contingencies: list[Contingency | None] = []
    for group in range(len(embedded.groups)):
        rows = embedded.codes == group
        classes = embedded.space.classes.codes[rows]
        several = len(np.unique(classes)) > 1
        contingencies.append(contingency(classes, embedded.space.clusters[rows]) if several else None)
    return contingencies


def normalised_mutual(table: Contingency | None) -> float:
    """Return I / mean entropy."""
    return float("nan") if table is None else max(table.mutual, 0.0) / table.mean_entropy


def adjusted_mutual(table: Contingency | None) -> float:
    """Return (I - chance) / (mean entropy - chance); undefined where chance alone reaches the mean entropy."""
    if table is None:
        return float("nan")
    chance = expected_mutual_information(table.classes, table.clusters)
    room = table.mean_entropy - chance
    return (table.mutual - chance) / room if room > 1e-9 * table.mean_entropy else float("nan")


@embedding_measure("normalised_mutual_information", alias="NMI", better="high", bounds=(0.0, 1.0), undefined=ONE_CLASS)
def normalised_mutual_information(embedded: EmbeddingTally) -> Floats:
    """2 I(class; cluster) / (H(class) + H(cluster)) over the group's rows, one k-means of everything."""
    return np.array([normalised_mutual(table) for table in contingency_tables(embedded)])


@embedding_measure(
    "adjusted_mutual_information", alias="AMI", better="high", bounds=(-1.0, 1.0), paper="field",
    undefined=f"{ONE_CLASS}, or chance alone reaches the largest value (every row in its own class)",
)  # fmt: skip
def adjusted_mutual_information(embedded: EmbeddingTally) -> Floats:
    """(I - chance) / ((H(class) + H(cluster)) / 2 - chance): 0 is what random clusters have."""
    return np.array([adjusted_mutual(table) for table in contingency_tables(embedded)])


@embedding_measure(
    "normalised_mutual_information_by_chance", better="none", bounds=(0.0, 1.0), paper="field", undefined=ONE_CLASS
)
def normalised_mutual_information_by_chance(embedded: EmbeddingTally) -> Floats:
    """The NMI that clusters of the same sizes have by chance: read NMI against it, not against 0."""
    return np.array(
        [
            float("nan")
            if table is None
            else expected_mutual_information(table.classes, table.clusters) / table.mean_entropy
            for table in contingency_tables(embedded)
        ]
    )


# Rows whose pairs are formed for the RBF: half a million pairs.
RBF_ROWS = 1000
RBF_WEIGHT = 2.0


def common_group_size(embedded: EmbeddingTally) -> int:
    """Return how many rows of each group are looked at: as many as the smallest group that has any.

    Uniformity depends on how many rows there are, so groups are compared at the size of the smallest: of each larger
    group a seeded sample without replacement is taken.
    """
    people = embedded.people[embedded.people > 0]
    return int(people.min(initial=len(embedded.space)))


@embedding_measure(
    "uniformity", alias="U_KL", better="low", bounds=(0.0, INFINITE),
    undefined="the group has fewer than 2 rows, or its rows do not span min(n, d) directions",
)  # fmt: skip
def uniformity(embedded: EmbeddingTally) -> Floats:
    """KL(uniform || s), s the singular values of the rows (not centred, not squared) over their sum."""
    size = common_group_size(embedded)
    rows = [embedded.space.rows(embedded.sample(group, size, "uniformity")) for group in range(len(embedded.groups))]
    return np.array(
        [divergence_from_uniform(singular_values(points), points.shape, float_spacing(embedded)) for points in rows]
    )


def singular_values(rows: Floats) -> Floats:
    """Return the min(n, d) singular values, without squaring the rows on the way."""
    return np.asarray(np.linalg.svd(rows, compute_uv=False)) if len(rows) > 1 else np.zeros(0)


def float_spacing(embedded: EmbeddingTally) -> float:
    """Return the spacing of the numbers the embedding is stored in: what is smaller is rounding, not rank."""
    kind = embedded.space.points.dtype
    return float(np.finfo(kind).eps) if kind.kind == "f" else float(np.finfo(np.float64).eps)


def divergence_from_uniform(values: Floats, shape: tuple[int, ...], precision: float) -> float:
    """Return sum u log(u / s) with u = 1 / number; undefined where one of the values is 0 but for rounding.

    Numbers of n x d rows that are rounded to a relative spacing e have, by that alone, singular values of up to about
    e / 4 times their root mean square times sqrt(n) + sqrt(d); twice that is taken for 0.
    """
    if not len(values):
        return float("nan")
    n, d = shape
    noise = precision / 2 * np.sqrt((values**2).sum() / (n * d)) * (np.sqrt(n) + np.sqrt(d))
    if values.min() <= max(noise, 1e-13 * values.max()):
        return float("nan")
    return float(max(-np.log(values / values.sum()).mean() - np.log(len(values)), 0.0))


@embedding_measure("rbf_uniformity", better="low", bounds=(-INFINITE, 0.0), undefined="the group has fewer than 2 rows")
def rbf_uniformity(embedded: EmbeddingTally) -> Floats:
    """Logarithm of E exp(-2 |x - y|^2) over pairs of two rows of the group, at most 1,000 of them (Wang and Isola)."""
    size = min(common_group_size(embedded), RBF_ROWS)
    rows = [embedded.sample(group, size, "rbf uniformity") for group in range(len(embedded.groups))]
    return np.array([log_mean_rbf_kernel(embedded.space.rows(indices)) for indices in rows])


def log_mean_rbf_kernel(rows: Floats) -> float:
    """Return the log of the mean kernel over all pairs of different rows."""
    if len(rows) < 2:
        return float("nan")
    exponents = -RBF_WEIGHT * squared_distances(rows)[np.tri(len(rows), k=-1, dtype=bool)]
    largest = float(exponents.max())
    return largest + float(np.log(np.exp(exponents - largest).mean()))


def squared_distances(rows: Floats) -> Floats:
    """Return the squared distances between all rows."""
    centred = rows - rows.mean(axis=0)
    norms = np.einsum("ij,ij->i", centred, centred)
    return np.asarray(np.maximum(norms[:, None] + norms - 2 * centred @ centred.T, 0.0), dtype=np.float64)


ALONE = "no row of the group has another row of its class"


@embedding_measure(
    "recall_at_k", alias="R@k", gap_alias="k_close_fairness", kind="rate", better="high", bounds=(0.0, 1.0),
    denominator="rows whose class has another member", undefined=ALONE,
)  # fmt: skip
def recall_at_k(embedded: EmbeddingTally) -> tuple[Floats, Floats]:
    """Pr[one of the k nearest neighbours is of the same class]; the query itself is left out by its place."""
    return rows_by_group(embedded, embedded.space.hits)


@embedding_measure("mean_average_precision_at_r", alias="MAP@R", better="high", bounds=(0.0, 1.0), undefined=ALONE)
def mean_average_precision_at_r(embedded: EmbeddingTally) -> Floats:
    """Mean of 1/R sum of (right so far / rank) at the right ones of the R nearest, R the others of the class."""
    return ratio(*rows_by_group(embedded, embedded.space.average_precisions))


def singleton_counts(embedded: EmbeddingTally) -> Floats:
    """Return how many rows of each group are the only members of their class: they are no queries."""
    sizes = np.bincount(embedded.space.classes.codes)[embedded.space.classes.codes]
    return rows_by_group(embedded, (sizes == 1).astype(np.float64))[0]
