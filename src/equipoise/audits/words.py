"""Plain words before numbers: what the records say, and what could not be told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from equipoise.foundation.errors import listing
from equipoise.foundation.results import Record
from equipoise.foundation.text import fitting, plural

FOUR_FIFTHS = 0.8
MOST_REASONS = 3


def percent(value: float) -> str:
    """Write a share as a percentage with one decimal."""
    return f"{100 * value:.1f} %"


def points(value: float) -> str:
    """Write a difference of shares in percentage points."""
    return f"{100 * value:.1f} points"


def number_of_people(number: float) -> str:
    """Write how many people there are."""
    return f"{number:,.0f} {'person' if round(number) == 1 else 'people'}"


def say(records: Sequence[Record], favourable: str | None) -> Iterator[str]:
    """Yield the main sentences of an audit, one or two an attribute."""
    for attribute, split in _subjects(records):
        own = [r for r in records if r.attribute == attribute and r.split == split and r.control is None]
        name = " & ".join(attribute) + ("" if split is None else f" ({split})")
        found = list(_of_favourable(own, favourable) if favourable is not None else _of_all_classes(own))
        found += list(_of_regression(own))
        found += list(_of_contrasts(own))
        for sentence in found:
            yield f"{name}: {sentence}"


def _subjects(records: Iterable[Record]) -> list[tuple[tuple[str, ...], str | None]]:
    return list(dict.fromkeys((record.attribute, record.split) for record in records if record.attribute))


def _gap(records: Iterable[Record], alias: str, scope: str) -> Record | None:
    return next(
        (r for r in records if r.alias == alias and r.scope == scope and r.kind == "gap" and r.label is None), None
    )


def _rate(records: Iterable[Record], measure: str, group: str | None, scope: str) -> Record | None:
    return next((r for r in records if r.measure == measure and r.group == group and r.scope == scope), None)


def _of_favourable(records: Sequence[Record], favourable: str) -> Iterator[str]:
    gap = _gap(records, "DP", "favourable")
    if gap is None:
        return
    low, high = (_rate(records, "selection_rate", group, "favourable") for group in (gap.group, gap.against))
    if not gap.defined:
        yield f"how often groups are predicted {favourable!r} cannot be compared: {gap.reason}."
    elif low is None or high is None:
        yield f"all groups are predicted {favourable!r} equally often."
    else:
        yield (
            f"{_of(low)} of {low.group} are predicted {favourable!r}, against {_of(high)} of {high.group}: "
            f"{points(gap.value)} apart{_four_fifths(low.value, high.value)}."
        )
    odds = _gap(records, "EOTP", "favourable")
    if odds is None:
        return
    low, high = (_rate(records, "true_positive_rate", group, "favourable") for group in (odds.group, odds.against))
    if not odds.defined:
        yield f"of those truly {favourable!r}, how many are found cannot be compared: {odds.reason}."
    elif low is None or high is None:
        yield f"of those truly {favourable!r}, all groups are found equally often."
    else:
        yield (
            f"of those truly {favourable!r}, {percent(low.value)} of {low.group} and {percent(high.value)} of "
            f"{high.group} are found: {points(odds.value)} apart."
        )


def _of(record: Record) -> str:
    return f"{percent(record.value)} ({_number(record.numerator)} of {_number(record.denominator)})"


def _number(value: float | None) -> str:
    if value is None:
        return "?"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def _four_fifths(low: float, high: float) -> str:
    if high <= 0:
        return ""
    share = low / high
    side = "below" if share < FOUR_FIFTHS else "within"
    return f", an impact ratio of {share:.2f}, {side} the four-fifths rule (0.80)"


def _of_all_classes(records: Sequence[Record]) -> Iterator[str]:
    gap = _gap(records, "DP", "overall")
    if gap is None:
        return
    parts = [f"on average over the classes, groups are predicted a class {points(gap.value)} apart (DP)"]
    odds = _gap(records, "EOTP", "overall")
    if odds is not None and odds.defined:
        parts.append(f"and a class is found {points(odds.value)} apart (EOTP)")
    if gap.defined:
        yield " ".join(parts) + "."
    worst = max(
        (r for r in records if r.alias == "EOTP" and r.scope == "class" and r.defined),
        key=lambda record: record.value,
        default=None,
    )
    if worst is not None and worst.group is not None and worst.value > 0:
        name = worst.label if worst.label is not None else worst.class_
        yield (
            f"the widest gap in being found is for {name!r}: {points(worst.value)}, "
            f"lowest for {worst.group}, highest for {worst.against}."
        )


def _of_regression(records: Sequence[Record]) -> Iterator[str]:
    for measure, words in (("mean_absolute_error", "the mean absolute error"), ("mean_residual", "the mean residual")):
        gap = next((r for r in records if r.measure == f"{measure}_difference"), None)
        if gap is None or gap.group is None:
            continue
        low, high = (_rate(records, measure, group, "overall") for group in (gap.group, gap.against))
        if low is not None and high is not None:
            yield f"{words} is {low.value:.4g} for {low.group} and {high.value:.4g} for {high.group}."


# How a difference in each rate is said of a group, for the class c.
SAID = {
    "selection_rate": "are predicted {c} {n} {way} often",
    "true_positive_rate": "are found, when truly {c}, {n} {way} often",
    "false_positive_rate": "are wrongly predicted {c} {n} {way} often",
    "positive_predictive_value": "are truly {c}, when predicted so, {n} {way} often",
    "accuracy": "are judged correctly {n} {way} often",
}


def _of_contrasts(records: Sequence[Record]) -> Iterator[str]:
    """Say how many contrasts are more than chance, the widest of them, and whom too few people leave untold."""
    contrasts = [record for record in records if record.kind == "contrast" and record.label is None]
    tested = [record for record in contrasts if record.finding is not None]
    findings = [record for record in tested if record.finding]
    if tested:
        are = fitting(len(findings), "is", "are")
        number = f"{len(findings)} of {plural(len(tested), 'contrast')} {are} more than chance after correction"
        selected = [r for r in findings if r.measure == "selection_rate"] or [r for r in findings if r.measure in SAID]
        widest = max(selected, key=lambda record: abs(record.value), default=None)
        yield number + (f"; the widest: {_contrast(widest)}." if widest is not None else ".")
    small = dict.fromkeys((str(r.group), str(r.reason)) for r in contrasts if r.status == "too small")
    groups: dict[str, str] = {}
    for group, reason in small:
        groups.setdefault(group, reason)
    if groups:
        told = "; ".join(f"{group} ({reason})" for group, reason in list(groups.items())[:5])
        yield f"some contrasts cannot be told: {told}."


def _contrast(record: Record) -> str:
    way = "less" if record.value < 0 else "more"
    name = "a label" if record.class_ is None else repr(record.class_)
    text = SAID[record.measure].format(c=name, n=points(abs(record.value)), way=way)
    edges = sorted(abs(100 * edge) for edge in (record.low or 0.0, record.high or 0.0))
    return f"{record.group} {text} than {record.against} [{edges[0]:.1f} to {edges[1]:.1f}]"


def say_untold(records: Iterable[Record]) -> Iterator[str]:
    """Yield what could not be told and why: a line for each group, then a line for each reason of a gap.

    A reason that holds for everyone (scores that are no probabilities, say) is said once, not group by group.
    """
    untold = [
        record
        for record in records
        if record.status in ("undefined", "too small") and record.reason
        and record.kind != "contrast"  # said with the contrasts
    ]  # fmt: skip
    for_all = {(record.split, record.label, record.reason) for record in untold if not record.attribute}
    groups: dict[tuple[str, str], dict[str, list[str]]] = {}
    gaps: dict[tuple[str, str], list[str]] = {}
    for record in untold:
        reason, name = str(record.reason), record.alias or record.measure
        if (record.split, record.label, reason) in for_all:
            gaps.setdefault((_where(replace(record, attribute=(), control=None)), reason), []).append(name)
            continue
        where = _where(record)
        if record.kind in ("rate", "value") and record.group is not None:
            groups.setdefault((where, record.group), {}).setdefault(reason, []).append(name)
        else:
            gaps.setdefault((where, reason), []).append(name)
    for (where, group), reasons in groups.items():
        told = [f"{reason} ({listing(dict.fromkeys(names), 4)})" for reason, names in reasons.items()]
        more = f"; and {len(told) - MOST_REASONS} more reasons" if len(told) > MOST_REASONS else ""
        yield f"{where}, {group}: {'; '.join(told[:MOST_REASONS])}{more}."
    for (where, reason), names in gaps.items():
        yield f"{where + ': ' if where else ''}{reason} ({listing(dict.fromkeys(names), 8)})."


def _where(record: Record) -> str:
    """Say what a record is about: attribute, split, label and control."""
    where = " & ".join(record.attribute) + (f" ({record.split})" if record.split is not None else "")
    where += f", label {record.label}" if record.label is not None else ""
    where += f" within {record.control}" if record.control is not None else ""
    return where.removeprefix(", ").strip()
