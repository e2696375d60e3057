"""What every narrative shares: the report that serves every medium, the story it tells, and tables of records."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.foundation import (
    check_writable,
    kind_of,
    listing,
    report_of,
    write_file,
)
from equipoise.reports import formats
from equipoise.reports._document import (
    MOST_ROWS,
    Cell,
    Column,
    DataTable,
    Document,
    Meaning,
    Name,
    Piece,
    Provenance,
    Row,
    Statements,
    Text,
    pieces,
    plain,
)
from equipoise.reports._formats import interval_name, safe_name
from equipoise.reports._records import Write, finite, group_or_everyone, number, p_value, span
from equipoise.results import Reason, Result

if TYPE_CHECKING:
    from rich.console import Console

    from equipoise.reports.charts import Chart

    Parts = Iterable[tuple[str, Iterable[Chart | None]]]


def document_provenance(result: Result, call: str, replacing: Mapping[str, object] | None = None) -> Provenance:
    """Return where a result comes from, for its document.

    ``call`` is the Python function that makes it, ``replacing`` are facts that stand instead of those of the
    provenance, or behind them.
    """
    provenance = dict(result.provenance)
    packages, columns, options = (provenance.get(part) or {} for part in ("packages", "columns", "options"))
    assert isinstance(packages, dict)
    assert isinstance(columns, dict)
    assert isinstance(options, dict)
    version = str(provenance.get("equipoise", sys.modules["equipoise"].__version__))
    versions = {"equipoise": version, "Python": provenance.get("python"), **packages}
    facts = {
        "data": provenance.get("data"), "fingerprint of the data": provenance.get("fingerprint"),
        "made": ", ".join(str(provenance[part]) for part in ("created", "platform") if provenance.get(part)),
        "versions": ", ".join(f"{name} {value}" for name, value in versions.items() if value is not None),
        **(replacing or {}),
    }  # fmt: skip
    settings = [
        (str(name).replace("_", " "), _setting(value)) for name, value in [*columns.items(), *options.items()]
        if value not in (None, "", False, [], {})
    ]  # fmt: skip
    every = [*facts.items(), *settings, ("format of the JSON", result.schema)]
    return Provenance(
        command=str(provenance["command"]) if provenance.get("command") else None,
        call=call,
        facts=tuple((name, str(value)) for name, value in every if value not in (None, "")),
        created=str(provenance.get("created") or ""),
        version=version,
    )


def settings_terms(settings: object) -> tuple[tuple[str, str], ...]:
    """Return settings as names and values in words; those that were left open are left out."""
    terms = []
    for name, value in (settings if isinstance(settings, Mapping) else vars(settings)).items():
        if name == "alphas":
            value = f"{len(value)} from {value[0]:g} to {value[-1]:g}"
        if isinstance(value, list | tuple):
            value = listing(value) or None
        if value is not None:
            terms.append((str(name).replace("_", " "), str(value)))
    return tuple(terms)


def _setting(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={item}" for name, item in value.items() if item is not None)
    return ", ".join(str(item) for item in value) if isinstance(value, (list, tuple)) else str(value)


# No part has more charts than this.
MOST_CHARTS = 12


def part_names(part: str) -> tuple[str, ...]:
    """Return the names that the charts of a part may have: the first is called as the part is."""
    return (part, *(f"{part}_{ordinal}" for ordinal in range(2, MOST_CHARTS + 1)))


# How the names of Markdown files and of printed pages end; everything else is a page.
MARKDOWN, PDF = (".md", ".markdown"), ".pdf"


class Report:
    """The base of every narrative: a subclass says what a result means, and every medium follows from that.

    ``document`` must not need the charts' library: a terminal and JSON are made without it. ``parts`` draws the charts
    of each part, in the order in which they are read; ``document`` speaks of them by their names (``part_names``).
    """

    def document(self, result: Any) -> Document:
        """Return everything that is said about a result."""
        raise NotImplementedError

    def parts(self, result: Any) -> Parts:
        """Yield the charts of each part."""
        return ()

    def charts(self, result: Any) -> Mapping[str, Chart]:
        """Return the charts of a result by name."""
        charts: dict[str, Chart] = {}
        for part, part_charts in self.parts(result):
            charts |= zip(part_names(part), (chart for chart in part_charts if chart is not None), strict=False)
        return charts

    def page(self, result: Any) -> str:
        """Return the result as one HTML page that needs nothing else."""
        from equipoise.reports.render.html import page

        return page(self.document(result), self.charts(result))

    def pdf(self, result: Any) -> bytes:
        """Return the page as it is printed; without a browser to print it this raises ``BadInput``."""
        from equipoise.reports.charts.chart import begin_library
        from equipoise.reports.render.pdf import find_browser, pdf

        find_browser()
        begin_library()
        return pdf(self.page(result))

    def markdown(self, result: Any) -> str:
        """Return the result as Markdown."""
        from equipoise.reports.render.markdown import markdown

        return markdown(self.document(result))

    def fragment(self, result: Any) -> str:
        """Return what a notebook shows."""
        from equipoise.reports.render.html import fragment

        document = self.document(result)
        return fragment(document, self.charts(result) if isinstance(document.picture, str) else {})

    def show(self, result: Any, console: Console) -> None:
        """Print the result in a terminal."""
        from equipoise.reports.render.terminal import show

        show(self.document(result), console)

    def write(self, result: Any, path: str | os.PathLike[str]) -> Path:
        """Write the result as a page, or as Markdown or PDF where the name ends so; the file is whole or not there."""
        check_writable(Path(path))
        if Path(path).suffix.lower() in MARKDOWN:
            return write_file(path, self.markdown(result))
        if Path(path).suffix.lower() == PDF:
            return write_file(path, self.pdf(result))
        from equipoise.reports.charts.chart import begin_library

        begin_library()
        return write_file(path, self.page(result))

    def write_figures(self, result: Any, folder: str | os.PathLike[str]) -> list[Path]:
        """Write every chart as SVG and as PNG into a folder, which is made if it is not there."""
        from equipoise.reports.charts.chart import draw_into

        return draw_into(folder, self.charts(result).values())


def document_text(document: Document, path: str | os.PathLike[str] | None = None) -> str:
    """Return a document without charts: as Markdown, or as a page where a path is given that does not end so."""
    if path is not None and Path(path).suffix.lower() not in MARKDOWN:
        from equipoise.reports.render.html import page as page_of

        return page_of(document, {})
    from equipoise.reports.render.markdown import markdown as markdown_of

    return markdown_of(document)


def show(result: Result, console: Console) -> None:
    """Print a result in a terminal."""
    report_of(kind_of(result.schema)).show(result, console)


def markdown(result: Result) -> str:
    """Return a result as Markdown, as it looks in a job summary."""
    return str(report_of(kind_of(result.schema)).markdown(result))


def latex(result: Result) -> str:
    """Return the tables of a result for LaTeX."""
    from equipoise.reports.render.latex import latex as rendered

    return rendered(result.tables())


def page(result: Result) -> str:
    """Return a result as one HTML page that needs nothing else."""
    return str(report_of(kind_of(result.schema)).page(result))


def charts_of(result: Result) -> Mapping[str, Chart]:
    """Return the charts of a result by name."""
    charts: Mapping[str, Chart] = report_of(kind_of(result.schema)).charts(result)
    return charts


NOT_SIGNIFICANT = "not significant after correction"
# Values that name a group only together with their column.
SAYS_NOTHING = ("true", "false", "yes", "no")
# What there can be too few of to test: so are the details of a reason called that count them.
FEW = ("people", "clusters", "queries", "runs")


@dataclass(frozen=True)
class About:
    """Sentences about one subject (an attribute, a technique, or everyone): what is confirmed, and what is open."""

    title: str
    confirmed: tuple[Text, ...] = ()
    open: tuple[Text, ...] = ()


@dataclass(frozen=True)
class Story:
    """The answer, and what is told of each subject. ``has_findings`` says whether the answer is a confirmed finding.

    ``context`` is a sentence that helps to read the answer, ``more`` what only the JSON and single sections have.
    """

    answer: Text = ""
    about: tuple[About, ...] = ()
    context: str = ""
    has_findings: bool = True
    more: tuple[Text, ...] = ()

    def sentences(self) -> Iterator[str]:
        """Yield everything as plain sentences, each with what it is about."""
        yield from filter(None, map(plain, (self.answer, self.context)))
        for statements in (*self.confirmed(), *self.open()):
            title = plain(statements.title)
            yield from (f"{title}: {plain(item)}" if title else plain(item) for item in statements.items)
        yield from map(plain, self.more)

    def confirmed(self) -> tuple[Statements, ...]:
        """Return what else is confirmed."""
        return tuple(statements_of((about.title, about.confirmed) for about in self.about))

    def open(self) -> tuple[Statements, ...]:
        """Return what is not known, and why."""
        return tuple(statements_of((about.title, about.open) for about in self.about))


def statements_of(parts: Iterable[tuple[str, Iterable[Text]]]) -> Iterator[Statements]:
    """Yield the sentences of each title as statements; a title without sentences is left out."""
    for title, items in parts:
        sentences = tuple(map(capitalised, items))
        if sentences:
            yield Statements(Name(title) if title else "", sentences)


def title_of_attribute(attribute: Sequence[str], split: str | None = None, everyone: str = "everyone") -> str:
    """Name an attribute (or several crossed) in one split."""
    name = " × ".join(map(safe_name, attribute)) or everyone
    return name if split is None else f"{name} ({safe_name(split)})"


def group_name(attribute: str, group: str) -> tuple[Piece, ...]:
    """Name a group in a sentence by its value; a value that alone names nothing, by its column too."""
    if group.removeprefix("-").replace(".", "", 1).isdigit() or group.lower() in SAYS_NOTHING:
        return (Name(attribute), " = ", Name(group))
    return (Name(group),)


def compared_groups(
    attribute: Sequence[str], group: str | None, against: str | None, word: str, about: str = ""
) -> tuple[Piece, ...]:
    """Name two groups that differ: "for a than for b", and what they are groups of, unless their names say so."""
    alone = attribute[0] if len(attribute) == 1 else None
    first, second = (
        (Name(str(name)),) if alone is None or name is None else group_name(alone, name) for name in (group, against)
    )
    said = alone is not None and len(first) + len(second) > 2 and about == f" ({safe_name(alone)})"
    return ("for ", *first, f" {word} for ", *second, "" if said else about)


def capitalised(sentence: Text) -> Text:
    """Begin a sentence with a capital; a name that begins it keeps its own letters."""
    first, *rest = pieces(sentence) or ("",)
    return (first[:1].upper() + first[1:], *rest) if isinstance(first, str) else sentence


def joined(parts: Sequence[str], word: str = "and") -> str:
    """Join words as a sentence does: a, b and c."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {word} {parts[-1]}"


def and_more(parts: Sequence[str], most: int) -> str:
    """Join the first parts of a list by semicolons, and count the others."""
    more = len(parts) - most
    return "; ".join(parts[:most]) + (f"; and {more:,} more" if more > 0 else "")


def inside(*parts: str) -> str:
    """Put what is known of a number in brackets behind it; nothing where nothing is."""
    words = ", ".join(filter(None, parts))
    return f" ({words})" if words else ""


def edges(low: float | None, high: float | None, level: float | None, write: Callable[[float], str]) -> str:
    """Name an interval with its ends in words; nothing where an end is not known."""
    if low is None or high is None:
        return ""
    return f"{interval_name(level)} {write(low)} to {write(high)}"


def by_reason(
    parts: Iterable[tuple[Reason | str | None, str]], most: int = 4, else_: str = "not tested"
) -> Iterator[str]:  # fmt: skip
    """Yield a sentence per reason, with what it holds for; too few of anything are one reason, with the numbers."""
    groups: dict[str, dict[str, None]] = {}
    for reason, subject in parts:
        few = _few(reason)
        heading, named = (f"{else_} ({reason})", subject) if few is None else (few[0], f"{subject} ({few[1]:,})")
        groups.setdefault(heading, {})[named] = None
    # Reasons that hold for one thing each stand together in one sentence.
    lone = [f"{subject}{heading.removeprefix(else_)}" for heading, (subject, *others) in groups.items() if not others]
    if len(lone) > 1:
        yield f"{else_}: {and_more(lone, most)}."
    for heading, subjects in groups.items():
        if len(subjects) > 1 or len(lone) == 1:
            yield f"{heading}: {listing(subjects, most)}."


def same_reason(parts: Iterable[tuple[object, str]]) -> dict[str, list[str]]:
    """Return what has the same reason together, each thing once, by the sentences of the reasons."""
    groups: dict[str, dict[str, None]] = {}
    for reason, subject in parts:
        groups.setdefault(str(reason), {})[subject] = None
    return {reason: list(subjects) for reason, subjects in groups.items()}


def _few(reason: Reason | str | None) -> tuple[str, int] | None:
    """Return what there are too few of, and how many there are."""
    if not isinstance(reason, Reason) or reason.parts:
        return None
    details = dict(reason.details)
    for name in FEW:
        if name in details and "least" in details:
            return f"too few {name} to test (fewer than {details['least']:,})", int(details[name])
    return None


@dataclass(frozen=True)
class Field:
    """A column of a table of records: its heading, and the cell of a record from its place and the record."""

    title: Text
    cell: Callable[[int, Any], Cell | Text]
    number: bool = False
    hint: str = ""
    always_shown: bool = False

    @property
    def column(self) -> Column:
        """The column without its cells."""
        return Column(self.title, self.number, self.hint, self.always_shown)


def record_table(
    caption: Text, fields: Sequence[Field], placed: Iterable[tuple[int, Any]], *, total: int | None = None,
    what: str = "rows", most: int = MOST_ROWS, chosen: str = "", everyone: Callable[[Any], bool] | None = None,
) -> DataTable:  # fmt: skip
    """Return a table of one row per record, as many as there is room for; ``everyone`` marks the row of all people."""
    records = list(placed)
    rows = [
        Row(tuple(_cell(field.cell(index, record)) for field in fields), everyone is not None and everyone(record))
        for index, record in records[:most]
    ]
    every = sum(everyone is None or not everyone(record) for _, record in records) if total is None else total
    return DataTable(caption, tuple(field.column for field in fields), tuple(rows), every, what, chosen)


def matrix(
    caption: Text, groups: Sequence[str | None], columns: Mapping[Any, str], cells: Mapping[Any, Cell], *,
    total: int | None = None, chosen: str = "", number: bool = False, head: str = "Group",
) -> DataTable:  # fmt: skip
    """Return a table of one row per group and one column per measure; no group is everyone."""
    rows = [
        Row(
            (Cell(group_or_everyone(group)), *(cells.get((group, column)) or Cell("–") for column in columns)),
            group is None,
        )
        for group in groups[:MOST_ROWS]
    ]
    heads = (Column(head), *(Column(title, number) for title in columns.values()))
    every = sum(group is not None for group in groups) if total is None else total
    return DataTable(caption, heads, tuple(rows), every, "groups", chosen)


def _cell(content: Cell | Text) -> Cell:
    return content if isinstance(content, Cell) else Cell(content)


def quiet(text: Text = "–") -> Cell:
    """Return a cell for what is not there, not known or not tested."""
    return Cell(text, meaning=Meaning.QUIET)


def value(
    title: Text, field: str, write: Write = formats.fine, source: str = "records", unknown: str = formats.UNDEFINED,
    hint: str = "", always_shown: bool = False,
) -> Field:  # fmt: skip
    """Return a column of numbers that can be traced to their place in the JSON."""

    def cell(index: int, record: Any) -> Cell | Text:
        content = number(index, getattr(record, field), write, field, source)
        return content if finite(getattr(record, field)) is not None else quiet(unknown) if unknown else ""

    return Field(title, cell, True, hint, always_shown)


def ends(
    title: Text, write: Write = formats.fine, source: str = "records", fields: tuple[str, str] = ("low", "high")
) -> Field:  # fmt: skip
    """Return a column of intervals; empty where an end is not known."""

    def cell(index: int, record: Any) -> Text:
        return span(index, getattr(record, fields[0]), getattr(record, fields[1]), write, source, fields)

    return Field(title, cell, True)


def corrected(source: str = "records", field: str = "p_adjusted") -> Field:
    """Return the column of corrected p-values; empty where nothing was tested."""
    return Field("p, corrected", lambda index, record: p_value(index, getattr(record, field), source, field), True)


def if_judged(field: Field) -> Field:
    """Leave the cells of a column empty for baselines, which are compared with nothing."""
    return replace(field, cell=lambda index, record: "" if record.verdict is None else field.cell(index, record))
