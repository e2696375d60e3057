"""An audit of an embedding in the terminal: values and gaps of each attribute, leakage, and what carries over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from equipoise.audits.downstream.result import DownstreamRecord
from equipoise.audits.leakage.probing import LeakageRecord
from equipoise.audits.result import AuditResult
from equipoise.foundation.text import printable
from equipoise.reports.formats import p_value
from equipoise.reports.measure_words import short_title_of
from equipoise.reports.spaces import (
    CHANCE,
    NMI,
    ORIENTED,
    VALUES,
    first_of,
    learner_title,
    main_gaps,
    majoritised,
    neighbours,
    said_by,
    value_title,
    values_of,
)
from equipoise.reports.subjects import Placed, Subject, groups_of, subjects_of
from equipoise.reports.terminal_lines import left_out
from equipoise.results import Record, Status

MOST_GROUPS = 40
MOST_LINES = 24
GREY, ORANGE = "grey50", "#c8641b"


def embedding_parts(result: AuditResult, console: Console) -> Iterator[RenderableType]:
    """Yield what is printed of an embedding below the words."""
    for subject in subjects_of(result):
        yield Padding(_fitting(result, subject, console), (1, 0, 0, 0))
        yield Padding(_gaps(result, subject), (1, 0, 0, 0))
    if result.leakage:
        yield Padding(_leakage(result.leakage), (1, 0, 0, 0))
    gaps = [record for record in result.downstream if record.kind in ("gap", "largest gap")]
    if gaps:
        yield Padding(_downstream(gaps), (1, 0, 0, 0))


def _table(title: str) -> Table:
    heading = Text(printable(title), style="bold")
    return Table(
        title=heading, title_justify="left", caption_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0)
    )


def _fitting(result: AuditResult, subject: Subject, console: Console) -> Table:
    """Return the table with as many values as the terminal has room for."""
    placed = values_of(result, subject)
    measures = [measure for measure in VALUES if any(record.measure == measure for _, record in placed)]
    unlimited = console.options.update(width=10_000)
    for number in range(len(measures), 0, -1):
        table = _values(result, subject, placed, measures[:number])
        if number < len(measures):
            table.caption = left_out([short_title_of(measure) for measure in measures[number:]], table.caption)
        if Measurement.get(console, unlimited, table).maximum <= console.width:
            break
    return table


def _values(result: AuditResult, subject: Subject, placed: Sequence[Placed], measures: Sequence[str]) -> Table:
    """A line for each group: its main values; a rate with its counts, NMI with its level by chance."""
    table = _table(" & ".join(subject.attribute))
    table.add_column("group", overflow="fold", min_width=8)
    for measure in measures:
        name = short_title_of(measure).replace("@k", f"@{neighbours(result)}")
        table.add_column(f"{name} (chance)" if measure == NMI else name, justify="right", no_wrap=True)
    everyone = values_of(result, None)
    groups = groups_of(placed)
    for group in [None, *groups[:MOST_GROUPS]]:
        own = everyone if group is None else placed
        cells = [_value(_record(own, measure, group), _record(own, CHANCE, group)) for measure in measures]
        table.add_row(Text("everyone", style=GREY) if group is None else Text(printable(group)), *cells)
    if len(groups) > MOST_GROUPS:
        table.caption = f"and {len(groups) - MOST_GROUPS:,} more groups (all are in --json)"
    return table


def _record(placed: Sequence[Placed], measure: str, group: str | None) -> Record | None:
    found = first_of(placed, measure, group)
    return None if found is None else found[1]


def _value(record: Record | None, chance: Record | None) -> Text:
    if record is None:
        return Text("")
    if not record.defined:
        return Text(record.status, style=GREY)
    style = GREY if record.status == Status.TOO_SMALL else ""
    if record.kind == "rate":
        return Text(f"{100 * record.value:.1f} %{_counts(record)}", style=style)
    shown = _number(record.value)
    if record.measure == NMI and chance is not None and chance.defined:
        shown += f" ({_number(chance.value)})"
    return Text(shown, style=style)


def _counts(record: Record) -> str:
    if record.numerator is None or record.denominator is None:
        return ""
    return f"  {record.numerator:,.0f}/{record.denominator:,.0f}"


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.4g}"


def _gaps(result: AuditResult, subject: Subject) -> Table:
    """A line for each gap: oriented, with its interval; and the widest, where three groups or more are compared."""
    against = majoritised(result, subject)
    gaps = list(main_gaps(result, subject))
    whose = f"gaps against {against}" if against is not None else "gaps, best minus worst"
    table = _table(f"{' & '.join(subject.attribute)}: {whose} (* beyond chance)")
    table.add_column("gap")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("95 % interval", justify="right", no_wrap=True)
    table.add_column("p, corrected", justify="right", no_wrap=True)
    oriented = any(record.variant == ORIENTED and record.defined for _, record in gaps)
    table.add_column("which says that", overflow="fold")
    for _, record in gaps:
        widest = record.variant != ORIENTED
        name = "  best minus worst" if widest and oriented else value_title(result, record.measure)
        value = f"{_number(record.value)}{' *' if record.finding else '  '}" if record.defined else record.status
        cells = [
            Text(name),
            Text(value, style=ORANGE if not record.defined else "bold" if record.finding else ""),
            Text(_interval(record.low, record.high)),
            Text("" if record.p_adjusted is None else p_value(record.p_adjusted)),
        ]
        table.add_row(*cells, Text(printable(said_by(result, record)), style=GREY))
    if any(record.variant != ORIENTED for _, record in gaps):
        table.caption = "Best minus worst cannot be negative: it has a test, and no interval."
    return table


def _interval(low: float | None, high: float | None, write: Callable[[float], str] = _number) -> str:
    return "" if low is None or high is None or low != low or high != high else f"{write(low)} to {write(high)}"


def _leakage(records: Sequence[LeakageRecord]) -> Table:
    table = _table("Can the group be read from the points? Balanced accuracy (* beyond chance)")
    table.add_column("attribute", overflow="fold")
    for heading in ("probe", "value", "95 % interval", "chance", "shuffled groups", "p, corrected"):
        table.add_column(heading, justify="left" if heading == "probe" else "right", no_wrap=True)
    for record in records[:MOST_LINES]:
        p = record.balanced_p_adjusted
        found = record.finding
        table.add_row(
            Text(printable(record.attribute)), learner_title(record.probe),
            Text(f"{record.balanced:.3f}{' *' if found else '  '}", style="bold" if found else ""),
            _interval(record.balanced_low, record.balanced_high), f"{record.chance:.3f}",
            f"{record.shuffled_balanced:.3f}", "" if p is None else p_value(p),
        )  # fmt: skip
    return _shortened(table, records)


def _downstream(gaps: Sequence[DownstreamRecord]) -> Table:
    table = _table("Downstream: how much worse off a group is, in points (* beyond chance)")
    table.add_column("group", overflow="fold")
    table.add_column("learner", overflow="fold")
    table.add_column("measure")
    for heading in ("gap", "95 % interval", "p, corrected"):
        table.add_column(heading, justify="right", no_wrap=True)
    for record in gaps[:MOST_LINES]:
        who = "best minus worst" if record.kind == "largest gap" else f"{record.group} against {record.against}"
        found = record.finding
        value = f"{_points(record.value)}{' *' if found else '  '}" if record.defined else record.status
        table.add_row(
            Text(printable(f"{record.attribute}: {who}")), learner_title(record.learner),
            record.measure.replace("_", " "), Text(value, style="bold" if found else ""),
            _interval(record.low, record.high, _points),
            "" if record.p_adjusted is None else p_value(record.p_adjusted),
        )  # fmt: skip
    return _shortened(table, gaps)


def _points(share: float) -> str:
    return f"{100 * share:.1f}"


def _shortened(table: Table, lines: Sequence[object]) -> Table:
    if len(lines) > MOST_LINES:
        table.caption = f"and {len(lines) - MOST_LINES:,} more (all are in --json)"
    return table
