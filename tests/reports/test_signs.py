"""A sign or a shape has one meaning in every chart and every medium."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import pytest
from tests.reports.test_renderers import printed

from equipoise.reports import _document as documents
from equipoise.reports import charts
from equipoise.reports._document import Cell, Column, DataTable, Details, Document, Meaning, Provenance, Row, Section
from equipoise.reports.charts.chart import PLUS, SHAPES, STAR, Look
from equipoise.reports.render.html import page
from equipoise.reports.render.markdown import markdown

# What a legend may say beside a shape that has a meaning.
WORDS = {
    "square": ("better",), "diamond": ("worse",), "triangle-up": ("higher",), "triangle-down": ("lower",),
    STAR: ("baseline", "constant"), PLUS: ("not tested", "inconclusive", "too few"),
}  # fmt: skip


def shapes() -> Iterator[tuple[str, str, str]]:
    """Yield what every legend of the charts says, with its shape."""
    for module in pkgutil.iter_modules(charts.__path__):
        for value in vars(importlib.import_module(f"{charts.__name__}.{module.name}")).values():
            for words, look in value.items() if isinstance(value, dict) else ():
                parts = look if isinstance(look, tuple) else (look,)
                said = next((part for part in parts if isinstance(part, str) and isinstance(words, Meaning)), words)
                for part in parts:
                    if isinstance(part, Look):
                        yield module.name, str(said), part.shape
                    elif isinstance(part, str) and part in WORDS:
                        yield module.name, str(said), part


def test_a_shape_that_means_something_means_it_in_every_chart() -> None:
    seen = set(shapes())
    assert {shape for _, _, shape in seen} >= set(WORDS)
    for chart, said, shape in seen:
        assert shape not in WORDS or any(word in said for word in WORDS[shape]), (chart, said, shape)


def test_groups_and_treatments_have_no_shape_that_means_something() -> None:
    assert len(set(SHAPES)) == len(SHAPES)
    assert not set(SHAPES) & set(WORDS)


def document(*meanings: Meaning | None) -> Document:
    rows = tuple(Row((Cell(f"row {index}"), Cell("1", meaning=meaning))) for index, meaning in enumerate(meanings))
    table = DataTable("A table", (Column("Name"), Column("Number", number=True)), rows)
    return Document(
        "A title", "Facts.", "The answer.", Provenance(None, "call", ()),
        sections=(Section("one", "One", (Details("Folded", (table,)), table), essential=True),),
    )  # fmt: skip


@pytest.mark.parametrize("write", [lambda made: page(made, {}), markdown, printed])
def test_every_medium_shows_the_same_signs_and_says_what_they_mean(write) -> None:  # type: ignore[no-untyped-def]
    text = write(document(Meaning.BETTER, Meaning.NEUTRAL, Meaning.QUIET, None))
    assert "■\u00a01" in text
    assert "●\u00a01" in text
    assert "Signs: ■ better; ● confirmed, and neither better nor worse." in " ".join(text.split())
    assert "◆" not in text.split("</style>")[-1]


def test_a_document_without_signs_has_no_legend() -> None:
    assert document(Meaning.QUIET, None).all_notes == ()


def test_every_sign_has_words() -> None:
    assert documents.SIGNS.keys() == documents.LEGEND.keys()
    assert len(set(documents.SIGNS.values())) == len(documents.SIGNS)


def test_rows_that_come_first_are_said_to_be_the_first() -> None:
    """Where nothing chose the rows that are held, they are the first ones, and the sentence is one."""
    table = DataTable("Rates", (Column("Group"),), tuple(Row((Cell(str(n)),)) for n in range(60)), 140, "rates")
    made = Document("T", "F.", "A.", Provenance(None, "call", ()), sections=(Section("s", "S", (table,)),))
    for text in (page(made, {}), markdown(made)):
        assert "The first 60 of 140 rates; all of them are in the JSON." in text
