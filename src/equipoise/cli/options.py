"""Options that several commands have: one name, one help text, and one meaning everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

GROUP = typer.Option(metavar="COL", help="A column of groups; may be given again.")

# Whose rows they are, and how their columns are read.
Groups = Annotated[list[str] | None, GROUP]
NeededGroups = Annotated[list[str], GROUP]
Rows = Annotated[str | None, typer.Option(metavar="FILE", help="Whose points they are: CSV, Parquet, Arrow, .npz.")]
Id = Annotated[
    str | None, typer.Option(metavar="COL", help="Match rows and points by this column or array, not by their order.")
]
Drop = Annotated[
    bool,
    typer.Option(
        "--drop/--no-drop", help="Leave out rows with points not finite or ids not in every file; say how many."
    ),
]
Cluster = Annotated[
    str | None, typer.Option(metavar="COL", help="Rows that belong together; intervals and tests draw these.")
]
Bins = Annotated[list[str] | None, typer.Option(metavar="COL=CUTS", help="Cut a number: age=25,45 or age=quantile:4.")]
Categorical = Annotated[
    list[str] | None, typer.Option(metavar="COL", help="The numbers in this group column are codes.")
]
Missing = Annotated[list[str] | None, typer.Option(metavar="V", help="A value that means missing, such as NA.")]
IncludeMissing = Annotated[
    bool, typer.Option("--include-missing/--no-include-missing", help="Let (missing) be a group in gaps and tests.")
]
SuppressBelow = Annotated[int, typer.Option(metavar="N", help="Hide numbers about fewer people.")]

# What is drawn at random.
Draws = Annotated[int, typer.Option(metavar="N", help="Random draws for tests; 0 for no tests.")]
Seed = Annotated[int, typer.Option(metavar="N", help="Where random draws start.")]

# Where the result goes.
JsonFile = Annotated[Path | None, typer.Option(metavar="FILE", help="Write every number as JSON.")]
HtmlFile = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page that works offline.")]
FiguresFolder = Annotated[Path | None, typer.Option(metavar="DIR", help="Write the charts as PNG and SVG.")]
CsvFile = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the records as CSV.")]
LatexFile = Annotated[Path | None, typer.Option(metavar="FILE", help="Write tables for LaTeX.")]
Quiet = Annotated[bool, typer.Option("--quiet/--no-quiet", "-q", help="Print nothing.")]

# Which study, and where it is kept.
PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="A plan in TOML.", show_default=False)]
StorePlace = Annotated[
    str | None, typer.Option("--store", metavar="PATH|URL", help="The store; by default beside the plan, as PLAN.db.")
]
ArtefactsFolder = Annotated[
    Path | None,
    typer.Option(
        "--artefacts", metavar="DIR", help="Predictions too large for the store; by default beside it, STORE.artefacts."
    ),
]
