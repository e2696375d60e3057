"""One document in every medium: what is shown is the same, and names are shown without being obeyed."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from equipoise.reports import (
    Bullets,
    Cell,
    ChartBlock,
    Code,
    Column,
    DataTable,
    Details,
    Document,
    Heading,
    Images,
    Meaning,
    Name,
    Number,
    Paragraph,
    Picture,
    Provenance,
    Row,
    Section,
    Statements,
    Terms,
    Tile,
)
from equipoise.reports.charts import Chart
from equipoise.reports.render.html import fragment, page
from equipoise.reports.render.latex import LATEX, latex
from equipoise.reports.render.markdown import code, escaped, markdown
from equipoise.reports.render.terminal import show
from helpers.cases.report import HOSTILE
from helpers.page_checks import Tree, check_alone, check_readable

CONFIRMED = Cell("confirmed", meaning=Meaning.WORSE)
PIXEL = "data:image/png;base64,iVBORw0KGgo="
HOSTILE_MARKDOWN = (
    "| a | b |", "[click](javascript:alert(1))", "![x](http://example.com/x.png)", "`rm -rf`", "*bold*", "# heading",
    "<img src=x onerror=alert(1)>", "@everyone", "https://example.com", "- item", "1. item", "$x^2$", "#12",
)  # fmt: skip


def document(name: str) -> Document:
    """A document with every kind of block, in which the name stands everywhere."""
    table = DataTable(
        ("Rates of ", Name(name)),
        (Column("Group"), Column(Name(name), number=True), Column("Verdict")),
        (
            Row((Cell("everyone"), Cell("20.0%"), Cell()), emphasis=True),
            Row((Cell(Name(name), (name,)), Cell(Number("8.7%", 3), bar=0.087), CONFIRMED)),
            Row((Cell("other"), Cell(Number("9.9%", 4)), Cell("not significant", meaning=Meaning.QUIET))),
        ),
        total=5,
        what="groups",
        chosen="with the widest contrasts",
    )  # fmt: skip
    strip = Picture(PIXEL, f"of {name}", (name,), 0.5, Meaning.BETTER)
    blocks = (
        table, Paragraph(name), Heading(Name(name)), Bullets((name, ("of ", Name(name)))), Terms(((name, name),)),
        Code(name), ChartBlock(("nowhere",)),
        Images(("Strip of ", name), ("", "left"), ((Name(name), (strip,)),)),
        Details(name, (Paragraph(("folded ", Name(name))), table)),
    )  # fmt: skip
    return Document(
        title=("Audit of ", Name(name)),
        facts=name,
        answer=(Name(name), " are predicted '>50K' a third as often: 8.7% against 25.2%."),
        meaning=Meaning.WORSE,
        lead=(Statements(Name(name), ("Also confirmed.", name)),),
        tiles=(Tile("largest", "16.5 points", Meaning.WORSE, Name(name)), Tile("rows", "100")),
        inconclusive=(Statements("", (("not enough data: ", Name(name)),)),),
        caution="No number certifies fairness.",
        sections=(
            Section("first", Name(name), blocks, intro=name, essential=True),
            Section("second", "Folded away", (Paragraph("only on the page"), table)),
            Section("empty", "Never shown", (ChartBlock(("nowhere",)),)),
        ),
        notes=(name,),
        provenance=Provenance(name, "equipoise.audit", (("data", name),), "2026-01-01", "0.1.0"),
    )


def printed(made: Document, width: int = 100) -> str:
    out = io.StringIO()
    show(made, Console(file=out, width=width, force_terminal=False))
    return out.getvalue()


@pytest.mark.parametrize("name", [*HOSTILE, *HOSTILE_MARKDOWN])
def test_no_name_becomes_markup_on_a_page_or_in_a_notebook(name: str) -> None:
    for text in (page(document(name), {}), fragment(document(name), {})):
        tree = Tree(text)
        assert "\u202e" not in text
        assert "\x00" not in text
        assert not tree.all("b", "iframe", "form")
        assert all(not str(key).startswith("on") for element in tree.elements for key in element.attributes)
    tree = Tree(page(document(name), {}))
    check_alone(page(document(name), {}), tree)
    check_readable(tree)
    assert [script.attributes.get("type") for script in tree.all("script")] == ["application/json", None]


@pytest.mark.parametrize("name", [*HOSTILE, *HOSTILE_MARKDOWN])
def test_no_name_drives_a_terminal(name: str) -> None:
    text = printed(document(name))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", text)


@pytest.mark.parametrize("name", [*HOSTILE, *HOSTILE_MARKDOWN])
def test_no_name_becomes_markup_in_markdown(name: str) -> None:
    text = markdown(document(name))
    outside = re.sub(r"(`+)( ?)[^\n]*?\2\1(?!`)", "", text)  # what is code stays code
    assert set(re.findall(r"<(/?[a-z!]+)", outside)) <= {
        "details", "/details", "summary", "/summary", "br", "sub", "/sub", "!",
    }  # fmt: skip
    assert not re.search(r"(?<!\\)!?\[[^\]]*(?<!\\)\]\(", outside)
    assert not re.search(r"@\w", outside)
    assert not re.search(r"https?://", outside)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in rows} == {3, 4}


@pytest.mark.parametrize("name", [*HOSTILE, r"\input{/etc/passwd} & $x$"])
def test_no_name_is_a_command_in_the_tables_of_a_document(name: str) -> None:
    text = latex(document(name))
    assert text.count(r"\begin{longtable}") == text.count(r"\end{longtable}") == 3
    assert r"\label{tab:equipoise-" in text
    cells = [line for line in text.splitlines() if "8.7%" in line.replace(r"\%", "%")]
    assert len(cells) == 3
    for written in sorted(LATEX.values(), key=len, reverse=True):
        cells = [line.replace(written, "") for line in cells]
    # What is left are names without a meaning, and our own marks between the cells and at the end of the row.
    assert all(line.removesuffix(r" \\").count("&") == 2 and "\\" not in line.removesuffix(r" \\") for line in cells)


def test_escaped_text_reads_as_it_was_written() -> None:
    assert escaped("10 < 20 & 30") == "10 &lt; 20 &amp; 30"
    assert escaped("a_b*c") == r"a\_b\*c"
    assert escaped("16.5 points (95% interval -7.6 to +1.4)") == "16.5 points (95% interval -7.6 to +1.4)"
    assert escaped(">50K") == r"\>50K"
    assert code("a `b` c") == "`` a `b` c ``"


def test_every_medium_says_the_answer_the_tiles_and_what_is_open() -> None:
    made = document("Female")
    texts = {"page": Tree(page(made, {})).by_id("verdict").words, "terminal": " ".join(printed(made).split()),
             "markdown": markdown(made)}  # fmt: skip
    for medium, text in texts.items():
        for part in ("a third as often: 8.7% against 25.2%.", "16.5 points", "Also confirmed.",
                     "not enough data: Female"):  # fmt: skip
            assert part in text, (medium, part)
    assert "Never shown" not in "".join(texts.values()) + page(made, {})


def test_what_is_not_essential_is_folded_on_a_page_and_in_markdown_and_left_out_in_the_terminal() -> None:
    made = document("Female")
    folds = [fold for fold in Tree(page(made, {})).all("details") if fold.attributes.get("class") == "fold"]
    assert ["open" in fold.attributes for fold in folds] == [True, False, True, False]
    assert "<details><summary>Folded away</summary>" in markdown(made)
    assert "only on the page" not in printed(made)
    assert "folded Female" not in printed(made)


def test_rows_that_are_left_out_are_counted_without_the_row_for_everyone() -> None:
    made = document("Female")
    assert "The 2 of 5 groups with the widest contrasts; all of them are in the JSON." in page(made, {})
    assert "The 2 of 5 groups with the widest contrasts; all of them are in the JSON." in markdown(made)
    assert "those with the widest contrasts, and 3 more groups (all are in --json)" in " ".join(printed(made).split())


def test_columns_that_do_not_fit_a_terminal_are_named() -> None:
    assert "Too narrow for" in " ".join(printed(document("a rather long name of a group"), 40).split())
    assert "Too narrow for" not in printed(document("F"), 100)


def test_a_number_says_where_it_stands_in_the_json() -> None:
    numbers = [element for element in Tree(page(document("F"), {})).all("span") if "data-r" in element.attributes]
    assert {(n.attributes["data-r"], n.attributes["data-f"], n.words) for n in numbers} == {
        ("3", "value", "8.7%"), ("4", "value", "9.9%"),
    }  # fmt: skip


def test_a_notebook_shows_the_chart_that_is_the_picture_and_no_other() -> None:
    spec = {"mark": "bar", "data": {"values": [{"x": 1}]}, "encoding": {"x": {"field": "x"}}, "config": {}}
    chart = Chart("first", "A chart", "Caption.", "Words of the chart.", spec)
    section = Section("one", "One", (ChartBlock(("nowhere", "first")),))
    bare = Document("T", "f", "a", Provenance(None, "f()", ()), sections=(section,))
    assert not Tree(fragment(bare, {"first": chart})).all("img")
    (image,) = Tree(fragment(replace(bare, picture="first"), {"first": chart})).all("img")
    assert image.attributes["alt"] == "Words of the chart."
    assert str(image.attributes["src"]).startswith("data:image/svg+xml,")
