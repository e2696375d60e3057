"""Histograms of scores: how much weight has (group, of the class or not, score bin).

AUC, calibration, the Brier score and every threshold are functions of it. Bins are fixed beforehand, so histograms of
shards add up and the answer does not depend on where the rows were. Inside a bin scores count as tied for the AUC (at
10,000 bins that moves it by less than the bound :meth:`Scores.auc_bound` gives); sums of scores and of squared scores
are kept beside the counts, so the Brier score and the calibration error are exact.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.tallies.cells import Cells
from equipoise.tallies.confusion import Confusion
from equipoise.tallies.counts import TARGET, group_axis, group_labels, group_name
from equipoise.tallies.factorise import Coded

if TYPE_CHECKING:
    import narwhals as nw
    from scipy import sparse

Floats = NDArray[np.float64]

BIN = "bin"
BINS = 10_000
SIDES = ("other", "member")


@dataclass(frozen=True)
class Scale:
    """Equal bins over the range of the scores. Bin k starts at edge k; the last holds the highest score alone."""

    low: float = 0.0
    high: float = 1.0

    @property
    def probabilities(self) -> bool:
        """Tell whether scores can be read as probabilities."""
        return (self.low, self.high) == (0.0, 1.0)

    @property
    def edges(self) -> Floats:
        """The lowest score of each bin."""
        return self._edge(np.arange(BINS + 1, dtype=np.float64))  # type: ignore[no-any-return]

    def _edge(self, place: Any) -> Any:
        # For probabilities an edge is the float nearest to k / 10,000: the one a user's 0.29 is, too. (The divisor is
        # written as a column: by a plain number Polars multiplies with its reciprocal, which rounds differently.)
        return place / (place * 0 + BINS) if self.probabilities else self.low + place * ((self.high - self.low) / BINS)

    def bins_of(self, scores: Floats) -> NDArray[np.int64]:
        """Return the bin of each score: the last whose edge is not above it."""
        return self._place(scores, np.floor).astype(np.int64)  # type: ignore[no-any-return]

    def bin_expression(self, scores: nw.Expr) -> nw.Expr:
        """Return the same, as an expression for a lazy frame."""
        import narwhals as nw

        return self._place(scores, lambda place: place.floor()).cast(nw.Int64())  # type: ignore[no-any-return]

    def _place(self, scores: Any, floor: Any) -> Any:
        span = (self.high - self.low) or 1.0
        guess = floor(((scores - self.low) / span) * BINS)
        # Rounding can put the guess one bin off; compare with the edges themselves.
        below, above = self._edge(guess) > scores, self._edge(guess + 1) <= scores
        place = guess - _as_number(below) + _as_number(above)
        # Scores that differ by a few last bits make bins narrower than a float: keep them inside all the same.
        return place.clip(0, BINS)


def _as_number(truth: Any) -> Any:
    if isinstance(truth, np.ndarray):
        return truth.astype(np.float64)
    import narwhals as nw

    return truth.cast(nw.Float64())


@dataclass(frozen=True, eq=False)
class Scores:
    """The dense histogram of one attribute. ``[..., group, other or of the class, bin]``.

    ``starts`` says at which of the 10,000 bins each bin starts: after :meth:`coarser` they are fewer.
    """

    weight: Floats
    score_sum: Floats
    square_sum: Floats
    squared_weight: Floats
    rows: Floats
    groups: tuple[str, ...]
    scale: Scale
    starts: NDArray[np.int64] = field(default_factory=lambda: np.arange(BINS + 1))

    @property
    def parts(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Everything that adds up: weight, scores, squared scores, squared weights and rows."""
        return (self.weight, self.score_sum, self.square_sum, self.squared_weight, self.rows)

    @property
    def everyone(self) -> Scores:
        """The same histogram with all groups taken together."""
        weight, score, square, squared, rows = (part.sum(axis=-3, keepdims=True) for part in self.parts)
        return Scores(weight, score, square, squared, rows, ("everyone",), self.scale, self.starts)

    def coarser(self, starts: NDArray[np.int64]) -> Scores:
        """The same histogram in fewer bins; ``starts`` says at which bin each of them starts."""
        weight, score, square, squared, rows = (np.add.reduceat(part, starts, axis=-1) for part in self.parts)
        return Scores(weight, score, square, squared, rows, self.groups, self.scale, self.starts[starts])

    @property
    def people(self) -> Floats:
        """How many rows each group has, whatever they weigh."""
        return np.asarray(self.rows.sum(axis=(-1, -2)), dtype=np.float64)

    def confusion_at(self, thresholds: Floats, classes: tuple[str, str]) -> Confusion:
        """Return the confusion table at every threshold: predicted of the class where score >= threshold."""
        places = np.searchsorted(self.scale.edges[self.starts], thresholds, side="left")
        above = np.cumsum(self.weight[..., ::-1], axis=-1)[..., ::-1]
        above = np.concatenate([above, np.zeros((*above.shape[:-1], 1))], axis=-1)
        yes = np.moveaxis(above[..., places], -1, 0)
        everybody = self.weight.sum(axis=-1)
        no = np.maximum(everybody - yes, 0.0)
        return Confusion(np.stack([no, yes], axis=-1), self.groups, classes)

    def auc_bound(self) -> Floats:
        """Return by how much tied bins can move each group's AUC at most."""
        totals = self.weight.sum(axis=-1)
        tied = (self.weight[..., 0, :] * self.weight[..., 1, :]).sum(axis=-1)
        return np.asarray(0.5 * tied / np.maximum(totals[..., 0] * totals[..., 1], 1e-300), dtype=np.float64)


def score_cells(columns: dict[str, Coded], scores: Floats, scale: Scale, weights: Floats | None = None) -> Cells:
    """Count scores eagerly by group, target and bin, with the sums of scores and squared scores."""
    places = scale.bins_of(scores)
    binned = Coded(places, tuple(str(place) for place in range(BINS + 1)))
    return Cells.from_codes({**columns, BIN: binned}, weights, [scores, scores * scores])


def scores_of(
    cells: Cells,
    attributes: Sequence[str],
    of_class: str,
    scale: Scale,
    *,
    include_missing: bool = False,
    only: Collection[str] | None = None,
) -> Scores:
    """Return the dense histogram of one attribute, or of several crossed; rows without a target are left out."""
    axes = [group_axis(attribute) for attribute in attributes]
    groups = group_labels(cells, attributes, include_missing=include_missing, only=only)
    bins = [str(place) for place in range(BINS + 1)]
    sums = _sided(cells, of_class).crossed(axes, groups, [TARGET, BIN], [SIDES, bins])
    names = tuple(group_name(labels) for labels in groups)
    return Scores(sums[..., 1], sums[..., 3], sums[..., 4], sums[..., 2], sums[..., 0], names, scale)


def score_units(cells: Cells, unit: str, attributes: Sequence[str], of_class: str, like: Scores) -> sparse.csc_array:
    """Return the weights of a histogram for every unit: a sparse row a unit, flat over groups, sides and bins."""
    axes = [group_axis(attribute) for attribute in attributes]
    groups = group_labels(cells, attributes, include_missing=True, only=like.groups)
    bins = np.searchsorted(like.starts, np.arange(BINS + 1), side="right") - 1
    coarse = cells.relabel(BIN, {str(place): str(bin_) for place, bin_ in enumerate(bins.tolist())})
    labels = [SIDES, [str(bin_) for bin_ in range(len(like.starts))]]
    return _sided(coarse, of_class).crossed_by(unit, axes, groups, [TARGET, BIN], labels)


def _sided(cells: Cells, of_class: str) -> Cells:
    """Call every class but one "other"."""
    known = [label for label in cells.axis(TARGET) if label is not None]
    return cells.relabel(TARGET, {label: "member" if label == of_class else "other" for label in known})
