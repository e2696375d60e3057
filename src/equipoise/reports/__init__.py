"""What a person reads: one document for each result, rendered as a page, in a terminal, as Markdown, in a notebook.

``show``, ``markdown``, ``page``, ``latex`` and ``charts_of`` take any result. Adding a kind of result takes one file,
``narrative/<kind>.py``, named as the kind is (``audit`` for the schema ``equipoise.audit/1``):

1. A subclass of ``Report``, registered with ``@report("<kind>")``, whose ``document(result)`` returns a ``Document``
   and whose ``charts(result)`` returns charts by name. Nothing else is registered, and no renderer is touched.
2. Every word is made there, once for every medium. Texts are plain strings, or tuples of strings, ``Name`` (a name
   from the user's data) and ``Number`` (a number with its place in the JSON: list, index and field). Escape nothing:
   each renderer escapes everything for its medium.
3. ``answer`` is one sentence about the largest confirmed finding, or says first that nothing is confirmed; ``lead``
   holds the other confirmed findings, ``inconclusive`` what is open and why (``Statements`` by subject), ``tiles``
   three or four numbers, ``picture`` the name of the chart that shows the answer, or ``Images``.
4. ``Section``: ``essential=True`` is open on the page and printed in the terminal; all others are folded on the page
   and in Markdown, and left out in the terminal. Blocks are ``Paragraph``, ``Heading``, ``Bullets``, ``Terms``,
   ``DataTable``, ``ChartBlock`` (by names), ``Images``, ``Blanks`` (lines to write on), ``Code`` and ``Details``
   (folded inside a section).
5. Tables: ``Cell(text, below=(smaller lines,), bar=share, meaning=Meaning.WORSE)``. A ``Meaning`` becomes a colour and
   a sign. ``_records`` makes cells from records (values, intervals, counts, p-values, verdicts); ``limited_table``
   keeps a table to what a page can hold and counts the rest.
6. ``document`` must not import altair: import charts inside ``charts``. Charts live in ``charts/<mark>.py``; colours
   for worse and better are ``WORSE`` and ``BETTER`` of ``charts``, doubled by shape.
7. ``document_provenance(result, "equipoise.<function>")`` fills ``provenance``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.reports import _formats as formats  # noqa: F401 - a door to a module
    from equipoise.reports._document import Blank as Blank
    from equipoise.reports._document import Blanks as Blanks
    from equipoise.reports._document import Block as Block
    from equipoise.reports._document import Bullets as Bullets
    from equipoise.reports._document import Cell as Cell
    from equipoise.reports._document import ChartBlock as ChartBlock
    from equipoise.reports._document import Code as Code
    from equipoise.reports._document import Column as Column
    from equipoise.reports._document import DataTable as DataTable
    from equipoise.reports._document import Details as Details
    from equipoise.reports._document import Document as Document
    from equipoise.reports._document import Heading as Heading
    from equipoise.reports._document import Images as Images
    from equipoise.reports._document import Meaning as Meaning
    from equipoise.reports._document import Name as Name
    from equipoise.reports._document import Number as Number
    from equipoise.reports._document import Paragraph as Paragraph
    from equipoise.reports._document import Picture as Picture
    from equipoise.reports._document import Provenance as Provenance
    from equipoise.reports._document import Row as Row
    from equipoise.reports._document import Section as Section
    from equipoise.reports._document import Statements as Statements
    from equipoise.reports._document import Terms as Terms
    from equipoise.reports._document import Text as Text
    from equipoise.reports._document import Tile as Tile
    from equipoise.reports._document import pieces as pieces
    from equipoise.reports._formats import safe_name as safe_name
    from equipoise.reports._records import limited_table as limited_table
    from equipoise.reports.narrative._report import Report as Report
    from equipoise.reports.narrative._report import charts_of as charts_of
    from equipoise.reports.narrative._report import document_provenance as document_provenance
    from equipoise.reports.narrative._report import latex as latex
    from equipoise.reports.narrative._report import markdown as markdown
    from equipoise.reports.narrative._report import page as page
    from equipoise.reports.narrative._report import settings_terms as settings_terms
    from equipoise.reports.narrative._report import show as show
    from equipoise.reports.render.pdf import find_browser as find_browser

_MODULES = {
    "_formats": ("safe_name",),
    "_records": ("formats", "limited_table"),
    "_document": (
        "Blank", "Blanks", "Block", "Bullets", "Cell", "ChartBlock", "Code", "Column", "DataTable", "Details",
        "Document", "Heading", "Images", "Meaning", "Name", "Number", "Paragraph", "Picture", "Provenance", "Row",
        "Section", "Statements", "Terms", "Text", "Tile", "pieces",
    ),
    "narrative._report": (
        "document_provenance", "settings_terms", "Report", "charts_of", "latex", "markdown", "page", "show",
    ),
    "render.pdf": ("find_browser",),
}  # fmt: skip

__all__, __getattr__, __dir__ = door(__name__, _MODULES)
