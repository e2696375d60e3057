"""From test rows to numbers: each group's macro values with intervals, and the gaps between groups with tests.

Intervals resample test rows (or whole units of them); tests permute the groups of what carries them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.audits._contrasts import normal_p
from equipoise.audits._units import Attribute, Codes, GroupedUnits, UnitName, constant_in
from equipoise.audits.downstream._macro import (
    MACRO_MEASURES,
    class_numbers,
    class_pairs,
    macro_values,
    permuted_rows,
    permuted_units,
    resampled_rows,
    resampled_units,
)
from equipoise.audits.downstream._result import DownstreamReason, DownstreamRecord
from equipoise.foundation import Floats
from equipoise.results import Reason, Status, because
from equipoise.stats import (
    difference_interval,
    draw_limits,
    normal_quantile,
    sequential_permutation,
    standard_deviation_of_draws,
    wilson,
)

Flags = NDArray[np.bool_]

# Ends and kind of an interval, as a record takes them.
Interval = Mapping[str, Any]
CONFIDENCE = 0.95
NO_INTERVAL: Interval = {"low": None, "high": None, "interval": None, "level": None}

PRECISION, RECALL, ACCURACY = range(len(MACRO_MEASURES))
# Tables are cheap to draw: so many times the draws that were asked for at the most.
CHEAP = 10


@dataclass(frozen=True)
class Sampling:
    """How numbers are tested: ``tests`` is how many the report makes, ``least`` the rows of a group that is tested."""

    draws: int
    least: int
    tests: int = 1


@dataclass(frozen=True, eq=False)
class HeldOutRows:
    """The test rows of one learner and one attribute. ``units`` are resampled and permuted whole; None: rows."""

    # The fields that all records share: learner, settings, training and variant.
    record_fields: Mapping[str, Any]
    attribute: str | None
    truth: Codes
    guess: Codes
    classes: int
    by: Attribute
    reference: str | None
    units: Codes | None
    unit_name: UnitName
    sampling: Sampling
    generator: np.random.Generator

    @property
    def variant(self) -> str:
        """Which macro means are taken."""
        return str(self.record_fields["variant"])

    def units_of(self, rows: Flags, groups: Codes | None = None) -> GroupedUnits | None:
        """Return the units of some rows, and the groups they carry; None where rows stand for themselves."""
        if self.units is None:
            return None
        return GroupedUnits.of(self.units[rows], (self.by.codes if groups is None else groups)[rows], self.unit_name)


@dataclass(frozen=True, eq=False)
class MacroNull:
    """Values as they are, ``[group, measure]``, and a function that draws them under permuted groups.

    ``draw(n)`` returns ``[draw, group, measure]``. ``tests`` says what was permuted; None for a measure that permuting
    does not test.
    """

    observed: Floats
    draw: Callable[[int], Floats]
    tests: tuple[str | None, ...]
    most: int
    needed: int

    def p_values(self, statistic: Callable[[Floats], Floats]) -> tuple[Floats, Flags]:
        """Return the p of a statistic of the values, one a measure, and whether more draws could make it smaller."""
        observed = np.where([test is None for test in self.tests], np.nan, statistic(self.observed))
        samples = sequential_permutation(
            {"": observed},
            lambda number, names: self.draw(number),
            lambda name, sample: statistic(sample),
            most=self.most, needed=self.needed,
        )[""]  # fmt: skip
        return np.array([test.p for test in samples]), np.array([test.limited for test in samples])


def null_of(tested: HeldOutRows, compared: list[int]) -> MacroNull | None:
    """Return the null of some groups; None where nothing carries them.

    What carries the group is permuted; the few rows that disagree with their unit are left out of both. Recall is
    about the truth, so it is permuted within the true class where classes have several groups.
    """
    if not tested.sampling.draws:
        return None
    number = len(compared)
    code = np.full(len(tested.by.groups), -1)
    code[compared] = np.arange(number)
    of_row = code[tested.by.codes]
    rows = of_row >= 0
    units = tested.units_of(rows, of_row)
    if units is not None:
        if units.group is None:
            return None
        rows[rows] = units.group[units.of_row] == of_row[rows]
        units = tested.units_of(rows, of_row)
    groups, truth = of_row[rows], tested.truth[rows]
    pairs = class_pairs(truth, tested.guess[rows], tested.classes)
    table, generator = pairs.table(groups, number), tested.generator
    within = not constant_in(truth, groups)
    if units is not None:
        class_of_unit = np.zeros(units.number, dtype=np.int64)
        class_of_unit[units.of_row] = truth
        within = within and constant_in(units.of_row, truth)

    def values(draws: int, within_class: bool) -> Floats:
        tables = (
            permuted_rows(table, pairs.truth if within_class else None, draws, generator) if units is None
            else permuted_units(units, pairs, number, class_of_unit if within_class else None, draws, generator)
        )  # fmt: skip
        return np.concatenate([macro_values(pairs, part, tested.variant) for part in tables])

    def draw(draws: int) -> Floats:
        samples = values(draws, False)
        if within:
            samples[..., RECALL] = values(draws, True)[..., RECALL]
        return samples

    tests: list[str | None] = [f"permutation of {tested.unit_name}"] * len(MACRO_MEASURES)
    if within:
        tests[RECALL] = f"{tests[RECALL]} within true class"
    if units is not None and constant_in(truth, units.of_row):
        for measure in _tied_to_classes(tested.variant):
            tests[measure] = None
    most, needed = draw_limits(tested.sampling.tests, CHEAP * tested.sampling.draws)
    return MacroNull(macro_values(pairs, table, tested.variant), draw, tuple(tests), most, needed)


def _tied_to_classes(variant: str) -> tuple[int, ...]:
    """Return the measures that no permutation of whole classes leaves as they are, even where nothing differs.

    A class loses its wrong predictions when the class it is confused with goes to another group, and so do the labels
    of other groups that the paper's means count. Groups as they are then look extreme: where confusions stay inside a
    group, 15 to 23 of 100 tests of precision would reject at 0.05.
    """
    return (PRECISION,) if variant == "default" else (PRECISION, RECALL)


class GroupValues:
    """The values and their bootstrap draws, computed once for all the records of one learner and attribute."""

    def __init__(self, tested: HeldOutRows) -> None:
        self.tested = tested
        self.pairs = class_pairs(tested.truth, tested.guess, tested.classes)
        self.table = self.pairs.table(tested.by.codes, len(tested.by.groups))
        self.people = self.table.sum(axis=1).astype(int)
        self.values = macro_values(self.pairs, self.table, tested.variant)
        self.numbers, self.left_out = class_numbers(self.pairs, self.table, tested.variant)
        self.correct = np.rint(self.values[:, ACCURACY] * self.people)

    @cached_property
    def bootstrap(self) -> Floats:
        """Values of resampled test rows, ``[draw, group, measure]``."""
        tested = self.tested
        if not tested.sampling.draws:
            return np.full((2, len(tested.by.groups), len(MACRO_MEASURES)), np.nan)
        observed = self.pairs.margins(self.table)[1]
        is_whole = tested.units is not None and constant_in(tested.truth, tested.units)
        units = tested.units_of(np.ones(len(tested.truth), dtype=bool))
        tables = (
            resampled_rows(self.table, tested.sampling.draws, tested.generator) if units is None
            else resampled_units(
                units, tested.by.codes, self.pairs, len(tested.by.groups), tested.sampling.draws, tested.generator
            )
        )  # fmt: skip
        return np.concatenate([macro_values(self.pairs, part, tested.variant, observed, is_whole) for part in tables])

    def records(self) -> Iterator[DownstreamRecord]:
        """Yield the groups, then the gaps."""
        spread = standard_deviation_of_draws(self.bootstrap)
        for group in range(len(self.tested.by.groups)):
            for measure in range(len(MACRO_MEASURES)):
                yield self._group(group, measure, float(spread[group, measure]))
        if self.tested.attribute is not None:
            yield from self._gaps()

    def _record(self, measure: int, kind: str, **fields: Any) -> DownstreamRecord:
        return DownstreamRecord(
            **self.tested.record_fields,
            attribute=self.tested.attribute,
            measure=MACRO_MEASURES[measure],
            kind=kind,
            **fields,
        )

    def _group(self, group: int, measure: int, spread: float) -> DownstreamRecord:
        tested, value = self.tested, float(self.values[group, measure])
        interval: Interval = NO_INTERVAL
        status, reason = self._status([group], value)
        if status == Status.OK:
            few = self._few_classes([group])
            if measure == ACCURACY and tested.units is None:
                interval = _score(wilson(self.correct[group], self.people[group]))
            else:
                interval = _bootstrap(value, 0.0 if few is not None else spread, 0.0)
            reason = few or self._no_variation(interval) or self._never_predicted(group, measure)
        return self._record(
            measure, "overall" if tested.attribute is None else "group",
            group=None if tested.attribute is None else tested.by.groups[group], value=value, **interval,
            people=int(self.people[group]), classes=int(self.numbers[group, measure]),
            left_out=int(self.left_out[group, measure]), status=status, reason=reason,
        )  # fmt: skip

    def _no_variation(self, interval: Interval) -> Reason | None:
        missing = interval["interval"] is None and self.tested.sampling.draws
        return because(DownstreamReason.NO_VARIATION) if missing else None

    def _few_classes(self, groups: list[int]) -> Reason | None:
        """Say which of the groups has one class only, where classes are resampled: nothing tells how they vary."""
        tested = self.tested
        if tested.unit_name != "classes" or not tested.sampling.draws:
            return None
        rows = np.isin(tested.by.codes, groups)
        units = tested.units_of(rows)
        assert units is not None
        for group in groups:
            classes = (
                np.unique(units.of_row[tested.by.codes[rows] == group]) if units.group is None
                else np.flatnonzero(units.group == group)
            )  # fmt: skip
            if len(classes) < 2:
                return because(DownstreamReason.FEW_CLASSES, group=tested.by.groups[group], classes=len(classes))
        return None

    def _never_predicted(self, group: int, measure: int) -> Reason | None:
        classes = int(self.left_out[group, measure])
        return because(DownstreamReason.NEVER_PREDICTED, classes=classes) if classes else None

    def _status(self, groups: list[int], value: float) -> tuple[Status, Reason | None]:
        rows = min(int(self.people[group]) for group in groups)
        if np.isnan(value):
            empty = tuple(self.tested.by.groups[group] for group in groups if not self.people[group])
            if empty:
                return Status.UNDEFINED, because(DownstreamReason.NO_TEST_ROWS, groups=empty)
            return Status.UNDEFINED, because(DownstreamReason.NONE_PREDICTED)
        if rows < self.tested.sampling.least:
            return Status.TOO_SMALL, because(
                DownstreamReason.FEW_TEST_ROWS, rows=rows, least=self.tested.sampling.least
            )
        return Status.OK, None

    def _gaps(self) -> Iterator[DownstreamRecord]:
        tested = self.tested
        if len(tested.by.tested()) < 2:
            return
        against = self._reference()
        for group in tested.by.tested():
            if group != against:
                yield from self._gap(against, group)
        large = [group for group in tested.by.tested() if self.people[group] >= tested.sampling.least]
        if len(tested.by.tested()) > 2 and len(large) > 1:
            yield from self._largest(large)

    def _reference(self) -> int:
        """Return the group named as the reference, or the one with most test rows."""
        if self.tested.reference is not None:
            return self.tested.by.groups.index(self.tested.reference)
        return max(self.tested.by.tested(), key=lambda group: int(self.people[group]))

    def _gap(self, against: int, group: int) -> Iterator[DownstreamRecord]:
        tested = self.tested
        differences = self.values[against] - self.values[group]
        spread = standard_deviation_of_draws(self.bootstrap[:, against] - self.bootstrap[:, group])
        enough = min(self.people[group], self.people[against]) >= tested.sampling.least
        few = self._few_classes([group, against])
        decided = enough and few is None
        p, limited, tests = self._pair_p(against, group, differences, spread) if decided else _untested()
        for measure, value in enumerate(differences.tolist()):
            interval: Interval = NO_INTERVAL
            status, reason = self._status([group, against], value)
            if status == Status.OK:
                if measure == ACCURACY and tested.units is None:
                    counts = [self.correct[against], self.people[against], self.correct[group], self.people[group]]
                    interval = _score(difference_interval(*counts))
                elif decided:
                    interval = _bootstrap(value, float(spread[measure]), -1.0)
                reason = few or self._no_variation(interval)
                if reason is None and decided and tests[measure] is None:
                    reason = because(DownstreamReason.NOT_PERMUTABLE)
            has_p = status == Status.OK and not np.isnan(p[measure])
            yield self._record(
                measure, "gap", group=tested.by.groups[group], against=tested.by.groups[against], value=value,
                **interval,
                p=float(p[measure]) if has_p else None, test=tests[measure] if has_p else None,
                people=int(self.people[group]), status=status, reason=reason,
                limited_by_draws=bool(limited[measure]) if has_p else None,
            )  # fmt: skip

    def _pair_p(
        self, against: int, group: int, differences: Floats, spread: Floats
    ) -> tuple[Floats, Flags, tuple[str | None, ...]]:
        null = null_of(self.tested, [against, group])
        if null is None:
            both = zip(differences.tolist(), spread.tolist(), strict=True)
            p = np.asarray([normal_p(value, error) for value, error in both])
            return p, _untested()[1], (f"normal, {self.tested.unit_name} resampled",) * len(p)
        p, limited = null.p_values(lambda values: np.abs(values[..., 0, :] - values[..., 1, :]))
        return p, limited, null.tests

    def _largest(self, groups: list[int]) -> Iterator[DownstreamRecord]:
        """Yield best minus worst, which cannot be negative: a test against permuted groups and no interval."""
        tested, values = self.tested, self.values[groups]
        few = self._few_classes(groups)
        null = null_of(tested, groups) if few is None else None
        p, limited, tests = _untested()
        if null is not None:
            p, limited = null.p_values(lambda sample: np.ptp(sample, axis=-2))
            tests = null.tests
        for measure in range(len(MACRO_MEASURES)):
            column = values[:, measure]
            is_defined = not np.isnan(column).any()
            has_p = is_defined and tests[measure] is not None
            reason = few if is_defined else because(DownstreamReason.UNDEFINED_IN_A_GROUP)
            if is_defined and null is not None and not has_p:
                reason = because(DownstreamReason.NOT_PERMUTABLE)
            yield self._record(
                measure, "largest gap", value=float(np.ptp(column)) if is_defined else float("nan"),
                p=float(p[measure]) if has_p else None,
                group=tested.by.groups[groups[int(column.argmin())]] if is_defined else None,
                against=tested.by.groups[groups[int(column.argmax())]] if is_defined else None,
                test=tests[measure] if has_p else None,
                limited_by_draws=bool(limited[measure]) if has_p else None,
                people=int(self.people[groups].sum()), status=Status.OK if is_defined else Status.UNDEFINED,
                reason=reason,
            )  # fmt: skip


def _untested() -> tuple[Floats, Flags, tuple[str | None, ...]]:
    number = len(MACRO_MEASURES)
    return np.full(number, np.nan), np.zeros(number, dtype=np.bool_), (None,) * number


def _score(ends: Sequence[Floats]) -> Interval:
    return {"low": float(ends[0]), "high": float(ends[1]), "interval": "score", "level": CONFIDENCE}


def _bootstrap(value: float, spread: float, lowest: float) -> Interval:
    """Return the value plus and minus 1.96 bootstrap standard errors; nothing where draws do not vary."""
    if not spread > 0:
        return NO_INTERVAL
    half = float(normal_quantile(CONFIDENCE)) * spread
    return {
        "low": max(value - half, lowest),
        "high": min(value + half, 1.0),
        "interval": "bootstrap",
        "level": CONFIDENCE,
    }
