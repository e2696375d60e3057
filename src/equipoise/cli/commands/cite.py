"""``equipoise cite``: what to cite, as BibTeX."""

from __future__ import annotations

from typing import Annotated

import typer

from equipoise.cli._options import registered

EXAMPLES = (
    "cite demographic_parity adult",
    "cite > references.bib",
)


def cite(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Measures, cohorts and others; all by default.",
            show_default=False,
            autocompletion=registered(),
        ),
    ] = None,
) -> None:
    """Print the papers behind measures, cohorts and everything else registered, as BibTeX."""
    from equipoise.foundation import (
        KINDS,
        bibtex_of,
        registry,
        unknown_name,
    )

    every = [entry for kind in KINDS for entry in registry.entries(kind)]
    entries = {entry.name.upper(): entry for entry in every} | {e.alias.upper(): e for e in every if e.alias}
    for name in names or ():
        if name.upper() not in entries:
            raise unknown_name("name", name, [n for e in every for n in (e.name, e.alias) if n], "equipoise list")
    chosen = every if not names else [entries[name.upper()] for name in names]
    typer.echo(bibtex_of(chosen), nl=False)
