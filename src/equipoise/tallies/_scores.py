"""Tallies of predictions that are numbers: histograms of scores, and moments of a regression.

A histogram says how much weight has (group, of the class or not, score bin). AUC, calibration, the Brier score and
every threshold are functions of it. Bins are chosen from the scores: one for each value where there are few values, or
few among the rarer side; otherwise bins that hold equal shares of both sides. All shards are counted in the same bins,
so histograms add up. Inside a bin of several values scores count as tied for the AUC, and :meth:`Scores.auc_bound` says
by how much that can move it; where rows are in memory, :class:`RankedScores` gives the exact AUC instead. Sums of
scores and of squared scores are kept beside the counts, so the Brier score and the calibration error are exact.

Pearson, MAE, RMSE and mean residuals per group are functions of the moments of a regression. Their sums of squares are
taken about a pivot near the mean, so that a salary in the millions loses no digits.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import Floats, ratio
from equipoise.tallies._cells import Cells
from equipoise.tallies._counts import (
    TARGET_AXIS,
    Confusion,
    group_axis,
    group_labels,
    group_name,
    row_group_codes,
)
from equipoise.tallies._labels import (
    Coded,
    Label,
)

if TYPE_CHECKING:
    import narwhals as nw
    from scipy import sparse


SCORE_AXIS = "bin"
SCORE_BINS = 10_000
# Every scale has a bin that starts at each hundredth of its range: thresholds and calibration bins are cut there.
STEPS = 100
SIDES = ("other", "member")


@dataclass(frozen=True, eq=False)
class ScoreScale:
    """The bins of a score. Bin k starts at edge k and ends before the next; without cuts they are equally wide.

    ``single`` marks bins that hold one value of the score only: rows inside are truly tied. ``exact`` says that the
    scale was fitted to all values and that no other bin holds both sides.
    """

    low: float = 0.0
    high: float = 1.0
    cuts: Floats | None = None
    single: NDArray[np.bool_] | None = None
    exact: bool = False

    @property
    def probabilities(self) -> bool:
        """Tell whether scores can be read as probabilities."""
        return (self.low, self.high) == (0.0, 1.0)

    @property
    def edges(self) -> Floats:
        """The lowest score of each bin."""
        if self.cuts is not None:
            return self.cuts
        return self._edge(np.arange(SCORE_BINS + 1, dtype=np.float64))  # type: ignore[no-any-return]

    def steps(self, number: int = STEPS) -> Floats:
        """Return where equal steps over the range start; bins start there too, for any number that divides 100."""
        if self.probabilities:
            return np.arange(number) / number
        return np.linspace(self.low, self.high, STEPS + 1)[: -1 : STEPS // number]

    def _edge(self, position: Any) -> Any:
        # For probabilities an edge is the float nearest to k / 10,000: the one a user's 0.29 is, too. (The divisor is
        # written as a column: by a plain number Polars multiplies with its reciprocal, which rounds differently.)
        return (
            position / (position * 0 + SCORE_BINS)
            if self.probabilities
            else self.low + position * ((self.high - self.low) / SCORE_BINS)
        )

    def bins_of(self, scores: Floats) -> NDArray[np.int64]:
        """Return the bin of each score: the last whose edge is not above it."""
        if self.cuts is not None:
            return np.searchsorted(self.cuts, scores, side="right") - 1
        return self._place(scores, np.floor).astype(np.int64)  # type: ignore[no-any-return]

    def bin_expression(self, scores: nw.Expr) -> nw.Expr:
        """Return the same for equally wide bins, as an expression for a lazy frame."""
        import narwhals as nw

        assert self.cuts is None
        return self._place(scores, lambda position: position.floor()).cast(nw.Int64())  # type: ignore[no-any-return]

    def _place(self, scores: Any, floor: Any) -> Any:
        span = (self.high - self.low) or 1.0
        guess = floor(((scores - self.low) / span) * SCORE_BINS)
        # Rounding can put the guess one bin off; compare with the edges themselves.
        below, above = self._edge(guess) > scores, self._edge(guess + 1) <= scores
        position = guess - _as_number(below) + _as_number(above)
        # Scores that differ by a few last bits make bins narrower than a float: keep them inside all the same.
        return position.clip(0, SCORE_BINS)


def score_range(low: float, high: float) -> ScoreScale:
    """Scores inside [0, 1] are read as probabilities; others have their own range."""
    return ScoreScale() if low >= 0.0 and high <= 1.0 else ScoreScale(low, high)


def fit_scale(
    low: float, high: float, values: Floats, others: Floats, members: Floats, bins: int = SCORE_BINS
) -> ScoreScale:
    """Return the bins for scores of these values, of which so much weight is of the class (``members``) or not.

    Few values have a bin each. So have the values of the rarer side where those are few: between them lies the other
    side alone, and the AUC is exact. Otherwise either side is cut into equal shares, and a value that has a large share
    of a side has a bin to itself.

    Parameters
    ----------
    low, high : float
        The lowest and the highest score.
    values : array
        Different values of the score, in ascending order: all of them, or a sample.
    others, members : array
        The rows of each value that are not of the class, and that are.
    bins : int
        At most about so many bins.
    """
    scale = score_range(low, high)
    if len(values) <= bins:
        return replace(cut_scale(scale, values, values), exact=True)
    rare = min((values[side > 0] for side in (others, members)), key=len)
    exact = 2 * len(rare) <= bins
    shares = max(bins // 4, 1)
    alone = rare if exact else values[(others > others.sum() / shares) | (members > members.sum() / shares)]
    room = (bins - 2 * len(alone)) // 2
    cuts = [np.nextafter(alone, np.inf), *(_equal_shares(values, side, room) for side in (others, members))]
    return replace(cut_scale(scale, np.concatenate(cuts), alone), exact=exact)


def scale_of_rows(ranked: RankedScores, member: NDArray[np.bool_], bins: int = SCORE_BINS) -> ScoreScale:
    """Return the bins for rows in the order of their scores, of which these are of the class."""
    starts = np.flatnonzero(np.diff(ranked.ranks, prepend=-1))
    rows = np.diff(starts, append=len(ranked.ranks)).astype(np.float64)
    members = np.bincount(ranked.ranks, weights=member, minlength=len(starts)).astype(np.float64)
    values = ranked.scores[starts]
    return fit_scale(float(values[0]), float(values[-1]), values, rows - members, members, bins)


def cut_scale(scale: ScoreScale, cuts: Floats, alone: Floats) -> ScoreScale:
    """Return the scale with bins at these cuts and at its steps; ``alone`` are values with a bin to themselves."""
    edges = np.unique(np.concatenate([cuts, alone, scale.steps(), [scale.low, scale.high]]))
    single = np.zeros(len(edges), dtype=bool)
    single[np.searchsorted(edges, alone)] = True
    return replace(scale, cuts=edges, single=single)


def _equal_shares(values: Floats, weight: Floats, shares: int) -> Floats:
    """Return the values at which the cumulative weight passes equal shares."""
    total = np.cumsum(weight)
    if shares < 1 or not total[-1]:
        return values[:0]
    positions = np.searchsorted(total, total[-1] * np.arange(1, shares) / shares, side="left")
    return np.asarray(values[np.unique(np.minimum(positions, len(values) - 1))], dtype=np.float64)


def _as_number(truth: Any) -> Any:
    if isinstance(truth, np.ndarray):
        return truth.astype(np.float64)
    import narwhals as nw

    return truth.cast(nw.Float64())


@dataclass(frozen=True, eq=False)
class ScoreHistogram:
    """The dense histogram of one attribute. ``[..., group, other or of the class, bin]``.

    ``starts`` says at which bin of the scale each bin starts: after :meth:`coarser` they are fewer. ``exact_auc`` is
    each group's AUC from the ranks of its rows, and ``exact_auc_of_all`` that of all groups together, where known.
    """

    weight: Floats
    score_sum: Floats
    square_sum: Floats
    squared_weight: Floats
    rows: Floats
    groups: tuple[str, ...]
    scale: ScoreScale
    starts: NDArray[np.int64] = field(default_factory=lambda: np.arange(SCORE_BINS + 1))
    exact_auc: Floats | None = None
    exact_auc_of_all: float = float("nan")

    @property
    def edges(self) -> Floats:
        """The lowest score of each bin."""
        return self.scale.edges[self.starts]

    def group_indices(self, cuts: Floats) -> NDArray[np.int64]:
        """Return the bins that start at these scores."""
        return np.searchsorted(self.edges, cuts, side="left")

    @property
    def parts(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Everything that adds up: weight, scores, squared scores, squared weights and rows."""
        return (self.weight, self.score_sum, self.square_sum, self.squared_weight, self.rows)

    @property
    def overall(self) -> ScoreHistogram:
        """The same histogram with all groups taken together."""
        weight, score, square, squared, rows = (part.sum(axis=-3, keepdims=True) for part in self.parts)
        exact = None if self.exact_auc is None else np.array([self.exact_auc_of_all])
        named = ("everyone",)
        return ScoreHistogram(
            weight, score, square, squared, rows, named, self.scale, self.starts, exact, self.exact_auc_of_all
        )

    def only(self, groups: Sequence[str]) -> ScoreHistogram:
        """The same histogram with some of the groups."""
        at = [self.groups.index(group) for group in groups]
        weight, score, square, squared, rows = (part[..., at, :, :] for part in self.parts)
        exact = None if self.exact_auc is None else self.exact_auc[..., at]
        return ScoreHistogram(
            weight, score, square, squared, rows, tuple(groups), self.scale, self.starts, exact, self.exact_auc_of_all
        )

    def coarser(self, starts: NDArray[np.int64]) -> ScoreHistogram:
        """The same histogram in fewer bins; ``starts`` says at which bin each of them starts."""
        weight, score, square, squared, rows = (np.add.reduceat(part, starts, axis=-1) for part in self.parts)
        return ScoreHistogram(weight, score, square, squared, rows, self.groups, self.scale, self.starts[starts])

    @property
    def people(self) -> Floats:
        """How many rows each group has, whatever they weigh."""
        return np.asarray(self.rows.sum(axis=(-1, -2)), dtype=np.float64)

    def confusion_at(self, thresholds: Floats, classes: tuple[str, str]) -> Confusion:
        """Return the confusion table at every threshold: predicted of the class where score >= threshold."""
        positions = self.group_indices(thresholds)
        above = np.cumsum(self.weight[..., ::-1], axis=-1)[..., ::-1]
        above = np.concatenate([above, np.zeros((*above.shape[:-1], 1))], axis=-1)
        yes = np.moveaxis(above[..., positions], -1, 0)
        everybody = self.weight.sum(axis=-1)
        no = np.maximum(everybody - yes, 0.0)
        return Confusion(np.stack([no, yes], axis=-1), self.groups, classes)

    def auc_bound(self) -> Floats:
        """Return by how much the bins can move each group's AUC at most: 0 where it is exact."""
        if self.exact_auc is not None:
            return np.zeros_like(self.exact_auc)
        totals = self.weight.sum(axis=-1)
        mixed = self.weight[..., 0, :] * self.weight[..., 1, :]
        if self.scale.single is not None and len(self.starts) == len(self.scale.single):
            mixed = np.where(self.scale.single, 0.0, mixed)
        tied = mixed.sum(axis=-1)
        return np.asarray(0.5 * tied / np.maximum(totals[..., 0] * totals[..., 1], 1e-300), dtype=np.float64)


def score_cells(
    columns: Mapping[str, Coded], scores: Floats, scale: ScoreScale, weights: Floats | None = None
) -> Cells:
    """Count scores eagerly by group, target and bin, with the sums of scores and squared scores."""
    bin_codes = scale.bins_of(scores)
    binned = Coded(bin_codes, tuple(str(bin_index) for bin_index in range(len(scale.edges))))
    return Cells.from_codes({**columns, SCORE_AXIS: binned}, weights, [scores, scores * scores])


def scores_of(
    cells: Cells,
    attributes: Sequence[str],
    of_class: str,
    scale: ScoreScale,
    *,
    include_missing: bool = False,
    only: Collection[str] | None = None,
    ranked: RankedScores | None = None,
) -> ScoreHistogram:
    """Return the dense histogram of one attribute, or of several crossed; rows without a target are left out.

    With rows in the order of their scores the AUC is exact.
    """
    axes = [group_axis(attribute) for attribute in attributes]
    groups = group_labels(cells, attributes, include_missing=include_missing, only=only)
    bins = [str(bin_index) for bin_index in range(len(scale.edges))]
    sums = _sided(cells, of_class).crossed(axes, groups, [TARGET_AXIS, SCORE_AXIS], [SIDES, bins])
    names = tuple(group_name(labels) for labels in groups)
    exact, of_all = (None, float("nan")) if ranked is None else ranked.auc(attributes, names, of_class)
    rows, weight, squares, scores, score_squares = np.moveaxis(sums, -1, 0)
    return ScoreHistogram(
        weight, scores, score_squares, squares, rows, names, scale, np.arange(len(bins)), exact, of_all
    )


def score_units(
    cells: Cells, unit: str, attributes: Sequence[str], of_class: str, like: ScoreHistogram
) -> sparse.csc_array:
    """Return the weights of a histogram for every unit: a sparse row a unit, flat over groups, sides and bins."""
    axes = [group_axis(attribute) for attribute in attributes]
    groups = group_labels(cells, attributes, include_missing=True, only=like.groups)
    bins = np.searchsorted(like.starts, np.arange(len(like.scale.edges)), side="right") - 1
    coarse = cells.relabel(SCORE_AXIS, {str(index): str(bin_) for index, bin_ in enumerate(bins.tolist())})
    labels = [SIDES, [str(bin_) for bin_ in range(len(like.starts))]]
    return _sided(coarse, of_class).crossed_by(unit, axes, groups, [TARGET_AXIS, SCORE_AXIS], labels)


def _sided(cells: Cells, of_class: str) -> Cells:
    """Call every class but one "other"."""
    classes = [label for label in cells.axis(TARGET_AXIS) if label is not None]
    return cells.relabel(TARGET_AXIS, {label: "member" if label == of_class else "other" for label in classes})


@dataclass(frozen=True, eq=False)
class RankedScores:
    """Rows in the order of their scores: what an exact AUC is computed from. Rows of one score have one rank."""

    scores: Floats
    ranks: NDArray[np.int64]
    axes: Mapping[str, Coded]
    weights: Floats | None = None

    @classmethod
    def from_rows(cls, columns: Mapping[str, Coded], scores: Floats, weights: Floats | None = None) -> RankedScores:
        """Put rows into the order of their scores."""
        order = np.argsort(scores, kind="stable")
        ascending = scores[order]
        ranks = np.cumsum(np.diff(ascending, prepend=ascending[:1]) > 0, dtype=np.int64)
        axes = {name: Coded(coded.codes[order], coded.labels) for name, coded in columns.items()}
        return cls(ascending, ranks, axes, None if weights is None else weights[order])

    def cells(self, scale: ScoreScale) -> Cells:
        """Count the rows by their axes and the bin of their score."""
        return score_cells(self.axes, self.scores, scale, self.weights)

    def renamed(self, axis: str, names: Mapping[Label, Label]) -> RankedScores:
        """Give labels of an axis other names; labels may then have the same name."""
        coded = self.axes[axis]
        labels = tuple(names.get(label, label) for label in coded.labels)
        return replace(self, axes={**self.axes, axis: Coded(coded.codes, labels)})

    def where(self, axis: str, keep: Collection[Label]) -> RankedScores:
        """Keep only the rows whose label on an axis is one of these."""
        coded = self.axes[axis]
        return self._only(np.array([label in keep for label in coded.labels], dtype=bool)[coded.codes])

    def _only(self, selection: NDArray[np.bool_]) -> RankedScores:
        axes = {name: Coded(coded.codes[selection], coded.labels) for name, coded in self.axes.items()}
        return RankedScores(
            self.scores[selection],
            self.ranks[selection],
            axes,
            None if self.weights is None else self.weights[selection],
        )

    def auc(self, attributes: Sequence[str], groups: Sequence[str], of_class: str) -> tuple[Floats, float]:
        """Return the AUC of each group, and of all of them together; NaN where one side has no weight."""
        target = self.axes[TARGET_AXIS]
        sides = np.array([-1 if label is None else int(label == of_class) for label in target.labels])[target.codes]
        group_codes = row_group_codes(self.axes, attributes, groups)
        is_ranked = (sides >= 0) & (group_codes >= 0)
        ranks, sides, group_codes = self.ranks[is_ranked], sides[is_ranked], group_codes[is_ranked]
        weights = np.ones(len(ranks)) if self.weights is None else self.weights[is_ranked]
        of_all = _ranked_auc(ranks, sides, np.zeros_like(group_codes), weights, 1)[0]
        # A stable sort by group keeps the order of scores inside each group.
        order = np.argsort(group_codes.astype(np.int16 if len(groups) < 2**15 else np.int64), kind="stable")
        by_group = _ranked_auc(ranks[order], sides[order], group_codes[order], weights[order], len(groups))
        return by_group, float(of_all)


def _ranked_auc(
    ranks: NDArray[np.int64], sides: NDArray[np.int64], group_codes: NDArray[np.int64], weights: Floats, groups: int
) -> Floats:
    """Return the AUC of every group from rows in the order of group and rank."""
    if not len(ranks):
        return np.full(groups, np.nan)
    new = np.concatenate([[True], (ranks[1:] != ranks[:-1]) | (group_codes[1:] != group_codes[:-1])])
    starts = np.flatnonzero(new)
    other, member = (np.add.reduceat(np.where(sides == side, weights, 0.0), starts) for side in (0, 1))
    group_of_rank = group_codes[starts]
    totals = [np.bincount(group_of_rank, weights=part, minlength=groups) for part in (other, member)]
    before = np.cumsum(totals[0]) - totals[0]
    below = np.cumsum(other) - other - before[group_of_rank]
    won = np.bincount(group_of_rank, weights=member * (below + 0.5 * other), minlength=groups)
    pairs = totals[0] * totals[1]
    return np.asarray(np.divide(won, pairs, out=np.full(groups, np.nan), where=pairs > 0), dtype=np.float64)


@dataclass(frozen=True)
class ResidualPivot:
    """The values that target and prediction are measured from."""

    target: float
    prediction: float


def residual_sums(target: Any, prediction: Any, pivot: ResidualPivot) -> list[Any]:
    """Return what is summed per group, for arrays and for lazy expressions alike."""
    y, p = target - pivot.target, prediction - pivot.prediction
    residual = prediction - target
    size = residual.abs() if hasattr(residual, "abs") else np.abs(residual)
    square = residual * residual
    return [y, p, y * y, p * p, y * p, size, square, square * square]


# Rows, weight and squared weight come before the quantities.
RESIDUAL_SUMS = 3 + 8


@dataclass(frozen=True, eq=False)
class ResidualMoments:
    """Per group: weight, means, variances, covariance and the errors' means. Each has the shape ``[..., group]``."""

    rows: Floats
    weight: Floats
    squared_weight: Floats
    mean_target: Floats
    mean_prediction: Floats
    variance_target: Floats
    variance_prediction: Floats
    covariance: Floats
    mean_absolute_error: Floats
    mean_squared_error: Floats
    mean_fourth_power: Floats
    groups: tuple[str, ...]
    overall_sums: Floats
    pivot: ResidualPivot

    @property
    def people(self) -> Floats:
        """How many rows each group has, whatever they weigh."""
        return self.rows

    @property
    def overall(self) -> ResidualMoments:
        """The same moments with all groups taken together."""
        return residual_moments(self.overall_sums[..., None, :], ("everyone",), self.pivot)


def residual_moments(sums: Floats, groups: tuple[str, ...], pivot: ResidualPivot) -> ResidualMoments:
    """Turn sums ``[..., group, WIDTH]`` into means, variances and covariances."""
    weight = sums[..., 1]
    y, p, yy, pp, yp, size, squared, fourth = (ratio(sums[..., column], weight) for column in range(3, RESIDUAL_SUMS))
    return ResidualMoments(
        rows=sums[..., 0],
        weight=weight,
        squared_weight=sums[..., 2],
        mean_target=y + pivot.target,
        mean_prediction=p + pivot.prediction,
        variance_target=_spread(yy, y),
        variance_prediction=_spread(pp, p),
        covariance=yp - y * p,
        mean_absolute_error=size,
        mean_squared_error=squared,
        mean_fourth_power=fourth,
        groups=groups,
        overall_sums=sums.sum(axis=-2),
        pivot=pivot,
    )


def _spread(mean_square: Floats, mean: Floats) -> Floats:
    """Return the variance; what rounding leaves of a constant column is 0."""
    variance = mean_square - mean * mean
    return np.where(variance <= 1e-12 * mean_square, 0.0, variance)


def residuals_of(
    cells: Cells,
    attributes: Sequence[str],
    pivot: ResidualPivot,
    *,
    include_missing: bool = False,
    only: Collection[str] | None = None,
) -> ResidualMoments:
    """Return the moments of one attribute's groups, or of several crossed."""
    axes = [group_axis(attribute) for attribute in attributes]
    groups = group_labels(cells, attributes, include_missing=include_missing, only=only)
    sums = cells.crossed(axes, groups, [], [])
    return residual_moments(sums, tuple(group_name(labels) for labels in groups), pivot)


def residual_units(cells: Cells, unit: str, attributes: Sequence[str], like: ResidualMoments) -> sparse.csc_array:
    """Return the sums of every unit: a sparse row a unit, flat over sums and groups."""
    from scipy import sparse

    axes = [group_axis(attribute) for attribute in attributes]
    groups = group_labels(cells, attributes, include_missing=True, only=like.groups)
    columns = [cells.crossed_by(unit, axes, groups, [], [], column) for column in range(RESIDUAL_SUMS)]
    return sparse.csc_array(sparse.hstack(columns, format="csc"))
