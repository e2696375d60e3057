"""An audit in the terminal: plain words, then a picture of each attribute, then the gaps, then what is not known."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from equipoise.audits.change.words import say_changes
from equipoise.audits.result import AuditResult
from equipoise.foundation.registry import registry
from equipoise.foundation.text import plural, printable
from equipoise.reports.change_terminal import change_parts
from equipoise.reports.embedding_terminal import embedding_parts
from equipoise.reports.spaces import is_embedding
from equipoise.reports.subjects import Subject, widest_groups, widest_in_words
from equipoise.reports.terminal_lines import BLUE, GREY, ORANGE, bullet, left_out, more
from equipoise.results import Record, Status

# The layouts of an attribute's picture, from wide to narrow: the bar's length, and how many rates stand beside it.
LAYOUTS = ((24, 3), (16, 2), (8, 2), (8, 1), (4, 0))
MOST_LINES = 16
# Groups of an attribute; of all attributes and splits together, but at least so many of each.
MOST_GROUPS, MOST_GROUPS_IN_ALL, LEAST_GROUPS = 40, 160, 12
MOST_CLASSES = 4

# The columns of an attribute's picture: a bar, then plain rates.
RATES = (("true_positive_rate", "TPR, found"), ("false_positive_rate", "FPR, wrongly"), ("accuracy", "accuracy"))
VALUES = (
    ("mean_absolute_error", "MAE"), ("root_mean_squared_error", "RMSE"), ("pearson", "Pearson"),
    ("mean_residual", "mean residual"),
)  # fmt: skip


def show(result: AuditResult, console: Console) -> None:
    """Print an audit."""
    console.print(Group(*_parts(result, console)))


def _parts(result: AuditResult, console: Console) -> Iterator[RenderableType]:
    yield Rule(Text(printable(f"Audit of {result.provenance.get('data')}")), style=GREY)
    yield Text(printable(_headline(result)), style="bold")
    yield Padding(_card(result), (1, 0, 1, 0))
    yield from change_parts(result, console)
    words = result.words[sum(1 for _ in say_changes(result.changes)) :]  # those about changes come first
    yield from (bullet(sentence) for sentence in words[:MOST_LINES])
    yield more(len(words) - MOST_LINES)
    if is_embedding(result):
        yield from embedding_parts(result, console)
    else:
        yield from _outcome_parts(result, console)
    if result.untold:
        yield Text("\nWhat could not be told", style="bold")
        yield from (bullet(line) for line in result.untold[:MOST_LINES])
        yield more(len(result.untold) - MOST_LINES)
    yield Text("\nNotes", style="bold")
    yield from (bullet(line) for line in (*result.notes, _SCOPE))


def _outcome_parts(result: AuditResult, console: Console) -> Iterator[RenderableType]:
    for attribute, split in _subjects(result):
        yield Padding(_fitting(result, attribute, split, console), (1, 0, 0, 0))
    yield Padding(_gaps(result), (1, 0, 0, 0))


_SCOPE = (
    "Intervals and tests speak of other people like these, judged by this same model. Another training run of it may "
    "differ: that takes repeated runs. No number certifies that a model is fair."
)


def _card(result: AuditResult) -> Table:
    """The cohort card: how many of each class are in each group (and split), with their shares."""
    table = _plain_table("Who was counted")
    table.add_column("group", overflow="fold")
    table.add_column("rows", justify="right", no_wrap=True)
    classes = result.card.classes[:MOST_CLASSES]
    for name in classes:
        table.add_column(Text(printable(name)), justify="right", no_wrap=True)
    for row in result.card.groups[:MOST_GROUPS]:
        label = Text(printable(f"{_subject((row.attribute,), row.split)}: {row.group}"))
        if row.rows is None or row.share is None:
            table.add_row(label, Text("hidden", style=GREY))
            continue
        counts = row.classes or {}
        shares = [f"{counts[c]:,} {100 * counts[c] / max(row.rows, 1):.0f} %" if c in counts else "" for c in classes]
        table.add_row(label, f"{row.rows:,} {100 * row.share:.0f} %", *shares)
    hidden = {"group": len(result.card.groups) - MOST_GROUPS, "class": len(result.card.classes) - MOST_CLASSES}
    rest = [plural(number, f"more {what}", f"more {what}{'es' if what == 'class' else 's'}")
            for what, number in hidden.items() if number > 0]  # fmt: skip
    table.caption = f"and {' and '.join(rest)} (all are in --json)" if rest else None
    return table


def _headline(result: AuditResult) -> str:
    parts = [plural(result.card.rows, "row")]
    if result.classes:
        parts.append(plural(len(result.classes), "class", "classes"))
    if result.favourable is not None:
        parts.append(f"favourable: {result.favourable}")
    return ", ".join(parts)


def _subjects(result: AuditResult) -> list[tuple[tuple[str, ...], str | None]]:
    found = ((r.attribute, r.split) for r in result.records if r.attribute and r.control is None)
    return list(dict.fromkeys(found))


def _rates_of(result: AuditResult) -> tuple[tuple[str, str], ...]:
    """The rates beside the bar; without a target there is only how often each class is predicted."""
    if any(record.measure == "true_positive_rate" for record in result.records):
        return RATES
    return () if result.favourable is not None else (("selection_rate", "mean share of a class"),)


def _subject(attribute: tuple[str, ...], split: str | None) -> str:
    return " & ".join(attribute) + ("" if split is None else f", {split}")


def _plain_table(title: str) -> Table:
    heading = Text(printable(title), style="bold")
    return Table(title=heading, title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))


def _fitting(result: AuditResult, attribute: tuple[str, ...], split: str | None, console: Console) -> Table:
    """Return the widest picture that fits the terminal."""
    unlimited = console.options.update(width=10_000)
    full: list[str] = []
    most = min(MOST_GROUPS, max(MOST_GROUPS_IN_ALL // len(_subjects(result)), LEAST_GROUPS))
    for bar, rates in LAYOUTS:
        table = _picture(result, attribute, split, bar, rates, most)
        shown = [str(column.header) for column in table.columns]
        full = full or shown
        if hidden := [name for name in full if name not in shown]:
            table.caption = left_out(hidden, table.caption)
        if Measurement.get(console, unlimited, table).maximum <= console.width:
            break
    return table


def _picture(
    result: AuditResult, attribute: tuple[str, ...], split: str | None, bar: int, rates: int, most: int
) -> Table:
    """A line for each group: its size, a bar of how often it is selected, and its rates with their denominators.

    Of more than ``most`` groups those with the widest contrasts are shown.
    """
    own = [
        r for r in result.records
        if r.attribute == attribute and r.split == split and r.control is None and r.label is None
    ]  # fmt: skip
    scope = "favourable" if result.favourable is not None else "overall"
    title = " & ".join(attribute) + ("" if split is None else f", {split}")
    table = Table(
        title=Text(printable(title), style="bold"), title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0)
    )
    table.add_column("group", overflow="fold", min_width=8)
    table.add_column("rows", justify="right", no_wrap=True)
    regression = any(r.measure == "mean_absolute_error" for r in own)
    columns = VALUES[: rates + 1] if regression else _rates_of(result)[:rates]
    if result.favourable is not None:
        table.add_column(Text(printable(f"predicted {result.favourable}")), no_wrap=True)
    for _, heading in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    groups = list(dict.fromkeys(r.group for r in own if r.kind in ("rate", "value") and r.group is not None))
    shown = widest_groups(result, Subject(attribute, split), groups, most)
    rates_of: dict[str | None, dict[str, Record]] = {group: {} for group in shown}
    # Rates of the scope come last, and so take the place of those over all classes.
    for r in sorted(own, key=lambda r: r.kind == "rate" and r.scope == scope):
        if r.group in rates_of and r.kind in ("rate", "value") and r.scope in (scope, "overall"):
            rates_of[r.group][r.measure] = r
    for group in shown:
        mine = rates_of[group]
        cells: list[RenderableType] = [Text(printable(group)), _size(result, attribute, split, group, mine)]
        if result.favourable is not None:
            cells.append(_bar(mine.get("selection_rate"), bar))
        cells += [_rate(mine.get(measure)) for measure, _ in columns]
        table.add_row(*cells)
    if len(groups) > len(shown):
        which = widest_in_words(result, Subject(attribute, split))
        rest = plural(len(groups) - len(shown), "more group")
        table.caption = f"those {which}, and {rest} (all are in --json)"
    return table


def _size(
    result: AuditResult, attribute: tuple[str, ...], split: str | None, group: str, mine: dict[str, Record]
) -> Text:
    for row in result.card.groups:
        if (row.attribute,) == attribute and row.group == group and row.split == split:
            return Text("hidden" if row.rows is None else f"{row.rows:,}")
    record = mine.get("selection_rate")
    return Text("" if record is None or record.denominator is None else f"{record.denominator:,.0f}")


def _bar(record: Record | None, length: int) -> Text:
    if record is None or not record.defined:
        return Text("undefined" if record is None or record.status == Status.UNDEFINED else record.status, style=GREY)
    filled = round(record.value * length)
    rest = f" {100 * record.value:5.1f} %{_counts(record)}"
    return Text.assemble(("█" * filled, BLUE), ("·" * (length - filled), GREY), rest)


def _rate(record: Record | None) -> Text:
    if record is None:
        return Text("")
    if not record.defined:
        return Text(record.status, style=GREY)
    if record.kind == "value":
        return Text(f"{record.value:.4g}")
    return Text(f"{100 * record.value:.1f} %{_counts(record)}", no_wrap=True)


def _counts(record: Record) -> str:
    if record.numerator is None or record.denominator is None:
        return ""
    return f"  {record.numerator:,.0f}/{record.denominator:,.0f}"


def _gaps(result: AuditResult) -> Table:
    """The gaps: a line a measure, a column an attribute. The seven of paper 004 come first."""
    subjects = _subjects(result)
    scope = "favourable" if result.favourable is not None else "overall"
    what = "for the favourable class" if scope == "favourable" else "means over classes"
    if any(r.measure == "pearson" for r in result.records):
        what = "of the predicted number"
    table = _plain_table(f"Gaps {what} (* beyond chance)")
    table.add_column("measure")
    for attribute, split in subjects:
        table.add_column(Text(printable(_subject(attribute, split))), justify="right")
    compared = [
        r for r in result.records
        if r.kind in ("gap", "ratio", "summary") and r.control is None and r.label is None and r.attribute
    ]  # fmt: skip
    lines: dict[str, dict[tuple[tuple[str, ...], str | None], Record]] = {}
    for record in compared:
        if record.scope == scope or (record.scope == "overall" and not _classwise(record.measure)):
            lines.setdefault(record.measure, {})[record.attribute, record.split] = record
    for measure in sorted(lines, key=_order):
        found = lines[measure]
        alias = next(iter(found.values())).alias
        name = Text.assemble(measure.replace("_", " "), (f" {alias}" if alias else "", BLUE))
        table.add_row(name, *(_gap(found.get(subject)) for subject in subjects))
    return table


_FIRST = ("DP", "DI", "SPSF", "FPSF", "EOFP", "EOTP", "BA", "GAP", "EO", "SMD")


def _order(measure: str) -> tuple[int, str]:
    alias = registry.get("measure", measure).alias
    return (_FIRST.index(alias) if alias in _FIRST else len(_FIRST), measure)


def _classwise(measure: str) -> bool:
    return bool(registry.get("measure", measure).details["classwise"])


def _gap(record: Record | None) -> Text:
    if record is None:
        return Text("")
    if not record.defined:
        return Text(record.status, style=ORANGE)
    return Text(f"{record.value:.3f}{' *' if record.finding else '  '}")
