"""A blind naming sheet for raters: strips under codes, and lines to write on; it gives nothing away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from equipoise.discovery import PresentedDirection, Sheet
from equipoise.foundation import report
from equipoise.reports._document import (
    Blank,
    Blanks,
    Bullets,
    Document,
    Images,
    Picture,
    Provenance,
    Section,
    Text,
)
from equipoise.reports._pictures import Album
from equipoise.reports.narrative._report import Report

LONGEST_REMARK = 200
QUESTION = "What changes from left to right?"
EXPLAINED = (
    "Every row of a strip is one picture, changed in small steps from left to right; all rows of a strip are changed "
    "in the same way."
)
METHOD = (
    "Write one or two words beside the strip's letter, on paper or in the CSV that came with this page: name says what "
    "changes (“glasses”, “brightness”).",
    "confidence is 1 (a guess) to 5 (sure). changes_what has room for more: what is there on the left, what on the "
    "right, what else changes with it.",
    "Leave the name empty where you see nothing that has one. Some strips may show nothing in particular.",
    "Do it alone: names that were discussed beforehand say nothing about whether people agree.",
    "What is written on the screen is not kept: print the page, or write into the CSV.",
)


@report("naming")
class NamingReport(Report):
    """The page that raters look at; nothing on it runs."""

    def document(self, result: Sheet) -> Document:
        """Return the sheet: how to fill it in, and every strip with lines to write on."""
        return Document(
            title="Naming sheet", facts=EXPLAINED, answer=QUESTION, sections=tuple(_sections(result)),
            provenance=Provenance(None, "equipoise.discovery.write_sheet", ()),
        )  # fmt: skip

    def page(self, result: Any) -> str:
        """Return the sheet as a form to be filled in."""
        from equipoise.reports.render.html import form

        return form(self.document(result))


def _sections(sheet: Sheet) -> Iterator[Section]:
    yield Section("how", "How to fill it in", (Bullets(METHOD),), essential=True)
    album = Album([strip for _, shown in sheet.lines for strip in shown.strips])
    for code, shown in sheet.lines:
        blanks = (Blank(f"name-{code}", "Name"), Blank(f"sure-{code}", "Confidence, 1 to 5", 1))
        remark = Blank(f"what-{code}", "Changes what", LONGEST_REMARK)
        blocks = (_strips(code, shown, album), Blanks(blanks), Blanks((remark,)))
        yield Section(f"strip-{code}", f"Strip {code}", blocks, essential=True)


def _strips(code: str, shown: PresentedDirection, album: Album) -> Images:
    rows: list[tuple[Text, tuple[Picture | None, ...]]] = [
        (
            str(latent),
            tuple(
                Picture(address, f"Strip {code}, row {latent}, picture {index}")
                for index, address in enumerate(album.addresses(strip), start=1)
            ),
        )
        for latent, strip in enumerate(shown.strips, start=1)
    ]
    columns = ("Row", *(str(number) for number in range(1, 1 + len(shown.strips[0].pictures))))
    return Images(f"Strip {code}, from left to right", columns, tuple(rows), sharp=album.sharp)
