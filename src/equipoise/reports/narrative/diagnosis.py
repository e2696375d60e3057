"""What a diagnosis says: where two identical runs first differed, and how the difference grew."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from equipoise.foundation import (
    percent,
    plural,
    report,
)
from equipoise.reports import formats
from equipoise.reports._document import (
    Block,
    Cell,
    ChartBlock,
    Column,
    DataTable,
    Document,
    Meaning,
    Name,
    Number,
    Row,
    Section,
    Statements,
    Terms,
    Tile,
)
from equipoise.reports._records import limited_table
from equipoise.reports.narrative._report import Report, document_provenance
from equipoise.studies import Diagnosis
from equipoise.training.diverging import ALL_LAYERS

if TYPE_CHECKING:
    from equipoise.reports.narrative._report import Parts

ONE_TRIAL = (
    "This is about one trial of the plan and this machine: two runs that are the same here may differ on another "
    "machine, or later."
)
GROWTH = (
    "A difference in the last bit of one number is enough: every step passes it on to more numbers, and training "
    "enlarges it until predictions change."
)


@report("diagnosis")
class DiagnosisReport(Report):
    """The report of a diagnosis."""

    def document(self, result: Diagnosis) -> Document:
        """Return everything that is said about a diagnosis."""
        # Where the runs agreed for some steps, the first two sentences are the answer.
        first = 2 if result.step is not None and result.step > 1 else 1
        rest = result.words[first:]
        return Document(
            title=("Two identical runs on ", Name(str(result.provenance.get("data")))),
            facts=f"One trial, run twice from the same seed, {plural(result.steps, 'step')}.",
            answer=" ".join(result.words[:first]),
            meaning=Meaning.BETTER if result.step is None else Meaning.NEUTRAL,
            lead=(Statements("", rest),) if rest else (),
            picture="drift" if result.records else None,
            tiles=tuple(_tiles(result)),
            caution=ONE_TRIAL,
            sections=tuple(_sections(result)),
            notes=result.notes,
            provenance=document_provenance(result, "equipoise.studies.diagnose"),
        )

    def parts(self, result: Diagnosis) -> Parts:
        """Draw a diagnosis."""
        from equipoise.reports.charts.curves import drift
        from equipoise.reports.charts.heatmap import layers

        yield "drift", [drift(result)]
        yield "layers", [layers(result)]


def _tiles(result: Diagnosis) -> Iterator[Tile]:
    if result.step is None:
        yield Tile("first difference", "none", Meaning.BETTER, f"in {plural(result.steps, 'step')}")
        return
    yield Tile("first difference", f"step {result.step:,}", None, f"of {plural(result.steps, 'step')}")
    if math.isfinite(result.largest):
        yield Tile("size of it", f"{result.largest:.2g}", None, "largest difference of a number")
    overall = [record for record in result.records if record.layer == ALL_LAYERS and math.isfinite(record.relative)]
    if overall:
        yield Tile("relative difference", f"{overall[-1].relative:.1e}", None, f"after step {overall[-1].step:,}")
    if result.flips:
        last = result.flips[-1]
        yield Tile("predicted differently", percent(last.share), None, f"of {plural(last.rows, 'row')}")


def _sections(result: Diagnosis) -> Iterator[Section]:
    if result.records:
        blocks: tuple[Block, ...] = (_growth(result), ChartBlock(("layers",)))
        yield Section(
            "growth", "How the difference grew", blocks, intro=GROWTH, short="Growth", essential=True
        )  # fmt: skip
    trial = tuple((name, formats.safe_text(str(value))) for name, value in result.trial.items())
    yield Section("trial", "The trial that was run twice", (Terms(trial),), short="The trial", essential=True)


def _growth(result: Diagnosis) -> DataTable:
    """One row per step: the relative difference of everything learned, where it is largest, and changed predictions."""
    flips = {flip.step: flip.share for flip in result.flips}
    largest: dict[int, tuple[float, str]] = {}
    for record in result.records:
        if record.layer != ALL_LAYERS and math.isfinite(record.relative):
            largest[record.step] = max(largest.get(record.step, (-1.0, "")), (record.relative, record.layer))
    columns = [Column("Step"), Column("Relative difference", number=True), Column("Largest in")]
    rows = []
    for index, record in enumerate(result.records):
        if record.layer != ALL_LAYERS:
            continue
        difference = Cell(
            Number(f"{record.relative:.1e}", index, "relative") if math.isfinite(record.relative) else "undefined"
        )
        most = largest.get(record.step)
        cells = [
            Cell(f"{record.step:,}"),
            difference,
            Cell("–") if most is None else Cell(Name(most[1]), (f"{most[0]:.1e}",)),
        ]
        if flips:
            cells.append(Cell(percent(flips[record.step]) if record.step in flips else "–"))
        rows.append(Row(tuple(cells)))
    if flips:
        columns.append(Column("Rows predicted differently", number=True))
    return limited_table("All layers together, after each step that was compared", columns, rows, what="steps")
