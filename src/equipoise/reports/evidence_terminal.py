"""Evidence over runs in the terminal: plain words, then a table with the range of the runs drawn, then the notes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from equipoise.audits.evidence import EvidenceRecord, EvidenceResult
from equipoise.foundation.text import printable
from equipoise.reports.terminal_lines import BLUE, GREY, ORANGE, bullet, more

WIDE = 110
STRIP = 21
MOST_LINES = 14
MOST_ROWS = 60

Scale = tuple[float, float]


def show(result: EvidenceResult, console: Console) -> None:
    """Print evidence."""
    console.print(Group(*_parts(result, wide=console.width >= WIDE)))


def _parts(result: EvidenceResult, *, wide: bool) -> Iterator[RenderableType]:
    yield Rule(Text(printable(f"Evidence from {result.provenance.get('data')}")), style=GREY)
    yield from (bullet(sentence) for sentence in result.words[:MOST_LINES])
    yield more(len(result.words) - MOST_LINES)
    yield Padding(_table(result, wide=wide), (1, 0, 0, 0))
    yield more(len(result.records) - MOST_ROWS)
    yield Text("\nNotes", style="bold")
    yield from (bullet(note) for note in result.notes)


def _table(result: EvidenceResult, *, wide: bool) -> Table:
    """A line a technique and metric; on a wide terminal with its runs drawn as a strip."""
    title = "Technique by metric" + (": ─ from the lowest run to the highest, ● mean, | mean of the baseline" * wide)
    table = Table(title=Text(title, style="bold"), title_justify="left", box=None, pad_edge=False, padding=(0, 1, 0, 0))
    numbers = ("mean", "STDEV", *(("MaxDiff",) * wide))
    for heading in ("technique", "metric", *numbers, *(("runs",) * wide), "p", "d", "misleads", "verdict"):
        right = heading in (*numbers, "p", "d", "misleads")
        table.add_column(heading, justify="right" if right else "left", overflow="fold")
    scales, means = _scales(result.records), {(r.technique, r.metric): r.mean for r in result.records}
    for record in result.records[:MOST_ROWS]:
        table.add_row(*_cells(record, scales, means, wide=wide), style=GREY if record.verdict is None else "")
    return table


def _cells(
    record: EvidenceRecord, scales: dict[tuple[str, str], Scale], means: dict[tuple[str, str], float], *, wide: bool
) -> Iterator[Text]:
    yield Text(printable(record.technique))
    yield Text(printable(record.metric))
    yield _number(record.mean)
    yield _number(record.stdev)
    if wide:
        yield _number(record.maxdiff)
        yield _strip(record, scales[record.baseline or record.technique, record.metric], means)
    if record.verdict is None:
        yield from (Text("") for _ in range(3))
        yield Text("baseline")
        return
    yield _number(record.p_adjusted, ".2g")
    yield _number(record.d, ".2f") + Text(f" {record.band or ''}".rstrip())
    yield _share(record.prob_single_run_misleads)
    costs = f" (cost: {', '.join(record.costs)})" if record.costs else ""
    yield _verdict(record.verdict) + Text(costs, style=ORANGE)


def _number(value: float | None, form: str = ".4g") -> Text:
    if value is None or math.isnan(value):
        return Text("undefined", style=GREY)
    return Text(format(value, form))


def _share(value: float | None) -> Text:
    return _number(None) if value is None or math.isnan(value) else Text(f"{100 * value:.0f} %")


def _verdict(verdict: str) -> Text:
    styles = {"lower": f"bold {BLUE}", "higher": f"bold {ORANGE}", "undecided": "italic"}
    return Text(verdict, style=styles.get(verdict, ""))


def _scales(records: Sequence[EvidenceRecord]) -> dict[tuple[str, str], Scale]:
    """Return the range that a baseline and those held against it share on each metric."""
    scales: dict[tuple[str, str], Scale] = {}
    for record in records:
        for name in {record.technique, record.baseline or record.technique}:
            if not math.isnan(record.min):
                low, high = scales.get((name, record.metric), (math.inf, -math.inf))
                scales[name, record.metric] = (min(low, record.min), max(high, record.max))
            scales.setdefault((name, record.metric), (math.inf, -math.inf))
    return scales


def _strip(record: EvidenceRecord, scale: Scale, means: dict[tuple[str, str], float]) -> Text:
    """Draw the runs on one line."""
    low, high = scale
    if math.isnan(record.mean):
        return Text("")

    def place(value: float) -> int:
        return round((STRIP - 1) * (value - low) / (high - low)) if high > low else STRIP // 2

    signs = [" "] * STRIP
    for spot in range(place(record.min), place(record.max) + 1):
        signs[spot] = "─"
    against = means.get((record.baseline or "", record.metric), math.nan)
    if not math.isnan(against):
        signs[place(against)] = "|"
    signs[place(record.mean)] = "●"
    return Text("".join(signs), style=BLUE)
