"""From test rows to numbers: each group's macro values with intervals, and the gaps between groups with tests."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from equipoise.audits.contrasts import normal_p
from equipoise.audits.downstream.chance import NO_DEAL, deals_of
from equipoise.audits.downstream.macro import MEASURES, Pairs, class_numbers, macro_values, pairs_of
from equipoise.audits.downstream.result import DownstreamRecord
from equipoise.audits.downstream.splits import constant_in
from equipoise.audits.downstream.table_draws import drawn_rows, drawn_units
from equipoise.audits.downstream.tested import Tested
from equipoise.results import Status
from equipoise.stats import difference_interval, quantile, spread_of, wilson

Floats = NDArray[np.float64]

ACCURACY = MEASURES.index("accuracy")


class GroupValues:
    """The values and their draws, computed once for all the records of one learner and attribute."""

    def __init__(self, tested: Tested) -> None:
        self.tested = tested
        self.pairs: Pairs = pairs_of(tested.truth, tested.guess, tested.classes)
        self.table = self.pairs.table(tested.groups, len(tested.names))
        self.people = self.table.sum(axis=1).astype(int)
        self.values = macro_values(self.pairs, self.table, tested.variant)
        self.numbers, self.left_out = class_numbers(self.pairs, self.table, tested.variant)
        self.correct = np.rint(self.values[:, ACCURACY] * self.people)
        self.bootstrap = self._bootstrap()
        self.spread = spread_of(self.bootstrap)

    def _bootstrap(self) -> Floats:
        tested = self.tested
        if not tested.draws:
            return np.full((2, len(tested.names), len(MEASURES)), np.nan)
        observed = self.pairs.margins(self.table)[1]
        whole = tested.units is not None and constant_in(tested.truth, tested.units)
        units = tested.whole(np.ones(len(tested.truth), dtype=bool))
        drawn = (
            drawn_rows(self.table, tested.draws, tested.generator)
            if units is None
            else drawn_units(units, self.pairs, len(tested.names), tested.draws, tested.generator)
        )
        return np.concatenate([macro_values(self.pairs, tables, tested.variant, observed, whole) for tables in drawn])

    def records(self) -> Iterator[DownstreamRecord]:
        """Yield the groups, then the gaps."""
        for place in range(len(self.tested.names)):
            for measure in range(len(MEASURES)):
                yield self._group(place, measure)
        if self.tested.attribute is not None:
            yield from self._gaps()

    def _group(self, place: int, measure: int) -> DownstreamRecord:
        tested, value = self.tested, float(self.values[place, measure])
        low, high, interval = None, None, None
        status, reason = self._standing([place], value)
        single = self._single([place]) if tested.draws else None
        if status == Status.OK:
            if measure == ACCURACY and tested.units is None:
                ends = wilson(self.correct[place], self.people[place])
                low, high, interval = float(ends[0]), float(ends[1]), "score"
            else:
                spread = 0.0 if single else float(self.spread[place, measure])
                low, high, interval = _normal(value, spread, 0.0)
            reason = self._why_no_interval(interval, single) or self._left_out_words(place, measure)
        return DownstreamRecord(
            learner=tested.learner, settings=tested.settings, training=tested.training, attribute=tested.attribute,
            measure=MEASURES[measure],
            kind="overall" if tested.attribute is None else "group", variant=tested.variant,
            group=None if tested.attribute is None else tested.names[place], value=value, low=low, high=high,
            interval=interval, people=int(self.people[place]), classes=int(self.numbers[place, measure]),
            left_out=int(self.left_out[place, measure]), status=status, reason=reason,
        )  # fmt: skip

    def _why_no_interval(self, interval: str | None, single: str | None) -> str | None:
        if interval is not None or not self.tested.draws:
            return None
        if single:
            return f"{single}: no interval"
        return "drawing the test rows again gives the same value each time: no interval"

    def _single(self, places: list[int]) -> str | None:
        """Say which of the groups have one class only, where classes are drawn: then nothing tells how they vary."""
        tested = self.tested
        if tested.unit_name != "class":
            return None
        units = tested.whole(np.isin(tested.groups, places))
        assert units is not None
        own = units.group_of_unit if units.carry_the_group else None
        for place in places:
            held = np.unique(units.of_row[units.groups == place]) if own is None else np.flatnonzero(own == place)
            if len(held) < 2:
                return f"{tested.names[place]!r} has {'one class' if len(held) else 'no class'} of its own"
        return None

    def _left_out_words(self, place: int, measure: int) -> str | None:
        number = int(self.left_out[place, measure])
        if not number:
            return None
        return f"{number:,} of the group's classes {'is' if number == 1 else 'are'} never predicted in it: left out"

    def _standing(self, places: list[int], value: float) -> tuple[Status, str | None]:
        least = min(int(self.people[place]) for place in places)
        if np.isnan(value):
            empty = [self.tested.names[place] for place in places if not self.people[place]]
            if empty:
                return Status.UNDEFINED, f"there are no test rows of {', '.join(map(repr, empty))}"
            return Status.UNDEFINED, "none of the classes the group has is predicted in it"
        if least < self.tested.least:
            return Status.TOO_SMALL, f"{least:,} test rows: fewer than {self.tested.least:,}"
        return Status.OK, None

    def _gaps(self) -> Iterator[DownstreamRecord]:
        tested = self.tested
        if len(tested.compared) < 2:
            return
        against = self._reference()
        for place in tested.compared:
            if place != against:
                yield from self._gap(against, place)
        large = [place for place in tested.compared if self.people[place] >= tested.least]
        if len(tested.compared) > 2 and len(large) > 1:
            yield from self._largest(large)

    def _reference(self) -> int:
        """Return the group named as the reference, or the one with most test rows."""
        if self.tested.reference is not None:
            return self.tested.names.index(self.tested.reference)
        return max(self.tested.compared, key=lambda place: int(self.people[place]))

    def _gap(self, against: int, place: int) -> Iterator[DownstreamRecord]:
        tested = self.tested
        differences = self.values[against] - self.values[place]
        spread = spread_of(self.bootstrap[:, against] - self.bootstrap[:, place])
        enough = min(self.people[place], self.people[against]) >= tested.least
        single = self._single([place, against]) if tested.draws else None
        told_p = enough and single is None
        unknown = np.full(3, np.nan), np.zeros(3, dtype=np.bool_), [None] * 3
        p, limited, tests = self._pair_p(against, place, differences, spread) if told_p else unknown
        for measure, value in enumerate(differences.tolist()):
            low, high, interval = None, None, None
            status, reason = self._standing([place, against], value)
            if status == Status.OK:
                if measure == ACCURACY and tested.units is None:
                    counts = [self.correct[against], self.people[against], self.correct[place], self.people[place]]
                    ends = difference_interval(*counts)
                    low, high, interval = float(ends[0]), float(ends[1]), "score"
                else:
                    low, high, interval = _normal(value, float(spread[measure]), -1.0) if told_p else (None, None, None)
                reason = f"{single}: no interval and no test" if single else self._why_no_interval(interval, None)
                reason = reason or (NO_DEAL if told_p and tests[measure] is None else None)
            told = status == Status.OK and not np.isnan(p[measure])
            yield DownstreamRecord(
                learner=tested.learner, settings=tested.settings, training=tested.training, attribute=tested.attribute,
                measure=MEASURES[measure], kind="gap", variant=tested.variant, group=tested.names[place],
                against=tested.names[against], value=value, low=low, high=high, interval=interval,
                p=float(p[measure]) if told else None, test=tests[measure] if told else None,
                people=int(self.people[place]), status=status, reason=reason,
                limited_by_draws=bool(limited[measure]) if told else None,
            )  # fmt: skip

    def _pair_p(
        self, against: int, place: int, differences: Floats, spread: Floats
    ) -> tuple[Floats, NDArray[np.bool_], list[str | None]]:
        deals = deals_of(self.tested, [against, place])
        if deals is None:
            both = zip(differences.tolist(), spread.tolist(), strict=True)
            p = np.asarray([normal_p(value, error) for value, error in both])
            return p, np.zeros(3, dtype=np.bool_), [f"normal, {self.tested.plural} drawn again"] * 3
        p, limited = deals.p_values(lambda values: np.abs(values[..., 0, :] - values[..., 1, :]))
        return p, limited, list(deals.tests)

    def _largest(self, places: list[int]) -> Iterator[DownstreamRecord]:
        """Yield best minus worst, which cannot be negative: a test against permuted groups and no interval."""
        tested, values = self.tested, self.values[places]
        single = self._single(places) if tested.draws else None
        deals = deals_of(tested, places) if single is None else None
        unknown = np.full(len(MEASURES), np.nan), np.zeros(len(MEASURES), dtype=np.bool_)
        told, limited = unknown if deals is None else deals.p_values(lambda drawn: np.ptp(drawn, axis=-2))
        for measure, name in enumerate(MEASURES):
            column = values[:, measure]
            known = not np.isnan(column).any()
            value, p = (float(np.ptp(column)), None) if known else (float("nan"), None)
            untold = deals is not None and deals.tests[measure] is None
            if known and deals is not None and not untold:
                p = float(told[measure])
            yield DownstreamRecord(
                learner=tested.learner, settings=tested.settings, training=tested.training, attribute=tested.attribute,
            measure=name,
                kind="largest gap", variant=tested.variant, value=value, p=p,
                group=tested.names[places[int(column.argmin())]] if known else None,
                against=tested.names[places[int(column.argmax())]] if known else None,
                test=deals.tests[measure] if p is not None and deals is not None else None,
                limited_by_draws=bool(limited[measure]) if p is not None else None,
                people=int(self.people[places].sum()), status=Status.OK if known else Status.UNDEFINED,
                reason=(f"{single}: no test" if single else NO_DEAL if untold else None)
                if known else "undefined in at least one group",
            )  # fmt: skip


def _normal(value: float, spread: float, lowest: float) -> tuple[float | None, float | None, str | None]:
    """Return the value plus and minus 1.96 bootstrap standard errors; nothing where draws do not vary or tell."""
    if not spread > 0:
        return None, None, None
    half = float(quantile(0.95)) * spread
    return max(value - half, lowest), min(value + half, 1.0), "bootstrap"
