"""All tests of a report are corrected together, and intervals are widened to agree with verdicts.

A test that is said twice enters the correction once. The favourable class is a class that is told twice. Of two
classes, what is not one is the other: as many are selected for one as are not for the other, and a wrong call of the
one is a missed other.

What a gap is at least: simultaneous lower bounds, from the same null that tested it, at any level.

Of a gap in rates the bound is the largest lower end over pairs of groups, with intervals as wide as the null's quantile
says that all pairs together need. Of a mean over classes each class has its share of the error. Subgroup fairness has
the least value in a box of Wilson intervals; bias amplification the shift less its standard error.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from scipy import special, stats

from equipoise.audits._contrasts import Contrast, intervals_of
from equipoise.audits._tallies import View
from equipoise.foundation import Floats, ratio
from equipoise.measures import Measure
from equipoise.results import Reason, Record
from equipoise.stats import (
    LEVEL,
    MAX_PAIRED_GROUPS,
    NullSample,
    PairBound,
    benjamini_hochberg,
    critical_value,
    equivalence_p,
    is_equivalent,
    is_finding,
    least_weighted_distance,
    pair_bounds,
    pairs_equivalence_p,
    simultaneous_intervals,
    small_sample_factor,
    standard_deviation_of_draws,
)
from equipoise.tallies import Confusion

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from equipoise.audits._gap_tests import RateTable


class Bound(Protocol):
    """What bounds a gap at any level, and tells whether it lies within a margin."""

    def requests(self, alpha: float) -> list[PairBound]:
        """Return the pairs to bound together with those of other gaps."""

    def finish(self, ends: Sequence[float], alpha: float) -> tuple[float | None, float | None]:
        """Return both ends, of which one is None, given the ends of the pairs."""

    def equivalence_p(self, margin: float) -> float | None:
        """Return the p that the gap is the margin or more; None where there is not enough data."""


@dataclass(frozen=True, eq=False)
class GapTest:
    """The test of one gap: its p and draws, who was left out, the pair that differs most, and how it is bounded.

    ``bound`` bounds it at the level that decides in the report; ``low`` is a bound at 95% that is told as it is.
    """

    p: float = float("nan")
    draws: int | None = None
    limited_by_draws: bool | None = None
    left_out: tuple[str, ...] = ()
    pair: tuple[str, str] | None = None
    bound: Bound | None = None
    low: float = float("nan")
    reason: Reason | None = None

    @classmethod
    def of(cls, sample: NullSample, **rest: Any) -> GapTest:
        """Return the test that compared a gap with its null."""
        return cls(sample.p, sample.draws, sample.limited, **rest)


@dataclass(frozen=True, eq=False)
class MeansBound:
    """The bound of a largest difference of means ``[pair]`` with their standard errors.

    Each pair has an equal share of the error on each side. ``complete`` is false where a group was left out.
    """

    differences: Floats
    errors: Floats
    degrees: Floats
    complete: bool = True

    @property
    def p(self) -> float:
        """The smallest p of Student's t over pairs, times their number: at most alpha where the bound is not 0."""
        is_known = np.isfinite(self.differences) & (self.errors > 0)
        if not is_known.any():
            return 1.0
        p = 2.0 * stats.t.sf(np.abs(self.differences[is_known]) / self.errors[is_known], self.degrees[is_known])
        return float(min(p.min() * is_known.sum(), 1.0))

    def requests(self, alpha: float) -> list[PairBound]:
        """Nothing is bounded together with other gaps."""
        return []

    def finish(self, ends: Sequence[float], alpha: float) -> tuple[float | None, float | None]:
        """Return the largest lower end over pairs, at least 0."""
        is_known = np.isfinite(self.differences + self.errors)
        if not is_known.any():
            return None, None
        reach = stats.t.isf(alpha / (2.0 * is_known.sum()), self.degrees[is_known]) * self.errors[is_known]
        return float(max((np.abs(self.differences[is_known]) - reach).max(), 0.0)), None

    def equivalence_p(self, margin: float) -> float | None:
        """Return the largest p over pairs; None where a group is too small to tell."""
        if not self.complete or not len(self.differences):
            return None
        p = float(equivalence_p(self.differences, self.errors, margin, self.degrees).max())
        return None if np.isnan(p) else p


@dataclass(frozen=True, eq=False)
class GapBound:
    """How one gap is bounded; ``column`` is its class, or None for the mean over classes."""

    measure: Measure
    kind: str
    tables: tuple[RateTable, ...]
    column: int | None
    sample: NullSample | None
    view: View

    @property
    def is_ratio(self) -> bool:
        """Tell whether rates are compared by their ratio."""
        return self.measure.name in ("disparate_impact", "impact_ratio")

    @property
    def columns(self) -> list[int]:
        """The classes it is about: those in which every group has a rate."""
        if self.column is not None:
            return [self.column]
        defined = np.all([(table.trials > 0).all(axis=0) for table in self.tables], axis=0)
        return np.flatnonzero(defined).tolist()

    def requests(self, alpha: float) -> list[PairBound]:
        """Return the pairs to bound, class by class, at an error of alpha for all of them together."""
        if self.kind != "pairs":
            return []
        return [self._request(table, column, alpha) for column in self.columns for table in self.tables]

    def equivalence_p(self, margin: float) -> float | None:
        """Return the p that the largest difference is the margin or more; None where a group is too small to tell.

        Every pair of groups must be within the margin, so the largest p over pairs (and classes) counts.
        """
        if self.kind != "pairs" or self.is_ratio or self.measure.name == "standardised_mean_difference":
            return None
        p_values = []
        for column in self.columns:
            for table in self.tables:
                if not table.compared[:, column].all():
                    return None
                p_values.append(self._pairs_p(table, column, margin))
        return max(p_values) if p_values else None

    def _pairs_p(self, table: RateTable, column: int, margin: float) -> float:
        if table.proportion and table.errors is None:
            return pairs_equivalence_p(table.successes[:, column], table.trials[:, column], margin)
        rates = table.rates[:, column]
        low, high = np.triu_indices(len(rates), 1)
        degrees = np.inf if self.view.behind is None else self.view.behind.fewest(self.view.compared.groups) - 1
        return float(
            equivalence_p(rates[low] - rates[high], table.pair_errors(column)[low, high], margin, degrees).max()
        )

    def _request(self, table: RateTable, column: int, alpha: float) -> PairBound:
        number = int(table.compared[:, column].sum())
        pairs = number * (number - 1) // 2
        if self.column is None:
            critical = critical_value(None, alpha / max(len(self.columns), 1), pairs * len(self.tables))
        else:
            # The null of more groups is of each against all, and tells nothing of pairs.
            sample = None if number > MAX_PAIRED_GROUPS else self.sample
            critical = critical_value(sample, alpha, pairs * len(self.tables))
        counts, _ = table.candidates(column)
        level = 1.0 - 2.0 * float(special.ndtr(-critical))
        by_error = table.errors is not None or not table.proportion
        if by_error and not self.is_ratio:
            return PairBound(np.empty((0, 4)), level, exact=_least_by_error(table, column, critical))
        return PairBound(counts, level, "ratio" if self.is_ratio else "difference")

    def finish(self, ends: Sequence[float], alpha: float) -> tuple[float | None, float | None]:
        """Return the lower bound of a gap, or the upper bound of a ratio of which less is worse."""
        if self.kind == "chi":
            return self._box(alpha), None
        if self.kind == "value":
            return _least_amplification(self.view, self.column, alpha), None
        columns = self.columns
        if not columns or not len(ends):
            return None, None
        by_table = np.asarray(ends, dtype=np.float64).reshape(len(columns), len(self.tables))
        if self.is_ratio:
            upper = by_table.min(axis=1)
            if self.measure.name == "impact_ratio":
                return None, float(min(upper.mean(), 1.0)) if np.isfinite(upper).all() else 1.0
            return float(np.maximum(1.0 - upper, 0.0).mean()), None
        lows = np.nan_to_num(by_table).max(axis=1)
        if self.measure.name == "standardised_mean_difference":
            overall = ratio(self.view.compared.overall.predicted, self.view.compared.overall.people)[0, columns]
            lows = lows / np.sqrt(np.maximum(overall * (1 - overall), 1e-12))
        squares = self.measure.name == "true_positive_rate_gap"
        return float(np.sqrt((lows**2).mean()) if squares else lows.mean()), None

    def _box(self, alpha: float) -> float | None:
        (table,) = self.tables
        columns = self.columns
        if not columns:
            return None
        low, high = simultaneous_intervals(table.successes[:, columns], table.trials[:, columns], 1.0 - alpha)
        shares = ratio(self.view.compared.people, self.view.compared.overall.people)[:, [0]]
        return float(least_weighted_distance(low, high, np.broadcast_to(shares, low.shape)).mean())


def bound_of(
    measure: Measure, kind: str, tables: Sequence[RateTable], column: int | None, sample: NullSample | None, view: View
) -> GapBound | None:
    """Return how a gap is bounded; None where nothing bounds it."""
    if kind == "value" and measure.name != "bias_amplification":
        return None
    return GapBound(measure, kind, tuple(tables), column, sample, view)


def resolve(bounds: Sequence[Bound], alphas: Sequence[float]) -> list[tuple[float | None, float | None]]:
    """Return the (low, high) of every bound, all pairs of all of them at once."""
    requests = [bound.requests(alpha) for bound, alpha in zip(bounds, alphas, strict=True)]
    ends = pair_bounds([bound_request for request in requests for bound_request in request])
    intervals, start = [], 0
    for bound, alpha, request in zip(bounds, alphas, requests, strict=True):
        intervals.append(bound.finish(ends[start : start + len(request)], alpha))
        start += len(request)
    return intervals


def _least_by_error(table: RateTable, column: int, critical: float) -> float:
    """Return the largest difference less so many of its standard errors, where a rate has one: of clusters, of F1."""
    rates, groups = table.rates[:, column], np.flatnonzero(table.compared[:, column])
    certain_gaps = np.abs(rates[:, None] - rates[None]) - critical * table.pair_errors(column)
    return float(np.nanmax(np.maximum(certain_gaps[np.ix_(groups, groups)], 0.0), initial=0.0))


def _shares(table: Confusion) -> tuple[Floats, Floats]:
    """Return each group's share of those truly of a class, and of those predicted so."""
    overall = table.overall
    return ratio(table.positives, overall.positives), ratio(table.predicted, overall.predicted)


def _least_amplification(view: View, column: int | None, alpha: float) -> float | None:
    """The signed shift of the largest group's share, less its error; the shares' covariance would only narrow it."""
    table: Confusion = view.compared
    if not table.has_target:
        return None
    overall = table.overall
    true_share, predicted_share = _shares(table)
    largest = true_share == true_share.max(axis=0, keepdims=True)
    ties = np.maximum(largest.sum(axis=0), 1)
    if view.resampled is not None:
        drawn_true, drawn_predicted = _shares(view.only_compared(view.resampled))
        spread = standard_deviation_of_draws(drawn_predicted - drawn_true)
        spread *= 1.0 if view.behind is None else small_sample_factor(view.behind.fewest(table.groups))
    else:
        squares = view.only_compared(view.squares).overall
        people = (ratio(overall.predicted**2, squares.predicted), ratio(overall.positives**2, squares.positives))
        spread = np.sqrt(
            predicted_share * (1 - predicted_share) / np.maximum(np.nan_to_num(people[0]), 1)
            + true_share * (1 - true_share) / np.maximum(np.nan_to_num(people[1]), 1)
        )
    defined = ((overall.positives > 0) & (overall.predicted > 0))[0]
    if not defined.any() or (column is not None and not defined[column]):
        return None
    tests = ties.astype(np.float64) if column is not None else ties * float(defined.sum())
    shift = np.abs(predicted_share - true_share) - stats.norm.isf(alpha / tests) * spread
    lows = np.where(largest, np.maximum(shift, 0.0), 0.0).max(axis=0)
    return float(lows[column]) if column is not None else float(lows[defined].mean())


AnyRecord = TypeVar("AnyRecord", bound="DataclassInstance")

RATE = LEVEL
# Contrasts on the scale of rates, to which a margin of equivalence applies.
MARGINS = (
    "selection_rate", "true_positive_rate", "false_positive_rate", "positive_predictive_value", "accuracy", "auc",
)  # fmt: skip

# Of any class, and of their mean: whether the groups have the same rate is one question, however the gap is counted.
SAME_HYPOTHESIS: Mapping[str, str] = {
    "impact_ratio": "demographic_parity",
    "disparate_impact": "demographic_parity",
    "standardised_mean_difference": "demographic_parity",
    "false_discovery_rate_difference": "positive_predictive_value_difference",
}
# Of two classes: what the first measure says of one class, the second says of the other.
SAME_OF_OTHER_CLASS: Mapping[str, str] = {
    "equalized_odds_false_positive": "equalized_odds_true_positive",
    "false_omission_rate_difference": "positive_predictive_value_difference",
}
# Of two classes these say the same of both, and of their mean.
SAME_OF_BOTH_CLASSES = (
    "demographic_parity",
    "statistical_parity_subgroup_fairness",
    "base_rate_difference",
    "equalized_odds",
)
# Kinds of records that compare all groups at once: which of them is worst is no part of the question.
OF_ALL_GROUPS = ("gap", "ratio")


@dataclass
class MultipleTesting:
    """The tests of one report: gaps already carry their p-value, contrasts and the bounds of gaps are collected here.

    ``margin`` is how large a difference may be and still be irrelevant, where that was asked. ``reports`` tells which
    measures are reported, and so tested; ``same_hypothesis`` which of them test one hypothesis in two ways, and
    ``on_rate_scale`` those whose contrasts a margin applies to. ``level`` is the level of the intervals that decide,
    once the report is finished.
    """

    margin: float | None = None
    reports: Callable[[str], bool] = lambda measure: True
    same_hypothesis: Mapping[str, str] = field(default_factory=lambda: SAME_HYPOTHESIS)
    on_rate_scale: Collection[str] = MARGINS
    contrasts: list[Contrast] = field(default_factory=list)
    bounds: dict[Hashable, Bound] = field(default_factory=dict)
    level: float = 1.0 - RATE
    tests: int = 0

    def add(self, contrasts: Iterable[Contrast]) -> None:
        """Collect the contrasts of a view."""
        self.contrasts.extend(contrast for contrast in contrasts if self.reports(contrast.record.measure))

    def add_gaps(self, tested: Iterable[tuple[Record, GapTest | None]], risk: float) -> list[Record]:
        """Return the records with the p-values of gaps, and keep how they are bounded.

        Within the values of a control column bounds share the risk of a miss, and are told at once.
        """
        tested_records, strata = [], []
        for record, test in tested:
            if test is None:
                tested_records.append(record)
                continue
            evidence: dict[str, Any] = {
                "left_out": test.left_out, "pair": test.pair, "reason": test.reason or record.reason,
                "p": None if np.isnan(test.p) else test.p, "draws": test.draws,
                "limited_by_draws": test.limited_by_draws,
            }  # fmt: skip
            if self.margin is not None and test.bound is not None:
                evidence |= {"margin": self.margin, "equivalence_p": test.bound.equivalence_p(self.margin)}
            if not np.isnan(test.low):
                evidence |= {"low": test.low, "interval": "lower-bound", "level": 1.0 - RATE}
            if test.bound is not None and record.control is None:
                self.bounds[_identity(record)] = test.bound
            elif test.bound is not None:
                strata.append((len(tested_records), test.bound))
            tested_records.append(replace(record, **evidence))
        ends = resolve([bound for _, bound in strata], [risk] * len(strata))
        for (position, _), (low, high) in zip(strata, ends, strict=True):
            tested_records[position] = replace(tested_records[position], **_bounded(low, high, 1.0 - risk))
        return tested_records

    def finish(self, records: Sequence[Record]) -> list[Record]:
        """Correct every test of the report together, and give contrasts their intervals and gaps their bounds.

        A test that is told several times counts once. With R findings among m tests, intervals and bounds are at level
        1 - R q / m: exactly the contrasts that are findings then exclude 0, and of the intervals of findings at most q
        miss on average. A finding needs its test and its interval or bound: of records that say one number in two ways
        (an impact ratio and 1 minus it) all are findings or none is.
        """
        keys = hypotheses([*records, *(contrast.record for contrast in self.contrasts)], self.same_hypothesis)
        tested = [index for index, record in enumerate(records) if record.p is not None]
        p = np.array(
            [records[position].p for position in tested] + [contrast.p for contrast in self.contrasts], dtype=float
        )
        tested_keys = [keys[position] for position in tested] + keys[len(records) :]
        adjusted, findings, number = corrected_together(p, tested_keys)
        self.tests, self.level = number, 1.0 - RATE * max(findings, 1) / max(number, 1)
        changes: dict[int, dict[str, Any]] = {
            position: {"p_adjusted": float(value)}
            for position, value in zip(tested, adjusted[: len(tested)], strict=True)
        }  # fmt: skip
        self._bound(records, changes)
        for position, change in changes.items():
            ends = (change.get(end, getattr(records[position], end)) for end in ("low", "high"))
            change["finding"] = is_finding(change["p_adjusted"], *ends, null=_null(records[position]))
        for same in _same_number([(keys[position], position) for position in tested], records):
            if not all(changes[position]["finding"] for position in same):
                for position in same:
                    changes[position]["finding"] = False
        corrected = [
            replace(record, **changes[index]) if index in changes else record for index, record in enumerate(records)
        ]
        complete = [*corrected, *self._contrast_records(adjusted[len(tested) :].tolist())]
        return complete if self.margin is None else _with_equivalence(complete, keys)

    def _bound(self, records: Sequence[Record], changes: dict[int, dict[str, Any]]) -> None:
        """Give every gap its bound at the level that decides; what is no finding by its test may be 0."""
        positions, bounds = [], []
        for position, change in changes.items():
            record = records[position]
            bound = self.bounds.get(_identity(record)) if record.control is None else None
            if bound is None:
                continue
            if change["p_adjusted"] <= RATE:
                positions.append(position)
                bounds.append(bound)
            else:
                ratio = record.kind == "ratio"
                change |= _bounded(None if ratio else 0.0, 1.0 if ratio else None, self.level)
        ends = resolve(bounds, [1.0 - self.level] * len(bounds))
        for position, (low, high) in zip(positions, ends, strict=True):
            changes[position] |= _bounded(low, high, self.level)

    def _contrast_records(self, adjusted: Sequence[float]) -> Iterator[Record]:
        intervals = intervals_of(self.contrasts, self.level)
        for contrast, value, (low, high, method) in zip(self.contrasts, adjusted, intervals, strict=True):
            is_known = not np.isnan(low)
            tested = not np.isnan(contrast.p)
            changes: dict[str, Any] = {
                "p": contrast.p if tested else None, "p_adjusted": float(value) if tested else None,
                "low": low if is_known else None, "high": high if is_known else None, "interval": method if is_known
                else None,
                "level": self.level if is_known else None,
            }  # fmt: skip
            if self.margin is not None and contrast.record.measure in self.on_rate_scale:
                p = contrast.equivalence_p(self.margin)
                changes |= {"margin": self.margin, "equivalence_p": None if np.isnan(p) else p}
            finding = is_finding(changes["p_adjusted"], changes["low"], changes["high"])
            yield replace(contrast.record, finding=finding, **changes)


def _identity(record: Record) -> Hashable:
    """Return what a record of a gap is about, however its numbers are told."""
    return (
        record.measure, record.scope, record.class_, record.label, record.attribute, record.split, record.control,
    )  # fmt: skip


def _bounded(low: float | None, high: float | None, level: float) -> dict[str, Any]:
    """Return what a bound on one side changes of a record; nothing where there is none."""
    if low is None and high is None:
        return {}
    return {"low": low, "high": high, "interval": "lower-bound" if high is None else "upper-bound", "level": level}


def _with_equivalence(records: Sequence[Record], keys: Sequence[Hashable]) -> list[Record]:
    """Correct the tests of equivalence among themselves, and say which differences are within the margin."""
    p = np.array([np.nan if record.equivalence_p is None else record.equivalence_p for record in records])
    adjusted, _, _ = corrected_together(p, keys)
    return [
        record
        if np.isnan(value)
        else replace(record, equivalence_p_adjusted=float(value), equivalent=is_equivalent(float(value), RATE))
        for record, value in zip(records, adjusted, strict=True)
    ]


def _null(record: Record) -> float:
    """The value of no difference."""
    return 1.0 if record.kind == "ratio" else 0.0


def _same_number(keys: Iterable[tuple[Hashable, int]], records: Sequence[Record]) -> Iterable[list[int]]:
    """Return the places of records that are one test of one class (or of one mean over classes)."""
    positions: dict[Hashable, list[int]] = {}
    for key, position in keys:
        positions.setdefault((key, records[position].scope, records[position].class_), []).append(position)
    return positions.values()


def corrected_together(p: Floats, keys: Sequence[Hashable]) -> tuple[Floats, int, int]:
    """Return p-values corrected together, how many tests are findings, and how many tests there are: one for each key.

    Tests of one key are one test, which has the largest p of them; NaN is no test.
    """
    largest: dict[Hashable, float] = {}
    for key, value in zip(keys, p.tolist(), strict=True):
        if not np.isnan(value):
            largest[key] = max(value, largest.get(key, 0.0))
    values_adjusted = benjamini_hochberg(list(largest.values()))
    of_key = dict(zip(largest, values_adjusted.tolist(), strict=True))
    adjusted = [float("nan") if np.isnan(value) else of_key[key] for key, value in zip(keys, p.tolist(), strict=True)]
    return np.array(adjusted, dtype=np.float64), int((values_adjusted <= RATE).sum()), len(largest)


def with_adjusted_p(records: Sequence[AnyRecord], p: str = "p", adjusted: str = "p_adjusted") -> tuple[AnyRecord, ...]:
    """Return records, each a test of its own, with their p-values corrected together; ``None`` is no test."""
    values = [getattr(record, p) for record in records]
    corrected = benjamini_hochberg([np.nan if value is None else value for value in values]).tolist()
    return tuple(
        record if value is None else replace(record, **{adjusted: after})
        for record, value, after in zip(records, values, corrected, strict=True)
    )


def hypotheses(records: Sequence[Record], same_hypothesis: Mapping[str, str] = SAME_HYPOTHESIS) -> list[Hashable]:
    """Return a key for each record: two records with one key are one test."""
    classes = _classes(records)
    return [_key(record, classes[record.label], same_hypothesis) for record in records]


def _classes(records: Iterable[Record]) -> Mapping[str | None, Sequence[str]]:
    names_by_label: dict[str | None, dict[str, None]] = defaultdict(dict)
    for record in records:
        if record.class_ is not None:
            names_by_label[record.label][record.class_] = None
    return defaultdict(tuple, {label: tuple(names) for label, names in names_by_label.items()})


def _key(record: Record, classes: Sequence[str], same_hypothesis: Mapping[str, str]) -> Hashable:
    where = (record.attribute, record.control, record.split, record.label, record.variant)
    if record.kind not in OF_ALL_GROUPS:
        return (record.kind, record.measure, record.class_, *where, record.group, record.against)
    measure, class_ = same_hypothesis.get(record.measure, record.measure), record.class_
    if len(classes) == 2:
        if measure in SAME_OF_OTHER_CLASS:
            measure = SAME_OF_OTHER_CLASS[measure]
            class_ = None if class_ is None else classes[1 - classes.index(class_)]
        if measure in SAME_OF_BOTH_CLASSES:
            class_ = None
    return ("gap", measure, class_, *where)
