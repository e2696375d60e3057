"""Gaps over all groups: whether they are more than permuted groups would give, and what they are at least.

The statistic of a gap in rates is the studentised maximum over pairs of groups (``stats.largest_studentised``); of
subgroup fairness the root of chi-square, in which large groups count most; of bias amplification the number itself.
Groups with fewer than ``least_people`` in the denominator of the rate are left out of the test and listed. What the
null is depends on the rows:

- independent rows without weights: tables with the same margins and the groups permuted, across all rows or, for
  errors, within the true class;
- weighted rows: as many successes and trials as know each rate equally well (``effective_counts``), so that a group's
  own weights decide how far its rate can be off;
- clusters: normal deviations with the covariance of drawn clusters, stretched to Student's t for their number.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.audits._multiple_testing import GapTest, bound_of
from equipoise.audits._reasons import AuditReason
from equipoise.audits._records import NOT_PROPORTIONS, trials_of
from equipoise.audits._tallies import View
from equipoise.foundation import Floats, ratio
from equipoise.measures import (
    Measure,
    get_measure,
)
from equipoise.results import Reason, Record, because
from equipoise.stats import (
    MOST_DENSE_CLASSES,
    TABLE_BATCH,
    NullSample,
    candidate_pairs,
    clustered_null,
    draws_needed,
    largest_studentised,
    null_totals,
    null_variances,
    permuted_tables,
    root_chi_square,
    sequential_permutation,
    standard_deviation_of_draws,
    student_factors,
    weighted_null,
)
from equipoise.tallies import (
    ClassTotals,
    Confusion,
)

Flags = NDArray[np.bool_]
Kind = Literal["pairs", "chi", "value"]

RATIOS = ("disparate_impact", "impact_ratio")
CHI = ("statistical_parity_subgroup_fairness", "false_positive_subgroup_fairness")
# So many numbers of drawn tables at the most; a report that needs more says that its draws limit it.
MOST_NUMBERS = 400_000_000


@dataclass(frozen=True)
class Statistic:
    """What is compared with its null: of which rates, how, and with groups permuted within the true class or across."""

    kind: Kind
    rates: tuple[str, ...]
    within: bool
    root_mean_square: bool = False

    @property
    def name(self) -> str:
        """A name for it: two measures with the same one share their test."""
        return f"{self.kind} {' '.join(self.rates)} {self.within} {self.root_mean_square}"


def statistic_of(measure: Measure, table: Confusion) -> Statistic:
    """Return the statistic of a gap; one that is no largest difference of a rate is compared as it is."""
    within = measure.of in ("true_positive_rate", "false_positive_rate") or measure.name == "bias_amplification"
    if measure.name == "equalized_odds":
        return Statistic("pairs", ("true_positive_rate", "false_positive_rate"), within=True)
    if measure.name == "true_positive_rate_gap":
        return Statistic("pairs", ("true_positive_rate",), within=True, root_mean_square=True)
    if measure.of is not None and get_measure(measure.of).kind == "rate":
        if measure.name in CHI:
            return Statistic("chi", (measure.of,), within)
        if measure.name in (*RATIOS, "standardised_mean_difference") or _is_largest_difference(measure, table):
            return Statistic("pairs", (measure.of,), within)
    return Statistic("value", (measure.name,), within)


def _is_largest_difference(measure: Measure, table: Confusion) -> bool:
    assert measure.of is not None
    rates, values = get_measure(measure.of).by_class(table), measure.by_class(table)
    return rates.shape[1:] == values.shape and bool(
        np.allclose(np.ptp(rates, axis=0), values, rtol=0, atol=1e-9, equal_nan=True)
    )


@dataclass(frozen=True, eq=False)
class RateTable:
    """One rate of the groups compared: effective successes and trials ``[group, class]``, and who is compared."""

    name: str
    successes: Floats
    trials: Floats
    compared: Flags
    # The standard error of each pair's difference ``[group, group, class]``, where clusters give it.
    errors: Floats | None = None
    # Whether it is a share of people, so that p (1 - p) / n is its variance.
    proportion: bool = True

    @cached_property
    def rates(self) -> Floats:
        """The rates, NaN without trials."""
        return ratio(self.successes, self.trials)

    @cached_property
    def variances(self) -> Floats:
        """The variance of each group's rate if all groups compared had the same."""
        return null_variances(self.successes, self.trials, self.compared, proportion=self.proportion)

    @cached_property
    def _candidates(self) -> dict[int, tuple[Floats, tuple[int, int] | None]]:
        return {}

    def candidates(self, column: int) -> tuple[Floats, tuple[int, int] | None]:
        """Return the counts of the pairs that differ most for their error in one class, and the first of them."""
        if column not in self._candidates:
            self._candidates[column] = candidate_pairs(
                self.successes[:, column], self.trials[:, column], self.compared[:, column], self.variances[:, column]
            )
        return self._candidates[column]

    def pair_errors(self, column: int) -> Floats:
        """The standard error of each pair's difference in one class, ``[group, group]``."""
        if self.errors is not None:
            return np.asarray(self.errors[:, :, column], dtype=np.float64)
        variance = self.variances[:, column]
        return np.asarray(np.sqrt(variance[:, None] + variance[None]), dtype=np.float64)


def gap_tests(
    records: Sequence[Record], view: View, generator: np.random.Generator, draws: int, tests: int
) -> Iterator[tuple[Record, GapTest | None]]:
    """Yield the records, the defined gaps among them with their test. One group alone has no gap.

    ``tests`` is how many tests the report has in all: that decides how many draws are needed.
    """
    gaps = [r for r in records if r.kind in ("gap", "ratio") and r.defined]
    if len(view.compared.groups) < 2 or not gaps:
        yield from ((record, None) for record in records)
        return
    untold = view.why_untested(view.compared.groups)
    if untold is not None:
        for record in records:
            yield record, GapTest(reason=untold) if record in gaps else None
        return
    measures = {name: get_measure(name) for name in dict.fromkeys(record.measure for record in gaps)}
    statistics = {name: statistic_of(measure, view.compared) for name, measure in measures.items()}
    names = dict.fromkeys(rate for s in statistics.values() if s.kind != "value" for rate in s.rates)
    rates = {name: _rate_table(name, view) for name in names}
    samples = _samples(list(statistics.values()), rates, view, generator, draws, tests)
    for record in records:
        if record.kind not in ("gap", "ratio") or not record.defined:
            yield record, None
            continue
        measure, statistic = measures[record.measure], statistics[record.measure]
        class_index = None if record.class_ is None else view.compared.classes.index(record.class_)
        yield record, _gap_test(record, measure, statistic, rates, samples[statistic.name], class_index, view)


def _rate_table(name: str, view: View) -> RateTable:
    rate = get_measure(name)
    groups = view.compared.groups
    proportion = name not in NOT_PROPORTIONS
    if proportion:
        successes, trials = trials_of(rate, view, groups)
    elif _weights_differ(view) and view.resampled is None:
        successes, trials, proportion = *_effective_f1(rate, view), True
    else:
        successes, trials = rate.function(view.only_compared(view.rows))
    rows = rate.function(view.only_compared(view.rows))[1]
    if not rate.classwise:
        successes, trials, rows = successes[:, None], trials[:, None], rows[:, None]
    errors = None
    if view.resampled is not None:
        drawn_rates = ratio(*rate.function(view.only_compared(view.resampled)))
        drawn_rates = drawn_rates if rate.classwise else drawn_rates[..., None]
        errors = np.stack([standard_deviation_of_draws(drawn_rates - drawn_rates[:, [g]]) for g in range(len(groups))])
    successes, trials = np.nan_to_num(np.asarray(successes)), np.nan_to_num(np.asarray(trials))
    is_compared = np.broadcast_to(rows >= view.least_people, successes.shape)
    return RateTable(name, successes, trials, is_compared, errors, proportion)


def _effective_f1(rate: Measure, view: View) -> tuple[Floats, Floats]:
    """Return successes and trials of a proportion that is as uncertain as a weighted F1.

    F1 counts a hit twice: with the pooled value R it has the variance R (1 - R) (2 - R) over its denominator.
    """
    numerators, denominators = rate.function(view.compared)
    squares = rate.function(view.only_compared(view.squares))[1]
    common = ratio(numerators.sum(axis=0), denominators.sum(axis=0))
    trials = ratio(denominators**2, squares) / (2.0 - np.nan_to_num(common))
    return ratio(numerators, denominators) * trials, trials


def _samples(
    statistics: Sequence[Statistic], rates: Mapping[str, RateTable], view: View, generator: np.random.Generator,
    draws: int, tests: int,
) -> dict[str, dict[int | None, NullSample]]:  # fmt: skip
    """Return the test of every statistic, by class, and for the mean over classes (None)."""
    by_name = {statistic.name: statistic for statistic in statistics}
    weighted = _weights_differ(view)
    needed = draws_needed(tests)
    samples_by_name: dict[str, dict[int | None, NullSample]] = {}
    for within in (False, True):
        of_design = {name: s for name, s in by_name.items() if s.within == within}
        values = {name: s for name, s in of_design.items() if s.kind == "value"}
        if within and not view.compared.has_target:
            continue
        if view.resampled is not None:
            nulls: list[_Null] = [_Clusters(of_design, rates, view, generator)]
        elif weighted:
            others = {name: s for name, s in of_design.items() if name not in values}
            nulls = [
                _Effective(others, rates, generator), _WeightedTables(values, rates, view, generator, within=within)
            ]  # fmt: skip
        else:
            nulls = [_Permuted(of_design, rates, view, generator, within=within)]
        for null in nulls:
            observed = null.observed()
            if not observed:
                continue
            samples = sequential_permutation(
                observed, null.permute, null.statistic, most=min(needed, max(draws, MOST_NUMBERS // null.size)),
                needed=needed, largest_batch=max(1, TABLE_BATCH // null.size), cheap=True,
            )  # fmt: skip
            samples_by_name |= {name: null.by_class(name, tested) for name, tested in samples.items()}
    return samples_by_name


def _weights_differ(view: View) -> bool:
    """Tell whether some rows weigh more than others; weights that are all the same change nothing."""
    rows, weights = view.only_compared(view.rows).cells, view.compared.cells
    each = weights.sum() / max(rows.sum(), 1.0)
    return not np.allclose(rows * each, weights, rtol=1e-9, atol=0.0)


def _with_mean(statistic: Statistic, by_class: Floats) -> Floats:
    """Put the mean over classes (or their root mean square) behind the numbers of the classes, ``[..., class + 1]``."""
    is_defined = ~np.isnan(by_class)
    power = 2 if statistic.root_mean_square else 1
    mean = ratio(
        (np.where(is_defined, by_class, 0.0) ** power).sum(axis=-1), is_defined.sum(axis=-1).astype(np.float64)
    )
    mean = mean if power == 1 else np.sqrt(mean)
    return np.concatenate([by_class, mean[..., None]], axis=-1)


@dataclass(eq=False)
class _Null(ABC):
    """Statistics as observed and as drawn where groups do not differ; every one of them ``[..., class + 1]``."""

    statistics: Mapping[str, Statistic]
    rates: Mapping[str, RateTable]

    size: int = field(default=1, init=False)

    @abstractmethod
    def observed(self) -> dict[str, Floats]:
        """Return every statistic as it was observed."""

    @abstractmethod
    def permute(self, number: int, names: Sequence[str]) -> Any:
        """Return so many draws of what the named statistics are computed from."""

    @abstractmethod
    def statistic(self, name: str, sample: Any) -> Floats:
        """Return a statistic of what was drawn."""

    def by_class(self, name: str, tested: Sequence[NullSample]) -> dict[int | None, NullSample]:
        """Return the tests by class, the last of them for the mean over classes."""
        return {**dict(enumerate(tested[:-1])), None: tested[-1]}

    def _of_counts(self, names: Iterable[str], counts: Callable[[str], tuple[Floats, Floats]]) -> dict[str, Floats]:
        """Return statistics from the successes and trials of their rates ``[..., group, class]``."""
        components: dict[tuple[Kind, str], Floats] = {}
        together: dict[tuple[Kind, bool, bytes], list[str]] = {}
        for kind, rate in dict.fromkeys((self.statistics[n].kind, r) for n in names for r in self.statistics[n].rates):
            table = self.rates[rate]
            together.setdefault((kind, table.proportion, table.compared.any(axis=-1).tobytes()), []).append(rate)
        for (kind, proportion, _), rates in together.items():
            parts = [counts(rate) for rate in rates]
            successes, trials = (np.concatenate(part, axis=-1) for part in zip(*parts, strict=True))
            is_compared = np.concatenate([self.rates[rate].compared for rate in rates], axis=-1)
            variances = null_variances(successes, trials, is_compared, proportion=proportion)
            compute = largest_studentised if kind == "pairs" else root_chi_square
            values = compute(ratio(successes, trials), variances, is_compared)
            ends = np.cumsum([part[0].shape[-1] for part in parts])
            components |= {
                (kind, rate): component
                for rate, component in zip(rates, np.split(values, ends[:-1], axis=-1), strict=True)
            }
        statistics = {}
        for name in names:
            statistic = self.statistics[name]
            of_rates = [components[statistic.kind, rate] for rate in statistic.rates]
            statistics[name] = _with_mean(statistic, of_rates[0] if len(of_rates) == 1 else np.fmax(*of_rates))
        return statistics


@dataclass(eq=False)
class _Permuted(_Null):
    """Independent rows that count alike: random tables with the margins of the observed one."""

    view: View
    generator: np.random.Generator
    within: bool = field(kw_only=True)

    def __post_init__(self) -> None:
        self.rows = self.view.only_compared(self.view.rows)
        self.size = max(1, self.rows.cells.size if self.rows.cells.size < 40_000 else len(self.rows.groups) * 400)

    def observed(self) -> dict[str, Floats]:
        return self._of_table(list(self.statistics), self.rows)

    def permute(self, number: int, names: Sequence[str]) -> dict[str, Floats]:
        tables = null_tables(self.rows, number, within_class=self.within, generator=self.generator)
        return self._of_table(names, tables)

    def statistic(self, name: str, sample: Mapping[str, Floats]) -> Floats:
        return sample[name]

    def _of_table(self, names: Sequence[str], table: Confusion | ClassTotals) -> dict[str, Floats]:
        """Return statistics of a table, those of the same kind all at once."""

        def counts(rate: str) -> tuple[Floats, Floats]:
            measure = get_measure(rate)
            successes, trials = (np.asarray(part, dtype=np.float64) for part in measure.function(table))
            return (successes, trials) if measure.classwise else (successes[..., None], trials[..., None])

        values = [name for name in names if self.statistics[name].kind == "value"]
        statistics = self._of_counts([name for name in names if name not in values], counts)
        return statistics | {name: _value(self.statistics[name], table) for name in values}


@dataclass(eq=False)
class _WeightedTables(_Permuted):
    """Measures of weighted rows that are compared as they are (bias amplification): tables of weights drawn again."""

    def __post_init__(self) -> None:
        self.rows, self.weights = self.view.only_compared(self.view.rows), self.view.compared
        self.squares = self.view.only_compared(self.view.squares)
        self.size = max(1, self.weights.cells.size)

    def observed(self) -> dict[str, Floats]:
        return self._of_table(list(self.statistics), self.weights)

    def permute(self, number: int, names: Sequence[str]) -> dict[str, Floats]:
        tables = null_tables(
            self.rows, number, within_class=self.within, generator=self.generator, weights=self.weights,
            squares=self.squares,
        )  # fmt: skip
        return self._of_table(names, tables)


def null_tables(
    rows: Confusion, draws: int, *, within_class: bool, generator: np.random.Generator,
    weights: Confusion | None = None, squares: Confusion | None = None,
) -> Confusion | ClassTotals:  # fmt: skip
    """Return tables with groups permuted ``[draw, group, ...]``: across all rows, or within the true class.

    With weights and their squares tables of weighted rows are drawn. Of very many classes only the totals are kept,
    since measures read no more of a table than those.
    """
    heavy, square = (None if table is None else table.cells for table in (weights, squares))
    if len(rows.classes) > MOST_DENSE_CLASSES:
        predicted, positives, hits = null_totals(rows.cells, within_class, draws, generator, heavy, square)
        by_truth = (positives, hits) if rows.has_target else (None, None)
        return ClassTotals.of(rows.groups, rows.classes, predicted, *by_truth)
    if heavy is None or square is None:
        tables = permuted_tables(rows.cells, within_class, draws, generator)
    else:
        tables = weighted_null(heavy, square, within_class, draws, generator)
    return replace(rows, cells=tables)


def _value(statistic: Statistic, table: Confusion | ClassTotals) -> Floats:
    """Return a measure that is compared as it is, turned so that large is worse."""
    measure = get_measure(statistic.rates[0])
    values = measure.by_class(table) * (1.0 if measure.better == "low" else -1.0)
    return _with_mean(statistic, values if measure.classwise else values[..., None])


@dataclass(eq=False)
class _Effective(_Null):
    """Weighted rows: effective successes allocated to the groups at random, each rate and class by itself."""

    generator: np.random.Generator

    def __post_init__(self) -> None:
        self.size = max([1, *(table.trials.size for table in self.rates.values())])

    def observed(self) -> dict[str, Floats]:
        return self._of_counts(
            list(self.statistics), lambda rate: (self.rates[rate].successes, self.rates[rate].trials)
        )

    def permute(self, number: int, names: Sequence[str]) -> dict[str, tuple[Floats, Floats]]:
        used = dict.fromkeys(rate for name in names for rate in self.statistics[name].rates)
        return {rate: self._allocated(self.rates[rate], number) for rate in used}

    def statistic(self, name: str, sample: Mapping[str, tuple[Floats, Floats]]) -> Floats:
        return self._of_counts([name], sample.__getitem__)[name]

    def _allocated(self, table: RateTable, number: int) -> tuple[Floats, Floats]:
        # Rounded twice, so that a last digit does not decide what becomes of a half.
        sizes = np.rint(table.trials.round(6))
        total = np.rint(np.where(table.compared, table.successes, 0.0).sum(axis=0).round(6))
        allocated = np.zeros((number, *sizes.shape))
        for class_index in range(sizes.shape[1]):
            groups = np.flatnonzero(table.compared[:, class_index] & (sizes[:, class_index] > 0))
            left = np.full(number, total[class_index], dtype=np.int64)
            rest = int(sizes[groups, class_index].sum())
            for group in groups:
                size = int(sizes[group, class_index])
                taken = self.generator.hypergeometric(np.minimum(left, rest), rest - np.minimum(left, rest), size)
                allocated[:, group, class_index], left, rest = taken, left - taken, rest - size
        return allocated, np.broadcast_to(sizes, allocated.shape)

    def by_class(self, name: str, tested: Sequence[NullSample]) -> dict[int | None, NullSample]:
        """The classes are drawn apart, so their mean has Bonferroni's p over them; errors in one class share no row."""
        samples = super().by_class(name, tested)
        classes = [
            sample for class_index, sample in samples.items() if class_index is not None and not np.isnan(sample.p)
        ]
        if self.statistics[name].root_mean_square or not classes:
            return samples
        least = min(classes, key=lambda sample: sample.p)
        return {**samples, None: replace(least, p=min(1.0, len(classes) * least.p))}


@dataclass(eq=False)
class _Clusters(_Null):
    """Clusters: deviations of drawn rates from their mean, as a normal law with their covariance."""

    view: View
    generator: np.random.Generator

    def __post_init__(self) -> None:
        assert self.view.resampled is not None
        assert self.view.behind is not None
        self.resampled = self.view.only_compared(self.view.resampled)
        self.clusters = self.view.behind.fewest(self.resampled.groups)
        self.deviations = {name: self._deviations(name) for name in self.rates}
        self.size = max(1, len(self.resampled.cells) // 4, *(d.shape[1] for d in self.deviations.values()), 1)

    def _deviations(self, name: str) -> Floats:
        """Return a root of the covariance of a rate's draws: normal numbers times it are deviations, ``[k, cell]``."""
        values = ratio(*get_measure(name).function(self.resampled))
        flat = values.reshape(len(values), -1)
        is_defined = ~np.isnan(flat)
        mean = np.where(is_defined, flat, 0.0).sum(axis=0) / np.maximum(is_defined.sum(axis=0), 1)
        moved = np.where(is_defined, flat - mean, 0.0) / np.sqrt(np.maximum(is_defined.sum(axis=0) - 1, 1))
        if moved.shape[1] >= len(moved):
            return np.asarray(moved, dtype=np.float64)
        sizes, axes = np.linalg.eigh(moved.T @ moved)
        return np.asarray(np.sqrt(np.maximum(sizes, 0.0))[:, None] * axes.T, dtype=np.float64)

    def observed(self) -> dict[str, Floats]:
        statistics = {}
        for name, statistic in self.statistics.items():
            if statistic.kind == "value":
                statistics[name] = _value(statistic, self.view.compared)
            else:
                statistics[name] = self._clustered(name, {rate: self.rates[rate].rates for rate in statistic.rates})
        return statistics

    def permute(self, number: int, names: Sequence[str]) -> tuple[Floats, dict[str, Floats]]:
        stretched = student_factors(self.clusters, number, self.generator)
        used = dict.fromkeys(
            rate for name in names if self.statistics[name].kind != "value" for rate in self.statistics[name].rates
        )
        moved: dict[str, Floats] = {}
        for rate in used:
            root = self.deviations[rate]
            normal = self.generator.standard_normal((number, len(root)))
            moved[rate] = (normal @ root * stretched[:, None]).reshape(number, *self.rates[rate].trials.shape)
        return stretched, moved

    def statistic(self, name: str, sample: tuple[Floats, Mapping[str, Floats]]) -> Floats:
        statistic, (stretched, moved) = self.statistics[name], sample
        if statistic.kind != "value":
            return self._clustered(name, moved)
        chosen = self.generator.integers(0, len(self.resampled.cells), len(stretched))
        cells = clustered_null(
            self.view.compared.cells, self.resampled.cells[chosen], within_class=statistic.within, stretched=stretched
        )
        return _value(statistic, replace(self.resampled, cells=cells))

    def _clustered(self, name: str, values: Mapping[str, Floats]) -> Floats:
        """Return a statistic of rates (or deviations) ``[..., group, class]`` with the errors of drawn pairs."""
        statistic = self.statistics[name]
        statistics = []
        for rate in statistic.rates:
            table, rates = self.rates[rate], values[rate]
            if statistic.kind == "chi":
                shares = ratio(table.trials, table.trials.sum(axis=0))
                centre = (shares * np.nan_to_num(rates)).sum(axis=-2, keepdims=True)
                statistics.append((shares * np.abs(np.nan_to_num(rates) - centre)).sum(axis=-2))
            else:
                statistics.append(_largest_pair(rates, table))
        by_class = statistics[0] if len(statistics) == 1 else np.fmax(*statistics)
        return _with_mean(statistic, by_class)


def _largest_pair(values: Floats, table: RateTable) -> Floats:
    """Return the largest difference of two kept groups in units of its drawn error, ``[..., class]``; or NaN."""
    assert table.errors is not None
    largest = np.full((*values.shape[:-2], values.shape[-1]), np.nan)
    for first in range(table.compared.shape[0]):
        for second in range(first + 1, table.compared.shape[0]):
            error = table.errors[first, second]
            use = table.compared[first] & table.compared[second] & (error > 1e-12)
            with np.errstate(divide="ignore", invalid="ignore"):
                z = np.abs(values[..., first, :] - values[..., second, :]) / error
            largest = np.where(use, np.fmax(largest, z), largest)
    return largest


def _gap_test(
    record: Record, measure: Measure, statistic: Statistic, rates: Mapping[str, RateTable],
    samples: Mapping[int | None, NullSample], class_index: int | None, view: View,
) -> GapTest:  # fmt: skip
    groups = view.compared.groups
    widths = [rates[rate].compared.shape[1] for rate in statistic.rates if rate in rates]
    lone = class_index is None and not measure.classwise and all(width == 1 for width in widths)
    sample = samples[class_index]
    tables = [rates[name] for name in statistic.rates if name in rates]
    column = 0 if lone else class_index
    is_compared = np.ones(len(groups), dtype=np.bool_)
    for table in tables:
        is_compared = is_compared & (table.compared.all(axis=1) if column is None else table.compared[:, column])
    left_out = tuple(group for group, compared in zip(groups, is_compared.tolist(), strict=True) if not compared)
    if np.isnan(sample.p):
        few = bool(tables) and is_compared.sum() < 2
        reason = _too_few(statistic, view) if few else None
        if not few and view.resampled is not None:
            reason = because(AuditReason.NO_SPREAD)
        return GapTest(left_out=left_out, reason=reason)
    pair = None
    if statistic.kind == "pairs" and column is not None:
        pair = _furthest_pair(tables, column, groups)
    bound = bound_of(measure, statistic.kind, tables, column, sample, view)
    return GapTest.of(sample, left_out=left_out, pair=pair, bound=bound)


def _too_few(statistic: Statistic, view: View) -> Reason:
    whom = get_measure(statistic.rates[0]).denominator
    return because(AuditReason.FEW_LARGE_GROUPS, least=view.least_people, whom=whom)


def _furthest_pair(tables: Sequence[RateTable], column: int, groups: Sequence[str]) -> tuple[str, str] | None:
    """Return the pair of groups (lower, higher) whose rates differ most for their error."""
    best: tuple[float, tuple[str, str]] | None = None
    for table in tables:
        counts, first = table.candidates(column)
        if first is None:
            continue
        z = float("inf")
        if len(tables) > 1:
            variance = table.variances[list(first), column].sum()
            z = float((counts[0, 0] / counts[0, 1] - counts[0, 2] / counts[0, 3]) / np.sqrt(variance))
        if best is None or z > best[0]:
            best = (z, (groups[first[0]], groups[first[1]]))
    return None if best is None else best[1]
