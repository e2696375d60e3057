"""``equipoise name``: directions get the names that people agree on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli._options import takes
from equipoise.discovery import NAME_OPTIONS

if TYPE_CHECKING:
    from equipoise.discovery import Hyperplane

EXAMPLES = (
    "name directions.safetensors --sheet rater1.csv --sheet rater2.csv --key sheet.key.json --save named.safetensors",
    'name directions.safetensors --name "direction 1=background colour" --save named.safetensors',
)


@takes(NAME_OPTIONS)
def name(
    file: Annotated[
        str, typer.Argument(help="Directions that were saved (.safetensors, with its .json).", show_default=False)
    ],
    *,
    values: dict[str, Any],
) -> None:
    """Name directions: compare the sheets of several raters, and keep what most of them say."""
    from equipoise.cli._console import Output, print_lines
    from equipoise.cli._networks import directions_files
    from equipoise.discovery import (
        agree,
        agreed_names,
        load_directions,
        parse_names,
        read_key,
        read_sheet,
        renamed,
        save_directions,
    )
    from equipoise.foundation import BadInput

    sheets: list[Path] = values["sheet"] or []
    key: Path | None = values["key"]
    save: Path | None = values["save"]
    if not sheets and not values["name"]:
        raise BadInput("No name was given for any direction", available="--sheet with --key, or --name")
    if bool(sheets) != (key is not None):
        raise BadInput(
            "--sheet was given without --key" if sheets else "--key was given without --sheet",
            available="--sheet (once per rater) with the --key of the sheets",
        )
    if len({path.resolve() for path in sheets}) < len(sheets):
        raise BadInput("A sheet was given twice", available="one sheet per rater")
    output = Output.of(values)
    if not sheets and (requested := [f"--{name}" for name in (*output.files, *(["figures"] * bool(output.figures)))]):
        raise BadInput(
            f"{requested[0]} was given, and there are no sheets to report on",
            help="name the raters' sheets: --sheet FILE --key FILE.",
        )
    output.check(
        inputs=[*directions_files(file), *map(str, sheets), *([] if key is None else [str(key)])],
        others={} if save is None else {"--save": map(Path, directions_files(save))},
    )
    planes, content = load_directions(file)
    names = parse_names(planes, values["name"] or ())
    agreement = None
    if key is not None:
        codes = read_key(key)
        agreement = agree(codes, [read_sheet(path, codes) for path in sheets])
        names = agreed_names(planes, codes, agreement) | names
        content = content | {"naming": agreement.as_json()}
    named = renamed(planes, names)

    def save_named() -> list[str]:
        if save is not None:
            save_directions(save, named, content)
        return ["", *_lines(planes, named, save)]

    if agreement is not None:
        output.deliver(agreement, save_named)
    else:
        lines = save_named()[1:]
        if output.prints:
            print_lines(lines)


def _lines(before: Sequence[Hyperplane], after: Sequence[Hyperplane], saved: Path | None) -> Iterator[str]:
    """Say what every direction is called now, and where they are."""
    for old, new in zip(before, after, strict=True):
        yield f"{old.name} {f'is now called “{new.name}”' if new.name != old.name else 'keeps its name'}"
    if saved is not None:
        yield f"The named directions: {saved}"
