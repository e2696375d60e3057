"""``equipoise name``: directions get the names that people agree on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from equipoise.cli._options import Quiet

if TYPE_CHECKING:
    from equipoise.discovery.agreement import Agreement
    from equipoise.discovery.hyperplane import Hyperplane

EXAMPLES = (
    "name directions.safetensors --sheet rater1.csv --sheet rater2.csv --key sheet.key.json --save named.safetensors",
    'name directions.safetensors --name "direction 1=background colour" --save named.safetensors',
)


def name(
    file: Annotated[
        str, typer.Argument(help="Directions that were saved (.safetensors, with its .json).", show_default=False)
    ],
    sheet: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A rater's filled-in sheet; may be given again.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What the codes stand for: the sheet's .key.json.")
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(metavar="OLD=NEW", help="Or: name a direction yourself; may be given again."),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the named directions (.safetensors, with a .json).")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Name directions: compare the sheets of several raters, and keep what most of them say."""
    from equipoise.cli._output import check_apart, directions_files
    from equipoise.discovery.agreement import agree
    from equipoise.discovery.renaming import agreed_names, given_names, renamed
    from equipoise.discovery.saving import load_directions, save_directions
    from equipoise.discovery.sheets import read_key, read_sheet
    from equipoise.foundation.errors import BadInput

    sheets = list(sheet or ())
    if not sheets and not name:
        raise BadInput("There is nobody's name for a direction", available="--sheet with --key, or --name")
    if bool(sheets) != (key is not None):
        raise BadInput("Sheets and their key belong together", available="--sheet (once a rater) with --key")
    if len({path.resolve() for path in sheets}) < len(sheets):
        raise BadInput("A sheet was given twice", available="one sheet a rater")
    if save is not None:
        check_apart(
            {"--save": map(Path, directions_files(save))},
            [*directions_files(file), *map(str, sheets), *([] if key is None else [str(key)])],
        )
    planes, said = load_directions(file)
    names = given_names(planes, name or ())
    found = None
    if key is not None:
        codes = read_key(key)
        found = agree(codes, [read_sheet(path, codes) for path in sheets])
        names = agreed_names(planes, codes, found) | names
        said = said | {"naming": found.as_json()}
    made = renamed(planes, names)
    if save is not None:
        save_directions(save, made, said)
    if not quiet:
        _show(planes, made, found, save)


def _show(
    planes: Sequence[Hyperplane], made: Sequence[Hyperplane], found: Agreement | None, saved: Path | None
) -> None:
    """Print how far raters agree, and what every direction is called now."""
    from rich.console import Console

    from equipoise.foundation.text import printable
    from equipoise.reports import show

    console = Console()
    if found is not None:
        show(found, console)
        console.print()
    for before, after in zip(planes, made, strict=True):
        now = f"is now called “{after.name}”" if after.name != before.name else "keeps its name"
        console.print(printable(f"{before.name} {now}"), highlight=False, markup=False)
    if saved is not None:
        console.print(printable(f"The named directions: {saved}"), highlight=False, markup=False)
