"""From tallies to records: every registered measure, per group, per class, for the favourable class and overall.

Rates have Wilson's interval, with as many trials as weights and clusters leave; what is no proportion (F1) has one of
rows or clusters drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from equipoise.audits._reasons import AuditReason
from equipoise.audits._tallies import ClusterCounts, View
from equipoise.foundation import Floats, ratio, registry
from equipoise.measures import (
    Measure,
    get_measure,
    mean_over_classes,
)
from equipoise.results import Reason, Record, Scope, Status, because
from equipoise.stats import (
    LEVEL,
    MIN_UNITS,
    bootstrap_counts,
    clustered_trials,
    effective_counts,
    exact_ratio_interval,
    is_rare,
    percentiles,
    ratio_interval,
    small_sample_factor,
    wilson,
)
from equipoise.tallies import (
    ClassTotals,
    Confusion,
)


def measures_for(needs: Sequence[str]) -> list[Measure]:
    """Return the registered measures that these tallies can tell."""
    things = [entry.implementation for entry in registry.entries("measure") if entry.details["needs"] in needs]
    return [thing for thing in things if isinstance(thing, Measure)]


def records_of(view: View, needs: Sequence[str]) -> Iterator[Record]:
    """Yield every record of a view."""
    for measure in measures_for(needs):
        if measure.kind in ("rate", "value"):
            yield from _per_group(measure, view)
        else:
            yield from _gap_records(measure, view)
        if measure.kind == "ratio":
            yield from _against(measure, view)


def overall_records(view: View, needs: Sequence[str]) -> Iterator[Record]:
    """Yield rates and values over all groups together."""
    overall = view.overall
    for measure in measures_for(needs):
        if measure.kind in ("rate", "value"):
            for record in _per_group(measure, overall):
                yield replace(record, group=None)


def _per_group(measure: Measure, view: View) -> Iterator[Record]:
    if measure.kind == "value":
        yield from _values(measure, view)
        return
    numerators, denominators = measure.function(view.reported)
    values = ratio(numerators, denominators)
    parts = (values, numerators, denominators, *rate_intervals(measure, view, values))
    if not measure.classwise:
        for index, group in enumerate(view.reported.groups):
            yield _rate(measure, view, group, "overall", None, tuple(part[index] for part in parts))
        return
    for class_place, name in _classes(view, view.reported):
        for group_index, group in enumerate(view.reported.groups):
            cell = tuple(part[group_index, class_place] for part in parts)
            yield _rate(measure, view, group, "class", name, cell)
            if name == view.favourable:
                yield _rate(measure, view, group, "favourable", name, cell)
    if view.label is None:
        yield from _means(measure, view, values)


def _classes(view: View, tally: Any) -> list[tuple[int, str]]:
    """The classes to report one by one; of a label only its presence."""
    named = list(enumerate(tally.classes))
    return named[-1:] if view.label is not None else named


def _rate(measure: Measure, view: View, group: str, scope: Scope, name: str | None, cell: tuple[float, ...]) -> Record:
    value, numerator, denominator, low, high, effective_n = (float(part) for part in cell)
    about = {**_about(measure, view), "scope": scope, "class_": name, "group": group, "numerator": numerator}
    reason = why_rate_undefined(measure, group, name) if np.isnan(value) else view.why_untested([group])
    return number_of_group(about, value, denominator, reason, (low, high, "score"), effective_n)


def number_of_group(
    about: Mapping[str, Any], value: float, people: float, reason: Reason | None,
    interval: tuple[float, float, str] | None = None, effective_n: float = float("nan"),
) -> Record:  # fmt: skip
    """Return the record of a number of one group: a rate, a value or a mean, undefined where it is NaN.

    With an interval comes the effective number of people behind it, where there is one.
    """
    status = Status.UNDEFINED if np.isnan(value) else Status.OK
    ends = {} if interval is None or np.isnan(value) else _ends(*interval)
    behind = None if not ends or np.isnan(effective_n) else effective_n
    return Record(
        value=value, denominator=people, status=status, reason=reason, effective_n=behind, **ends, **about
    )  # fmt: skip


def with_interval(record: Record, low: float, high: float, method: str) -> Record:
    """Return the record of a group's number with its interval; as it was where number or interval are not known."""
    ends = _ends(low, high, method) if record.defined else {}
    return replace(record, **ends) if ends else record


def _ends(low: float, high: float, method: str) -> dict[str, Any]:
    return {} if np.isnan(low) else {"low": low, "high": high, "interval": method, "level": 1.0 - LEVEL}


def _record(measure: Measure, view: View, value: float, reason: Reason | None = None, **fields: Any) -> Record:
    """Return a record of a measure; it is undefined where its value is."""
    status = Status.UNDEFINED if np.isnan(value) else Status.OK
    return Record(value=value, status=status, reason=reason, **{**_about(measure, view), **fields})


def _about(measure: Measure, view: View) -> dict[str, Any]:
    return {"measure": measure.name, "alias": measure.alias, "kind": measure.kind, **view.record_fields()}


def _means(measure: Measure, view: View, values: Floats) -> Iterator[Record]:
    """Yield each group's unweighted (macro) mean over the classes that are defined in all groups."""
    compared = [view.reported.groups.index(group) for group in view.compared.groups if group in view.reported.groups]
    rows = values[compared] if compared else values
    common = np.asarray(~np.isnan(rows).any(axis=0))
    for index, group in enumerate(view.reported.groups):
        chosen = values[index][common]
        value = mean_over_classes(chosen, strict=True) if len(chosen) else float("nan")
        value = float("nan") if view.strict and not common.all() else value
        reason = left_out_classes(measure, view.reported.classes, common, strict=view.strict)
        if reason is None and np.isnan(value):
            reason = because(AuditReason.CLASS_UNDEFINED_IN_GROUP, measure=measure.title, group=group)
        yield _record(measure, view, value, reason, group=group)


def _values(measure: Measure, view: View) -> Iterator[Record]:
    people = view.reported.weight.reshape(len(view.reported.groups), -1).sum(axis=1).tolist()
    for group, value, number in zip(
        view.reported.groups, measure.by_class(view.reported).tolist(), people, strict=True
    ):  # fmt: skip
        reason = why_value_undefined(measure, view.reported, group) if np.isnan(value) else None
        yield number_of_group({**_about(measure, view), "group": group}, value, number, reason)


def _gap_records(measure: Measure, view: View) -> Iterator[Record]:
    variant = view.variant if view.variant in measure.variants else "paper"
    if len(view.compared.groups) < 2:
        lone = _record(measure, view, float("nan"), because(AuditReason.FEW_GROUPS), variant=variant)
        if measure.classwise and view.favourable is not None:
            yield replace(lone, scope="favourable", class_=view.favourable)
        yield lone
        return
    values = measure.by_class(view.compared, variant)
    furthest = _furthest(measure, view.compared)
    if not measure.classwise:
        value = float(values)
        reason = why_gap_undefined(measure, view.compared, None) if np.isnan(value) else None
        if reason is None and measure.needs == "counts" and measure.of == "true_positive_rate":
            reason = _classes_left_out_of(measure, view)
            value = float("nan") if reason is not None and view.strict else value
        low, high = furthest(None)
        yield _record(measure, view, value, reason, variant=variant, group=low, against=high)
        return
    for class_index, name in _classes(view, view.compared):
        value = float(values[class_index])
        reason = why_gap_undefined(measure, view.compared, class_index) if np.isnan(value) else None
        low, high = furthest(class_index)
        record = _record(
            measure, view, value, reason, variant=variant, scope="class", class_=name, group=low, against=high
        )  # fmt: skip
        yield record
        if name == view.favourable:
            yield replace(record, scope="favourable")
    if view.label is None:
        value = mean_over_classes(values, strict=view.strict)
        reason = left_out_classes(measure, view.compared.classes, np.asarray(~np.isnan(values)), strict=view.strict)
        yield _record(measure, view, value, reason, variant=variant)


def _classes_left_out_of(measure: Measure, view: View) -> Reason | None:
    """A summary over classes says which classes it could not take."""
    table: Confusion = view.compared
    defined = np.asarray(~np.isnan(_rate_of(measure).by_class(table)).any(axis=0))
    return left_out_classes(measure, table.classes, defined, strict=view.strict)


def _rate_of(measure: Measure) -> Measure:
    assert measure.of is not None
    thing = registry.get("measure", measure.of).implementation
    assert isinstance(thing, Measure)
    return thing


def _furthest(measure: Measure, tally: Any) -> Callable[[int | None], tuple[str | None, str | None]]:
    """Return who has the lowest and the highest value of what the measure compares, as a function of the class.

    Of the two rates that equalized odds compares, it is the one with the wider gap.
    """
    if measure.of is None:
        return lambda _: (None, None)
    names = ("true_positive_rate", "false_positive_rate") if measure.name == "equalized_odds" else (measure.of,)
    rates = [get_measure(name) for name in names]
    values = [rate.by_class(tally) for rate in rates]

    def furthest(class_place: int | None) -> tuple[str | None, str | None]:
        if rates[0].classwise and class_place is None:
            return None, None
        columns = [
            value if class_place is None or not rates[0].classwise else value[:, class_place] for value in values
        ]
        column = max(columns, key=lambda column: float(np.ptp(column))) if len(columns) > 1 else columns[0]
        if np.isnan(column).any() or column.min() == column.max():
            return None, None
        return tally.groups[int(column.argmin())], tally.groups[int(column.argmax())]

    return furthest


def _against(measure: Measure, view: View) -> Iterator[Record]:
    """Yield the ratio of each group to one fixed beforehand, and to the group with the highest rate.

    Fixed beforehand is the reference, where one is named, else the largest group: its intervals are corrected for the
    number of groups. The highest rate is chosen by the data, so there they are corrected for all ordered pairs.
    """
    groups = view.compared.groups
    if len(groups) < 2:
        return
    rate_of = _rate_of(measure)
    rates = rate_of.by_class(view.compared)
    successes, trials = trials_of(rate_of, view, groups)
    sizes = rate_of.function(view.only_compared(view.rows))[1]
    number, compared = len(groups) - 1, []
    for class_place, name in _classes(view, view.compared):
        column = rates[:, class_place]
        if not np.isnan(column).any():
            fixed = groups.index(view.reference) if view.reference in groups else int(sizes[:, class_place].argmax())
            tests = {int(column.argmax()): number * len(groups), fixed: number}
            compared += [(class_place, name, against, 1.0 - LEVEL / times) for against, times in tests.items()]
    if not compared:
        return
    columns, against = [comparison[0] for comparison in compared], [comparison[2] for comparison in compared]
    x, n = successes[:, columns].T, trials[:, columns].T
    intervals = _ratio_intervals(x, n, against, np.array([comparison[3] for comparison in compared]))
    for (class_place, name, base, level), (lows, highs, exact) in zip(compared, intervals, strict=True):
        yield from _ratios_to(
            measure, view, rates[:, class_place], base, name, level, zip(lows, highs, exact, strict=True)
        )


def _ratio_intervals(
    x: Floats, n: Floats, against: list[int], level: Floats
) -> Iterator[tuple[list[float], list[float], list[bool]]]:
    """Yield, for each comparison ``[comparison, group]``, the ends of ratios to one group, and which are exact.

    An interval is exact where outcomes are rare.
    """
    row = np.arange(len(x))
    base = x[row, against][:, None], n[row, against][:, None]
    lows, highs = ratio_interval(x, n, *base, level[:, None])
    rare = is_rare(x, n, *base)
    rare[row, against] = False
    if rare.any():
        parts = np.broadcast_arrays(x, n, *base, level[:, None])
        lows[rare], highs[rare] = exact_ratio_interval(*(part[rare] for part in parts))
    yield from zip(lows.tolist(), highs.tolist(), rare.tolist(), strict=True)


def _ratios_to(
    measure: Measure, view: View, rates: Floats, against: int, name: str, level: float,
    intervals: Iterable[tuple[float, float, bool]],
) -> Iterator[Record]:  # fmt: skip
    """Yield the ratio of each group's rate to one group's with its interval."""
    groups = view.compared.groups
    base = float(rates[against])
    for group, rate, (low, high, exact) in zip(groups, rates.tolist(), intervals, strict=True):
        if group == groups[against]:
            continue
        untold = view.why_untested([group, groups[against]])
        is_known = not np.isnan(low) and untold is None
        reason = untold if base > 0 else because(AuditReason.BASE_IS_ZERO, against=groups[against], name=name)
        record = _record(
            measure, view, rate / base if base > 0 else float("nan"), reason, kind="ratio to group", scope="class",
            class_=name, group=group, against=groups[against], numerator=rate, denominator=base,
            low=low if is_known else None, high=high if is_known else None, level=level if is_known else None,
            interval=("exact" if exact else "score") if is_known else None,
        )  # fmt: skip
        yield record
        if name == view.favourable:
            yield replace(record, scope="favourable")


def why_rate_undefined(measure: Measure, group: str, name: str | None) -> Reason:
    """A rate is undefined when nobody is in its denominator."""
    return _no_denominator(measure, name, [group])


def _no_denominator(measure: Measure, name: str | None, groups: Sequence[str]) -> Reason:
    if name is None:
        return because(AuditReason.NO_DENOMINATOR, of=measure.denominator, groups=tuple(groups))
    return because(AuditReason.NO_DENOMINATOR_OF_CLASS, of=measure.denominator, name=name, groups=tuple(groups))


def why_value_undefined(measure: Measure, tally: Any, group: str) -> Reason:
    """A value is undefined for want of contrast, or because scores are no probabilities."""
    if measure.needs == "scores":
        if not tally.scale.probabilities and measure.name != "auc":
            return because(AuditReason.NOT_PROBABILITIES, low=tally.scale.low, high=tally.scale.high)
        return because(AuditReason.ONE_CLASS_ONLY, group=group)
    return because(AuditReason.CONSTANT, group=group)


def why_gap_undefined(measure: Measure, tally: Any, class_index: int | None) -> Reason:
    """A gap is undefined when a group's rate is; the groups are named."""
    name = None if class_index is None else tally.classes[class_index]
    compared = [measure.of] if measure.name != "equalized_odds" else ["true_positive_rate", "false_positive_rate"]
    for of in (get_measure(rate) for rate in compared if rate is not None):
        if of.classwise != (class_index is not None):
            continue
        values = of.by_class(tally)
        column = values if class_index is None else values[:, class_index]
        lacking = [group for group, value in zip(tally.groups, column, strict=True) if np.isnan(value)]
        if lacking and measure.needs in ("scores", "residuals"):
            return why_value_undefined(of, tally, lacking[0])
        if lacking:
            return _no_denominator(of, name, lacking)
    if class_index is None:
        return because(AuditReason.NO_COMMON_CLASS if measure.needs == "counts" else AuditReason.ALL_EQUAL)
    never = AuditReason.NOT_PREDICTED if measure.needs == "predictions" else AuditReason.NOT_TRUE_OR_NOT_PREDICTED
    return because(never, name=name)


def left_out_classes(
    measure: Measure, classes: Sequence[str], defined: NDArray[np.bool_], *, strict: bool = False
) -> Reason | None:
    """Say which classes a mean over classes could not take."""
    if defined.all():
        return None
    lost = tuple(name for name, is_defined in zip(classes, defined, strict=True) if not is_defined)
    if len(lost) == len(classes):
        return because(AuditReason.NO_COMMON_CLASS_OF, measure=measure.title)
    if strict:
        return because(AuditReason.STRICT_MEAN, names=lost)
    return because(AuditReason.CLASSES_LEFT_OUT, kept=len(classes) - len(lost), total=len(classes), names=lost)


# F1 counts a person twice: it is no proportion, and Wilson's interval is not for it.
NOT_PROPORTIONS = ("f1",)


def effective(measure: Measure, weights: Confusion, squares: Confusion | None) -> tuple[Floats, Floats]:
    """Return the successes and trials of unweighted rows that would know each rate as well."""
    numerators, denominators = measure.function(weights)
    if squares is None:
        return numerators, denominators
    return effective_counts(numerators, denominators, *measure.function(squares))


def clustered(
    measure: Measure, table: Confusion, behind: ClusterCounts, groups: Sequence[str], level: float = 0.95
) -> tuple[Floats, Floats]:
    """Return successes and trials as if rows were independent: so many trials as clusters give an interval at a level.

    They are NaN in a group that has too few clusters.
    """
    rates = ratio(*measure.function(table))
    trials = np.full_like(rates, np.nan)
    for index, group in enumerate(groups):
        if behind.of([group]) >= MIN_UNITS:
            x, n = measure.function(_of_clusters(behind, group, table))
            trials[index] = clustered_trials(x[:, 0], n[:, 0], level)
    return np.nan_to_num(rates) * trials, trials


def _of_clusters(behind: ClusterCounts, group: str, table: Confusion) -> ClassTotals:
    """Return the totals of each class in one group, ``[cluster, 1, class]``, of the clusters that have a row in it."""
    units = behind.of_group(group).tocsr()
    units = units[np.flatnonzero(units.sum(axis=1))]
    classes = len(table.classes)
    entries = units.tocoo()
    truth, guess = entries.col // classes, entries.col % classes

    def by_class(of: NDArray[np.integer[Any]], entries_of_side: NDArray[np.bool_] | slice) -> Floats:
        table = sparse.coo_array(
            (entries.data[entries_of_side], (entries.row[entries_of_side], of[entries_of_side])),
            shape=(units.shape[0], classes),
        )
        return np.asarray(table.toarray(), dtype=np.float64)[:, None, :]

    everything = slice(None)
    if not table.has_target:
        return ClassTotals.of((group,), table.classes, by_class(guess, everything), None, None)
    return ClassTotals.of(
        (group,), table.classes, by_class(guess, everything), by_class(truth, everything),
        by_class(guess, truth == guess),
    )  # fmt: skip


def trials_of(measure: Measure, view: View, groups: Sequence[str], level: float = 0.95) -> tuple[Floats, Floats]:
    """Return successes and trials of some groups of a view, with weights and clusters taken into account.

    With clusters they serve an interval at this level, and are NaN in a group that has too few clusters.
    """
    table = view.of_groups(view.reported, groups)
    squares = None if view.squares is None else view.of_groups(view.squares, groups)
    if view.behind is not None:
        return clustered(measure, table, view.behind, groups, level)
    return effective(measure, table, squares)


def rate_intervals(measure: Measure, view: View, values: Floats, level: float = 0.95) -> tuple[Floats, Floats, Floats]:
    """Return Wilson's interval for every group (and class), and the effective trials behind it.

    All are NaN where the rate is no proportion.
    """
    if measure.name in NOT_PROPORTIONS:
        unknown = np.full_like(values, np.nan)
        return unknown, unknown, unknown
    successes, trials = trials_of(measure, view, view.reported.groups)
    return *wilson(successes, trials, level), trials


# So many numbers of drawn tables at the most; beyond, every group has very many classes and goes without.
MOST_NUMBERS = 50_000_000


def with_bootstrap_intervals(
    records: Iterable[Record], view: View, generator: np.random.Generator, draws: int
) -> Iterator[Record]:
    """Yield the records, those that need draws with a percentile interval of rows (or clusters) drawn again."""
    listed = list(records)
    measures = {record.measure for record in listed if record.measure in NOT_PROPORTIONS}
    if not measures or view.compared.cells.size * draws > MOST_NUMBERS or not view.compared.groups:
        yield from listed
        return
    table = _resampled_table(view, generator, draws)
    rates = {name: ratio(*get_measure(name).function(table)) for name in measures}
    for record in listed:
        if record.kind != "rate" or record.measure not in rates or not record.defined or record.class_ is None:
            yield record
            continue
        if record.group not in table.groups:
            yield record
            continue
        untold = view.why_untested([record.group])
        if untold is not None:
            yield replace(record, reason=untold)
            continue
        values = rates[record.measure][:, table.groups.index(record.group), table.classes.index(record.class_)]
        wider = 1.0 if view.behind is None else small_sample_factor(view.behind.fewest([record.group]), 1.0 - LEVEL)
        low, high = (float(edge[0]) for edge in percentiles(_widened(values[:, None], wider), 1.0 - LEVEL))
        yield with_interval(record, low, high, "bootstrap")


def _widened(values: Floats, factor: float) -> Floats:
    """Move draws away from their median; what cannot be negative stays so."""
    if factor == 1.0 or np.isnan(values).all():
        return values
    centre = float(np.nanmedian(values))
    return np.maximum(centre + factor * (values - centre), 0.0)


def _resampled_table(view: View, generator: np.random.Generator, draws: int) -> Confusion:
    table: Confusion = view.compared
    if view.resampled is not None:
        return view.only_compared(view.resampled)
    rows, squares = view.only_compared(view.rows), view.only_compared(view.squares)
    if np.array_equal(rows.cells, table.cells):
        return replace(table, cells=bootstrap_counts(rows.cells, draws, generator))
    return replace(table, cells=bootstrap_counts(table.cells, draws, generator, squares.cells))
