"""Everybody's score, and what each group has of the most changed: the people with the lowest scores.

People with one score are tied, and ties are never cut at random: ``whole`` takes all of them or none, whichever comes
nearer to the share asked for; ``fractional`` counts each of them by the same fraction, so that the share is exact.

The noise floor is how much a second, identical run of the intervention differs from the first. Without it a low score
says that a person's point moved, not that the intervention moved it. One rerun shows one draw of that noise; its
intervals speak of other people, not of other reruns.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.audits._reasons import AuditReason
from equipoise.audits.compare._result import (
    CONFIDENCE,
    ChangeRecord,
    CompareReason,
    FloorRecord,
    Histogram,
    RingPart,
    few_or_nobody,
)
from equipoise.audits.compare._spec import TIES, Attribute, CompareSpec
from equipoise.cohorts import (
    Embedding,
    working_dtype,
)
from equipoise.foundation import BadInput, Floats, stream
from equipoise.measures import (
    Approximation,
    cka,
    neighbour_overlap,
    pnka,
)
from equipoise.results import Status, because
from equipoise.stats import (
    Units,
    clustered_mean_standard_error,
    compare_with_null,
    share_interval,
    shares_of_groups,
    t_interval,
    t_p,
)

# Scores that agree to so many decimals are equal: the rest is rounding, and rounding is nobody's change.
DECIMALS = {np.dtype(np.float32): 6, np.dtype(np.float64): 9}
# From so many rows on an RBF kernel is approximated: the exact one takes time that grows with their square.
MANY_ROWS = 20_000
# Neighbours are searched among no more rows than this, and this share of them are compared.
MOST_SEARCHED = 5_000
NEAREST = 0.01
QUANTILES = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}
BINS = 40
HIDDEN = "(hidden)"
LEAST_UNITS = 2
NO_SCORES: dict[str, Any] = dict.fromkeys(("mean", *QUANTILES), math.nan)
FEWEST_FOR_T = 10


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores, NaN where they are undefined; ``ranked`` are those of the known rows, rounded so that ties are ties."""

    values: Floats
    ranked: Floats
    cka: float
    notes: tuple[str, ...] = ()
    overlap: float = math.nan
    neighbours: int | None = None

    @property
    def is_scored(self) -> NDArray[np.bool_]:
        """Who has a score."""
        return ~np.isnan(self.values)

    @property
    def mean(self) -> float:
        """Aggregate PNKA: the mean over everyone who has a score."""
        return float(self.values[self.is_scored].mean())


def scored(before: Embedding, after: Embedding, profiles: Units | None, spec: CompareSpec) -> Scored:
    """Score every row; copies of one profile get one score, which rounding would otherwise tear apart."""
    kernel = spec.kernel
    radial: dict[str, Any] = {} if kernel == "linear" else {"bandwidth": spec.bandwidth, "seed": spec.seed}
    many = kernel == "rbf" and len(before) > MANY_ROWS
    options = {"kernel": kernel, "self_term": spec.self_term, **radial}
    if kernel == "linear" and spec.bandwidth is not None:
        raise BadInput("A bandwidth was given, and the kernel is linear", help="leave it out, or use --kernel rbf.")
    try:
        similarity = pnka(before.points, after.points, **options, **({"approximate": "nystroem"} if many else {}))
    except BadInput as error:
        raise _by_their_names(error, {"before": before.name, "after": after.name}) from error
    notes: tuple[str, ...] = ()
    if isinstance(similarity, Approximation):
        notes = (
            f"The RBF kernel of {len(before):,} rows was approximated with {similarity.landmarks:,} landmarks; on "
            f"{similarity.measured:,} rows scored both ways the scores were off by {similarity.mean_error:.2g} on "
            f"average and {similarity.largest_error:.2g} at the most. CKA was left out.",
        )
        similarity = similarity.scores
    values = np.asarray(similarity, dtype=np.float64)
    if np.isnan(values).all():
        raise BadInput("No row has a score", help="look at the points: each lies at the mean of its space.")
    if profiles is not None:
        values = profiles.means(values)[profiles.codes]
    kinds = {working_dtype(space.points.dtype) for space in (before, after)}
    decimals = min(DECIMALS[kind] for kind in kinds)
    defined = values[~np.isnan(values)]
    alignment = math.nan if many else float(cka(before.points, after.points, kernel=kernel, **radial))
    return Scored(values, np.round(defined, decimals) + 0.0, alignment, notes, *_overlap(before, after))


def _by_their_names(error: BadInput, names: Mapping[str, str]) -> BadInput:
    """Call the two sides by their own names: the second may be the rerun."""
    message = re.sub(r"\b(before|after)\b", lambda word: names[word[1]], error.given)
    return BadInput(message, available=error.available, help=error.help)


def _overlap(before: Embedding, after: Embedding) -> tuple[float, int | None]:
    """Return the mean overlap of the nearest hundredth of the rows, where there are not too many to search."""
    k = max(1, round(NEAREST * len(before)))
    if len(before) > MOST_SEARCHED or k >= len(before):
        return math.nan, None
    return float(np.mean(neighbour_overlap(before.points, after.points, k, metric="euclidean"))), k


def spread(scores: Floats) -> dict[str, Any]:
    """Return the mean and the quantiles of scores; NaN where there are none."""
    if not len(scores):
        return dict.fromkeys(("mean", *QUANTILES), math.nan)
    values = np.quantile(scores, list(QUANTILES.values()))
    return {"mean": float(scores.mean()), **dict(zip(QUANTILES, map(float, values), strict=True))}


def histograms(scores: Floats, attributes: Sequence[Attribute], least: int) -> Iterator[Histogram]:
    """Yield everyone's histogram and each group's, on the same edges; bins of fewer than ``least`` are hidden."""
    low, high = math.floor(20 * float(scores.min())) / 20, math.ceil(20 * float(scores.max())) / 20
    edges = np.linspace(low, high if high > low else low + 0.05, BINS + 1)
    yield _histogram(None, None, scores, edges, least)
    for attribute in attributes:
        for index, group in enumerate(attribute.groups):
            group_scores = scores[attribute.codes == index]
            if len(group_scores) >= least:
                yield _histogram(attribute.name, group, group_scores, edges, least)


def _histogram(attribute: str | None, group: str | None, scores: Floats, edges: Floats, least: int) -> Histogram:
    counts, _ = np.histogram(scores, edges)
    shown = tuple(int(count) if count == 0 or count >= least else None for count in counts)
    return Histogram(attribute=attribute, group=group, edges=tuple(float(edge) for edge in edges), counts=shown)


def rings(attributes: Sequence[Attribute], weights: Floats, least: int) -> Iterator[RingPart]:
    """Yield the rings of everyone and of the most changed: a ring an attribute, in the order given, inside out."""
    for whom, counted in (("population", np.ones(len(weights))), ("changed", weights)):
        for ring, attribute in enumerate(attributes):
            number = len(attribute.groups)
            people = np.bincount(attribute.codes, minlength=number)
            parts = np.bincount(attribute.codes, weights=counted, minlength=number) / counted.sum()
            shown = people >= least
            named = [(group, float(part)) for group, part, ok in zip(attribute.groups, parts, shown, strict=True) if ok]
            named += [(HIDDEN, float(parts[~shown].sum()))] if not shown.all() else []
            start = 0.0
            for group, share in named:
                end = start + share
                yield RingPart(
                    whom=whom, ring=ring, attribute=attribute.name, group=group, share=share, start=start, end=end
                )
                start = end


@dataclass(frozen=True, eq=False)
class Cut:
    """Who is among the most changed: a weight from 0 to 1 for every row with a score."""

    weights: Floats
    share: float
    ties: str
    cutoff: float
    tied: int

    @property
    def changed(self) -> float:
        """How many people that is."""
        return float(self.weights.sum())

    @property
    def reached(self) -> float:
        """The share of people that it is."""
        return self.changed / len(self.weights)

    @property
    def separates(self) -> bool:
        """Whether there is anybody who is not among them."""
        return bool((self.weights < 1).any() and (self.weights > 0).any() and np.ptp(self.weights) > 0)


def cut_lowest(scores: Floats, share: float, ties: str) -> Cut:
    """Cut off the people with the lowest scores."""
    if not 0 < share < 1:
        raise BadInput(f"The share is {share!r}", available="a number between 0 and 1, such as 0.1")
    if ties not in TIES:
        raise BadInput(f"ties is {ties!r}", available=", ".join(TIES))
    values, class_of, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    number_whole, part = cut_prefix(np.cumsum(sizes).astype(np.float64), share, ties)
    weight = np.zeros(len(values))
    weight[:number_whole] = 1.0
    if part:
        weight[number_whole] = part
    last = number_whole if part else number_whole - 1
    return Cut(weight[class_of.reshape(-1)], share, ties, float(values[last]), int(sizes[last]))


def cut_prefix(running: Floats, share: float, ties: str) -> tuple[int, float]:
    """Return how many classes of tied people come in whole, and how much of the next one.

    ``running`` is the running number of people over the classes, from the lowest score up.
    """
    target = share * running[-1]
    index = int(np.searchsorted(running, target * (1 - 1e-12)))
    below = float(running[index - 1]) if index else 0.0
    if ties == "fractional":
        part = (target - below) / (float(running[index]) - below)
        return (index + 1, 0.0) if part > 1 - 1e-9 else (index, part)
    takes_in = index == 0 or running[index] - target <= target - below
    return (index + 1 if takes_in else index), 0.0


@dataclass(frozen=True)
class Composition:
    """The shares of an attribute's groups among the most changed and among everyone, and what chance makes of that."""

    people: Floats
    changed: Floats
    share_changed: Floats
    share_population: Floats
    share_changed_units: Floats
    share_population_units: Floats
    p: Floats
    half: Floats


def composition(
    attribute: Attribute, cut: Cut, units: Units, *, draws: int, generator: np.random.Generator
) -> Composition:
    """Compare the groups of one attribute with everyone; groups are permuted over units, not over people."""
    number = len(attribute.groups)
    table = units.table(attribute.codes, number)
    people = table.sum(axis=0)
    changed = np.bincount(attribute.codes, weights=cut.weights, minlength=number).astype(np.float64, copy=False)
    once, fractions = table / units.sizes[:, None], units.means(cut.weights)
    permuted = draws if cut.separates and units.number >= LEAST_UNITS else 0
    shares = shares_of_groups(units, cut.weights, attribute.codes, number, permuted, generator)
    tested = compare_with_null(shares.observed, shares.null)
    return Composition(
        people=people,
        changed=changed,
        share_changed=changed / changed.sum(),
        share_population=people / people.sum(),
        share_changed_units=fractions @ once / fractions.sum(),
        share_population_units=once.mean(axis=0),
        p=tested.p,
        half=tested.half,
    )


def effect(share: float, population: float) -> tuple[float, float]:
    """Return the lift (how many times the share in the population) and Cohen's h = 2 asin(√p1) - 2 asin(√p2)."""
    lift = share / population if population > 0 else math.nan
    return lift, 2 * math.asin(math.sqrt(min(share, 1.0))) - 2 * math.asin(math.sqrt(min(population, 1.0)))


def change_records(spec: CompareSpec, scores: Scored, cut: Cut, floor: Scored | None) -> list[ChangeRecord]:
    """Return a record for everyone, then one for each group of each attribute."""
    is_known, units, least = scores.is_scored, spec.units, spec.suppress_below
    held = units.only(is_known)
    is_separable = cut.separates
    overall = ChangeRecord(
        attribute=None,
        group=None,
        people=len(is_known),
        undefined=int((~is_known).sum()),
        profiles=units.number,
        **spread(scores.values[is_known]),
        changed=cut.changed if is_separable else None,
        share_changed=cut.reached if is_separable else math.nan,
        status=Status.OK if is_separable else Status.UNDEFINED,
        reason=None if is_separable else because(CompareReason.NOBODY_CHANGED_MORE),
    )
    records = [overall]
    for attribute in spec.people.attributes:
        known_attribute = attribute.only(is_known)
        generator = stream(spec.seed, "most changed", attribute.name)
        composed = composition(known_attribute, cut, held, draws=spec.draws, generator=generator)
        noise = None if floor is None else _noise(attribute, floor, cut)
        tested = attribute.tested(include_missing=spec.include_missing) if is_separable and spec.draws else []
        for group_index in range(len(attribute.groups)):
            people = int((attribute.codes == group_index).sum())
            if people < least:
                records.append(_hidden(attribute, group_index, least))
                continue
            record = _group_record(attribute, group_index, people, scores, units)
            if is_separable:
                record = _with_shares(record, composed, group_index, noise)
            records.append(_with_test(record, composed, group_index) if group_index in tested else record)
    return records


def _hidden(attribute: Attribute, group_index: int, least: int) -> ChangeRecord:
    return ChangeRecord(
        attribute=attribute.name, group=attribute.groups[group_index], people=None, undefined=None, profiles=None,
        **NO_SCORES, status=Status.TOO_SMALL, reason=because(AuditReason.SUPPRESSED, least=least),
    )  # fmt: skip


def _group_record(attribute: Attribute, group_index: int, people: int, scores: Scored, units: Units) -> ChangeRecord:
    rows = attribute.codes == group_index
    is_scored = rows & scores.is_scored
    nobody = not is_scored.any()
    return ChangeRecord(
        attribute=attribute.name,
        group=attribute.groups[group_index],
        people=people,
        undefined=people - int(is_scored.sum()),
        profiles=len(np.unique(units.codes[rows])),
        **spread(scores.values[is_scored]),
        status=Status.UNDEFINED if nobody else Status.OK,
        reason=because(CompareReason.NO_SCORES) if nobody else None,
    )


def _with_shares(record: ChangeRecord, composed: Composition, group_index: int, noise: Floats | None) -> ChangeRecord:
    share, population = float(composed.share_changed[group_index]), float(composed.share_population[group_index])
    if composed.people[group_index] == 0:
        return record
    lift, h = effect(share, population)
    return replace(
        record,
        changed=float(composed.changed[group_index]),
        share_changed=share,
        share_population=population,
        difference=share - population,
        lift=lift,
        h=h,
        share_changed_profiles=float(composed.share_changed_units[group_index]),
        share_population_profiles=float(composed.share_population_units[group_index]),
        share_changed_rerun=None if noise is None else float(noise[group_index]),
    )


def _with_test(record: ChangeRecord, composed: Composition, group_index: int) -> ChangeRecord:
    p, half = float(composed.p[group_index]), float(composed.half[group_index])
    if math.isnan(p) or composed.people[group_index] == 0:
        return record
    record = replace(record, p=p)
    if math.isnan(half) or not 0 < record.share_population < 1:
        return record
    low, high = share_interval(record.difference, record.share_population, half)
    return replace(record, low=low, high=high, interval="permutation", level=CONFIDENCE)


def _noise(attribute: Attribute, floor: Scored, cut: Cut) -> Floats | None:
    """Return the shares of the groups among those whom the rerun alone would make the most changed."""
    is_known = floor.is_scored
    other = cut_lowest(floor.ranked, cut.share, cut.ties)
    if not other.separates:
        return None
    parts = np.bincount(attribute.codes[is_known], weights=other.weights, minlength=len(attribute.groups))
    return np.asarray(parts / other.changed, dtype=np.float64)


def floor_records(spec: CompareSpec, scores: Floats, floor: Floats) -> Iterator[FloorRecord]:
    """Yield a record for everyone, then for each group."""
    is_known = ~np.isnan(scores) & ~np.isnan(floor)
    yield _floor_record(None, None, scores, floor, is_known, spec.units, spec.suppress_below)
    for attribute in spec.people.attributes:
        for index, group in enumerate(attribute.groups):
            rows = is_known & (attribute.codes == index)
            yield _floor_record(attribute.name, group, scores, floor, rows, spec.units, spec.suppress_below)


def _floor_record(
    attribute: str | None, group: str | None, scores: Floats, floor: Floats, rows: NDArray[np.bool_], units: Units,
    least: int,
) -> FloorRecord:  # fmt: skip
    people = int(rows.sum())
    if people < max(least, 1):
        status, reason = few_or_nobody(least, CompareReason.NO_TWO_SCORES)
        return FloorRecord(
            attribute=attribute, group=group, people=None if least > 1 else 0, mean=math.nan, floor_mean=math.nan,
            excess=math.nan, low=None, high=None, status=status, reason=reason,
        )  # fmt: skip
    held, excess = units.only(rows), floor[rows] - scores[rows]
    mean, error, degrees = float(excess.mean()), clustered_mean_standard_error(held, excess), held.effective - 1
    record = FloorRecord(
        attribute=attribute, group=group, people=people, mean=float(scores[rows].mean()),
        floor_mean=float(floor[rows].mean()), excess=mean, low=None, high=None,
    )  # fmt: skip
    if held.effective < FEWEST_FOR_T or not error > 0:
        return replace(record, reason=because(CompareReason.FEW_UNITS, least=FEWEST_FOR_T))
    low, high = t_interval(mean, error, degrees, CONFIDENCE)
    return replace(record, low=low, high=high, level=CONFIDENCE, p=t_p(mean, error, degrees))
