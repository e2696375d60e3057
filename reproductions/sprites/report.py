"""The report of the benchmark: whether the search beats chance, and its tables; every number knows its place."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from equipoise.foundation import report
from equipoise.reports import (
    Block,
    Bullets,
    Cell,
    ChartBlock,
    Column,
    DataTable,
    Details,
    Document,
    Heading,
    Meaning,
    Name,
    Number,
    Paragraph,
    Provenance,
    Report,
    Row,
    Section,
    Statements,
    Terms,
    Text,
    Tile,
    formats,
    limited_table,
    pieces,
    settings_terms,
)
from equipoise.results import Result
from reproductions.sprites.classifiers import WORDS as CLASSIFIER_WORDS
from reproductions.sprites.document import SCHEMA
from reproductions.sprites.methods import ABLATION, METHODS
from reproductions.sprites.planes import WORDS as PLANE_WORDS
from reproductions.sprites.reading import Place, checked
from reproductions.sprites.summary import WORDS
from reproductions.sprites.words import (
    CAUTIONS,
    CHANCE_IS_NOT_0,
    METHOD_TITLES,
    TITLES,
    Against,
    Estimate,
    agreement_words,
    contrasts,
    gap_words,
    headline,
    known_words,
    remarks,
)

if TYPE_CHECKING:
    from equipoise.reports.charts import Chart

COLUMNS = ("biased", "target", "difference")
CHANCES = ("above_chance", "right_angled_above_chance")
# The methods that a comparison with chance is made of.
COMPARED = ("ours", "right_angled", "random_orthogonal")
# How a column is shown; what is not here is an estimate with its interval.
WRITERS: dict[str, Callable[[float | None], str]] = {
    "unfitted": formats.count, "scored": formats.count, "generators": formats.count, "leading": formats.percent,
    "leading_of_paper": formats.percent, "gap": formats.signed_thousandths,
    **dict.fromkeys(("chance", "accuracy", "agree", "disagree", "loss", "value"), formats.thousandths),
}  # fmt: skip
UNSIGNED = ("biased", "target")
# Those that are compared with 0.
CONTRASTS = (*CHANCES, "step", "less_even")
SIDES: dict[Against, tuple[str, Meaning]] = {
    "above": ("above 0", Meaning.BETTER), "below": ("below 0", Meaning.WORSE), "open": ("includes 0", Meaning.QUIET),
    "no interval": ("", Meaning.QUIET), "undefined": ("", Meaning.QUIET),
}  # fmt: skip
# What null means in a column, where it does not mean that the number is undefined.
NULLS = {"leading_of_paper": "not among them", "step": "the first", "less_even": "the even ones"}
FITTED = {True: "both separate their factor", False: "one does not"}
# Of the document's entries those that say how it was run.
RUN = ("device", "precision", "graphics", "jobs", "parts")
LONGEST_COMMAND = 2_000
Lead = Callable[[Place], Cell]


@dataclass(frozen=True, repr=False)
class Sprites(Result):
    """A document of the benchmark as a result: it has a page, Markdown, a notebook view and charts."""

    kind: ClassVar[str] = "benchmark_sprites"
    document: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, document: object) -> Sprites:
        """Check a document and take it as a result."""
        return cls(SCHEMA, (), {}, checked(document).entries)

    def as_json(self) -> dict[str, object]:
        """Return the document."""
        return dict(self.document)

    def _described(self) -> Sequence[str]:
        return [headline(checked(self.document))]


@report("benchmark_sprites")
class SpritesReport(Report):
    """The report of the benchmark on sprites."""

    def document(self, result: Sprites) -> Document:
        """Return everything that is said about the document."""
        contents = checked(result.document)
        confirmed, inconclusive = (tuple(part) for part in contrasts(contents))
        return Document(
            title="The benchmark on sprites of Li and Xu (2021)",
            facts=(
                "Classifiers of sprites with a planted bias, and how much of it each method finds in a generator's "
                "latent space."
            ),
            answer=headline(contents),
            meaning=SIDES[Estimate.of(contents.inner("right_angled_above_chance")).against][1],
            context=f"{CHANCE_IS_NOT_0} {remarks(contents)}",
            lead=(Statements("", confirmed),) if confirmed else (),
            inconclusive=(Statements("", inconclusive),) if inconclusive else (),
            picture="difference by method",
            tiles=_tiles(contents),
            sections=tuple(_sections(contents)),
            provenance=_provenance(contents),
        )

    def charts(self, result: Sprites) -> Mapping[str, Chart]:
        """Return the two charts by name."""
        from reproductions.sprites.charts import above_chance, differences

        document = checked(result.document)
        return {chart.name: chart for chart in (differences(document), above_chance(document)) if chart is not None}


def _sections(document: Place) -> Iterable[Section]:
    yield Section(
        "methods", "Every method (the paper's Table 1)",
        _or_not_run(
            [_main_table(document.rows("table"), "Means over triplets, 95% intervals over generators")],
            "The table of methods",
            "Under each mean: its interval, and ± the standard deviation over triplets, which is what the paper gives. "
            "The paper compares three methods; the rows of random directions and of the part at right angles are ours.",
        ),
        short="Table 1", essential=True,
    )  # fmt: skip
    groups = tuple(_by_groups(document)) or (Paragraph("No groups of triplets were compared in this document."),)
    yield Section("chance", "Where does it beat chance?", (ChartBlock(("above chance",)), *groups))
    ablation = document.rows("ablation")
    run = any(row.text("method") in ABLATION for row in ablation)
    yield Section(
        "ablation", "Which parts of the search matter? (the paper's Table 2)",
        _or_not_run(
            [_main_table(ablation, "The search with and without its parts", ("leading",))] if run else [],
            "The ablation",
            "L_V makes the classifier's probability change, L_perp keeps the direction away from target and known "
            "factors, the Hessian penalty asks for calm directions. Over the triplets that all of these rows have, so "
            "the first row is not that of Table 1.",
        ),
        short="Table 2",
    )  # fmt: skip
    yield Section(
        "known", "Does it help to know more factors?",
        _or_not_run(
            _known(document), "The search with fewer known factors",
            "How many other factors the search stays away from, beside the target. Chance goes with that number: the "
            "fewer directions are left, the nearer a random one is to the biased factor.",
        ),
        short="Known factors",
    )  # fmt: skip
    skew = _rows_table(
        "By how often the halves went together in what the generator saw", "Agreement", document.rows("skew"),
        lambda row: Cell(agreement_words(row)), ("triplets", "unfitted", *COLUMNS, *CHANCES, "less_even"),
    )  # fmt: skip
    yield Section(
        "skew", "Does a skewed generator hide the bias?",
        _or_not_run(
            [skew], "A skewed generator",
            "Generators trained on sprites in which the halves of two factors go together more often than not, for the "
            "classifier that was biased the same way. An agreement of 0.5 is no skew; 1 would be always.",
        ),
        short="The generator's skew",
    )  # fmt: skip
    classifiers = _rows_table(
        "Accuracy on held-out sprites, and how far the planted bias went", "Classifier of",
        document.rows("classifiers"),
        lambda row: Cell((Name(row.text("target")), ", biased by ", Name(row.text("biased")))),
        ("accuracy", "agree", "disagree", "gap", "loss"), what="classifiers",
    )  # fmt: skip
    yield Section("classifiers", "The classifiers", _or_not_run([classifiers], "Training classifiers"))
    yield Section(
        "generators", "The generators, and the planes of truth in them",
        _or_not_run(
            [_generators(document)], "Fitting planes",
            "AUC: 0.5 separates nothing, 1 everything. R2: 0 explains nothing, 1 everything. Orientation goes round, "
            "so its sine and its cosine have a plane each.",
        ),
        short="Generators",
    )  # fmt: skip
    yield Section("words", "What the words mean", tuple(_words(document)), short="Words")
    yield Section("how", "How it was done", tuple(_how(document)))
    yield Section("cautions", "What this page does not say", (Bullets(CAUTIONS),), essential=True)


def _or_not_run(tables: Iterable[DataTable | None], noun: str, words: str = "") -> tuple[Block, ...]:
    """Return tables with their words, or that there is nothing to show."""
    present = [table for table in tables if table is not None]
    if not present:
        return (Paragraph(f"{noun} was not run in this document."),)
    return (*([Paragraph(words)] if words else []), *present)


def _by_groups(document: Place) -> Iterable[Block]:
    """Yield the recovery in groups of triplets."""
    gaps = _rows_table(
        "In triplets whose classifier has so large a gap in accuracy", "Classifiers with", document.rows("by_gap"),
        lambda row: Cell(gap_words(row)), ("triplets", *COLUMNS, *CHANCES),
    )  # fmt: skip
    if gaps is not None:
        yield Heading("By how far the planted bias went")
        yield Paragraph(
            "A skewed sample does not always bias a classifier. The gap is its accuracy where the halves of target and "
            "biased factor agree less that where they do not: what a classifier ignores cannot be found in it."
        )
        yield gaps
    yield from _grouped(
        document.rows("by_fit"), "By how well the planes fit",
        "Where the planes of target and biased factor separate them, and where not", "Planes",
        lambda row: FITTED[bool(row.entries.get("told"))],
        "A direction is scored against planes of truth. Where one of them does not separate its factor, the score says "
        "little.",
    )  # fmt: skip
    yield from _grouped(
        document.rows("by_kind"),
        "By kind of generator",
        "In each kind of generator",
        "Kind",
        lambda row: row.text("kind"),
    )
    factors = [
        table
        for which, caption in (("biased", "By the biased factor"), ("target", "By the target"))
        if (table := _rows_table(caption, "Factor", document.rows(f"by_{which}"), _named(which),
                                 ("triplets", "difference", "above_chance")))
    ]  # fmt: skip
    if factors:
        yield Heading("By factor")
        yield from factors


def _grouped(
    rows: Sequence[Place], title: str, caption: str, heading: str, name: Callable[[Place], str], words: str = ""
) -> Iterable[Block]:
    """Yield one row per group, with the difference of search and chance and one less the other; and each own table."""
    if not rows:
        return
    rows_by_method = [{method_row.text("method"): method_row for method_row in row.rows("table")} for row in rows]
    methods = [method for method in COMPARED if any(method in by_name for by_name in rows_by_method)]
    chances = [chance for chance in CHANCES if any(row.has(chance) for row in rows)]
    columns = [_head("triplets")]
    columns += [Column(METHOD_TITLES.get(method, method), True, "difference") for method in methods]
    columns += [_head(chance) for chance in chances]
    tables = []
    for row, by_name in zip(rows, rows_by_method, strict=True):
        cells = [cell(row if row.has("triplets") else row.inner("above_chance") or Place({}), "triplets")]
        cells += [cell(by_name[method], "difference") if method in by_name else _empty("not run") for method in methods]
        tables.append(Row((Cell(Name(name(row))), *cells, *(cell(row, chance) for chance in chances))))
    yield Heading(title)
    if words:
        yield Paragraph(words)
    yield limited_table(caption, [Column(heading), *columns], tables)
    main_tables = [_main_table(row.rows("table"), f"Table 1: {name(row)}") for row in rows]
    yield Details("Table 1 of each", tuple(table for table in main_tables if table is not None))


def _main_table(
    rows: Sequence[Place], caption: str, columns: Sequence[str] = ("leading_of_paper", "leading")
) -> DataTable | None:
    """Return a table in the manner of the paper's Table 1: one row per method, means with intervals and deviations."""
    return _rows_table(caption, "Method", rows, _method, ("triplets", *COLUMNS, *columns), deviations=True)


def _known(document: Place) -> list[DataTable | None]:
    """Return the recovery by the number of known factors: of the search as it is, and of its part at right angles."""
    parts = {
        "The search, as in the paper": ("triplets", *COLUMNS, "chance", "above_chance", "step"),
        "Its part at right angles to what is known": (
            "triplets", "right_angled", "chance", "right_angled_above_chance"
        ),
    }  # fmt: skip
    return [
        _rows_table(caption, TITLES["known"], document.rows("known"), lambda row: Cell(known_words(row)), columns)
        for caption, columns in parts.items()
    ]


def _generators(document: Place) -> DataTable | None:
    """Return how well planes separate the factors in each generator."""
    rows = document.rows("generators")
    fits = [{(fit.text("name"), fit.text("measure")): fit for fit in row.rows("fits")} for row in rows]
    keys = list(dict.fromkeys(key for fit in fits for key in fit))
    if not keys:
        return None
    table_rows = [
        Row((Cell(Name(row.text("generator")), _skew_words(row)), *(_plane(fit.get(key)) for key in keys)))
        for row, fit in zip(rows, fits, strict=True)
    ]
    columns = [Column("Generator"), *(Column(Name(name), True, measure) for name, measure in keys)]
    caption = "How well a plane separates each factor, on sprites that it was not fitted on"
    return limited_table(caption, columns, table_rows, what="generators")


def _plane(fit: Place | None) -> Cell:
    if fit is None:
        return _empty("not fitted")
    reason = fit.text("reason")
    content = cell(fit, "value")
    return Cell(content.text, (f"no plane: {reason}",) if reason else (), meaning=content.meaning)


def _skew_words(row: Place) -> tuple[Text, ...]:
    skew = row.inner("skew")
    if skew is None:
        return ()
    return (("skewed: ", Name(skew.text("target")), " goes with ", Name(skew.text("biased")),
             f", {agreement_words(skew)}"),)  # fmt: skip


def _rows_table(
    caption: str, heading: str, rows: Sequence[Place], lead: Lead, columns: Sequence[str], *, deviations: bool = False,
    what: str = "rows",
) -> DataTable | None:  # fmt: skip
    """Return a table of those columns that the document has; None without rows."""
    if not rows:
        return None
    present = [name for name in columns if any(row.has(name) for row in rows)]
    table_rows = [Row((lead(row), *(cell(row, name, deviations=deviations) for name in present))) for row in rows]
    return limited_table(caption, [Column(heading), *map(_head, present)], table_rows, what=what)


def _head(name: str) -> Column:
    return Column(TITLES[name], number=True)


def _named(entry: str) -> Lead:
    return lambda row: Cell(Name(row.text(entry)))


def _method(row: Place) -> Cell:
    name = row.text("method")
    return Cell(METHOD_TITLES[name], (Name(name),)) if name in METHOD_TITLES else Cell(Name(name))


def cell(row: Place, name: str, *, deviations: bool = False) -> Cell:
    """Return what a table shows of an entry; undefined is never 0."""
    if name in NULLS and row.has(name) and row.entries[name] is None:
        return _empty(NULLS[name])
    if name == "triplets":
        number = _number(row, name, formats.count)
        of = _number(row, "generators", formats.count)
        below = (("of ", of, " generators"),) if of is not None else ()
        return Cell(number, below) if number is not None else _empty()
    if name in WRITERS:
        number = _number(row, name, WRITERS[name])
        return Cell(number) if number is not None else _empty()
    table = row.inner(name)
    estimate = Estimate.of(table)
    if table is None or estimate.mean is None:
        return _empty()
    write = formats.thousandths if name in UNSIGNED else formats.signed_thousandths
    low, high = _number(table, "low", write), _number(table, "high", write)
    lines: list[Text] = [(low, " to ", high) if low is not None and high is not None else "no interval"]
    deviation = _number(table, "deviation", formats.thousandths) if deviations else None
    if deviation is not None:
        lines.append(("± ", deviation))
    side, meaning = SIDES[estimate.against] if name in CONTRASTS else ("", None)
    return Cell(_number(table, "mean", write) or "", (*lines, *([side] if side else [])), meaning=meaning)


def _number(row: Place, name: str, write: Callable[[float | None], str]) -> Number | None:
    value = row.count(name) if write is formats.count else row.number(name)
    return None if value is None else row.shown(name, write(value))


def _empty(word: str = formats.UNDEFINED) -> Cell:
    return Cell(word, meaning=Meaning.QUIET)


def _tiles(document: Place) -> tuple[Tile, ...]:
    counts = document.inner("counts") or Place({})
    tiles = [
        Tile(title, formats.UNDEFINED if counts.count(name) is None else formats.count(counts.count(name)))
        for title, name in (("Triplets scored", "scored"), ("Unfitted", "unfitted"), ("Generators", "generators"))
    ]
    for name in CHANCES:
        estimate, content = Estimate.of(document.inner(name)), cell(document, name)
        value = formats.UNDEFINED if estimate.mean is None else formats.signed_thousandths(estimate.mean)
        side = SIDES[estimate.against][0]
        below = (*pieces(content.below[0]), f"; {side}" if side else "") if content.below else ""
        tiles.append(Tile(TITLES[name], value, content.meaning, below))
    return tuple(tiles)


def _words(document: Place) -> Iterable[Block]:
    """Yield words for every column and method: the document's own, and ours for what it does not explain."""
    words_entry = document.inner("words") or Place({})
    groups = (
        ("Columns", WORDS, words_entry, TITLES),
        ("Methods", METHODS, document.inner("methods"), METHOD_TITLES),
        ("Of a classifier", CLASSIFIER_WORDS, words_entry.inner("a classifier"), TITLES),
        ("Of a generator", PLANE_WORDS, words_entry.inner("a generator"), TITLES),
    )
    for title, ours, own_names, titles in groups:
        every = {**ours, **(own_names.entries if own_names is not None else {})}
        yield Heading(title)
        yield Terms(tuple(
            ((f"{titles[name]} (", Name(name), ")") if name in titles else Name(name), words)
            for name, words in every.items() if isinstance(words, str)
        ))  # fmt: skip


def _how(document: Place) -> Iterable[Block]:
    yield Paragraph(
        "A triplet is a target, a factor that is planted as its bias, and a generator. A classifier learns the "
        "target's halves from sprites in which they mostly go together with those of the biased factor. Each method "
        "then looks in the generator's latent space for a direction along which the classifier's probability changes, "
        "without knowing the biased factor. The direction is scored by how near it is to that factor's plane and to "
        "the target's."
    )
    yield Paragraph(
        "Chance is a random direction at right angles to the target and to every other factor that is known. What "
        "equipoise discover shows is the part of a direction at right angles to target and known factors. All "
        "triplets, one by one, are in the JSON."
    )
    settings = document.inner("settings") or Place({})
    score = settings.inner("score") or Place({})
    search = score.inner("search") or Place({})
    # Lines of settings say where traversals begin and end.
    if search.has("alphas") and None in (search.numbers("alphas") or [None]):
        search = Place({name: value for name, value in search.entries.items() if name != "alphas"})
    groups = {
        "Classifiers": settings.inner("classifiers"), "Planes of truth": settings.inner("planes"),
        "Scoring": Place({name: value for name, value in score.entries.items() if name != "search"}), "Search": search,
    }  # fmt: skip
    for title, group in groups.items():
        if group is not None and group.entries:
            yield Details(f"Settings: {title}", (Terms(settings_terms(group.entries)),))


def _provenance(document: Place) -> Provenance:
    settings, provenance = (document.inner(name) or Place({}) for name in ("settings", "provenance"))
    seconds = document.inner("seconds") or Place({})
    numbers = {name: seconds.number(name) for name in seconds.entries}
    lasted = ", ".join(f"{name} {value:,.1f}" for name, value in numbers.items() if value is not None)
    run = {name: settings.entries.get(name, document.entries.get(name)) for name in RUN}
    when, where = (
        provenance.text("created", "at a time that was not noted"),
        provenance.text("platform", "a machine not noted"),
    )
    facts = [
        ("data", "sprites that the package draws; the generators and classifiers above learnt from them"),
        ("fingerprint", provenance.text("fingerprint", "none was taken")), ("made", f"{when}, on {where}"),
        ("equipoise (this page)", sys.modules["equipoise"].__version__),
        ("equipoise (the run)", provenance.text("equipoise", "not noted")),
        ("torch", document.text("torch", "not noted")),
        *settings_terms({**run, "seconds": lasted or None, "triplets asked for": document.count("asked")}),
        ("format of the JSON", SCHEMA),
    ]  # fmt: skip
    return Provenance(
        command=provenance.text("command")[:LONGEST_COMMAND] or None,
        call="python -m reproductions.sprites.benchmark",
        facts=tuple((name, formats.safe_name(str(value))) for name, value in facts),
        created=provenance.text("created"),
        version=sys.modules["equipoise"].__version__,
    )
