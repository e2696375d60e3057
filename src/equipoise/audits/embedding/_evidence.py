"""Intervals and tests for the numbers of an embedding: ``EMBEDDING_EVIDENCE[measure](embedded, generator, draws)``.

A value gets an interval for each group. A gap gets an interval where it is signed, and a permutation test: the groups
of the units that carry them are permuted. A gap that cannot be negative gets the test alone.

What all permutations share is computed once, so that each costs little: rows of one unit are permuted together, so sums
over units are all that one needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np

from equipoise.audits._units import UnitName
from equipoise.audits.embedding._intervals import (
    IntervalMethod,
    Spread,
    alignment_spread,
    carried_codes,
    mutual_information_spread,
    permuted_codes,
    permuted_units,
    query_spread,
    quick_singular_values,
    rbf_spread,
    t_quantile,
    uniformity_spread,
)
from equipoise.foundation import Floats, fitting, stream
from equipoise.measures import (
    GAP_RULES,
    PAPER_SIGN,
    RBF_WEIGHT,
    Measure,
    across_class_distance,
    common_group_size,
    compared_groups,
    divergence_from_uniform,
    float_spacing,
    get_measure,
    group_gap,
    squared_distances,
    within_class_distance,
)
from equipoise.results import Reason, ReasonCode, because
from equipoise.stats import (
    NullSample,
    combined_interval,
    draw_limits,
    sequential_permutation,
)
from equipoise.tallies import (
    Coded,
    Codes,
    EmbeddingMoments,
    EmbeddingTally,
)

# The value of every group, as a function of an embedding whose groups were permuted.
UnderNull = Callable[[EmbeddingTally], Floats]

# Rows whose pairs stand for all under the RBF.
PERMUTED_ROWS = 3_000
DRAWS = 2_000
# A permutation may be expensive, so few are made beyond the one that settles a test; where it is cheap, more are.
BATCH, CHEAP = 32, 10
# A unit, by its name in the plural.
SINGULAR: Mapping[UnitName, str] = {"rows": "row", "classes": "class", "clusters": "cluster"}


class EmbeddingReason(ReasonCode):
    """Why a number of an embedding is undefined, or has no interval or test."""

    UNDEFINED = "undefined", "{why}"
    UNDEFINED_IN_A_GROUP = "undefined_in_a_group", "a group has no value: {why}"
    NO_LARGEST_GROUP = "no_largest_group", "{why}"
    FEW_ROWS = "few_rows", "{rows:plural row}: fewer than {least:,}"
    SMALL_GROUP = "small_group", "a group has fewer than {least:,} rows"
    FEW_UNITS = "few_units", "{group!r} has only {number:,} {unit}: no interval"


def permuted_alignment(value: Callable[[EmbeddingMoments, int], Floats]) -> Callable[[EmbeddingTally], UnderNull]:
    """Sum the points of each class and unit once; a permutation only says which sums go together."""

    def prepare(embedded: EmbeddingTally) -> UnderNull:
        first, part = _parts(embedded)
        if 2 * len(first) > len(part):  # nearly every row is a unit: their sums would be a copy of the points
            return lambda permuted: value(permuted.moments, len(permuted.groups))
        moments = embedded.space.moments(Coded(part, tuple(map(str, range(len(first))))))

        def by_sums(permuted: EmbeddingTally) -> Floats:
            groups = len(permuted.groups)
            codes = permuted.codes[first]
            all_groups = (*permuted.groups, None)
            return value(regrouped(moments, np.where(codes < 0, groups, codes), all_groups), groups)

        return by_sums

    return prepare


def regrouped(moments: EmbeddingMoments, group: Codes, labels: tuple[str | None, ...]) -> EmbeddingMoments:
    """Return the sums of whole groups put together: ``group`` says where each goes. Second moments are left out."""
    keys = moments.cells[:, 0] * len(labels) + group[moments.cells[:, 1]]
    order = np.argsort(keys, kind="stable")
    present, starts = np.unique(keys[order], return_index=True)
    number, total, square = (
        np.add.reduceat(sums[order], starts, axis=0) for sums in (moments.number, moments.total, moments.square)
    )
    cells = np.stack([present // len(labels), present % len(labels)], axis=1)
    return replace(moments, cells=cells, number=number, total=total, square=square, second=None, groups=labels)


def permuted_uniformity(embedded: EmbeddingTally) -> UnderNull:
    """Compute singular values the quick way; a permutation takes other rows, so nothing is shared."""
    precision = float_spacing(embedded)

    def value(permuted: EmbeddingTally) -> Floats:
        size = common_group_size(permuted)
        groups = range(len(permuted.groups))
        rows = [permuted.space.rows(permuted.sample(group, size, "uniformity")) for group in groups]
        return np.array(
            [divergence_from_uniform(quick_singular_values(points), points.shape, precision) for points in rows]
        )

    return value


def permuted_rbf(embedded: EmbeddingTally) -> UnderNull:
    """Form the kernel of a sample of all rows once; a permutation then only says which pairs are whose."""
    space = embedded.space
    chosen = np.sort(
        stream(embedded.options.seed, "rbf under permutation").permutation(space.canonical)[:PERMUTED_ROWS]
    )
    exponents = -RBF_WEIGHT * squared_distances(space.rows(chosen))
    np.fill_diagonal(exponents, -np.inf)
    largest = float(exponents.max())
    kernel = np.exp(exponents - largest)
    part = _parts(embedded)[1][chosen]
    order = np.argsort(part, kind="stable")
    starts = np.unique(part[order], return_index=True)[1]
    for axis in (0, 1):
        kernel = np.add.reduceat(kernel.take(order, axis=axis), starts, axis=axis)
    rows, sizes = chosen[order[starts]], np.diff([*starts, len(order)])

    def value(permuted: EmbeddingTally) -> Floats:
        member = (permuted.codes[rows][:, None] == np.arange(len(permuted.groups))).astype(np.float64)
        sums, people = (member * (kernel @ member)).sum(axis=0), sizes @ member
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(largest + np.log(sums / (people * (people - 1))), dtype=np.float64)

    return value


def _parts(embedded: EmbeddingTally) -> tuple[Codes, Codes]:
    """Return the parts that are permuted whole: the first row of each, and the part of every row.

    A part is the rows of a unit that have its group; all rows that are never given a group are one more.
    """
    units = permuted_units(embedded)
    unit_of = np.where(carried_codes(embedded, units) >= 0, units.of_row, -1)
    _, first, part = np.unique(unit_of, return_index=True, return_inverse=True)
    return first, part.reshape(-1)


@dataclass(frozen=True)
class EmbeddingEvidence:
    """How sure a number is: for a value, arrays with an interval for each group; for a gap, one interval and a p.

    NaN where there is none. ``unit`` names what was resampled or permuted, ``method`` how the interval was made; None
    where there is none. ``draws`` is how many permutations the p of a gap rests on; of a value, how many draws were
    asked for at the most. ``reasons`` says why there is no interval, for each group of a value and once for a gap; None
    where there is one, or none could be. ``limited`` tells of a gap whether more permutations could have made its p
    smaller.
    """

    value: Floats
    low: Floats
    high: Floats
    p: float
    unit: UnitName | None
    method: IntervalMethod | None
    draws: int
    reasons: tuple[Reason | None, ...] = ()
    limited: bool | None = None


class Evidence(Protocol):
    """A function of an embedding that returns the evidence for one number; ``variant`` is for gaps."""

    def __call__(
        self, embedded: EmbeddingTally, generator: np.random.Generator, draws: int = DRAWS, *, variant: str = "paper"
    ) -> EmbeddingEvidence:
        """Return the evidence."""


@dataclass(frozen=True)
class _Statistic:
    """How a value's spread is computed, and how its gap is tested.

    ``prepare`` does what all permutations share, and returns the value as a function of permuted groups. Permutations
    stop when 20 of them were as extreme as the gap, else at the number that the tests of the report need; at most
    ``times`` as many are made as were asked for.
    """

    spread: Callable[[EmbeddingTally, Floats, np.random.Generator, int], Spread]
    times: int = 1
    prepare: Callable[[EmbeddingTally], UnderNull] | None = None


_STATISTICS: Mapping[str, _Statistic] = {
    "recall_at_k": _Statistic(partial(query_spread, of=lambda space: space.hits), CHEAP),
    "mean_average_precision_at_r": _Statistic(partial(query_spread, of=lambda space: space.average_precisions), CHEAP),
    "intra_class_alignment": _Statistic(
        lambda e, values, *_: alignment_spread(e, values, within_class=True),
        prepare=permuted_alignment(within_class_distance),
    ),
    "inter_class_alignment": _Statistic(
        lambda e, values, *_: alignment_spread(e, values, within_class=False),
        prepare=permuted_alignment(across_class_distance),
    ),
    "uniformity": _Statistic(uniformity_spread, prepare=permuted_uniformity),
    "rbf_uniformity": _Statistic(rbf_spread, prepare=permuted_rbf),
    "normalised_mutual_information": _Statistic(
        lambda e, values, *_: mutual_information_spread(e, values, adjusted=False)
    ),
    "adjusted_mutual_information": _Statistic(
        lambda e, values, *_: mutual_information_spread(e, values, adjusted=True)
    ),
}


def evidence_of(
    name: str,
    embedded: EmbeddingTally,
    generator: np.random.Generator,
    draws: int,
    variants: Sequence[str] = (),
    tests: int = 1,
) -> tuple[EmbeddingEvidence, dict[str, EmbeddingEvidence]]:
    """Return the evidence for a value, and for its gap by several rules, from one spread and one set of permutations.

    ``tests`` is how many the report makes.
    """
    measure = get_measure(name)
    values = measure.by_class(embedded)
    needs_spread = not variants or any(variant not in GAP_RULES for variant in variants)
    spread = _STATISTICS[name].spread(embedded, values, generator, draws) if needs_spread else None
    gaps = {variant: group_gap(values, embedded, measure.better, variant) for variant in variants}
    samples = _permuted(embedded, measure, gaps, generator, draw_limits(tests, _STATISTICS[name].times * draws))
    unit = permuted_units(embedded).name if gaps else None
    value, evidence = _of_value(embedded, measure, values, spread, draws), {}
    for variant, gap in gaps.items():
        low, high, method, reason = np.asarray(np.nan), np.asarray(np.nan), None, None
        if spread is not None and variant not in GAP_RULES:
            signs = _signs(embedded, measure, variant)
            low, high = _interval(gap, signs, values, spread)
            method = spread.method
            reason = next((value.reasons[group] for group in np.flatnonzero(signs) if value.reasons[group]), None)
        untested = EmbeddingEvidence(gap, low, high, float("nan"), unit, method, 0, (reason,))
        sample = samples.get(variant)
        evidence[variant] = untested if sample is None else replace(
            untested, p=sample.p, draws=sample.draws, limited=sample.limited
        )  # fmt: skip
    return value, evidence


def _of_value(
    embedded: EmbeddingTally, measure: Measure, values: Floats, spread: Spread | None, draws: int
) -> EmbeddingEvidence:
    if spread is None:
        unknown = np.full_like(values, np.nan)
        return EmbeddingEvidence(values, unknown, unknown, float("nan"), None, None, draws)
    low, high = (np.clip(edge, *measure.bounds) for edge in (spread.low, spread.high))
    reasons = tuple(
        _few_units(group, int(units), spread.unit) if np.isnan(edge) and not np.isnan(value) else None
        for group, units, edge, value in zip(embedded.groups, spread.units, low, values, strict=True)
    )
    return EmbeddingEvidence(values, low, high, float("nan"), spread.unit, spread.method, draws, reasons)


def _few_units(group: str, number: int, unit: UnitName) -> Reason:
    return because(EmbeddingReason.FEW_UNITS, group=group, number=number, unit=fitting(number, SINGULAR[unit], unit))


def _value(
    name: str, embedded: EmbeddingTally, generator: np.random.Generator, draws: int = DRAWS, *, variant: str = "paper"
) -> EmbeddingEvidence:
    values = get_measure(name).by_class(embedded, variant)
    spread = _STATISTICS[name].spread(embedded, values, generator, draws)
    return _of_value(embedded, get_measure(name), values, spread, draws)


def _gap(
    name: str, embedded: EmbeddingTally, generator: np.random.Generator, draws: int = DRAWS, *, variant: str = "paper"
) -> EmbeddingEvidence:
    return evidence_of(name, embedded, generator, draws, (variant,))[1][variant]


def _signs(embedded: EmbeddingTally, measure: Measure, variant: str) -> Floats:
    """Return what each group's value is multiplied with in the gap."""
    majoritised, minoritised = compared_groups(embedded)
    sign = -1.0 if measure.better == "low" and variant != PAPER_SIGN else 1.0
    shares = [mask / max(int(mask.sum()), 1) for mask in (majoritised, minoritised)]
    return np.asarray(sign * (shares[0] - shares[1]), dtype=np.float64)


def _interval(gap: Floats, signs: Floats, values: Floats, spread: Spread) -> tuple[Floats, Floats]:
    used = signs != 0
    if np.isnan(gap) or np.isnan(spread.low[used]).any():
        return np.asarray(np.nan), np.asarray(np.nan)
    if spread.covariance is None:  # independent groups with lopsided intervals
        return combined_interval(signs[used], values[used], spread.low[used], spread.high[used])
    fewest = spread.units[used].min(keepdims=True)
    reach = float(t_quantile(fewest)[0]) * np.sqrt(signs @ spread.covariance @ signs)
    return np.asarray(gap - reach), np.asarray(gap + reach)


def _permuted(
    embedded: EmbeddingTally, measure: Measure, gaps: Mapping[str, Floats], generator: np.random.Generator,
    draws: tuple[int, int],
) -> dict[str, NullSample]:  # fmt: skip
    """Test, by each rule, how often permuted groups are as far apart: on either side where the gap is signed."""
    defined = [variant for variant, gap in gaps.items() if not np.isnan(gap)]
    if not defined:
        return {}
    prepare, units = _STATISTICS[measure.name].prepare, permuted_units(embedded)
    under_null = measure.by_class if prepare is None else prepare(embedded)

    def values_of(codes: Codes) -> Floats:
        return under_null(replace(embedded, codes=codes))

    def gaps_of(variant: str, values: Sequence[Floats]) -> Floats:
        # Who is majoritised depends on the rows as they are, not on how large a group became by permuting.
        return np.array([[float(group_gap(drawn, embedded, measure.better, variant))] for drawn in values])

    observed = {variant: gaps[variant] for variant in defined}
    if prepare is not None or units.mixed:
        # What is permuted is a cheaper form of the value, or without rows that disagree with their unit; what it is
        # compared with is the same.
        values = values_of(carried_codes(embedded, units) if units.mixed else embedded.codes)
        observed = {variant: gaps_of(variant, [values])[0] for variant in defined}
    most, needed = draws
    samples = sequential_permutation(
        observed,
        lambda number, names: [values_of(permuted_codes(embedded, units, generator)) for _ in range(number)],
        gaps_of,
        most=most,
        needed=needed,
        signed=[variant for variant in defined if variant not in GAP_RULES],
        largest_batch=BATCH,
    )
    return {variant: sample for variant, [sample] in samples.items()}


EMBEDDING_EVIDENCE: Mapping[str, Evidence] = {
    **{name: partial(_value, name) for name in _STATISTICS},
    **{f"{name}_gap": partial(_gap, name) for name in _STATISTICS},
}
