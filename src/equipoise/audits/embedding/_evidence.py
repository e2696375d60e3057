"""Intervals and tests for the numbers of an embedding: ``EMBEDDING_EVIDENCE[measure](embedded, generator, draws)``.

A value gets an interval for each group. A gap gets an interval where it is signed, and a permutation test: groups are
dealt out anew to the units that carry them. A gap that cannot be negative gets the test alone.

What all permutations share is computed once, so that each costs little: rows of one unit are permuted together, so sums
over units are all that one needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from equipoise.audits.embedding._spreads import (
    Spread,
    alignment_spread,
    mutual_information,
    quick_singular_values,
    rbf_spread,
    resampled_queries,
    student,
    uniformity_spread,
)
from equipoise.audits.embedding._units import carried_codes, permuted_codes, permuted_units
from equipoise.foundation.seeds import stream
from equipoise.foundation.text import plural
from equipoise.measures.alignment import aligned_across, aligned_within
from equipoise.measures.embeddings import PAPER_SIGN, compared, compared_sets
from equipoise.measures.evenness import RBF_WEIGHT, common_size, divergence, spacing, squared_distances
from equipoise.measures.gap_rules import RULES
from equipoise.measures.measure import Measure, get_measure
from equipoise.stats import most_draws, sequential_permutation
from equipoise.tallies.embedded import Embedded
from equipoise.tallies.factorise import Coded, Codes
from equipoise.tallies.moments import Moments

Floats = NDArray[np.float64]
# The value of every group, as a function of an embedding whose groups were permuted.
Dealt = Callable[[Embedded], Floats]

# Rows whose pairs stand for all under the RBF.
DEALT_ROWS = 3_000
DRAWS = 2_000
# A permutation may be dear, so few are made beyond the one that settles a test; where it is cheap, more are made.
BATCH, CHEAP = 32, 10
# A unit, by its name in the plural.
ONE = {"rows": "row", "classes": "class", "clusters": "cluster"}


def dealt_alignment(value: Callable[[Moments, int], Floats]) -> Callable[[Embedded], Dealt]:
    """Sum the points of each class and unit once; a deal only says which sums go together."""

    def prepare(embedded: Embedded) -> Dealt:
        first, part = _parts(embedded)
        if 2 * len(first) > len(part):  # nearly every row is a unit: their sums would be a copy of the points
            return lambda dealt: value(dealt.moments, len(dealt.groups))
        moments = embedded.space.moments(Coded(part, tuple(map(str, range(len(first))))))

        def by_sums(dealt: Embedded) -> Floats:
            groups = len(dealt.groups)
            codes = dealt.codes[first]
            whole = (*dealt.groups, None)
            return value(regrouped(moments, np.where(codes < 0, groups, codes), whole), groups)

        return by_sums

    return prepare


def regrouped(moments: Moments, group: Codes, labels: tuple[str | None, ...]) -> Moments:
    """Return the sums of whole groups put together: ``group`` says where each goes. Second moments are left out."""
    keys = moments.cells[:, 0] * len(labels) + group[moments.cells[:, 1]]
    order = np.argsort(keys, kind="stable")
    kept, starts = np.unique(keys[order], return_index=True)
    number, total, square = (
        np.add.reduceat(sums[order], starts, axis=0) for sums in (moments.number, moments.total, moments.square)
    )
    cells = np.stack([kept // len(labels), kept % len(labels)], axis=1)
    return replace(moments, cells=cells, number=number, total=total, square=square, second=None, groups=labels)


def dealt_uniformity(embedded: Embedded) -> Dealt:
    """Take singular values by the quick way; a deal takes other rows, so nothing is shared."""
    precision = spacing(embedded)

    def value(dealt: Embedded) -> Floats:
        size = common_size(dealt)
        rows = [dealt.space.rows(dealt.sample(group, size, "uniformity")) for group in range(len(dealt.groups))]
        return np.array([divergence(quick_singular_values(points), points.shape, precision) for points in rows])

    return value


def dealt_rbf(embedded: Embedded) -> Dealt:
    """Form the kernel of a sample of all rows once; a deal then only says which pairs are whose."""
    space = embedded.space
    chosen = np.sort(stream(embedded.options.seed, "rbf under permutation").permutation(space.canonical)[:DEALT_ROWS])
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

    def value(dealt: Embedded) -> Floats:
        own = (dealt.codes[rows][:, None] == np.arange(len(dealt.groups))).astype(np.float64)
        sums, people = (own * (kernel @ own)).sum(axis=0), sizes @ own
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(largest + np.log(sums / (people * (people - 1))), dtype=np.float64)

    return value


def _parts(embedded: Embedded) -> tuple[Codes, Codes]:
    """Return the parts that are dealt whole: the first row of each, and the part of every row.

    A part is the rows of a unit that have its group; all rows that are never dealt a group are one more.
    """
    units = permuted_units(embedded)
    whole = np.where(carried_codes(embedded, units) >= 0, units.of_row, -1)
    _, first, part = np.unique(whole, return_index=True, return_inverse=True)
    return first, part.reshape(-1)


@dataclass(frozen=True)
class EmbeddingEvidence:
    """What can be said of a number: for a value, arrays with an interval a group; for a gap, one interval and a p.

    NaN where it cannot be told. ``unit`` names what was drawn or permuted: rows, classes or clusters. ``draws`` is how
    many permutations the p of a gap rests on; of a value, how many draws were asked for at the most. ``untold`` says
    why there is no interval, for each group of a value and once for a gap; None where there is one, or none could be.
    ``limited`` tells of a gap whether more permutations could have made its p smaller.
    """

    value: Floats
    low: Floats
    high: Floats
    p: float
    unit: str
    method: str
    draws: int
    untold: tuple[str | None, ...] = ()
    limited: bool | None = None


class Judge(Protocol):
    """A function of an embedding that returns its evidence; ``variant`` is for gaps."""

    def __call__(
        self, embedded: Embedded, generator: np.random.Generator, draws: int = DRAWS, *, variant: str = "paper"
    ) -> EmbeddingEvidence:
        """Judge one number."""


@dataclass(frozen=True)
class _Way:
    """How a value's spread is found, and how its gap is tested.

    ``prepare`` does what all permutations share, and returns the value as a function of dealt groups. Permutations stop
    when 20 of them were as extreme as the gap, else at the number that the tests of the report need; at most ``times``
    as many are made as were asked for.
    """

    spread: Callable[[Embedded, Floats, np.random.Generator, int], Spread]
    times: int = 1
    prepare: Callable[[Embedded], Dealt] | None = None


_WAYS: Mapping[str, _Way] = {
    "recall_at_k": _Way(lambda e, values, g, draws: resampled_queries(e, values, e.space.hits, g, draws), CHEAP),
    "mean_average_precision_at_r": _Way(
        lambda e, values, g, draws: resampled_queries(e, values, e.space.average_precisions, g, draws), CHEAP
    ),
    "intra_class_alignment": _Way(
        lambda e, values, g, draws: alignment_spread(e, values, within_class=True),
        prepare=dealt_alignment(aligned_within),
    ),
    "inter_class_alignment": _Way(
        lambda e, values, g, draws: alignment_spread(e, values, within_class=False),
        prepare=dealt_alignment(aligned_across),
    ),
    "uniformity": _Way(uniformity_spread, prepare=dealt_uniformity),
    "rbf_uniformity": _Way(rbf_spread, prepare=dealt_rbf),
    "normalised_mutual_information": _Way(lambda e, values, g, draws: mutual_information(e, values, adjusted=False)),
    "adjusted_mutual_information": _Way(lambda e, values, g, draws: mutual_information(e, values, adjusted=True)),
}


def judged(
    name: str,
    embedded: Embedded,
    generator: np.random.Generator,
    draws: int,
    variants: Sequence[str] = (),
    tests: int = 1,
) -> tuple[EmbeddingEvidence, dict[str, EmbeddingEvidence]]:
    """Judge a value, and its gap by several rules: one spread and one set of permutations serve them all.

    ``tests`` is how many the report makes.
    """
    measure = get_measure(name)
    values = measure.by_class(embedded)
    needs_spread = not variants or any(variant not in RULES for variant in variants)
    found = _WAYS[name].spread(embedded, values, generator, draws) if needs_spread else None
    gaps = {variant: compared(values, embedded, measure.better, variant) for variant in variants}
    tested = _permuted(embedded, measure, gaps, generator, most_draws(tests, _WAYS[name].times * draws))
    unit = permuted_units(embedded).name if gaps else ""
    value, told = _of_value(embedded, measure, values, found, draws), {}
    for variant, gap in gaps.items():
        low, high, method, untold = np.asarray(np.nan), np.asarray(np.nan), "permuted groups", None
        if found is not None and variant not in RULES:
            signs = _signs(embedded, measure, variant)
            low, high = _interval(gap, signs, values, found)
            method = f"{found.method}; permuted groups"
            untold = next((value.untold[group] for group in np.flatnonzero(signs) if value.untold[group]), None)
        p, dealt, limited = tested[variant]
        told[variant] = EmbeddingEvidence(gap, low, high, p, unit, method, dealt, (untold,), limited)
    return value, told


def _of_value(
    embedded: Embedded, measure: Measure, values: Floats, found: Spread | None, draws: int
) -> EmbeddingEvidence:
    if found is None:
        unknown = np.full_like(values, np.nan)
        return EmbeddingEvidence(values, unknown, unknown, float("nan"), "", "", draws)
    low, high = (np.clip(edge, *measure.bounds) for edge in (found.low, found.high))
    untold = tuple(
        f"{group} has {plural(int(units), ONE[found.unit], found.unit)} only: no interval"
        if np.isnan(edge) and not np.isnan(known) else None
        for group, units, edge, known in zip(embedded.groups, found.units, low, values, strict=True)
    )  # fmt: skip
    return EmbeddingEvidence(values, low, high, float("nan"), found.unit, found.method, draws, untold)


def _value(name: str) -> Judge:
    def judge(
        embedded: Embedded, generator: np.random.Generator, draws: int = DRAWS, *, variant: str = "paper"
    ) -> EmbeddingEvidence:
        values = get_measure(name).by_class(embedded, variant)
        found = _WAYS[name].spread(embedded, values, generator, draws)
        return _of_value(embedded, get_measure(name), values, found, draws)

    return judge


def _gap(name: str) -> Judge:
    def judge(
        embedded: Embedded, generator: np.random.Generator, draws: int = DRAWS, *, variant: str = "paper"
    ) -> EmbeddingEvidence:
        return judged(name, embedded, generator, draws, (variant,))[1][variant]

    return judge


def _signs(embedded: Embedded, measure: Measure, variant: str) -> Floats:
    """Return what each group's value is multiplied with in the gap."""
    majoritised, minoritised = compared_sets(embedded)
    sign = -1.0 if measure.better == "low" and variant != PAPER_SIGN else 1.0
    shares = [mask / max(int(mask.sum()), 1) for mask in (majoritised, minoritised)]
    return np.asarray(sign * (shares[0] - shares[1]), dtype=np.float64)


def _interval(gap: Floats, signs: Floats, values: Floats, found: Spread) -> tuple[Floats, Floats]:
    used = signs != 0
    if np.isnan(gap) or np.isnan(found.low[used]).any():
        return np.asarray(np.nan), np.asarray(np.nan)
    if found.covariance is not None:
        reach = float(student(found.units[used].min(keepdims=True))[0]) * np.sqrt(signs @ found.covariance @ signs)
        return np.asarray(gap - reach), np.asarray(gap + reach)
    # Independent groups with lopsided intervals: their distances to the values are added up in squares (Newcombe).
    below, above = values - found.low, found.high - values
    to_low = np.where(signs > 0, below, above)[used]
    to_high = np.where(signs > 0, above, below)[used]
    return tuple(  # type: ignore[return-value]
        np.asarray(gap + side * np.sqrt(((signs[used] * away) ** 2).sum()))
        for side, away in ((-1.0, to_low), (1.0, to_high))
    )


def _permuted(
    embedded: Embedded, measure: Measure, gaps: Mapping[str, Floats], generator: np.random.Generator,
    draws: tuple[int, int],
) -> dict[str, tuple[float, int, bool | None]]:  # fmt: skip
    """Test how often permuted groups are as far apart: on either side where the gap is signed.

    Return p, the draws it rests on, and whether more of them could have made it smaller.
    """
    known = [variant for variant, gap in gaps.items() if not np.isnan(gap)]
    untested: dict[str, tuple[float, int, bool | None]] = dict.fromkeys(gaps, (float("nan"), 0, None))
    if not known:
        return untested
    way, units = _WAYS[measure.name], permuted_units(embedded)
    under_null = measure.by_class if way.prepare is None else way.prepare(embedded)

    def values_of(codes: Codes) -> Floats:
        return under_null(replace(embedded, codes=codes))

    def gaps_of(variant: str, values: Sequence[Floats]) -> Floats:
        # Who is majoritised is settled by the rows as they are, not by how large a group became by permuting.
        return np.array([[float(compared(one, embedded, measure.better, variant))] for one in values])

    observed = {variant: gaps[variant] for variant in known}
    if way.prepare is not None or units.mixed:
        # What is permuted is a cheaper form of the value, or without rows that disagree with their unit; what it is
        # compared with is the same.
        values = values_of(carried_codes(embedded, units) if units.mixed else embedded.codes)
        observed = {variant: gaps_of(variant, [values])[0] for variant in known}
    most, needed = draws
    found = sequential_permutation(
        observed,
        lambda number, names: [values_of(permuted_codes(embedded, units, generator)) for _ in range(number)],
        gaps_of,
        most=most, needed=needed, signed=[variant for variant in known if variant not in RULES], largest_batch=BATCH,
    )  # fmt: skip
    return {**untested, **{variant: (test.p, test.draws, test.limited) for variant, [test] in found.items()}}


EMBEDDING_EVIDENCE: Mapping[str, Judge] = {
    **{name: _value(name) for name in _WAYS},
    **{f"{name}_gap": _gap(name) for name in _WAYS},
}
